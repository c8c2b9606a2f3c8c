//! The HTTP door: one server on the Unix socket and, where it may, on a TCP port.

mod answer;
mod asks;
mod body;
mod chat;
mod claude;
mod credentials;
mod events;
#[cfg(test)]
mod fuzz;
mod guard;
mod inbound;
mod log;
mod metrics;
mod openapi;
mod patience;
mod people;
mod rate;
mod replies;
mod sessions;
mod sse;
mod start;
mod watch;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use axum::routing::{delete, get, post, put};
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use portcullis_wire::api::Status;
use portcullis_wire::error::{Fault, Kind};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

pub(crate) use claude::{Answer as HookAnswer, Hooks, Settle};
pub(crate) use credentials::Credentials;
pub(crate) use start::{Starter, Wanted};

use crate::hub::{Hub, link};
use answer::refuse;
use guard::Origin;
use patience::{Answering, Patience};

/// How much of everything the door takes.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    pub(crate) body: usize,
    /// For a request's head to arrive.
    pub(crate) header_time: Duration,
    /// For more of its body to arrive, for the next request to begin, and for an answer to be read.
    pub(crate) idle_time: Duration,
    pub(crate) connections: usize,
    pub(crate) listeners: usize,
    /// Events a second for each credential but the owner's, and how many at once.
    pub(crate) rate: usize,
    pub(crate) burst: usize,
}

/// Everything the handlers share.
pub(crate) struct Door {
    pub(crate) hub: Hub,
    pub(crate) link: link::Gate,
    pub(crate) credentials: Credentials,
    pub(crate) limits: Limits,
    /// What `status` tells, apart from what the hub knows.
    pub(crate) status: Status,
    /// Cancelled by whoever may stop the gate.
    pub(crate) stop: CancellationToken,
    /// A new token for someone; none when there are no random numbers to be had.
    pub(crate) make_token: fn() -> Option<String>,
    pub(crate) starter: Starter,
    /// None where hooks may not be posted.
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    counters: metrics::Counters,
    rate: rate::Rates,
    listeners: Arc<Semaphore>,
    /// Places at the port. The socket has as many of its own: a crowd at the port, where anyone may come, must not keep
    /// sessions from their gate or the owner from stopping it.
    connections: Arc<Semaphore>,
    socket_connections: Arc<Semaphore>,
}

/// What the command line puts a door together from.
pub(crate) struct Parts {
    pub(crate) hub: Hub,
    pub(crate) link: link::Gate,
    pub(crate) credentials: Credentials,
    pub(crate) limits: Limits,
    pub(crate) status: Status,
    pub(crate) stop: CancellationToken,
    pub(crate) make_token: fn() -> Option<String>,
    pub(crate) starter: Starter,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
}

impl Door {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts { hub, link, credentials, limits, status, stop, make_token, starter, hooks } = parts;
        Arc::new(Self {
            counters: metrics::Counters::default(),
            rate: rate::Rates::new(limits.rate, limits.burst),
            listeners: Arc::new(Semaphore::new(limits.listeners)),
            connections: Arc::new(Semaphore::new(limits.connections)),
            socket_connections: Arc::new(Semaphore::new(limits.connections)),
            hub,
            link,
            credentials,
            limits,
            status,
            stop,
            make_token,
            starter,
            hooks,
        })
    }

    /// Waits until every connection has said what it had to say, but no longer than `patience`.
    pub(crate) async fn finish(&self, patience: Duration) {
        let all = u32::try_from(self.limits.connections).unwrap_or(u32::MAX);
        let finished = async {
            drop(self.connections.acquire_many(all).await);
            drop(self.socket_connections.acquire_many(all).await);
        };
        drop(tokio::time::timeout(patience, finished).await);
    }
}

fn routes(door: Arc<Door>) -> Router {
    Router::new()
        .route("/", post(inbound::say).get(welcome))
        .route("/events", get(events::listen))
        .route("/healthz", get(|| async { "ok\n" }))
        .route("/link", get(sessions::link))
        .route("/api/v1/status", get(sessions::status))
        .route("/api/v1/stop", post(sessions::stop))
        .route("/api/v1/sessions", get(sessions::list).post(start::start))
        .route("/api/v1/sessions/{id}", get(sessions::show))
        .route("/api/v1/sessions/{id}/{order}", post(sessions::order))
        .route("/api/v1/events", get(inbound::list).post(inbound::post))
        .route("/api/v1/events/{id}", get(inbound::show))
        .route("/api/v1/asks", get(asks::list))
        .route("/api/v1/asks/{ask}", get(asks::show))
        .route("/api/v1/asks/{ask}/verdict", post(asks::answer))
        .route("/api/v1/verdicts", get(asks::verdicts))
        .route("/api/v1/replies", get(replies::list))
        .route("/api/v1/events/{id}/retry", post(inbound::retry))
        .route("/api/v1/events/{id}/drop", post(inbound::drop_event))
        .route("/api/v1/tokens", get(people::tokens).post(people::add_token))
        .route("/api/v1/tokens/{id}", delete(people::revoke_token))
        .route("/api/v1/people", get(people::people))
        .route("/api/v1/people/{name}", put(people::set_role).delete(people::remove))
        .route("/api/v1/pairings", post(people::approve))
        .route("/api/v1/log", get(log::page))
        .route("/api/v1/log/barred", post(log::barred))
        .route("/api/v1/log/redact", post(log::redact))
        .route("/api/chat", post(chat::chat))
        .route("/api/pending", get(chat::pending))
        .route("/api/confirm", post(chat::confirm))
        .route("/metrics", get(metrics::metrics))
        .route("/api/openapi.json", get(openapi::document))
        .route("/api/v1/watch", get(watch::watch))
        .route("/claude/hooks", post(claude::hooks))
        .fallback(elsewhere)
        .method_not_allowed_fallback(|| async { refuse(&Fault::new(Kind::BadMethod, "no such method here")) })
        .with_state(door)
}

/// Parts of the path that are ours now or later: what is posted there by mistake is not an event.
const RESERVED: [&str; 7] = ["/api", "/in", "/mcp", "/assets", "/claude", "/metrics", "/link"];

/// `POST /`, as the router has it.
fn is_event(request: &Request) -> bool {
    request.method() == hyper::Method::POST && request.uri().path() == "/"
}

/// Any other path takes events as `/` does, and the agent is told the path.
async fn elsewhere(State(door): State<Arc<Door>>, request: Request) -> Response {
    let path = request.uri().path();
    let is_reserved = RESERVED
        .iter()
        .any(|start| path.strip_prefix(start).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')));
    if is_reserved {
        return refuse(&Fault::new(Kind::NoSuchRoute, format!("no such route: {path}")));
    }
    match *request.method() {
        hyper::Method::POST => inbound::say(State(door), request).await,
        hyper::Method::GET | hyper::Method::HEAD => {
            refuse(&Fault::new(Kind::NoSuchRoute, format!("no such route: {path}")))
        }
        _ => refuse(&Fault::new(Kind::BadMethod, "no such method here")),
    }
}

async fn welcome() -> Response {
    let text = "This is a Portcullis gate.\n\
        \n\
        Send an event:   curl -H \"Authorization: Bearer TOKEN\" -d \"text\" THIS-ADDRESS\n\
        Follow replies:  curl -N -H \"Authorization: Bearer TOKEN\" THIS-ADDRESS/events\n\
        \n\
        `portcullis status` says where the token is kept.\n";
    text.into_response()
}

/// Serves the TCP port until `stop`.
pub(crate) async fn serve_tcp(listener: TcpListener, door: Arc<Door>, stop: CancellationToken) {
    let Ok(address) = listener.local_addr() else { return };
    let router = routes(Arc::clone(&door));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => {
                // Without this a small answer waits for the client's acknowledgement.
                drop(stream.set_nodelay(true));
                connection(stream, Origin::Tcp(address), &door, &router);
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Serves the Unix socket until `stop`. Only processes of the same user get in.
pub(crate) async fn serve_unix(listener: UnixListener, door: Arc<Door>, stop: CancellationToken) {
    let router = routes(Arc::clone(&door));
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => match stream.peer_cred() {
                Ok(peer) if peer.uid() == rustix::process::geteuid().as_raw() => {
                    let peer = peer.pid().and_then(|pid| u32::try_from(pid).ok());
                    connection(stream, Origin::Socket { peer }, &door, &router);
                }
                Ok(peer) => tracing::warn!(uid = peer.uid(), "another user tried the socket"),
                Err(error) => tracing::warn!(%error, "a process on the socket would not say who it is"),
            },
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Too many open files, most likely: trying again at once would only burn the processor.
async fn pause_after(error: &std::io::Error) {
    tracing::warn!(%error, "a connection could not be accepted");
    tokio::time::sleep(Duration::from_millis(50)).await;
}

fn connection<S>(stream: S, origin: Origin, door: &Arc<Door>, router: &Router)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let places = match origin {
        Origin::Tcp(_) => &door.connections,
        Origin::Socket { .. } => &door.socket_connections,
    };
    let Ok(permit) = Arc::clone(places).try_acquire_owned() else {
        tracing::warn!("too many connections");
        return;
    };
    let (door, router) = (Arc::clone(door), router.clone());
    tokio::spawn(async move {
        let answering = Answering::default();
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let (door, mut router, answering) = (Arc::clone(&door), router.clone(), answering.clone());
            // Now, and not when the answer is first looked after: hyper reads on before that.
            answering.begins();
            async move {
                let answer = match guard::admit(request, origin, &door.credentials) {
                    // What comes most often does not wait for the router.
                    Ok(request) if is_event(&request) => Ok(inbound::say(State(door), request).await),
                    Ok(request) => router.call(request).await,
                    Err(fault) => Ok(refuse(&fault)),
                };
                let is_link = matches!(&answer, Ok(answer) if answer.status() == StatusCode::SWITCHING_PROTOCOLS);
                if !is_link {
                    answering.ends();
                }
                answer
            }
        });
        let stream = Patience::new(stream, answering.clone(), door.limits.header_time, door.limits.idle_time);
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(door.limits.idle_time).max_buf_size(64 << 10);
        let mut served = std::pin::pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
        let ended = tokio::select! {
            ended = &mut served => ended,
            () = door.stop.cancelled() => {
                // The answer under way is still given; then the connection closes.
                served.as_mut().graceful_shutdown();
                served.await
            }
        };
        if let Err(error) = ended {
            tracing::debug!(%error, "connection");
        }
        drop(permit);
    });
}
