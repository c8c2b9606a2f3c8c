//! What the client meets: who we are, what the model is told, and the tools it may call.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use portcullis_core::{AskId, Details, NewAsk, Source, Text};
use portcullis_wire::channel::{self, PermissionRequest};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::hooks::HookCall;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomNotification, CustomRequest,
    CustomResult, ErrorCode, ErrorData, Implementation, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{NotificationContext, RequestContext};
use rmcp::{RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::watch;

use super::receipts::HookReceipts;
use crate::agents::claude::hooks::{CalledBy, HookAnswer, HookSession};
use crate::mint::mint;
use crate::session::gatekeeper::shortened;
use crate::session::link::SessionHandle;
use crate::session::tools::{Briefing, Called, Done, Tools};

/// The tool that Claude Code's hooks call. The model is not told of it.
pub(super) const HOOK: &str = "hook";

/// Signs that there is a model behind the client.
#[derive(Default)]
pub(super) struct Signs {
    /// When the client said that it is initialized.
    ready_at: OnceLock<Instant>,
    tool_called: AtomicBool,
}

/// A client that only looks whether we answer (`claude mcp list`) is gone sooner than this.
const A_LOOK: Duration = Duration::from_secs(3);

impl Signs {
    pub(super) fn only_looked(&self) -> bool {
        let was_short = self.ready_at.get().is_none_or(|ready| ready.elapsed() < A_LOOK);
        was_short && !self.tool_called.load(Ordering::Relaxed)
    }
}

pub(super) struct Server {
    handle: SessionHandle,
    signs: Arc<Signs>,
    tools: Tools,
    /// Set when the client has said that it is initialized.
    ready: watch::Sender<bool>,
    hooks: Arc<HookSession>,
    receipts: Arc<HookReceipts>,
}

impl Server {
    pub(super) fn new(
        handle: SessionHandle,
        folder: PathBuf,
        ready: watch::Sender<bool>,
        signs: Arc<Signs>,
        hooks: Arc<HookSession>,
        receipts: Arc<HookReceipts>,
        briefing: Briefing,
    ) -> Self {
        Self {
            tools: Tools::new(handle.clone(), folder, hooks.judge(), briefing),
            handle,
            signs,
            ready,
            hooks,
            receipts,
        }
    }

    async fn tool(&self, name: &str, arguments: Value) -> Option<Result<String, String>> {
        let Called { said, done } = self.tools.call(name, arguments).await?;
        match done {
            Some(Done::Replied(chat)) => self.hooks.note_reply(&chat),
            Some(Done::Opened { event, sender, directs }) => self.hooks.note_opened(event, &sender, directs),
            None => {}
        }
        Some(said)
    }

    /// Returns nothing to the model, which may not call this.
    async fn hook(&self, arguments: Value, context: &RequestContext<RoleServer>) -> Result<String, String> {
        if context.meta.get(channel::TOOL_USE_ID).is_some() {
            self.hooks.note_forged().await;
            return Err("this tool is for Claude Code's own hooks and is refused to the model".to_owned());
        }
        let HookAnswer { output, handed_out } = match HookCall::read(&arguments) {
            Ok(call) => self.hooks.call(call, CalledBy::Client, &context.ct).await,
            Err(error) => {
                tracing::debug!(%error, "a hook that nobody knows");
                HookAnswer::default()
            }
        };
        self.receipts.expect(context.id.clone(), handed_out, context.ct.clone());
        Ok(if output.is_null() { "{}".to_owned() } else { output.to_string() })
    }
}

/// A dialog has opened at the terminal: the same question is put to the reviewers.
pub(super) async fn relay(handle: &SessionHandle, request: PermissionRequest) {
    let asking = async {
        let PermissionRequest { request_id, tool_name, description, input_preview } = request;
        if request_id.is_empty() || request_id.len() > 64 || tool_name.is_empty() || tool_name.len() > 256 {
            return Err(Fault::new(Kind::BadRequest, "request_id or tool_name is empty or too long"));
        }
        let ask = NewAsk {
            id: mint(AskId::new),
            source: Source::Channel,
            origin: request_id,
            tool: tool_name,
            description: Text::new(shortened(description)),
            preview: Text::new(shortened(input_preview)),
            details: Details::default(),
        };
        handle.ask_for(ask).await
    };
    match asking.await {
        Ok(code) => tracing::debug!(%code, "a prompt was relayed"),
        Err(fault) => tracing::warn!("a prompt was not relayed, answer it at the terminal: {}", fault.message),
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let is_one_way = self.tools.briefing().is_one_way();
        // One that only listens answers nobody: neither senders nor prompts.
        let experimental: &[&str] =
            if is_one_way { &[channel::CHANNEL] } else { &[channel::CHANNEL, channel::PERMISSION] };
        let experimental = experimental.iter().map(|name| ((*name).to_owned(), JsonObject::new())).collect();
        let capabilities = ServerCapabilities::builder().enable_experimental_with(experimental);
        let capabilities = if is_one_way { capabilities.build() } else { capabilities.enable_tools().build() };
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("portcullis", env!("CARGO_PKG_VERSION")))
            .with_instructions(self.tools.briefing().instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools: Result<Vec<Tool>, _> =
            self.tools.briefing().tools().into_iter().map(serde_json::from_value).collect();
        let unreadable = |error: serde_json::Error| ErrorData::internal_error(error.to_string(), None);
        Ok(ListToolsResult::with_all_items(tools.map_err(unreadable)?))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.signs.tool_called.store(true, Ordering::Relaxed);
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let said = match request.name.as_ref() {
            HOOK => Some(self.hook(arguments, &context).await),
            name => self.tool(name, arguments).await,
        };
        let Some(said) = said else {
            return Err(ErrorData::invalid_params(format!("unknown tool: {}", request.name), None));
        };
        let result = match said {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(text) => CallToolResult::error(vec![ContentBlock::text(text)]),
        };
        Ok(result.into())
    }

    /// rmcp takes a request whose parameters do not fit for one that it does not know.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(match method.as_str() {
            "tools/call" | "tools/list" => {
                ErrorData::invalid_params(format!("the parameters of {method} do not fit"), None)
            }
            _ => ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None),
        })
    }

    async fn on_initialized(&self, _context: NotificationContext<RoleServer>) {
        self.signs.ready_at.get_or_init(Instant::now);
        self.ready.send_replace(true);
    }

    async fn on_custom_notification(
        &self,
        notification: CustomNotification,
        _context: NotificationContext<RoleServer>,
    ) {
        if notification.method != channel::REQUEST_METHOD {
            return;
        }
        match notification.params_as::<PermissionRequest>() {
            Ok(Some(request)) => relay(&self.handle, request).await,
            Ok(None) => tracing::warn!("a permission request without its fields was ignored"),
            Err(error) => tracing::warn!(%error, "a permission request could not be read"),
        }
    }
}
