//! An editor with files and terminals, for someone who has settings of Claude Code of their own.

use super::agent::Agent;
use super::desk::Desk;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::home::Home;
use crate::support::tmux::install;
use serde_json::{Value, json};
use std::fs;

fn desk(home: &Home, agent: &Agent<'_>) -> (Desk, String) {
    let editor = Editor::start(home, agent, &Desk::capabilities());
    let session = editor.new_session(home);
    (Desk::new(home, editor), session)
}

fn bash(command: &str) -> Value {
    json!({"command": command, "description": "Do it"})
}

fn settings(home: &Home, settings: &Value) {
    fs::create_dir_all(home.user().join(".claude")).unwrap();
    fs::write(home.user().join(".claude/settings.json"), settings.to_string()).unwrap();
}

#[test]
fn a_hook_for_a_tool_holds_where_the_editor_has_a_tool_of_that_name() {
    let home = Home::new();
    let guard = json!({"type": "command", "command": "echo 'not in this house' >&2; exit 2"});
    settings(
        &home,
        &json!({"permissions": {"allow": ["Bash(touch *)"]},
            "hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [guard]}]}}),
    );
    let file = json!({"file_path": home.project().join("new.txt"), "content": "new\n"});
    let model = Model::start(vec![
        Rule::on_text("run it").call("mcp__acp__Bash", bash("touch made.txt")).once(),
        Rule::on_result("use the tool Bash").call("Bash", bash("touch made.txt")).once(),
        Rule::on_text("write it").call("mcp__acp__Write", file).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    assert_eq!(desk.turn(&session, "run it", "allow_once").len(), 0);
    model.wait_for_turn("not in this house");
    assert!(!home.project().join("made.txt").exists());
    assert_eq!(desk.used("terminal/create"), 0);
    assert_eq!(desk.turn(&session, "write it", "allow_once").len(), 1);
    assert_eq!(desk.used("fs/write_text_file"), 1, "nothing is for this one");
}

#[test]
fn hooks_of_our_own_leave_the_tools_to_the_editor() {
    let home = Home::new();
    install(&home, &[]);
    let model = Model::start(vec![
        Rule::on_text("run it").call("mcp__acp__Bash", bash("touch made.txt")).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    assert_eq!(desk.turn(&session, "run it", "allow_once").len(), 1, "one person is asked once");
    assert!(home.project().join("made.txt").exists());
    assert_eq!(desk.used("terminal/create"), 1);
}
