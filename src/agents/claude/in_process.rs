//! MCP servers inside our own process: the client sends them messages over the control protocol.

use serde_json::{Value, json};

pub(super) const NO_SUCH_METHOD: i32 = -32601;
pub(super) const BAD_PARAMETERS: i32 = -32602;
pub(super) const INTERNAL: i32 = -32603;

/// Why there is no result: a code of JSON-RPC, words, and what a server adds to them.
pub(super) struct RpcError {
    pub(super) code: i32,
    pub(super) message: String,
    pub(super) data: Option<Value>,
}

impl RpcError {
    pub(super) fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }
}

/// A request of the client.
pub(super) struct RpcRequest<'a> {
    pub(super) id: &'a Value,
    pub(super) method: &'a str,
    pub(super) params: Value,
}

impl RpcRequest<'_> {
    /// What a server says of itself. It speaks whichever version the client does.
    pub(super) fn initialized(
        &self,
        name: &str,
        version: &str,
        capabilities: &Value,
        instructions: Option<String>,
    ) -> Value {
        let protocol = self.params.get("protocolVersion").cloned().unwrap_or_else(|| "2025-06-18".into());
        let mut said = json!({
            "protocolVersion": protocol,
            "capabilities": capabilities,
            "serverInfo": {"name": name, "version": version},
        });
        if let Some(instructions) = instructions {
            said["instructions"] = instructions.into();
        }
        said
    }
}

/// The answer to a message. A notification has none; the control request that brought it has one all the same.
pub(super) async fn answer<'a, F>(message: &'a Value, handle: impl FnOnce(RpcRequest<'a>) -> F) -> Value
where
    F: Future<Output = Result<Value, RpcError>>,
{
    let Some(id) = message.get("id").filter(|id| !id.is_null()) else {
        return json!({"jsonrpc": "2.0", "id": 0, "result": {}});
    };
    let method = message.get("method").and_then(Value::as_str).unwrap_or_default();
    let answered = match method {
        "ping" => Ok(json!({})),
        _ => handle(RpcRequest { id, method, params: message.get("params").cloned().unwrap_or_default() }).await,
    };
    match answered {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(RpcError { code, message, data }) => {
            let mut error = json!({"code": code, "message": message});
            if let Some(data) = data {
                error["data"] = data;
            }
            json!({"jsonrpc": "2.0", "id": id, "error": error})
        }
    }
}

pub(super) fn no_such_method(method: &str) -> RpcError {
    RpcError::new(NO_SUCH_METHOD, format!("no method {method}"))
}

/// What a tool has said, as a result.
pub(super) fn tool_result(said: Result<String, String>) -> Value {
    let is_error = said.is_err();
    let text = said.unwrap_or_else(|error| error);
    json!({"content": [{"type": "text", "text": text}], "isError": is_error})
}
