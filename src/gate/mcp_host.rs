//! The process that holds the MCP servers of clients over HTTP, and those that clients share: started with the first request
//! and with the next one when it ended, or kept running where servers are shared. It ends with the gate.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::Child;
use tokio_util::sync::CancellationToken;

use super::reach::{Handed, handed_on, this_program};
use crate::config::{Paths, TOKEN};
use crate::doors::http;

/// It opens its socket as soon as it runs.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// One that ends again and again is started so often in this time.
const STARTS: usize = 6;
const STARTS_TIME: Duration = Duration::from_secs(600);
/// How often it is looked whether it runs, where it has to.
const LOOK: Duration = Duration::from_millis(500);

/// The process, if it runs. Locked while it is started or looked at.
#[derive(Clone, Default)]
pub(super) struct WatchedMcpHost(Arc<tokio::sync::Mutex<WatchedHost>>);

#[derive(Default)]
struct WatchedHost {
    /// Its standard input is a pipe of ours: it ends when that closes, however we go.
    running: Option<Child>,
    started: VecDeque<Instant>,
}

impl WatchedMcpHost {
    /// How the HTTP door comes to it, for one request after another.
    pub(super) fn connect(&self, paths: Paths) -> http::McpConnect {
        let (paths, host) = (Arc::new(paths), Arc::clone(&self.0));
        Box::new(move || {
            let (paths, host) = (Arc::clone(&paths), Arc::clone(&host));
            Box::pin(async move { host.lock().await.connect(&paths).await })
        })
    }

    /// Keeps it running until `stop`: clients of shared servers come to it past the gate.
    pub(super) async fn keep(self, stop: CancellationToken) {
        let mut looks = tokio::time::interval(LOOK);
        looks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut has_failed = false;
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                () = stop.cancelled() => return,
            }
            let kept = self.0.lock().await.keep().await;
            if let (Err(error), false) = (&kept, has_failed) {
                tracing::warn!("shared MCP servers: {error:#}");
            }
            has_failed = kept.is_err();
        }
    }
}

impl WatchedHost {
    async fn connect(&mut self, paths: &Paths) -> anyhow::Result<UnixStream> {
        if let Some(running) = &mut self.running {
            match (running.try_wait(), UnixStream::connect(paths.mcp_socket()).await) {
                (Ok(None), Ok(stream)) => return Ok(stream),
                (Ok(Some(status)), _) => tracing::warn!(%status, "the process that holds the MCP servers ended"),
                (_, error) => tracing::warn!(?error, "the process that holds the MCP servers does not answer"),
            }
            self.kill();
        }
        self.start().await?;
        UnixStream::connect(paths.mcp_socket()).await.context("reaching the process that holds the MCP servers")
    }

    async fn keep(&mut self) -> anyhow::Result<()> {
        match self.running.as_mut().map(Child::try_wait) {
            Some(Ok(None)) => return Ok(()),
            Some(ended) => tracing::warn!(?ended, "the process that holds the MCP servers ended"),
            None => {}
        }
        self.kill();
        self.start().await
    }

    async fn start(&mut self) -> anyhow::Result<()> {
        self.count_start()?;
        self.running = Some(start().await?);
        Ok(())
    }

    /// Ends what is left of it. When the gate ends, nobody does: it ends by itself, once the tokens are kept that it renews.
    fn kill(&mut self) {
        if let Some(mut host) = self.running.take() {
            // It may have ended.
            drop(host.start_kill());
        }
    }

    fn count_start(&mut self) -> anyhow::Result<()> {
        let now = Instant::now();
        self.started.retain(|start| now.duration_since(*start) < STARTS_TIME);
        anyhow::ensure!(
            self.started.len() < STARTS,
            "the process that holds them was started {STARTS} times in ten minutes and is not started again now; the log \
             of the gate says why it ended"
        );
        self.started.push_back(now);
        Ok(())
    }
}

/// What it says is in the gate's log.
async fn start() -> anyhow::Result<Child> {
    let mut command = tokio::process::Command::new(this_program()?);
    command.args(["mcp", "host"]).env_clear().envs(handed_on(Handed::All)).env_remove(TOKEN).current_dir("/");
    let mut host = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut said = host.stdout.take().context("its output is not ours")?;
    let ready = tokio::time::timeout(START_TIMEOUT, said.read_u8()).await;
    let ready = ready.context("it does not come up");
    let ready = ready.and_then(|read| read.context("it ended at once; the log of the gate says why"));
    if ready.is_err() {
        drop(host.start_kill());
    }
    ready.map(|_| host)
}
