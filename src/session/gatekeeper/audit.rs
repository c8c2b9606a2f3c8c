//! Every tool call on its way to the log, in order, without making anybody wait.

use portcullis_core::{AskId, CallOutcome, Text, ToolCall, excerpt};

use super::request::CallKey;
use crate::session::link::SessionHandle;

/// As much of a call goes on the record; what was asked about is whole in its ask.
const LONGEST_RECORD: usize = 4 << 10;

/// Puts calls on their way to the log. While the gate is away they wait in the link; what there is no place for is not in
/// the log, and a warning says how many that were.
pub(super) struct AuditLog {
    session: SessionHandle,
    /// Since the last one that found a place.
    dropped: usize,
}

impl AuditLog {
    pub(super) fn new(session: SessionHandle) -> Self {
        Self { session, dropped: 0 }
    }

    /// Never waits. False when there was no place.
    pub(super) fn write(&mut self, call: ToolCall) -> bool {
        let is_taken = self.session.try_called(call);
        match is_taken {
            true => self.warn_about_dropped(),
            false => self.dropped += 1,
        }
        is_taken
    }

    #[cfg(test)]
    pub(super) fn dropped(&self) -> usize {
        self.dropped
    }

    fn warn_about_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            tracing::warn!("{dropped} tool calls are not in the log: the gate was away for too long");
        }
    }
}

impl Drop for AuditLog {
    fn drop(&mut self) {
        self.warn_about_dropped();
    }
}

/// One call as it goes on the record.
pub(super) fn record_of(
    call: CallKey,
    outcome: CallOutcome,
    decided_by: String,
    ask: Option<AskId>,
    preview: &str,
) -> ToolCall {
    ToolCall {
        tool: call.tool,
        tool_use_id: call.tool_use_id,
        agent: call.agent,
        outcome,
        decided_by,
        digest: Some(call.digest),
        ask,
        preview: Text::new(excerpt(preview, Some(LONGEST_RECORD)).0),
        unasked: false,
    }
}
