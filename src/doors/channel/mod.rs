//! The channel door: an MCP server on stdin and stdout, spawned by Claude Code for one session.
//!
//! Requests are rmcp's business. Events and verdicts are notifications outside of MCP proper and go to stdout directly,
//! many in one write, because that is the path that must be fast.

mod files;
mod push;
mod server;
mod stdio;
mod transport;

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::hub::Attachment;
use crate::lines::Lines;
use server::Server;
use transport::{Output, Stdio};

/// A line from the client is at most this long.
const LONGEST_LINE: usize = 16 << 20;

/// Serves one session until the client closes its end or `stop`. Says goodbye to the gate before it returns.
pub(crate) async fn run(attachment: Attachment, folder: PathBuf, stop: CancellationToken) -> anyhow::Result<()> {
    let (stdin, stdout) = stdio::open()?;
    let output = Arc::new(Output::new(stdout));
    let (ready, is_ready) = watch::channel(false);
    let line = attachment.line.clone();
    let server = Server::new(line.clone(), folder, ready);
    let transport = Stdio::new(Lines::new(stdin, LONGEST_LINE), Arc::clone(&output));
    let pushing = push::run(attachment, Arc::clone(&output), is_ready);
    let serving = async {
        match server.serve(transport).await {
            Ok(running) => drop(running.waiting().await),
            // Most often the client closed its end before it said a word.
            Err(error) => tracing::debug!(%error, "no session came about"),
        }
    };
    let pushing = tokio::spawn(pushing);
    let why = tokio::select! {
        () = serving => "the agent closed its end",
        () = stop.cancelled() => "the agent ended the process",
    };
    pushing.abort();
    line.bye(why).await;
    Ok(())
}
