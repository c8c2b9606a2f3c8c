//! The MCP server inside our own process that carries the model's tools.

use serde_json::{Value, json};

use crate::agents::claude::in_process::{BAD_PARAMETERS, RpcError, answer as rpc_answer, no_such_method, tool_result};
use crate::agents::claude::process::SERVER;
use crate::session::gatekeeper::Gatekeeper;
use crate::session::tools::{Called, Done, Tools};

/// The answer to one message for a server of this name.
pub(super) async fn answer(
    tools: &Tools,
    gatekeeper: &Gatekeeper,
    server: &str,
    message: &Value,
) -> Result<Value, String> {
    if server != SERVER {
        return Err(format!("no MCP server {server:?} is registered here"));
    }
    let answering = rpc_answer(message, |request| async move {
        match request.method {
            "initialize" => {
                let instructions = tools.briefing().instructions();
                let (version, capabilities) = (env!("CARGO_PKG_VERSION"), json!({"tools": {}}));
                Ok(request.initialized("portcullis", version, &capabilities, Some(instructions)))
            }
            "tools/list" => Ok(json!({"tools": tools.briefing().tools()})),
            "tools/call" => call(tools, gatekeeper, &request.params).await,
            other => Err(no_such_method(other)),
        }
    });
    Ok(answering.await)
}

async fn call(tools: &Tools, gatekeeper: &Gatekeeper, parameters: &Value) -> Result<Value, RpcError> {
    let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
    let arguments = parameters.get("arguments").cloned().unwrap_or_else(|| json!({}));
    let Some(Called { said, done }) = tools.call(name, arguments).await else {
        return Err((BAD_PARAMETERS, format!("unknown tool: {name}")));
    };
    if let Some(Done::Opened { sender, directs, .. }) = done {
        gatekeeper.outside().note_opened(&sender, directs);
    }
    Ok(tool_result(said))
}
