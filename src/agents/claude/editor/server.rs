//! The server's side of MCP: what it offers, and the calls that the client makes after the gatekeeper has passed them.

use std::path::{Path, PathBuf};

use portcullis_wire::channel::TOOL_USE_ID;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::files::EditedFile;
use super::{EditorHost, HostState, SERVER, specs};
use crate::agents::claude::in_process::{answer as rpc_answer, no_such_method, tool_result};
use crate::locks::locked;

impl EditorHost {
    /// The answer to one message of the client; none where it is for another server. `cancelled` says that the client no
    /// longer wants it.
    pub(in crate::agents::claude) async fn answer(
        &self,
        server: &str,
        message: &Value,
        cancelled: &CancellationToken,
    ) -> Option<Value> {
        let state = self.0.as_ref().filter(|_| server == SERVER)?;
        if message.get("method").and_then(Value::as_str) == Some("notifications/cancelled") {
            state.take_back(message.pointer("/params/requestId"));
        }
        let answering = rpc_answer(message, |request| async move {
            match request.method {
                "initialize" => {
                    let (version, instructions) = (env!("CARGO_PKG_VERSION"), specs::INSTRUCTIONS.to_owned());
                    Ok(request.initialized(SERVER, version, &json!({"tools": {}}), Some(instructions)))
                }
                "tools/list" => Ok(json!({"tools": specs::tools(&state.tools)})),
                "tools/call" => {
                    let (id, cancelled) = (request.id.to_string(), cancelled.child_token());
                    locked(&state.running).insert(id.clone(), cancelled.clone());
                    let said = state.call(&request.params, &cancelled).await;
                    locked(&state.running).remove(&id);
                    Ok(tool_result(said))
                }
                other => Err(no_such_method(other)),
            }
        });
        Some(answering.await)
    }

    /// Ends what still runs for the session.
    pub(in crate::agents::claude) async fn close(&self) {
        if let Some(state) = &self.0 {
            state.end_shells().await;
        }
    }
}

impl HostState {
    /// The client no longer wants a call, as it tells a server.
    fn take_back(&self, id: Option<&Value>) {
        if let Some(call) = id.and_then(|id| locked(&self.running).get(&id.to_string()).cloned()) {
            call.cancel();
        }
    }

    /// Makes a call, if it is one that was passed.
    async fn call(&self, params: &Value, cancelled: &CancellationToken) -> Result<String, String> {
        let tool = params.get("name").and_then(Value::as_str).unwrap_or_default();
        let input = params.get("arguments").cloned().unwrap_or_else(|| json!({}));
        let id = params.get("_meta").and_then(|meta| meta.get(TOOL_USE_ID)).and_then(Value::as_str).unwrap_or_default();
        let passed = locked(&self.passes).take(id, tool, &input)?;
        // What a person has changed may be no file of the editor's.
        if !self.is_possible(passed.tool, input.clone(), async { false }).await {
            return Err(format!("this call does not go through the editor: use the tool {tool}"));
        }
        let path = input.get("file_path").and_then(Value::as_str).map(PathBuf::from);
        let target = path.as_deref().zip(passed.file.as_deref()).map(|(path, file)| EditedFile { path, file });
        let no_file = || "file_path must be the absolute path of a file".to_owned();
        match tool {
            "Read" => self.read(&target.ok_or_else(no_file)?, &input).await,
            "Write" => {
                let content = input.get("content").and_then(Value::as_str).ok_or("content must be a text")?;
                self.write(id, &target.ok_or_else(no_file)?, content).await
            }
            "Edit" => self.edit(id, &target.ok_or_else(no_file)?, &input).await,
            "Bash" => {
                let folder = passed.folder.or_else(|| self.tools.folders.first().cloned());
                self.bash(id, folder.as_deref().unwrap_or(Path::new("/")), &input, cancelled).await
            }
            "BashOutput" => self.bash_output(&input).await,
            "KillShell" => self.kill_shell(&input).await,
            other => Err(format!("unknown tool: {other}")),
        }
    }
}
