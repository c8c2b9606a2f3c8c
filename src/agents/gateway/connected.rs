//! A client's connection to the gateway, and who the client is.

use std::sync::Arc;

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::RequestContext;
use serde_json::Value;
use tokio::sync::{OnceCell, OwnedSemaphorePermit};

use super::NAME;
use super::core::GatewayCore;
use super::leaving::CancelReasons;
use super::session::ClientSession;

/// One client's connection. What is known of the client is its core, which several connections may share: a client of
/// 2026-07-28 makes one for each request.
pub(super) struct GatewayServer {
    pub(super) client: OnceCell<ConnectedClient>,
    find_core: FindCore,
    pub(super) reasons: CancelReasons,
    /// Given back when the connection is over. None on standard streams, which have one client.
    pub(super) place: Option<OwnedSemaphorePermit>,
}

pub(super) struct ConnectedClient {
    pub(super) core: Arc<GatewayCore>,
    pub(super) session: Arc<ClientSession>,
}

/// The core of a client that calls itself so, for this request.
pub(super) type FindCore = Box<dyn Fn(&str, &RequestContext<RoleServer>) -> Arc<GatewayCore> + Send + Sync>;

impl GatewayServer {
    pub(super) fn new(find_core: FindCore, place: Option<OwnedSemaphorePermit>) -> Self {
        Self { client: OnceCell::new(), find_core, reasons: CancelReasons::default(), place }
    }

    pub(super) async fn core(&self, context: &RequestContext<RoleServer>) -> Result<&GatewayCore, ErrorData> {
        Ok(&self.client(context).await?.core)
    }

    /// Whoever is connected, and has been answered before.
    pub(super) async fn client(&self, context: &RequestContext<RoleServer>) -> Result<&ConnectedClient, ErrorData> {
        let client = self.new_client(context).await?;
        client.core.hears();
        Ok(client)
    }

    /// Whoever is connected, with a session at the gate.
    pub(super) async fn new_client(&self, context: &RequestContext<RoleServer>) -> Result<&ConnectedClient, ErrorData> {
        refuse_gateways(context)?;
        let find = || async {
            let client = context.client_info().map_or_else(|| "client".to_owned(), |info| info.name);
            let core = (self.find_core)(&client, context);
            let session = core.attach(&client, context);
            ConnectedClient { core, session }
        };
        Ok(self.client.get_or_init(find).await)
    }

    /// Tells all servers that are there. None is started for it.
    pub(super) async fn tell_servers(&self, method: &str, params: Value) {
        let Some(ConnectedClient { core, .. }) = self.client.get() else { return };
        for server in &*core.gateway.servers.names() {
            if let Err(failure) = core.gateway.upstreams.notify(server, method, params.clone()).await {
                tracing::debug!(server, why = failure.why(), "a server is not told");
            }
        }
    }
}

/// A gateway is not used behind a gateway.
pub(super) fn refuse_gateways(context: &RequestContext<RoleServer>) -> Result<(), ErrorData> {
    if context.client_info().is_some_and(|info| info.name == NAME) {
        let why = "a gateway is not used behind a gateway: name the servers themselves";
        return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, why, None));
    }
    Ok(())
}
