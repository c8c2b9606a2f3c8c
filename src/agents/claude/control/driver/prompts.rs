//! Permission requests and hooks of the client, translated for the gatekeeper and back.

mod own;

use std::sync::Arc;

use portcullis_core::policy::Mode;
use portcullis_core::{AskId, AskKind, Scope, Source};
use portcullis_wire::control::{CanUseTool, Classification, HookCallback, PermissionResult, error_line, success_line};
use portcullis_wire::hooks::refuse_tool;
use serde_json::{Map, Value, json};
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Driver, TaskMessage};
use crate::agents::claude::control::escapes::without_escapes;
use crate::agents::claude::control::requests::{Control, REQUEST_TIMEOUT};
use crate::agents::claude::{before_output, heeds_ask};
use crate::session::gatekeeper::{
    Capabilities, ClientFlags, DecidedBy, Decision, GatekeeperAnswer, ToolRequest, WithoutDecision,
};
use own::OwnTools;

const BEFORE: &str = "before";
const AFTER: &str = "after";
/// The client waits so long for the hook before a tool; people may have to be asked there.
const HOOK_TIMEOUT: Duration = Duration::from_secs(24 * 3600);

/// The hooks we want. A call whose hook fails does not run.
pub(in crate::agents::claude::control) fn wanted_hooks() -> Value {
    let before = json!([{"hookCallbackIds": [BEFORE], "timeout": HOOK_TIMEOUT.as_secs(), "onFailure": "block"}]);
    let after = json!([{"hookCallbackIds": [AFTER], "timeout": 60}]);
    json!({"PreToolUse": before, "PostToolUse": after, "PostToolUseFailure": after})
}

impl Driver {
    /// The client asks whether a tool may be used.
    pub(super) fn asked(&mut self, id: String, call: CanUseTool) {
        let mut request = self.asked_request(&call);
        let looks_up_plan = request.kind() == AskKind::Plan && call.input.get("plan").is_none();
        let (gatekeeper, control, cancelled) =
            (Arc::clone(&self.gatekeeper), self.control.clone(), self.begin_request(&id));
        let own = self.own_tools();
        let said = self.calls.preview_of(&call.tool_use_id).map(str::to_owned);
        let for_us = call.mcp_server.as_ref().is_some_and(|server| server.source.as_deref() == Some("sdk"));
        self.answer_with(id, cancelled.clone(), async move {
            if looks_up_plan {
                // The client leaves out what the model has said in the call itself, and people see it there.
                request.flags.plan = plan(&control).await.or(said);
            }
            let looked_up = own.prepare(&mut request, for_us, Some(&call)).await;
            let GatekeeperAnswer { decision, verdict } = gatekeeper.asked(request, &cancelled).await;
            own.decided(looked_up, &decision, &cancelled);
            let ends_turn = matches!(decision, Decision::Deny { interrupt: true, .. });
            (json!(result(decision, &call)), verdict, ends_turn)
        });
    }

    /// A hook of ours was reached: before a tool runs, also where nobody is asked, or after it ran.
    pub(super) fn hook(&mut self, id: String, hook: &HookCallback) {
        let text = |field: &str| hook.input.get(field).and_then(Value::as_str).map(str::to_owned);
        let tool = text("tool_name").unwrap_or_default();
        let input = hook.input.get("tool_input").cloned().unwrap_or_default();
        let tool_use_id = text("tool_use_id").or_else(|| hook.tool_use_id.clone());
        let for_us = hook.input.pointer("/mcp_server/source").and_then(Value::as_str) == Some("sdk");
        match hook.callback_id.as_str() {
            BEFORE => {
                let mode = text("permission_mode").or_else(|| self.gate.about().mode);
                let capabilities = Capabilities { waits: Some(HOOK_TIMEOUT), ..capabilities(mode.as_deref(), &input) };
                let request = ToolRequest {
                    tool,
                    input,
                    tool_use_id,
                    agent: text("agent_id"),
                    folder: text("cwd"),
                    capabilities,
                    mode,
                    suggestions: vec![],
                    flags: ClientFlags::default(),
                    unreadable: None,
                    remembered: None,
                    own: None,
                    could_write: None,
                    looked: None,
                    arrived: Instant::now(),
                };
                let (gatekeeper, cancelled) = (Arc::clone(&self.gatekeeper), self.begin_request(&id));
                let (own, mut request) = (self.own_tools(), request);
                self.answer_with(id, cancelled.clone(), async move {
                    if let Some(why) = own.other_tool(&request, for_us).await {
                        return (refuse_tool(&why), None, false);
                    }
                    let called = request.tool.clone();
                    let looked_up = own.prepare(&mut request, for_us, None).await;
                    let meant = request.tool.clone();
                    let names = [called.as_str(), meant.as_str()];
                    let answer = gatekeeper.before(request, &cancelled, own.may_hooks_answer(&names)).await;
                    let GatekeeperAnswer { decision, verdict } = answer;
                    own.decided(looked_up, &decision, &cancelled);
                    let output = Some(before_output(&decision)).filter(|output| !output.is_null());
                    (output.unwrap_or_else(|| json!({})), verdict, false)
                });
            }
            AFTER => {
                if let Some(tool_use_id) = tool_use_id {
                    let is_own = for_us && self.editor.named(&tool) != tool;
                    self.calls.ran(&tool_use_id, self.editor.named(&tool), &input, is_own);
                }
                self.control.say(success_line(&id, &json!({})));
            }
            other => self.control.say(error_line(&id, &format!("no hook {other:?} is registered here"))),
        }
    }

    pub(super) fn begin_request(&mut self, request: &str) -> CancellationToken {
        let cancelled = CancellationToken::new();
        self.pending.insert(request.to_owned(), cancelled.clone());
        cancelled
    }

    /// Answers a request of the client once it is decided, unless it is cancelled first. The answer comes with the ask
    /// whose verdict it carries, and whether it ends the turn.
    fn answer_with(
        &self,
        request: String,
        cancelled: CancellationToken,
        deciding: impl Future<Output = (Value, Option<AskId>, bool)> + Send + 'static,
    ) {
        let (control, messages) = (self.control.clone(), self.task_messages.clone());
        tokio::spawn(async move {
            let (answer, verdict, ends_turn) = deciding.await;
            if !cancelled.is_cancelled() {
                control.say_of(success_line(&request, &answer), vec![], verdict.into_iter().collect());
            }
            messages.send(TaskMessage::Answered { request, ends_turn }).await
        });
    }

    /// The client no longer asks.
    pub(super) fn cancelled(&mut self, request: &str) {
        if let Some(cancelled) = self.pending.get(request) {
            cancelled.cancel();
        }
    }

    fn asked_request(&self, call: &CanUseTool) -> ToolRequest {
        let held_up = matches!(call.decision_reason_type.as_deref(), Some("mode" | "safetyCheck" | "hook"))
            || call.matched_ask_rule.is_some();
        let mode = self.gate.about().mode;
        let said = [&call.title, &call.description].into_iter().flatten().map(|text| without_escapes(text));
        let flags = ClientFlags {
            default_to_no: call.default_to_no,
            suppress_always: call.suppress_always_allow_rule,
            requires_user_interaction: call.requires_user_interaction,
            held_up,
            reason: reason(call),
            description: said.into_iter().find(|text| !text.is_empty()),
            mcp: None,
            plan: None,
        };
        ToolRequest {
            tool: call.tool_name.clone(),
            input: call.input.clone(),
            tool_use_id: Some(call.tool_use_id.clone()).filter(|id| !id.is_empty()),
            agent: call.agent_id.clone(),
            folder: None,
            capabilities: capabilities(mode.as_deref(), &call.input),
            mode,
            suggestions: call.permission_suggestions.clone(),
            flags,
            unreadable: None,
            remembered: None,
            own: None,
            could_write: None,
            looked: None,
            arrived: Instant::now(),
        }
    }

    fn own_tools(&self) -> OwnTools {
        OwnTools::new(self.editor.clone(), self.control.clone())
    }
}

/// The control protocol waits for our answer as long as it takes, and nobody else can give one.
fn capabilities(mode: Option<&str>, input: &Value) -> Capabilities {
    Capabilities {
        source: Source::Control,
        edit: true,
        interrupt: true,
        remember: true,
        heeds_ask: heeds_ask(mode, input),
        terminal: false,
        waits: None,
        without_decision: WithoutDecision::Waits,
        modes: &[Mode::Default, Mode::AcceptEdits],
        confirms: true,
    }
}

/// The client keeps the plan to itself, but tells when asked.
async fn plan(control: &Control) -> Option<String> {
    let answer = control.request("get_plan", Map::new(), REQUEST_TIMEOUT).await.ok()?;
    Some(answer.get("content")?.as_str()?.to_owned())
}

/// The decision in the client's words.
fn result(decision: Decision, call: &CanUseTool) -> PermissionResult {
    let tool_use_id = call.tool_use_id.clone();
    match decision {
        Decision::Allow { input, remember, scope, by } => PermissionResult::Allow {
            updated_input: input.unwrap_or_else(|| call.input.clone()),
            updated_permissions: remember,
            tool_use_id,
            decision_classification: (by == DecidedBy::Person).then_some(match scope {
                Scope::Always => Classification::UserPermanent,
                Scope::Once | Scope::Session => Classification::UserTemporary,
            }),
        },
        Decision::Deny { message, interrupt, by } => PermissionResult::Deny {
            message,
            interrupt,
            tool_use_id,
            decision_classification: (by == DecidedBy::Person).then_some(Classification::UserReject),
        },
        // The client waits for one of the two, and silence is no permission.
        Decision::Ask { .. } | Decision::NoDecision => PermissionResult::Deny {
            message: "Nobody decided.".to_owned(),
            interrupt: false,
            tool_use_id,
            decision_classification: None,
        },
    }
}

/// Why the client asks at all.
fn reason(call: &CanUseTool) -> Option<String> {
    let rule = call.matched_ask_rule.as_ref().and_then(|rule| {
        let tool = rule.tool_name.as_deref()?;
        let content = rule.rule_content.as_ref().map(|content| format!("({content})")).unwrap_or_default();
        Some(format!("the rule {tool}{content} says to ask"))
    });
    let said = call.decision_reason.as_deref().map(without_escapes).filter(|reason| !reason.is_empty());
    let parts: Vec<String> = said.into_iter().chain(rule).collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
#[path = "prompts/tests.rs"]
mod tests;
