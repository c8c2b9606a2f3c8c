//! The channel door: an MCP server on stdin and stdout, spawned by Claude Code for one session.
//!
//! Requests are rmcp's business. Events and verdicts are notifications outside of MCP proper and go to stdout directly,
//! many in one write, because that is the path that must be fast.

mod idle;
mod push;
mod receipts;
mod server;

use std::path::PathBuf;
use std::sync::Arc;

use rmcp::ServiceExt as _;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use portcullis_core::Goodbye;

use crate::agents::claude::hooks::HookSession;
use crate::agents::mcp_stdio::{self, LineTransport, OnPrompt, OnSent, SharedOutput};
use crate::session::link::{Deliveries, SessionHandle};
use crate::session::tools::Briefing;
pub(crate) use idle::run_idle;
use receipts::HookReceipts;
use server::{Server, Signs, relay};

/// Serves one session until the client closes its end or `stop`. Says goodbye to the gate before it returns.
pub(crate) async fn run(
    handle: SessionHandle,
    deliveries: Deliveries,
    folder: PathBuf,
    hooks: Arc<HookSession>,
    briefing: Briefing,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let (stdin, stdout) = mcp_stdio::open()?;
    let output = Arc::new(SharedOutput::new(stdout));
    let (ready, is_ready) = watch::channel(false);
    let signs = Arc::new(Signs::default());
    let receipts = Arc::new(HookReceipts::new(Arc::clone(&hooks)));
    let due = Arc::clone(&receipts);
    let on_sent: OnSent = Arc::new(move |request, written| {
        let due = Arc::clone(&due);
        Box::pin(async move { due.sent(&request, written).await })
    });
    let asking = handle.clone();
    let on_prompt: OnPrompt = Arc::new(move |request| {
        let handle = asking.clone();
        tokio::spawn(async move { relay(&handle, request).await });
    });
    let transport = LineTransport::new(stdin, Arc::clone(&output)).telling(on_sent).relaying(on_prompt);
    let pushing = push::run(handle.clone(), deliveries, Arc::clone(&output), Arc::clone(&hooks), is_ready);
    let server = Server::new(handle.clone(), folder, ready, Arc::clone(&signs), hooks, receipts, briefing);
    let serving = async {
        match Box::pin(server.serve(transport)).await {
            Ok(running) => drop(running.waiting().await),
            // Most often the client closed its end before it said a word.
            Err(error) => tracing::debug!(%error, "no session came about"),
        }
    };
    let pushing = tokio::spawn(pushing);
    let goodbye = tokio::select! {
        () = serving => Goodbye::because("the agent closed its end"),
        // A client that only wanted to see whether we answer ends us so, and soon.
        () = stop.cancelled() => {
            Goodbye { why: "the agent ended the process".to_owned(), untouched: signs.only_looked() }
        }
    };
    pushing.abort();
    handle.bye(goodbye).await;
    Ok(())
}
