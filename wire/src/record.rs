//! Records as the journal keeps them: a skeleton for ever, and a payload that can be erased.
//!
//! The names in `alias` are those of older journals.

mod connectors;
mod payload;
mod skeleton;

use std::ops::Not;
use std::sync::Arc;

use portcullis_core::policy::Mode;
use portcullis_core::{
    Ask, AskId, CallOutcome, ChatId, ConnectorName, DeliveryWay, Event, EventId, Goodbye, Identity, Label, Moment,
    Moves, Order, OrderId, Pairing, PairingCode, Record, Reply, ReplyId, Role, SentMessage, SessionAbout, SessionId,
    Text, Token, TokenId, ToolCall, Verdict,
};
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::session::{AboutForm, GoodbyeForm};
use skeleton::{AskForm, PairingForm, ReplyForm, TokenForm};

/// The bytes that the journal stores of a record.
#[derive(Debug, PartialEq, Eq)]
pub struct RecordBytes {
    pub body: Vec<u8>,
    /// Shared: an event's text is not copied on its way into the journal.
    pub payload: Option<Arc<[u8]>>,
}

/// What the journal still has of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPayload<'a> {
    None,
    Kept(&'a [u8]),
    Erased,
}

/// The error for a record that this program cannot read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("a record is not what this program writes: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a record's text is not valid UTF-8")]
    Text(#[from] std::str::Utf8Error),
}

/// The bytes of a record. The journal keeps its moment and its subject in columns of their own.
pub fn write(record: &Record) -> serde_json::Result<RecordBytes> {
    let mut body = Vec::new();
    let payload = write_into(&mut body, record)?;
    Ok(RecordBytes { body, payload })
}

/// The same into a buffer that was used before. Returns the payload.
pub fn write_into(body: &mut Vec<u8>, record: &Record) -> serde_json::Result<Option<Arc<[u8]>>> {
    body.clear();
    // Most bodies fit, so that few have to move while they are written.
    body.reserve(384);
    let is_written = match record {
        Record::Received { event, to } => skeleton::received::put_plain(body, event, *to),
        Record::Wrote { session, events, way } => {
            put_wrote(body, *session, events, *way);
            true
        }
        _ => false,
    };
    if !is_written {
        RecordForm::serialize(record, &mut serde_json::Serializer::new(&mut *body))?;
    }
    payload::write(record)
}

/// The bytes that serde writes. There are as many ids as there were events.
fn put_wrote(body: &mut Vec<u8>, session: SessionId, events: &[EventId], way: Option<DeliveryWay>) {
    let mut put = |before: &str, text: &[u8]| {
        body.extend_from_slice(before.as_bytes());
        body.extend_from_slice(text);
    };
    put(r#"{"wrote":{"session":""#, session.text().as_bytes());
    put(r#"","events":["#, b"");
    for (place, event) in events.iter().enumerate() {
        put(if place == 0 { "\"" } else { ",\"" }, event.text().as_bytes());
        put("\"", b"");
    }
    put("]", b"");
    if let Some(way) = way {
        put(r#","way":""#, way.name().as_bytes());
        put("\"", b"");
    }
    put("}}", b"");
}

/// Reads a record back. What was erased is said to be erased; what cannot be read is an error, never a guess.
pub fn read(at: Moment, body: &[u8], payload: RecordPayload<'_>) -> Result<Record, Unreadable> {
    let mut reader = serde_json::Deserializer::from_slice(body);
    let mut record = RecordForm::deserialize(&mut reader)?;
    reader.end()?;
    payload::read_into(&mut record, at, payload)?;
    Ok(record)
}

/// A record without its moment and without what people and agents wrote.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Record", rename_all = "snake_case")]
enum RecordForm {
    Opened {
        version: String,
    },
    ClockSet {
        was: u64,
    },
    #[serde(with = "skeleton::received")]
    Received {
        event: Arc<Event>,
        to: Option<SessionId>,
    },
    Seen {
        #[serde(with = "as_text")]
        event: EventId,
    },
    #[serde(alias = "expired")]
    EventExpired {
        #[serde(with = "as_text")]
        event: EventId,
    },
    Attached {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "AboutForm")]
        about: SessionAbout,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        label: Option<Label>,
        #[serde(default, with = "as_text::list", skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<EventId>,
        #[serde(default, with = "as_text", skip_serializing_if = "are_implied")]
        moves: Moves,
    },
    Wrote {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "as_text::list")]
        events: Vec<EventId>,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        way: Option<DeliveryWay>,
    },
    Lost {
        #[serde(with = "as_text")]
        session: SessionId,
    },
    Ended {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(flatten, with = "GoodbyeForm")]
        goodbye: Goodbye,
        #[serde(default, with = "as_text", skip_serializing_if = "are_implied")]
        moves: Moves,
    },
    Moved {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "as_text::list")]
        events: Vec<EventId>,
        #[serde(default, with = "as_text::option")]
        to: Option<SessionId>,
        #[serde(default, skip_serializing_if = "Not::not")]
        redelivered: bool,
    },
    Requeued {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "as_text::list")]
        events: Vec<EventId>,
        #[serde(default, with = "as_text::option")]
        to: Option<SessionId>,
        attempts: u8,
    },
    #[serde(with = "ReplyForm")]
    Replied {
        reply: Reply,
    },
    ReplyEdited {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "as_text")]
        reply: ReplyId,
        #[serde(with = "as_text")]
        chat: ChatId,
        #[serde(skip, default = "skeleton::erased")]
        text: Text,
    },
    #[serde(with = "AskForm")]
    Asked {
        ask: Ask,
    },
    #[serde(with = "skeleton::verdict")]
    Answered {
        ask: AskId,
        verdict: Verdict,
    },
    #[serde(with = "skeleton::verdict")]
    Voted {
        ask: AskId,
        verdict: Verdict,
    },
    Carried {
        #[serde(with = "as_text")]
        ask: AskId,
    },
    Withdrawn {
        #[serde(with = "as_text")]
        ask: AskId,
        why: String,
    },
    #[serde(alias = "lapsed")]
    AskExpired {
        #[serde(with = "as_text")]
        ask: AskId,
    },
    Joined {
        #[serde(with = "as_text")]
        ask: AskId,
        #[serde(with = "as_text")]
        into: AskId,
    },
    NotConfirmed {
        #[serde(with = "as_text")]
        ask: AskId,
    },
    #[serde(alias = "effected")]
    OutcomeReported {
        #[serde(with = "as_text")]
        ask: AskId,
        #[serde(with = "as_text")]
        outcome: CallOutcome,
        #[serde(default, skip_serializing_if = "Not::not")]
        differs: bool,
    },
    Called {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(flatten, with = "skeleton::call")]
        call: ToolCall,
    },
    Described {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "AboutForm")]
        about: SessionAbout,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        label: Option<Label>,
    },
    OutsideRead {
        #[serde(with = "as_text")]
        session: SessionId,
        sender: String,
    },
    OutsideEnded {
        #[serde(with = "as_text")]
        session: SessionId,
        by: String,
    },
    Ordered {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        id: Option<OrderId>,
        #[serde(with = "skeleton::order")]
        order: Order,
        by: String,
    },
    OrderDone {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "as_text")]
        order: OrderId,
    },
    OrderFailed {
        #[serde(with = "as_text")]
        session: SessionId,
        #[serde(with = "as_text")]
        order: OrderId,
        why: String,
    },
    DefaultModeSet {
        folder: String,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        mode: Option<Mode>,
        by: String,
    },
    EditorTrusted {
        process: String,
        what: String,
        by: String,
    },
    Dropped {
        #[serde(with = "as_text")]
        event: EventId,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        why: Option<String>,
    },
    Died {
        #[serde(with = "as_text")]
        event: EventId,
    },
    Retried {
        #[serde(with = "as_text")]
        event: EventId,
        by: String,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        to: Option<SessionId>,
        #[serde(default, with = "as_text", skip_serializing_if = "are_implied")]
        moves: Moves,
    },
    Missed {
        by: String,
    },
    PersonSet {
        name: String,
        #[serde(with = "as_text")]
        role: Role,
        by: String,
    },
    PersonRemoved {
        name: String,
        by: String,
    },
    TokenAdded {
        #[serde(flatten, with = "TokenForm")]
        token: Token,
        by: String,
    },
    TokenRevoked {
        #[serde(with = "as_text")]
        token: TokenId,
        person: String,
        by: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        device: Option<String>,
    },
    DeviceUsed {
        #[serde(with = "as_text")]
        token: TokenId,
        person: String,
    },
    #[serde(with = "PairingForm")]
    PairingAsked {
        pairing: Pairing,
    },
    Paired {
        #[serde(with = "as_text")]
        code: PairingCode,
        name: String,
        #[serde(with = "as_text")]
        role: Role,
        by: String,
    },
    IdentityLinked {
        #[serde(with = "as_text")]
        identity: Identity,
        name: String,
        by: String,
    },
    IdentityUnlinked {
        #[serde(with = "as_text")]
        identity: Identity,
        name: String,
        by: String,
    },
    PairingMissed {
        by: String,
    },
    Taken {
        #[serde(with = "as_text")]
        connector: ConnectorName,
        position: u64,
        #[serde(default, with = "connectors::messages", skip_serializing_if = "Vec::is_empty")]
        messages: Vec<SentMessage>,
    },
    Redacted {
        what: String,
        by: String,
    },
    #[serde(alias = "barred")]
    AccessDenied {
        who: String,
        what: String,
    },
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn are_implied(moves: &Moves) -> bool {
    *moves == Moves::Implied
}

#[cfg(test)]
pub(crate) mod tests;
