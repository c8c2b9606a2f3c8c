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
            while !taken_back.is_cancelled() {
                tokio::time::sleep(PAUSE).await;
                if !locked(&receipts.due).contains_key(&request) {
                    return;
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
