//! The link between a session's process and its gate: one JSON object a line, both ways.

mod event;
mod line;

use std::ops::RangeInclusive;

use portcullis_core::{
    AskId, Attribute, ChatId, Code, DeliveryWay, Details, EventId, Goodbye, NewAsk, Order, OrderId, OrderOutcome,
    ReplyId, Ruling, SentFile, SessionAbout, SessionId, Source, Text, ToolCall,
};
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::ask::{DetailsForm, RulingForm, ToolCallForm, is_plain};
use crate::error::Fault;
use crate::form::{Boxed, List, forms};
use crate::session::{AboutForm, FileForm, GoodbyeForm, OrderForm, OrderOutcomeForm};
use crate::stream::StreamBatch;

pub use event::{EventFrame, InboxItem};
pub use line::{EventLine, LineHead, put_event, read_frame};

/// The versions this program speaks. Version 1 had frames of other names and was never released; since version 3 the gate
/// may look at the session's stream, and since version 4 a process may run channel servers; since version 5 the gate takes
/// events back, and since version 6 it writes the client's line for a process that wants no more of an event.
///
/// A release that adds a message or a field that must be understood raises the end of the range, and says the new message
/// only where both sides agreed on that version. What else was added before the first release is part of version 2.
pub const VERSIONS: RangeInclusive<u16> = 2..=6;

/// A process of this version, or a later one, has a stream to look at.
pub const WITH_STREAM: u16 = 3;

/// A gate of this version, or a later one, takes what channel servers of a session say.
pub const WITH_CHANNELS: u16 = 4;

/// A process of this version, or a later one, gives back an event that its agent has not been given.
pub const WITH_TAKING_BACK: u16 = 5;

/// A gate of this version, or a later one, sends finished lines to a process that wants them.
pub const WITH_LINES: u16 = 6;

/// A line of the link is at most this long: an event of 16 MiB with every byte escaped still fits.
pub const LONGEST_LINE: usize = 128 << 20;

/// The newest version that both sides speak.
pub fn agree(ours: &RangeInclusive<u16>, min: u16, max: u16) -> Option<u16> {
    let newest = max.min(*ours.end());
    (newest >= min && newest >= *ours.start()).then_some(newest)
}

/// The first line of a session's process. It is the same in every version.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Opening {
    Hello { min: u16, max: u16, program: String },
}

/// The gate's answer to it, the same in every version.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Greeting {
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
}

/// Every later line of the process. The gate repeats `n` in its answer.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Numbered<M> {
    pub n: u64,
    pub message: M,
}

/// What a session's process says to its gate.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum SessionMessage {
    /// Always the first.
    Attach(Box<AttachRequest>),
    /// These events are with the agent.
    Wrote {
        #[serde(with = "as_text::list")]
        events: Vec<EventId>,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        way: Option<DeliveryWay>,
    },
    /// The agent asks for permission.
    Asked(#[serde(with = "Boxed::<NewAskForm>")] Box<NewAsk>),
    /// The verdict is with the agent.
    Carried {
        #[serde(with = "as_text")]
        ask: AskId,
        /// When it was given, as the gate told with it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        verdict_at: Option<u64>,
    },
    /// The turn in which the agent was given these events has ended, so its model has read them.
    Read {
        #[serde(with = "as_text::list")]
        events: Vec<EventId>,
    },
    /// The ask was settled where the gate cannot see it, or is no longer asked.
    Withdrawn {
        #[serde(with = "as_text")]
        ask: AskId,
        why: String,
    },
    /// Someone at the session's own terminal answered, or someone behind a channel server that its process runs.
    Answered {
        #[serde(with = "as_text")]
        ask: AskId,
        #[serde(with = "Boxed::<RulingForm>")]
        ruling: Box<Ruling>,
        /// The name of that server.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        channel: Option<String>,
    },
    /// A channel server that the session's process runs has an event for the session.
    Received(Box<ChannelEvent>),
    /// A tool of the agent ran, or was kept from it.
    Called(#[serde(with = "Boxed::<ToolCallForm>")] Box<ToolCall>),
    /// What is known of the session has changed.
    Described(#[serde(with = "Boxed::<AboutForm>")] Box<SessionAbout>),
    /// Text from someone who may not direct the session is before its model.
    OutsideRead { sender: String },
    /// A person who may direct the session has spoken: the guard against such text is down.
    OutsideEnded { by: String },
    /// What became of an order.
    Ordered {
        #[serde(with = "as_text")]
        order: OrderId,
        #[serde(with = "OrderOutcomeForm")]
        outcome: OrderOutcome,
    },
    /// Something was refused here that only an attacker or a confused agent would try.
    AccessDenied { what: String },
    Replied {
        #[serde(with = "as_text")]
        id: ReplyId,
        /// The event that it answers.
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        reply_to: Option<EventId>,
        #[serde(with = "as_text")]
        chat: ChatId,
        text: String,
        #[serde(default, with = "List::<FileForm>")]
        files: Vec<SentFile>,
    },
    /// The agent puts another text in the place of one of its replies.
    Edited {
        #[serde(with = "as_text")]
        id: ReplyId,
        text: String,
    },
    /// The agent wants the list of its events, or one of them whole.
    Inbox {
        #[serde(default, with = "as_text::option")]
        event: Option<EventId>,
    },
    /// A rule is about to allow a call: whether the journal takes records.
    CanWrite,
    /// Entries of the stream that the gate looks for. They are not confirmed, nor said again.
    Streamed(Box<StreamBatch>),
    /// The session ends on purpose.
    Bye(#[serde(with = "GoodbyeForm")] Goodbye),
}

/// An event of a channel server, as the process that runs the server tells it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct ChannelEvent {
    #[serde(with = "as_text")]
    pub id: EventId,
    /// The name of the server.
    pub channel: String,
    /// Whoever speaks through this server answers prompts, so they may direct the session as well.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directs: bool,
    /// None: a new conversation.
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    pub chat: Option<ChatId>,
    /// As the server gave them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<Attribute>,
    pub text: String,
}

/// A process speaks for a session: for the first time, or again.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct AttachRequest {
    #[serde(with = "as_text")]
    pub session: SessionId,
    #[serde(with = "AboutForm")]
    pub about: SessionAbout,
    /// Events that are with the agent, as far as the gate may not know it.
    #[serde(default, with = "as_text::list")]
    pub wrote: Vec<EventId>,
    /// Events that the process has received and not yet written.
    #[serde(default, with = "as_text::list")]
    pub holding: Vec<EventId>,
    /// The process pushes events as they are: it wants [`GateMessage::Line`] where that says all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub lines: bool,
}

/// What the gate says to a session's process.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum GateMessage<'a> {
    #[serde(borrow)]
    Event(EventFrame<'a>),
    /// The same as the client reads it.
    #[serde(borrow)]
    Line(EventLine<'a>),
    Verdict {
        #[serde(with = "as_text")]
        ask: AskId,
        /// As the asking process named it.
        origin: String,
        #[serde(with = "as_text")]
        source: Source,
        #[serde(with = "Boxed::<RulingForm>")]
        ruling: Box<Ruling>,
        /// When it was given, in milliseconds: tells one verdict on an ask from another.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        at: Option<u64>,
    },
    /// No verdict is coming: nobody answered in time, or it was settled elsewhere.
    Closed {
        #[serde(with = "as_text")]
        ask: AskId,
        origin: String,
        #[serde(with = "as_text")]
        source: Source,
    },
    Order {
        /// None for one of a journal of 0.1.0.
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        id: Option<OrderId>,
        #[serde(with = "OrderForm")]
        order: Order,
    },
    /// Text of this sender is before the model already, as another process of the same conversation has read it.
    Outside { sender: String },
    /// This event is no longer for the agent: it was dropped, has expired, went to another session, or its sender may no
    /// longer direct.
    TakeBack {
        #[serde(with = "as_text")]
        event: EventId,
    },
    /// Someone wants the entries of the stream after this number: those there are, else the next ones that come.
    Look {
        look: u64,
        after: u64,
        /// To be answered even where there are none.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        at_once: bool,
    },
    /// Nobody waits for the answer to this look any more.
    LookAway { look: u64 },
    /// What became of the line with this number.
    Done { n: u64, answer: Answered },
}

/// What became of a numbered line.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Answered {
    Ok,
    /// People answer the ask with this code.
    Asked {
        #[serde(with = "as_text")]
        code: Code,
    },
    Inbox {
        events: Vec<InboxItem>,
    },
    Event {
        event: InboxItem,
        text: String,
    },
    Refused(Fault),
}

forms!(NewAskForm of NewAsk);

/// A permission request as its source tells it.
#[derive(Serialize, Deserialize)]
#[serde(remote = "NewAsk")]
pub struct NewAskForm {
    #[serde(with = "as_text")]
    id: AskId,
    #[serde(with = "as_text")]
    source: Source,
    origin: String,
    tool: String,
    #[serde(with = "as_text")]
    description: Text,
    #[serde(with = "as_text")]
    preview: Text,
    #[serde(default, with = "DetailsForm", skip_serializing_if = "is_plain")]
    details: Details,
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

    const ID: &str = "01m7f9jc2g75gzpa3000000001";

    #[test]
    fn lines_are_written_as_they_were_read() {
        let opening = r#"{"hello":{"min":1,"max":2,"program":"0.1.0"}}"#;
        assert_eq!(serde_json::to_string(&serde_json::from_str::<Opening>(opening).unwrap()).unwrap(), opening);
        let messages = [
            format!(r#"{{"wrote":{{"events":["{ID}"]}}}}"#),
            format!(
                r#"{{"asked":{{"id":"{ID}","source":"hook","origin":"o","tool":"Bash","description":"d","preview":"p"}}}}"#
            ),
            r#"{"inbox":{"event":null}}"#.to_owned(),
            r#"{"bye":{"why":"end of input"}}"#.to_owned(),
        ];
        for message in messages {
            let line = format!(r#"{{"n":3,"message":{message}}}"#);
            let read: Numbered<SessionMessage> = serde_json::from_str(&line).unwrap();
            assert_eq!(serde_json::to_string(&Numbered { n: read.n, message: &read.message }).unwrap(), line);
        }
    }

    #[test]
    fn a_newer_peer_may_say_more_than_we_know() {
        let message: SessionMessage = serde_json::from_str(r#"{"bye":{"why":"w","mood":"fine"}}"#).unwrap();
        assert_eq!(message, SessionMessage::Bye(Goodbye::because("w")));
    }

    #[test]
    fn an_id_that_is_none_is_refused_with_what_was_expected() {
        let error = serde_json::from_str::<SessionMessage>(r#"{"carried":{"ask":"x"}}"#).unwrap_err().to_string();
        assert!(error.starts_with(r#""x": not an id"#), "{error}");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_a_frame_or_an_error_but_never_a_panic(bytes: Vec<u8>) {
            drop(serde_json::from_slice::<Opening>(&bytes));
            drop(serde_json::from_slice::<Numbered<SessionMessage>>(&bytes));
            drop(serde_json::from_slice::<GateMessage<'_>>(&bytes));
        }
    }
}
