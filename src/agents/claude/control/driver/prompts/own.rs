//! Calls of tools that work through the editor, as the gatekeeper judges them: as those of the tools that they stand for, by
//! the client's mode and rules as well as by ours.

use portcullis_core::policy::{Mode, remembered};
use portcullis_wire::control::CanUseTool;
use portcullis_wire::permission::set_mode;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::agents::claude::control::requests::{Control, REQUEST_TIMEOUT};
use crate::agents::claude::editor::{EditorHost, ModelCall, PassedCall, read_client_rules};
use crate::agents::claude::others_hooks::{are_for, may_answer};
use crate::session::gatekeeper::{Decision, OwnCall, ToolRequest};

pub(super) struct OwnTools {
    editor: EditorHost,
    control: Control,
}

/// A call of ours as it stood before it was judged.
pub(super) struct LookedUp {
    id: String,
    tool: &'static str,
    folder: Option<String>,
    call: PassedCall,
}

impl OwnTools {
    pub(super) fn new(editor: EditorHost, control: Control) -> Self {
        Self { editor, control }
    }

    /// Why the model is to use another tool for this call.
    pub(super) async fn other_tool(&self, request: &ToolRequest, for_us: bool) -> Option<String> {
        let tool = self.editor.named(&request.tool);
        self.editor.other_tool(wanted(request, for_us), self.is_sandboxed(), self.has_hooks(tool)).await
    }

    /// Makes a call of one of our tools the call of the tool that it stands for. What the file and the folder are now is
    /// kept for when it is made; it must be known before anybody judges it.
    pub(super) async fn prepare(
        &self,
        request: &mut ToolRequest,
        for_us: bool,
        asked: Option<&CanUseTool>,
    ) -> Option<LookedUp> {
        let tool = self.editor.stands_for(&wanted(request, for_us))?;
        let id = request.tool_use_id.clone().unwrap_or_default();
        // Whatever was said before, it is judged anew.
        self.editor.take_back(&id);
        let listed = self.control.request("list_permission_rules", Map::new(), REQUEST_TIMEOUT).await.ok();
        request.tool = tool.to_owned();
        request.own = Some(OwnCall { rules: read_client_rules(listed.as_ref(), self.editor.client_folder()) });
        request.suggestions = suggestions(tool, &request.input);
        if let Some(asked) = asked {
            // The mode is ours to apply: it holds up nothing that it would let pass.
            let reason = asked.decision_reason_type.as_deref();
            request.flags.held_up = matches!(reason, Some("safetyCheck" | "hook")) || asked.matched_ask_rule.is_some();
        }
        let folder = self.editor.folder_of(&id, request.folder.clone());
        let call = PassedCall::looked_up(tool, &request.input, folder.as_deref());
        Some(LookedUp { id, tool, folder, call })
    }

    /// The gatekeeper has decided. Only what it allows is made, and what a person has changed only as they have.
    pub(super) fn decided(&self, looked_up: Option<LookedUp>, decision: &Decision, cancelled: &CancellationToken) {
        let Some(LookedUp { id, tool, folder, call }) = looked_up else { return };
        let Decision::Allow { input, .. } = decision else { return };
        if id.is_empty() || cancelled.is_cancelled() {
            return;
        }
        let call = match input {
            Some(input) => PassedCall::looked_up(tool, input, folder.as_deref()),
            None => call,
        };
        self.editor.pass(&id, call);
    }

    /// Whether the user has hooks for a tool of the client's: they would not run for ours.
    async fn has_hooks(&self, tool: &str) -> bool {
        are_for(self.hooks().await.as_ref(), tool)
    }

    /// Whether a hook of somebody else may answer in the person's place, where the client is told to ask about the call of a
    /// tool with these names.
    pub(super) async fn may_hooks_answer(&self, names: &[&str]) -> bool {
        may_answer(self.hooks().await.as_ref(), names)
    }

    async fn hooks(&self) -> Option<Value> {
        self.control.request("get_hooks_listing", Map::new(), REQUEST_TIMEOUT).await.ok()
    }

    /// Where it does not tell, it may be.
    async fn is_sandboxed(&self) -> bool {
        let settings = self.control.request("get_settings", Map::new(), REQUEST_TIMEOUT).await;
        match settings {
            Ok(settings) => settings.pointer("/effective/sandbox/enabled") == Some(&Value::Bool(true)),
            Err(_) => true,
        }
    }
}

fn wanted(request: &ToolRequest, for_us: bool) -> ModelCall {
    let ToolRequest { tool, input, agent, mode, tool_use_id, .. } = request.clone();
    ModelCall { id: tool_use_id, tool, input, for_us, agent, mode }
}

/// What may be remembered with an allow. The client would suggest to let our tool do anything.
fn suggestions(tool: &str, input: &Value) -> Vec<Value> {
    match tool {
        "Write" | "Edit" => vec![set_mode(Mode::AcceptEdits.name())],
        "Bash" => {
            let command = input.get("command").and_then(Value::as_str).unwrap_or_default();
            let rule = |content: String| json!({"toolName": "Bash", "ruleContent": content});
            let rules: Vec<Value> = remembered(command).into_iter().map(rule).collect();
            let add = json!({"type": "addRules", "rules": rules, "behavior": "allow", "destination": "localSettings"});
            (!rules.is_empty()).then_some(add).into_iter().collect()
        }
        _ => vec![],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_claude_code_would_offer_for_its_own_tool_is_offered_to_be_remembered() {
        let offered = |command: &str| suggestions("Bash", &json!({"command": command}));
        assert_eq!(offered("git push origin")[0]["rules"], json!([{"toolName": "Bash", "ruleContent": "git push *"}]));
        assert_eq!(offered("echo $(x)"), Vec::<Value>::new());
        assert_eq!(suggestions("Edit", &json!({}))[0]["mode"], "acceptEdits");
    }
}
