//! One live connection to one server.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use portcullis_wire::channel::{CHANNEL, PERMISSION};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest,
    CustomNotification, MetaObject, PaginatedRequestParams, RequestMetaObject, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RunningService, ServiceError};
use serde::{Deserialize as _, Serialize};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::client::PassedRequest;
use super::config::Revision;
use super::failure::CallFailure;
use super::handler::ClientSide;
use super::lists::ListKind;
use super::timeouts::CallTimes;
use super::transport::mend;
use super::transport::process::StderrRing;
use crate::fixed;

/// A server that offers more pages of a list than this goes round in a circle.
const MOST_PAGES: usize = 1000;
/// How much of standard error an error shows.
pub(super) const STDERR_LINES: usize = 5;
/// Longer than a server on standard streams is given to end, and long enough to end a session over HTTP.
const CLOSE: Duration = Duration::from_secs(2);

/// Before a list is asked for again; twice that before the next time.
const LIST_BACKOFF: Duration = Duration::from_millis(250);
/// JSON-RPC's code for them.
const BAD_PARAMETERS: i32 = -32602;

/// What a server said of itself.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ServerAbout {
    pub(crate) name: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) protocol: String,
    /// From the start or the first byte to its answer.
    pub(crate) milliseconds: u64,
    pub(crate) tools: bool,
    pub(crate) resources: bool,
    pub(crate) prompts: bool,
    /// What the model is to be told of it.
    #[serde(skip)]
    pub(crate) instructions: Option<String>,
    /// It has events for a session.
    #[serde(skip)]
    pub(crate) is_channel: bool,
    /// People behind it may answer prompts.
    #[serde(skip)]
    pub(crate) relays_prompts: bool,
}

pub(super) struct ServerConnection {
    /// No other connection of this process has it.
    pub(super) serial: u64,
    peer: Peer<RoleClient>,
    /// Taken by whoever closes it.
    service: tokio::sync::Mutex<Option<RunningService<RoleClient, ClientSide>>>,
    side: ClientSide,
    stderr: Option<StderrRing>,
    pub(super) about: ServerAbout,
    /// It left the question which revision it speaks unanswered.
    pub(super) was_silent: bool,
}

impl ServerConnection {
    /// The connection that a server has let us make, in this time.
    pub(super) fn new(
        service: RunningService<RoleClient, ClientSide>,
        side: ClientSide,
        stderr: Option<StderrRing>,
        took: Duration,
    ) -> Self {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        let peer = service.peer().clone();
        let about = about(&peer, took);
        let service = tokio::sync::Mutex::new(Some(service));
        if peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize()) {
            tokio::spawn(side.clone().hear_of_changes(peer.clone()));
        }
        Self { serial: SERIAL.fetch_add(1, Ordering::Relaxed), peer, service, side, stderr, about, was_silent: false }
    }

    pub(super) fn revision(&self) -> Revision {
        let is_old = self.peer.peer_info().is_none_or(|info| info.protocol_version.has_initialize());
        if is_old { Revision::Initialize } else { Revision::Discover }
    }

    pub(super) fn is_closed(&self) -> bool {
        self.peer.is_transport_closed()
    }

    pub(super) fn changes(&self, kind: ListKind) -> u64 {
        self.side.changes(kind)
    }

    /// Ends the session, and the server if it is ours. Returns when that is done.
    pub(super) async fn close(&self) {
        if let Some(mut service) = self.service.lock().await.take() {
            drop(service.close_with_timeout(CLOSE).await);
        }
    }

    /// Tells the server something that has no answer.
    pub(super) async fn notify(&self, method: &str, params: Value) -> Result<(), CallFailure> {
        let notification = CustomNotification::new(method, Some(params));
        let sent = self.peer.send_notification(ClientNotification::CustomNotification(notification)).await;
        sent.map_err(|error| CallFailure::of(&error))
    }

    /// The same, asked for again where the connection failed and is still there.
    pub(super) async fn list_trying(&self, kind: ListKind, tries: u32) -> Result<Vec<Value>, CallFailure> {
        let mut wait = fixed::wait("MCP_LIST_BACKOFF", LIST_BACKOFF);
        for _ in 1..tries {
            match self.list(kind).await {
                Err(failure) if failure.is_passing() && !self.is_closed() => tokio::time::sleep(wait).await,
                read => return read,
            }
            wait *= 2;
        }
        self.list(kind).await
    }

    /// Everything of one kind, page by page.
    pub(super) async fn list(&self, kind: ListKind) -> Result<Vec<Value>, CallFailure> {
        let mut items = vec![];
        let mut cursor: Option<String> = None;
        for _ in 0..MOST_PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor.clone());
            let (mut more, next) =
                self.page(kind, page).await.map_err(|error| self.explained(CallFailure::of(&error)))?;
            items.append(&mut more);
            if next.is_none() || next == cursor {
                return Ok(items);
            }
            cursor = next;
        }
        Err(CallFailure::Nonsense(format!("its list has more than {MOST_PAGES} pages")))
    }

    async fn page(
        &self,
        kind: ListKind,
        page: PaginatedRequestParams,
    ) -> Result<(Vec<Value>, Option<String>), ServiceError> {
        Ok(match kind {
            ListKind::Tools => {
                let list = self.peer.list_tools(Some(page)).await?;
                (items(&list, "tools"), list.next_cursor)
            }
            ListKind::Resources => {
                let list = self.peer.list_resources(Some(page)).await?;
                (items(&list, "resources"), list.next_cursor)
            }
            ListKind::Templates => {
                let list = self.peer.list_resource_templates(Some(page)).await?;
                (items(&list, "resourceTemplates"), list.next_cursor)
            }
            ListKind::Prompts => {
                let list = self.peer.list_prompts(Some(page)).await?;
                (items(&list, "prompts"), list.next_cursor)
            }
        })
    }

    /// Sends a request once. The result is the server's own, as JSON.
    pub(super) async fn request(&self, passed: &PassedRequest<'_>, times: CallTimes) -> Result<Value, CallFailure> {
        let mut request = request_of(passed).map_err(|error| {
            let message = format!("the parameters of {} do not fit: {error}", passed.method);
            CallFailure::Refused { code: BAD_PARAMETERS, message, data: None }
        })?;
        let mut options = match times.idle {
            Some(idle) => PeerRequestOptions::with_timeout(idle).reset_timeout_on_progress(),
            None => PeerRequestOptions::with_timeout(times.whole),
        };
        options = options.with_max_total_timeout(times.whole);
        if self.revision() == Revision::Discover && !passed.of_client.is_empty() {
            options = options.with_meta(RequestMetaObject(MetaObject(passed.of_client.clone())));
        }
        // It was waited for a connection meanwhile.
        if passed.cancelled.is_some_and(CancellationToken::is_cancelled) {
            return Err(CallFailure::TakenBack);
        }
        let failed = |error: &ServiceError| self.explained(CallFailure::of(error));
        if let Some(progress) = &passed.progress {
            ClientSide::report_progress_to(&mut request, progress.clone());
        }
        let handle = self.peer.send_request_with_option(request, options).await.map_err(|error| failed(&error))?;
        let _watch = self.side.watch(handle.progress_token.clone());
        let id = handle.id.clone();
        let cancelled = async {
            match passed.cancelled {
                Some(cancelled) => cancelled.cancelled().await,
                None => std::future::pending().await,
            }
        };
        let answered = tokio::select! {
            answered = handle.await_response() => answered.map_err(|error| failed(&error))?,
            () = cancelled => {
                let params = CancelledNotificationParam::new(Some(id), Some("the client took it back".to_owned()));
                drop(self.peer.send_notification(CancelledNotification::new(params).into()).await);
                return Err(CallFailure::TakenBack);
            }
        };
        match answered {
            ServerResult::InputRequiredResult(_) if !passed.takes_input_required => {
                Err(CallFailure::Nonsense("it wants an answer of a person, which nobody offered".to_owned()))
            }
            result => {
                let read = serde_json::to_value(result).map_err(|error| CallFailure::Nonsense(error.to_string()))?;
                Ok(mend::as_it_came(read))
            }
        }
    }

    /// With the end of what the server said on standard error, where the connection is to blame.
    fn explained(&self, failure: CallFailure) -> CallFailure {
        let said = self.stderr.as_ref().map(|stderr| stderr.last_lines(STDERR_LINES)).unwrap_or_default();
        match failure {
            CallFailure::UnknownOutcome(why) if !said.is_empty() => {
                CallFailure::UnknownOutcome(format!("{why}; it said: {said}"))
            }
            other => other,
        }
    }
}

/// As rmcp has it. A call of a tool is not tried as every request that it knows.
fn request_of(passed: &PassedRequest<'_>) -> serde_json::Result<ClientRequest> {
    let request = json!({"method": passed.method, "params": passed.params});
    match CallToolRequest::deserialize(&request) {
        Ok(call) => Ok(ClientRequest::CallToolRequest(call)),
        Err(_) => serde_json::from_value(request),
    }
}

fn about(peer: &Peer<RoleClient>, took: Duration) -> ServerAbout {
    let milliseconds = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    let Some(info) = peer.peer_info() else { return ServerAbout { milliseconds, ..ServerAbout::default() } };
    let says = |name: &str| info.capabilities.experimental.as_ref().is_some_and(|names| names.contains_key(name));
    ServerAbout {
        name: info.server_info.as_ref().map(|info| info.name.clone()),
        version: info.server_info.as_ref().map(|info| info.version.clone()),
        protocol: info.protocol_version.to_string(),
        milliseconds,
        tools: info.capabilities.tools.is_some(),
        resources: info.capabilities.resources.is_some(),
        prompts: info.capabilities.prompts.is_some(),
        instructions: info.instructions.clone(),
        is_channel: says(CHANNEL),
        relays_prompts: says(PERMISSION),
    }
}

/// The items of a list, as the server described them. rmcp leaves out tools that a client must not use: so do we.
fn items(list: &impl Serialize, key: &str) -> Vec<Value> {
    let name = |item: &Value| item.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    let read = serde_json::to_value(list).unwrap_or_default();
    let usable: HashSet<String> = read.get(key).and_then(Value::as_array).into_iter().flatten().map(name).collect();
    let mut came = mend::as_it_came(read);
    match came.get_mut(key).map(Value::take) {
        Some(Value::Array(mut items)) => {
            items.retain(|item| usable.contains(&name(item)));
            items
        }
        _ => vec![],
    }
}
