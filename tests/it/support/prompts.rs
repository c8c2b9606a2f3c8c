//! Prompts at the gate: how a test opens one, looks at it and answers it.

use super::gate::Gate;
use super::http::Answer;
use super::seen::until;
use super::standin::StandIn;
use serde_json::{Value, json};

impl Gate {
    /// Opens a prompt of this session for `git push`, and waits until listeners are shown it.
    #[track_caller]
    pub(crate) fn open_prompt(&self, session: &StandIn, code: &str) {
        session.ask(code, "Bash", "Push", "git push");
        self.events().containing(code);
    }

    /// Every prompt that the gate remembers, open or not.
    #[track_caller]
    pub(crate) fn asks(&self) -> Vec<Value> {
        self.get("/api/v1/asks").expect(200).json().as_array().unwrap().clone()
    }

    /// The oldest open prompt, as soon as there is one.
    #[track_caller]
    pub(crate) fn open_ask(&self) -> Value {
        until("an open prompt", || self.asks().into_iter().find(|ask| ask["state"] == "open"))
    }

    /// The open prompts, as soon as there are exactly this many.
    #[track_caller]
    pub(crate) fn open_asks(&self, count: usize) -> Vec<Value> {
        until("open prompts", || {
            let asks = self.get("/api/v1/asks?state=open").expect(200).json().as_array()?.clone();
            (asks.len() == count).then_some(asks)
        })
    }

    /// The open prompt, as soon as there is exactly one.
    #[track_caller]
    pub(crate) fn only_ask(&self) -> Value {
        self.open_asks(1).remove(0)
    }

    /// One prompt, by its id or its code.
    #[track_caller]
    pub(crate) fn ask(&self, which: &str) -> Value {
        self.get(&format!("/api/v1/asks/{which}")).expect(200).json()
    }

    /// This prompt, as soon as it is so.
    #[track_caller]
    pub(crate) fn ask_when(&self, ask: &Value, is_it: impl Fn(&Value) -> bool) -> Value {
        let path = format!("/api/v1/asks/{}", id(ask));
        until("the prompt as it should be", || Some(self.get(&path).json()).filter(&is_it))
    }

    /// Posts a verdict as the owner, on the prompt with this id or code.
    #[track_caller]
    pub(crate) fn verdict(&self, which: &str, verdict: &Value) -> Answer {
        self.post(&format!("/api/v1/asks/{which}/verdict"), verdict)
    }

    /// Posts a verdict as whoever has this token.
    #[track_caller]
    pub(crate) fn verdict_as(&self, token: &str, which: &str, verdict: &Value) -> Answer {
        self.post_as(token, &format!("/api/v1/asks/{which}/verdict"), verdict)
    }

    /// Answers this prompt as the owner; the verdict must be accepted.
    #[track_caller]
    pub(crate) fn answer(&self, ask: &Value, verdict: &Value) {
        self.verdict(id(ask), verdict).expect(200);
    }

    /// Allows this prompt as the owner.
    #[track_caller]
    pub(crate) fn allow(&self, ask: &Value) {
        self.answer(ask, &json!({"behavior": "allow"}));
    }
}

pub(crate) fn id(ask: &Value) -> &str {
    ask["id"].as_str().unwrap()
}
