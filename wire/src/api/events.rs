//! Events and replies, as the API tells and takes them.

use std::collections::BTreeMap;

use portcullis_core::{Address, Attribute, DeliveryWay, EventLife, Moment, Reply, SentFile, TrackedEvent};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::ago;

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct EventView {
    pub id: String,
    /// waiting, delivered, seen, expired, dropped or dead
    pub state: String,
    /// Why it is in that state, for people.
    pub why: String,
    /// Through which door it came.
    pub via: String,
    /// Who sent it.
    pub sender: String,
    /// Its sender may direct sessions. What others send only informs: the session that reads it is guarded from then on.
    #[serde(default)]
    pub directs: bool,
    /// The conversation.
    pub chat_id: String,
    /// The session it is for; null while it waits for one.
    pub session: Option<String>,
    /// The length of its text.
    pub bytes: usize,
    /// When it came.
    pub at: u64,
    /// When it was last given to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<u64>,
    /// When it was given to an agent for the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_delivered_at: Option<u64>,
    /// How it was given to the agent: `channel`; `tool_call`, `prompt`, `stop` or `wake` for a hook at that moment;
    /// `driven` where the gate's own process holds the agent. Left out where that was not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// When the model showed that it had read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<u64>,
    /// The agent may have met it before.
    pub redelivered: bool,
    /// The message of an agent that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// What its door knew about it and what its sender gave along. Only where one event is shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Only where one event is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The files that came with it: their names. Only where one event is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileView>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct ReplyView {
    pub id: String,
    pub session: String,
    /// The conversation.
    pub chat_id: String,
    /// The event that it answers, where it answers a particular one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub text: String,
    /// Files that the reply names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileView>,
    /// When it was said.
    pub at: u64,
    /// When its text was last changed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<u64>,
}

/// A file that was uploaded, and belongs to no event yet.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct UploadedFile {
    pub id: String,
    pub name: String,
    pub size: u64,
}

/// A file that goes with a reply, or came with an event.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct FileView {
    pub path: String,
    pub size: u64,
}

impl From<&SentFile> for FileView {
    fn from(file: &SentFile) -> Self {
        Self { path: file.path.clone(), size: file.size }
    }
}

/// Taken by `POST /api/v1/events`.
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    pub text: String,
    /// The session with this id.
    #[serde(default)]
    pub session: Option<String>,
    /// The session with this label.
    #[serde(default)]
    pub label: Option<String>,
    /// The conversation; without it the event opens a new one.
    #[serde(default)]
    pub chat: Option<String>,
    /// The id of the reply that it answers. Its conversation is the event's.
    #[serde(default)]
    pub reply_to: Option<String>,
    /// For the tag in which the model reads the event: at most 20, named by letters, digits and underscores, 256 bytes each.
    #[serde(default, with = "as_given", skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = BTreeMap<String, String>)]
    pub attributes: Vec<Attribute>,
    /// Files that were uploaded for it, by their ids; at most 10.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
}

/// An object as the pairs that were written: a name that is there twice is still there twice, and can be refused.
mod as_given {
    use std::fmt;

    use portcullis_core::Attribute;
    use serde::de::{MapAccess, Visitor};
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(pairs: &[Attribute], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(pairs.iter().map(|(name, value)| (name, value)))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Attribute>, D::Error> {
        struct Pairs;

        impl<'de> Visitor<'de> for Pairs {
            type Value = Vec<Attribute>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("names with their texts")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = vec![];
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(pairs)
            }
        }
        deserializer.deserialize_map(Pairs)
    }
}

/// What became of something said.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub struct Accepted {
    /// The id of the event.
    pub id: String,
    /// The conversation.
    pub chat_id: String,
    /// The session it is for; null while it waits for one.
    pub session: Option<String>,
    /// Why it was not taken as a verdict, where it reads like one; and why it is not taken as from the owner, where that is so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl EventView {
    /// The event as it is at `now`, without its text.
    pub fn of(tracked: &TrackedEvent, now: Moment) -> Self {
        let event = &tracked.event;
        Self {
            id: event.id.to_string(),
            state: tracked.life.name().to_owned(),
            why: why(tracked, now),
            via: event.via.name().to_owned(),
            sender: event.sender.clone(),
            directs: event.directs,
            chat_id: event.chat.to_string(),
            session: tracked.to.map(|to| to.to_string()),
            bytes: tracked.size,
            at: event.at.0,
            delivered_at: tracked.delivered.map(|(at, _)| at.0),
            first_delivered_at: tracked.first_delivered.map(|at| at.0),
            way: tracked.delivered.and_then(|(_, way)| way).map(|way| way.name().to_owned()),
            seen_at: if let EventLife::Seen { at } = tracked.life { Some(at.0) } else { None },
            redelivered: tracked.redelivered,
            reply_to: event.reply_to.map(|id| id.to_string()),
            attributes: BTreeMap::new(),
            text: None,
            files: vec![],
        }
    }
}

/// Why an event is where it is, in words that a person can act on.
fn why(tracked: &TrackedEvent, now: Moment) -> String {
    match (&tracked.life, tracked.to, &tracked.event.address) {
        (EventLife::Waiting, None, Address::Label(label)) => format!("no session with label `{label}` is attached"),
        (EventLife::Waiting, None, _) => "no session is attached".to_owned(),
        (EventLife::Waiting, Some(_), _) => "its session is away or has not taken it yet".to_owned(),
        (EventLife::Delivered { at }, ..) => {
            let causes = match tracked.delivered.and_then(|(_, way)| way) {
                Some(DeliveryWay::Channel) => {
                    "likely causes are that channels are not switched on for the account (`portcullis doctor` explains), \
                     that Claude Code was started without --dangerously-load-development-channels, or that the model has \
                     not answered yet"
                }
                Some(DeliveryWay::Driven) => "the agent took it, and the model has not answered it or opened it yet",
                Some(DeliveryWay::ToolCall | DeliveryWay::Prompt | DeliveryWay::Stop | DeliveryWay::Wake) => {
                    "Claude Code took it from a hook, and the model has not answered it or opened it yet; a turn that was \
                     interrupted just then may have lost it (`portcullis events retry` gives it again)"
                }
                None => {
                    "the model has not answered it or opened it yet; `portcullis doctor` shows whether it can be reached"
                }
            };
            format!("written to the session {} ago, not confirmed: {causes}", ago(now.since(*at)))
        }
        (EventLife::Seen { .. }, ..) => {
            "the model answered its conversation, opened it, or ended the turn that brought it".to_owned()
        }
        (EventLife::Expired { .. }, ..) => "no session took it in time".to_owned(),
        (EventLife::Dropped { by, why: None, .. }, ..) => format!("dropped by {by}"),
        (EventLife::Dropped { by, why: Some(why), .. }, ..) => format!("dropped by {by}: {why}"),
        (EventLife::Dead { .. }, ..) => {
            format!(
                "given up: it was written to {} processes, and each ended before the model read it",
                tracked.attempts + 1
            )
        }
    }
}

impl From<&Reply> for ReplyView {
    fn from(reply: &Reply) -> Self {
        Self {
            id: reply.id.to_string(),
            session: reply.session.to_string(),
            chat_id: reply.chat.to_string(),
            reply_to: reply.reply_to.map(|id| id.to_string()),
            text: reply.text.as_str().to_owned(),
            files: reply.files.iter().map(FileView::from).collect(),
            at: reply.at.0,
            edited_at: reply.edited.map(|at| at.0),
        }
    }
}
