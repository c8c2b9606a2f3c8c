//! What a server may ask of us, and what it tells.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rmcp::ClientHandler;
#[expect(deprecated, reason = "servers of 2025-11-25 use them")]
use rmcp::model::{
    ClientConfig, ClientJsonRpcMessage, ClientRequest, CreateMessageRequestParams, CreateMessageResult,
    ElicitRequestParams, ElicitResult, ErrorCode, ErrorData, GetExtensions as _, GetMeta as _, Implementation,
    ListRootsResult, ProgressNotificationParam, ProgressToken, ProtocolVersion, ServerJsonRpcMessage,
    ServerNotification, SubscriptionFilter,
};
use rmcp::service::{Peer, RequestContext, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{Semaphore, mpsc, oneshot};

use super::channel::{ChannelTap, FromChannel};
use super::client::{ClientBehind, FromServer, ServerSaid};
use super::lists::ListKind;
use crate::locks::locked;

/// A stream of changes that ended is opened anew, so often in this time.
const MOST_REOPENED: usize = 5;
const REOPENED_IN: Duration = Duration::from_secs(3600);

/// Questions to the client that have no answer yet, of one server. Nobody looks at more of them at once.
const MOST_QUESTIONS: usize = 32;

/// Only a session that was told to hear a channel does.
const OF_CHANNELS: &str = "notifications/claude/";

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
    /// A place for each question that is open.
    questions: Arc<Semaphore>,
}

impl ClientSide {
    pub(super) fn new(server: &str, behind: Option<Arc<ClientBehind>>) -> Self {
        let questions = Arc::new(Semaphore::new(MOST_QUESTIONS));
        Self { server: server.into(), changes: Arc::default(), behind, tap: None, watched: Arc::default(), questions }
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

    /// Asks a server of 2026-07-28 to tell of changes, and hears of them until it ends. One that tells of none says no. A
    /// stream that ends is opened anew, unless it ends again and again.
    pub(super) async fn hear_of_changes(self, peer: Peer<RoleClient>) {
        let (mut opened, mut was_open) = (VecDeque::new(), false);
        while opened.len() <= MOST_REOPENED && !peer.is_transport_closed() {
            let wanted = SubscriptionFilter::builder().tools_list_changed().prompts_list_changed();
            let mut subscription = match peer.listen(wanted.resources_list_changed().build()).await {
                Ok(subscription) => subscription,
                Err(error) => {
                    return tracing::debug!(%error, server = %self.server, "a server does not tell of changes");
                }
            };
            opened.push_back(Instant::now());
            if was_open {
                // Nobody heard of what changed in between.
                for kind in [ListKind::Tools, ListKind::Resources, ListKind::Prompts] {
                    self.changed(kind);
                }
            }
            was_open = true;
            // What it tells is taken in where all of its messages are (`heard`). This keeps the stream open.
            while let Ok(Some(_)) = subscription.next().await {}
            opened.retain(|opened: &Instant| opened.elapsed() < REOPENED_IN);
        }
    }

    /// Takes in what the server tells, before rmcp is given the message. It hands each notification to a task of its own,
    /// where two may change places, and where a result that came later may be first.
    pub(super) fn heard(&self, message: &ServerJsonRpcMessage) {
        let ServerJsonRpcMessage::Notification(told) = message else { return };
        match &told.notification {
            ServerNotification::ToolListChangedNotification(_) => self.changed(ListKind::Tools),
            ServerNotification::PromptListChangedNotification(_) => self.changed(ListKind::Prompts),
            ServerNotification::ResourceListChangedNotification(_) => self.changed(ListKind::Resources),
            ServerNotification::ProgressNotification(progress) => self.report(&progress.params),
            ServerNotification::LoggingMessageNotification(logged) => {
                self.notify("notifications/message", &logged.params);
            }
            ServerNotification::ResourceUpdatedNotification(updated) => {
                self.notify("notifications/resources/updated", &updated.params);
            }
            // What the protocol knows nothing of is between the server and the client; events of channels are not.
            ServerNotification::CustomNotification(custom) if !custom.method.starts_with(OF_CHANNELS) => {
                self.notify(&custom.method, &custom.params);
            }
            _ => {}
        }
    }

    fn report(&self, progress: &ProgressNotificationParam) {
        tracing::info!(progress = progress.progress, total = progress.total, "a call goes on");
        let watcher = locked(&self.watched).get(&progress.progress_token).cloned();
        if let Some(watcher) = watcher {
            // Whoever is slow misses some of it.
            drop(watcher.try_send(serde_json::to_value(progress).unwrap_or_default()));
        }
    }

    fn tell(&self, said: ServerSaid) {
        if let Some(behind) = &self.behind {
            (behind.said)(FromServer { server: self.server.to_string(), said });
        }
    }

    fn notify(&self, method: &str, params: impl Serialize) {
        let params = serde_json::to_value(params).unwrap_or_default();
        self.tell(ServerSaid::Notification { method: method.to_owned(), params });
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
        let too_many =
            || ErrorData::internal_error(format!("{MOST_QUESTIONS} questions of yours wait for an answer"), None);
        let _place = self.questions.try_acquire().map_err(|_| too_many())?;
        let params = serde_json::to_value(params).unwrap_or_default();
        let (answer, answered) = oneshot::channel();
        let said = ServerSaid::Request { method, params, answer };
        let request = FromServer { server: self.server.to_string(), said };
        (behind.said)(request);
        match answered.await {
            Ok(Ok(result)) => serde_json::from_value(result)
                .map_err(|error| ErrorData::internal_error(format!("the client's answer: {error}"), None)),
            Ok(Err(refused)) => Err(ErrorData::new(ErrorCode(refused.code), refused.message, None)),
            Err(_) => Err(nobody()),
        }
    }

    /// Has the progress of a request go to `progress`, from the moment it is sent.
    pub(super) fn report_progress_to(request: &mut ClientRequest, progress: mpsc::Sender<Value>) {
        request.extensions_mut().insert(ReportedTo(progress));
    }

    /// Takes note of a request before it is sent: its server may report at once.
    pub(super) fn sends(&self, message: &mut ClientJsonRpcMessage) {
        let ClientJsonRpcMessage::Request(request) = message else { return };
        let Some(token) = request.request.get_meta().get_progress_token() else { return };
        let Some(ReportedTo(progress)) = request.request.extensions_mut().remove() else { return };
        let mut watched = locked(&self.watched);
        // Of requests that were given up before they were sent.
        watched.retain(|_, watcher| !watcher.is_closed());
        watched.insert(token, progress);
    }

    /// Reports the progress of this request for as long as what is returned lives.
    pub(super) fn watch(&self, token: ProgressToken) -> ProgressWatch {
        ProgressWatch { token, watched: Arc::clone(&self.watched) }
    }
}

/// Where the progress of a request goes. It is part of the request until it is sent, for only then its token is known.
#[derive(Clone)]
struct ReportedTo(mpsc::Sender<Value>);

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
}
