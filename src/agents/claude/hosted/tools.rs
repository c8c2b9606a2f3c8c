//! The tools of channel servers, as a server inside our own process: the client starts no copy of them.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use portcullis_wire::channel::TOOL_USE_ID;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::{ChannelHost, HostedState, SayToClient};
use crate::agents::claude::in_process::{
    BAD_PARAMETERS, INTERNAL, RpcError, RpcRequest, answer as rpc_answer, no_such_method, tool_result,
};
use crate::locks::locked;
use crate::upstream::shape::described;
use crate::upstream::{CallFailure, ListKind, PassedRequest, UpstreamState};

/// Servers that have other tools now, of which the client was not told yet.
pub(super) struct ToolChanges {
    /// Filled by servers, emptied by the task that tells the client.
    servers: Arc<Mutex<BTreeSet<String>>>,
    /// Wakes that task; once is enough.
    wake: mpsc::Sender<()>,
}

impl ToolChanges {
    /// Tells the client of one change after another, and waits until it has taken each: a server that changes its tools all
    /// the time fills no queue.
    pub(super) fn told_by(say: SayToClient) -> Self {
        let (wake, mut wakes) = mpsc::channel(1);
        let servers = Arc::<Mutex<BTreeSet<String>>>::default();
        let changed = Arc::clone(&servers);
        tokio::spawn(async move {
            while wakes.recv().await.is_some() {
                let servers = std::mem::take(&mut *locked(&changed));
                for server in servers {
                    say(server, json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})).await;
                }
            }
        });
        Self { servers, wake }
    }

    pub(super) fn add(&self, server: &str) {
        locked(&self.servers).insert(server.to_owned());
        self.wake.try_send(()).ok();
    }
}

impl ChannelHost {
    /// The answer of a server to one message of the client; none where there is no such server here.
    pub(in crate::agents::claude) async fn answer(&self, server: &str, message: &Value) -> Option<Value> {
        let shared = self.0.as_ref().filter(|shared| shared.channel(server).is_some())?;
        if message.get("method").and_then(Value::as_str) == Some("notifications/cancelled") {
            shared.take_back(server, message.pointer("/params/requestId"));
        }
        let answering = rpc_answer(message, |request| async move {
            match request.method {
                "initialize" => Ok(shared.about(server, &request)),
                "tools/list" => shared.tools(server).await,
                "tools/call" => shared.call(server, request.id, request.params).await,
                other => Err(no_such_method(other)),
            }
        });
        Some(answering.await)
    }
}

impl HostedState {
    fn about(&self, server: &str, request: &RpcRequest<'_>) -> Value {
        let about = match self.upstreams.state(server) {
            Some(UpstreamState::Connected(about)) => about,
            _ => Default::default(),
        };
        let capabilities = if about.tools { json!({"tools": {"listChanged": true}}) } else { json!({}) };
        let instructions = about.instructions.map(|instructions| described(&instructions, self.longest_description));
        request.initialized(server, &about.version.unwrap_or_default(), &capabilities, instructions)
    }

    async fn tools(&self, server: &str) -> Result<Value, RpcError> {
        let listed = self.upstreams.list(server, ListKind::Tools).await.map_err(|failure| as_error(server, failure))?;
        let tools = listed.iter().cloned().map(|mut tool| {
            if let Some(description) = tool.get("description").and_then(Value::as_str) {
                tool["description"] = described(description, self.longest_description).into();
            }
            tool
        });
        Ok(json!({"tools": tools.collect::<Vec<_>>()}))
    }

    /// Makes a call that the client was allowed to make.
    async fn call(&self, server: &str, id: &Value, parameters: Value) -> Result<Value, RpcError> {
        let Value::Object(mut params) = parameters else {
            return Err(RpcError::new(BAD_PARAMETERS, "a call has parameters"));
        };
        // Its token of progress is for a connection that is not ours.
        let meta = params.remove("_meta").unwrap_or_default();
        if let Some(call) = meta.get(TOOL_USE_ID) {
            params.insert("_meta".to_owned(), Value::Object(Map::from_iter([(TOOL_USE_ID.to_owned(), call.clone())])));
        }
        let tool = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
        let cancelled = CancellationToken::new();
        let key = (server.to_owned(), id.to_string());
        locked(&self.calls).insert(key.clone(), cancelled.clone());
        let passed = PassedRequest { cancelled: Some(&cancelled), ..PassedRequest::plain("tools/call", params) };
        let called = self.upstreams.request(server, &passed).await;
        locked(&self.calls).remove(&key);
        match called {
            // The client itself cuts what is long, and makes images smaller.
            Ok(result) => Ok(result),
            Err(CallFailure::Refused { code, message, data }) => Err(RpcError { code, message, data }),
            Err(failure) => Ok(tool_result(Err(format!("{tool} of {server}: {}", failure.why())))),
        }
    }

    fn take_back(&self, server: &str, id: Option<&Value>) {
        let Some(id) = id else { return };
        if let Some(call) = locked(&self.calls).get(&(server.to_owned(), id.to_string())) {
            call.cancel();
        }
    }
}

fn as_error(server: &str, failure: CallFailure) -> RpcError {
    match failure {
        CallFailure::Refused { code, message, data } => RpcError { code, message, data },
        other => RpcError::new(INTERNAL, format!("{server}: {}", other.why())),
    }
}
