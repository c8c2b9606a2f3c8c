//! A request for permission that nobody needs any more is withdrawn, and its late answer is nothing.

use super::agent::Agent;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::home::Home;
use serde_json::{Value, json};

fn touch() -> Value {
    json!({"command": "touch made.txt", "description": "Make it"})
}

#[test]
fn a_request_that_claude_code_cancels_is_withdrawn_and_its_late_answer_is_ignored() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("go").call("Bash", touch()).once(), Rule::on_any_result().say("done")]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let prompt = editor.prompt(&session, "go");
    let request = editor.permission();
    // The editor says nothing to the request itself.
    editor.notify("session/cancel", &json!({"sessionId": session}));
    editor.withdrawn(&request);
    assert_eq!(editor.stop_reason(prompt), "cancelled");
    editor.choose(&request, "allow_once");
    assert_eq!(editor.prompt_to_end(&session, "are you there"), "end_turn");
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn an_answer_that_was_not_offered_allows_nothing_and_neither_does_a_second_one() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![Rule::on_text("go").call("Bash", touch()).once(), Rule::on_any_result().say("done")]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let prompt = editor.prompt(&session, "go");
    let request = editor.permission();
    editor.answer(&request, &json!({"outcome": {"outcome": "selected", "optionId": "everything"}}));
    let told = editor.update(&session, "who can answer", |update| {
        update.to_string().contains("the editor chose what was not offered")
    });
    assert!(told.to_string().contains("portcullis ask allow"), "it says what to do: {told}");
    editor.choose(&request, "allow_once");
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny"}));
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn an_answer_that_crosses_with_the_end_of_its_turn_is_nothing_to_tell() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("go").call("Bash", touch()), Rule::on_any_result().say("done")]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    // Which of the two comes first is chance.
    for _ in 0..12 {
        let prompt = editor.prompt(&session, "go");
        let request = editor.permission();
        editor.notify("session/cancel", &json!({"sessionId": session}));
        editor.answer(&request, &json!({"outcome": {"outcome": "cancelled"}}));
        assert_eq!(editor.stop_reason(prompt), "cancelled");
    }
    assert_eq!(editor.prompt_to_end(&session, "are you there"), "end_turn");
    let told = editor.updates(&session).into_iter().find(|update| update.to_string().contains("was not taken"));
    assert_eq!(told, None);
}
