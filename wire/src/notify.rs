//! What the owner's own command is told on its standard input, as one JSON object.

use portcullis_core::{Ask, AskKind, Record, Text, visible};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::preview;
use crate::sentence::Sentence;
use crate::text::{masked_start, risk_in_words};

/// Bytes of each text that go along: a phone shows less, and what is piped must never fill the pipe.
const LONGEST: usize = 2_000;

/// One thing that the owner wants to hear of. Secrets are masked in every text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alert {
    /// prompt, reply, session, alarm or more
    pub kind: String,
    /// A few words, for the first line.
    pub title: String,
    /// One line that says it all.
    pub text: String,
    /// When it happened, in milliseconds since 1970.
    pub at: u64,
    /// The session's id and label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Of a prompt: its code, what it wants to run, and how dangerous that looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reasons: Vec<String>,
    /// Why a person is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_because: Option<String>,
    /// How to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// Of a reply: its conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    /// Of more: how many could not be told one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
}

/// How the owner's command fares, as `status` tells it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotifyView {
    /// The program that is run.
    pub command: String,
    /// How often it did its work since the gate started.
    pub sent: u64,
    /// How often it failed or took too long.
    pub failed: u64,
    /// How many notifications were told as one, because too many came at once.
    pub coalesced: u64,
    /// Why it failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<String>,
    /// When it failed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<u64>,
}

impl Alert {
    /// Tells of an open prompt.
    pub fn prompt(ask: &Ask, label: &str) -> Self {
        let command = match &ask.preview {
            Text::Here(text) => preview::of_text(&ask.tool, text),
            other => other.as_str().to_owned(),
        };
        let (command, risk) = (masked_start(&command, LONGEST), ask.details.risk.as_ref());
        let wants = match ask.details.kind {
            AskKind::Tool => format!("wants to run {}", ask.tool),
            AskKind::Question => "asks a question".to_owned(),
            AskKind::Plan => "has a plan".to_owned(),
        };
        let title = visible(&format!("{label} {wants}"));
        let danger = risk.map(|risk| format!(" ({})", risk_in_words(risk))).unwrap_or_default();
        Self {
            kind: "prompt".to_owned(),
            text: format!("{}: {command}{danger}", ask.code),
            title,
            at: ask.at.0,
            session: Some(ask.session.to_string()),
            label: Some(label.to_owned()),
            code: Some(ask.code.to_string()),
            tool: Some(visible(&ask.tool)),
            command: Some(command),
            risk: risk.map(|risk| risk.level.to_string()),
            reasons: risk.into_iter().flat_map(|risk| &risk.reasons).map(ToString::to_string).collect(),
            asked_because: ask.details.reason.as_ref().map(|reason| masked_start(reason, LONGEST)),
            answer: Some(match ask.details.kind {
                AskKind::Question => {
                    format!("portcullis ask show {0}, then portcullis ask allow {0} --answer …", ask.code)
                }
                AskKind::Tool | AskKind::Plan => {
                    format!("portcullis ask allow {0}, or portcullis ask deny {0}", ask.code)
                }
            }),
            ..Self::default()
        }
    }

    /// Tells of a reply, of a call that ran unasked, or that a session is over; none for what nobody need be called for.
    pub fn of(record: &Record, sentence: &Sentence, at: u64) -> Option<Self> {
        let label = sentence.label.clone().unwrap_or_else(|| "a session".to_owned());
        let (kind, title, chat_id) = match record {
            Record::Replied { reply } => ("reply", format!("{label} replied"), Some(reply.chat.to_string())),
            // A process that only looked, such as that of `claude mcp list`, is nobody's session.
            Record::Ended { goodbye, .. } if !goodbye.untouched => ("session", format!("{label} ended"), None),
            Record::Called { call, .. } if call.unasked => {
                ("alarm", format!("{label} ran {} although a person had to be asked", call.tool), None)
            }
            _ => return None,
        };
        Some(Self {
            kind: kind.to_owned(),
            title: visible(&title),
            text: sentence.words.clone(),
            at,
            session: sentence.session.map(|session| session.to_string()),
            label: sentence.label.clone(),
            chat_id,
            ..Self::default()
        })
    }

    /// Tells of all those that came too fast to be told one by one.
    pub fn more(count: u64, at: u64) -> Self {
        let text = format!("{count} more things happened; `portcullis ask list` and `portcullis log` tell them");
        let title = "Portcullis: more is waiting".to_owned();
        Self { kind: "more".to_owned(), title, text, at, count: Some(count), ..Self::default() }
    }
}
