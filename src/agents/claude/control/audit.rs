//! Every tool call of a driven session, asked for or not: what it was, who let it through, and what became of it.

use std::collections::{HashMap, VecDeque};

use portcullis_core::{AskId, CallOutcome, Text, ToolCall, excerpt};
use portcullis_wire::control::{Block, Message, ToolResultMeta};
use portcullis_wire::preview::preview;
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::prompt::digest;
use crate::session::link::SessionHandle as Gate;

/// Calls under way that are remembered; a client has a dozen at most.
const MOST: usize = 1024;
/// As much of a call is written down; what was asked about is whole in its ask.
const LONGEST_PREVIEW: usize = 2048;

/// Calls that wait for their way to the gate; as many again wait in the link.
const MOST_WAITING: usize = 1024;

#[derive(Default)]
pub(super) struct Calls {
    /// By the client's id of the call. Goes when its result comes.
    open: HashMap<String, Call>,
    /// The same ids, oldest first: who never ends makes room for others.
    order: VecDeque<String>,
}

#[derive(Default)]
struct Call {
    tool: String,
    preview: String,
    agent: Option<String>,
    ask: Option<AskId>,
    /// Of what a person allowed, where one did.
    allowed: Option<[u8; 32]>,
    /// Of what it ran with: as the hook says, else as the model said it.
    input: Option<[u8; 32]>,
}

impl Calls {
    fn entry(&mut self, id: &str) -> &mut Call {
        if !self.open.contains_key(id) {
            self.order.push_back(id.to_owned());
            if self.order.len() > MOST
                && let Some(oldest) = self.order.pop_front()
            {
                self.open.remove(&oldest);
            }
        }
        self.open.entry(id.to_owned()).or_default()
    }

    /// The model has said which tools it wants.
    pub(super) fn wanted(&mut self, message: &Message) {
        for block in message.blocks() {
            if let Block::ToolUse { id, name, input } = block {
                let call = self.entry(id);
                call.tool = name.to_owned();
                call.preview = excerpt(&preview(name, input), Some(LONGEST_PREVIEW)).0.to_owned();
                call.agent.clone_from(&message.parent_tool_use_id);
                call.input = Some(digest(input));
            }
        }
    }

    /// People were asked about it.
    pub(super) fn asked(&mut self, id: &str, ask: AskId) {
        self.entry(id).ask = Some(ask);
    }

    /// It was let through with this input.
    pub(super) fn allowed(&mut self, id: &str, input: &Value) {
        let call = self.entry(id);
        call.allowed = Some(digest(input));
        call.input = call.allowed;
    }

    /// It ran with this input, as the client's hook tells. False when that is not what was allowed.
    pub(super) fn ran(&mut self, id: &str, input: &Value) -> bool {
        let call = self.entry(id);
        call.input = Some(digest(input));
        call.allowed.is_none() || call.allowed == call.input
    }

    /// What became of the calls whose results this message holds.
    pub(super) fn ended(&mut self, message: &Message) -> Vec<ToolCall> {
        let results = message.blocks().into_iter().filter_map(|block| match block {
            Block::ToolResult { id, is_error } => Some((id.to_owned(), is_error)),
            _ => None,
        });
        let results: Vec<(String, bool)> = results.collect();
        results.into_iter().filter_map(|(id, is_error)| self.end(&id, is_error, message)).collect()
    }

    fn end(&mut self, id: &str, is_error: bool, message: &Message) -> Option<ToolCall> {
        let call = self.open.remove(id)?;
        self.order.retain(|other| other != id);
        let meta = message.tool_result_meta.iter().find(|meta| meta.id == id);
        let outcome = match (meta.is_some_and(was_denied), is_error) {
            (true, _) => CallOutcome::Denied,
            (false, true) => CallOutcome::Failed,
            (false, false) => CallOutcome::Ran,
        };
        Some(ToolCall {
            tool: call.tool,
            tool_use_id: Some(id.to_owned()),
            agent: call.agent,
            outcome,
            decided_by: meta.map_or_else(|| "unknown".to_owned(), decided_by),
            digest: call.input,
            ask: call.ask,
            preview: Text::new(call.preview),
        })
    }
}

/// Calls on their way to the log, in their order. While the gate is away they wait; what there is no room for is not in
/// the log, and it is said how many that were.
pub(super) struct Logbook {
    waiting: mpsc::Sender<ToolCall>,
    /// Since the last one that there was room for.
    lost: usize,
}

impl Logbook {
    /// The task ends when all is told and the logbook is gone.
    pub(super) fn open(gate: Gate) -> (Self, JoinHandle<()>) {
        let (logbook, mut waiting) = Self::of(MOST_WAITING);
        let telling = async move {
            while let Some(call) = waiting.recv().await {
                gate.called(call).await;
            }
        };
        (logbook, tokio::spawn(telling))
    }

    fn of(room: usize) -> (Self, mpsc::Receiver<ToolCall>) {
        let (waiting, calls) = mpsc::channel(room);
        (Self { waiting, lost: 0 }, calls)
    }

    /// Never waits.
    pub(super) fn write(&mut self, call: ToolCall) {
        match self.waiting.try_send(call) {
            Ok(()) => self.warn_about_dropped(),
            Err(_) => self.lost += 1,
        }
    }

    fn warn_about_dropped(&mut self) {
        let lost = std::mem::take(&mut self.lost);
        if lost > 0 {
            tracing::warn!("{lost} tool calls are not in the log: the gate was away for too long");
        }
    }
}

impl Drop for Logbook {
    fn drop(&mut self) {
        self.warn_about_dropped();
    }
}

fn was_denied(meta: &ToolResultMeta) -> bool {
    let rejected = meta.permission_decision.as_ref().is_some_and(|decision| decision.decision == "reject");
    rejected || matches!(meta.non_execution_kind.as_deref(), Some("permission-rule" | "user-rejected"))
}

/// `config/rule`, `user_temporary`, `hook`: in the client's own words.
fn decided_by(meta: &ToolResultMeta) -> String {
    let said = meta.permission_decision.as_ref().and_then(|decision| {
        let source = decision.source.clone()?;
        Some(decision.reason_type.as_ref().map_or_else(|| source.clone(), |reason| format!("{source}/{reason}")))
    });
    said.or_else(|| meta.non_execution_kind.clone()).unwrap_or_else(|| "unknown".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_wire::control::{FromClient, read};
    use serde_json::json;

    fn message(value: &Value) -> Message {
        match read(value.to_string().as_bytes()).unwrap() {
            FromClient::Message(message) => *message,
            other => panic!("{other:?}"),
        }
    }

    fn wants(id: &str, command: &str) -> Message {
        message(&json!({"type": "assistant", "message": {"content": [
            {"type": "tool_use", "id": id, "name": "Bash", "input": {"command": command}}]}}))
    }

    fn result(id: &str, is_error: bool, meta: &Value) -> Message {
        message(&json!({"type": "user", "tool_result_meta": [meta], "message": {"content": [
            {"type": "tool_result", "tool_use_id": id, "is_error": is_error}]}}))
    }

    #[test]
    fn each_call_is_told_with_who_decided_and_what_became_of_it() {
        let accepted = |id: &str| json!({"id": id, "permission_decision": {"decision": "accept", "source": "config", "reason_type": "rule"}});
        let rejected = |id: &str| json!({"id": id, "non_execution_kind": "user-rejected"});
        for (meta, is_error, want) in [
            (accepted("a"), false, (CallOutcome::Ran, "config/rule")),
            (accepted("a"), true, (CallOutcome::Failed, "config/rule")),
            (rejected("a"), true, (CallOutcome::Denied, "user-rejected")),
            (json!({"id": "other"}), false, (CallOutcome::Ran, "unknown")),
        ] {
            let mut calls = Calls::default();
            calls.wanted(&wants("a", "ls"));
            let ended = calls.ended(&result("a", is_error, &meta));
            assert_eq!((ended[0].outcome, &*ended[0].decided_by, ended[0].preview.as_str()), (want.0, want.1, "ls"));
            assert!(calls.open.is_empty() && calls.order.is_empty());
        }
    }

    #[test]
    fn what_ran_is_compared_with_what_was_allowed() {
        let mut calls = Calls::default();
        calls.wanted(&wants("a", "ls"));
        assert!(calls.ran("a", &json!({"command": "anything"})), "nobody was asked");
        calls.allowed("a", &json!({"command": "ls -l"}));
        assert!(calls.ran("a", &json!({"command": "ls -l"})));
        assert!(!calls.ran("a", &json!({"command": "rm -rf"})));
        let ended = calls.ended(&result("a", false, &json!({"id": "a"})));
        assert_eq!(ended[0].digest, Some(digest(&json!({"command": "rm -rf"}))), "what ran is what is written down");
    }

    #[test]
    fn calls_that_never_end_are_forgotten() {
        let mut calls = Calls::default();
        for id in 0..MOST + 10 {
            calls.wanted(&wants(&id.to_string(), "ls"));
        }
        assert_eq!((calls.open.len(), calls.order.len()), (MOST, MOST));
    }

    #[test]
    fn calls_that_there_is_no_room_for_are_counted_and_the_others_keep_their_order() {
        let call = |id: usize| {
            let mut calls = Calls::default();
            calls.wanted(&wants(&id.to_string(), "ls"));
            calls.ended(&result(&id.to_string(), false, &json!({}))).remove(0)
        };
        let (mut logbook, mut waiting) = Logbook::of(2);
        for id in 0..5 {
            logbook.write(call(id));
        }
        assert_eq!(logbook.lost, 3);
        let mut next = || waiting.try_recv().unwrap().tool_use_id.unwrap();
        assert_eq!(next(), "0");
        logbook.write(call(5));
        assert_eq!(logbook.lost, 0, "said once");
        assert_eq!([next(), next()], ["1", "5"]);
    }
}
