//! Events as they go to a session's process, and as the session's own list shows them.

use std::borrow::Cow;

use portcullis_core::{Attribute, ChatId, Event, EventId, ReplyId, TrackedEvent, Via, excerpt};
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::words::Words;

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct EventFrame<'a> {
    #[serde(with = "as_text")]
    pub id: EventId,
    #[serde(borrow)]
    pub via: Cow<'a, str>,
    #[serde(borrow)]
    pub sender: Cow<'a, str>,
    /// Its sender may direct the session; others only inform it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub directs: bool,
    #[serde(borrow)]
    pub chat: Cow<'a, str>,
    #[serde(default, skip_serializing_if = "<[_]>::is_empty")]
    pub attributes: Cow<'a, [Attribute]>,
    /// The message of the agent that it answers.
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<ReplyId>,
    /// What is put before the model.
    #[serde(borrow)]
    pub text: Words<'a>,
    /// Bytes that were left off, to be had by `inbox`.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub rest: usize,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redelivered: bool,
    /// Other events whose text is in this one's.
    #[serde(default, with = "as_text::list", skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<EventId>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl<'a> EventFrame<'a> {
    /// The event with as much of its text as goes before the model.
    pub fn of(tracked: &'a TrackedEvent, longest: Option<usize>) -> Self {
        let event = &tracked.event;
        let (text, rest) = excerpt(event.text.as_str(), longest);
        Self {
            id: event.id,
            via: event.via.name().into(),
            sender: event.sender.as_str().into(),
            directs: event.directs,
            chat: event.chat.as_str().into(),
            attributes: (&*event.attributes).into(),
            reply_to: event.reply_to,
            text: text.into(),
            rest,
            redelivered: tracked.redelivered,
            also: vec![],
        }
    }

    /// Every event whose text is in the frame.
    pub fn ids(&self) -> impl Iterator<Item = EventId> {
        std::iter::once(self.id).chain(self.also.iter().copied())
    }

    /// The same, borrowing nothing.
    pub fn into_owned(self) -> EventFrame<'static> {
        EventFrame {
            id: self.id,
            via: self.via.into_owned().into(),
            sender: self.sender.into_owned().into(),
            directs: self.directs,
            chat: self.chat.into_owned().into(),
            attributes: self.attributes.into_owned().into(),
            reply_to: self.reply_to,
            text: self.text.into_owned(),
            rest: self.rest,
            redelivered: self.redelivered,
            also: self.also,
        }
    }
}

/// An event as its own session sees it.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct InboxItem {
    #[serde(with = "as_text")]
    pub event_id: EventId,
    #[serde(with = "as_text")]
    pub chat_id: ChatId,
    pub sender: String,
    #[serde(default)]
    pub directs: bool,
    #[serde(with = "as_text")]
    pub via: Via,
    pub state: String,
    pub bytes: usize,
    /// What its sender gave along, where one event is shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub attributes: Vec<Attribute>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<ReplyId>,
}

impl InboxItem {
    /// The same with what its sender gave along.
    pub fn with_attributes(self, event: &Event) -> Self {
        Self { attributes: event.given().cloned().collect(), ..self }
    }
}

impl From<&TrackedEvent> for InboxItem {
    fn from(tracked: &TrackedEvent) -> Self {
        Self {
            event_id: tracked.event.id,
            chat_id: tracked.event.chat.clone(),
            sender: tracked.event.sender.clone(),
            directs: tracked.event.directs,
            via: tracked.event.via.clone(),
            state: tracked.life.name().to_owned(),
            bytes: tracked.size,
            attributes: vec![],
            reply_to: tracked.event.reply_to,
        }
    }
}
