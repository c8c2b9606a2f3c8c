//! The audit queue: every tool call on its way to the log, in order, without making anybody wait.

use portcullis_core::{AskId, CallOutcome, Text, ToolCall, excerpt};
use tokio::sync::{mpsc, watch};

use super::request::CallKey;
use crate::session::link::SessionHandle;

/// As much of a call goes on the record; what was asked about is whole in its ask.
const LONGEST_RECORD: usize = 4 << 10;

/// Calls that wait for their way to the gate; as many again wait in the link.
const QUEUE: usize = 1024;

/// Calls on their way to the log. While the gate is away they wait; what there is no place for is not in the log, and a
/// warning says how many that were.
pub(super) struct AuditQueue {
    waiting: mpsc::Sender<ToolCall>,
    /// Since the last one that found a place.
    dropped: usize,
    /// True once the queue is closed and everything in it was said.
    flushed: watch::Receiver<bool>,
}

impl AuditQueue {
    pub(super) fn new(session: SessionHandle) -> Self {
        let (waiting, mut calls) = mpsc::channel(QUEUE);
        let (done, flushed) = watch::channel(false);
        tokio::spawn(async move {
            while let Some(call) = calls.recv().await {
                session.called(call).await;
            }
            done.send_replace(true);
        });
        Self { waiting, dropped: 0, flushed }
    }

    /// Never waits. False when there was no place.
    pub(super) fn write(&mut self, call: ToolCall) -> bool {
        let is_taken = self.waiting.try_send(call).is_ok();
        match is_taken {
            true => self.warn_about_dropped(),
            false => self.dropped += 1,
        }
        is_taken
    }

    fn warn_about_dropped(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            tracing::warn!("{dropped} tool calls are not in the log: the gate was away for too long");
        }
    }

    /// Takes no more calls. What is returned ends when those before were said.
    pub(super) fn close(&mut self) -> impl Future<Output = ()> + Send + use<> {
        let (closed, _) = mpsc::channel(1);
        self.waiting = closed;
        let mut flushed = self.flushed.clone();
        async move { drop(flushed.wait_for(|done| *done).await) }
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

impl Drop for AuditQueue {
    fn drop(&mut self) {
        self.warn_about_dropped();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(id: usize) -> ToolCall {
        ToolCall {
            tool: "Bash".to_owned(),
            tool_use_id: Some(id.to_string()),
            agent: None,
            outcome: CallOutcome::Ran,
            decided_by: "client".to_owned(),
            digest: None,
            ask: None,
            preview: Text::new("ls"),
            unasked: false,
        }
    }

    #[test]
    fn calls_without_a_place_are_counted_and_the_others_keep_their_order() {
        let (waiting, mut calls) = mpsc::channel(2);
        let mut queue = AuditQueue { waiting, dropped: 0, flushed: watch::channel(false).1 };
        let taken: Vec<bool> = (0..5).map(|id| queue.write(call(id))).collect();
        assert_eq!((taken, queue.dropped), (vec![true, true, false, false, false], 3));
        let mut next = || calls.try_recv().unwrap().tool_use_id.unwrap();
        assert_eq!(next(), "0");
        queue.write(call(5));
        assert_eq!(queue.dropped, 0, "the warning is printed once");
        assert_eq!([next(), next()], ["1", "5"]);
    }
}
