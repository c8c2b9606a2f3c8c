//! Requests that are passed on to the server that they are for. Only calls of tools are asked for.

use rmcp::RoleServer;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::service::RequestContext;
use serde::Serialize;
use serde_json::{Map, Value};
use tokio::sync::mpsc;

use super::catalog::{Listed, shown_names};
use super::core::GatewayCore;
use super::relay::MOST_SAID;
use crate::upstream::{CallFailure, ListKind, PassedRequest};

/// What a client says of a request that a server has no use for: it concerns the connection to us.
const OF_THE_CONNECTION: &str = "io.modelcontextprotocol/";

/// What a client is given of a server's goes into the journal, as its calls do.
const RECORDED: [&str; 2] = ["resources/read", "prompts/get"];

impl GatewayCore {
    /// Passes a request on, and waits for the server's result.
    pub(super) async fn pass(
        &self,
        server: &str,
        method: &str,
        params: Map<String, Value>,
        context: &RequestContext<RoleServer>,
    ) -> Result<Value, ErrorData> {
        let (progress, reports) = mpsc::channel(MOST_SAID);
        let passed = PassedRequest {
            method,
            params: with_meta(params, context),
            progress: Some(progress),
            cancelled: Some(&context.ct),
            takes_input_required: is_stateless(context),
            of_client: of_client(context, self.gateway.lends_model),
            configuration: None,
        };
        let request = Box::pin(self.gateway.upstreams.request(server, &passed));
        let called = self.under_way.during(server, context, reports, request).await;
        if RECORDED.contains(&method)
            && let Some(session) = self.session()
        {
            session.passed(method, server, &Value::Object(passed.params), &called);
        }
        called.map_err(error_of)
    }

    /// Everything of one kind. What a name or an address means is known by its server.
    pub(super) async fn listed(&self, kind: ListKind) -> Listed {
        tokio::select! {
            listed = Listed::read(&self.gateway, kind, &self.late) => listed,
            // Nobody is there to take it.
            () = self.ended.cancelled() => Listed::default(),
        }
    }

    /// The server of a prompt, and the prompt as that calls it.
    pub(super) async fn prompt(&self, shown: &str) -> Result<(String, String), ErrorData> {
        let listed = self.listed(ListKind::Prompts).await;
        let names = shown_names(&self.gateway, &listed.items);
        let found = listed.items.iter().zip(names).find(|(_, (_, name))| name == shown);
        let found = found.map(|((server, item), _)| (server.clone(), super::catalog::name_of(item).to_owned()));
        found.ok_or_else(|| ErrorData::invalid_params(format!("unknown prompt: {shown}"), None))
    }

    /// The server that has something at this address: in its list, or as one of its templates allows.
    pub(super) async fn server_of(&self, uri: &str) -> Result<String, ErrorData> {
        if let [only] = &*self.gateway.servers.names() {
            return Ok(only.clone());
        }
        let of_list = |listed: Listed, fits: &dyn Fn(&Value) -> bool| {
            listed.items.into_iter().find(|(_, item)| fits(item)).map(|(server, _)| server)
        };
        let is_it = |item: &Value| item.get("uri").is_some_and(|found| found == uri);
        if let Some(server) = of_list(self.listed(ListKind::Resources).await, &is_it) {
            return Ok(server);
        }
        let may_be = |item: &Value| {
            let template = item.get("uriTemplate").and_then(Value::as_str).unwrap_or_default();
            let start = template.split('{').next().unwrap_or_default();
            template == uri || !start.is_empty() && uri.starts_with(start)
        };
        let server = of_list(self.listed(ListKind::Templates).await, &may_be);
        let unknown = || ErrorData::new(ErrorCode::RESOURCE_NOT_FOUND, format!("unknown resource: {uri}"), None);
        server.ok_or_else(unknown)
    }
}

/// What a client of 2026-07-28 says of itself, as far as it is for servers.
pub(super) fn of_client(context: &RequestContext<RoleServer>, lends_model: bool) -> Map<String, Value> {
    const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
    const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
    let mut said = params_of(&context.meta);
    said.retain(|name, _| is_stateless(context) && [CAPABILITIES, LOG_LEVEL].contains(&name.as_str()));
    if let Some(capabilities) = said.get_mut(CAPABILITIES) {
        only_for_servers(capabilities, lends_model);
    }
    said
}

/// Leaves what servers may use. Nobody lends their model to a server unasked. What is experimental is between the client
/// and us.
pub(super) fn only_for_servers(capabilities: &mut Value, lends_model: bool) {
    let Some(capabilities) = capabilities.as_object_mut() else { return };
    capabilities.retain(|name, _| match name.as_str() {
        "elicitation" | "roots" => true,
        "sampling" => lends_model,
        _ => false,
    });
}

/// Whether the client is one of 2026-07-28: it has no session, and is asked by results.
pub(super) fn is_stateless(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| !version.has_initialize())
}

/// What a client sent, as an object.
pub(super) fn params_of(request: impl Serialize) -> Map<String, Value> {
    match serde_json::to_value(request) {
        Ok(Value::Object(params)) => params,
        _ => Map::new(),
    }
}

/// With what the client says of the request, but for what is between it and us.
pub(super) fn with_meta(mut params: Map<String, Value>, context: &RequestContext<RoleServer>) -> Map<String, Value> {
    let mut meta = params_of(&context.meta);
    meta.retain(|name, _| name != "progressToken" && !name.starts_with(OF_THE_CONNECTION));
    params.remove("_meta");
    if !meta.is_empty() {
        params.insert("_meta".to_owned(), Value::Object(meta));
    }
    params
}

/// A server's own error as it is; everything else in words.
pub(super) fn error_of(failure: CallFailure) -> ErrorData {
    match failure {
        CallFailure::Refused { code, message, data } => ErrorData::new(ErrorCode(code), message, data),
        other => ErrorData::internal_error(other.why(), None),
    }
}
