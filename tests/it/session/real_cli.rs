//! The real Claude Code CLI with `portcullis channel` as its MCP server, under a scripted model.

use crate::fakes::model::{Kind, Model};
use crate::fakes::script::{Latch, Rule};
use crate::support::claude::Claude;
use crate::support::home::Home;
use crate::support::{PATIENCE, running, until};
use serde_json::json;

const REPLY: &str = "mcp__portcullis__reply";

#[test]
fn the_real_cli_replies_through_the_channel_and_leaves_nothing_behind() {
    let home = Home::new();
    let gate = home.serve();
    let events = gate.events();
    // It waits for a session, and is pushed to the channel's client as soon as that is ready for it.
    let sent = gate.say("/?chat=ops", "how is the build?").expect(200);
    let latch = Latch::new();
    let model = Model::start(vec![
        Rule::on_text("answer them").call(REPLY, json!({"chat_id": "ops", "text": "green"})).held_by(&latch).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let servers = home.mcp_config("portcullis", &["--label", "real"]);
    let claude = Claude::headless(&home, &model, "answer them", &servers, &["--allowedTools", REPLY]);

    let turn = model.wait_for(|request| request.kind == Kind::Main);
    assert!(turn.offers(REPLY) && turn.offers("mcp__portcullis__inbox"), "{:?}", turn.tools());
    assert!(turn.shows("call the tool `reply`"), "the instructions reach the model");
    let event = format!("/api/v1/events/{}", sent.header("x-event-id").unwrap());
    until("a delivered event", || (gate.get(&event).json()["state"] == "delivered").then_some(()));
    latch.open();

    assert_eq!(events.containing("Reply to").data, "Reply to ops: green");
    let said = claude.wait().ok().stdout;
    assert!(said.starts_with("done: sent, message_id="), "{said}");
    assert_eq!(gate.get(&event).json()["state"], "seen");
    running::no_channels_left(&home.folder(), PATIENCE);
    let session = gate.get("/api/v1/sessions?all=true").json()[0].clone();
    assert_eq!((&session["label"], &session["state"]), (&json!("real"), &json!("ended")));
    assert_eq!(session["agent_session"].as_str().map(str::len), Some(36), "it names the CLI's own session");
    assert_eq!(session["folder"].as_str(), home.project().to_str());
}

#[test]
fn a_killed_cli_leaves_no_channel_behind() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![Rule::on_text("think").say("never").held_by(&latch)]);
    let claude = Claude::headless(&home, &model, "think", &home.mcp_config("portcullis", &[]), &[]);
    let session = home.attached(1).remove(0);
    model.wait_for(|request| request.kind == Kind::Main);
    assert_eq!(session["pid"], claude.pid(), "the gate knows whose session it is");
    let channels = running::channels_of(&home.folder());
    assert_eq!(channels.iter().map(|channel| channel.parent).collect::<Vec<_>>(), [claude.pid()]);

    let gate = home.pid_in_lock().unwrap();
    let environment = running::environment(gate);
    assert!(environment.contains("PORTCULLIS_HOME=") && !environment.contains("ANTHROPIC"), "{environment}");

    claude.kill_9();
    running::wait_gone(&channels, PATIENCE);
    running::no_channels_left(&home.folder(), PATIENCE);
    home.attached(0);
    assert!(running::is_alive(gate), "the gate it started goes on for others");
}

#[test]
fn the_model_is_told_why_a_reply_was_refused() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![
        Rule::on_text("answer them").call(REPLY, json!({"chat_id": "nobody", "text": "hello?"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let servers = home.mcp_config("portcullis", &[]);
    let ran = Claude::headless(&home, &model, "answer them", &servers, &["--allowedTools", REPLY]).wait().ok();
    assert!(ran.stdout.contains("no event of chat nobody was delivered to this session"), "{}", ran.stdout);
    let results: Vec<bool> = model.turns()[1].turn.results.iter().map(|result| result.is_error).collect();
    assert_eq!(results, [true]);
}
