//! A permission request, from the hook that brings it to the verdict that answers it.

use std::time::Duration;

use portcullis_core::{AskId, AskKind, Behavior, Details, Lapse, Mouth, NewAsk, Offer, Ruling, Span, Text, excerpt};
use portcullis_wire::hooks::{self, HookCall};
use portcullis_wire::permission::{remembered, suggested};
use portcullis_wire::preview::{description, preview};
use tokio_util::sync::CancellationToken;

use super::prompts::{Called, Outcome};
use super::{HookAnswer, Room};
use crate::hub::mint;

/// So long a gate that is away may take to hear of a prompt. After that it is the terminal's alone.
const PATIENCE: Duration = Duration::from_secs(5);
/// `install` lets the client wait for a prompt so long; the hook is gone then.
pub(crate) const PROMPT_SECONDS: u64 = 24 * 3600;
/// So much earlier the prompt is closed here.
const MARGIN_SECONDS: u64 = 5;
/// A prompt's texts are for people to read; more than this nobody reads.
const LONGEST_PREVIEW: usize = 256 << 10;

impl Room {
    pub(super) async fn permission(&self, call: HookCall, taken_back: &CancellationToken) -> HookAnswer {
        let ask = mint(AskId::new);
        let called = self.state().prompts.joined(Called::of(&call));
        let new = new_ask(ask, &call, &called);
        let outcome = self.state().prompts.open(ask, called);
        match tokio::time::timeout(PATIENCE, self.line.ask_for(new)).await {
            Ok(Ok(code)) => tracing::debug!(%code, "a prompt is shown"),
            Ok(Err(fault)) => return self.give_up(ask, &fault.message).await,
            Err(_) => return self.give_up(ask, "the gate is away").await,
        }
        let outcome = tokio::select! {
            outcome = outcome => outcome.unwrap_or(Outcome::NoDecision),
            () = taken_back.cancelled() => {
                if self.state().prompts.take_back(ask) {
                    self.line.withdraw(ask, "denied, interrupted or timed out at the terminal").await;
                }
                return HookAnswer::default();
            }
        };
        match outcome {
            Outcome::NoDecision => HookAnswer::default(),
            Outcome::Verdict(ruling) => {
                let receipt = Some(self.state().desk.hand_verdict(ask));
                HookAnswer { output: carried(ruling, &call), receipt }
            }
        }
    }

    /// Nobody was asked, so nobody may be waiting to answer when the gate is back.
    async fn give_up(&self, ask: AskId, why: &str) -> HookAnswer {
        tracing::warn!("a prompt was not relayed, answer it at the terminal: {why}");
        if self.state().prompts.take_back(ask) {
            self.line.withdraw(ask, "the gate was away, and the terminal has it").await;
        }
        HookAnswer::default()
    }
}

fn new_ask(ask: AskId, call: &HookCall, called: &Called) -> NewAsk {
    let (tool, input) = (&call.tool_name, &call.tool_input);
    let offers = suggested(&call.permission_suggestions).into_iter().map(|suggested| Offer {
        span: if suggested.always { Span::Always } else { Span::Session },
        words: suggested.words,
    });
    let kind = AskKind::of_tool(tool);
    let details = Details {
        input: Some(Text::new(input.to_string())),
        digest: Some(called.digest),
        tool_use: called.tool_use.clone(),
        agent: called.agent.clone(),
        kind,
        offers: offers.collect(),
        editable: true,
        interruptible: true,
        hands_on: kind != AskKind::Tool,
        within: Some(((PROMPT_SECONDS - MARGIN_SECONDS) * 1000, Lapse::NoDecision)),
        ..Details::default()
    };
    NewAsk {
        id: ask,
        mouth: Mouth::Hook,
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

/// The verdict as the client reads it. An input that is no JSON allows nothing.
fn carried(ruling: Ruling, call: &HookCall) -> serde_json::Value {
    match ruling.behavior {
        Behavior::Deny => hooks::deny(ruling.why.as_deref(), ruling.interrupt),
        Behavior::Allow => {
            let input = match ruling.input.map(|edited| serde_json::from_str(edited.text.as_str())) {
                None => None,
                Some(Ok(input)) => Some(input),
                Some(Err(_)) => return hooks::deny(Some("the edited input could not be read"), false),
            };
            let permissions = match ruling.span {
                Span::Once => vec![],
                Span::Session => remembered(&call.permission_suggestions, false),
                Span::Always => remembered(&call.permission_suggestions, true),
            };
            hooks::allow(input, permissions)
        }
    }
}
