//! What a server may ask of us, and what it tells.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::ClientHandler;
use rmcp::model::{ClientConfig, Implementation, ProgressNotificationParam, ProtocolVersion};
use rmcp::service::{NotificationContext, RoleClient};

use super::lists::ListKind;

/// Our side of one connection. It offers nothing but to listen: a server that wants a model or an answer of a person is
/// told that there is none.
#[derive(Clone)]
pub(super) struct ClientSide {
    changes: Arc<[AtomicU64; ListKind::ALL.len()]>,
}

impl ClientSide {
    pub(super) fn new() -> Self {
        Self { changes: Arc::default() }
    }

    /// How often the server has said that a list changed.
    pub(super) fn changes(&self, kind: ListKind) -> u64 {
        self.changes[kind as usize].load(Ordering::Acquire)
    }

    fn changed(&self, kind: ListKind) {
        self.changes[kind as usize].fetch_add(1, Ordering::AcqRel);
    }
}

impl ClientHandler for ClientSide {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.client_info = Implementation::new("portcullis", env!("CARGO_PKG_VERSION"));
        // Its default is a revision that has no `initialize`, and is sent in one all the same.
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListKind::Tools);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListKind::Resources);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListKind::Prompts);
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        tracing::info!(progress = progress.progress, total = progress.total, "a call goes on");
    }
}
