//! Commands in terminals of the editor end with the agent for which they run, whatever the editor does with the terminal.

use super::agent::Agent;
use super::desk::Desk;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::home::Home;
use crate::support::{PATIENCE, running, until};
use serde_json::json;

#[test]
fn an_agent_killed_with_sigkill_leaves_no_command_in_a_terminal_of_the_editor() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("serve it")
            .call("mcp__acp__Bash", json!({"command": "touch served; sleep 600", "run_in_background": true}))
            .once(),
        Rule::on_text("take long").call("mcp__acp__Bash", json!({"command": "touch begun; sleep 600"})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &Desk::capabilities());
    let session = editor.new_session(&home);
    let desk = Desk::new(&home, editor);
    desk.turn(&session, "serve it", "allow_once");
    desk.editor.prompt(&session, "take long");
    desk.editor.choose(&desk.editor.permission(), "allow_once");
    desk.serve(&desk.editor.request("terminal/create"));
    until("both commands", || ["served", "begun"].iter().all(|name| home.project().join(name).exists()).then_some(()));
    let commands = desk.running();
    assert!(commands.len() >= 2, "{commands:?}");
    // The editor keeps its terminals open, and what they print goes to a file.
    desk.editor.child.kill_9();
    running::wait_gone(&commands, PATIENCE);
}
