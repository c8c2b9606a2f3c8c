//! The stream of a session: what the agent says and does, entry by entry, as the session's process keeps it, the link
//! carries it and the API tells it.

use portcullis_core::{excerpt, mask};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;

use crate::nesting::readable;
use crate::text::mask_all;

/// One entry of a session's stream.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct StreamEntry {
    /// 1 is the first of the session, and each is one more than the one before. None of what is read from the transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub n: Option<u64>,
    /// Milliseconds since 1970.
    pub at: u64,
    #[serde(flatten)]
    pub kind: EntryKind,
}

/// What an entry tells.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A person who directs the session told it something.
    User {
        text: String,
        /// Who; none where only the transcript tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<String>,
    },
    /// An event went before the model. Its text is told by `GET /api/v1/events/{id}`.
    Event { event: String, sender: String, chat: String },
    /// Words of the agent, to be put behind those of the same message and block.
    Text {
        /// The message of the model.
        message: String,
        /// Which text of the message, from 0.
        block: u32,
        text: String,
        /// The call that runs the subagent who says it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// The agent wants to use a tool.
    Call {
        /// The client's own id of the call.
        call: String,
        tool: String,
        /// Secrets are masked. Where it is too long, its beginning as text.
        #[schema(value_type = Object)]
        input: Value,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// What a tool gave back.
    Result {
        call: String,
        /// Secrets are masked.
        text: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        failed: bool,
        /// Only its beginning is told.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        cut: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        agent: Option<String>,
    },
    /// A turn is over.
    Turn {
        ended: TurnEnd,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    /// What the person at the session's terminal is told.
    Notice { text: String },
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TurnEnd {
    Done,
    Interrupted,
    Failed,
}

/// The most that one entry tells of a tool's input, or of what it gave back.
const LONGEST_PART: usize = 16 << 10;

impl EntryKind {
    /// A call without its secrets. Nobody decides by it: the prompt shows the call whole.
    pub fn call(call: &str, tool: &str, input: &Value, agent: Option<String>) -> Self {
        let mut input = input.clone();
        mask_all(&mut input);
        let whole = input.to_string();
        let (start, left) = excerpt(&whole, Some(LONGEST_PART));
        let input = if left > 0 { Value::from(start) } else { readable(input) };
        Self::Call { call: call.to_owned(), tool: tool.to_owned(), input, cut: left > 0, agent }
    }

    /// What a tool gave back, without its secrets.
    pub fn result(call: &str, content: &Value, failed: bool, agent: Option<String>) -> Self {
        let text = content_in_words(content);
        // Masked before it is cut: half of a secret would no longer be known as one.
        let (masked, _) = mask(&text);
        let (start, left) = excerpt(&masked, Some(LONGEST_PART));
        Self::Result { call: call.to_owned(), text: start.to_owned(), failed, cut: left > 0, agent }
    }

    /// About the bytes that it takes.
    pub fn size(&self) -> usize {
        const FIELDS: usize = 96;
        FIELDS
            + match self {
                Self::User { text, .. }
                | Self::Text { text, .. }
                | Self::Result { text, .. }
                | Self::Notice { text } => text.len(),
                Self::Event { event, sender, chat } => event.len() + sender.len() + chat.len(),
                Self::Call { tool, input, .. } => tool.len() + input.to_string().len(),
                Self::Turn { why, .. } => why.as_ref().map_or(0, String::len),
            }
    }

    /// The id by which the transcript knows it as well.
    pub fn known_as(&self) -> Option<&str> {
        match self {
            Self::Text { message, .. } => Some(message),
            Self::Call { call, .. } | Self::Result { call, .. } => Some(call),
            Self::User { .. } | Self::Event { .. } | Self::Turn { .. } | Self::Notice { .. } => None,
        }
    }
}

/// The text of a content, whose parts may be text or something else.
pub fn content_in_words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let words = parts.iter().map(|part| match (part["type"].as_str(), part["text"].as_str()) {
                (_, Some(text)) => text.to_owned(),
                (Some(kind), None) => format!("[{kind}]"),
                (None, None) => String::new(),
            });
            words.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

/// One message of `GET /api/v1/sessions/{id}/stream`.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum StreamMessage {
    /// The session's process answers: the numbers of the entries that it has.
    Opened {
        session: String,
        oldest: u64,
        newest: u64,
    },
    Entry(StreamEntry),
    /// Entries after this number are no longer there; it goes on with `next`.
    Lost {
        after: u64,
        next: u64,
    },
    /// The session's process is not linked to the gate.
    Away {},
    /// The session has ended, and so does the stream.
    Ended {},
    /// The stream ends; connect again with the last number.
    Resync {
        why: String,
    },
}

/// What came before the entries that the session's process has, as the transcript tells it.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct HistoryPage {
    /// Oldest first.
    pub entries: Vec<StreamEntry>,
    /// What to ask with for the page before; none at the beginning.
    pub before: Option<u64>,
}

/// A conversation that can be continued, as `GET /api/v1/conversations` lists it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct ConversationView {
    /// What to start a session with, as `resume`.
    pub id: String,
    /// Its name, or the first words of it.
    pub title: String,
    pub folder: String,
    /// When something was said in it last.
    pub at: u64,
    /// The session that has it open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
}

/// What the transcript of a conversation tells at a glance.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConversationWords {
    /// Its name, or the first words of it.
    pub title: Option<String>,
    /// What the agent said or did last.
    pub last: Option<String>,
}

/// Which page of a transcript is wanted.
#[derive(Clone, Debug, Default)]
pub struct WantedPage {
    /// It ends before this byte.
    pub before: Option<u64>,
    /// It ends before the first line that tells of this message or call.
    pub until: Option<String>,
    /// Entries, at most.
    pub limit: usize,
}

/// Entries on the link: the answer to one look of the gate.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct StreamBatch {
    /// The look that it answers.
    pub look: u64,
    /// The numbers of the entries that the process has; `oldest` is one more than `newest` where there are none.
    pub oldest: u64,
    pub newest: u64,
    pub entries: Vec<NumberedEntry>,
}

/// An entry that the gate passes on unread: a process may be newer than the gate, and tell what that does not know.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct NumberedEntry {
    pub n: u64,
    pub entry: RawEntry,
}

/// The JSON of a [`StreamEntry`].
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RawEntry(Box<RawValue>);

impl RawEntry {
    pub fn of(entry: &StreamEntry) -> serde_json::Result<Self> {
        Ok(Self(serde_json::value::to_raw_value(entry)?))
    }

    pub fn json(&self) -> &str {
        self.0.get()
    }
}

impl PartialEq for RawEntry {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

impl Eq for RawEntry {}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_entry_is_its_number_its_time_and_one_kind() {
        let text = |agent: Option<&str>| EntryKind::Text {
            message: "msg_1".into(),
            block: 0,
            text: "Hel".into(),
            agent: agent.map(str::to_owned),
        };
        let entry = StreamEntry { n: Some(17), at: 5, kind: text(None) };
        let json = r#"{"n":17,"at":5,"text":{"message":"msg_1","block":0,"text":"Hel"}}"#;
        assert_eq!(serde_json::to_string(&entry).unwrap(), json);
        assert_eq!(serde_json::from_str::<StreamEntry>(json).unwrap(), entry);
        let older = StreamEntry { n: None, at: 5, kind: EntryKind::Turn { ended: TurnEnd::Done, why: None } };
        assert_eq!(serde_json::to_string(&older).unwrap(), r#"{"at":5,"turn":{"ended":"done"}}"#);
    }

    #[test]
    fn secrets_are_masked_and_what_is_long_is_cut() {
        let secret = "ghp_0123456789abcdefghijklmnop";
        let call =
            EntryKind::call("c", "Bash", &json!({"command": format!("curl -H {secret} x"), "n": [secret]}), None);
        let result = EntryKind::result("c", &json!([{"type": "text", "text": secret}, {"type": "image"}]), false, None);
        for entry in [&call, &result] {
            let json = serde_json::to_string(entry).unwrap();
            assert!(json.contains("ghp_0123***") && !json.contains("456789"), "{json}");
        }
        assert!(matches!(&result, EntryKind::Result { text, cut: false, .. } if text.ends_with("\n[image]")));
        let long = EntryKind::call("c", "Write", &json!({"content": "ü".repeat(LONGEST_PART)}), None);
        assert!(long.size() < LONGEST_PART + 200 && matches!(long, EntryKind::Call { cut: true, .. }));
        let long = EntryKind::result("c", &json!("ü".repeat(LONGEST_PART)), true, None);
        assert!(matches!(long, EntryKind::Result { cut: true, failed: true, text, .. } if text.len() <= LONGEST_PART));
    }

    #[test]
    fn a_gate_passes_on_what_it_does_not_know() {
        let line = r#"{"look":1,"oldest":1,"newest":1,"entries":[{"n":1,"entry":{"n":1,"at":2,"hologram":{}}}]}"#;
        let batch: StreamBatch = serde_json::from_str(line).unwrap();
        assert_eq!(batch.entries[0].entry.json(), r#"{"n":1,"at":2,"hologram":{}}"#);
        assert_eq!(serde_json::to_string(&batch).unwrap(), line);
    }
}
