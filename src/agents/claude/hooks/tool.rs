//! The hooks about tool calls, translated for the gatekeeper and back.

use std::time::Duration;

use portcullis_core::policy::Mode;
use portcullis_core::{CallOutcome, Source};
use portcullis_wire::hooks::{self, HookCall, HookEvent};
use portcullis_wire::preview::preview;
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{HandedOut, HookAnswer, HookSession};
use crate::agents::claude::others_hooks::may_answer_by;
use crate::agents::claude::{before_output, heeds_ask};
use crate::fixed;
use crate::session::gatekeeper::{
    CallKey, Capabilities, ClientFlags, Decision, FinishedCall, GatekeeperAnswer, Judge, ToolRequest, WentOn,
    WithoutDecision, call_digest,
};

/// `install` lets the client wait so long for a hook that decides.
const HOOK_TIMEOUT: Duration = Duration::from_secs(24 * 3600);
/// Hooks before version 2 were given so long before a tool.
const OLD_HOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// Since this version of the hooks the client tells when all calls of a message are over.
const TELLS_BATCHES: u32 = 3;
/// What the client gives a hook whose timeout nobody wrote down.
const DEFAULT_HOOK_TIMEOUT: Duration = Duration::from_secs(600);
/// Where nobody sits at the terminal nothing else ends the wait.
const UNATTENDED_TIMEOUT: Duration = Duration::from_secs(10 * 60);

/// So long a path in a project's settings is followed.
const LOOKED_WITHIN: Duration = Duration::from_secs(2);

/// The tool of a call of which not even that could be read.
const UNKNOWN_TOOL: &str = "an unknown tool";

impl HookSession {
    pub(super) async fn before_tool(&self, call: HookCall, cancelled: &CancellationToken) -> HookAnswer {
        if call.agent_id.is_none() {
            self.state().inbox.mark_busy();
        }
        let (is_main, agent) = (call.agent_id.is_none(), call.agent_id.clone());
        self.gatekeeper.went_on(WentOn::NextCall, |calling| calling == agent.as_deref());
        let (judge, tool) = (self.gatekeeper.judge(), call.tool_name.clone());
        let of_project = async move { may_project_answer(&judge, &tool).await };
        let answer = self.gatekeeper.before(self.request(call), cancelled, of_project).await;
        // A person who interrupts a call that is held ends the turn, and no hook tells of that.
        if is_main && cancelled.is_cancelled() {
            self.mark_idle();
        }
        answer_with(before_output(&answer.decision), &answer)
    }

    pub(super) async fn permission(&self, call: HookCall, cancelled: &CancellationToken) -> HookAnswer {
        let (is_main, input) = (call.agent_id.is_none(), call.tool_input.clone());
        let is_plan = call.tool_name == "ExitPlanMode";
        let answer = self.gatekeeper.asked(self.request(call), cancelled).await;
        let output = match &answer.decision {
            // The client takes an approved plan only together with its input.
            Decision::Allow { input: edited, remember, .. } => {
                hooks::allow(edited.clone().or(is_plan.then_some(input)), remember.clone())
            }
            Decision::Deny { message, interrupt, .. } => hooks::deny(Some(message), *interrupt),
            Decision::Ask { .. } | Decision::NoDecision => Value::Null,
        };
        // A person who says no at the terminal ends the turn, and no hook tells of that.
        let interrupts = matches!(answer.decision, Decision::Deny { interrupt: true, .. });
        if is_main && (cancelled.is_cancelled() || interrupts) {
            self.mark_idle();
        }
        answer_with(output, &answer)
    }

    /// The tool ran, failed or was refused. Returns what the person at the terminal is told of it.
    pub(super) fn finished(&self, call: &HookCall) -> Option<String> {
        let outcome = match call.event {
            HookEvent::PermissionDenied => CallOutcome::Denied,
            HookEvent::PostToolUseFailure => CallOutcome::Failed,
            _ => CallOutcome::Ran,
        };
        let ran = self.gatekeeper.after(FinishedCall {
            call: CallKey {
                tool: call.tool_name.clone(),
                agent: call.agent_id.clone(),
                digest: call_digest(&call.tool_name, &call.tool_input),
                tool_use_id: call.tool_use_id.clone(),
                folder: None,
            },
            preview: preview(&call.tool_name, &call.tool_input),
            outcome,
            decided_by: None,
        });
        ran.alarm(&call.tool_name, call.tool_use_id.as_deref())
    }

    /// How long the client waits for this hook.
    fn hook_timeout(&self, call: &HookCall, is_attended: bool) -> Duration {
        let installed = match (call.hooks_version, call.event) {
            _ if self.is_posted => DEFAULT_HOOK_TIMEOUT,
            (None, HookEvent::PreToolUse) => OLD_HOOK_TIMEOUT,
            _ => fixed::wait("HOOK_TIMEOUT", HOOK_TIMEOUT),
        };
        if is_attended { installed } else { installed.min(UNATTENDED_TIMEOUT) }
    }

    fn request(&self, call: HookCall) -> ToolRequest {
        let (is_attended, tells_batches) = {
            let state = self.state();
            (state.is_attended, state.tells_batches)
        };
        let flags = ClientFlags {
            // The client suggests nothing to remember where it would never let a rule decide.
            suppress_always: call.event == HookEvent::PermissionRequest && call.permission_suggestions.is_empty(),
            ..ClientFlags::default()
        };
        let capabilities = Capabilities {
            waits: Some(self.hook_timeout(&call, is_attended)),
            confirms: tells_batches || call.hooks_version.is_some_and(|version| version >= TELLS_BATCHES),
            ..capabilities(&call, is_attended)
        };
        request(call, flags, capabilities)
    }
}

/// What is answered to a hook whose session's process is away.
pub(crate) async fn judge_alone(judge: &Judge, call: HookCall, is_attended: bool) -> Value {
    let (event, mut capabilities) = (call.event, capabilities(&call, is_attended));
    capabilities.heeds_ask = capabilities.heeds_ask && !may_project_answer(judge, &call.tool_name).await;
    let decision = judge.decide_alone(&request(call, ClientFlags::default(), capabilities)).await;
    match (event, &decision) {
        (HookEvent::PreToolUse, _) => before_output(&decision),
        (HookEvent::PermissionRequest, Decision::Deny { message, interrupt, .. }) => {
            hooks::deny(Some(message), *interrupt)
        }
        _ => Value::Null,
    }
}

/// Whether a hook that a project brings may answer in the person's place where Claude Code asks about a call of the tool. One
/// in the user's own settings is the user's word.
async fn may_project_answer(judge: &Judge, tool: &str) -> bool {
    let Some(settings) = judge.settings_of_project().await else { return true };
    let tool = tool.to_owned();
    let looking = tokio::task::spawn_blocking(move || may_answer_by(&settings, &tool));
    // A path in such a file may lead to a disk that does not answer.
    tokio::time::timeout(LOOKED_WITHIN, looking).await.ok().and_then(Result::ok).unwrap_or(true)
}

fn capabilities(call: &HookCall, is_attended: bool) -> Capabilities {
    Capabilities {
        source: Source::Hook,
        edit: true,
        interrupt: true,
        remember: true,
        heeds_ask: is_attended && heeds_ask(call.permission_mode.as_deref(), &call.tool_input),
        terminal: is_attended,
        waits: None,
        without_decision: if is_attended { WithoutDecision::Prompts } else { WithoutDecision::Denies },
        modes: &[Mode::Default, Mode::AcceptEdits, Mode::Auto],
        confirms: false,
    }
}

fn request(call: HookCall, flags: ClientFlags, capabilities: Capabilities) -> ToolRequest {
    let is_unnamed = call.unreadable.is_some() && call.tool_name.is_empty();
    ToolRequest {
        tool: if is_unnamed { UNKNOWN_TOOL.to_owned() } else { call.tool_name },
        input: call.tool_input,
        tool_use_id: call.tool_use_id,
        agent: call.agent_id,
        folder: call.cwd,
        mode: call.permission_mode,
        suggestions: call.permission_suggestions,
        flags,
        capabilities,
        unreadable: call.unreadable,
        remembered: None,
        own: None,
        could_write: None,
        looked: None,
        arrived: Instant::now(),
    }
}

fn answer_with(output: Value, answer: &GatekeeperAnswer) -> HookAnswer {
    HookAnswer { output, handed_out: HandedOut { verdict: answer.verdict, ..HandedOut::default() } }
}
