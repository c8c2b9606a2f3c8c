//! Messages of the client: told on, and read for what they say about the session itself.

use bytes::Bytes;
use portcullis_wire::control::{ClientNotice, Message, TurnResult};
use portcullis_wire::stream::{EntryKind, TurnEnd};
use serde_json::{Map, Value};

use super::{Driver, TaskMessage, Told, UntakenLine};
use crate::agents::claude::CLIENT;
use crate::agents::claude::control::requests::REQUEST_TIMEOUT;
use crate::agents::claude::entries::{noticed, results};

/// Why a turn begins that the client has scheduled, as people are told.
const SCHEDULED: &str = "goes on by itself: what it had scheduled is due";

impl Driver {
    pub(super) fn message(&mut self, line: Bytes, mut message: Box<Message>) {
        if self.notices.is_said_again(&message) {
            return;
        }
        // Whoever looks at the session knows a tool by what it does, whichever way it goes.
        message.rename_tools(|tool| self.editor.named(tool).to_owned());
        if message.kind == "user" {
            self.audit(&message);
            message.settle_results(|call, _| self.editor.made_instead(call));
        }
        // Before the first turn there is no conversation to go on with, and none where it found none to resume.
        let is_of_turn = self.is_ready && matches!(message.kind.as_str(), "assistant" | "result");
        if is_of_turn && message.session_id.is_some() {
            self.agent_session.clone_from(&message.session_id);
        }
        self.stream(&message);
        match (message.kind.as_str(), message.subtype.as_deref()) {
            ("assistant", _) => self.calls.wanted(&message),
            ("command_lifecycle", _) => self.line_is(&message),
            // What was not in the background is told by the result of its call, which follows.
            ("system", Some("task_notification")) if !self.is_of_call_under_way(&message) => {
                self.said_by_client(message.summary.as_deref().unwrap_or("a task in the background has ended"));
            }
            ("system", Some("init")) => {
                self.described(&message);
                if self.tells_lines && !self.turn_is_explained {
                    self.said_by_client("goes on by itself");
                }
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
        let notice = self.notices.of(&message);
        self.tell(Told::Message { line, message });
        if let Some(notice) = notice {
            self.told_by_client(notice);
        }
    }

    /// The client tells the person something itself.
    fn told_by_client(&mut self, notice: ClientNotice) {
        self.gate.stream().push(noticed(&notice));
        let note = format!("{CLIENT}: {}", notice.text());
        self.tell(Told::Client { notice, note });
    }

    /// What became of a line. Words that the model is given end the guard against text from outside that came before them.
    fn line_is(&mut self, message: &Message) {
        self.tells_lines = true;
        let is_it = |words: &UntakenLine| message.command_uuid.as_ref() == Some(&words.uuid);
        let state = message.state.as_deref();
        if state == Some("queued") {
            return;
        }
        if state == Some("started") && message.wakeup_source.is_some() {
            self.said_by_client(SCHEDULED);
        }
        self.turn_is_explained = true;
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
                let was_stopped = self.was_stopped();
                message.turn_result(was_stopped).map(|result| turn_entry(&result, was_stopped)).into_iter().collect()
            }
            _ => vec![],
        };
        for entry in entries {
            self.gate.stream().push(entry);
        }
    }

    fn is_of_call_under_way(&self, message: &Message) -> bool {
        message.tool_use_id.as_deref().is_some_and(|call| self.calls.is_under_way(call))
    }

    /// The client itself puts something before the model, and goes on with it: a command in the background has ended, say.
    fn said_by_client(&mut self, text: &str) {
        self.turn_is_explained = true;
        self.gate.stream().push(EntryKind::Notice { text: format!("{CLIENT}: {text}") });
        let (by, text, note) = (CLIENT.to_owned(), text.to_owned(), format!("{CLIENT}: {text}"));
        self.tell(Told::Said { by, text, note });
    }

    fn audit(&mut self, message: &Message) {
        for call in self.calls.finished(message) {
            let (tool, id) = (call.call.tool.clone(), call.call.tool_use_id.clone());
            if let Some(alarm) = self.gatekeeper.after(call).alarm(&tool, id.as_deref()) {
                self.notice(alarm);
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

/// The end of a turn, as those who look at the session's stream are told. Whoever stopped it does not ask how it went.
fn turn_entry(result: &TurnResult, was_stopped: bool) -> EntryKind {
    let (ended, why) = match result {
        _ if was_stopped => (TurnEnd::Interrupted, None),
        TurnResult::Interrupted => (TurnEnd::Interrupted, None),
        TurnResult::TooManyTurns => (TurnEnd::Failed, Some("it took as many turns as it may".to_owned())),
        TurnResult::Failed(why) => (TurnEnd::Failed, Some(why.clone())),
        TurnResult::Done | TurnResult::Refused | TurnResult::TooLong => (TurnEnd::Done, None),
    };
    EntryKind::Turn { ended, why }
}
