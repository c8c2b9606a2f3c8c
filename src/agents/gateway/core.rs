//! What is known of one client: its session, the tools that it was shown, and what it has under way.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use hyper::http::request::Parts;
use portcullis_core::Goodbye;
use portcullis_wire::channel::TOOL_USE_ID;
use rmcp::RoleServer;
use rmcp::model::ErrorData;
use rmcp::service::{Peer, RequestContext};
use serde_json::{Map, Value};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Gateway;
use super::calls::{CallEnd, WantedCall, is_current};
use super::catalog::{Catalog, Late, ListedTool};
use super::leaving::{CancelReasons, StoppedWaiting};
use super::meta::meta_of;
use super::passing::{is_stateless, of_client, only_for_servers, with_meta};
use super::relay::{ClientCalls, MOST_SAID, changed, relay};
use super::session::ClientSession;
use crate::locks::locked;
use crate::upstream::{ClientBehind, ListKind, Upstreams};

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
    /// Cancelled when the client may be told something: it has an answer to its first request.
    hears: CancellationToken,
    /// Cancelled when the client left or may not go on: what it has under way is taken back.
    pub(super) ended: CancellationToken,
    is_closed: AtomicBool,
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
            hears: CancellationToken::new(),
            ended: CancellationToken::new(),
            is_closed: AtomicBool::new(false),
        }
    }

    /// Makes the client a session at the gate, and has servers know what it can do. The first time counts.
    pub(super) fn attach(&self, client: &str, context: &RequestContext<RoleServer>) -> Arc<ClientSession> {
        let attach = || {
            let (others, of_no_call) = mpsc::channel(MOST_SAID);
            let calls = self.under_way.clone();
            let said = Box::new(move |from| calls.take(from, &others));
            let mut capabilities = serde_json::to_value(context.client_capabilities()).unwrap_or_default();
            only_for_servers(&mut capabilities, self.gateway.lends_model);
            self.gateway.upstreams.serve(ClientBehind { capabilities, said });
            self.gateway.servers.follow(&self.gateway.upstreams, &self.late);
            let (peer, hears) = (context.peer.clone(), self.hears.clone());
            tokio::spawn(async move {
                hears.cancelled().await;
                relay(peer, of_no_call).await;
            });
            let session = ClientSession::start((self.gateway.attach)(client));
            self.under_way.recorded_by(&session);
            session
        };
        Arc::clone(self.session.get_or_init(attach))
    }

    /// Of the client, once it has said who it is.
    pub(super) fn session(&self) -> Option<&Arc<ClientSession>> {
        self.session.get()
    }

    /// The client has been answered: from now on it is told what servers say by themselves.
    pub(super) fn hears(&self) {
        self.hears.cancel();
    }

    /// An id that no other call of this client has.
    pub(super) fn next_call(&self) -> String {
        format!("call{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1)
    }

    /// Tells the client when a list has come that it was not given.
    pub(super) fn tell_changes(&self, peer: Peer<RoleServer>) {
        let Some(mut lists) = locked(&self.lists).take() else { return };
        let under_way = self.under_way.clone();
        tokio::spawn(async move {
            while let Some(kind) = lists.recv().await {
                under_way.told_of_change(kind);
                // A client without a session hears of it on its stream of changes.
                drop(changed(&peer, kind).await);
            }
        });
    }

    pub(super) async fn read_catalog(&self) -> Arc<Catalog> {
        let catalog = Arc::new(Catalog::of(&self.gateway, self.listed(ListKind::Tools).await));
        *locked(&self.catalog) = Arc::clone(&catalog);
        catalog
    }

    /// The tool that a client calls so. Lists are read where the last ones do not have it.
    pub(super) async fn find(&self, shown: &str) -> Result<Arc<ListedTool>, String> {
        let last = Arc::clone(&locked(&self.catalog));
        if let Some(tool) = last.find(shown)
            && is_current(&tool, &self.gateway.upstreams).await
        {
            return Ok(tool);
        }
        let is_only = self.gateway.offer.server.is_some();
        let mut catalog = self.read_catalog().await;
        // No list waits for a server that is down; a call does.
        for (server, _) in catalog.may_have(shown, is_only) {
            if catalog.find(shown).is_none() && self.gateway.upstreams.down(&server).is_some() {
                drop(self.gateway.upstreams.connect(&server).await);
                catalog = self.read_catalog().await;
            }
        }
        catalog.find(shown).ok_or_else(|| match catalog.may_have(shown, is_only).first() {
            Some((server, why)) => format!("the MCP server {server} is unavailable: {why}"),
            None => format!("unknown tool: {shown}"),
        })
    }

    /// The tools that no rule denies, and the servers that could not be asked.
    pub(super) async fn offered(&self, session: &ClientSession) -> (Vec<Arc<ListedTool>>, BTreeMap<String, String>) {
        let catalog = self.read_catalog().await;
        let names = catalog.tools.iter().map(|tool| tool.full.clone()).collect();
        let denied = session.gatekeeper.denied_tools(names).await;
        let offered = catalog.tools.iter().zip(denied).filter(|(_, is_denied)| !is_denied);
        (offered.map(|(tool, _)| Arc::clone(tool)).collect(), catalog.unavailable.clone())
    }

    /// Calls the tool that the client calls so, if that may be done.
    pub(super) async fn call(
        &self,
        session: &Arc<ClientSession>,
        shown: &str,
        params: Map<String, Value>,
        (context, reasons): (&RequestContext<RoleServer>, &CancelReasons),
    ) -> Result<CallEnd, ErrorData> {
        let found = tokio::select! {
            found = self.find(shown) => found,
            () = self.ended.cancelled() => Err("the client has ended its session".to_owned()),
        };
        let tool = found.map_err(|why| ErrorData::invalid_params(why, None))?;
        let params = with_meta(params, context);
        // By its own id a call may be known that a person has allowed before. They were shown nothing but its arguments.
        let named = context.meta.get(TOOL_USE_ID).filter(|_| meta_of(&params).is_empty());
        let named = named.and_then(Value::as_str).map(str::to_owned);
        let (progress, reports) = mpsc::channel(MOST_SAID);
        let cancelled = context.ct.child_token();
        let stopped_waiting = async {
            tokio::select! {
                biased;
                () = self.ended.cancelled() => StoppedWaiting::TookBack,
                () = self.gateway.upstreams.changed(&tool.server, &tool.server_hash) => StoppedWaiting::ServerChanged,
                how = reasons.stopped_waiting(context) => how,
            }
        };
        let wanted = WantedCall {
            tool: &tool,
            id: named.unwrap_or_else(|| self.next_call()),
            params,
            progress,
            cancelled: &cancelled,
            stopped_waiting: Box::pin(stopped_waiting),
            takes_input_required: is_stateless(context),
            of_client: of_client(context, self.gateway.lends_model),
            could_write: context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get()).copied(),
        };
        let calling = Box::pin(session.call(&self.gateway.upstreams, wanted));
        let mut calling = std::pin::pin!(self.under_way.during(&tool.server, context, reports, calling));
        tokio::select! {
            end = &mut calling => return Ok(end),
            () = self.ended.cancelled() => cancelled.cancel(),
        }
        Ok(calling.await)
    }

    /// The client left, or may not go on: what it has under way is taken back, and nobody is asked for it any more. When all
    /// that is done, nothing of it is left.
    pub(super) fn end(&self) {
        self.ended.cancel();
        self.gateway.upstreams.stop_connecting();
        if let Some(session) = self.session.get() {
            session.late.clear();
        }
    }

    /// The client left: its session ends, and with it the servers that were started for it.
    pub(super) async fn close(&self) {
        self.is_closed.store(true, Ordering::Relaxed);
        close(self.session.get().cloned(), &self.gateway.upstreams).await;
    }
}

async fn close(session: Option<Arc<ClientSession>>, upstreams: &Upstreams) {
    if let Some(session) = session {
        session.late.clear();
        session.handle().bye(Goodbye::because("the client left")).await;
    }
    upstreams.close().await;
}

/// A client over HTTP is gone when nothing of it is left.
impl Drop for GatewayCore {
    fn drop(&mut self) {
        if self.is_closed.load(Ordering::Relaxed) {
            return;
        }
        // Without a runtime this process ends, and its guards end the servers.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let (session, upstreams) = (self.session.get().cloned(), Arc::clone(&self.gateway.upstreams));
        runtime.spawn(async move { close(session, &upstreams).await });
    }
}
