//! What a client of the gateway meets.

#[expect(deprecated, reason = "clients of 2025-11-25 use them")]
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelledNotificationParam, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, DiscoverResult, ErrorCode, ErrorData, GetPromptRequestParams,
    GetPromptResponse, GetPromptResult, Implementation, InitializeRequestParams, InitializeResult, InputRequiredResult,
    ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult, PaginatedRequestParams,
    ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, ServerCapabilities, ServerConfig,
    SetLevelRequestParams, SubscribeRequestParams, SubscriptionFilter, UnsubscribeRequestParams,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{RoleServer, ServerHandler};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::NAME;
use super::calls::CallEnd;
use super::catalog::{Listed, shown_names};
use super::connected::{ConnectedClient, GatewayServer, refuse_gateways};
use super::instructions::{DISCOVER_WAIT, INITIALIZE_WAIT};
use super::passing::params_of;
use super::search;
use super::unchanged::{read, read_whole};
use crate::upstream::ListKind;

/// Requests of every revision that mean nothing without parameters. Those that a revision took out are unknown in it.
const WITH_PARAMETERS: [&str; 4] = ["tools/call", "resources/read", "prompts/get", "completion/complete"];

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
        context.peer.set_peer_info(request.clone());
        let core = &self.new_client(&context).await?.core;
        core.connect_for_instructions(INITIALIZE_WAIT).await;
        let mut result = self.negotiate_initialize(&request)?;
        result.instructions = core.instructions();
        Ok(result)
    }

    async fn discover(&self, context: RequestContext<RoleServer>) -> Result<DiscoverResult, ErrorData> {
        refuse_gateways(&context)?;
        let mut info = self.get_info();
        // Over HTTP whoever asks may go on with a session, or never come back: nothing is begun for this question alone.
        if self.place.is_none() {
            let core = &self.new_client(&context).await?.core;
            core.connect_for_instructions(DISCOVER_WAIT).await;
            info.instructions = core.instructions();
        }
        Ok(DiscoverResult::from_server_info(self.supported_protocol_versions().into_owned(), info))
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        if let Some(ConnectedClient { core, .. }) = self.client.get() {
            core.hears();
            core.tell_changes(context.peer);
        }
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let ConnectedClient { core, session } = self.client(&context).await?;
        let (tools, unavailable) = core.offered(session).await;
        let listed = if core.gateway.offer.has_search {
            search::tools()
        } else {
            tools.iter().map(|tool| tool.listed()).collect::<Vec<_>>()
        };
        let mut result = json!({"tools": listed});
        if !unavailable.is_empty() {
            result["_meta"] = json!({"portcullis/unavailable": unavailable});
        }
        read_whole(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let ConnectedClient { core, session } = self.client(&context).await?;
        let params = params_of(&request);
        let end = if core.gateway.offer.has_search {
            search::call(core, session, params, (&context, &self.reasons)).await?
        } else {
            core.call(session, &request.name, params, (&context, &self.reasons)).await?
        };
        match end {
            CallEnd::Result(result) => answer::<CallToolResult, _>(result),
            CallEnd::Error { code, message, data } => Err(ErrorData::new(ErrorCode(code), message, data)),
        }
    }

    /// rmcp knows no request whose parameters it cannot read.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let CustomRequest { method, .. } = request;
        Err(match WITH_PARAMETERS.contains(&method.as_str()) {
            true => ErrorData::invalid_params(format!("the parameters of {method} are not those that it takes"), None),
            false => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, subscription: SubscriptionContext) -> Result<(), ErrorData> {
        let core = self.core(subscription.request_context()).await?;
        core.tell_changes(subscription.request_context().peer.clone());
        core.under_way.tell_of_changes(&subscription).await;
        Ok(())
    }

    async fn on_cancelled(&self, cancelled: CancelledNotificationParam, _: NotificationContext<RoleServer>) {
        if let Some(request) = cancelled.request_id {
            self.reasons.keep(request, cancelled.reason.unwrap_or_default());
        }
    }

    /// Servers that have asked for the client's folders ask again.
    async fn on_roots_list_changed(&self, _: NotificationContext<RoleServer>) {
        self.tell_servers("notifications/roots/list_changed", json!({})).await;
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let core = self.core(&context).await?;
        read_whole(json!({"resources": values(core.listed(ListKind::Resources).await)}))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        let core = self.core(&context).await?;
        read_whole(json!({"resourceTemplates": values(core.listed(ListKind::Templates).await)}))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let core = self.core(&context).await?;
        let server = core.server_of(&request.uri).await?;
        let result = core.pass(&server, "resources/read", params_of(request), &context).await?;
        answer::<ReadResourceResult, _>(result)
    }

    async fn subscribe(
        &self,
        request: SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let core = self.core(&context).await?;
        let server = core.server_of(&request.uri).await?;
        core.pass(&server, "resources/subscribe", params_of(request), &context).await.map(drop)
    }

    async fn unsubscribe(
        &self,
        request: UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let core = self.core(&context).await?;
        let server = core.server_of(&request.uri).await?;
        core.pass(&server, "resources/unsubscribe", params_of(request), &context).await.map(drop)
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let core = self.core(&context).await?;
        let mut listed = core.listed(ListKind::Prompts).await;
        let names = shown_names(&core.gateway, &listed.items);
        for ((_, item), (_, shown)) in listed.items.iter_mut().zip(names) {
            item["name"] = shown.into();
        }
        read_whole(json!({"prompts": values(listed)}))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let core = self.core(&context).await?;
        let (server, name) = core.prompt(&request.name).await?;
        let mut params = params_of(request);
        params.insert("name".to_owned(), name.into());
        let result = core.pass(&server, "prompts/get", params, &context).await?;
        answer::<GetPromptResult, _>(result)
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        let core = self.core(&context).await?;
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
        let core = self.core(&context).await?;
        let servers = core.gateway.servers.names();
        let telling = servers.iter().map(|server| core.pass(server, "logging/setLevel", params_of(&request), &context));
        // All at once: one that takes long to start holds up no other.
        for told in futures_util::future::join_all(telling).await {
            if let Err(error) = told {
                tracing::debug!(%error, "a server does not log");
            }
        }
        Ok(())
    }
}

/// What was asked for, or what the server wants to know first.
fn answer<T, R>(value: Value) -> Result<R, ErrorData>
where
    T: DeserializeOwned + Serialize,
    R: From<T> + From<InputRequiredResult>,
{
    if value["resultType"] == "input_required" {
        return read::<InputRequiredResult>(value).map(R::from);
    }
    read_whole::<T>(value).map(R::from)
}

fn values(listed: Listed) -> Vec<Value> {
    listed.items.into_iter().map(|(_, item)| item).collect()
}
