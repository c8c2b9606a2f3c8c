//! Events at the command line: by which way each came to the agent.

use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::driven::Driven;
use crate::support::home::Home;
use crate::support::hooks::{context, hooked};
use crate::support::until;
use serde_json::{Value, json};

#[track_caller]
fn shows(home: &Home, event: &str, way: &str, words: &str) {
    let shown = home.run(&["events", "show", event]).ok().stdout;
    assert!(shown.contains(&format!(", {words}\n")) && !shown.contains("\nsession  01"), "{shown}");
    assert_eq!(home.run(&["events", "show", event, "--json"]).ok().json()["way"], way);
}

#[test]
fn an_event_that_came_with_a_prompt_or_a_stop_says_so() {
    let (home, gate, session) = hooked();
    for (hook, call, way, words) in [
        ("UserPromptSubmit", json!({"prompt": "go on"}), "prompt", "by a hook, with a prompt"),
        ("Stop", json!({"stop_hook_active": "false"}), "stop", "by a hook that kept the session from stopping"),
    ] {
        session.hook("UserPromptSubmit", &json!({"prompt": "work"}));
        let event = gate.send_event("main is red");
        until("the event", || Some(session.hook(hook, &call)).filter(|output: &Value| !context(output).is_empty()));
        gate.wait_for_event(&event, "delivered");
        shows(&home, &event, way, words);
    }
}

#[test]
fn an_event_for_a_session_that_the_gate_drives_says_so() {
    let home = Home::new();
    let gate = home.serve();
    let latch = Latch::new();
    let model = Model::start(vec![Rule::on_text("hello").say("hi").held_by(&latch).once()]);
    let run = Driven::start(&home, &model, &["hello"]);
    home.attached(1);
    model.wait_for_turn("hello");
    let event = gate.send_event("main is red");
    gate.wait_for_event(&event, "delivered");
    shows(&home, &event, "driven", "to a session that the gate drives");
    latch.open();
    run.wait().ok();
}
