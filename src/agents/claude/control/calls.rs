//! The tool calls of a driven session as its messages tell them: what the model wanted, and what became of it.

use std::collections::VecDeque;

use portcullis_core::CallOutcome;
use portcullis_wire::control::{Block, Message, ToolResultMeta};
use portcullis_wire::preview::preview;
use serde_json::Value;

use crate::session::gatekeeper::{CallKey, FinishedCall, REJECTED, call_digest};

/// Calls under way that are remembered; a client has a dozen at most.
const REMEMBERED: usize = 1024;

/// Calls without a result, oldest first: one that never ends makes room for others.
#[derive(Default)]
pub(super) struct CallsUnderWay(VecDeque<UnderWay>);

struct UnderWay {
    id: String,
    tool: String,
    preview: String,
    agent: Option<String>,
    /// Of what it runs with: as the hook says, else as the model said it.
    input: [u8; 32],
    /// We made it, and know who let it through.
    is_own: bool,
}

impl CallsUnderWay {
    /// The model has said which tools it wants.
    pub(super) fn wanted(&mut self, message: &Message) {
        for block in message.blocks() {
            if let Block::ToolUse { id, name, input } = block {
                self.put(id, name, input, preview(name, input), message.parent_tool_use_id.clone());
            }
        }
    }

    /// The call ran with this input, as the client's hook tells.
    pub(super) fn ran(&mut self, id: &str, tool: &str, input: &Value, is_own: bool) {
        if !self.0.iter().any(|call| call.id == id) {
            self.put(id, tool, input, String::new(), None);
        }
        if let Some(call) = self.0.iter_mut().find(|call| call.id == id) {
            call.input = call_digest(tool, input);
            // A person may have changed it.
            call.preview = preview(tool, input);
            call.is_own = is_own;
        }
    }

    fn put(&mut self, id: &str, tool: &str, input: &Value, preview: String, agent: Option<String>) {
        self.0.retain(|call| call.id != id);
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        let (id, tool, input) = (id.to_owned(), tool.to_owned(), call_digest(tool, input));
        self.0.push_back(UnderWay { id, tool, preview, agent, input, is_own: false });
    }

    /// What the model wants with a call that has no result yet, in the form in which people judge it.
    pub(super) fn preview_of(&self, id: &str) -> Option<&str> {
        self.0.iter().find(|call| call.id == id).map(|call| call.preview.as_str()).filter(|preview| !preview.is_empty())
    }

    /// It has no result yet.
    pub(super) fn is_under_way(&self, id: &str) -> bool {
        self.0.iter().any(|call| call.id == id)
    }

    /// What became of the calls whose results this message holds.
    pub(super) fn finished(&mut self, message: &Message) -> Vec<FinishedCall> {
        let finished = message.blocks().into_iter().filter_map(|block| match block {
            Block::ToolResult { id, is_error, content } => self.finish(id, is_error, content, message),
            _ => None,
        });
        finished.collect()
    }

    fn finish(&mut self, id: &str, is_error: bool, content: &Value, message: &Message) -> Option<FinishedCall> {
        let call = self.0.iter().position(|call| call.id == id).and_then(|place| self.0.remove(place))?;
        let meta = message.tool_result_meta.iter().find(|meta| meta.id == id);
        let was_interrupted = meta.is_some_and(was_rejected) && content.to_string().contains(INTERRUPTED);
        let outcome = match (meta.is_some_and(was_denied), is_error) {
            _ if was_interrupted => CallOutcome::Unknown,
            (true, _) => CallOutcome::Denied,
            (false, true) => CallOutcome::Failed,
            (false, false) => CallOutcome::Ran,
        };
        let tool_use_id = Some(id.to_owned());
        let key = CallKey { tool: call.tool, agent: call.agent, digest: call.input, tool_use_id, folder: None };
        // The client lets through all that we make ourselves, and of an interrupted one does not say who let it through.
        let decided_by = meta.filter(|_| !call.is_own && !was_interrupted).and_then(decided_by);
        Some(FinishedCall { call: key, preview: call.preview, outcome, decided_by })
    }
}

/// What the client tells the model of a call that was interrupted as it ran. Its meta is the same as of one that was kept
/// from running.
const INTERRUPTED: &str = "this call was stopped while running";

/// By a person, before it ran or as it ran.
fn was_rejected(meta: &ToolResultMeta) -> bool {
    meta.permission_decision.is_none() && meta.non_execution_kind.as_deref() == Some(REJECTED)
}

fn was_denied(meta: &ToolResultMeta) -> bool {
    let rejected = meta.permission_decision.as_ref().is_some_and(|decision| decision.decision == "reject");
    rejected || matches!(meta.non_execution_kind.as_deref(), Some("permission-rule" | REJECTED))
}

/// `config/rule`, `user_temporary`, `hook`: in the client's own words, where it has any.
fn decided_by(meta: &ToolResultMeta) -> Option<String> {
    let said = meta.permission_decision.as_ref().and_then(|decision| {
        let source = decision.source.clone()?;
        Some(decision.reason_type.as_ref().map_or_else(|| source.clone(), |reason| format!("{source}/{reason}")))
    });
    said.or_else(|| meta.non_execution_kind.clone())
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
            (accepted("a"), false, (CallOutcome::Ran, Some("config/rule"))),
            (accepted("a"), true, (CallOutcome::Failed, Some("config/rule"))),
            (rejected("a"), true, (CallOutcome::Denied, Some("user-rejected"))),
            (json!({"id": "other"}), false, (CallOutcome::Ran, None)),
        ] {
            let mut calls = CallsUnderWay::default();
            calls.wanted(&wants("a", "ls"));
            let finished = calls.finished(&result("a", is_error, &meta));
            let decided_by = finished[0].decided_by.as_deref();
            assert_eq!((finished[0].outcome, decided_by, finished[0].preview.as_str()), (want.0, want.1, "ls"));
            assert!(calls.0.is_empty());
        }
    }

    #[test]
    fn of_a_call_that_was_interrupted_as_it_ran_nobody_knows_how_far_it_ran() {
        let rejected = json!([{"id": "a", "non_execution_kind": "user-rejected"}, {"id": "b", "non_execution_kind": "user-rejected"}]);
        let refused = "The user doesn't want to proceed with this tool use. The tool use was rejected.";
        let running =
            format!("{refused} Correction to the text above: this call was stopped while running, not refused.");
        let mut calls = CallsUnderWay::default();
        calls.wanted(&wants("a", "make"));
        calls.wanted(&wants("b", "ls"));
        let finished =
            calls.finished(&message(&json!({"type": "user", "tool_result_meta": rejected, "message": {"content": [
            {"type": "tool_result", "tool_use_id": "a", "is_error": true, "content": running},
            {"type": "tool_result", "tool_use_id": "b", "is_error": true, "content": refused}]}})));
        assert_eq!((finished[0].outcome, finished[0].decided_by.as_deref()), (CallOutcome::Unknown, None));
        assert_eq!(
            (finished[1].outcome, finished[1].decided_by.as_deref()),
            (CallOutcome::Denied, Some("user-rejected"))
        );
    }

    #[test]
    fn what_ran_is_what_the_hook_tells_and_not_what_the_model_said() {
        let mut calls = CallsUnderWay::default();
        calls.wanted(&wants("a", "ls"));
        calls.ran("a", "Bash", &json!({"command": "rm -rf"}), false);
        let finished = calls.finished(&result("a", false, &json!({"id": "a"})));
        assert_eq!(finished[0].call.digest, call_digest("Bash", &json!({"command": "rm -rf"})));
    }

    #[test]
    fn calls_that_never_end_are_forgotten() {
        let mut calls = CallsUnderWay::default();
        for id in 0..REMEMBERED + 10 {
            calls.wanted(&wants(&id.to_string(), "ls"));
        }
        assert_eq!(calls.0.len(), REMEMBERED);
    }
}
