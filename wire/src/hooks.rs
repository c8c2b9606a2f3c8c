//! Claude Code's hooks: what it calls us with, and what it understands as an answer.
//!
//! The same fields come in three ways: as the JSON of a command hook or an http hook, and, for a hook that calls a tool
//! of ours, as text put into the arguments that `install` wrote. There a missing field is empty text.

pub mod own;
mod text;

use serde_json::{Value, json};

pub use text::{LONGEST_CALL, fields_of};

/// What `install` writes today. It is told with every call, so that a session knows what it can count on: since version 2
/// the client waits a day for the hook before a tool, since version 3 it tells when all calls of a message are over, since
/// version 4 the hooks that decide run our program, which no server of a project can stand in for, since version 5 a
/// call does not run whose hook is ended before it has answered, and since version 6 no variable of a project's settings
/// makes the shell before that hook do nothing.
pub const HOOKS_VERSION: u32 = 6;

macro_rules! hook_events {
    ($($name:ident),* $(,)?) => {
        /// The hooks that we take part in.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum HookEvent { $($name),* }

        impl HookEvent {
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }
        }
    };
}

hook_events!(
    PermissionRequest,
    PreToolUse,
    PostToolUse,
    PostToolUseFailure,
    PostToolBatch,
    PermissionDenied,
    UserPromptSubmit,
    Stop,
    SubagentStop,
    Notification,
    SessionStart,
    SessionEnd,
    FileChanged,
);

impl HookEvent {
    /// The client calls a tool of our server for this hook. The others start a program: those for which it can call no
    /// tool, and those that decide, for a project's own server may have the name of ours.
    pub fn is_by_tool(self) -> bool {
        !self.decides() && self.had_tool()
    }

    /// Earlier releases had the client call a tool for this hook.
    fn had_tool(self) -> bool {
        !matches!(self, Self::SessionStart | Self::SessionEnd | Self::FileChanged)
    }

    /// What is answered decides about a call. People may have to be asked first.
    pub fn decides(self) -> bool {
        matches!(self, Self::PermissionRequest | Self::PreToolUse)
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.name() == name)
    }

    /// What the arguments of the tool are to hold: the client fills in what stands in `${…}`.
    pub fn fields(self) -> &'static [&'static str] {
        match self {
            Self::PostToolUse => &["tool_name", "tool_input", "tool_use_id", "permission_mode"],
            Self::PostToolUseFailure | Self::PermissionDenied => &["tool_name", "tool_input", "tool_use_id"],
            Self::UserPromptSubmit => &["prompt", "permission_mode"],
            Self::Stop => &["stop_hook_active", "permission_mode", "session_crons"],
            Self::Notification => &["notification_type"],
            Self::PostToolBatch | Self::SubagentStop => &[],
            // The program reads whatever the client tells.
            Self::PermissionRequest | Self::PreToolUse | Self::SessionStart | Self::SessionEnd | Self::FileChanged => {
                &[]
            }
        }
    }
}

/// One call of a hook.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCall {
    pub event: HookEvent,
    pub session_id: Option<String>,
    /// Set in a subagent alone.
    pub agent_id: Option<String>,
    pub tool_name: String,
    /// The whole input, or null where the hook has none.
    pub tool_input: Value,
    pub tool_use_id: Option<String>,
    pub permission_suggestions: Vec<Value>,
    pub permission_mode: Option<String>,
    pub prompt: String,
    /// `idle_prompt`: the session waits for its user.
    pub notification_type: Option<String>,
    pub stop_hook_active: bool,
    /// The prompts that the session has scheduled for itself, where the hook tells.
    pub scheduled_prompts: Option<Vec<String>>,
    /// Why a session starts: `startup`, `clear`, `resume` or `compact`.
    pub source: Option<String>,
    /// Why it ends.
    pub reason: Option<String>,
    pub model: Option<String>,
    pub cwd: Option<String>,
    /// Of the hooks that are installed. None: older than version 2, or not written by `install`.
    pub hooks_version: Option<u32>,
    /// Why nobody can say what the call would do: not all of it could be read.
    pub unreadable: Option<String>,
}

/// How prompts begin that Claude Code makes by itself: its own tags and notices. A person who types one of these is not
/// taken for a person.
const NOT_TYPED: [&str; 10] = [
    "<task-notification",
    "<channel",
    "<teammate-message",
    "<cron-",
    "<system-reminder",
    "[SYSTEM NOTIFICATION",
    "Another Claude session sent a message",
    "[Cross-session delivery notice]",
    "# Autonomous loop",
    "Stop hook feedback",
];

/// Whether Claude Code made this prompt by itself.
pub fn is_made_by_client(prompt: &str) -> bool {
    NOT_TYPED.iter().any(|opening| prompt.trim_start().starts_with(opening))
}

/// The call is not one we understand.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{0:?} is no hook of ours")]
pub struct NoHook(String);

impl NoHook {
    /// Nobody can say which hook it is, so it may be one that decides.
    pub fn is_unnamed(&self) -> bool {
        self.0.is_empty()
    }
}

impl HookCall {
    pub fn read(arguments: &Value) -> Result<Self, NoHook> {
        let text = |field: &str| match &arguments[field] {
            Value::String(text) if !text.is_empty() => Some(text.clone()),
            _ => None,
        };
        let name = text(text::NAME).unwrap_or_default();
        let event = HookEvent::named(&name).ok_or(NoHook(name))?;
        let tool_input = value(&arguments["tool_input"]);
        let malformed = || if event.decides() { malformed(arguments, &tool_input) } else { None };
        let suggestions = match value(&arguments["permission_suggestions"]) {
            Value::Array(suggestions) => suggestions,
            _ => vec![],
        };
        Ok(Self {
            event,
            session_id: text("session_id"),
            agent_id: text("agent_id"),
            tool_name: text("tool_name").unwrap_or_default(),
            unreadable: text(text::UNREADABLE).or_else(malformed),
            tool_input,
            tool_use_id: text("tool_use_id"),
            permission_suggestions: suggestions,
            permission_mode: text("permission_mode"),
            prompt: text("prompt").unwrap_or_default(),
            notification_type: text("notification_type"),
            stop_hook_active: value(&arguments["stop_hook_active"]) == Value::Bool(true),
            scheduled_prompts: match value(&arguments["session_crons"]) {
                Value::Array(crons) => {
                    Some(crons.iter().filter_map(|cron| cron["prompt"].as_str().map(str::to_owned)).collect())
                }
                _ => None,
            },
            source: text("source"),
            reason: text("reason"),
            model: text("model"),
            cwd: text("cwd"),
            hooks_version: text("hooks_version").and_then(|version| version.parse().ok()),
        })
    }

    /// The version of the hooks that `install` wrote; the first had no mark. None where this call cannot tell.
    pub fn installed_version(&self) -> Option<u32> {
        self.hooks_version.or(self.event.had_tool().then_some(1))
    }

    /// The prompt that this tool call has scheduled: Claude Code makes it by itself later, and does not say so then.
    pub fn schedules(&self) -> Option<&str> {
        let is_schedule = matches!(self.tool_name.as_str(), "CronCreate" | "ScheduleWakeup");
        self.tool_input["prompt"].as_str().filter(|_| is_schedule)
    }

    /// The conversation is a copy of another one.
    pub fn is_fork(&self) -> bool {
        self.source.as_deref() == Some("fork")
    }

    /// A turn that Claude Code began by itself, to tell the model of something, and not the person typing.
    pub fn is_notification(&self) -> bool {
        is_made_by_client(&self.prompt)
    }
}

/// Why nobody can say what a call would do although all of it could be read: it is not what the client sends. Tools are
/// called by name and with an object, and what says where and in which mode is text.
fn malformed(arguments: &Value, tool_input: &Value) -> Option<String> {
    const TEXTS: [&str; 6] = ["tool_name", "session_id", "agent_id", "tool_use_id", "permission_mode", "cwd"];
    let is_odd = |field: &&&str| !matches!(arguments[**field], Value::Null | Value::String(_));
    if let Some(field) = TEXTS.iter().find(is_odd) {
        return Some(format!("its {field} is not text"));
    }
    if arguments["tool_name"].as_str().is_none_or(str::is_empty) {
        return Some("it names no tool".to_owned());
    }
    (!tool_input.is_object()).then(|| "its input cannot be read".to_owned())
}

/// A value as it is, or as text that holds it.
fn value(field: &Value) -> Value {
    match field {
        Value::String(text) if text.is_empty() => Value::Null,
        Value::String(text) => serde_json::from_str(text).unwrap_or_else(|_| field.clone()),
        other => other.clone(),
    }
}

/// More for the model to read, in the same turn. A session that wanted to stop goes on with it.
pub fn context(event: HookEvent, text: &str) -> Value {
    specific(event, json!({"additionalContext": text}))
}

/// The same, and a notice for the person at the terminal.
pub fn context_shown(event: HookEvent, text: &str, shown: &str) -> Value {
    let mut output = context(event, text);
    output["systemMessage"] = Value::from(shown);
    output
}

/// Only for the person at the terminal.
pub fn notice(shown: &str) -> Value {
    json!({"systemMessage": shown})
}

/// An answer with an alarm before what else it shows to the person at the terminal.
pub fn with_alarm(mut answer: Value, alarm: &str) -> Value {
    match answer.get("systemMessage").and_then(Value::as_str).map(|shown| format!("{alarm}\n{shown}")) {
        Some(shown) => answer["systemMessage"] = Value::from(shown),
        None if answer.is_object() => answer["systemMessage"] = Value::from(alarm),
        None => return notice(alarm),
    }
    answer
}

/// The tool does not run.
pub fn refuse_tool(reason: &str) -> Value {
    specific(HookEvent::PreToolUse, json!({"permissionDecision": "deny", "permissionDecisionReason": reason}))
}

/// A no to a hook that decides; nothing for any other.
pub fn refuse(event: HookEvent, reason: &str) -> Value {
    match event {
        HookEvent::PreToolUse => refuse_tool(reason),
        HookEvent::PermissionRequest => deny(Some(reason), false),
        _ => Value::Null,
    }
}

/// The tool runs only after someone was asked.
pub fn ask_about_tool(reason: &str) -> Value {
    specific(HookEvent::PreToolUse, json!({"permissionDecision": "ask", "permissionDecisionReason": reason}))
}

/// A prompt is answered with yes: for this input if one is given, and from now on as far as `permissions` say.
pub fn allow(input: Option<Value>, permissions: Vec<Value>) -> Value {
    let mut decision = json!({"behavior": "allow"});
    if let Some(input) = input {
        decision["updatedInput"] = input;
    }
    if !permissions.is_empty() {
        decision["updatedPermissions"] = Value::Array(permissions);
    }
    specific(HookEvent::PermissionRequest, json!({"decision": decision}))
}

/// A prompt is answered with no.
pub fn deny(message: Option<&str>, interrupt: bool) -> Value {
    let mut decision = json!({"behavior": "deny"});
    if let Some(message) = message {
        decision["message"] = Value::from(message);
    }
    if interrupt {
        decision["interrupt"] = Value::Bool(true);
    }
    specific(HookEvent::PermissionRequest, json!({"decision": decision}))
}

/// The client watches these files for the session, and shows a warning to the person at the terminal.
pub fn watch(paths: &[String], warning: Option<&str>) -> Value {
    let mut output = specific(HookEvent::SessionStart, json!({"watchPaths": paths}));
    if let Some(warning) = warning {
        output["systemMessage"] = Value::from(format!("portcullis: {warning}"));
    }
    output
}

fn specific(event: HookEvent, mut output: Value) -> Value {
    output["hookEventName"] = Value::from(event.name());
    json!({"hookSpecificOutput": output})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_reads_the_same_as_text_and_as_json() {
        let raw = json!({
            "hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "permission_suggestions": [{"type": "setMode"}],
        });
        let told = json!({
            "hook_event_name": "PermissionRequest", "session_id": "s", "tool_name": "Bash", "agent_id": "",
            "tool_input": "{\"command\":\"ls\"}", "permission_suggestions": "[{\"type\":\"setMode\"}]",
            "stop_hook_active": "", "prompt": "",
        });
        let call = HookCall::read(&raw).unwrap();
        assert_eq!(call, HookCall::read(&told).unwrap());
        assert_eq!((call.tool_input["command"].as_str(), call.agent_id.as_deref()), (Some("ls"), None));
        assert!(
            HookCall::read(&json!({"hook_event_name": "Stop", "stop_hook_active": "true"})).unwrap().stop_hook_active
        );
        assert_eq!(HookCall::read(&json!({})), Err(NoHook(String::new())));
    }

    #[test]
    fn what_the_client_does_not_send_is_not_readable_where_a_call_is_decided() {
        let call = json!({"hook_event_name": "PreToolUse", "session_id": "s", "tool_name": "Bash", "cwd": "/",
                          "permission_mode": "default", "tool_input": {"command": "ls"}});
        assert_eq!(HookCall::read(&call).unwrap().unreadable, None);
        for (field, odd) in [
            ("tool_name", json!(7)),
            ("tool_name", json!("")),
            ("tool_name", Value::Null),
            ("tool_input", json!("ls")),
            ("tool_input", json!(["ls"])),
            ("tool_input", Value::Null),
            ("cwd", json!(["/"])),
            ("permission_mode", json!({})),
            ("agent_id", json!(true)),
        ] {
            let mut call = call.clone();
            call[field] = odd.clone();
            assert!(HookCall::read(&call).unwrap().unreadable.is_some(), "{field} = {odd}");
            call["hook_event_name"] = "PostToolUse".into();
            assert_eq!(HookCall::read(&call).unwrap().unreadable, None, "{field} = {odd}");
        }
    }

    #[test]
    fn only_what_a_person_typed_counts_as_typed() {
        let submitted = |prompt: &str| {
            HookCall::read(&json!({"hook_event_name": "UserPromptSubmit", "prompt": prompt})).unwrap().is_notification()
        };
        assert!(submitted("<task-notification>x</task-notification>") && !submitted("see <task-notification>"));
    }

    #[test]
    fn answers_are_what_the_client_understands() {
        let allowed = allow(Some(json!({"command": "ls"})), vec![]);
        assert_eq!(
            allowed.to_string(),
            r#"{"hookSpecificOutput":{"decision":{"behavior":"allow","updatedInput":{"command":"ls"}},"hookEventName":"PermissionRequest"}}"#
        );
        assert_eq!(
            context(HookEvent::PostToolUse, "x").to_string(),
            r#"{"hookSpecificOutput":{"additionalContext":"x","hookEventName":"PostToolUse"}}"#
        );
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_hook_or_an_error_but_never_a_panic(bytes: Vec<u8>) {
            if let Ok(value) = serde_json::from_slice::<Value>(&bytes) {
                drop(HookCall::read(&value));
            }
        }
    }
}
