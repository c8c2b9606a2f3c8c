//! One configured server, and the connection to it if there is one.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tokio::sync::{Semaphore, watch};

use super::auth::Bearer;
use super::config::{Endpoint, Revision, Upstream};
use super::connection::{ServerAbout, ServerConnection};
use super::failure::{CallFailure, ConnectFailure};
use super::ide;
use super::opening::Means;
use crate::fixed;
use crate::locks::locked;

/// A server that ended is started again by the next call, so often in this time.
const RESTARTS: usize = 5;
const RESTART_TIME: Duration = Duration::from_secs(600);
/// So many failures of the connection in a row, and a new one is made.
const MOST_ERRORS: u32 = 3;
/// A remote server that cannot be reached is tried again after this, then after twice that.
const BACKOFF: Duration = Duration::from_secs(1);

#[derive(Clone, Debug)]
pub(crate) enum UpstreamState {
    /// Nobody needed it yet, or it is being connected.
    Pending,
    Connected(ServerAbout),
    NeedsAuth,
    Failed(String),
}

/// A name together with its configuration. A changed configuration is another slot, so that what a slow connection brings
/// late never counts for the new one.
pub(super) struct Slot {
    pub(super) upstream: Upstream,
    /// The token of whoever signed in to it, where someone can.
    bearer: Option<Arc<Bearer>>,
    /// Held while a connection is made: all who need it wait for the same one.
    live: tokio::sync::Mutex<Live>,
    /// Changed by whoever connects, calls or closes; read by lists of states.
    state: Mutex<UpstreamState>,
    /// Failures of the connection in a row. Changed by every call.
    errors: AtomicU32,
    /// Whether it has had its turn to be connected. Set when it has, for good.
    has_begun: watch::Sender<bool>,
}

#[derive(Default)]
struct Live {
    connection: Option<Arc<ServerConnection>>,
    /// When the server was started, for the last ten minutes.
    started: VecDeque<Instant>,
    /// What was found out at the first connection.
    revision: Option<Revision>,
    /// The configuration is gone: nothing is connected any more.
    is_retired: bool,
}

/// How connections of one process are made.
pub(super) struct Connecting<'a> {
    pub(super) means: Means<'a>,
    /// How many may be made at once.
    pub(super) turns: &'a Semaphore,
    /// How often a remote server is tried, if another try may go better.
    pub(super) tries: u32,
    /// Whether a server that wanted someone to sign in a short while ago is not even asked.
    pub(super) heeds_refusals: bool,
}

impl Slot {
    pub(super) fn new(upstream: Upstream, bearer: Option<Arc<Bearer>>) -> Self {
        let state = Mutex::new(UpstreamState::Pending);
        let (live, has_begun) = (tokio::sync::Mutex::default(), watch::Sender::new(false));
        Self { upstream, bearer, live, state, errors: AtomicU32::new(0), has_begun }
    }

    pub(super) fn state(&self) -> UpstreamState {
        let state = locked(&self.state).clone();
        // A connection that ended by itself told nobody. One that is being made is not looked at.
        let has_ended = matches!(state, UpstreamState::Connected(_))
            && self.live.try_lock().is_ok_and(|live| live.connection.as_ref().is_some_and(|it| it.is_closed()));
        if has_ended {
            UpstreamState::Failed("the connection was lost; the next call makes another".to_owned())
        } else {
            state
        }
    }

    fn set(&self, state: UpstreamState) {
        *locked(&self.state) = state;
    }

    /// The connection, made now if there is none.
    pub(super) async fn connection(
        &self,
        connecting: &Connecting<'_>,
    ) -> Result<Arc<ServerConnection>, ConnectFailure> {
        let mut live = self.live.lock().await;
        if let Some(connection) = &live.connection {
            if !connection.is_closed() {
                return Ok(Arc::clone(connection));
            }
            // What is left of it goes before another is started.
            connection.close().await;
            live.connection = None;
        }
        if live.is_retired {
            return Err(ConnectFailure::new("its configuration has changed"));
        }
        // It holds all of rmcp's handshake.
        let made = Box::pin(self.make(&mut live, connecting)).await;
        match (&self.bearer, &made) {
            (Some(bearer), Ok(_)) => bearer.lets_in(),
            (Some(bearer), Err(ConnectFailure::NeedsAuth)) => bearer.keeps_out(),
            _ => {}
        }
        self.set(match &made {
            Ok(connection) => UpstreamState::Connected(connection.about.clone()),
            Err(ConnectFailure::NeedsAuth) => UpstreamState::NeedsAuth,
            Err(failure) => UpstreamState::Failed(failure.why()),
        });
        let connection = Arc::new(made?);
        self.errors.store(0, Ordering::Relaxed);
        live.revision = Some(connection.revision());
        live.connection = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Waits until it has had its turn: how long that takes depends on others.
    pub(super) async fn begun(&self) {
        // The other end is ours.
        drop(self.has_begun.subscribe().wait_for(|has_begun| *has_begun).await);
    }

    /// The connection, if there is one.
    pub(super) async fn current(&self) -> Option<Arc<ServerConnection>> {
        self.live.lock().await.connection.clone().filter(|connection| !connection.is_closed())
    }

    async fn make(&self, live: &mut Live, connecting: &Connecting<'_>) -> Result<ServerConnection, ConnectFailure> {
        let Ok(_turn) = connecting.turns.acquire().await else {
            return Err(ConnectFailure::new("connections are no longer made"));
        };
        self.has_begun.send_replace(true);
        if connecting.heeds_refusals && self.bearer.as_ref().is_some_and(|bearer| bearer.is_kept_out()) {
            return Err(ConnectFailure::NeedsAuth);
        }
        self.set(UpstreamState::Pending);
        let is_local = self.upstream.entry.endpoint.is_local();
        if is_local {
            self.count_start(live)?;
        }
        let tries = if is_local { 1 } else { connecting.tries.max(1) };
        let mut wait = fixed::wait("MCP_BACKOFF", BACKOFF);
        for _ in 1..tries {
            match self.open(live, connecting).await {
                Err(ConnectFailure::Failed { is_passing: true, .. }) => tokio::time::sleep(wait).await,
                other => return other,
            }
            wait *= 2;
        }
        self.open(live, connecting).await
    }

    async fn open(&self, live: &Live, connecting: &Connecting<'_>) -> Result<ServerConnection, ConnectFailure> {
        let known = live.revision.or(self.upstream.entry.revision);
        ServerConnection::open(&self.upstream, self.bearer.as_ref(), &connecting.means, known).await
    }

    /// Refuses to start a server over and over.
    fn count_start(&self, live: &mut Live) -> Result<(), ConnectFailure> {
        let now = Instant::now();
        live.started.retain(|start| now.duration_since(*start) < RESTART_TIME);
        if live.started.len() > RESTARTS {
            let last = match self.state() {
                UpstreamState::Failed(why) => format!("; the last time: {why}"),
                _ => String::new(),
            };
            return Err(ConnectFailure::new(format!(
                "it was started {} times in ten minutes and is not started again now{last}",
                live.started.len()
            )));
        }
        live.started.push_back(now);
        Ok(())
    }

    /// What a call made of the connection. A connection that fails three times in a row is given up.
    pub(super) async fn note(&self, connection: &ServerConnection, failure: Option<&CallFailure>) {
        let Some(failure) = failure.filter(|failure| failure.is_terminal()) else {
            self.errors.store(0, Ordering::Relaxed);
            return;
        };
        let errors = self.errors.fetch_add(1, Ordering::Relaxed) + 1;
        if connection.is_closed() {
            self.set(UpstreamState::Failed(failure.why()));
        } else if errors >= MOST_ERRORS {
            self.give_up(connection).await;
        }
    }

    /// Closes this connection, if it is still the one in use. The next call makes another.
    pub(super) async fn give_up(&self, connection: &ServerConnection) {
        let mut live = self.live.lock().await;
        if live.connection.as_ref().is_some_and(|current| current.serial == connection.serial) {
            live.connection = None;
            self.set(UpstreamState::Pending);
        }
        drop(live);
        connection.close().await;
    }

    /// Closes for good: waits for a connection that is being made, and ends it.
    pub(super) async fn retire(&self) {
        let mut live = self.live.lock().await;
        live.is_retired = true;
        if let Some(connection) = live.connection.take() {
            connection.close().await;
        }
    }

    /// Whether its headers come from a program that is run at each connection.
    pub(super) fn has_helper(&self) -> bool {
        matches!(&self.upstream.entry.endpoint, Endpoint::Remote(remote) if remote.headers_helper.is_some())
    }

    /// Whether a tool, or another thing of this name, is for others than the server itself. Editors keep most to themselves.
    pub(super) fn is_for_us(&self, tool: &str) -> bool {
        let Endpoint::Remote(remote) = &self.upstream.entry.endpoint else { return true };
        !remote.transport.is_editor() || ide::TOOLS.contains(&tool)
    }

    /// The server wants someone to sign in.
    pub(super) fn needs_auth(&self) {
        self.set(UpstreamState::NeedsAuth);
    }
}
