//! Records as the journal keeps them: a skeleton for ever, and a payload that can be erased.

mod verdicts;

use std::borrow::Cow;
use std::ops::Not;
use std::sync::Arc;

use portcullis_core::{
    Address, Ask, AskId, CallOutcome, ChatId, Code, Details as CoreDetails, Event, EventId, Goodbye, IdempotencyKey,
    Label, Moment, Order as CoreOrder, Pairing, PairingCode, Record, Reply, Role, SentFile, SessionAbout, SessionId,
    Source, Text, Token, TokenScope, ToolCall as CoreCall, Via,
};
use serde::{Deserialize, Serialize};

use crate::ask::{Details, Order, ToolCall};
use crate::link::{About, File};
use verdicts::{VerdictBody, verdict_body, verdict_of, verdict_payload};

/// What the journal stores of a record.
#[derive(Debug, PartialEq, Eq)]
pub struct Stored {
    pub body: Vec<u8>,
    /// Shared: an event's text is not copied on its way into the journal.
    pub payload: Option<Arc<[u8]>>,
}

/// What the journal still has of a payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Payload<'a> {
    None,
    Kept(&'a [u8]),
    Erased,
}

/// The journal holds something this program cannot read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("a record is not what this program writes: {0}")]
    Json(#[from] serde_json::Error),
    #[error("a record's {0} is not valid")]
    Field(&'static str),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Skeleton<'a> {
    Opened {
        version: Cow<'a, str>,
    },
    Received {
        id: String,
        via: Cow<'a, str>,
        sender: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Not::not")]
        directs: bool,
        chat: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        session: Option<String>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<String>,
        #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
        attributes: Cow<'a, [(String, String)]>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        key: Option<Cow<'a, str>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        digest: Option<[u8; 32]>,
    },
    Seen {
        event: String,
    },
    Expired {
        event: String,
    },
    Attached {
        session: String,
        about: About,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        wrote: Vec<String>,
    },
    Wrote {
        session: String,
        events: Vec<String>,
    },
    Lost {
        session: String,
    },
    Ended {
        session: String,
        why: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        untouched: bool,
    },
    Replied {
        id: String,
        session: String,
        chat: Cow<'a, str>,
    },
    Asked {
        id: String,
        code: String,
        session: String,
        #[serde(alias = "mouth")]
        source: Cow<'a, str>,
        origin: Cow<'a, str>,
        tool: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "Details::is_plain")]
        details: Box<Details>,
    },
    Answered(VerdictBody<'a>),
    Voted(VerdictBody<'a>),
    Lapsed {
        ask: String,
    },
    Joined {
        ask: String,
        into: String,
    },
    Effected {
        ask: String,
        outcome: Cow<'a, str>,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        differs: bool,
    },
    Called {
        session: String,
        #[serde(flatten)]
        call: ToolCall,
    },
    Described {
        session: String,
        about: About,
    },
    Ordered {
        session: String,
        order: Order,
        by: Cow<'a, str>,
    },
    Carried {
        ask: String,
    },
    Withdrawn {
        ask: String,
        why: Cow<'a, str>,
    },
    Missed {
        by: Cow<'a, str>,
    },
    Dropped {
        event: String,
        by: Cow<'a, str>,
    },
    Died {
        event: String,
    },
    Retried {
        event: String,
        by: Cow<'a, str>,
    },
    PersonSet {
        name: Cow<'a, str>,
        role: Cow<'a, str>,
        by: Cow<'a, str>,
    },
    PersonRemoved {
        name: Cow<'a, str>,
        by: Cow<'a, str>,
    },
    TokenAdded {
        id: String,
        person: Cow<'a, str>,
        hash: [u8; 32],
        #[serde(default, skip_serializing_if = "Option::is_none")]
        labels: Option<Vec<String>>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        expires: Option<u64>,
        by: Cow<'a, str>,
    },
    TokenRevoked {
        token: String,
        person: Cow<'a, str>,
        by: Cow<'a, str>,
    },
    PairingAsked {
        code: String,
        platform: Cow<'a, str>,
        user: Cow<'a, str>,
        called: Cow<'a, str>,
    },
    Paired {
        code: String,
        name: Cow<'a, str>,
        role: Cow<'a, str>,
        by: Cow<'a, str>,
    },
    PairingMissed {
        by: Cow<'a, str>,
    },
    Redacted {
        what: Cow<'a, str>,
        by: Cow<'a, str>,
    },
    Barred {
        who: Cow<'a, str>,
        what: Cow<'a, str>,
    },
}

#[derive(Serialize, Deserialize)]
struct ReplyPayload<'a> {
    text: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    files: Vec<File>,
}

#[derive(Serialize, Deserialize)]
struct AskPayload<'a> {
    description: Cow<'a, str>,
    preview: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "Details::is_plain")]
    details: Box<Details>,
}

fn texts(ids: &[EventId]) -> Vec<String> {
    ids.iter().map(ToString::to_string).collect()
}

/// The bytes of a record. Its moment and its subject are kept beside them.
pub fn write(record: &Record) -> serde_json::Result<Stored> {
    let payload = match record {
        // An event's text is stored as it is: it may be large, and needs no wrapping.
        Record::Received { event, .. } => Some(event.text.bytes()),
        Record::Replied { reply } => Some(json(&ReplyPayload {
            text: reply.text.as_str().into(),
            files: reply.files.iter().map(File::from).collect(),
        })?),
        Record::Asked { ask } => Some(json(&AskPayload {
            description: ask.description.as_str().into(),
            preview: ask.preview.as_str().into(),
            details: Box::new((&*ask.details).into()),
        })?),
        Record::Answered { verdict, .. } | Record::Voted { verdict, .. } => verdict_payload(verdict)?,
        Record::Called { call, .. } if !call.preview.is_empty() => Some(call.preview.bytes()),
        Record::Ordered { order: CoreOrder::Prompt { text, .. }, .. } => Some(text.bytes()),
        _ => None,
    };
    // Room for all but the longest, so that few have to move while they are written.
    let mut body = Vec::with_capacity(384);
    serde_json::to_writer(&mut body, &skeleton(record))?;
    Ok(Stored { body, payload })
}

fn json(payload: &impl Serialize) -> serde_json::Result<Arc<[u8]>> {
    serde_json::to_vec(payload).map(Arc::from)
}

fn skeleton(record: &Record) -> Skeleton<'_> {
    match record {
        Record::Opened { version } => Skeleton::Opened { version: version.into() },
        Record::Received { event, to } => Skeleton::Received {
            id: event.id.to_string(),
            via: event.via.name().into(),
            sender: event.sender.as_str().into(),
            directs: event.directs,
            chat: event.chat.as_str().into(),
            session: match event.address {
                Address::Session(id) => Some(id.to_string()),
                _ => None,
            },
            label: match &event.address {
                Address::Label(label) => Some(label.as_str().into()),
                _ => None,
            },
            to: to.map(|to| to.to_string()),
            attributes: event.attributes.as_slice().into(),
            key: event.once.as_ref().map(|once| once.key.as_str().into()),
            digest: event.once.as_ref().map(|once| once.digest),
        },
        Record::Seen { event } => Skeleton::Seen { event: event.to_string() },
        Record::Expired { event } => Skeleton::Expired { event: event.to_string() },
        Record::Attached { session, about, wrote } => {
            Skeleton::Attached { session: session.to_string(), about: about.into(), wrote: texts(wrote) }
        }
        Record::Wrote { session, events } => Skeleton::Wrote { session: session.to_string(), events: texts(events) },
        Record::Lost { session } => Skeleton::Lost { session: session.to_string() },
        Record::Ended { session, goodbye } => Skeleton::Ended {
            session: session.to_string(),
            why: goodbye.why.as_str().into(),
            untouched: goodbye.untouched,
        },
        Record::Replied { reply } => Skeleton::Replied {
            id: reply.id.to_string(),
            session: reply.session.to_string(),
            chat: reply.chat.as_str().into(),
        },
        Record::Asked { ask } => Skeleton::Asked {
            id: ask.id.to_string(),
            code: ask.code.to_string(),
            session: ask.session.to_string(),
            source: ask.source.name().into(),
            origin: ask.origin.as_str().into(),
            tool: ask.tool.as_str().into(),
            details: Box::new(Details::from(&*ask.details).bare()),
        },
        Record::Answered { ask, verdict } => Skeleton::Answered(verdict_body(ask, verdict)),
        Record::Voted { ask, verdict } => Skeleton::Voted(verdict_body(ask, verdict)),
        Record::Lapsed { ask } => Skeleton::Lapsed { ask: ask.to_string() },
        Record::Joined { ask, into } => Skeleton::Joined { ask: ask.to_string(), into: into.to_string() },
        Record::Effected { ask, outcome, differs } => {
            Skeleton::Effected { ask: ask.to_string(), outcome: outcome.name().into(), differs: *differs }
        }
        Record::Called { session, call } => {
            Skeleton::Called { session: session.to_string(), call: ToolCall { preview: String::new(), ..call.into() } }
        }
        Record::Described { session, about } => {
            Skeleton::Described { session: session.to_string(), about: about.into() }
        }
        Record::Ordered { session, order, by } => {
            let mut order: Order = order.into();
            if let Order::Prompt { text, .. } = &mut order {
                text.clear();
            }
            Skeleton::Ordered { session: session.to_string(), order, by: by.into() }
        }
        Record::Carried { ask } => Skeleton::Carried { ask: ask.to_string() },
        Record::Withdrawn { ask, why } => Skeleton::Withdrawn { ask: ask.to_string(), why: why.into() },
        Record::Missed { by } => Skeleton::Missed { by: by.into() },
        Record::Dropped { event, by } => Skeleton::Dropped { event: event.to_string(), by: by.into() },
        Record::Died { event } => Skeleton::Died { event: event.to_string() },
        Record::Retried { event, by } => Skeleton::Retried { event: event.to_string(), by: by.into() },
        Record::PersonSet { name, role, by } => {
            Skeleton::PersonSet { name: name.into(), role: role.name().into(), by: by.into() }
        }
        Record::PersonRemoved { name, by } => Skeleton::PersonRemoved { name: name.into(), by: by.into() },
        Record::TokenAdded { token, by } => Skeleton::TokenAdded {
            id: token.id.to_string(),
            person: token.person.as_str().into(),
            hash: token.hash,
            labels: match &token.scope {
                TokenScope::Everything => None,
                TokenScope::Labels(labels) => Some(labels.iter().map(ToString::to_string).collect()),
            },
            expires: token.expires.map(|expires| expires.0),
            by: by.into(),
        },
        Record::TokenRevoked { token, person, by } => {
            Skeleton::TokenRevoked { token: token.to_string(), person: person.into(), by: by.into() }
        }
        Record::PairingAsked { pairing } => Skeleton::PairingAsked {
            code: pairing.code.to_string(),
            platform: pairing.platform.as_str().into(),
            user: pairing.user.as_str().into(),
            called: pairing.called.as_str().into(),
        },
        Record::Paired { code, name, role, by } => {
            Skeleton::Paired { code: code.to_string(), name: name.into(), role: role.name().into(), by: by.into() }
        }
        Record::PairingMissed { by } => Skeleton::PairingMissed { by: by.into() },
        Record::Redacted { what, by } => Skeleton::Redacted { what: what.into(), by: by.into() },
        Record::Barred { who, what } => Skeleton::Barred { who: who.into(), what: what.into() },
    }
}

/// Reads a record back. What was erased is said to be erased; what cannot be read is an error, never a guess.
pub fn read(at: Moment, body: &[u8], payload: Payload<'_>) -> Result<Record, Unreadable> {
    Ok(match serde_json::from_slice(body)? {
        Skeleton::Opened { version } => Record::Opened { version: version.into_owned() },
        Skeleton::Received { id, via, sender, directs, chat, session, label, to, attributes, key, digest } => {
            let address = match (session, label) {
                (Some(session), _) => Address::Session(id_of("session", &session)?),
                (None, Some(label)) => Address::Label(Label::new(&label).ok_or(Unreadable::Field("label"))?),
                (None, None) => Address::Open,
            };
            let event = Event {
                id: id_of("event", &id)?,
                via: via_of(&via)?,
                sender: sender.into_owned(),
                directs,
                chat: chat_of(&chat)?,
                address,
                attributes: attributes.into_owned(),
                once: key.zip(digest).map(|(key, digest)| IdempotencyKey { key: key.into_owned(), digest }),
                text: match payload {
                    Payload::Kept(bytes) => Text::new(utf8(bytes)?),
                    Payload::None | Payload::Erased => Text::Erased,
                },
                at,
            };
            Record::Received { event: Arc::new(event), to: to.map(|to| id_of("session", &to)).transpose()? }
        }
        Skeleton::Seen { event } => Record::Seen { event: id_of("event", &event)? },
        Skeleton::Expired { event } => Record::Expired { event: id_of("event", &event)? },
        Skeleton::Attached { session, about, wrote } => Record::Attached {
            session: id_of("session", &session)?,
            about: SessionAbout::try_from(about).map_err(|_| Unreadable::Field("about"))?,
            wrote: ids_of(&wrote)?,
        },
        Skeleton::Wrote { session, events } => {
            Record::Wrote { session: id_of("session", &session)?, events: ids_of(&events)? }
        }
        Skeleton::Lost { session } => Record::Lost { session: id_of("session", &session)? },
        Skeleton::Ended { session, why, untouched } => {
            let goodbye = Goodbye { why: why.into_owned(), untouched };
            Record::Ended { session: id_of("session", &session)?, goodbye }
        }
        Skeleton::Replied { id, session, chat } => {
            let (text, files) = match payload {
                Payload::Kept(bytes) => {
                    let payload: ReplyPayload<'_> = serde_json::from_slice(bytes)?;
                    (Text::new(payload.text.as_ref()), payload.files.into_iter().map(SentFile::from).collect())
                }
                Payload::None | Payload::Erased => (Text::Erased, vec![]),
            };
            let session: SessionId = id_of("session", &session)?;
            Record::Replied {
                reply: Reply { id: id_of("reply", &id)?, session, chat: chat_of(&chat)?, text, files, at },
            }
        }
        Skeleton::Asked { id, code, session, source, origin, tool, details } => {
            let (description, preview, details) = match payload {
                Payload::Kept(bytes) => {
                    let payload: AskPayload<'_> = serde_json::from_slice(bytes)?;
                    let texts = (Text::new(payload.description.as_ref()), Text::new(payload.preview.as_ref()));
                    (texts.0, texts.1, details_of(*payload.details)?)
                }
                Payload::None | Payload::Erased => {
                    let details = details_of(*details)?;
                    let input = details.input.as_ref().map(|_| Text::Erased);
                    (Text::Erased, Text::Erased, CoreDetails { input, ..details })
                }
            };
            let ask = Ask {
                id: ask_of(&id)?,
                code: Code::parse(&code).ok_or(Unreadable::Field("code"))?,
                session: id_of("session", &session)?,
                source: Source::named(&source).ok_or(Unreadable::Field("source"))?,
                origin: origin.into_owned(),
                tool: tool.into_owned(),
                description,
                preview,
                details: Box::new(details),
                at,
            };
            Record::Asked { ask }
        }
        Skeleton::Answered(body) => {
            let (ask, verdict) = verdict_of(at, body, payload)?;
            Record::Answered { ask, verdict }
        }
        Skeleton::Voted(body) => {
            let (ask, verdict) = verdict_of(at, body, payload)?;
            Record::Voted { ask, verdict }
        }
        Skeleton::Lapsed { ask } => Record::Lapsed { ask: ask_of(&ask)? },
        Skeleton::Joined { ask, into } => Record::Joined { ask: ask_of(&ask)?, into: ask_of(&into)? },
        Skeleton::Effected { ask, outcome, differs } => {
            let outcome = CallOutcome::named(&outcome).ok_or(Unreadable::Field("outcome"))?;
            Record::Effected { ask: ask_of(&ask)?, outcome, differs }
        }
        Skeleton::Called { session, call } => {
            let call: CoreCall = call.try_into().map_err(|_| Unreadable::Field("call"))?;
            let preview = match payload {
                Payload::Kept(bytes) => Text::new(utf8(bytes)?),
                Payload::Erased => Text::Erased,
                Payload::None => Text::new(""),
            };
            Record::Called { session: id_of("session", &session)?, call: CoreCall { preview, ..call } }
        }
        Skeleton::Described { session, about } => Record::Described {
            session: id_of("session", &session)?,
            about: about.try_into().map_err(|_| Unreadable::Field("about"))?,
        },
        Skeleton::Ordered { session, order, by } => {
            let mut order: CoreOrder = order.into();
            if let CoreOrder::Prompt { text, .. } = &mut order {
                *text = match payload {
                    Payload::Kept(bytes) => Text::new(utf8(bytes)?),
                    Payload::None | Payload::Erased => Text::Erased,
                };
            }
            Record::Ordered { session: id_of("session", &session)?, order, by: by.into_owned() }
        }
        Skeleton::Carried { ask } => Record::Carried { ask: ask_of(&ask)? },
        Skeleton::Withdrawn { ask, why } => Record::Withdrawn { ask: ask_of(&ask)?, why: why.into_owned() },
        Skeleton::Missed { by } => Record::Missed { by: by.into_owned() },
        Skeleton::Dropped { event, by } => Record::Dropped { event: id_of("event", &event)?, by: by.into_owned() },
        Skeleton::Died { event } => Record::Died { event: id_of("event", &event)? },
        Skeleton::Retried { event, by } => Record::Retried { event: id_of("event", &event)?, by: by.into_owned() },
        Skeleton::PersonSet { name, role, by } => {
            Record::PersonSet { name: name.into_owned(), role: role_of(&role)?, by: by.into_owned() }
        }
        Skeleton::PersonRemoved { name, by } => Record::PersonRemoved { name: name.into_owned(), by: by.into_owned() },
        Skeleton::TokenAdded { id, person, hash, labels, expires, by } => {
            let scope = match labels {
                None => TokenScope::Everything,
                Some(labels) => {
                    let labels = labels.iter().map(|label| Label::new(label).ok_or(Unreadable::Field("label")));
                    TokenScope::Labels(labels.collect::<Result<_, _>>()?)
                }
            };
            let (id, person, expires) = (id_of("token", &id)?, person.into_owned(), expires.map(Moment));
            Record::TokenAdded { token: Token { id, person, hash, scope, expires, since: at }, by: by.into_owned() }
        }
        Skeleton::TokenRevoked { token, person, by } => {
            Record::TokenRevoked { token: id_of("token", &token)?, person: person.into_owned(), by: by.into_owned() }
        }
        Skeleton::PairingAsked { code, platform, user, called } => Record::PairingAsked {
            pairing: Pairing {
                code: pairing_of(&code)?,
                platform: platform.into_owned(),
                user: user.into_owned(),
                called: called.into_owned(),
                since: at,
            },
        },
        Skeleton::Paired { code, name, role, by } => Record::Paired {
            code: pairing_of(&code)?,
            name: name.into_owned(),
            role: role_of(&role)?,
            by: by.into_owned(),
        },
        Skeleton::PairingMissed { by } => Record::PairingMissed { by: by.into_owned() },
        Skeleton::Redacted { what, by } => Record::Redacted { what: what.into_owned(), by: by.into_owned() },
        Skeleton::Barred { who, what } => Record::Barred { who: who.into_owned(), what: what.into_owned() },
    })
}

fn id_of<T: std::str::FromStr>(what: &'static str, text: &str) -> Result<T, Unreadable> {
    text.parse().map_err(|_| Unreadable::Field(what))
}

fn ids_of(texts: &[String]) -> Result<Vec<EventId>, Unreadable> {
    texts.iter().map(|text| id_of("event", text)).collect()
}

fn ask_of(text: &str) -> Result<AskId, Unreadable> {
    id_of("ask", text)
}

fn details_of(details: Details) -> Result<CoreDetails, Unreadable> {
    details.try_into().map_err(|_| Unreadable::Field("details"))
}

fn chat_of(text: &str) -> Result<ChatId, Unreadable> {
    ChatId::new(text).ok_or(Unreadable::Field("chat"))
}

fn via_of(text: &str) -> Result<Via, Unreadable> {
    Via::named(text).ok_or(Unreadable::Field("via"))
}

fn role_of(text: &str) -> Result<Role, Unreadable> {
    Role::named(text).ok_or(Unreadable::Field("role"))
}

fn pairing_of(text: &str) -> Result<PairingCode, Unreadable> {
    PairingCode::parse(text).ok_or(Unreadable::Field("code"))
}

fn utf8(bytes: &[u8]) -> Result<&str, Unreadable> {
    std::str::from_utf8(bytes).map_err(|_| Unreadable::Field("text"))
}

#[cfg(test)]
pub(crate) mod tests;
