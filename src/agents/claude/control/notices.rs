//! What the client itself tells the person, each thing once; and what it says again after a compaction, which is no news.

use std::collections::HashSet;

use portcullis_wire::control::{ClientNotice, Message};

#[derive(Default)]
pub(super) struct ClientNotices {
    /// A refusal of the model's API was told in this turn: the client tries again for minutes.
    refusal: bool,
    /// Messages that the last compaction kept, by their ids.
    kept: HashSet<String>,
}

impl ClientNotices {
    /// The client has said this message before, and says it again because a compaction has kept it: the output of its own
    /// commands, which looks as if it answered the command that compacts.
    pub(super) fn is_said_again(&mut self, message: &Message) -> bool {
        if message.is("system", "compact_boundary") {
            self.kept = message.kept_messages().map(str::to_owned).collect();
        }
        let is_said = matches!(message.kind.as_str(), "assistant" | "user");
        is_said && message.uuid.as_ref().is_some_and(|uuid| self.kept.contains(uuid))
    }

    /// What a message tells the person, if anything.
    pub(super) fn of(&mut self, message: &Message) -> Option<ClientNotice> {
        if message.kind == "result" {
            self.refusal = false;
        }
        let notice = message.client_notice()?;
        let is_known = match notice {
            ClientNotice::Retrying { .. } => std::mem::replace(&mut self.refusal, true),
            _ => false,
        };
        (!is_known).then_some(notice)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn message(value: Value) -> Message {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_a_compaction_keeps_is_no_news_when_it_is_said_again() {
        let mut notices = ClientNotices::default();
        let said = |kind: &str, uuid: &str| message(json!({"type": kind, "uuid": uuid}));
        assert!(!notices.is_said_again(&said("assistant", "a")), "the first time");
        let kept = json!({"preserved_messages": {"all_uuids": ["a", "u", "r"]}});
        let boundary = json!({"type": "system", "subtype": "compact_boundary", "compact_metadata": kept, "uuid": "b"});
        assert!(!notices.is_said_again(&message(boundary)));
        assert!(notices.is_said_again(&said("assistant", "a")) && notices.is_said_again(&said("user", "u")));
        assert!(!notices.is_said_again(&said("assistant", "new")) && !notices.is_said_again(&said("result", "r")));
        let next = json!({"type": "system", "subtype": "compact_boundary", "uuid": "c"});
        notices.is_said_again(&message(next));
        assert!(!notices.is_said_again(&said("assistant", "a")), "the next compaction has its own");
    }

    #[test]
    fn that_the_api_refuses_is_told_once_in_a_turn_and_everything_else_each_time() {
        let mut notices = ClientNotices::default();
        let retry = || message(json!({"type": "system", "subtype": "api_retry", "error_status": 529}));
        let said = || message(json!({"type": "system", "subtype": "informational", "level": "notice", "content": "x"}));
        assert!(notices.of(&retry()).is_some() && notices.of(&retry()).is_none());
        assert!(notices.of(&said()).is_some() && notices.of(&said()).is_some());
        assert!(notices.of(&message(json!({"type": "result"}))).is_none());
        assert!(notices.of(&retry()).is_some(), "another turn");
    }
}
