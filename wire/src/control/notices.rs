//! What the client itself tells the person at a session, besides what the model says: it is read here and nowhere else.

use serde_json::Value;

use super::Message;

/// One thing that the client tells the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientNotice {
    /// In its own words: a hook says something, or has kept a prompt from the model.
    Said {
        text: String,
        is_warning: bool,
    },
    /// It makes the context of the model smaller.
    Compacting,
    /// It has done so: tokens before and after, where it says so.
    Compacted {
        before: Option<u64>,
        after: Option<u64>,
    },
    NotCompacted {
        why: Option<String>,
    },
    /// The model's API refuses, with this status and for this reason, and the client tries it again.
    Retrying {
        status: Option<u64>,
        why: Option<String>,
        most: Option<u64>,
    },
}

impl ClientNotice {
    pub fn text(&self) -> String {
        match self {
            Self::Said { text, .. } => text.clone(),
            Self::Compacting => "The conversation is being compacted.".to_owned(),
            Self::Compacted { before: Some(before), after: Some(after) } => {
                format!("The conversation was compacted: {before} tokens before, {after} after.")
            }
            Self::Compacted { .. } => "The conversation was compacted.".to_owned(),
            Self::NotCompacted { why } => {
                let why = why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
                format!("The conversation was not compacted{why}")
            }
            Self::Retrying { status, why, most } => {
                let status = status.map(|status| format!(" with {status}")).unwrap_or_default();
                let why = why.as_ref().map(|why| format!(" ({why})")).unwrap_or_default();
                let most = most.map(|most| format!(", up to {most} times")).unwrap_or_default();
                format!("The model's API refuses the request{status}{why}. Claude Code tries it again{most}.")
            }
        }
    }

    /// The person may have to do something about it.
    pub fn is_warning(&self) -> bool {
        match self {
            Self::Said { is_warning, .. } => *is_warning,
            Self::NotCompacted { .. } => true,
            Self::Compacting | Self::Compacted { .. } | Self::Retrying { .. } => false,
        }
    }
}

impl Message {
    /// None where it tells the person nothing.
    pub fn client_notice(&self) -> Option<ClientNotice> {
        if self.kind != "system" {
            return None;
        }
        Some(match (self.subtype.as_deref()?, self.compact_result.as_str()) {
            // What it shows at its own terminal only to those who want to see everything.
            ("informational", _) if self.level == "info" => return None,
            ("informational", _) => {
                let text = self.content.as_str().filter(|text| !text.trim().is_empty())?.to_owned();
                ClientNotice::Said { text, is_warning: self.level == "warning" }
            }
            ("status", _) if self.status == "compacting" => ClientNotice::Compacting,
            // What it has become is told by the message that follows.
            ("status", None | Some("success")) => return None,
            ("status", Some(_)) => {
                let why = self.compact_error.as_str().map(str::to_owned);
                ClientNotice::NotCompacted { why }
            }
            ("compact_boundary", _) => {
                ClientNotice::Compacted { before: self.compacted("pre_tokens"), after: self.compacted("post_tokens") }
            }
            ("api_retry", _) => {
                let (status, most) = (self.error_status.as_u64(), self.max_retries.as_u64());
                ClientNotice::Retrying { status, why: self.error.clone(), most }
            }
            _ => return None,
        })
    }

    /// Of a compaction: messages that stay before the model, by their ids. The client says some of them again.
    pub fn kept_messages(&self) -> impl Iterator<Item = &str> {
        let is_compaction = self.is("system", "compact_boundary");
        let kept = &self.compact_metadata["preserved_messages"];
        let all = kept["all_uuids"].as_array().or_else(|| kept["uuids"].as_array());
        all.filter(|_| is_compaction).into_iter().flatten().filter_map(Value::as_str)
    }

    /// A transcript names the numbers otherwise.
    fn compacted(&self, tokens: &str) -> Option<u64> {
        let camel = match tokens {
            "pre_tokens" => "preTokens",
            _ => "postTokens",
        };
        self.compact_metadata[tokens].as_u64().or_else(|| self.compact_metadata[camel].as_u64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn notice(mut message: Value) -> Option<(String, bool)> {
        message["type"] = "system".into();
        let message: Message = serde_json::from_value(message).unwrap();
        message.client_notice().map(|notice| (notice.text(), notice.is_warning()))
    }

    #[test]
    fn what_the_client_tells_the_person_is_said_in_words() {
        let said =
            |level: &str| json!({"subtype": "informational", "level": level, "content": "UserPromptSubmit says: no"});
        let compacted = |metadata: Value| json!({"subtype": "compact_boundary", "compact_metadata": metadata});
        let words = |text: &str, is_warning| Some((text.to_owned(), is_warning));
        for (message, want) in [
            (said("warning"), words("UserPromptSubmit says: no", true)),
            (said("notice"), words("UserPromptSubmit says: no", false)),
            (said("info"), None),
            (json!({"subtype": "informational", "level": "warning"}), None),
            (json!({"subtype": "status", "status": "requesting"}), None),
            (
                json!({"subtype": "status", "status": "compacting"}),
                words("The conversation is being compacted.", false),
            ),
            (json!({"subtype": "status", "status": null, "compact_result": "success"}), None),
            (
                json!({"subtype": "status", "compact_result": "failed", "compact_error": "a hook says no"}),
                words("The conversation was not compacted: a hook says no", true),
            ),
            (
                compacted(json!({"pre_tokens": 9000, "post_tokens": 70})),
                words("The conversation was compacted: 9000 tokens before, 70 after.", false),
            ),
            (
                json!({"subtype": "compact_boundary", "compactMetadata": {"preTokens": 9, "postTokens": 7}}),
                words("The conversation was compacted: 9 tokens before, 7 after.", false),
            ),
            (compacted(json!({})), words("The conversation was compacted.", false)),
            (
                json!({"subtype": "api_retry", "error_status": 529, "error": "overloaded", "max_retries": 10}),
                words(
                    "The model's API refuses the request with 529 (overloaded). Claude Code tries it again, up to 10 times.",
                    false,
                ),
            ),
            (json!({"subtype": "init"}), None),
        ] {
            assert_eq!(notice(message.clone()), want, "{message}");
        }
    }

    #[test]
    fn messages_that_a_compaction_keeps_are_known_by_their_ids() {
        let kept = |subtype: &str, metadata: &Value| {
            let message = json!({"type": "system", "subtype": subtype, "compact_metadata": metadata});
            let message: Message = serde_json::from_value(message).unwrap();
            message.kept_messages().map(str::to_owned).collect::<Vec<_>>()
        };
        let all = json!({"preserved_messages": {"uuids": ["b"], "all_uuids": ["a", "b"]}});
        assert_eq!(kept("compact_boundary", &all), ["a", "b"]);
        assert_eq!(kept("compact_boundary", &json!({"preserved_messages": {"uuids": ["b"]}})), ["b"]);
        assert!(kept("compact_boundary", &json!({})).is_empty() && kept("status", &all).is_empty());
    }
}
