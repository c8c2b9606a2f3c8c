//! The gateway: one MCP server in front of all MCP servers of a person. Each client is a session at the gate, and each of
//! its calls passes the gatekeeper before it reaches a server.

mod calls;
mod catalog;
mod changes;
mod connected;
mod core;
pub(crate) mod http;
mod instructions;
mod late;
mod leaving;
mod meta;
mod passing;
mod relay;
mod reloading;
mod search;
mod server;
mod session;
mod unchanged;

use std::sync::Arc;

use rmcp::ServiceExt as _;
use tokio_util::sync::CancellationToken;

use crate::agents::mcp_stdio::{self, LineTransport, SharedOutput};
use crate::session::gatekeeper::{GatekeeperSettings, Judge};
use crate::session::link::{Deliveries, SessionHandle};
use crate::upstream::Upstreams;
use connected::GatewayServer;
use core::GatewayCore;
pub(crate) use reloading::{OfferedServers, ReadServers};
use unchanged::UnchangedResults;

/// What a gateway says it is. A gateway that meets this name in another does not go on.
pub(crate) const NAME: &str = "portcullis";

/// The servers behind a gateway, and how a client of it comes to be a session at the gate.
pub(crate) struct Gateway {
    pub(crate) upstreams: Arc<Upstreams>,
    /// Those that are offered, by name; others when the files of the configuration say so.
    pub(crate) servers: OfferedServers,
    pub(crate) offer: WantedOffer,
    /// Servers may use the model of the client.
    pub(crate) lends_model: bool,
    /// Attaches a client, which calls itself so.
    pub(crate) attach: AttachClient,
}

/// What a client wants to be offered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct WantedOffer {
    /// This server alone, whose tools keep their own names.
    pub(crate) server: Option<String>,
    /// Three tools in place of all, by which the others are found and called.
    pub(crate) has_search: bool,
}

pub(crate) type AttachClient = Box<dyn Fn(&str) -> AttachedClient + Send + Sync>;

/// A client's place at the gate.
pub(crate) struct AttachedClient {
    pub(crate) handle: SessionHandle,
    pub(crate) deliveries: Deliveries,
    pub(crate) judge: Judge,
    pub(crate) settings: GatekeeperSettings,
    pub(crate) always: AlwaysAllowed,
}

/// Tools that a person allowed for always, each as its server described it then.
pub(crate) struct AlwaysAllowed {
    /// Whether this tool was, as it is described now.
    pub(crate) holds: OfTool<bool>,
    /// It is from now on.
    pub(crate) add: OfTool<anyhow::Result<()>>,
}

/// Of a tool, by its full name and its description.
pub(crate) type OfTool<T> = Box<dyn Fn(&str, &str) -> T + Send + Sync>;

/// Serves one client on standard input and output, until it closes its end or `stop`.
pub(crate) async fn run(gateway: Gateway, stop: CancellationToken) -> anyhow::Result<()> {
    let (stdin, stdout) = mcp_stdio::open()?;
    let transport = LineTransport::new(stdin, Arc::new(SharedOutput::new(stdout))).discoverable();
    let left = transport.left();
    let core = Arc::new(GatewayCore::new(gateway));
    let only = Arc::clone(&core);
    let server = GatewayServer::new(Box::new(move |_, _| Arc::clone(&only)), None);
    let (ending, ended) = (left.clone(), Arc::clone(&core));
    let stopping = tokio::spawn(async move {
        tokio::select! {
            () = stop.cancelled() => ending.cancel(),
            () = ending.cancelled() => {}
        }
        // rmcp waits for what is under way: whatever waits for a person or for a server ends now.
        ended.end();
    });
    match Box::pin(UnchangedResults(server).serve_with_ct(transport, left)).await {
        Ok(running) => drop(running.waiting().await),
        // Most often the client closed its end before it said a word.
        Err(error) => tracing::debug!(%error, "no session came about"),
    }
    stopping.abort();
    core.end();
    core.close().await;
    Ok(())
}
