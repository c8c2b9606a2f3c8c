//! The MCP server inside our own process that carries the model's tools.

use serde_json::{Value, json};

use crate::agents::claude::in_process::{
    BAD_PARAMETERS, RpcError, RpcRequest, answer as rpc_answer, no_such_method, tool_result,
};
use crate::agents::claude::process::SERVER;
use crate::session::gatekeeper::Gatekeeper;
use crate::session::tools::{Briefing, Called, Done, Tools};

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
        match described(tools.briefing(), &request) {
            Some(described) => Ok(described),
            None if request.method == "tools/call" => call(tools, gatekeeper, &request.params).await,
            None => Err(no_such_method(request.method)),
        }
    });
    Ok(answering.await)
}

/// What the server says of itself and of its tools.
pub(super) fn described(briefing: &Briefing, request: &RpcRequest<'_>) -> Option<Value> {
    match request.method {
        "initialize" => {
            let (version, capabilities) = (env!("CARGO_PKG_VERSION"), json!({"tools": {}}));
            Some(request.initialized("portcullis", version, &capabilities, Some(briefing.instructions())))
        }
        "tools/list" => Some(json!({"tools": briefing.tools()})),
        _ => None,
    }
}

async fn call(tools: &Tools, gatekeeper: &Gatekeeper, parameters: &Value) -> Result<Value, RpcError> {
    let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
    let arguments = parameters.get("arguments").cloned().unwrap_or_else(|| json!({}));
    let Some(Called { said, done }) = tools.call(name, arguments).await else {
        return Err(RpcError::new(BAD_PARAMETERS, format!("unknown tool: {name}")));
    };
    if let Some(Done::Opened { sender, directs, .. }) = done {
        gatekeeper.outside().note_opened(&sender, directs);
    }
    Ok(tool_result(said))
}
