//! The prompts of the editor that have no answer yet, and with which stop reason each of them ends.
//!
//! A prompt that is sent while a turn runs waits in the client, is folded into that turn or begins the next one. The client
//! tells by the id of each line what becomes of it; the result of a turn answers all that are part of it.

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::StopReason;
use portcullis_wire::control::{Message, TurnResult};

/// How a prompt ended.
pub(super) type PromptEnd = Result<StopReason, Error>;

/// `R` answers one prompt.
pub(super) struct Turns<R> {
    prompts: Vec<Prompt<R>>,
    /// Someone wants the running turn to end.
    is_cancelled: bool,
    /// The client tells what becomes of a line; an older one does not.
    tells: bool,
    /// What the client reported in the model's place in this turn.
    error: Option<String>,
}

struct Prompt<R> {
    uuid: String,
    responder: R,
    has_started: bool,
    /// The person took it back before the client had taken it.
    is_withdrawn: bool,
}

impl<R> Turns<R> {
    pub(super) fn new() -> Self {
        Self { prompts: vec![], is_cancelled: false, tells: false, error: None }
    }

    pub(super) fn begin(&mut self, uuid: String, responder: R) {
        // What was cancelled was something else.
        self.is_cancelled &= self.is_open();
        self.prompts.push(Prompt { uuid, responder, has_started: false, is_withdrawn: false });
    }

    /// Some prompt of the editor has no answer.
    pub(super) fn is_open(&self) -> bool {
        !self.prompts.is_empty()
    }

    /// The person wants all of it to end. Says which lines the client has not taken.
    pub(super) fn cancel(&mut self) -> Vec<String> {
        self.is_cancelled = true;
        let waiting = self.prompts.iter_mut().filter(|prompt| !prompt.has_started);
        let withdrawn = waiting.map(|prompt| {
            prompt.is_withdrawn = true;
            prompt.uuid.clone()
        });
        withdrawn.collect()
    }

    pub(super) fn has(&self, uuid: &str) -> bool {
        self.prompts.iter().any(|prompt| prompt.uuid == uuid)
    }

    /// The person takes back one prompt. False where the client has taken it, or may have: an older one works on the first.
    pub(super) fn withdraw(&mut self, uuid: &str) -> bool {
        let tells = self.tells;
        let mut prompts = self.prompts.iter_mut().enumerate();
        let waiting = prompts.find(|(place, prompt)| {
            let is_taken = prompt.has_started || !tells && *place == 0;
            prompt.uuid == uuid && !is_taken
        });
        waiting.map(|(_, prompt)| prompt.is_withdrawn = true).is_some()
    }

    /// Whether the client takes a prompt that was taken back alone: its answer to that comes too late.
    pub(super) fn is_taken_too_late(&self, message: &Message) -> bool {
        let is_it = |prompt: &Prompt<R>| message.command_uuid.as_ref() == Some(&prompt.uuid) && prompt.is_withdrawn;
        let is_taken = message.kind == "command_lifecycle" && message.state.as_deref() == Some("started");
        is_taken && !self.is_cancelled && self.prompts.iter().any(is_it)
    }

    /// Reads a message of the client; the prompts that it answers.
    pub(super) fn note(&mut self, message: &Message) -> Vec<(R, PromptEnd)> {
        match message.kind.as_str() {
            "command_lifecycle" => self.lifecycle(message),
            "assistant" if message.parent_tool_use_id.is_none() => {
                self.error.clone_from(&message.error);
                vec![]
            }
            _ => match message.turn_result(self.is_cancelled) {
                Some(result) => {
                    let ended = prompt_end(result, self.error.take().as_deref());
                    self.is_cancelled = false;
                    self.end(&ended)
                }
                None => vec![],
            },
        }
    }

    /// The client has nothing to do: whatever it has taken is over.
    pub(super) fn idle(&mut self) -> Vec<(R, PromptEnd)> {
        let ended = if std::mem::take(&mut self.is_cancelled) { StopReason::Cancelled } else { StopReason::EndTurn };
        let mut over = self.take(|prompt| prompt.is_withdrawn, &Ok(StopReason::Cancelled));
        over.extend(self.take(|prompt| prompt.has_started, &Ok(ended)));
        over
    }

    /// Nothing more comes of any of them.
    pub(super) fn fail(&mut self, ended: &PromptEnd) -> Vec<(R, PromptEnd)> {
        self.is_cancelled = false;
        self.take(|_| true, ended)
    }

    fn lifecycle(&mut self, message: &Message) -> Vec<(R, PromptEnd)> {
        self.tells = true;
        let is_it = |prompt: &Prompt<R>| message.command_uuid.as_ref() == Some(&prompt.uuid);
        match message.state.as_deref() {
            Some("started") => {
                self.prompts.iter_mut().filter(|prompt| is_it(prompt)).for_each(|prompt| prompt.has_started = true);
                vec![]
            }
            // Part of a turn, whose result follows.
            Some("queued" | "completed") => vec![],
            // Taken back, or dropped.
            _ => self.take(is_it, &Ok(StopReason::Cancelled)),
        }
    }

    fn end(&mut self, ended: &PromptEnd) -> Vec<(R, PromptEnd)> {
        if !self.tells
            && let Some(first) = self.prompts.first_mut()
        {
            first.has_started = true;
        }
        self.take(|prompt| prompt.has_started, ended)
    }

    fn take(&mut self, wanted: impl Fn(&Prompt<R>) -> bool, ended: &PromptEnd) -> Vec<(R, PromptEnd)> {
        let (over, left) = std::mem::take(&mut self.prompts).into_iter().partition(wanted);
        self.prompts = left;
        let over: Vec<Prompt<R>> = over;
        over.into_iter().map(|prompt| (prompt.responder, ended.clone())).collect()
    }
}

/// What the end of a turn is to whoever began it. `error`: what the client reported in the model's place.
fn prompt_end(result: TurnResult, error: Option<&str>) -> PromptEnd {
    Ok(match result {
        TurnResult::Done => StopReason::EndTurn,
        TurnResult::Interrupted => StopReason::Cancelled,
        TurnResult::Refused => StopReason::Refusal,
        TurnResult::TooLong => StopReason::MaxTokens,
        TurnResult::TooManyTurns => StopReason::MaxTurnRequests,
        TurnResult::Failed(why) if error == Some("authentication_failed") || why.contains("/login") => {
            return Err(Error::auth_required().data(serde_json::Value::from(why)));
        }
        TurnResult::Failed(why) => return Err(Error::new(-32603, why)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_wire::control::{FromClient, read};
    use serde_json::{Value, json};

    fn message(value: &Value) -> Message {
        match read(value.to_string().as_bytes()).unwrap() {
            FromClient::Message(message) => *message,
            other => panic!("{other:?}"),
        }
    }

    fn line(uuid: &str, state: &str) -> Message {
        message(&json!({"type": "command_lifecycle", "command_uuid": uuid, "state": state}))
    }

    fn shown(ended: Vec<(u32, PromptEnd)>) -> Vec<(u32, String)> {
        ended
            .into_iter()
            .map(|(number, ended)| {
                (number, ended.map_or_else(|error| i32::from(error.code).to_string(), |reason| format!("{reason:?}")))
            })
            .collect()
    }

    #[test]
    fn a_prompt_that_was_folded_in_ends_with_the_turn_and_one_that_waits_does_not() {
        let mut turns = Turns::new();
        turns.begin("a".into(), 1);
        turns.begin("b".into(), 2);
        turns.begin("c".into(), 3);
        for message in [
            line("a", "queued"),
            line("a", "started"),
            line("b", "started"),
            line("c", "queued"),
            line("b", "completed"),
        ] {
            assert!(turns.note(&message).is_empty());
        }
        let result = message(&json!({"type": "result", "subtype": "success", "stop_reason": "end_turn"}));
        assert_eq!(shown(turns.note(&result)), [(1, "EndTurn".into()), (2, "EndTurn".into())]);
        assert!(turns.idle().is_empty(), "the third was not taken yet");
        turns.begin("d".into(), 4);
        assert_eq!(turns.cancel(), ["c", "d"]);
        assert_eq!(shown(turns.note(&line("c", "cancelled"))), [(3, "Cancelled".into())]);
        assert_eq!(shown(turns.idle()), [(4, "Cancelled".into())], "also where the client says nothing of it");
        assert!(!turns.is_open());
    }

    #[test]
    fn one_prompt_that_waits_is_taken_back_alone() {
        let mut turns = Turns::new();
        turns.begin("a".into(), 1);
        turns.begin("b".into(), 2);
        assert!(!turns.withdraw("a"), "a client that does not tell may work on the first");
        for message in [line("a", "started"), line("b", "queued")] {
            turns.note(&message);
        }
        assert!(!turns.withdraw("a"));
        assert!(!turns.is_taken_too_late(&line("b", "started")), "it was not taken back");
        assert!(turns.withdraw("b"));
        assert!(turns.is_taken_too_late(&line("b", "started")));
        assert_eq!(shown(turns.note(&line("b", "cancelled"))), [(2, "Cancelled".into())]);
        assert!(turns.has("a") && !turns.has("b"));
        let result = message(&json!({"type": "result", "subtype": "success", "stop_reason": "end_turn"}));
        assert_eq!(shown(turns.note(&result)), [(1, "EndTurn".into())], "the other goes on");
    }

    #[test]
    fn the_result_of_a_turn_is_a_stop_reason_or_an_error() {
        let interrupted =
            json!({"subtype": "error_during_execution", "is_error": true, "errors": ["[ede_diagnostic] x"]});
        for (result, error, want) in [
            (json!({"subtype": "success", "stop_reason": "end_turn"}), None, "EndTurn"),
            (json!({"subtype": "success", "stop_reason": "max_tokens"}), None, "MaxTokens"),
            (json!({"subtype": "success", "stop_reason": "refusal"}), None, "Refusal"),
            (json!({"subtype": "error_max_turns", "is_error": true}), None, "MaxTurnRequests"),
            (interrupted, None, "Cancelled"),
            (json!({"subtype": "error_during_execution", "is_error": true, "errors": ["x"]}), None, "-32603"),
            (json!({"subtype": "success", "is_error": true, "result": "Please run /login"}), None, "-32000"),
            (json!({"subtype": "success", "is_error": true, "result": "x"}), Some("authentication_failed"), "-32000"),
        ] {
            let mut whole = result.clone();
            whole["type"] = "result".into();
            let mut turns = Turns::new();
            turns.begin("a".into(), 1);
            if let Some(error) = error {
                turns.note(&message(&json!({"type": "assistant", "error": error, "message": {}})));
            }
            assert_eq!(shown(turns.note(&message(&whole))), [(1, want.to_owned())], "{result}");
        }
    }
}
