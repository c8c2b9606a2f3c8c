//! The HTTP door: one server on the Unix socket and, where it may, on a TCP port.

mod access;
mod answers;
mod asks;
mod body;
mod body_memory;
mod budget;
mod call_memory;
mod chat;
mod credentials;
mod devices;
mod editors;
mod files;
#[cfg(test)]
mod fuzz;
mod gateway;
mod guard;
mod history;
mod hooks;
mod inspect;
mod link;
mod listen;
mod log;
mod mcp;
mod metrics;
mod modes;
mod openapi;
mod page;
mod people;
mod plain_post;
mod push;
mod queue;
mod replies;
mod response;
mod routes;
mod say;
mod seats;
mod sessions;
mod sse;
mod start;
mod status;
mod stream;
mod timeouts;
mod watch;

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use bytes::BytesMut;
use hyper::StatusCode;
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use portcullis_wire::api::Status;
use portcullis_wire::notify::NotifyView;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;
use tower::Service as _;

pub(crate) use credentials::Credentials;
pub(crate) use gateway::{McpConnect, McpPassage};
pub(crate) use guard::PublicOrigin;
pub(crate) use history::TranscriptReader;
pub(crate) use hooks::{HookHandler, HookResponse};
pub(crate) use inspect::Inspector;
pub(crate) use mcp::McpLooks;
pub(crate) use start::{NewProcess, Starter};

use crate::files::FileStore;
use crate::hub::{Hub, LineRate, PeerProcess, TcpConnection, link as hub_link};
use crate::locks::locked;
use crate::push::PushService;
use guard::Transport;
use response::refuse;
use timeouts::{RequestCount, TimedStream};

/// The limits of the HTTP server.
#[derive(Clone, Debug)]
pub(crate) struct HttpLimits {
    pub(crate) body: usize,
    /// How long the head of a request may take.
    pub(crate) header_time: Duration,
    /// How long a connection may be idle, a body pause, and a client leave a response unread.
    pub(crate) idle_time: Duration,
    pub(crate) connections: ConnectionLimits,
    pub(crate) listeners: usize,
}

/// A flood of connections is one line of the log in so much time, which says how many were closed since the line before.
const CROWD_PAUSE: Duration = Duration::from_secs(60);

/// How many connections each listener takes: a crowd at one leaves the others theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionLimits {
    pub(crate) port: usize,
    pub(crate) public: usize,
    pub(crate) socket: usize,
}

/// Everything the handlers share.
pub(crate) struct Door {
    pub(crate) hub: Hub,
    pub(crate) link: hub_link::Gate,
    pub(crate) credentials: Credentials,
    pub(crate) limits: HttpLimits,
    /// What `status` tells, apart from what the hub knows.
    pub(crate) status: Status,
    /// How the owner's command for notifications fares.
    pub(crate) notify: Receiver<Option<NotifyView>>,
    /// Cancelled by whoever may stop the gate.
    pub(crate) stop: CancellationToken,
    /// Makes a new token; none when the system has no random numbers.
    pub(crate) make_token: fn() -> Option<String>,
    pub(crate) starter: Starter,
    /// None where hooks may not be posted.
    pub(crate) hooks: Option<HookHandler>,
    gateway: Arc<McpPassage>,
    pub(crate) transcripts: Arc<TranscriptReader>,
    pub(crate) files: FileStore,
    /// Places for uploads, each of which is in memory for a moment.
    uploads: Arc<seats::Seats>,
    call_memory: call_memory::CallMemory,
    unfinished: body_memory::BodyMemory,
    unread: answers::AnswerMemory,
    /// Where browsers elsewhere find the gate; none where they do not.
    pub(crate) public: Option<PublicOrigin>,
    inspector: Inspector,
    mcp: McpLooks,
    /// How long a prompt waits before someone who does not look is told.
    notify_after: Duration,
    /// None where nothing is pushed: without an https address that browsers find the gate at.
    push: Option<PushService>,
    links: devices::OpenLinks,
    last_uses: devices::LastUses,
    counters: metrics::Counters,
    listeners: Arc<seats::Seats>,
    /// Permits for connections. Each listener has as many of its own, so that too many clients of one keep neither sessions
    /// from their gate nor the owner from the page and from stopping it.
    connections: Arc<Semaphore>,
    public_connections: Arc<Semaphore>,
    socket_connections: Arc<Semaphore>,
    /// How often the log says that there were none left.
    crowds: Mutex<LineRate>,
}

/// What a [`Door`] is made from.
pub(crate) struct Parts {
    pub(crate) hub: Hub,
    pub(crate) link: hub_link::Gate,
    pub(crate) credentials: Credentials,
    pub(crate) limits: HttpLimits,
    pub(crate) status: Status,
    pub(crate) notify: Receiver<Option<NotifyView>>,
    pub(crate) stop: CancellationToken,
    pub(crate) make_token: fn() -> Option<String>,
    pub(crate) starter: Starter,
    pub(crate) hooks: Option<HookHandler>,
    pub(crate) gateway: McpConnect,
    pub(crate) transcripts: Arc<TranscriptReader>,
    pub(crate) files: FileStore,
    pub(crate) public: Option<PublicOrigin>,
    pub(crate) inspector: Inspector,
    pub(crate) mcp: McpLooks,
    pub(crate) notify_after: Duration,
    pub(crate) push: Option<PushService>,
}

impl Door {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts { hub, link, credentials, limits, status, notify, stop, make_token, .. } = parts;
        let Parts { starter, hooks, gateway, public, inspector, mcp, notify_after, transcripts, files, push, .. } =
            parts;
        Arc::new(Self {
            links: devices::OpenLinks::default(),
            last_uses: devices::LastUses::default(),
            counters: metrics::Counters::default(),
            listeners: seats::Seats::new(limits.listeners),
            connections: Arc::new(Semaphore::new(limits.connections.port)),
            public_connections: Arc::new(Semaphore::new(limits.connections.public)),
            socket_connections: Arc::new(Semaphore::new(limits.connections.socket)),
            crowds: Mutex::new(LineRate::new(1, CROWD_PAUSE, Instant::now())),
            unfinished: body_memory::BodyMemory::new(limits.body),
            unread: answers::AnswerMemory::new(),
            hub,
            link,
            credentials,
            limits,
            status,
            notify,
            stop,
            make_token,
            starter,
            hooks,
            gateway: McpPassage::new(gateway),
            transcripts,
            files,
            uploads: seats::Seats::new(files::MOST_UPLOADS),
            call_memory: call_memory::CallMemory::new(),
            public,
            inspector,
            mcp,
            notify_after,
            push,
        })
    }

    /// Waits until every connection is closed, at most for `timeout`.
    pub(crate) async fn finish(&self, timeout: Duration) {
        let all = |places: usize| u32::try_from(places).unwrap_or(u32::MAX);
        let ConnectionLimits { port, public, socket } = self.limits.connections;
        let finished = async {
            drop(self.connections.acquire_many(all(port)).await);
            drop(self.public_connections.acquire_many(all(public)).await);
            drop(self.socket_connections.acquire_many(all(socket)).await);
        };
        drop(tokio::time::timeout(timeout, finished).await);
    }
}

/// Serves the TCP port of this machine until `stop`.
pub(crate) async fn serve_tcp(listener: TcpListener, door: Arc<Door>, stop: CancellationToken) {
    let Ok(address) = listener.local_addr() else { return };
    let router = routes::router(&door);
    accept(listener, |connection| Transport::Tcp(address, connection), door, router, stop).await;
}

/// Serves what may be reached from elsewhere until `stop`.
pub(crate) async fn serve_public(listener: TcpListener, door: Arc<Door>, stop: CancellationToken) {
    let router = routes::public_router(&door);
    accept(listener, Transport::Public, door, router, stop).await;
}

async fn accept(
    listener: TcpListener,
    transport: impl Fn(TcpConnection) -> Transport,
    door: Arc<Door>,
    router: Router,
    stop: CancellationToken,
) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, theirs)) => {
                // Gone already.
                let Ok(ours) = stream.local_addr() else { continue };
                // Without this a small answer waits for the client's acknowledgement.
                drop(stream.set_nodelay(true));
                connection(stream, transport(TcpConnection::new(ours, theirs)), &door, &router);
            }
            Err(error) => pause_after(&error).await,
        }
    }
}

/// Serves the Unix socket until `stop`. Only processes of the same user get in.
pub(crate) async fn serve_unix(listener: UnixListener, door: Arc<Door>, stop: CancellationToken) {
    let router = routes::router(&door);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted {
            Ok((stream, _)) => match stream.peer_cred() {
                Ok(peer) if peer.uid() == rustix::process::geteuid().as_raw() => {
                    let process = PeerProcess::connected(peer.pid());
                    connection(stream, Transport::Socket { process }, &door, &router);
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

fn connection<S>(stream: S, transport: Transport, door: &Arc<Door>, router: &Router)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let places = match transport {
        Transport::Tcp(..) => &door.connections,
        Transport::Public(_) => &door.public_connections,
        Transport::Socket { .. } => &door.socket_connections,
    };
    let Ok(permit) = Arc::clone(places).try_acquire_owned() else {
        if let Some(unwritten) = locked(&door.crowds).take(Instant::now()) {
            tracing::warn!(unwritten, "too many connections: one was closed at once");
        }
        return;
    };
    let (door, router) = (Arc::clone(door), router.clone());
    tokio::spawn(async move {
        let mut stream = stream;
        let unread = match transport {
            // Most requests are plain, and are answered there; the first other one is for the server, as are all after it.
            Transport::Tcp(address, connection) => plain_post::serve(&mut stream, address, connection, &door).await,
            Transport::Public(_) | Transport::Socket { .. } => Some(BytesMut::new()),
        };
        let Some(unread) = unread else { return drop(permit) };
        let requests = RequestCount::default();
        let service = service_fn(|request: hyper::Request<Incoming>| {
            let (door, mut router, requests) = (Arc::clone(&door), router.clone(), requests.clone());
            // Now, and not when the answer is first looked after: hyper reads on before that.
            requests.begin();
            async move {
                let answer = match guard::admit(request, transport, &door.credentials, door.public.as_ref()) {
                    Ok(request) if !transport.is_public() && routes::is_say(&request) => {
                        Ok(routes::say_anywhere(door, request).await)
                    }
                    Ok(request) => router.call(request).await,
                    Err(fault) => Ok(refuse(&fault)),
                };
                let is_link = matches!(&answer, Ok(answer) if answer.status() == StatusCode::SWITCHING_PROTOCOLS);
                if !is_link {
                    requests.end();
                }
                answer
            }
        });
        let stream = TimedStream::new(stream, requests.clone(), door.limits.header_time, door.limits.idle_time)
            .starting_with(unread);
        let mut http = hyper::server::conn::http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(door.limits.idle_time).max_buf_size(64 << 10);
        // Pieces of a stream are small: three of them in one buffer cost the system less than a list of three.
        http.writev(false);
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
