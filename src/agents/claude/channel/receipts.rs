//! Answers to hooks on their way out: the session's hooks are told when each is written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::RequestId;
use tokio_util::sync::CancellationToken;

use crate::agents::claude::hooks::{HandedOut, HookSession};
use crate::locks::locked;

/// The writer may still be at an answer whose request was taken back a moment before.
const PAUSE: Duration = Duration::from_secs(2);

/// What went into answers that are not yet written, by the request they answer.
pub(super) struct HookReceipts {
    hooks: Arc<HookSession>,
    /// Filled by the call, emptied by the writer.
    due: Mutex<HashMap<RequestId, HandedOut>>,
}

impl HookReceipts {
    pub(super) fn new(hooks: Arc<HookSession>) -> Self {
        Self { hooks, due: Mutex::default() }
    }

    /// Keeps what went into an answer until that is written. The answer to a request that is `taken_back` meanwhile is
    /// dropped by rmcp, and nobody is told.
    pub(super) fn expect(self: &Arc<Self>, request: RequestId, handed_out: HandedOut, taken_back: CancellationToken) {
        if handed_out.is_empty() {
            return;
        }
        locked(&self.due).insert(request.clone(), handed_out);
        let receipts = Arc::clone(self);
        tokio::spawn(async move {
            // rmcp also cancels what has been answered: the writer has its time first, whatever the token says.
            loop {
                tokio::time::sleep(PAUSE).await;
                if !locked(&receipts.due).contains_key(&request) {
                    return;
                }
                if taken_back.is_cancelled() {
                    break;
                }
            }
            receipts.sent(&request, false).await;
        });
    }

    pub(super) async fn sent(&self, request: &RequestId, written: bool) {
        let handed_out = locked(&self.due).remove(request).unwrap_or_default();
        self.hooks.settle(handed_out, written).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::claude::hooks::{CalledBy, HookSettings};
    use crate::session::gatekeeper::Judge;
    use crate::session::link::{Connect, Delivery, connect};
    use portcullis_core::{EventId, Label, Moment, SessionAbout, SessionId};
    use portcullis_wire::hooks::HookCall;
    use portcullis_wire::link::EventFrame;
    use serde_json::json;

    fn event() -> EventFrame<'static> {
        EventFrame {
            id: EventId::new(Moment(1), 1),
            via: "http".into(),
            sender: "ci".into(),
            directs: false,
            chat: "1".into(),
            attributes: vec![].into(),
            text: "main is red".into(),
            rest: 0,
            redelivered: false,
            reply_to: None,
            also: vec![],
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_went_into_an_answer_that_nobody_writes_waits_again() {
        let folder = tempfile::tempdir().unwrap();
        let away: Connect = Arc::new(|| Box::pin(std::future::pending()));
        let about = SessionAbout::new(Label::new("api").unwrap(), "test");
        let (session, _deliveries) = connect(SessionId::new(Moment(1), 1), about, "0.0.0", away);
        let hooks = HookSession::new(session, HookSettings::of_tests(), Judge::of_home(folder.path()));
        hooks.note_installed(false);
        assert!(hooks.take(Delivery::Event(event())).is_none());
        let call = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "ls"}});
        let call = async || {
            let call = HookCall::read(&call).unwrap();
            hooks.call(call, CalledBy::Client, &CancellationToken::new()).await
        };
        let taken_back = CancellationToken::new();
        let receipts = Arc::new(HookReceipts::new(Arc::clone(&hooks)));
        receipts.expect(RequestId::Number(1), call().await.handed_out, taken_back.clone());
        tokio::time::sleep(PAUSE * 2).await;
        assert!(call().await.output.is_null(), "it is still on its way");
        // After the call has answered, and before that is written: rmcp drops the answer.
        taken_back.cancel();
        tokio::time::sleep(PAUSE * 2).await;
        assert!(call().await.output.to_string().contains("redelivered"));
    }
}
