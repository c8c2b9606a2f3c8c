//! A permission request, from the hook that brings it to the verdict that answers it.

use std::time::Duration;

use portcullis_core::policy::{self, Decision};
use portcullis_core::{
    AskId, AskKind, AskTimeout, Behavior, CallOutcome, Details, NewAsk, Offer, OnTimeout, Ruling, Scope, Source, Text,
    excerpt,
};
use portcullis_wire::hooks::{self, HookCall};
use portcullis_wire::permission::{remembered, suggested};
use portcullis_wire::preview::{description, preview};
use tokio_util::sync::CancellationToken;

use super::calls::recorded;
use super::prompts::{Called, Outcome};
use super::{HookAnswer, Room};
use crate::hub::mint;

/// So long a gate that is away may take to hear of a prompt. After that it is the terminal's alone; where nobody sits at
/// one, as with `claude -p`, somebody may be waiting for its end.
const PATIENCE: Duration = Duration::from_secs(60);
const UNATTENDED_PATIENCE: Duration = Duration::from_secs(5);
/// A gate that is there answers within this.
const PROMPTLY: Duration = Duration::from_secs(1);
/// `install` lets the client wait for a prompt so long; the hook is gone then.
const PROMPT_SECONDS: u64 = 24 * 3600;
/// Where nobody sits at the terminal nothing else ends the wait.
const UNATTENDED_SECONDS: u64 = 10 * 60;
/// So much earlier the prompt is closed here.
const MARGIN_SECONDS: u64 = 5;
/// A prompt's texts are for people to read; more than this nobody reads.
const LONGEST_PREVIEW: usize = 256 << 10;

impl Room {
    pub(super) async fn permission(&self, call: HookCall, taken_back: &CancellationToken) -> HookAnswer {
        // The hook before a tool says so as well, but the client goes on without it where it does not answer in time.
        if let Some(denied) = self.denied_while_stopped() {
            return denied;
        }
        let called = self.state().prompts.joined(Called::of(&call));
        let ruling = (self.judge)(&call);
        match &ruling.rule {
            Some(rule) if rule.decision == Decision::Deny => {
                let by = format!("rule {}", rule.pattern);
                self.record_later(recorded(&call, &called, CallOutcome::Denied, by, None));
                return HookAnswer::saying(hooks::deny(Some(&ruling.why), false));
            }
            Some(rule) if may_pass(&ruling, &call) && self.gate_is_there().await => {
                if let Some(denied) = self.denied_while_stopped() {
                    return denied;
                }
                self.state().prompts.allow_by(rule.pattern.to_string(), called);
                return HookAnswer::saying(hooks::allow(None, vec![]));
            }
            _ => {}
        }
        let ask = mint(AskId::new);
        let is_attended = self.state().is_attended;
        let (patience, seconds) = match is_attended {
            true => (PATIENCE, PROMPT_SECONDS),
            false => (UNATTENDED_PATIENCE, UNATTENDED_SECONDS),
        };
        let mut new = new_ask(ask, &call, &called, &ruling);
        let milliseconds = (seconds - MARGIN_SECONDS) * 1000;
        new.details.timeout = Some(AskTimeout { milliseconds, then: OnTimeout::NoDecision });
        let outcome = {
            let mut state = self.state();
            // A stop before this is seen here, and one after it ends the prompt.
            if let Some(why) = state.stopped() {
                return HookAnswer::saying(hooks::deny(Some(&why), false));
            }
            state.prompts.open(ask, called)
        };
        let asked = async {
            match tokio::time::timeout(patience, self.line.ask_for(new)).await {
                Ok(Ok(code)) => tracing::debug!(%code, "a prompt is shown"),
                Ok(Err(fault)) => self.give_up(ask, &fault.message).await,
                Err(_) => self.give_up(ask, "the gate is away").await,
            }
            outcome.await.unwrap_or(Outcome::NoDecision)
        };
        let outcome = tokio::select! {
            outcome = asked => outcome,
            () = taken_back.cancelled() => {
                if self.state().prompts.take_back(ask) {
                    self.withdraw(ask, "denied, interrupted or timed out at the terminal").await;
                }
                // A person who says no ends the turn, and no hook tells of that.
                if call.agent_id.is_none() {
                    self.rests();
                }
                return HookAnswer::default();
            }
        };
        match outcome {
            Outcome::NoDecision => self.denied_while_stopped().unwrap_or_default(),
            Outcome::Stopped => {
                self.withdraw(ask, "the session was stopped").await;
                let why = self.state().stopped().unwrap_or_else(|| "this session was stopped from outside".to_owned());
                HookAnswer::saying(hooks::deny(Some(&why), false))
            }
            Outcome::Verdict(ruling) => {
                let receipt = Some(self.state().desk.hand_verdict(ask));
                if ruling.interrupt && call.agent_id.is_none() {
                    self.rests();
                }
                HookAnswer { output: self.carried(&ruling, call), receipt }
            }
        }
    }

    fn denied_while_stopped(&self) -> Option<HookAnswer> {
        let why = self.state().stopped()?;
        Some(HookAnswer::saying(hooks::deny(Some(&why), false)))
    }

    /// The verdict as the client reads it. An input that is no JSON, or that a rule denies, allows nothing; nor does a
    /// verdict that a stop has overtaken.
    fn carried(&self, ruling: &Ruling, mut call: HookCall) -> serde_json::Value {
        if ruling.behavior == Behavior::Deny {
            return hooks::deny(ruling.why.as_deref(), ruling.interrupt);
        }
        if let Some(denied) = self.denied_while_stopped() {
            return denied.output;
        }
        if let Some(edited) = &ruling.input {
            let Ok(input) = serde_json::from_str(edited.text.as_str()) else {
                return hooks::deny(Some("the edited input could not be read"), false);
            };
            call.tool_input = input;
            let judged = (self.judge)(&call);
            if judged.decision == Decision::Deny {
                return hooks::deny(Some(&format!("the edited input is denied: {}", judged.why)), false);
            }
        }
        let permissions = match ruling.scope {
            Scope::Once => vec![],
            Scope::Session => remembered(&call.permission_suggestions, false),
            Scope::Always => remembered(&call.permission_suggestions, true),
        };
        hooks::allow(ruling.input.is_some().then_some(call.tool_input), permissions)
    }

    /// What a rule allows is on the record, or is not allowed by it.
    async fn gate_is_there(&self) -> bool {
        tokio::time::timeout(PROMPTLY, self.line.inbox()).await.is_ok_and(|answer| answer.is_ok())
    }

    /// Nobody was asked, so nobody may be waiting to answer when the gate is back.
    async fn give_up(&self, ask: AskId, why: &str) {
        tracing::warn!("a prompt was not relayed, answer it at the terminal: {why}");
        if self.state().prompts.take_back(ask) {
            self.withdraw(ask, "the gate was away, and the terminal has it").await;
        }
    }
}

/// Only a rule that somebody wrote lets a call through, and only where the client has no misgivings of its own: it
/// suggests nothing to remember where it would never let a rule decide.
fn may_pass(ruling: &policy::Judgement, call: &HookCall) -> bool {
    let mode = call.permission_mode.as_deref();
    ruling.decision == Decision::Allow
        && ruling.mandatory_asks.is_empty()
        && mode != Some("plan")
        && AskKind::of_tool(&call.tool_name) == AskKind::Tool
        && !call.permission_suggestions.is_empty()
}

fn new_ask(ask: AskId, call: &HookCall, called: &Called, ruling: &policy::Judgement) -> NewAsk {
    let (tool, input) = (&call.tool_name, &call.tool_input);
    let offers = suggested(&call.permission_suggestions).into_iter().map(|suggested| Offer {
        scope: if suggested.always { Scope::Always } else { Scope::Session },
        words: suggested.words,
    });
    let kind = AskKind::of_tool(tool);
    let details = Details {
        input: Some(Text::new(input.to_string())),
        digest: Some(called.digest),
        tool_use_id: called.tool_use_id.clone(),
        agent: called.agent.clone(),
        kind,
        offers: if ruling.suppress_always { vec![] } else { offers.collect() },
        reason: Some(ruling.why.clone()).filter(|why| !why.is_empty()),
        risk: Some(ruling.risk.clone()),
        editable: true,
        interruptible: true,
        requires_user_interaction: kind != AskKind::Tool,
        ..Details::default()
    };
    NewAsk {
        id: ask,
        source: Source::Hook,
        origin: ask.to_string(),
        tool: tool.clone(),
        description: shortened(description(tool, input)),
        preview: shortened(preview(tool, input)),
        details,
    }
}

fn shortened(text: String) -> Text {
    match excerpt(&text, Some(LONGEST_PREVIEW)) {
        (_, 0) => Text::new(text),
        (start, rest) => Text::new(format!("{start}\n[{rest} more bytes are shown at the terminal only]")),
    }
}
