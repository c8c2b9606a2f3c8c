//! The server in a session that `portcullis run` drives. The driver is that session's channel, so this one has nothing to
//! say; but Claude Code's own hooks call it if they are installed, and would leave an error behind if it were not there.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData, Implementation,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt as _};
use tokio_util::sync::CancellationToken;

use super::server::HOOK;
use crate::agents::mcp_stdio::{self, LineTransport, SharedOutput};

/// Answers hooks with no decision until the client closes its end or `stop`.
pub(crate) async fn run_idle(stop: CancellationToken) -> anyhow::Result<()> {
    let (stdin, stdout) = mcp_stdio::open()?;
    let transport = LineTransport::new(stdin, Arc::new(SharedOutput::new(stdout)));
    let serving = async {
        if let Ok(running) = IdleServer.serve(transport).await {
            drop(running.waiting().await);
        }
    };
    tokio::select! {
        () = serving => {}
        () = stop.cancelled() => {}
    }
    Ok(())
}

/// No tools for the model, no events, no prompts.
struct IdleServer;

impl ServerHandler for IdleServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("portcullis", env!("CARGO_PKG_VERSION")))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if request.name != HOOK {
            return Err(ErrorData::invalid_params(format!("unknown tool: {}", request.name), None));
        }
        // Silence is no permission: what is asked is asked by the driver.
        Ok(CallToolResult::success(vec![ContentBlock::text("{}")]).into())
    }
}
