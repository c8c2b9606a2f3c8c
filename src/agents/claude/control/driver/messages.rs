//! Messages of the client: told on, and read for what they say about the session itself.

use bytes::Bytes;
use portcullis_wire::control::Message;
use portcullis_wire::stream::{EntryKind, TurnEnd};
use serde_json::{Map, Value};

use super::{Driver, TaskMessage, Told, UntakenLine};
use crate::agents::claude::control::requests::REQUEST_TIMEOUT;
use crate::agents::claude::entries::results;

impl Driver {
    pub(super) fn message(&mut self, line: Bytes, mut message: Box<Message>) {
        // Whoever looks at the session knows a tool by what it does, whichever way it goes.
        message.rename_tools(|tool| self.editor.named(tool).to_owned());
        // Before the first turn there is no conversation to go on with, and none where it found none to resume.
        let is_of_turn = self.is_ready && matches!(message.kind.as_str(), "assistant" | "result");
        if is_of_turn && message.session_id.is_some() {
            self.agent_session.clone_from(&message.session_id);
        }
        self.stream(&message);
        match (message.kind.as_str(), message.subtype.as_deref()) {
            ("assistant", _) => self.calls.wanted(&message),
            ("user", _) => self.audit(&message),
            ("command_lifecycle", _) => self.line_is(&message),
            ("system", Some("init")) => {
                self.described(&message);
                if !std::mem::replace(&mut self.knows_servers, true) {
                    self.look_at_servers();
                }
            }
            ("system", Some("status")) => self.mode_is(message.permission_mode.clone()),
            ("system", Some("session_state_changed")) => {
                self.tells_state = true;
                self.set_busy(message.state.as_deref() != Some("idle"));
            }
            ("result", _) => {
                self.result = Some((line.clone(), Message::clone(&message)));
                if !self.tells_state {
                    self.set_busy(false);
                }
            }
            _ => {}
        }
        self.tell(Told::Message { line, message });
    }

    /// What became of a line. Words that the model is given end the guard against text from outside that came before them.
    fn line_is(&mut self, message: &Message) {
        self.tells_lines = true;
        let is_it = |words: &UntakenLine| message.command_uuid.as_ref() == Some(&words.uuid);
        let state = message.state.as_deref();
        if state == Some("queued") {
            return;
        }
        let Some(words) = self.untaken.iter().position(is_it).and_then(|place| self.untaken.remove(place)) else {
            return;
        };
        if state == Some("started") {
            self.gatekeeper.outside().end_after(&words.by, words.texts);
        }
    }

    /// What the message tells those who look at the session's stream.
    fn stream(&mut self, message: &Message) {
        let entries = match message.kind.as_str() {
            "stream_event" => self.entries.piece(message).into_iter().collect(),
            "assistant" => self.entries.said(message),
            "user" => results(message),
            "result" => {
                let ended = match (self.was_stopped(), message.is_error) {
                    (true, _) => TurnEnd::Interrupted,
                    (false, true) => TurnEnd::Failed,
                    (false, false) => TurnEnd::Done,
                };
                vec![EntryKind::Turn { ended, why: message.result.clone().filter(|_| ended == TurnEnd::Failed) }]
            }
            _ => vec![],
        };
        for entry in entries {
            self.gate.stream().push(entry);
        }
    }

    fn audit(&mut self, message: &Message) {
        for call in self.calls.finished(message) {
            let (tool, id) = (call.call.tool.clone(), call.call.tool_use_id.clone().unwrap_or_default());
            if !self.gatekeeper.after(call) {
                self.notice(format!("{tool} ran with something else than was allowed; the log has the call {id}"));
            }
        }
    }

    /// The client says who it is, at the start and after `/clear`.
    fn described(&self, message: &Message) {
        self.gate.describe(|about| {
            about.agent_session = message.session_id.clone().or_else(|| about.agent_session.take());
            about.mode = message.permission_mode.clone().or_else(|| about.mode.take());
        });
    }

    pub(super) fn mode_is(&self, mode: Option<String>) {
        if mode.is_some() {
            self.gate.describe(|about| about.mode = mode);
        }
    }

    /// Says that the client leaves out rules of a folder that nobody has trusted there: it tells its standard error alone.
    pub(super) fn look_at_trust(&mut self, stderr_tail: &str) {
        if stderr_tail.contains("has not been trusted") {
            self.notice(
                "Claude Code leaves out what .claude/settings.json of this folder allows, because the folder is not \
                 trusted: run `claude` here once and accept its dialog, or answer the prompts"
                    .to_owned(),
            );
        }
    }

    /// Says once which MCP servers did not come up: without a terminal nobody would see it.
    fn look_at_servers(&self) {
        let asking = self.control.request("mcp_status", Map::new(), REQUEST_TIMEOUT);
        let messages = self.task_messages.clone();
        tokio::spawn(async move {
            let status = asking.await.unwrap_or_default();
            let servers = status.get("mcpServers").and_then(Value::as_array).cloned().unwrap_or_default();
            for server in servers {
                let text = |field: &str| server.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
                // A channel that is configured as well leaves by itself: this session has ours.
                let is_ours = text("name").ends_with("portcullis");
                if matches!(text("status").as_str(), "failed" | "needs-auth") && !is_ours {
                    let what = format!("the MCP server {} is not there: {}", text("name"), text("status"));
                    drop(messages.send(TaskMessage::Notice(what)).await);
                }
            }
        });
    }
}
