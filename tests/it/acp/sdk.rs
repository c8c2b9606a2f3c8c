//! Longer journeys of an editor on the official TypeScript SDK.

use super::agent::Agent;
use super::clients::SdkEditor;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::time::SystemTime;

fn has_text(value: &Value, kind: &str, text: &str) -> bool {
    value["update"]["update"]["sessionUpdate"] == kind && value.to_string().contains(text)
}

#[test]
fn files_and_terminals_of_the_sdk_are_used() {
    let home = Home::new();
    let notes = home.project().join("notes.txt");
    fs::write(&notes, "one\n").unwrap();
    File::open(&notes).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let model = Model::start(vec![
        Rule::on_text("edit it").call("mcp__acp__Read", json!({"file_path": notes})).once(),
        Rule::on_result("typed")
            .call("mcp__acp__Edit", json!({"file_path": notes, "old_string": "one", "new_string": "two"}))
            .once(),
        Rule::on_text("run it").call("mcp__acp__Bash", json!({"command": "echo said; touch made.txt"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let editor = SdkEditor::with_desk(&home, &Agent::ours(&model));
    let session = editor.new_session();
    editor.tell(&json!({"buffer": notes, "text": "one\ntyped\n"}));
    let prompt = editor.prompt(&session, "edit it");
    editor.choose(&editor.asked("permission"), "allow_once");
    editor.told("the file", |value| value["saved"] == json!(notes));
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert_eq!(fs::read_to_string(&notes).unwrap(), "two\ntyped\n");

    let prompt = editor.prompt(&session, "run it");
    editor.choose(&editor.asked("permission"), "allow_once");
    let terminal = editor.told("a terminal", |value| value.get("terminal").is_some());
    assert_eq!(terminal["command"], "echo said; touch made.txt");
    editor.told("the terminal with its call", |value| value.to_string().contains(r#""type":"terminal""#));
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    model.wait_for_turn("said");
    assert!(home.project().join("made.txt").exists());
    editor.end();
}

#[test]
fn a_mode_is_switched_a_plan_left_and_the_session_loaded_after_a_restart() {
    let home = Home::new();
    let new = home.project().join("new.txt");
    let model = Model::start(vec![
        Rule::on_text("write it").call("Write", json!({"file_path": new, "content": "new\n"})).once(),
        Rule::on_text("plan it")
            .call("Write", json!({"file_path": "$PLAN_FILE", "content": "# Plan\n\nDo it."}))
            .once(),
        Rule::on_result("/.claude/plans/").call("ExitPlanMode", json!({})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let editor = SdkEditor::start(&home, &Agent::ours(&model));
    let session = editor.new_session();
    let set = |mode: &str| {
        editor.result(editor.send("session/set_mode", &json!({"sessionId": session, "modeId": mode})));
    };
    set("acceptEdits");
    assert_eq!(editor.result(editor.prompt(&session, "write it"))["stopReason"], "end_turn");
    assert!(new.exists(), "nobody had to be asked");
    set("plan");
    let prompt = editor.prompt(&session, "plan it");
    let asked = editor.asked("permission");
    assert_eq!(asked["params"]["toolCall"]["kind"], "switch_mode");
    editor.choose(&asked, "allow_once");
    editor.told("the mode that follows", |value| has_text(value, "current_mode_update", "default"));
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    editor.end();

    let editor = SdkEditor::start(&home, &Agent::ours(&model));
    let loading = editor.send("session/load", &json!({"sessionId": session}));
    editor.told("what was said", |value| has_text(value, "user_message_chunk", "write it"));
    assert!(editor.result(loading)["modes"].is_object());
    assert_eq!(editor.result(editor.prompt(&session, "go on"))["stopReason"], "end_turn");
    assert!(model.wait_for_turn("go on").body["messages"].to_string().contains("write it"));
    editor.end();
}

#[test]
fn events_reach_an_idle_and_a_busy_session_of_the_sdk() {
    let (home, latch) = (Home::new(), Latch::new());
    let gate = home.serve();
    let touch = json!({"command": "touch made.txt", "description": "Make it"});
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", touch).once(),
        Rule::on_any_result().say("done").held_by(&latch).once(),
    ]);
    let editor = SdkEditor::start(&home, &Agent::ours(&model));
    let session = editor.new_session();
    home.attached(1);
    // As anybody sends one.
    let mut curl = home.program("curl");
    curl.args(["-fsS", "-H", &format!("Authorization: Bearer {}", home.token()), "-d", "main is red"]);
    curl.arg(format!("http://{}/", gate.address()));
    Ran::of(&home.spawn(curl, Stdin::Nothing), PATIENCE).ok();
    editor.told("the event", |value| has_text(value, "user_message_chunk", "main is red"));
    model.wait_for_turn("main is red");

    let prompt = editor.prompt(&session, "go");
    let asked = editor.asked("permission");
    let event = gate.send_event("main is green");
    gate.wait_for_event(&event, "delivered");
    editor.choose(&asked, "allow_once");
    editor.told("the second event", |value| has_text(value, "user_message_chunk", "main is green"));
    latch.open();
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    editor.end();
}
