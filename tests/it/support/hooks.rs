//! Hooks as Claude Code calls them: through the hidden tool of a session's channel, and by `portcullis hook`.

use super::child::Stdin;
use super::claude::Claude;
use super::gate::Gate;
use super::home::{Home, Ran};
use super::seen::{PATIENCE, until};
use super::standin::StandIn;
use super::tmux::install;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::net::UnixStream;

pub(crate) fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command, "description": "Do it"}})
}

pub(crate) fn with(mut fields: Value, name: &str, value: impl Into<Value>) -> Value {
    fields[name] = value.into();
    fields
}

/// A model that makes `made.txt` when it is told to `make it`, and then says `all done`.
pub(crate) fn file_maker() -> Model {
    let touch = json!({"command": "touch made.txt", "description": "Make a file"});
    Model::start(vec![Rule::on_text("make it").call("Bash", touch).once(), Rule::on_any_result().say("all done")])
}

/// A project with hooks, the owner's rules, and a gate.
pub(crate) fn home_with_rules(rules: &str) -> (Home, Gate) {
    let home = Home::new();
    install(&home, &[]);
    fs::write(home.folder().join("rules.toml"), rules).unwrap();
    let gate = home.serve();
    (home, gate)
}

/// `claude -p go` in this mode, with what is installed. Returns what it says.
#[track_caller]
pub(crate) fn headless(home: &Home, model: &Model, mode: &str, meanwhile: impl FnOnce()) -> String {
    let mut command = Claude::command(home, model);
    command.env("IS_SANDBOX", "1").args(["-p", "go", "--permission-mode", mode]);
    let claude = home.spawn(command, Stdin::Nothing);
    meanwhile();
    Ran::of(&claude, PATIENCE * 3).ok().stdout
}

/// A gate and a session that has called a hook.
pub(crate) fn hooked() -> (Home, Gate, StandIn) {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    assert_eq!(session.hook("Notification", &json!({})), json!({}));
    home.attached(1);
    (home, gate, session)
}

/// Somebody sits at the terminal of the session whose channel this test plays.
#[track_caller]
pub(crate) fn attend(home: &Home) {
    let start = json!({"hook_event_name": "SessionStart", "session_id": "s-1", "source": "startup"});
    command_hook(home, &start, true).ok();
}

/// What an event that came by a hook says, and its attributes.
pub(crate) fn context(output: &Value) -> &str {
    output["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

/// The event as soon as one of the session's tool calls brings it.
#[track_caller]
pub(crate) fn by_tool_call(session: &StandIn) -> Value {
    until("an event with a tool call", || {
        let output = session.hook("PostToolUse", &bash("ls"));
        (!context(&output).is_empty()).then_some(output)
    })
}

/// The event with this text, as soon as one of the session's tool calls brings it.
#[track_caller]
pub(crate) fn by_tool_call_containing(session: &StandIn, text: &str) -> Value {
    until("an event with a tool call", || {
        let output = session.hook("PostToolUse", &bash("ls"));
        context(&output).contains(text).then_some(output)
    })
}

/// `portcullis hook` as Claude Code runs it for the agent whose channel this test plays.
pub(crate) fn command_hook(home: &Home, input: &impl ToString, attended: bool) -> Ran {
    let mut command = home.command(&["hook"]);
    command.env("CLAUDE_PID", std::process::id().to_string());
    if attended {
        command.env("CLAUDE_CODE_SESSION_ATTENDED", "1");
    }
    let child = home.spawn(command, Stdin::Open);
    child.write(input.to_string());
    child.close_stdin();
    Ran::of(&child, PATIENCE)
}

/// A hook takes what waits for the session, which contains this text, and dies before the client has it.
#[track_caller]
pub(crate) fn take_and_die(home: &Home, text: &str) {
    let socket = home.folder().join(format!("gate-{}.sock", std::process::id()));
    until("a hook that took it and died", || {
        let mut stream = UnixStream::connect(&socket).ok()?;
        writeln!(stream, "{}", json!({"hook_event_name": "FileChanged"})).ok()?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line).ok()?;
        line.contains(text).then_some(())
    });
}
