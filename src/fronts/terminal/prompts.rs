//! Prompts at a terminal: shown one after the other, and settled there or elsewhere.

use std::time::Duration;

use portcullis_core::{AskId, Behavior, Ruling};
use portcullis_wire::api::AskView;
use portcullis_wire::front::PromptNews;
use portcullis_wire::questions::how_to_allow;
use serde_json::json;

use super::{Question, TerminalFront};
use crate::gate::client::Client;

impl TerminalFront {
    pub(super) async fn prompt(&mut self, news: PromptNews) {
        match news {
            PromptNews::Asked { ask, code } => {
                let input: serde_json::Value =
                    ask.details.input.as_ref().map_or_else(Default::default, |input| {
                        serde_json::from_str(input.as_str()).unwrap_or_default()
                    });
                let shown = json!({"type": "portcullis", "subtype": "asked", "id": ask.id.to_string(),
                    "code": code.map(|code| code.to_string()), "toolName": ask.tool, "input": input,
                    "tool_use_id": ask.details.tool_use_id});
                self.printer.ours(&shown).await;
                if !self.setup.at_terminal {
                    let how = code.map(|code| format!("; {}", how_to_allow(&ask.details, &code.to_string())));
                    let how = how.unwrap_or_default();
                    let words = format!("waiting for permission: {}{how}", portcullis_core::visible(&ask.tool));
                    return self.printer.note(&words).await;
                }
                self.questions.push_back(Question::new(*ask, code));
                if self.questions.len() == 1 {
                    self.show().await;
                }
            }
            PromptNews::Ruled { ask, ruling } => self.settled(ask, Ok(&ruling)).await,
            PromptNews::Withdrawn { ask, why } => self.settled(ask, Err(&why)).await,
            PromptNews::NotTaken { ask, fault } => {
                self.answered.remove(&ask);
                self.printer.note(&format!("not taken: {}", portcullis_core::visible(&fault.message))).await;
                if let Some(question) = self.questions.front().filter(|question| question.ask.id == ask)
                    && self.setup.no_answers.is_none()
                {
                    let words = question.asks_for();
                    self.printer.ask(&words).await;
                }
            }
        }
    }

    /// A prompt is settled: here, elsewhere, or because nobody can answer it any more, for the reason given.
    async fn settled(&mut self, ask: AskId, ruling: Result<&Ruling, &str>) {
        let was_shown = self.questions.front().is_some_and(|question| question.ask.id == ask);
        let here = self.answered.remove(&ask);
        let name = self
            .questions
            .iter()
            .find(|question| question.ask.id == ask)
            .map(|question| question.code.map_or_else(|| question.ask.tool.clone(), |code| code.to_string()));
        self.questions.retain(|question| question.ask.id != ask);
        let (behavior, words) = match ruling {
            Ok(ruling) => {
                let said = if ruling.behavior == Behavior::Allow { "allowed" } else { "denied" };
                let who = if here || !self.setup.at_terminal { String::new() } else { who_answered(ask).await };
                (Some(ruling.behavior.name()), format!("{said}{who}"))
            }
            Err(why) => (None, format!("no longer asked: {}", portcullis_core::visible(why))),
        };
        let shown = json!({"type": "portcullis", "subtype": "settled", "id": ask.to_string(), "behavior": behavior});
        self.printer.ours(&shown).await;
        if !here && (self.setup.at_terminal || behavior.is_none()) {
            let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
            self.printer.note(&format!("\n{name}{words}")).await;
        }
        if was_shown {
            // Whoever has answered it here may go on to talk.
            if !here {
                self.forget_typed();
            }
            self.show().await;
        }
    }

    /// What was typed up to now was not meant for the prompt that is shown next, nor for the session.
    fn forget_typed(&mut self) {
        if let Some(typed) = self.typed.as_mut().filter(|_| self.setup.no_answers.is_none()) {
            typed.forget();
        }
    }

    async fn show(&mut self) {
        if self.questions.is_empty() {
            return;
        }
        self.forget_typed();
        let Some(question) = self.questions.front() else { return };
        let mut words = question.in_words();
        match &self.setup.no_answers {
            None => words.push_str(&format!("\n{}", question.asks_for())),
            Some(why) => words.push_str(&format!("\n  not answered here: {}\n", portcullis_core::visible(why))),
        }
        self.printer.note("").await;
        self.printer.ask(&words).await;
    }
}

/// ` by ann over http` or ` by ann on "Phone"`, as the gate tells; nothing where it does not.
async fn who_answered(ask: AskId) -> String {
    const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
    let look = async {
        let gate = Client::of_the_gate().ok()?;
        let view: AskView = gate.get(&format!("/api/v1/asks/{ask}")).await.ok()?;
        view.verdict.map(|verdict| format!(" by {}", verdict.by_whom()))
    };
    let who = tokio::time::timeout(LOOKUP_TIMEOUT, look).await.ok().flatten();
    portcullis_core::visible(&who.unwrap_or_default())
}
