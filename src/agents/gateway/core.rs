//! What is known of one client: its session, the tools that it was shown, and what it has under way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use portcullis_core::Goodbye;
use rmcp::RoleServer;
use rmcp::service::{Peer, RequestContext};
use tokio::sync::mpsc;

use super::Gateway;
use super::catalog::{Catalog, Late, ListedTool};
use super::relay::{ClientCalls, MOST_SAID, changed};
use super::session::ClientSession;
use crate::locks::locked;
use crate::upstream::{ClientBehind, ListKind};

pub(super) struct GatewayCore {
    pub(super) gateway: Gateway,
    /// Made when the client has said who it is.
    session: OnceLock<Arc<ClientSession>>,
    /// As it was last read. Changed by whoever reads it.
    catalog: Mutex<Arc<Catalog>>,
    pub(super) late: Late,
    /// Taken when the client is ready to be told.
    lists: Mutex<Option<mpsc::Receiver<ListKind>>>,
    pub(super) under_way: ClientCalls,
    calls: AtomicU64,
}

impl GatewayCore {
    pub(super) fn new(gateway: Gateway) -> Self {
        let (late, lists) = mpsc::channel(MOST_SAID);
        Self {
            gateway,
            session: OnceLock::new(),
            catalog: Mutex::default(),
            late,
            lists: Mutex::new(Some(lists)),
            under_way: ClientCalls::default(),
            calls: AtomicU64::new(0),
        }
    }

    /// Makes the client a session at the gate, and has servers know what it can do. The first time counts.
    pub(super) fn attach(&self, client: &str, context: &RequestContext<RoleServer>) -> Arc<ClientSession> {
        let attach = || {
            let (said, from_servers) = mpsc::channel(MOST_SAID);
            let mut capabilities = serde_json::to_value(context.client_capabilities()).unwrap_or_default();
            if let Some(capabilities) = capabilities.as_object_mut() {
                // Nobody lends their model to a server unasked. What is experimental is between the client and us.
                capabilities.retain(|name, _| matches!(name.as_str(), "elicitation" | "roots"));
            }
            self.gateway.upstreams.serve(ClientBehind { capabilities, said });
            tokio::spawn(self.under_way.clone().relay(context.peer.clone(), from_servers));
            ClientSession::start((self.gateway.attach)(client))
        };
        Arc::clone(self.session.get_or_init(attach))
    }

    /// An id that no other call of this client has.
    pub(super) fn next_call(&self) -> String {
        format!("call{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Tells the client when a list has come that it was not given.
    pub(super) fn tell_changes(&self, peer: Peer<RoleServer>) {
        let Some(mut lists) = locked(&self.lists).take() else { return };
        tokio::spawn(async move {
            while let Some(kind) = lists.recv().await {
                if changed(&peer, kind).await.is_err() {
                    return;
                }
            }
        });
    }

    pub(super) async fn read_catalog(&self) -> Arc<Catalog> {
        let catalog = Arc::new(Catalog::of(&self.gateway, self.listed(ListKind::Tools).await));
        *locked(&self.catalog) = Arc::clone(&catalog);
        catalog
    }

    /// Whether its server still describes it so. Where that cannot be asked, the call will not be made either.
    async fn is_current(&self, tool: &ListedTool) -> bool {
        let listed = self.gateway.upstreams.list(&tool.server, ListKind::Tools).await;
        listed.is_ok_and(|tools| tools.contains(&tool.described))
    }

    /// The tool that a client calls so. Lists are read where the last ones do not have it.
    pub(super) async fn find(&self, shown: &str) -> Result<Arc<ListedTool>, String> {
        let last = Arc::clone(&locked(&self.catalog));
        if let Some(tool) = last.find(shown)
            && self.is_current(&tool).await
        {
            return Ok(tool);
        }
        let catalog = self.read_catalog().await;
        catalog.find(shown).ok_or_else(|| {
            let of_server =
                |(server, _): &(&String, &String)| self.gateway.is_bare || shown.starts_with(server.as_str());
            match catalog.unavailable.iter().find(of_server) {
                Some((server, why)) => format!("the MCP server {server} is unavailable: {why}"),
                None => format!("unknown tool: {shown}"),
            }
        })
    }

    /// The client left: its session ends, and with it the servers that were started for it.
    pub(super) async fn close(&self) {
        if let Some(session) = self.session.get() {
            session.handle().bye(Goodbye::because("the client left")).await;
        }
        self.gateway.upstreams.close().await;
    }
}
