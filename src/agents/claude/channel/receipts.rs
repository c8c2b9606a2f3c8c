//! Answers to hooks on their way out: the session's hooks are told when each is written.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rmcp::model::RequestId;

use crate::agents::claude::hooks::HookSession;

/// Receipts of answers, by the request they answer.
pub(super) struct HookReceipts {
    hooks: Arc<HookSession>,
    /// Filled by the call, emptied by the writer.
    due: Mutex<HashMap<RequestId, u64>>,
}

impl HookReceipts {
    pub(super) fn new(hooks: Arc<HookSession>) -> Self {
        Self { hooks, due: Mutex::default() }
    }

    fn due(&self) -> MutexGuard<'_, HashMap<RequestId, u64>> {
        self.due.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn expect(&self, request: RequestId, receipt: u64) {
        self.due().insert(request, receipt);
    }

    pub(super) async fn sent(&self, request: &RequestId, written: bool) {
        let receipt = self.due().remove(request);
        if let Some(receipt) = receipt {
            self.hooks.settle(receipt, written).await;
        }
    }
}
