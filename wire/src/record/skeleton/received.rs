//! An event that was received, flat and without its text.

use std::borrow::Cow;
use std::sync::Arc;

use portcullis_core::{
    Address, Attribute, ChatId, Event, EventId, IdText, IdempotencyKey, Label, Moment, ReplyId, SessionId, Text,
    TokenScope, Via, is_of_door,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{covers_everything, labels};
use crate::as_text;
use crate::words::put_quoted;

#[derive(Serialize, Deserialize)]
struct EventSkeleton<'a> {
    #[serde(with = "as_text")]
    id: EventId,
    #[serde(with = "as_text")]
    via: Via,
    sender: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    credential: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    device: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    directs: bool,
    #[serde(default, with = "labels", skip_serializing_if = "covers_everything")]
    scope: TokenScope,
    #[serde(with = "as_text")]
    chat: ChatId,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    session: Option<SessionId>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    label: Option<Label>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    to: Option<SessionId>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    attributes: Cow<'a, [Attribute]>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    reply_to: Option<ReplyId>,
    /// The payload ends with a line of what the sender gave along.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    attributed: bool,
    #[serde(default, alias = "key", skip_serializing_if = "Option::is_none")]
    idempotency_key: Option<Cow<'a, str>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<[u8; 32]>,
}

pub(crate) fn serialize<S: Serializer>(
    event: &Arc<Event>,
    to: &Option<SessionId>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let (session, label) = match &event.address {
        Address::Open => (None, None),
        Address::Session(session) => (Some(*session), None),
        Address::Label(label) => (None, Some(label.clone())),
    };
    let (key, digest) = event.idempotency_key.as_ref().map(|key| (key.key.as_str().into(), key.digest)).unzip();
    // What the sender gave along is in the payload.
    let is_attributed = event.given().next().is_some();
    let attributes = match is_attributed {
        true => event.attributes.iter().filter(|(name, _)| is_of_door(name)).cloned().collect::<Vec<_>>().into(),
        false => (&*event.attributes).into(),
    };
    let received = EventSkeleton {
        id: event.id,
        via: event.via.clone(),
        sender: event.sender.as_str().into(),
        credential: event.credential.as_deref().map(Cow::from),
        device: event.device.as_deref().map(Cow::from),
        directs: event.directs,
        scope: event.scope.clone(),
        chat: event.chat.clone(),
        session,
        label,
        to: *to,
        attributes,
        reply_to: event.reply_to,
        attributed: is_attributed,
        idempotency_key: key,
        digest,
    };
    received.serialize(serializer)
}

/// Writes the bytes that serde writes, for an event that says nothing out of the ordinary: nearly all are such, and this
/// takes a fraction of the time. False for any other, and then nothing is written.
pub(crate) fn put_plain(body: &mut Vec<u8>, event: &Event, to: Option<SessionId>) -> bool {
    let is_plain = event.credential.is_none()
        && event.device.is_none()
        && event.scope == TokenScope::Everything
        && event.reply_to.is_none()
        && event.idempotency_key.is_none()
        && event.given().next().is_none();
    if !is_plain {
        return false;
    }
    let put_id = |body: &mut Vec<u8>, name: &str, id: IdText| {
        for part in [name.as_bytes(), id.as_bytes(), b"\""] {
            body.extend_from_slice(part);
        }
    };
    put_id(body, r#"{"received":{"id":""#, event.id.text());
    for (name, text) in [(r#","via":"#, event.via.name()), (r#","sender":"#, event.sender.as_str())] {
        body.extend_from_slice(name.as_bytes());
        put_quoted(body, text);
    }
    if event.directs {
        body.extend_from_slice(br#","directs":true"#);
    }
    body.extend_from_slice(br#","chat":"#);
    put_quoted(body, event.chat.as_str());
    match &event.address {
        Address::Open => {}
        Address::Session(session) => put_id(body, r#","session":""#, session.text()),
        Address::Label(label) => {
            body.extend_from_slice(br#","label":"#);
            put_quoted(body, label.as_str());
        }
    }
    if let Some(to) = to {
        put_id(body, r#","to":""#, to.text());
    }
    for (place, (name, value)) in event.attributes.iter().enumerate() {
        body.extend_from_slice(if place == 0 { br#","attributes":[["# } else { b",[" });
        put_quoted(body, name);
        body.push(b',');
        put_quoted(body, value);
        body.push(b']');
    }
    if !event.attributes.is_empty() {
        body.push(b']');
    }
    body.extend_from_slice(b"}}");
    true
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<(Arc<Event>, Option<SessionId>), D::Error> {
    let read = EventSkeleton::deserialize(deserializer)?;
    let EventSkeleton {
        id,
        via,
        sender,
        credential,
        device,
        directs,
        scope,
        chat,
        session,
        label,
        to,
        attributes,
        reply_to,
        ..
    } = read;
    let (idempotency_key, digest) = (read.idempotency_key, read.digest);
    let event = Event {
        id,
        via,
        sender: sender.into_owned(),
        credential: credential.map(Cow::into_owned),
        device: device.map(Cow::into_owned),
        directs,
        scope,
        chat,
        address: match (session, label) {
            (Some(session), _) => Address::Session(session),
            (None, Some(label)) => Address::Label(label),
            (None, None) => Address::Open,
        },
        attributes: attributes.into(),
        reply_to,
        idempotency_key: idempotency_key
            .zip(digest)
            .map(|(key, digest)| IdempotencyKey { key: key.into_owned(), digest }),
        // Until the payload is read, this says whether it holds more than the text.
        text: if read.attributed { Text::Away } else { Text::Erased },
        at: Moment::default(),
    };
    Ok((Arc::new(event), to))
}
