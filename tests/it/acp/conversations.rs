//! Conversations of an editor: whose they are, where they lie, and what is shown of them.

use super::agent::Agent;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::Signal;
use crate::support::home::Home;
use serde_json::{Value, json};
use std::os::unix::fs::symlink;

#[test]
fn of_two_editors_that_open_a_conversation_at_the_same_moment_one_gets_it() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(Vec::new());
    let first = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = first.new_session(&home);
    assert_eq!(first.prompt_to_end(&session, "hello"), "end_turn");
    first.call("session/close", &json!({"sessionId": session}));
    let editors = [first, Editor::start(&home, &Agent::ours(&model), &json!({}))];
    let place = json!({"sessionId": session, "cwd": home.project(), "mcpServers": []});
    // A gate that hangs tells neither of the other.
    gate.signal(Signal::STOP);
    let asked = editors.each_ref().map(|editor| editor.send("session/load", &place));
    let answers = [0, 1].map(|number| editors[number].response(asked[number]));
    gate.signal(Signal::CONT);
    let has_it = |answer: &Value| answer["error"].is_null();
    assert_eq!(answers.iter().filter(|answer| has_it(answer)).count(), 1, "{answers:?}");
    let [winner, loser] = if has_it(&answers[0]) { [0, 1] } else { [1, 0] };
    let why = answers[loser]["error"]["message"].as_str().unwrap();
    assert!(why.starts_with("the conversation is open in"), "{why}");
    assert_eq!(editors[winner].prompt_to_end(&session, "mine alone"), "end_turn");
    // It is nobody's once its editor has closed it.
    editors[winner].call("session/close", &json!({"sessionId": session}));
    editors[loser].call("session/load", &place);
    assert_eq!(editors[loser].prompt_to_end(&session, "and now mine"), "end_turn");
    let seen = model.wait_for_turn("and now mine").body["messages"].to_string();
    assert!(seen.contains("mine alone"), "{seen}");
}

#[test]
fn a_conversation_is_listed_for_the_folder_in_which_it_is_also_by_a_link_there() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let link = home.user().join("by-a-link");
    symlink(home.project(), &link).unwrap();
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.call("session/new", &json!({"cwd": link, "mcpServers": []}))["sessionId"].clone();
    assert_eq!(editor.prompt_to_end(session.as_str().unwrap(), "hello"), "end_turn");
    for folder in [&link, &home.project().to_path_buf()] {
        let listed = editor.call("session/list", &json!({"cwd": folder}));
        assert_eq!(listed["sessions"][0]["sessionId"], session, "{}: {listed}", folder.display());
    }
}

#[test]
fn what_a_subagent_says_last_is_part_of_its_call_and_no_message_of_claude_code() {
    let home = Home::new();
    let agent = json!({"description": "Do it", "prompt": "work below", "subagent_type": "general-purpose",
        "run_in_background": false});
    let model = Model::start(vec![
        Rule::on_text("work below").say("all done below"),
        Rule::on_text("delegate").call("Agent", agent).once(),
        Rule::on_any_result().say("it is done"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "delegate"), "end_turn");
    let updates = editor.updates(&session);
    let shown = |kind: &str| updates.iter().filter(|update| update["sessionUpdate"] == kind).collect::<Vec<_>>();
    assert_eq!(shown("user_message_chunk"), Vec::<&Value>::new());
    let calls = shown("tool_call_update");
    let ended = calls.iter().find(|update| update["status"] == "completed").unwrap();
    assert!(ended.to_string().contains("all done below"), "{ended}");
}

#[test]
fn a_model_that_is_chosen_by_a_command_in_the_thread_is_shown_as_chosen() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    for words in ["hello", "/model haiku", "and now"] {
        assert_eq!(editor.prompt_to_end(&session, words), "end_turn");
    }
    editor.update(&session, "the model that was chosen", |update| {
        update["configOptions"][1]["currentValue"] == "haiku" && update["sessionUpdate"] == "config_option_update"
    });
}
