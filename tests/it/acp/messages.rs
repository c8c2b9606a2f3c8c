//! Messages from outside in a session of an editor: the model answers, corrects and reads them.

use super::agent::Agent;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::{Rule, replies_and_corrects};
use crate::support::home::Home;
use serde_json::{Value, json};

const INBOX: &str = "mcp__gate__inbox";

fn asked(editor: &Editor) -> bool {
    editor.frames().iter().any(|frame| frame.value["method"] == "session/request_permission")
}

#[test]
fn the_model_replies_to_a_message_and_corrects_it_and_the_editor_sees_both() {
    let home = Home::new();
    let gate = home.serve();
    let events = gate.events();
    let model = Model::start(replies_and_corrects());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    home.attached(1);
    let sent = gate.say("/?chat=ops", "main is red").expect(200);
    assert_eq!(events.containing("Reply to").data, "Reply to ops: on it");
    assert!(events.containing("Edit of").data.ends_with("to ops: fixed"));
    editor.hears(&session, "told them");
    let calls: Vec<Value> =
        editor.updates(&session).into_iter().filter(|update| update["rawInput"]["text"].is_string()).collect();
    for text in ["on it", "fixed"] {
        assert!(calls.iter().any(|call| call["rawInput"]["text"] == text), "{calls:?}");
    }
    assert!(!asked(&editor), "the tools of the gate ask nobody");
    gate.wait_for_event(sent.header("x-event-id").unwrap(), "seen");
}

#[test]
fn the_model_reads_a_long_message_whole_and_lists_what_came() {
    let home = Home::new();
    home.write_config("max_context = 200\n");
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("the log").call(INBOX, json!({"event_id": "$EVENT_ID"})).once(),
        Rule::on_result("The very end.").call(INBOX, json!({})).once(),
        Rule::on_any_result().say("read: $RESULT"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    home.attached(1);
    let text = format!("the log\n{}\nThe very end.", "a line\n".repeat(200));
    let sent = gate.say("/?chat=ops", &text).expect(200);
    let event = sent.header("x-event-id").unwrap();
    editor.hears(&session, event);
    assert!(!model.wait_for_turn("the log").shows("The very end."), "it was too long to be shown");
    model.wait_for_turn("The very end.");
    assert!(!asked(&editor));
}
