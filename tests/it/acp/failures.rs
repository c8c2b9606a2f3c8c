//! What an editor sees when Claude Code dies, or when the model's API refuses it.

use super::agent::Agent;
use super::editor::Editor;
use super::life::claude;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::Signal;
use crate::support::home::Home;
use crate::support::running;
use serde_json::json;
use std::fs;

/// Else Claude Code would try again for minutes.
fn tries_once_again(home: &Home) {
    let settings = json!({"env": {"CLAUDE_CODE_MAX_RETRIES": "1"}});
    fs::create_dir_all(home.user().join(".claude")).unwrap();
    fs::write(home.user().join(".claude/settings.json"), settings.to_string()).unwrap();
}

#[test]
fn a_claude_code_that_dies_is_an_error_and_the_next_prompt_resumes_the_conversation() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![Rule::on_text("hold it").say("never").held_by(&latch).once()]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "remember the milk"), "end_turn");
    let spent = || {
        let updates = editor.updates(&session);
        updates.iter().rev().find_map(|update| update["cost"]["amount"].as_f64()).unwrap()
    };
    let spent_before = spent();
    let prompt = editor.prompt(&session, "hold it");
    model.wait_for_turn("hold it");
    let first = claude(editor.child.pid());
    running::signal(&first, Signal::KILL);
    let response = editor.response(prompt);
    assert!(response["error"]["message"].is_string(), "{response}");
    assert_eq!(editor.prompt_to_end(&session, "go on"), "end_turn");
    assert!(spent_before > 0.0 && spent() > spent_before, "the costs go on as well: {spent_before} and {}", spent());
    let turn = model.wait_for_turn("go on");
    assert!(turn.body["messages"].to_string().contains("remember the milk"), "the conversation goes on");
    assert_ne!(claude(editor.child.pid()).pid, first.pid);
}

#[test]
fn a_mode_that_is_set_while_no_claude_code_runs_counts_for_the_next() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    running::signal(&claude(editor.child.pid()), Signal::KILL);
    editor.hears(&session, "Your next prompt goes on");
    editor.call("session/set_mode", &json!({"sessionId": session, "modeId": "plan"}));
    assert_eq!(editor.prompt_to_end(&session, "go on"), "end_turn");
    let mode = home.attached(1)[0]["mode"].clone();
    assert_eq!(mode, "plan");
}

#[test]
fn a_model_that_refuses_the_key_means_that_the_user_must_sign_in() {
    for status in [401, 403] {
        let home = Home::new();
        tries_once_again(&home);
        let model = Model::start(vec![Rule::on_text("hello").refused(status)]);
        let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
        let session = editor.new_session(&home);
        let error = editor.response(editor.prompt(&session, "hello"))["error"].clone();
        assert_eq!(error["code"], -32000, "{status}: {error}");
    }
}

#[test]
fn a_usage_limit_is_an_error_in_the_thread_and_the_next_prompt_goes_on_with_the_conversation() {
    let home = Home::new();
    tries_once_again(&home);
    let refused = || Rule::on_text("too much").refused(429).once();
    let model = Model::start(vec![refused(), refused()]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "remember the milk"), "end_turn");
    let error = editor.response(editor.prompt(&session, "too much"))["error"].clone();
    assert_eq!(error["code"], -32603, "signing in would not help: {error}");
    assert!(error["message"].as_str().unwrap().contains("refused by the script"), "{error}");
    // Where it ends with the limit the next prompt starts another, and else it goes on in the same.
    running::signal(&claude(editor.child.pid()), Signal::KILL);
    editor.hears(&session, "Your next prompt goes on");
    assert_eq!(editor.prompt_to_end(&session, "go on"), "end_turn");
    let seen = model.wait_for_turn("go on").body["messages"].to_string();
    assert!(seen.contains("remember the milk"), "{seen}");
}

#[test]
fn an_editor_is_told_that_the_api_refuses_while_claude_code_tries_again() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("hello").refused(401).once()]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let prompt = editor.prompt(&session, "hello");
    let told = editor.update(&session, "the refusal", |update| {
        update.to_string().contains("The model's API refuses the request with 401")
    });
    assert_eq!(told["sessionUpdate"], "user_message_chunk", "no word of the model's, and not lost: {told}");
    assert_eq!(editor.stop_reason(prompt), "end_turn", "the second time it does not");
}
