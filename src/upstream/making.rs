//! Making the connection of a slot: its turn, its tries, and how often a program is started.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::auth::{has_credential, signs_in};
use super::config::Revision;
use super::connection::ServerConnection;
use super::failure::ConnectFailure;
use super::opening::Means;
use super::silence::SilentServers;
use super::slot::{Down, Slot, UpstreamState, retired};
use crate::fixed;
use crate::locks::locked;

/// A server that ended is started again by the next call, so often in this time.
const RESTARTS: usize = 5;
const RESTART_TIME: Duration = Duration::from_secs(600);
/// Of these, so many are left for calls: what nobody asked for uses no more.
const LEFT_FOR_CALLS: usize = 3;
/// A remote server that cannot be reached is tried again after this, then after twice that.
const BACKOFF: Duration = Duration::from_secs(1);

const REFUSED_CREDENTIAL: &str =
    "the server refuses the credential of its entry: write another into the Authorization header there";

#[derive(Default)]
pub(super) struct Live {
    pub(super) connection: Option<Arc<ServerConnection>>,
    /// When the server was started, for the last ten minutes.
    started: VecDeque<Instant>,
    /// What was found out at the first connection.
    pub(super) revision: Option<Revision>,
}

impl Live {
    fn forget_old_starts(&mut self) {
        let now = Instant::now();
        self.started.retain(|start| now.duration_since(*start) < RESTART_TIME);
    }
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
    /// The servers that are known to be silent at the first question.
    pub(super) silent: Option<&'a SilentServers>,
}

impl Slot {
    /// Whether it may be tried although nobody asked for it: programs are not started over and over.
    pub(super) async fn may_be_tried(&self) -> bool {
        if !self.upstream.entry.endpoint.is_local() {
            return true;
        }
        let mut live = self.live.lock().await;
        live.forget_old_starts();
        live.started.len() <= RESTARTS - LEFT_FOR_CALLS
    }

    pub(super) async fn make(
        &self,
        live: &mut Live,
        connecting: &Connecting<'_>,
    ) -> Result<ServerConnection, ConnectFailure> {
        let turn = tokio::select! {
            turn = connecting.turns.acquire() => turn,
            () = self.retired.cancelled() => return Err(retired()),
        };
        let Ok(_turn) = turn else {
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
        // One that is known to be down has had its tries.
        let tries = if is_local || self.down().is_some() { 1 } else { connecting.tries.max(1) };
        let mut wait = fixed::wait("MCP_BACKOFF", BACKOFF);
        for _ in 1..tries {
            match self.open(live, connecting).await {
                Err(failure @ ConnectFailure::Failed { is_passing: true, .. }) => {
                    // Whoever does not wait for the next try can say why.
                    *locked(&self.down) = Some(Down { failure, tokens: self.tokens() });
                    tokio::time::sleep(wait).await;
                }
                other => return other,
            }
            wait *= 2;
        }
        self.open(live, connecting).await
    }

    async fn open(&self, live: &Live, connecting: &Connecting<'_>) -> Result<ServerConnection, ConnectFailure> {
        let known = live.revision.or(self.upstream.entry.revision);
        let silent = connecting.silent.filter(|silent| known.is_none() && silent.has(&self.upstream.hash));
        let known = known.or(silent.map(|_| Revision::Initialize));
        let opened = ServerConnection::open(self, &connecting.means, known).await;
        if let (Some(silent), Err(_)) = (silent, &opened) {
            // It may speak another revision by now: the next try asks.
            silent.forget(&self.upstream.hash);
        }
        opened
    }

    /// Refuses to start a server over and over.
    fn count_start(&self, live: &mut Live) -> Result<(), ConnectFailure> {
        live.forget_old_starts();
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
        live.started.push_back(Instant::now());
        Ok(())
    }

    /// A server to which nobody can sign in by a token is given its credential by its entry.
    pub(super) fn explained(&self, failure: ConnectFailure) -> ConnectFailure {
        match failure {
            ConnectFailure::NeedsAuth if has_credential(&self.upstream) => {
                ConnectFailure::new(format!("HTTP 401 or 403; {REFUSED_CREDENTIAL}"))
            }
            ConnectFailure::Failed { why, stderr, is_passing }
                if has_credential(&self.upstream) && ["HTTP 401", "HTTP 403"].iter().any(|is| why.starts_with(is)) =>
            {
                ConnectFailure::Failed { why: format!("{why}; {REFUSED_CREDENTIAL}"), stderr, is_passing }
            }
            ConnectFailure::NeedsAuth if signs_in(&self.upstream).is_none() => ConnectFailure::new(
                "the server lets nobody in without a credential (HTTP 401 or 403), and it is not one to sign in to with a \
                 browser: its entry needs a header for it, in \"headers\" or by \"headersHelper\"",
            ),
            other => other,
        }
    }
}
