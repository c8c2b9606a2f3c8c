//! Hooks of the client that call back to us: before a tool runs, also where nobody is asked, and after it ran.

use portcullis_wire::control::{HookCallback, error_line, success_line};
use serde_json::{Value, json};

use super::Driver;
use crate::agents::claude::control::policy::Judgement;

const BEFORE: &str = "before";
const AFTER: &str = "after";

/// The hooks we want. A call whose hook fails does not run.
pub(super) fn wanted() -> Value {
    let before = json!([{"hookCallbackIds": [BEFORE], "timeout": 60, "onFailure": "block"}]);
    let after = json!([{"hookCallbackIds": [AFTER], "timeout": 60}]);
    json!({"PreToolUse": before, "PostToolUse": after, "PostToolUseFailure": after})
}

impl Driver {
    pub(super) fn hook(&mut self, id: &str, hook: &HookCallback) {
        let input = &hook.input;
        let tool = input.get("tool_name").and_then(Value::as_str).unwrap_or_default();
        let arguments = input.get("tool_input").unwrap_or(&Value::Null);
        match hook.callback_id.as_str() {
            BEFORE => self.control.say(success_line(id, &self.before(tool, arguments))),
            AFTER => {
                self.after(hook, tool, arguments);
                self.control.say(success_line(id, &json!({})));
            }
            other => self.control.say(error_line(id, &format!("no hook {other:?} is registered here"))),
        }
    }

    /// Holds up what the client would let through by itself, where a rule or a person wants it. Never allows.
    fn before(&self, tool: &str, input: &Value) -> Value {
        let decision = |decision: &str, why: &str| json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": why}});
        if let Some(by) = &self.stopped {
            return decision("deny", &format!("{by} has stopped this session: no tool runs until it is resumed."));
        }
        match self.judge(tool, input) {
            Judgement::Deny { why } => decision("deny", &why),
            Judgement::Ask { always: true, why, .. } => decision("ask", &why.unwrap_or_default()),
            Judgement::Ask { .. } | Judgement::Allow => json!({}),
        }
    }

    /// What ran is compared with what was allowed.
    fn after(&mut self, hook: &HookCallback, tool: &str, input: &Value) {
        let call = hook.input.get("tool_use_id").and_then(Value::as_str).or(hook.tool_use_id.as_deref());
        let Some(call) = call else { return };
        if !self.calls.ran(call, input) {
            self.notice(format!("{tool} ran with something else than was allowed; the log has the call {call}"));
        }
    }
}
