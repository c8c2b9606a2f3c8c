//! A session begins at once, whatever the gate does.

use super::agent::Agent;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::support::Signal;
use crate::support::home::Home;
use serde_json::json;

#[test]
fn a_new_session_does_not_wait_for_a_gate_that_hangs_and_has_the_mode_that_is_set_there() {
    let home = Home::new();
    let gate = home.serve();
    home.run(&["session", "default-mode", "plan"]).ok();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    // It takes connections, and answers nobody.
    gate.signal(Signal::STOP);
    let created = editor.call("session/new", &json!({"cwd": home.project(), "mcpServers": []}));
    assert_eq!(created["modes"]["currentModeId"], "default", "as configured: nobody has said more yet");
    let session = created["sessionId"].as_str().unwrap();
    let prompt = editor.prompt(session, "hello");
    gate.signal(Signal::CONT);
    editor.update(session, "the mode that is set at the gate", |update| {
        update["sessionUpdate"] == "current_mode_update" && update["currentModeId"] == "plan"
    });
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert_eq!(home.attached(1)[0]["mode"], "plan", "what was said meanwhile is said in it");
    let kinds: Vec<String> = editor.updates(session).iter().map(|update| update["sessionUpdate"].to_string()).collect();
    let place = |kind: &str| kinds.iter().position(|of| of.contains(kind)).unwrap();
    assert!(place("current_mode_update") < place("agent_message_chunk"), "{kinds:?}");
}
