//! What a client of the gateway meets.

use std::sync::Arc;

use portcullis_wire::channel::TOOL_USE_ID;
#[expect(deprecated, reason = "clients of 2025-11-25 use them")]
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CompleteRequestParams, CompleteResult, ErrorCode,
    ErrorData, GetPromptRequestParams, GetPromptResponse, GetPromptResult, Implementation, InitializeRequestParams,
    InitializeResult, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities,
    ServerConfig, SetLevelRequestParams, SubscribeRequestParams, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::sync::{OnceCell, mpsc};

use super::NAME;
use super::calls::{CallEnd, WantedCall};
use super::catalog::{Listed, shown_names};
use super::core::GatewayCore;
use super::passing::{params_of, with_meta};
use super::relay::MOST_SAID;
use super::session::ClientSession;
use crate::upstream::ListKind;

/// One client's connection. What is known of the client is its core, which several connections may share: a client of
/// 2026-07-28 makes one for each request.
pub(super) struct GatewayServer {
    client: OnceCell<ConnectedClient>,
    find_core: FindCore,
}

struct ConnectedClient {
    core: Arc<GatewayCore>,
    session: Arc<ClientSession>,
}

/// The core of a client that calls itself so, for this request.
pub(super) type FindCore = Box<dyn Fn(&str, &RequestContext<RoleServer>) -> Arc<GatewayCore> + Send + Sync>;

impl GatewayServer {
    pub(super) fn new(find_core: FindCore) -> Self {
        Self { client: OnceCell::new(), find_core }
    }

    async fn core(&self, context: &RequestContext<RoleServer>) -> &GatewayCore {
        &self.client(context).await.core
    }

    /// Whoever is connected, with a session at the gate.
    async fn client(&self, context: &RequestContext<RoleServer>) -> &ConnectedClient {
        let find = || async {
            let client = context.client_info().map_or_else(|| "client".to_owned(), |info| info.name);
            let core = (self.find_core)(&client, context);
            let session = core.attach(&client, context);
            ConnectedClient { core, session }
        };
        self.client.get_or_init(find).await
    }
}

#[expect(deprecated, reason = "clients of 2025-11-25 use them")]
impl ServerHandler for GatewayServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_logging()
            .enable_completions()
            .enable_prompts()
            .enable_prompts_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_resources_list_changed()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities).with_server_info(Implementation::new(NAME, env!("CARGO_PKG_VERSION")))
    }

    async fn initialize(
        &self,
        request: InitializeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if request.client_info.name == NAME {
            let why = "a gateway is not used behind a gateway: name the servers themselves";
            return Err(ErrorData::new(ErrorCode::INVALID_REQUEST, why, None));
        }
        context.peer.set_peer_info(request.clone());
        self.core(&context).await;
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(ConnectedClient { core, .. }) = self.client.get() {
            core.tell_changes(context.peer);
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let ConnectedClient { core, session } = self.client(&context).await;
        let catalog = core.read_catalog().await;
        let names = catalog.tools.iter().map(|tool| tool.full.clone()).collect();
        let denied = session.gatekeeper.denied_tools(names).await;
        let offered = catalog.tools.iter().zip(denied).filter(|(_, is_denied)| !is_denied);
        let mut result = json!({"tools": offered.map(|(tool, _)| tool.listed()).collect::<Vec<_>>()});
        if !catalog.unavailable.is_empty() {
            result["_meta"] = json!({"portcullis/unavailable": catalog.unavailable});
        }
        read(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let ConnectedClient { core, session } = self.client(&context).await;
        let tool = core.find(&request.name).await.map_err(|why| ErrorData::invalid_params(why, None))?;
        let named = context.meta.get(TOOL_USE_ID).and_then(Value::as_str).map(str::to_owned);
        let id = named.unwrap_or_else(|| core.next_call());
        let (progress, reports) = mpsc::channel(MOST_SAID);
        let wanted = WantedCall {
            tool: &tool,
            id,
            params: with_meta(params_of(&request), &context),
            progress,
            cancelled: &context.ct,
        };
        let calling = Box::pin(session.call(&core.gateway.upstreams, wanted));
        match core.under_way.during(&tool.server, &context, reports, calling).await {
            CallEnd::Result(result) => read::<CallToolResult>(result).map(Into::into),
            CallEnd::Error { code, message, data } => Err(ErrorData::new(ErrorCode(code), message, data)),
        }
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let core = self.core(&context).await;
        read(json!({"resources": values(core.listed(ListKind::Resources).await)}))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let core = self.core(&context).await;
        read(json!({"resourceTemplates": values(core.listed(ListKind::Templates).await)}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let core = self.core(&context).await;
        let server = core.server_of(&request.uri).await?;
        let result = core.pass(&server, "resources/read", params_of(request), &context).await?;
        read::<ReadResourceResult>(result).map(Into::into)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let core = self.core(&context).await;
        let server = core.server_of(&request.uri).await?;
        core.pass(&server, "resources/subscribe", params_of(request), &context).await.map(drop)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let core = self.core(&context).await;
        let server = core.server_of(&request.uri).await?;
        core.pass(&server, "resources/unsubscribe", params_of(request), &context).await.map(drop)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let core = self.core(&context).await;
        let mut listed = core.listed(ListKind::Prompts).await;
        let names = shown_names(&core.gateway, &listed.items);
        for ((_, item), (_, shown)) in listed.items.iter_mut().zip(names) {
            item["name"] = shown.into();
        }
        read(json!({"prompts": values(listed)}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let core = self.core(&context).await;
        let (server, name) = core.prompt(&request.name).await?;
        let mut params = params_of(request);
        params.insert("name".to_owned(), name.into());
        let result = core.pass(&server, "prompts/get", params, &context).await?;
        read::<GetPromptResult>(result).map(Into::into)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let core = self.core(&context).await;
        let mut params = params_of(request);
        let about = params.get("ref").cloned().unwrap_or_default();
        let server = match (about.get("name").and_then(Value::as_str), about.get("uri").and_then(Value::as_str)) {
            (Some(shown), _) => {
                let (server, name) = core.prompt(shown).await?;
                params["ref"]["name"] = name.into();
                server
            }
            (None, Some(uri)) => core.server_of(uri).await?,
            (None, None) => return Err(ErrorData::invalid_params("the completion is of nothing", None)),
        };
        read(core.pass(&server, "completion/complete", params, &context).await?)
    }

    /// Every server that has something to log is told; one that has not refuses, and that is no error.
    async fn set_level(
        &self,
        request: SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let core = self.core(&context).await;
        for server in &core.gateway.servers {
            if let Err(error) = core.pass(server, "logging/setLevel", params_of(&request), &context).await {
                tracing::debug!(%server, %error, "a server does not log");
            }
        }
        Ok(())
    }
}

fn values(listed: Listed) -> Vec<Value> {
    listed.items.into_iter().map(|(_, item)| item).collect()
}

fn read<T: DeserializeOwned>(value: Value) -> Result<T, ErrorData> {
    serde_json::from_value(value).map_err(|error| ErrorData::internal_error(error.to_string(), None))
}
