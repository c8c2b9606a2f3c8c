//! What a server may ask of us, and what it tells.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::ClientHandler;
#[expect(deprecated, reason = "servers of 2025-11-25 use them")]
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomNotification, ElicitRequestParams,
    ElicitResult, ErrorCode, ErrorData, Implementation, ListRootsResult, LoggingMessageNotificationParam,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, ResourceUpdatedNotificationParam, ServerNotification,
    SubscriptionFilter,
};
use rmcp::service::{NotificationContext, Peer, RequestContext, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::channel::{ChannelTap, FromChannel};
use super::client::{ClientBehind, FromServer, ServerSaid};
use super::lists::ListKind;
use crate::locks::locked;

/// Our side of one connection. Where no client is behind us it offers nothing but to listen: a server that wants a model
/// or an answer of a person is told that there is none.
#[derive(Clone)]
pub(super) struct ClientSide {
    server: Arc<str>,
    changes: Arc<[AtomicU64; ListKind::ALL.len()]>,
    behind: Option<Arc<ClientBehind>>,
    /// Where goes what it says as a channel.
    tap: Option<ChannelTap>,
    /// Where the progress of a request goes, for as long as it is under way.
    watched: Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<Value>>>>,
}

impl ClientSide {
    pub(super) fn new(server: &str, behind: Option<Arc<ClientBehind>>) -> Self {
        Self { server: server.into(), changes: Arc::default(), behind, tap: None, watched: Arc::default() }
    }

    /// Hands what the server says as a channel to whoever hears it.
    pub(super) fn heard_by(self, hears: Option<mpsc::Sender<FromChannel>>) -> Self {
        let tap = hears.map(|hears| ChannelTap { server: self.server.to_string(), hears });
        Self { tap, ..self }
    }

    pub(super) fn tap(&self) -> Option<ChannelTap> {
        self.tap.clone()
    }

    /// How often the server has said that a list changed.
    pub(super) fn changes(&self, kind: ListKind) -> u64 {
        self.changes[kind as usize].load(Ordering::Acquire)
    }

    fn changed(&self, kind: ListKind) {
        self.changes[kind as usize].fetch_add(1, Ordering::AcqRel);
        self.tell(ServerSaid::Changed(kind));
    }

    /// Asks a server of 2026-07-28 to tell of changes, and hears of them until it ends. One that tells of none says no.
    pub(super) async fn hear_of_changes(self, peer: Peer<RoleClient>) {
        let wanted = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed().resources_list_changed();
        let mut subscription = match peer.listen(wanted.build()).await {
            Ok(subscription) => subscription,
            Err(error) => return tracing::debug!(%error, server = %self.server, "a server does not tell of changes"),
        };
        drop(peer);
        while let Ok(Some(notification)) = subscription.next().await {
            match notification {
                ServerNotification::ToolListChangedNotification(_) => self.changed(ListKind::Tools),
                ServerNotification::PromptListChangedNotification(_) => self.changed(ListKind::Prompts),
                ServerNotification::ResourceListChangedNotification(_) => self.changed(ListKind::Resources),
                _ => {}
            }
        }
    }

    /// Never waits: of what nobody takes, the rest is dropped.
    fn tell(&self, said: ServerSaid) {
        let said = FromServer { server: self.server.to_string(), said };
        if let Some(behind) = &self.behind
            && behind.said.try_send(said).is_err()
        {
            tracing::debug!("the client does not take what a server says");
        }
    }

    fn notify(&self, method: &'static str, params: impl Serialize) {
        let params = serde_json::to_value(params).unwrap_or_default();
        self.tell(ServerSaid::Notification { method, params });
    }

    /// Has the client answer, if it said that it can.
    async fn ask<T: DeserializeOwned>(
        &self,
        (capability, method): (&str, &'static str),
        params: impl Serialize,
    ) -> Result<T, ErrorData> {
        let nobody = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None);
        let behind = self.behind.as_ref().filter(|behind| behind.capabilities.get(capability).is_some());
        let behind = behind.ok_or_else(nobody)?;
        let params = serde_json::to_value(params).unwrap_or_default();
        let (answer, answered) = oneshot::channel();
        let said = ServerSaid::Request { method, params, answer };
        let request = FromServer { server: self.server.to_string(), said };
        behind.said.try_send(request).map_err(|_| nobody())?;
        match answered.await {
            Ok(Ok(result)) => serde_json::from_value(result)
                .map_err(|error| ErrorData::internal_error(format!("the client's answer: {error}"), None)),
            Ok(Err(refused)) => Err(ErrorData::new(ErrorCode(refused.code), refused.message, None)),
            Err(_) => Err(nobody()),
        }
    }

    /// Sends what the server says of this request's progress on, for as long as what is returned lives.
    pub(super) fn watch(&self, token: ProgressToken, progress: mpsc::Sender<Value>) -> ProgressWatch {
        locked(&self.watched).insert(token.clone(), progress);
        ProgressWatch { token, watched: Arc::clone(&self.watched) }
    }
}

pub(super) struct ProgressWatch {
    token: ProgressToken,
    watched: Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<Value>>>>,
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        locked(&self.watched).remove(&self.token);
    }
}

#[expect(deprecated, reason = "servers of 2025-11-25 use them")]
impl ClientHandler for ClientSide {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.client_info = Implementation::new("portcullis", env!("CARGO_PKG_VERSION"));
        // Its default is a revision that has no `initialize`, and is sent in one all the same.
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        if let Some(behind) = &self.behind {
            config.capabilities = serde_json::from_value(behind.capabilities.clone()).unwrap_or_default();
        }
        config
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.ask(("sampling", "sampling/createMessage"), params).await
    }

    async fn list_roots(&self, _: RequestContext<RoleClient>) -> Result<ListRootsResult, ErrorData> {
        self.ask(("roots", "roots/list"), json!({})).await
    }

    async fn create_elicitation(
        &self,
        params: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.ask(("elicitation", "elicitation/create"), params).await
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
        let watcher = locked(&self.watched).get(&progress.progress_token).cloned();
        if let Some(watcher) = watcher {
            // Whoever is slow misses some of it.
            drop(watcher.try_send(serde_json::to_value(progress).unwrap_or_default()));
        }
    }

    async fn on_logging_message(&self, message: LoggingMessageNotificationParam, _: NotificationContext<RoleClient>) {
        self.notify("notifications/message", message);
    }

    async fn on_resource_updated(&self, updated: ResourceUpdatedNotificationParam, _: NotificationContext<RoleClient>) {
        self.notify("notifications/resources/updated", updated);
    }

    async fn on_custom_notification(&self, told: CustomNotification, _: NotificationContext<RoleClient>) {
        // A form at an address was filled in.
        if told.method == "notifications/elicitation/complete" {
            self.notify("notifications/elicitation/complete", told.params);
        }
    }
}
