//! A permission request, from the hook that brings it to the verdict that answers it.

use std::time::Duration;

use portcullis_core::{AskId, Behavior};
use portcullis_wire::hooks::{self, HookCall};
use portcullis_wire::preview::{description, preview};
use tokio_util::sync::CancellationToken;

use super::prompts::{Called, Outcome};
use super::{HookAnswer, Room};
use crate::hub::mint;

/// So long a gate that is away may take to hear of a prompt. After that it is the terminal's alone.
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Debug)]
pub(super) struct Ruling {
    pub(super) ask: AskId,
    pub(super) behavior: Behavior,
}

impl Room {
    pub(super) async fn permission(&self, call: HookCall, taken_back: &CancellationToken) -> HookAnswer {
        let ask = mint(AskId::new);
        let outcome = {
            let mut state = self.state();
            let called = state.prompts.joined(Called::of(&call));
            state.prompts.open(ask, called)
        };
        let (tool, input) = (&call.tool_name, &call.tool_input);
        let asked = self.line.asked(ask.to_string(), tool.clone(), description(tool, input), preview(tool, input));
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok(code)) => tracing::debug!(%code, "a prompt is shown"),
            Ok(Err(fault)) => return self.give_up(ask, &fault.message),
            Err(_) => return self.give_up(ask, "the gate is away"),
        }
        let outcome = tokio::select! {
            outcome = outcome => outcome.unwrap_or(Outcome::NoDecision),
            () = taken_back.cancelled() => {
                if self.state().prompts.take_back(ask) {
                    self.withdraw(ask, "denied, interrupted or timed out at the terminal").await;
                }
                return HookAnswer::default();
            }
        };
        match outcome {
            Outcome::NoDecision => HookAnswer::default(),
            Outcome::Verdict(ruling) => {
                let output = match ruling.behavior {
                    Behavior::Allow => hooks::allow(None, vec![]),
                    Behavior::Deny => hooks::deny(None, false),
                };
                HookAnswer { output, receipt: Some(self.state().desk.hand_verdict(ruling.ask)) }
            }
        }
    }

    fn give_up(&self, ask: AskId, why: &str) -> HookAnswer {
        tracing::warn!("a prompt was not relayed, answer it at the terminal: {why}");
        self.state().prompts.take_back(ask);
        HookAnswer::default()
    }

    pub(super) async fn withdraw(&self, ask: AskId, why: &str) {
        tracing::debug!(%ask, why, "to be withdrawn");
        self.line.confirm().await;
    }
}
