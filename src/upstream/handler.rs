//! What a server may ask of us, and what it tells.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, CreateMessageRequestParams, CreateMessageResult, CustomNotification, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationCapability, ErrorCode, ErrorData, FormElicitationCapability,
    Implementation, ProgressNotificationParam, ProgressToken, ProtocolVersion, SamplingCapability,
    UrlElicitationCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

use super::lists::ListKind;
use crate::locks::locked;

/// Who answers what a server asks, and hears what it tells. Both are JSON, as in the protocol.
#[derive(Clone, Debug)]
pub(crate) struct Answering {
    /// Full means that nobody listens: then questions are declined and notices dropped.
    pub(crate) to: mpsc::Sender<FromServer>,
    /// What the server is told that it may ask: forms, addresses to open, a model's words.
    pub(crate) forms: bool,
    pub(crate) addresses: bool,
    pub(crate) sampling: bool,
}

#[derive(Debug)]
pub(crate) enum FromServer {
    /// `elicitation/create` or `sampling/createMessage`. Whoever drops `answer` declines.
    Question { server: String, method: &'static str, params: Value, answer: oneshot::Sender<Value> },
    /// A notification that is none of our own business, with its method.
    Notice { server: String, method: String, params: Value },
}

/// Our side of one connection. Without someone who answers it offers nothing but to listen: a server that wants a model or
/// an answer of a person is told that there is none.
#[derive(Clone)]
pub(super) struct ClientSide {
    server: Arc<str>,
    changes: Arc<[AtomicU64; ListKind::ALL.len()]>,
    answering: Option<Answering>,
    /// Who wants to know how a call goes on. Changed by each call, at its beginning and end.
    progress: Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<Value>>>>,
}

impl ClientSide {
    pub(super) fn new(server: &str, answering: Option<Answering>) -> Self {
        Self { server: server.into(), changes: Arc::default(), answering, progress: Arc::default() }
    }

    /// How often the server has said that a list changed.
    pub(super) fn changes(&self, kind: ListKind) -> u64 {
        self.changes[kind as usize].load(Ordering::Acquire)
    }

    fn changed(&self, kind: ListKind) {
        self.changes[kind as usize].fetch_add(1, Ordering::AcqRel);
    }

    /// Sends the progress of one call there, until the guard is dropped.
    pub(super) fn watch(&self, token: ProgressToken, to: mpsc::Sender<Value>) -> ProgressWatch {
        locked(&self.progress).insert(token.clone(), to);
        ProgressWatch { token, all: Arc::clone(&self.progress) }
    }

    /// The answer of whoever is there; none where nobody is, or nobody wants to.
    pub(super) async fn ask(&self, method: &'static str, params: Value) -> Option<Value> {
        let (answer, answered) = oneshot::channel();
        let server = self.server.to_string();
        let question = FromServer::Question { server, method, params, answer };
        self.answering.as_ref()?.to.try_send(question).ok()?;
        answered.await.ok()
    }

    async fn ask_as<T: DeserializeOwned>(&self, method: &'static str, params: &impl Serialize) -> Option<T> {
        let params = serde_json::to_value(params).ok()?;
        serde_json::from_value(self.ask(method, params).await?).ok()
    }

    fn tell(&self, method: &str, params: &impl Serialize) {
        let Some(answering) = &self.answering else { return };
        let Ok(params) = serde_json::to_value(params) else { return };
        let notice = FromServer::Notice { server: self.server.to_string(), method: method.to_owned(), params };
        if answering.to.try_send(notice).is_err() {
            tracing::debug!(method, "nobody listens to a server's notice");
        }
    }
}

/// One call whose progress someone wants to know.
pub(super) struct ProgressWatch {
    token: ProgressToken,
    all: Arc<Mutex<HashMap<ProgressToken, mpsc::Sender<Value>>>>,
}

impl Drop for ProgressWatch {
    fn drop(&mut self) {
        locked(&self.all).remove(&self.token);
    }
}

pub(super) const ELICIT: &str = "elicitation/create";
pub(super) const SAMPLE: &str = "sampling/createMessage";

impl ClientHandler for ClientSide {
    fn get_info(&self) -> ClientConfig {
        let mut config = ClientConfig::default();
        config.client_info = Implementation::new("portcullis", env!("CARGO_PKG_VERSION"));
        // Its default is a revision that has no `initialize`, and is sent in one all the same.
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        if let Some(answering) = &self.answering {
            if answering.forms || answering.addresses {
                let mut elicitation = ElicitationCapability::new();
                elicitation.form = answering.forms.then(FormElicitationCapability::default);
                elicitation.url = answering.addresses.then(UrlElicitationCapability::default);
                config.capabilities.elicitation = Some(elicitation);
            }
            config.capabilities.sampling = answering.sampling.then(SamplingCapability::default);
        }
        config
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let answer = self.ask_as(ELICIT, &request).await;
        Ok(answer.unwrap_or_else(|| ElicitResult::new(ElicitationAction::Decline)))
    }

    async fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        let refused = || ErrorData::new(ErrorCode::METHOD_NOT_FOUND, "there is no model for this server", None);
        self.ask_as(SAMPLE, &params).await.ok_or_else(refused)
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListKind::Tools);
        self.tell("notifications/tools/list_changed", &Value::Null);
    }

    async fn on_resource_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListKind::Resources);
        self.changed(ListKind::Templates);
        self.tell("notifications/resources/list_changed", &Value::Null);
    }

    async fn on_prompt_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.changed(ListKind::Prompts);
        self.tell("notifications/prompts/list_changed", &Value::Null);
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let to = locked(&self.progress).get(&progress.progress_token).cloned();
        if let (Some(to), Ok(progress)) = (to, serde_json::to_value(&progress)) {
            // Whoever does not keep up misses a step, and not the end.
            drop(to.try_send(progress));
        }
    }

    async fn on_logging_message(
        &self,
        message: rmcp::model::LoggingMessageNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.tell("notifications/message", &message);
    }

    async fn on_resource_updated(
        &self,
        updated: rmcp::model::ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.tell("notifications/resources/updated", &updated);
    }

    /// Among them `notifications/elicitation/complete`, which rmcp has no type for.
    async fn on_custom_notification(&self, notice: CustomNotification, _: NotificationContext<RoleClient>) {
        self.tell(&notice.method, &notice.params);
    }
}
