//! The link between an attached process and its gate: one JSON object a line, both ways.

use std::borrow::Cow;
use std::ops::RangeInclusive;

use portcullis_core::{Details, EventId, Order, Ruling, SentFile, SessionAbout, ToolCall, TrackedEvent, excerpt};
use serde::{Deserialize, Serialize};

use crate::ask::{DetailsForm, RulingForm, ToolCallForm, is_plain};
use crate::error::Fault;
use crate::form::{Boxed, List};
use crate::session::{AboutForm, FileForm, OrderForm};
use crate::words::Words;

/// The versions this program speaks: the newest, and the one before once there is one.
pub const VERSIONS: RangeInclusive<u16> = 1..=1;

/// The newest version that both sides speak.
pub fn agree(ours: &RangeInclusive<u16>, min: u16, max: u16) -> Option<u16> {
    let newest = max.min(*ours.end());
    (newest >= min && newest >= *ours.start()).then_some(newest)
}

/// From an attached process. `n` numbers what wants an answer.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum ToGate<'a> {
    /// Always first.
    Hello {
        min: u16,
        max: u16,
        program: Cow<'a, str>,
    },
    Attach {
        n: u64,
        session: String,
        #[serde(with = "AboutForm")]
        about: SessionAbout,
        #[serde(default)]
        wrote: Vec<String>,
        #[serde(default)]
        holding: Vec<String>,
    },
    Wrote {
        n: u64,
        events: Vec<String>,
    },
    Asked {
        n: u64,
        id: String,
        source: String,
        origin: String,
        tool: String,
        description: String,
        preview: String,
        #[serde(default, with = "Boxed::<DetailsForm>", skip_serializing_if = "is_plain")]
        details: Box<Details>,
    },
    Carried {
        n: u64,
        ask: String,
    },
    /// The ask was settled where the gate cannot see it, or is no longer asked.
    Withdrawn {
        n: u64,
        ask: String,
        why: String,
    },
    /// Someone at the session's own terminal answered.
    Answered {
        n: u64,
        ask: String,
        #[serde(with = "RulingForm")]
        ruling: Ruling,
    },
    /// A tool of the agent ran, or was kept from it.
    Called {
        n: u64,
        #[serde(with = "ToolCallForm")]
        call: ToolCall,
    },
    /// What is known of the session has changed.
    Described {
        n: u64,
        #[serde(with = "AboutForm")]
        about: SessionAbout,
    },
    /// Something was refused here that only an attacker or a confused agent would try.
    Barred {
        n: u64,
        what: String,
    },
    Replied {
        n: u64,
        id: String,
        chat: String,
        text: String,
        #[serde(default, with = "List::<FileForm>")]
        files: Vec<SentFile>,
    },
    /// The agent's list of events, or one of them whole.
    Inbox {
        n: u64,
        event: Option<String>,
    },
    /// The session ends on purpose.
    Bye {
        why: String,
        /// No model was there.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untouched: bool,
    },
}

/// From the gate.
#[derive(Debug, Serialize, Deserialize, PartialEq)]
#[serde(rename_all = "snake_case")]
pub enum FromGate<'a> {
    Welcome {
        version: u16,
        program: String,
    },
    /// No link: the versions do not meet, or the gate is full.
    Refused(Fault),
    /// The gate is older than the process and idle: it leaves now, start another.
    HandOver {
        program: String,
    },
    #[serde(borrow)]
    Event(EventFrame<'a>),
    Verdict {
        ask: String,
        origin: String,
        source: String,
        #[serde(with = "RulingForm")]
        ruling: Ruling,
    },
    /// No verdict is coming.
    Closed {
        ask: String,
        origin: String,
        source: String,
    },
    #[serde(with = "OrderForm")]
    Order(Order),
    Done {
        n: u64,
        answer: Answered,
    },
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct EventFrame<'a> {
    #[serde(borrow)]
    pub id: Cow<'a, str>,
    #[serde(borrow)]
    pub via: Cow<'a, str>,
    #[serde(borrow)]
    pub sender: Cow<'a, str>,
    #[serde(borrow)]
    pub chat: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub attributes: Cow<'a, [(String, String)]>,
    /// What is put before the model.
    #[serde(borrow)]
    pub text: Words<'a>,
    /// Bytes that were left off, to be had by `inbox`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rest: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redelivered: bool,
    /// Other events whose text is in this one's.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

/// What became of a numbered frame.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    Ok,
    Asked { ask: String, code: String },
    Inbox { events: Vec<InboxItem> },
    Event { event: InboxItem, text: String },
    Refused(Fault),
}

/// An event as its own session sees it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct InboxItem {
    pub event_id: String,
    pub chat_id: String,
    pub sender: String,
    pub via: String,
    pub state: String,
    pub bytes: usize,
}

impl<'a> EventFrame<'a> {
    /// The event with as much of its text as goes before the model.
    pub fn of(tracked: &'a TrackedEvent, longest: Option<usize>) -> Self {
        let event = &tracked.event;
        let (text, rest) = excerpt(event.text.as_str(), longest);
        Self {
            id: event.id.to_string().into(),
            via: event.via.name().into(),
            sender: event.sender.as_str().into(),
            chat: event.chat.as_str().into(),
            attributes: event.attributes.as_slice().into(),
            text: text.into(),
            rest,
            redelivered: tracked.redelivered,
            also: vec![],
        }
    }
}

impl From<&TrackedEvent> for InboxItem {
    fn from(tracked: &TrackedEvent) -> Self {
        Self {
            event_id: tracked.event.id.to_string(),
            chat_id: tracked.event.chat.to_string(),
            sender: tracked.event.sender.clone(),
            via: tracked.event.via.name().to_owned(),
            state: tracked.life.name().to_owned(),
            bytes: tracked.size,
        }
    }
}

/// A frame holds something that is not what it claims to be.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} is not valid: {text:?}")]
pub struct BadFrame {
    pub what: &'static str,
    pub text: String,
}

impl BadFrame {
    pub fn new(what: &'static str, text: &str) -> Self {
        Self { what, text: excerpt(text, Some(80)).0.to_owned() }
    }
}

/// Reads an id, or says which field was wrong.
pub fn read_id<T: std::str::FromStr>(what: &'static str, text: &str) -> Result<T, BadFrame> {
    text.parse().map_err(|_| BadFrame::new(what, text))
}

pub fn read_ids(texts: &[String]) -> Result<Vec<EventId>, BadFrame> {
    texts.iter().map(|text| read_id("event", text)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_sides_agree_on_the_newest_they_share() {
        let ours = 3..=4;
        assert_eq!(agree(&ours, 1, 9), Some(4));
        assert_eq!(agree(&ours, 1, 3), Some(3));
        assert_eq!(agree(&ours, 4, 9), Some(4));
        assert_eq!(agree(&ours, 5, 9), None, "they are newer than we understand");
        assert_eq!(agree(&ours, 1, 2), None, "they are older than we still speak");
        assert_eq!(agree(&ours, 9, 1), None, "nonsense");
    }

    #[test]
    fn frames_survive_the_wire() {
        let frames = [
            r#"{"hello":{"min":1,"max":1,"program":"0.1.0"}}"#,
            r#"{"wrote":{"n":2,"events":["x"]}}"#,
            r#"{"inbox":{"n":3,"event":null}}"#,
            r#"{"bye":{"why":"end of input"}}"#,
        ];
        for text in frames {
            let frame: ToGate<'_> = serde_json::from_str(text).unwrap();
            assert_eq!(serde_json::to_string(&frame).unwrap(), text);
        }
    }

    #[test]
    fn a_newer_peer_may_say_more_than_we_know() {
        let frame: ToGate<'_> = serde_json::from_str(r#"{"bye":{"why":"w","mood":"fine"}}"#).unwrap();
        assert_eq!(frame, ToGate::Bye { why: "w".into(), untouched: false });
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error_but_never_a_panic(bytes: Vec<u8>) {
            drop(serde_json::from_slice::<ToGate<'_>>(&bytes));
            drop(serde_json::from_slice::<FromGate<'_>>(&bytes));
        }
    }
}
