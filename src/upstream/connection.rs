//! One live connection to one server.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::FutureExt as _;
use hyper::header::{AUTHORIZATION, HeaderName, HeaderValue};
use portcullis_wire::channel::{CHANNEL, PERMISSION};
use rmcp::RoleClient;
use rmcp::model::{
    CancelledNotification, CancelledNotificationParam, ClientNotification, ClientRequest, CustomNotification,
    MetaObject, PaginatedRequestParams, ProtocolVersion, RequestMetaObject, ServerResult,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, ClientServiceExt as _, Peer, PeerRequestOptions, RunningService,
    ServiceError,
};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, Transport};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::auth::Bearer;
use super::channel::{FromChannel, Tapped};
use super::client::{ClientBehind, PassedRequest};
use super::config::{Endpoint, RemoteEndpoint, RemoteTransport, Revision, Upstream};
use super::failure::{self, CallFailure, ConnectFailure};
use super::handler::ClientSide;
use super::headers::headers;
use super::ide;
use super::lists::ListKind;
use super::probe::Probed;
use super::shared;
use super::timeouts::{CallTimes, Timeouts};
use super::transport::http::{HttpClient, PrintedCredential};
use super::transport::process::StderrRing;
use super::transport::sse::SseTransport;
use super::transport::stdio::StdioTransport;
use super::transport::ws::WsTransport;
use crate::locks::locked;

/// A server that offers more pages of a list than this goes round in a circle.
const MOST_PAGES: usize = 1000;
/// How much of standard error an error shows.
pub(super) const STDERR_LINES: usize = 5;
/// Longer than a server on standard streams is given to end, and long enough to end a session over HTTP.
const CLOSE: Duration = Duration::from_secs(2);

/// JSON-RPC's code for them.
const BAD_PARAMETERS: i32 = -32602;

/// What every connection of a process is made with.
#[derive(Clone, Copy)]
pub(super) struct Means<'a> {
    /// In which servers are started.
    pub(super) folder: &'a Path,
    pub(super) timeouts: &'a Timeouts,
    /// The program that takes servers along when we are killed.
    pub(super) guard: Option<&'a Path>,
    /// Who uses the connections, and answers what servers ask.
    pub(super) behind: Option<&'a Arc<ClientBehind>>,
    /// Who hears what channel servers say.
    pub(super) hears: Option<&'a mpsc::Sender<FromChannel>>,
}

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
}

impl ServerConnection {
    /// Starts or reaches the server, and waits for its answer.
    pub(super) async fn open(
        upstream: &Upstream,
        bearer: Option<&Arc<Bearer>>,
        means: &Means<'_>,
        known: Option<Revision>,
    ) -> Result<Self, ConnectFailure> {
        let Means { folder, timeouts, .. } = *means;
        let side = ClientSide::new(&upstream.name, means.behind.cloned()).heard_by(means.hears.cloned());
        // Kept here, so that it can be shown when the time is over.
        let stderr = Mutex::new(None);
        let opening = async {
            match (&upstream.entry.endpoint, &upstream.shared) {
                (Endpoint::Stdio { .. }, Some(socket)) => {
                    let transport = shared::join(socket, &upstream.name).await?;
                    let served = Self::serve(transport, None, Some(Revision::Initialize), &side).await;
                    served.map_err(|error| ConnectFailure::of(&error))
                }
                (endpoint @ Endpoint::Stdio { .. }, None) => Self::start(endpoint, means, known, &stderr, &side).await,
                (Endpoint::Remote(remote), _) => {
                    let editor = match remote.transport {
                        transport if transport.is_editor() && remote.url.is_empty() => {
                            Some(ide::found(remote, folder)?)
                        }
                        _ => None,
                    };
                    let remote = editor.as_ref().unwrap_or(remote);
                    let headers = headers(&upstream.name, remote, folder).await?;
                    let printed = printed_credential(&upstream.name, remote, folder, &headers);
                    let first_byte = timeouts.of_request(&upstream.entry);
                    let client = || match HttpClient::new(&remote.url, first_byte) {
                        Ok(client) => {
                            let client = client.with_bearer(bearer.cloned()).with_printed(printed.clone());
                            Ok(client.probing(known.is_none()))
                        }
                        Err(error) => Err(ConnectFailure::new(format!("TLS: {error}"))),
                    };
                    Self::reach(remote, headers, client, known, &side).await
                }
            }
        };
        let limit = timeouts.connect;
        let opened = tokio::time::timeout(limit, opening).await.unwrap_or_else(|_| {
            let why = format!("connection timed out after {}ms", limit.as_millis());
            Err(ConnectFailure::Failed { why, stderr: String::new(), is_passing: true })
        });
        let said = locked(&stderr).take();
        match (opened, said) {
            (Err(ConnectFailure::Failed { why, is_passing, .. }), Some(ring)) => {
                Err(ConnectFailure::Failed { why, stderr: ring.all_said().await.last_lines(STDERR_LINES), is_passing })
            }
            (opened, _) => opened,
        }
    }

    async fn start(
        endpoint: &Endpoint,
        means: &Means<'_>,
        known: Option<Revision>,
        stderr: &Mutex<Option<StderrRing>>,
        side: &ClientSide,
    ) -> Result<Self, ConnectFailure> {
        let serve = async |known| {
            let started = StdioTransport::start(endpoint, means.folder, means.guard);
            let (transport, ring) = started
                .map_err(|error| Err(ConnectFailure::new(format!("starting {}: {error}", endpoint.in_words()))))?;
            *locked(stderr) = Some(ring.clone());
            Self::serve(transport, Some(ring), known, side).await.map_err(Ok)
        };
        let mut served = serve(known).await;
        // It may have ended at a question that it did not know: once more, without it.
        if let Err(Ok(error)) = &served
            && known.is_none()
            && failure::has_ended(error)
        {
            served = serve(Some(Revision::Initialize)).await;
        }
        served.map_err(|error| error.map_or_else(|failure| failure, |error| ConnectFailure::of(&error)))
    }

    async fn reach(
        remote: &RemoteEndpoint,
        headers: HashMap<HeaderName, HeaderValue>,
        client: impl Fn() -> Result<HttpClient, ConnectFailure>,
        known: Option<Revision>,
        side: &ClientSide,
    ) -> Result<Self, ConnectFailure> {
        match remote.transport {
            RemoteTransport::Http | RemoteTransport::ClaudeAiProxy => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(remote.url.as_str());
                // The caches have to hear of a new session, so it is ours to make.
                config.reinit_on_expired_session = false;
                config.custom_headers = headers.clone();
                let transport = StreamableHttpClientTransport::with_client(client()?, config);
                let error = match Self::serve(transport, None, known, side).await {
                    Ok(connection) => return Ok(connection),
                    Err(error) => error,
                };
                if !failure::may_be_older_transport(&error) {
                    return Err(ConnectFailure::of(&error));
                }
                // Whichever says more: that of the transport that was asked for.
                Self::reach_older(client()?, remote, headers, side).await.map_err(|_| ConnectFailure::of(&error))
            }
            RemoteTransport::Sse | RemoteTransport::SseIde => Self::reach_older(client()?, remote, headers, side).await,
            RemoteTransport::Ws | RemoteTransport::WsIde => {
                let transport = WsTransport::connect(&remote.url, &headers).await;
                let transport = transport.map_err(|failure| ConnectFailure::of_http(&failure))?;
                Self::serve(transport, None, known, side).await.map_err(|error| ConnectFailure::of(&error))
            }
        }
    }

    /// Servers of the older transport are older than `server/discover`.
    async fn reach_older(
        client: HttpClient,
        remote: &RemoteEndpoint,
        headers: HashMap<HeaderName, HeaderValue>,
        side: &ClientSide,
    ) -> Result<Self, ConnectFailure> {
        let transport = SseTransport::connect(client, &remote.url, headers).await;
        let transport = transport.map_err(|error| ConnectFailure::of_sending(&error))?;
        let served = Self::serve(transport, None, Some(Revision::Initialize), side).await;
        served.map_err(|error| ConnectFailure::of(&error))
    }

    async fn serve<T>(
        transport: T,
        stderr: Option<StderrRing>,
        known: Option<Revision>,
        side: &ClientSide,
    ) -> Result<Self, ClientInitializeError>
    where
        T: Transport<RoleClient> + 'static,
    {
        static SERIAL: AtomicU64 = AtomicU64::new(1);
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = match known {
            Some(Revision::Initialize) => ClientLifecycleMode::Initialize,
            Some(Revision::Discover) => ClientLifecycleMode::Discover { preferred_versions },
            None => ClientLifecycleMode::Auto {
                preferred_versions,
                legacy_version: Some(ProtocolVersion::LATEST_WITH_INITIALIZE),
            },
        };
        let side = side.clone();
        let begun = Instant::now();
        let tapped = Tapped::new(Probed::new(transport, known.is_none()), side.tap());
        let service = side.clone().serve_with_lifecycle(tapped, lifecycle).await?;
        let peer = service.peer().clone();
        let about = about(&peer, begun.elapsed());
        let service = tokio::sync::Mutex::new(Some(service));
        if peer.peer_info().is_some_and(|info| !info.protocol_version.has_initialize()) {
            tokio::spawn(side.clone().hear_of_changes(peer.clone()));
        }
        Ok(Self { serial: SERIAL.fetch_add(1, Ordering::Relaxed), peer, service, side, stderr, about })
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
                (as_values(&list.tools), list.next_cursor)
            }
            ListKind::Resources => {
                let list = self.peer.list_resources(Some(page)).await?;
                (as_values(&list.resources), list.next_cursor)
            }
            ListKind::Templates => {
                let list = self.peer.list_resource_templates(Some(page)).await?;
                (as_values(&list.resource_templates), list.next_cursor)
            }
            ListKind::Prompts => {
                let list = self.peer.list_prompts(Some(page)).await?;
                (as_values(&list.prompts), list.next_cursor)
            }
        })
    }

    /// Sends a request once. The result is the server's own, as JSON.
    pub(super) async fn request(&self, passed: &PassedRequest<'_>, times: CallTimes) -> Result<Value, CallFailure> {
        let request = json!({"method": passed.method, "params": passed.params});
        let request: ClientRequest = serde_json::from_value(request).map_err(|error| {
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
        let handle = self.peer.send_request_with_option(request, options).await.map_err(|error| failed(&error))?;
        let token = handle.progress_token.clone();
        let _watch = passed.progress.clone().map(|progress| self.side.watch(token, progress));
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
            result => serde_json::to_value(result).map_err(|error| CallFailure::Nonsense(error.to_string())),
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

/// The credential of an entry whose helper printed one.
fn printed_credential(
    server: &str,
    remote: &RemoteEndpoint,
    folder: &Path,
    headers: &HashMap<HeaderName, HeaderValue>,
) -> Option<Arc<PrintedCredential>> {
    remote.headers_helper.as_ref()?;
    let first = headers.get(&AUTHORIZATION)?.clone();
    let (server, remote, folder) = (server.to_owned(), remote.clone(), folder.to_owned());
    let print = move || {
        let (server, remote, folder) = (server.clone(), remote.clone(), folder.clone());
        async move { self::headers(&server, &remote, &folder).await.ok()?.get(&AUTHORIZATION).cloned() }.boxed()
    };
    Some(Arc::new(PrintedCredential::new(first, print)))
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

fn as_values<T: Serialize>(items: &[T]) -> Vec<Value> {
    items.iter().filter_map(|item| serde_json::to_value(item).ok()).collect()
}
