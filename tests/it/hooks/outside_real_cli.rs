//! The outside guard with the real CLI in auto mode, its default: an event by HTTP wakes it, and what it runs is asked for.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::seen::until;
use crate::support::tmux::{Interactive, install};
use serde_json::{Value, json};

const AUTO: [&str; 2] = ["--permission-mode", "auto"];

fn remove(marker: &str) -> Value {
    json!({"command": format!("rm -rf build/{marker}"), "description": "Clean up"})
}

fn home_with_build() -> (Home, Gate, String) {
    let home = Home::new();
    let gate = home.serve();
    let ci = home.token_for("ci", "sender");
    for folder in ["one", "two"] {
        std::fs::create_dir_all(home.project().join("build").join(folder)).unwrap();
    }
    install(&home, &[]);
    (home, gate, ci)
}

fn is_there(home: &Home, folder: &str) -> bool {
    home.project().join("build").join(folder).exists()
}

/// What the only session says of the guard.
#[track_caller]
fn until_sender_is(home: &Home, sender: &Value) -> Value {
    until("the guard in the API", || {
        let session = home.attached(1).remove(0);
        (session["outside"]["sender"] == *sender && session["connected_by"] == "hooks").then_some(session)
    })
}

#[test]
fn an_event_that_wakes_a_session_in_auto_mode_runs_nothing_unasked() {
    let (home, gate, ci) = home_with_build();
    let model = Model::start(vec![
        Rule::on_reminder("please clean").call("Bash", remove("one")).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start_as_it_is(&home, &model, &AUTO);
    until_sender_is(&home, &Value::Null);
    gate.say_as(&ci, "/", "please clean").expect(200);
    let ask = gate.open_ask();
    assert_eq!((&ask["reason"], is_there(&home, "one")), (&json!("this turn has read text from ci"), true), "{ask:#}");
    claude.until("ci: please clean");
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not today"}));
    claude.until("all done");
    assert!(is_there(&home, "one"));
}

#[test]
fn a_subagent_that_is_started_after_an_event_runs_nothing_unasked() {
    let (home, gate, ci) = home_with_build();
    let task = json!({"description": "Clean", "prompt": "sub work", "subagent_type": "general-purpose"});
    let model = Model::start(vec![
        Rule::on_text("sub work").call("Bash", remove("two")).once(),
        Rule::on_reminder("delegate it").call("Agent", task).once(),
        Rule::on_any_result().say("all done"),
    ]);
    // In auto mode the client has its own server look at a subagent first; this mode removes unasked, too.
    let _claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "acceptEdits"]);
    until_sender_is(&home, &Value::Null);
    gate.say_as(&ci, "/", "delegate it").expect(200);
    let ask = gate.open_ask();
    assert_eq!((&ask["reason"], is_there(&home, "two")), (&json!("this turn has read text from ci"), true), "{ask:#}");
    assert!(ask["agent_id"].is_string(), "a subagent's call: {ask:#}");
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not today"}));
    model.wait_for_turn("not today");
    assert!(is_there(&home, "two"));
}

#[test]
fn words_that_a_person_types_while_a_call_is_held_end_the_guard() {
    let (home, gate, ci) = home_with_build();
    let model = Model::start(vec![
        Rule::on_reminder("please clean").call("Bash", remove("one")).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "bypassPermissions"]);
    until_sender_is(&home, &Value::Null);
    gate.say_as(&ci, "/", "please clean").expect(200);
    let ask = gate.open_ask();
    claude.say("go ahead");
    gate.answer(&ask, &json!({"behavior": "allow"}));
    until_sender_is(&home, &Value::Null);
    assert!(!is_there(&home, "one"));
    let ended = home.records("outside_ended");
    assert_eq!(ended.iter().map(|ended| ended["by"].clone()).collect::<Vec<_>>(), ["terminal"], "{ended:?}");
}

#[test]
fn the_first_event_after_clear_is_guarded() {
    let (home, gate, ci) = home_with_build();
    let model = Model::start(vec![
        Rule::on_text("hello").say("hi there").once(),
        Rule::on_reminder("clean it").call("Bash", remove("two")).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "acceptEdits"]);
    claude.say("hello");
    claude.until("hi there");
    let before = home.attached(1).remove(0);
    claude.say("/clear");
    claude.until_gone("hi there");
    until("the new conversation", || (home.attached(1)[0]["agent_session"] != before["agent_session"]).then_some(()));
    gate.say_as(&ci, "/", "clean it").expect(200);
    let ask = gate.open_ask();
    assert_eq!((&ask["reason"], is_there(&home, "two")), (&json!("this turn has read text from ci"), true), "{ask:#}");
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not today"}));
    model.wait_for_turn("not today");
    assert!(is_there(&home, "two"));
    until_sender_is(&home, &json!("ci"));
}

#[test]
fn the_guard_goes_with_the_conversation_into_resume_and_fork_and_ends_with_clear() {
    let (home, gate, ci) = home_with_build();
    let reply = json!({"chat_id": "$CHAT_ID", "text": "no"});
    let model = Model::start(vec![
        Rule::on_text("hello").say("hi there").once(),
        Rule::on_text("go on").say("gladly").once(),
        Rule::on_reminder("please clean").call("mcp__portcullis__reply", reply).once(),
        Rule::on_any_result().say("I would rather not"),
    ]);
    let claude = Interactive::start_as_it_is(&home, &model, &AUTO);
    claude.say("hello");
    claude.until("hi there");
    let sent = gate.say_as(&ci, "/", "please clean").expect(200);
    claude.until("I would rather not");
    // Or else the next process of the conversation would be given it again.
    gate.wait_for_event(sent.header("x-event-id").unwrap(), "seen");
    let session = until_sender_is(&home, &json!("ci"));
    let agent = session["agent_session"].as_str().unwrap().to_owned();
    drop(claude);
    home.attached(0);

    let resumed = Interactive::start_as_it_is(&home, &model, &[&AUTO[..], &["--resume", &agent]].concat());
    assert_eq!(until_sender_is(&home, &json!("ci"))["agent_session"], agent);
    drop(resumed);
    home.attached(0);

    let forked =
        Interactive::start_as_it_is(&home, &model, &[&AUTO[..], &["--resume", &agent, "--fork-session"]].concat());
    assert_ne!(until_sender_is(&home, &json!("ci"))["agent_session"], agent);
    forked.say("/clear");
    // It is believed when the client itself goes on under the new id.
    forked.say("go on");
    until_sender_is(&home, &Value::Null);
    let ended = home.records("outside_ended");
    assert_eq!(ended.iter().map(|ended| ended["by"].clone()).collect::<Vec<_>>(), ["/clear"], "{ended:?}");
}
