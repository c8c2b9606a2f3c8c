//! How a turn of Claude Code ended: its `result` is read here and nowhere else.

use super::Message;

/// How a turn ended, as its `result` says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnResult {
    Done,
    /// Someone wanted it to end. The client reports a diagnosis of its own as an error, which tells people nothing.
    Interrupted,
    /// The model would not.
    Refused,
    /// The model said as much as it may at once.
    TooLong,
    /// It took as many turns as were allowed.
    TooManyTurns,
    /// What went wrong, in the client's words.
    Failed(String),
}

/// What the client's diagnosis after an interruption begins with.
const DIAGNOSIS: &str = "[ede_diagnostic]";

impl Message {
    /// None where it is no `result`. `was_stopped`: someone has interrupted the turn.
    pub fn turn_result(&self, was_stopped: bool) -> Option<TurnResult> {
        if self.kind != "result" {
            return None;
        }
        let is_diagnosed = self.errors().any(|error| error.starts_with(DIAGNOSIS));
        Some(match (self.subtype.as_deref(), self.stop_reason.as_deref()) {
            (Some("error_during_execution"), _) if was_stopped || is_diagnosed => TurnResult::Interrupted,
            (Some("error_max_turns"), _) => TurnResult::TooManyTurns,
            _ if self.is_error => TurnResult::Failed(match self.problems().join("; ") {
                nothing if nothing.is_empty() => "the turn failed".to_owned(),
                problems => problems,
            }),
            (_, Some("refusal")) => TurnResult::Refused,
            (_, Some("max_tokens")) => TurnResult::TooLong,
            _ => TurnResult::Done,
        })
    }

    /// What a `result` says went wrong: nothing where the turn was only interrupted.
    pub fn problems(&self) -> Vec<&str> {
        if self.kind != "result" || !self.is_error {
            return vec![];
        }
        let said = self.result.as_deref().filter(|text| !text.is_empty());
        said.into_iter().chain(self.errors().filter(|error| !error.starts_with(DIAGNOSIS))).collect()
    }

    fn errors(&self) -> impl Iterator<Item = &str> {
        self.errors.iter().filter_map(|error| error.as_str())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_result_says_how_the_turn_ended_and_nothing_else_does() {
        let interrupted =
            json!({"subtype": "error_during_execution", "is_error": true, "errors": ["[ede_diagnostic] x"]});
        let broken = json!({"subtype": "error_during_execution", "is_error": true, "errors": ["x", "y"]});
        let failed = |text: &str| TurnResult::Failed(text.to_owned());
        for (result, was_stopped, want) in [
            (json!({"subtype": "success", "stop_reason": "end_turn"}), false, TurnResult::Done),
            (json!({"subtype": "success", "stop_reason": "max_tokens"}), false, TurnResult::TooLong),
            (json!({"subtype": "success", "stop_reason": "refusal"}), false, TurnResult::Refused),
            (json!({"subtype": "error_max_turns", "is_error": true}), false, TurnResult::TooManyTurns),
            (interrupted, false, TurnResult::Interrupted),
            (broken.clone(), true, TurnResult::Interrupted),
            (broken, false, failed("x; y")),
            (json!({"subtype": "success", "is_error": true, "result": "No"}), true, failed("No")),
            (json!({"subtype": "error", "is_error": true}), false, failed("the turn failed")),
        ] {
            let read = |kind: &str| {
                let mut whole: Value = result.clone();
                whole["type"] = kind.into();
                serde_json::from_value::<Message>(whole).unwrap()
            };
            assert_eq!(read("result").turn_result(was_stopped), Some(want), "{result}");
            assert_eq!(read("assistant").turn_result(was_stopped), None);
        }
    }
}
