//! An MCP server inside our own process: the client sends it messages over the control protocol.

use serde_json::{Value, json};

use crate::agents::claude::process::SERVER;
use crate::session::gatekeeper::Gatekeeper;
use crate::session::tools::{Called, Done, Tools};

const NO_SUCH_METHOD: i32 = -32601;
const BAD_PARAMETERS: i32 = -32602;

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
    let Some(id) = message.get("id").filter(|id| !id.is_null()) else {
        // A notification has no answer; the control request that brought it has one all the same.
        return Ok(json!({"jsonrpc": "2.0", "id": 0, "result": {}}));
    };
    let parameters = message.get("params").cloned().unwrap_or_default();
    let answer = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
        "initialize" => Ok(json!({
            "protocolVersion": parameters.get("protocolVersion").cloned().unwrap_or_else(|| "2025-06-18".into()),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "portcullis", "version": env!("CARGO_PKG_VERSION")},
            "instructions": tools.briefing().instructions(),
        })),
        "ping" => Ok(json!({})),
        "tools/list" => Ok(json!({"tools": tools.briefing().tools()})),
        "tools/call" => call(tools, gatekeeper, &parameters).await,
        other => Err((NO_SUCH_METHOD, format!("no method {other}"))),
    };
    Ok(match answer {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err((code, message)) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}),
    })
}

async fn call(tools: &Tools, gatekeeper: &Gatekeeper, parameters: &Value) -> Result<Value, (i32, String)> {
    let name = parameters.get("name").and_then(Value::as_str).unwrap_or_default();
    let arguments = parameters.get("arguments").cloned().unwrap_or_else(|| json!({}));
    let Some(Called { said, done }) = tools.call(name, arguments).await else {
        return Err((BAD_PARAMETERS, format!("unknown tool: {name}")));
    };
    if let Some(Done::Opened { sender, directs, .. }) = done {
        gatekeeper.outside().note_opened(&sender, directs);
    }
    let is_error = said.is_err();
    let text = said.unwrap_or_else(|error| error);
    Ok(json!({"content": [{"type": "text", "text": text}], "isError": is_error}))
}
