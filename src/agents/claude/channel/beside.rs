//! Who else speaks for the session: the client's hooks, through the hidden tool `hook`.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use portcullis_core::{ChatId, EventId};
use rmcp::model::RequestId;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::session::link::Delivery;

/// The other road into the same session. `cli` says who it is.
pub(crate) trait Beside: Send + Sync {
    /// Takes what goes by the other road. What it gives back goes by this one.
    fn take(&self, delivery: Delivery) -> Option<Delivery>;
    /// The model replied to a conversation.
    fn replied(&self, chat: &ChatId);
    /// The model opened an event.
    fn opened(&self, event: EventId);
    /// A hook calls. It may wait for long, and be taken back.
    fn hook(&self, arguments: Value, taken_back: CancellationToken) -> BoxFuture<'_, HookAnswer>;
    /// What a hook was answered is with the client, or is not.
    fn settle(&self, receipt: u64, written: bool) -> BoxFuture<'_, ()>;
    /// The model called what is for hooks alone.
    fn forged(&self) -> BoxFuture<'_, ()>;
}

/// What a hook is answered.
pub(crate) struct HookAnswer {
    /// As the client reads it; null for nothing.
    pub(crate) output: Value,
    /// To be settled when it is written.
    pub(crate) receipt: Option<u64>,
}

/// Answers to hooks on their way out, by the request they answer.
pub(super) struct Receipts {
    hooks: Arc<dyn Beside>,
    /// Filled by the call, emptied by the writer.
    due: Mutex<HashMap<RequestId, u64>>,
}

impl Receipts {
    pub(super) fn new(hooks: Arc<dyn Beside>) -> Self {
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
