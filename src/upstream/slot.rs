//! One configured server, and the connection to it if there is one.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::auth::{Bearer, TokenStamp};
use super::config::{Endpoint, Upstream};
use super::connection::{ServerAbout, ServerConnection};
use super::failure::{CallFailure, ConnectFailure};
use super::ide;
use super::making::{Connecting, Live};
use crate::locks::locked;

/// So many failures of the connection in a row, and a new one is made.
const MOST_ERRORS: u32 = 3;
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
    pub(super) bearer: Option<Arc<Bearer>>,
    /// Held while a connection is made: all who need it wait for the same one.
    pub(super) live: tokio::sync::Mutex<Live>,
    /// Changed by whoever connects, calls or closes; read by lists of states.
    state: Mutex<UpstreamState>,
    /// Failures of the connection in a row. Changed by every call.
    errors: AtomicU32,
    /// Whether it has had its turn to be connected. Set when it has, for good.
    pub(super) has_begun: watch::Sender<bool>,
    /// Why the last try to connect failed. Changed by whoever connects.
    pub(super) down: Mutex<Option<Down>>,
    /// Somebody tries it in the background. Changed by that one alone.
    is_recovering: AtomicBool,
    /// Cancelled when the configuration is gone: no connection is made any more, and none that is being made is waited for.
    pub(super) retired: CancellationToken,
}

/// A server that could not be connected to.
#[derive(Clone, Debug)]
pub(super) struct Down {
    pub(super) failure: ConnectFailure,
    /// The tokens that it was tried with.
    pub(super) tokens: Option<TokenStamp>,
}

/// Held by the one who tries a server in the background.
pub(super) struct Recovering<'a>(&'a Slot);

impl Drop for Recovering<'_> {
    fn drop(&mut self) {
        self.0.is_recovering.store(false, Ordering::Release);
    }
}

/// Why nothing is connected to a server whose configuration is gone.
pub(super) fn retired() -> ConnectFailure {
    ConnectFailure::new("its configuration has changed")
}

impl Slot {
    pub(super) fn new(upstream: Upstream, bearer: Option<Arc<Bearer>>) -> Self {
        let state = Mutex::new(UpstreamState::Pending);
        let (live, has_begun) = (tokio::sync::Mutex::default(), watch::Sender::new(false));
        Self {
            upstream,
            bearer,
            live,
            state,
            errors: AtomicU32::new(0),
            has_begun,
            down: Mutex::default(),
            is_recovering: AtomicBool::new(false),
            retired: CancellationToken::new(),
        }
    }

    /// Why there is no connection, where the last try has shown it.
    pub(super) fn down(&self) -> Option<Down> {
        locked(&self.down).clone()
    }

    /// For the one who tries it in the background; none where another does.
    pub(super) fn recovering(&self) -> Option<Recovering<'_>> {
        (!self.is_recovering.swap(true, Ordering::AcqRel)).then_some(Recovering(self))
    }

    /// The tokens of whoever signed in, as they are now.
    pub(super) fn tokens(&self) -> Option<TokenStamp> {
        self.bearer.as_ref().and_then(|bearer| bearer.stamp())
    }

    /// Whether there are other tokens than it was tried with, and others than we had made of those on the way: these it has
    /// refused as well.
    pub(super) fn has_other_tokens(&self, down: &Down) -> bool {
        let Some(now) = self.tokens() else { return false };
        let renewed = self.bearer.as_ref().and_then(|bearer| bearer.last_renewal());
        Some(now) != down.tokens && Some(now) != renewed
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

    pub(super) fn set(&self, state: UpstreamState) {
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
        // Whoever has waited for the lock longer than the one who retires it comes first.
        if self.is_retired() {
            return Err(retired());
        }
        let (tokens, is_local) = (self.tokens(), self.upstream.entry.endpoint.is_local());
        // It holds all of rmcp's handshake.
        let making = Box::pin(self.make(&mut live, connecting));
        let made = tokio::select! {
            made = making => made,
            // A program of ours is ended in order, by whoever starts it.
            () = self.retired.cancelled(), if !is_local => return Err(retired()),
        };
        let made = made.map_err(|failure| self.explained(failure));
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
        *locked(&self.down) = made.as_ref().err().map(|failure| Down { failure: failure.clone(), tokens });
        let connection = Arc::new(made?);
        self.errors.store(0, Ordering::Relaxed);
        live.revision = Some(connection.revision());
        if let Some(silent) = connecting.silent.filter(|_| connection.was_silent) {
            silent.keep(&self.upstream.hash);
        }
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

    /// Closes for good. A connection that is being made is given up.
    pub(super) async fn retire(&self) {
        self.retired.cancel();
        let mut live = self.live.lock().await;
        if let Some(connection) = live.connection.take() {
            connection.close().await;
        }
    }

    pub(super) fn is_retired(&self) -> bool {
        self.retired.is_cancelled()
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
