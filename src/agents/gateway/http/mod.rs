//! Clients over HTTP: one process holds the servers of all of them, behind the gate, which has looked at who they are.

mod answering;
mod clients;
mod owners;
mod sessions;

use std::sync::Arc;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, StatusCode};
use hyper_util::rt::TokioIo;
use portcullis_wire::error::{Candidate, Fault, Kind};
use rmcp::RoleServer;
use rmcp::model::ProtocolVersion;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::{LocalSessionManager, SessionConfig};
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use tokio::net::UnixListener;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

use super::connected::GatewayServer;
use crate::agents::mcp_stdio::LONGEST_LINE;
use crate::fixed;
pub(super) use answering::AnswerListener;
use answering::{AnswerBody, AnswerComes, Timely, faulty, refuse, refuse_with};
pub(crate) use clients::HostedServers;
use clients::StatelessClients;
pub(super) use owners::CouldWrite;
use owners::EndedTokens;
pub(crate) use owners::FromGate;
use sessions::{BegunClient, OpenSessions};

/// Clients at once, and requests of those that have no session.
const MOST_CLIENTS: usize = 256;
/// Sessions of one person at once, and clients without any, so that there is place for others.
const MOST_OF_ONE: usize = MOST_CLIENTS / 4;
/// How often what nobody uses any more is looked for.
const SWEEP: Duration = Duration::from_secs(60);
/// A stream on which nothing is said has a comment so often, so that nothing between the client and us closes it.
const COMMENT: Duration = Duration::from_secs(15);

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";

struct GatewayHost {
    service: StreamableHttpService<GatewayServer, LocalSessionManager>,
    manager: Arc<LocalSessionManager>,
    clients: Arc<StatelessClients>,
    sessions: Arc<OpenSessions>,
    ended: Arc<EndedTokens>,
    from_gate: FromGate,
    /// One for each client, and for each request of those that have no session.
    places: Arc<Semaphore>,
}

/// Serves clients on this socket until `stop`. `from_gate` is how the gate says who a client is.
pub(crate) async fn serve(
    listener: UnixListener,
    servers: HostedServers,
    from_gate: FromGate,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let host = Arc::new(GatewayHost::new(servers, from_gate, stop.child_token()));
    let mut sweep = tokio::time::interval(fixed::wait("MCP_SWEEP", SWEEP));
    loop {
        let stream = tokio::select! {
            accepted = listener.accept() => accepted?.0,
            _ = sweep.tick() => {
                host.sweep().await;
                continue;
            }
            () = stop.cancelled() => return Ok(()),
        };
        // Only the gate, which started us, says whose token a request has.
        let peer = stream.peer_cred().ok().and_then(|peer| peer.pid()?.try_into().ok());
        if peer != Some(std::os::unix::process::parent_id()) {
            tracing::warn!(?peer, "another process than the gate tried the socket");
            continue;
        }
        let host = Arc::clone(&host);
        tokio::spawn(async move {
            let service = service_fn(|request: Request<Incoming>| {
                let host = Arc::clone(&host);
                async move { Ok::<_, std::convert::Infallible>(host.answer(request).await) }
            });
            if let Err(error) = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await {
                tracing::debug!(%error, "a connection of the gate");
            }
        });
    }
}

impl GatewayHost {
    fn new(servers: HostedServers, from_gate: FromGate, stop: CancellationToken) -> Self {
        let ended: Arc<EndedTokens> = Arc::default();
        let clients = Arc::new(StatelessClients::new(servers, from_gate, Arc::clone(&ended)));
        let mut manager = LocalSessionManager::default();
        manager.session_config = SessionConfig::default();
        // Ours to say: a session whose client waits for a person is not idle.
        manager.session_config.keep_alive = None;
        let manager = Arc::new(manager);
        let config = StreamableHttpServerConfig::default()
            // The gate has looked at both.
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_sse_keep_alive(Some(comment_time()))
            .with_max_request_body_bytes(LONGEST_LINE)
            .with_cancellation_token(stop);
        let places = Arc::new(Semaphore::new(fixed::limit("MCP_CLIENTS", MOST_CLIENTS)));
        let (of_clients, of_all) = (Arc::clone(&clients), Arc::clone(&places));
        let server = move || {
            let place = Arc::clone(&of_all).try_acquire_owned();
            let place = place.map_err(|_| std::io::Error::other("too many MCP clients at once"))?;
            let clients = Arc::clone(&of_clients);
            let find = move |client: &str, context: &RequestContext<RoleServer>| clients.core(client, context);
            Ok(GatewayServer::new(Box::new(find), Some(place)))
        };
        let service = StreamableHttpService::new(server, Arc::clone(&manager), config);
        Self { service, manager, clients, sessions: Arc::default(), ended, from_gate, places }
    }

    async fn answer(self: Arc<Self>, mut request: Request<Incoming>) -> hyper::Response<AnswerBody> {
        let text = |name: &str| request.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (owner, session) = (self.from_gate.owner(request.headers()), text(SESSION));
        let offer = clients::wanted(request.uri());
        let version = text(VERSION).and_then(|version| serde_json::from_value::<ProtocolVersion>(version.into()).ok());
        let is_json = text("content-type").is_some_and(|kind| kind.starts_with("application/json"));
        if request.method() == Method::DELETE && request.uri().path() == self.from_gate.ended {
            self.end(&owner.token).await;
            return refuse(StatusCode::NO_CONTENT, "");
        }
        if self.ended.has(&owner) {
            return refuse(StatusCode::FORBIDDEN, "Forbidden: the token no longer counts");
        }
        let in_use = match &session {
            // A session belongs to the token that began it.
            Some(session) => match self.sessions.enter(session, &owner, &offer) {
                Some(in_use) => Some(in_use),
                None => return refuse(StatusCode::NOT_FOUND, "Not Found: Session not found"),
            },
            None if self.sessions.count_of(&owner.person) >= most_of_one() => {
                let why = "this person has as many sessions of the gateway as one may have at once";
                return refuse_with(&Fault::new(Kind::TooManyMcpSessions, why));
            }
            None => {
                let unknown = Some(request.uri()).filter(|_| request.method() == Method::POST);
                if let Some((name, offered)) = unknown.and_then(|uri| self.clients.unknown_server(uri)) {
                    return refuse_with(&no_such_server(&name, offered));
                }
                None
            }
        };
        if let Some(session) = session.as_ref().filter(|_| request.method() == Method::DELETE) {
            self.sessions.end(session);
            drop(self.manager.close_session(&session.as_str().into()).await);
            return refuse(StatusCode::ACCEPTED, "");
        }
        // Whoever begins a session finds its id in the head of the answer: that one is waited for.
        let has_head_early = session.is_some() || version.is_some_and(|version| !version.has_initialize());
        let comes = AnswerComes { has_head_early, with_an_end: request.method() == Method::POST };
        let listening = AnswerListener::default();
        let client = BegunClient::default();
        request.extensions_mut().insert(listening.clone());
        request.extensions_mut().insert(client.clone());
        if let Some(could_write) = self.from_gate.could_write(request.headers()) {
            request.extensions_mut().insert(could_write);
        }
        let timely = Timely { listening: listening.leaving(), _in_use: in_use, comment: comment_time() };
        let host = Arc::clone(&self);
        let handling = Box::pin(async move {
            let mut response = host.service.handle(request).await;
            // rmcp has one status for whatever keeps a client from being served.
            if response.status() == StatusCode::INTERNAL_SERVER_ERROR && host.places.available_permits() == 0 {
                return faulty(&Fault::new(Kind::TooManyMcpClients, "as many MCP clients are served as there may be"));
            }
            // rmcp says so of a body that is no message as well.
            if is_json && response.status() == StatusCode::UNSUPPORTED_MEDIA_TYPE {
                *response.status_mut() = StatusCode::BAD_REQUEST;
            }
            response
        });
        let response = timely.answer(handling, comes).await;
        if let Some(begun) = response.headers().get(SESSION).and_then(|id| id.to_str().ok()) {
            self.sessions.begin(begun, owner.clone(), (offer, client));
            // The token may have been revoked meanwhile.
            if self.ended.has(&owner) {
                self.end(&owner.token).await;
            }
        }
        response
    }

    /// The token no longer counts: its sessions end, and with them their prompts, calls and servers.
    async fn end(&self, token: &str) {
        self.ended.add(token);
        self.clients.end(token);
        for session in self.sessions.end_of(token) {
            tracing::info!(%session, "the token of an MCP client no longer counts");
            drop(self.manager.close_session(&session.into()).await);
        }
    }

    /// Ends what nobody uses any more.
    async fn sweep(&self) {
        self.clients.forget_idle();
        for session in self.sessions.end_idle() {
            tracing::info!(%session, "an MCP client left without a word");
            drop(self.manager.close_session(&session.into()).await);
        }
    }
}

fn no_such_server(name: &str, offered: Vec<String>) -> Fault {
    let offered = offered.into_iter().map(|name| Candidate { id: name.clone(), name: Some(name) }).collect();
    Fault::new(Kind::NoSuchMcpServer, format!("no MCP server {name:?} is offered here")).knowing(offered)
}

fn most_of_one() -> usize {
    fixed::limit("MCP_OF_ONE", MOST_OF_ONE)
}

fn comment_time() -> Duration {
    fixed::wait("MCP_HEARTBEAT", COMMENT)
}
