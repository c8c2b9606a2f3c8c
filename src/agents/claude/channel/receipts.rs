//! Answers to hooks on their way out: the session's hooks are told when each is written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

use crate::agents::claude::hooks::HookSession;
use crate::session::inbox::HandedOut;

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

    fn due(&self) -> MutexGuard<'_, HashMap<RequestId, HandedOut>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn expect(&self, request: RequestId, handed_out: HandedOut) {
        if !handed_out.is_empty() {
            self.due().insert(request, handed_out);
        }
    }

    pub(super) async fn sent(&self, request: &RequestId, written: bool) {
        let handed_out = self.due().remove(request).unwrap_or_default();
        self.hooks.settle(handed_out, written).await;
    }
}
