//! The process that holds the MCP servers of clients over HTTP: started with the first request, and with the next one when
//! it ended. It ends with the gate.

use std::collections::VecDeque;
use std::process::Stdio;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::Child;

use super::reach::this_program;
use crate::config::{Paths, TOKEN};
use crate::doors::http;

/// It opens its socket as soon as it runs.
const START_TIMEOUT: Duration = Duration::from_secs(10);
/// One that ends again and again is started so often in this time.
const STARTS: usize = 6;
const STARTS_TIME: Duration = Duration::from_secs(600);

#[derive(Default)]
struct WatchedHost {
    /// Its standard input is a pipe of ours: it ends when that closes, however we go.
    running: Option<Child>,
    started: VecDeque<Instant>,
}

/// How the HTTP door comes to it, for one request after another.
pub(super) fn connect(paths: Paths) -> http::McpConnect {
    let (paths, host) = (Arc::new(paths), Arc::new(tokio::sync::Mutex::new(WatchedHost::default())));
    Box::new(move || {
        let (paths, host) = (Arc::clone(&paths), Arc::clone(&host));
        Box::pin(async move { host.lock().await.connect(&paths).await })
    })
}

impl WatchedHost {
    async fn connect(&mut self, paths: &Paths) -> anyhow::Result<UnixStream> {
        if let Some(running) = &mut self.running {
            match (running.try_wait(), UnixStream::connect(paths.mcp_socket()).await) {
                (Ok(None), Ok(stream)) => return Ok(stream),
                (Ok(Some(status)), _) => tracing::warn!(%status, "the process that holds the MCP servers ended"),
                (_, error) => tracing::warn!(?error, "the process that holds the MCP servers does not answer"),
            }
            // Killed, if it still runs.
            self.running = None;
        }
        self.count_start()?;
        self.running = Some(start().await?);
        UnixStream::connect(paths.mcp_socket()).await.context("reaching the process that holds the MCP servers")
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
    command.args(["mcp", "host"]).env_remove(TOKEN).current_dir("/").kill_on_drop(true);
    let mut host = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    let mut said = host.stdout.take().context("its output is not ours")?;
    let ready = tokio::time::timeout(START_TIMEOUT, said.read_u8()).await;
    ready.context("it does not come up")?.context("it ended at once; the log of the gate says why")?;
    Ok(host)
}
