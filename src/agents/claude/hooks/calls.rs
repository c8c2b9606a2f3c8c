//! What each hook is answered: events ride on it, and what was asked is settled by it.

use portcullis_core::{AskId, CallOutcome, Text, ToolCall, excerpt, policy};
use portcullis_wire::hooks::{self, HookCall, HookEvent};
use portcullis_wire::preview::preview;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::prompts::Called;
use super::{HookAnswer, Room};

/// As much of a call goes on the record.
const LONGEST_RECORD: usize = 4 << 10;

impl Room {
    /// What a hook is to be told. Waits with a prompt until it is answered, closed or taken back.
    pub(crate) async fn call(&self, call: HookCall, taken_back: &CancellationToken) -> HookAnswer {
        self.is_installed(false).await;
        if let Some(mode) = &call.permission_mode
            && call.agent_id.is_none()
        {
            self.describe(|about| about.mode = Some(mode.clone())).await;
        }
        match call.event {
            HookEvent::PermissionRequest => self.permission(call, taken_back).await,
            HookEvent::PreToolUse => self.before_tool(&call),
            HookEvent::PostToolUse | HookEvent::PostToolUseFailure => self.after_tool(&call).await,
            HookEvent::PermissionDenied => {
                self.tool_ended(&call).await;
                HookAnswer::default()
            }
            HookEvent::UserPromptSubmit => self.prompted(&call).await,
            HookEvent::Stop => self.stops(&call).await,
            HookEvent::SubagentStop => {
                let agent = call.agent_id.clone();
                self.close_prompts(|asking| asking.is_some() && asking == agent.as_deref(), "the subagent ended").await;
                HookAnswer::default()
            }
            HookEvent::SessionStart => self.starts(&call).await,
            HookEvent::SessionEnd => {
                self.close_prompts(|_| true, "the session ended").await;
                HookAnswer::default()
            }
            HookEvent::FileChanged => self.woken(),
            HookEvent::Notification => {
                if call.notification_type.as_deref() == Some("idle_prompt") {
                    self.rests();
                }
                HookAnswer::default()
            }
        }
    }

    /// Nothing runs, and only a wake brings an event before the model.
    pub(super) fn rests(&self) {
        self.state().desk.pauses();
        self.stir.notify_one();
    }

    pub(super) fn before_tool(&self, call: &HookCall) -> HookAnswer {
        let mut state = self.state();
        if call.agent_id.is_none() {
            state.desk.works();
        }
        state.prompts.announced(Called::of(call));
        if let Some(why) = state.stopped() {
            return HookAnswer::saying(hooks::refuse_tool(&why));
        }
        drop(state);
        // Here rules only tighten. What the client lets through by itself never comes to a prompt.
        let ruling = (self.judge)(call);
        match ruling.rule.as_ref().map(|rule| rule.decision) {
            Some(policy::Decision::Deny) => HookAnswer::saying(hooks::refuse_tool(&ruling.why)),
            Some(policy::Decision::Ask) => HookAnswer::saying(hooks::ask_about_tool(&ruling.why)),
            Some(policy::Decision::Allow) | None => HookAnswer::default(),
        }
    }

    pub(super) async fn after_tool(&self, call: &HookCall) -> HookAnswer {
        self.tool_ended(call).await;
        // What a subagent's hooks say is read by the subagent alone.
        if call.agent_id.is_some() {
            return HookAnswer::default();
        }
        self.state().desk.works();
        self.hand_out(|text| hooks::context(call.event, text))
    }

    pub(super) async fn prompted(&self, call: &HookCall) -> HookAnswer {
        if call.is_notification() {
            self.state().desk.works();
            return HookAnswer::default();
        }
        self.state().desk.spoken_to();
        self.close_prompts(|asking| asking.is_none(), "the session went on to another prompt").await;
        self.hand_out(|text| hooks::context(HookEvent::UserPromptSubmit, text))
    }

    pub(super) async fn stops(&self, call: &HookCall) -> HookAnswer {
        if call.agent_id.is_some() {
            return HookAnswer::default();
        }
        self.close_prompts(|asking| asking.is_none(), "the session went on without an answer").await;
        let may_go_on = self.state().desk.stops(call.stop_hook_active);
        if !may_go_on {
            self.stir.notify_one();
            return HookAnswer::default();
        }
        let answer = match self.hand_out(|text| hooks::context(HookEvent::Stop, text)) {
            answer if answer.receipt.is_some() => answer,
            _ => self.remind(),
        };
        if !answer.output.is_null() {
            self.state().desk.kept();
        }
        answer
    }

    /// Whoever must have a reply and has none: the model is told once.
    pub(super) fn remind(&self) -> HookAnswer {
        let owed = std::mem::take(&mut self.state().owed);
        if owed.is_empty() {
            return HookAnswer::default();
        }
        let chats = owed.iter().map(|chat| format!("{chat:?}")).collect::<Vec<_>>().join(", ");
        let text = format!(
            "Portcullis: a message came with chat_id {chats} and its sender waits for an answer. Text in the terminal \
             does not reach them: call the tool `reply` with that chat_id, then stop."
        );
        HookAnswer::saying(hooks::context(HookEvent::Stop, &text))
    }

    pub(super) async fn starts(&self, call: &HookCall) -> HookAnswer {
        if let Some(agent_session) = &call.session_id {
            self.describe(|about| about.agent_session = Some(agent_session.clone())).await;
        }
        if call.source.as_deref() != Some("compact") {
            self.state().desk.rests();
            self.close_prompts(|_| true, "the conversation began anew").await;
        }
        self.stir.notify_one();
        HookAnswer::default()
    }

    pub(super) fn woken(&self) -> HookAnswer {
        self.hand_out(|text| Value::from(text))
    }

    pub(super) fn hand_out(&self, say: impl FnOnce(&str) -> Value) -> HookAnswer {
        match self.state().desk.hand(&fence) {
            Some((receipt, text)) => HookAnswer { output: say(&text), receipt: Some(receipt) },
            None => HookAnswer::default(),
        }
    }

    /// The tool ran, failed or was refused: whatever was asked about it is settled.
    pub(super) async fn tool_ended(&self, call: &HookCall) {
        let called = Called::of(call);
        let (open, answered) = {
            let mut state = self.state();
            (state.prompts.made(&called), state.prompts.answered_for(&called))
        };
        let outcome = match call.event {
            HookEvent::PermissionDenied => CallOutcome::Denied,
            HookEvent::PostToolUseFailure => CallOutcome::Failed,
            _ => CallOutcome::Ran,
        };
        let by_rule = self.state().prompts.allowed_by(&called);
        let decided_by = match (open, answered, by_rule) {
            (Some(_), ..) => "terminal".to_owned(),
            (None, Some(_), _) => "hook".to_owned(),
            (None, None, Some(rule)) => format!("rule {rule}"),
            // Its own rules, or its mode: it does not tell hooks which.
            (None, None, None) => "client".to_owned(),
        };
        self.record(recorded(call, &called, outcome, decided_by, open.or(answered))).await;
    }

    pub(super) async fn close_prompts(&self, concerns: impl Fn(Option<&str>) -> bool, why: &str) {
        let asks = self.state().prompts.went_on(concerns);
        for ask in asks {
            self.withdraw(ask, why).await;
        }
    }
}

/// One call, for the record.
pub(super) fn recorded(
    call: &HookCall,
    called: &Called,
    outcome: CallOutcome,
    decided_by: String,
    ask: Option<AskId>,
) -> ToolCall {
    let shown = preview(&call.tool_name, &call.tool_input);
    ToolCall {
        tool: called.tool.clone(),
        tool_use_id: called.tool_use_id.clone(),
        agent: called.agent.clone(),
        outcome,
        decided_by,
        digest: Some(called.digest),
        ask,
        preview: Text::new(excerpt(&shown, Some(LONGEST_RECORD)).0),
    }
}

/// What nobody outside can know.
fn fence() -> String {
    format!("={:016x}=", getrandom::u64().unwrap_or_default())
}
