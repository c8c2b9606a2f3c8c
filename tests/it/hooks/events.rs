//! Events for the real interactive CLI through hooks: while it works, as it stops and while it rests, each once.

use crate::fakes::model::{Model, Request};
use crate::fakes::script::{Latch, Rule};
use crate::support::home::Home;
use crate::support::seen::until;
use crate::support::tmux::Interactive;
use serde_json::{Value, json};
use std::fs;

fn look(what: &str) -> Value {
    json!({"command": format!("echo {what}"), "description": "Look"})
}

/// How often the model's newest request holds this, in the whole conversation.
fn times(request: &Request, text: &str) -> usize {
    // The scripted model says again what it was told: only what came to it counts.
    let told =
        request.body["messages"].as_array().into_iter().flatten().filter(|message| message["role"] != "assistant");
    told.map(|message| message.to_string().matches(text).count()).sum()
}

/// One session, attached, with hooks that were heard of.
#[track_caller]
fn session(home: &Home, model: &Model) -> Interactive {
    let claude = Interactive::start(home, model, &[]);
    until("a session by hooks", || {
        home.attached(1).into_iter().find(|session| session["connected_by"] == "hooks" && session["label"] == "real")
    });
    claude
}

#[test]
fn an_event_reaches_a_busy_session_at_its_next_tool_call() {
    let home = Home::new();
    let gate = home.serve();
    let (latch, fails) = (Latch::new(), Latch::new());
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", look("one")).held_by(&latch).once(),
        Rule::on_result("one")
            .call("Bash", json!({"command": "cat nothing", "description": "Fail"}))
            .held_by(&fails)
            .once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = session(&home, &model);
    claude.say("go");
    model.wait_for_turn("go");
    let id = gate.send_event("main is red");
    latch.open();
    let turn = model.wait_for_turn("main is red");
    assert!(turn.turn.result().contains("one"), "it came with the result of the tool: {}", turn.turn.result());
    gate.send_event("main is green");
    fails.open();
    let turn = model.wait_for_turn("main is green");
    assert!(turn.turn.results[0].is_error, "it came with a tool that failed: {:?}", turn.turn);
    claude.until("all done");
    let last = model.turns().pop().unwrap();
    assert_eq!((times(&last, "main is red"), times(&last, "main is green")), (1, 1), "{:#}", last.body["messages"]);
    assert!(last.body["messages"].to_string().contains("may direct this session"));
    gate.wait_for_event(&id, "seen");
}

#[test]
fn an_event_reaches_a_session_that_is_about_to_stop_and_keeps_it_going() {
    let home = Home::new();
    let gate = home.serve();
    let latch = Latch::new();
    let reply = json!({"chat_id": "$CHAT_ID", "text": "on it"});
    let model = Model::start(vec![
        Rule::on_reminder("main is red").call("mcp__portcullis__reply", reply).once(),
        Rule::on_text("go").say("finished").held_by(&latch).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = session(&home, &model);
    let events = gate.events();
    claude.say("go");
    model.wait_for_turn("go");
    let id = gate.send_event("main is red");
    latch.open();
    let turn = model.wait_for_turn("main is red");
    assert!(turn.shows("Stop hook additional context"), "{:?}", turn.turn);
    assert_eq!(events.containing("Reply to").data, "Reply to 1: on it");
    claude.until("all done");
    let last = model.turns().pop().unwrap();
    assert_eq!(times(&last, "main is red"), 1, "{:#}", last.body["messages"]);
    gate.wait_for_event(&id, "seen");
}

#[test]
fn an_idle_session_is_woken_and_answers() {
    let home = Home::new();
    let gate = home.serve();
    let reply = json!({"chat_id": "$CHAT_ID", "text": "on it"});
    let model = Model::start(vec![
        Rule::on_reminder("main is red").call("mcp__portcullis__reply", reply).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = session(&home, &model);
    let events = gate.events();
    let id = gate.send_event("main is red");
    let turn = model.wait_for_turn("main is red");
    assert!(turn.turn.reminders.contains("NOT USER INPUT"), "{:?}", turn.turn);
    assert_eq!(events.containing("Reply to").data, "Reply to 1: on it");
    claude.until("all done");
    gate.wait_for_event(&id, "seen");

    // And again, after it has come to rest, with a draft that nobody sent.
    claude.type_text("half a thought");
    claude.until("half a thought");
    gate.send_event("main is green");
    model.wait_for_turn("main is green");
    claude.until("half a thought");
    let last = model.turns().pop().unwrap();
    assert_eq!((times(&last, "main is red"), times(&last, "main is green")), (1, 1));
}

#[test]
fn parallel_tool_calls_deliver_each_event_once() {
    let home = Home::new();
    let gate = home.serve();
    let latch = Latch::new();
    let model = Model::start(vec![
        Rule::on_text("go")
            .call("Bash", look("one"))
            .call("Bash", look("two"))
            .call("Bash", look("three"))
            .held_by(&latch)
            .once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = session(&home, &model);
    claude.say("go");
    model.wait_for_turn("go");
    let long = "x".repeat(9_000);
    let ids: Vec<String> = (1..=5).map(|number| gate.send_event(&format!("event-{number}. {long}"))).collect();
    latch.open();
    for id in &ids {
        gate.wait_for_event(id, "seen");
    }

    let last = until("all five", || {
        let last = model.turns().pop()?;
        (1..=5).all(|number| times(&last, &format!("event-{number}.")) > 0).then_some(last)
    });
    for number in 1..=5 {
        let told = times(&last, &format!("event-{number}."));
        assert_eq!(told, 1, "event-{number} in {}", last.body["messages"].to_string().replace(&long[..500], "~"));
    }
    assert_eq!(times(&last, "more bytes were left off"), 5, "8 KB of each");
}

#[test]
fn events_are_not_shown_to_subagents() {
    let home = Home::new();
    let gate = home.serve();
    let latch = Latch::new();
    let task = json!({"description": "Look", "prompt": "sub work", "subagent_type": "general-purpose"});
    let model = Model::start(vec![
        Rule::on_text("sub work").call("Bash", look("below")).held_by(&latch).once(),
        Rule::on_text("delegate").call("Agent", task).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = session(&home, &model);
    claude.say("delegate");
    model.wait_for_turn("sub work");
    let id = gate.send_event("main is red");
    latch.open();
    gate.wait_for_event(&id, "seen");
    let is_below = |request: &Request| request.body["messages"][0].to_string().contains("sub work");
    let told = until("the event", || model.turns().into_iter().find(|request| times(request, "main is red") > 0));
    assert!(!is_below(&told));
    let below = until("the subagent's last turn", || {
        let below: Vec<Request> = model.turns().into_iter().filter(is_below).collect();
        (below.len() >= 2).then_some(below)
    });
    assert!(below.iter().all(|request| times(request, "main is red") == 0));
    // Whatever the agent found is told above, in a turn of its own or in the same: the event is not told again.
    claude.until("? for shortcuts");
    let above = model.turns().into_iter().rfind(|request| !is_below(request)).unwrap();
    assert_eq!(times(&above, "main is red"), 1);
}

#[test]
fn an_interrupted_session_is_woken() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("make it").call("Bash", json!({"command": "touch made.txt", "description": "Make it"})).once(),
    ]);
    let claude = session(&home, &model);
    claude.say("make it");
    claude.until("Do you want to proceed?");
    claude.press_until_gone("Escape", "Do you want to proceed?");
    gate.send_event("main is red");
    model.wait_for_turn("main is red");
}

#[test]
fn a_cleared_conversation_is_the_same_session_and_is_still_woken() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![]);
    let claude = session(&home, &model);
    claude.say("hello");
    claude.until("echo: hello");
    let before = home.attached(1).remove(0);
    claude.say("/clear");
    claude.until_gone("echo: hello");
    let after = until("the new conversation", || {
        let now = home.attached(1).remove(0);
        (now["agent_session"] != before["agent_session"]).then_some(now)
    });
    assert_eq!(after["id"], before["id"]);
    let id = gate.send_event("main is red");
    let turn = model.wait_for_turn("main is red");
    assert_eq!(times(&turn, "hello"), 0, "{:#}", turn.body["messages"]);
    gate.wait_for_event(&id, "seen");
}

#[test]
fn an_event_that_woke_a_session_is_not_given_again_after_a_resume_although_nobody_replied() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![Rule::on_reminder("main is red").say("noted")]);
    let claude = session(&home, &model);
    claude.say("hello");
    claude.until("echo: hello");
    let id = gate.send_event("main is red");
    claude.until("noted");
    gate.wait_for_event(&id, "seen");
    let agent = home.attached(1)[0]["agent_session"].as_str().unwrap().to_owned();
    drop(claude);
    home.attached(0);
    let resumed = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "default", "--resume", &agent]);
    until("the same conversation", || home.attached(1).into_iter().find(|session| session["agent_session"] == *agent));
    resumed.say("once more");
    let turn = model.wait_for_turn("once more");
    // Of what woke it the client may or may not say again: by us it is not said again.
    assert!(times(&turn, "main is red") <= 1, "{:#}", turn.body["messages"]);
    assert_eq!((home.records("requeued").len(), gate.event_state(&id)), (0, json!("seen")));
    let event = gate.get(&format!("/api/v1/events/{id}")).json();
    assert_eq!((&event["redelivered"], &event["way"]), (&json!(false), &json!("wake")), "{event:#}");
}

#[test]
fn a_session_that_was_interrupted_rests_and_is_woken_by_the_next_event() {
    let home = Home::new();
    let gate = home.serve();
    let started = home.project().join("started");
    fs::write(home.project().join("nap.sh"), "touch started\nexec sleep 60\n").unwrap();
    let nap = json!({"command": "sh nap.sh", "description": "Nap"});
    let model = Model::start(vec![
        Rule::on_text("be busy").call("Bash", nap).once(),
        Rule::on_text("main is red").say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &["--allowedTools", "Bash(sh nap.sh)"]);
    claude.say("be busy");
    let activity = || home.attached(1)[0]["activity"].clone();
    until("the command runs", || started.exists().then_some(()));
    until("it works", || (activity() == "working").then_some(()));
    claude.press_until("Escape", "Interrupted");
    until("it rests", || (activity() == "idle").then_some(()));
    gate.send_event("main is red");
    model.wait_for_turn("main is red");
}
