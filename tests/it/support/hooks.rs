//! Hooks as Claude Code calls them: through the hidden tool of a session's channel, and by `portcullis hook`.

use super::child::Stdin;
use super::gate::Gate;
use super::home::{Home, Ran};
use super::seen::{PATIENCE, until};
use super::standin::StandIn;
use serde_json::{Value, json};

pub(crate) fn bash(command: &str) -> Value {
    json!({"tool_name": "Bash", "tool_input": {"command": command, "description": "Do it"}})
}

pub(crate) fn with(mut fields: Value, name: &str, value: impl Into<Value>) -> Value {
    fields[name] = value.into();
    fields
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

#[track_caller]
pub(crate) fn open_ask(gate: &Gate) -> Value {
    until("an open prompt", || {
        let asks = gate.get("/api/v1/asks").expect(200).json();
        asks.as_array().unwrap().iter().find(|ask| ask["state"] == "open").cloned()
    })
}

#[track_caller]
pub(crate) fn ask_now(gate: &Gate, ask: &Value, is_it: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/api/v1/asks/{}", ask["code"].as_str().unwrap());
    until("the prompt as it should be", || Some(gate.get(&path).json()).filter(&is_it))
}

#[track_caller]
pub(crate) fn answer(home: &Home, gate: &Gate, ask: &Value, verdict: &Value) {
    let path = format!("/api/v1/asks/{}/verdict", ask["code"].as_str().unwrap());
    gate.post_as(home.token(), &path, verdict).expect(200);
}

/// What an event that came by a hook says, and its attributes.
pub(crate) fn context(output: &Value) -> &str {
    output["hookSpecificOutput"]["additionalContext"].as_str().unwrap_or_default()
}

/// Waits until the session's own process has the event: it is on its way, and nobody has it yet.
#[track_caller]
pub(crate) fn say(gate: &Gate, text: &str) -> String {
    gate.say("/", text).expect(200).header("x-event-id").unwrap().to_owned()
}

#[track_caller]
pub(crate) fn state_of(gate: &Gate, event: &str, want: &str) {
    let path = format!("/api/v1/events/{event}");
    until(&format!("an event that is {want}"), || (gate.get(&path).json()["state"] == want).then_some(()));
}

/// The event as soon as one of the session's tool calls brings it.
#[track_caller]
pub(crate) fn by_tool_call(session: &StandIn) -> Value {
    until("an event with a tool call", || {
        let output = session.hook("PostToolUse", &bash("ls"));
        (!context(&output).is_empty()).then_some(output)
    })
}

/// `portcullis hook` as Claude Code runs it for the agent whose channel this test plays.
pub(crate) fn command_hook(home: &Home, input: &Value, attended: bool) -> Ran {
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
