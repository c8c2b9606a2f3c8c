//! Prompts at a terminal: shown one after the other, and settled there or elsewhere.

use std::time::Duration;

use portcullis_core::{AskId, AskKind, Behavior, Ruling, visible};
use portcullis_wire::api::AskView;
use portcullis_wire::front::PromptNews;
use portcullis_wire::preview;
use portcullis_wire::questions::how_to_allow;
use portcullis_wire::text::one_line;
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
                    let words = format!("waiting for permission: {}{how}", visible(&ask.tool));
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
                self.printer.note(&format!("not taken: {}", visible(&fault.message))).await;
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
        let question = self.questions.iter().find(|question| question.ask.id == ask);
        let name =
            question.map(|question| question.code.map_or_else(|| question.ask.tool.clone(), |code| code.to_string()));
        let input = question.zip(ruling.ok()).and_then(|(question, ruling)| other_input(question, ruling));
        self.questions.retain(|question| question.ask.id != ask);
        let is_denied = ruling.is_ok_and(|ruling| ruling.behavior == Behavior::Deny);
        // Without a terminal one that is allowed shows by what the agent does; one that is denied may end all of it.
        let is_told = !here && (self.setup.at_terminal || is_denied || ruling.is_err());
        let (behavior, words) = match ruling {
            Ok(ruling) => {
                let who = if is_told { who_answered(ask).await } else { String::new() };
                (Some(ruling.behavior.name()), ruled(ruling, &who, input))
            }
            Err(why) => (None, format!("no longer asked: {}", visible(why))),
        };
        let shown = json!({"type": "portcullis", "subtype": "settled", "id": ask.to_string(), "behavior": behavior});
        self.printer.ours(&shown).await;
        if is_told {
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
            Some(why) => words.push_str(&format!("\n  not answered here: {}\n", visible(why))),
        }
        self.printer.note("").await;
        self.printer.ask(&words).await;
    }
}

/// `allowed by ann over http with another input: git push --dry-run`, `denied by ann over http, and the turn ends: stop`.
fn ruled(ruling: &Ruling, who: &str, input: Option<String>) -> String {
    let why = ruling.why.as_ref().map(|why| format!(": {}", visible(why))).unwrap_or_default();
    match ruling.behavior {
        Behavior::Allow => {
            let input = input.map(|input| format!(" with another input: {input}")).unwrap_or_default();
            format!("allowed{who}{input}")
        }
        Behavior::Deny => {
            let ends = if ruling.interrupt { ", and the turn ends" } else { "" };
            format!("denied{who}{ends}{why}")
        }
    }
}

/// What runs instead of what was shown; nothing where answers to questions were put in.
fn other_input(question: &Question, ruling: &Ruling) -> Option<String> {
    let ask = &question.ask;
    let edited = ruling.input.as_ref().filter(|_| ask.details.kind == AskKind::Tool)?;
    let input = serde_json::from_str(edited.text.as_str()).ok()?;
    Some(one_line(&visible(&preview::of_text(&ask.tool, &preview::preview(&ask.tool, &input)))))
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
    visible(&who.unwrap_or_default())
}
