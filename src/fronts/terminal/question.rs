//! A prompt at the terminal: shown whole, and what someone types understood as a ruling.

use std::sync::Arc;

use portcullis_core::{AskKind, Behavior, Code, Edited, NewAsk, Ruling, Scope, Text, visible};
use portcullis_wire::questions::{AgentQuestion, Questions};
use serde_json::{Map, Value, json};

use crate::session::gatekeeper::digest;

/// A prompt that waits for someone at this terminal.
pub(crate) struct Question {
    pub(crate) ask: NewAsk,
    pub(crate) code: Option<Code>,
    /// Of a prompt with questions: those not yet answered, and the answers so far.
    left: Vec<AgentQuestion>,
    answers: Map<String, Value>,
}

/// What was typed.
pub(crate) enum Typed {
    Ruling(Box<Ruling>),
    /// The next question is to be answered.
    More,
    /// It was not understood; says what can be typed.
    Unclear(String),
}

impl Question {
    pub(crate) fn new(ask: NewAsk, code: Option<Code>) -> Self {
        let mut left = if ask.details.kind == AskKind::Question { questions(&ask) } else { vec![] };
        left.reverse();
        Self { ask, code, left, answers: Map::new() }
    }

    /// Everything there is to decide on.
    pub(crate) fn in_words(&self) -> String {
        let ask = &self.ask;
        let code = self.code.map(|code| format!("  [{code}]")).unwrap_or_default();
        let mut text = format!("\n{}{code}", visible(&ask.tool));
        if !ask.description.is_empty() {
            text.push_str(&format!("  {}", visible(ask.description.as_str())));
        }
        for line in visible(ask.preview.as_str()).lines() {
            text.push_str(&format!("\n  │ {line}"));
        }
        let details = &ask.details;
        // That a question asks a person needs no reason, and answers do no harm by themselves.
        if details.kind == AskKind::Question {
            return text;
        }
        if let Some(risk) = &details.risk {
            text.push_str(&format!("\n  risk: {}", risk.in_words()));
        }
        if let Some(reason) = &details.reason {
            text.push_str(&format!("\n  why it asks: {}", visible(reason)));
        }
        if details.quorum > 1 {
            text.push_str(&format!("\n  {} people must allow it", details.quorum));
        }
        text
    }

    /// What can be typed now.
    pub(crate) fn asks_for(&self) -> String {
        if let Some(asked) = self.left.last() {
            let several = if asked.several { ", several with commas between" } else { "" };
            // A single one is shown above, with what its options mean.
            let is_single = self.left.len() == 1 && self.answers.is_empty();
            let ends = format!("  a number or your own words{several}; n to decline: ");
            if is_single {
                return ends;
            }
            let mut text = format!("  {}\n", visible(&asked.text));
            for (index, label) in asked.labels.iter().enumerate() {
                text.push_str(&format!("    {}  {}\n", index + 1, visible(label)));
            }
            return text + &ends;
        }
        let yes = if self.ask.details.requires_user_interaction { "yes" } else { "y" };
        let once = match self.ask.details.modes.first() {
            Some(mode) => format!("{yes} once, and go on in mode {mode}"),
            None => format!("{yes} once"),
        };
        let mut choices = vec![once];
        for offer in &self.ask.details.offers {
            let key = if offer.scope == Scope::Always { "a always" } else { "s session" };
            choices.push(format!("{key}: {}", visible(&offer.words)));
        }
        for mode in self.ask.details.modes.iter().skip(1) {
            choices.push(format!("m {mode} yes, and go on in mode {mode}"));
        }
        choices.push("n no".to_owned());
        choices.push("d WORDS no, and why".to_owned());
        if self.ask.details.interruptible {
            choices.push("i no, and end the turn".to_owned());
        }
        if self.ask.details.editable && self.ask.details.kind == AskKind::Tool {
            choices.push("e INPUT run this instead".to_owned());
        }
        let default = if self.ask.details.default_to_no { " (Enter is no)" } else { "" };
        format!("  {}{default}\n  Allow? ", choices.join(" · "))
    }

    /// Understands a line.
    pub(crate) fn read(&mut self, line: &str) -> Typed {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = rest.trim();
        let deny = |why: Option<String>, interrupt| {
            Typed::Ruling(Box::new(Ruling { why, interrupt, ..Ruling::plain(Behavior::Deny) }))
        };
        if !self.left.is_empty() && !matches!(word, "n" | "no") {
            return self.answer(line);
        }
        match word.to_ascii_lowercase().as_str() {
            "y" if self.ask.details.requires_user_interaction => {
                Typed::Unclear("this one wants the whole word: yes".to_owned())
            }
            "y" | "yes" if rest.is_empty() => allow(Scope::Once, None),
            "s" | "session" if rest.is_empty() => self.remembered(Scope::Session),
            "a" | "always" if rest.is_empty() => self.remembered(Scope::Always),
            "m" | "mode" => self.with_mode(rest),
            "n" | "no" => deny(Some(rest.to_owned()).filter(|why| !why.is_empty()), false),
            "" if self.ask.details.default_to_no => deny(None, false),
            "d" | "deny" if !rest.is_empty() => deny(Some(rest.to_owned()), false),
            "i" if !self.ask.details.interruptible => {
                Typed::Unclear("nobody can end the turn from here: n says no".to_owned())
            }
            "i" => deny(Some(rest.to_owned()).filter(|why| !why.is_empty()), true),
            "e" | "edit" if !rest.is_empty() => self.edited(rest),
            _ => Typed::Unclear(visible(&format!("that was not understood: {line:?}"))),
        }
    }

    /// A plan is allowed, and this mode follows.
    fn with_mode(&self, name: &str) -> Typed {
        let modes = &self.ask.details.modes;
        match modes.iter().find(|mode| mode.name() == name) {
            Some(mode) => Typed::Ruling(Box::new(Ruling { mode: Some(*mode), ..Ruling::plain(Behavior::Allow) })),
            None if modes.is_empty() => Typed::Unclear("no mode can be chosen here".to_owned()),
            None => {
                let names: Vec<&str> = modes.iter().map(|mode| mode.name()).collect();
                Typed::Unclear(format!("the mode that follows is one of {}", names.join(", ")))
            }
        }
    }

    fn remembered(&self, scope: Scope) -> Typed {
        match self.ask.details.offers.iter().any(|offer| offer.scope == scope) {
            true => allow(scope, None),
            false => Typed::Unclear(format!("this prompt cannot be allowed for {}", scope.name())),
        }
    }

    /// Another input: the whole of it as JSON, or for a shell the command alone.
    fn edited(&self, text: &str) -> Typed {
        let input = self.input();
        let edited = match serde_json::from_str::<Value>(text) {
            Ok(edited @ Value::Object(_)) => edited,
            _ if self.ask.tool == "Bash" => {
                let mut input = input;
                input["command"] = text.into();
                input
            }
            _ => return Typed::Unclear("the input is an object of JSON, all of it on one line".to_owned()),
        };
        allow(Scope::Once, Some(edited))
    }

    fn input(&self) -> Value {
        let text = self.ask.details.input.as_ref().map(Text::as_str).unwrap_or_default();
        serde_json::from_str(text).ok().filter(Value::is_object).unwrap_or_else(|| json!({}))
    }

    fn answer(&mut self, line: &str) -> Typed {
        let Some(asked) = self.left.last() else { return Typed::Unclear(String::new()) };
        let answer = match asked.answer(line) {
            Ok(answer) => answer,
            Err(why) => return Typed::Unclear(why),
        };
        self.answers.insert(asked.text.clone(), answer.into());
        self.left.pop();
        if !self.left.is_empty() {
            return Typed::More;
        }
        let mut input = self.input();
        input["answers"] = Value::Object(std::mem::take(&mut self.answers));
        allow(Scope::Once, Some(input))
    }
}

fn allow(scope: Scope, input: Option<Value>) -> Typed {
    let input =
        input.map(|input| Edited { digest: digest(&input), text: Text::new(Arc::<str>::from(input.to_string())) });
    Typed::Ruling(Box::new(Ruling { scope, input, ..Ruling::plain(Behavior::Allow) }))
}

fn questions(ask: &NewAsk) -> Vec<AgentQuestion> {
    let text = ask.details.input.as_ref().map(Text::as_str).unwrap_or_default();
    Questions::of(&serde_json::from_str(text).unwrap_or_default()).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{AskId, Details, Moment, Source};

    #[test]
    fn a_turn_is_ended_only_where_that_can_be_done() {
        for interruptible in [false, true] {
            let details = Details { interruptible, ..Details::default() };
            let (description, preview) = (Text::new(""), Text::new(""));
            let (id, tool) = (AskId::new(Moment(1), 1), "mcp__x__y".to_owned());
            let ask = NewAsk { id, source: Source::Hook, origin: String::new(), tool, description, preview, details };
            let mut question = Question::new(ask, None);
            assert_eq!(question.asks_for().contains("end the turn"), interruptible);
            assert_eq!(matches!(question.read("i"), Typed::Ruling(ruling) if ruling.interrupt), interruptible);
        }
    }

    #[test]
    fn a_number_of_no_option_answers_nothing() {
        let input = json!({"questions": [{"question": "Which?", "options": [{"label": "Red"}, {"label": "Blue"}]}]});
        let details =
            Details { kind: AskKind::Question, input: Some(Text::new(input.to_string())), ..Details::default() };
        let (description, preview) = (Text::new(""), Text::new(""));
        let (id, tool) = (AskId::new(Moment(1), 1), "AskUserQuestion".to_owned());
        let ask = NewAsk { id, source: Source::Hook, origin: String::new(), tool, description, preview, details };
        let mut question = Question::new(ask, None);
        for (typed, why) in [("3", "there is no option 3"), ("", "is empty")] {
            assert!(matches!(question.read(typed), Typed::Unclear(said) if said.contains(why)), "{typed:?}");
        }
        let Typed::Ruling(ruling) = question.read("2") else { panic!("an option that is there") };
        assert!(ruling.input.unwrap().text.as_str().contains("Blue"));
    }
}
