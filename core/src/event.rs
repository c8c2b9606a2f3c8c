//! Events are what arrives, replies are what the agent says back; both belong to a conversation.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::attributes::{Attribute, in_tag, is_of_door, takes_no_room};
use crate::ids::{EventId, Moment, ReplyId, SessionId};
use crate::names::names;
use crate::people::{TokenScope, Via};
use crate::route::Address;

/// A text that someone wrote. Its bytes are shared and never copied, however large it is.
#[derive(Clone, PartialEq, Eq)]
pub enum Text {
    Here(Arc<str>),
    /// The text is in the journal, and no longer in memory.
    Away,
    /// The text was erased from the journal on purpose.
    Erased,
}

impl Text {
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self::Here(text.into())
    }

    /// The text that can be shown.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Here(text) => text,
            Self::Away => "",
            Self::Erased => "[erased]",
        }
    }

    /// The bytes of the text, not copied.
    pub fn bytes(&self) -> Arc<[u8]> {
        match self {
            Self::Here(text) => Arc::clone(text).into(),
            other => other.as_str().as_bytes().into(),
        }
    }

    pub fn len(&self) -> usize {
        match self {
            Self::Here(text) => text.len(),
            Self::Away | Self::Erased => 0,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Text {
    type Err = Infallible;
    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::new(text))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Here(text) => fmt::Debug::fmt(text, f),
            Self::Away => f.write_str("(away)"),
            Self::Erased => f.write_str("(erased)"),
        }
    }
}

/// Whether a text can be a name that others see in a tag, a list or a terminal.
pub(crate) fn is_plain_name(text: &str, longest: usize) -> bool {
    was_a_name(text, longest) && !text.contains(takes_no_room)
}

/// Whether a text may have been a name when it was written down: which letters hide is known better with each release.
fn was_a_name(text: &str, longest: usize) -> bool {
    !text.is_empty()
        && text.len() <= longest
        && text.trim() == text
        && text.chars().all(|letter| !letter.is_control() && letter != NOT_UTF8)
}

/// The character that stands for bytes that are no UTF-8. Different bytes would make the same name.
const NOT_UTF8: char = '\u{fffd}';

/// The text cannot be the name of a conversation or a session.
#[derive(Debug, PartialEq, Eq)]
pub struct BadName {
    longest: usize,
}

impl fmt::Display for BadName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "expected 1 to {} bytes of visible letters", self.longest)
    }
}

impl std::error::Error for BadName {}

macro_rules! plain_name {
    ($(#[$doc:meta])* $name:ident, $longest:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Arc<str>);

        impl $name {
            /// None when it is empty, too long, or holds letters that cannot be seen.
            pub fn new(text: &str) -> Option<Self> {
                is_plain_name(text, $longest).then(|| Self(text.into()))
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl FromStr for $name {
            type Err = BadName;
            fn from_str(text: &str) -> Result<Self, BadName> {
                was_a_name(text, $longest).then(|| Self(text.into())).ok_or(BadName { longest: $longest })
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

plain_name!(
    /// The id of a conversation. A reply is addressed to it.
    ChatId,
    128
);
impl ChatId {
    /// A conversation that nobody named.
    pub(crate) fn numbered(number: u64) -> Self {
        let (mut digits, mut first, mut rest) = ([b'0'; 20], 19, number);
        while rest > 9 {
            digits[first] += (rest % 10) as u8;
            rest /= 10;
            first -= 1;
        }
        digits[first] += rest as u8;
        Self(std::str::from_utf8(&digits[first..]).unwrap_or_default().into())
    }
}

plain_name!(
    /// The label of a session, for people. Each living session has its own.
    Label,
    64
);

impl Label {
    /// Told to whoever gives what is none.
    pub const HINT: &str = "a label has 1 to 64 bytes, all of them visible characters";

    /// What a session is called that nobody named: as its folder.
    pub fn of_folder(folder: &std::path::Path) -> Self {
        let name = folder.file_name().and_then(|name| Self::new(&name.to_string_lossy()));
        name.unwrap_or_else(|| Self("session".into()))
    }
}

/// A key that the sender chose for a request, so that a repeated request counts once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdempotencyKey {
    pub key: String,
    /// SHA-256 of the whole request: the same key with another request is refused.
    pub digest: [u8; 32],
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub id: EventId,
    pub via: Via,
    pub sender: String,
    /// The person with whose credential an agent's process spoke: the sender is then the agent.
    pub credential: Option<String>,
    /// What the linked browser is called that it was sent from. It directs for as long as that browser is linked.
    pub device: Option<String>,
    /// Its sender may direct sessions: the owner, an admin or a reviewer, by their own credential. Others only inform.
    pub directs: bool,
    /// The sessions that its sender has to do with, also when it has to look for another one.
    pub scope: TokenScope,
    pub chat: ChatId,
    /// What the sender asked for; where it went is in [`TrackedEvent`].
    pub address: Address,
    /// What its door knows about it, then what its sender gave along.
    pub attributes: Arc<[Attribute]>,
    /// The message of an agent that it answers.
    pub reply_to: Option<ReplyId>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub text: Text,
    pub at: Moment,
}

impl Event {
    /// Whether a person sent it, or an agent with that person's credential.
    pub fn is_of(&self, person: &str) -> bool {
        self.sender == person || self.credential.as_deref() == Some(person)
    }

    /// What its sender gave along, and no door knew.
    pub fn given(&self) -> impl Iterator<Item = &Attribute> {
        self.attributes.iter().filter(|(name, _)| !is_of_door(name))
    }

    /// Drops from memory what its sender wrote: the journal has it.
    pub fn put_away(&mut self) {
        self.text = Text::Away;
        if self.given().next().is_some() {
            self.attributes = self.attributes.iter().filter(|(name, _)| is_of_door(name)).cloned().collect();
        }
    }
}

/// The way by which the session's process gave an event to the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeliveryWay {
    /// Pushed by the channel.
    Channel,
    /// By a hook, with what a tool call brought.
    ToolCall,
    /// By a hook, with the user's prompt.
    Prompt,
    /// By a hook that kept the session from stopping.
    Stop,
    /// By a hook that woke the session.
    Wake,
    /// As a message to an agent that our own process holds.
    Driven,
}

names!(DeliveryWay {
    Channel = "channel",
    ToolCall = "tool_call",
    Prompt = "prompt",
    Stop = "stop",
    Wake = "wake",
    Driven = "driven",
});

/// The state of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventLife {
    Waiting,
    /// The session's process wrote it whole to the agent. Not yet evidence that the model read it.
    Delivered {
        at: Moment,
    },
    /// The model answered its conversation or opened it, or ended the turn that brought it.
    Seen {
        at: Moment,
    },
    Expired {
        at: Moment,
    },
    /// Someone took the event off its queue; `why` where they did so by something else that they did.
    Dropped {
        at: Moment,
        by: String,
        why: Option<String>,
    },
    /// The gate gave the event up: too many processes ended with it.
    Dead {
        at: Moment,
    },
}

impl EventLife {
    /// The names of all states.
    pub const NAMES: [&str; 6] = ["waiting", "delivered", "seen", "expired", "dropped", "dead"];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Waiting => Self::NAMES[0],
            Self::Delivered { .. } => Self::NAMES[1],
            Self::Seen { .. } => Self::NAMES[2],
            Self::Expired { .. } => Self::NAMES[3],
            Self::Dropped { .. } => Self::NAMES[4],
            Self::Dead { .. } => Self::NAMES[5],
        }
    }
}

/// An event together with its state and its place in a queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedEvent {
    /// Shared with the record and with those who deliver the event.
    pub event: Arc<Event>,
    pub life: EventLife,
    /// The session the event is for; none while the event waits for a session to come.
    pub to: Option<SessionId>,
    /// A process that is gone may have written the event, so that the agent may read it twice.
    pub redelivered: bool,
    /// How many processes were given the event and ended before the model showed that it had read it.
    pub attempts: u8,
    /// When the event was last put on a queue. Its expiry is counted from then.
    pub queued: Moment,
    /// The number of the event in order of arrival, which is the order of delivery.
    pub arrival: u64,
    /// The revision that its record made: the journal has its text there.
    pub revision: u64,
    /// When it was last given to the agent, and by which way where that was told.
    pub delivered: Option<(Moment, Option<DeliveryWay>)>,
    /// When it was given to an agent for the first time.
    pub first_delivered: Option<Moment>,
    /// How many bytes its text has, also when the text is away.
    pub size: usize,
}

/// A file that goes with a reply. The session's process checked that it may be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentFile {
    pub path: String,
    pub size: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    pub id: ReplyId,
    pub session: SessionId,
    pub chat: ChatId,
    /// The event that it answers; none where it answers the conversation.
    pub reply_to: Option<EventId>,
    pub text: Text,
    pub files: Vec<SentFile>,
    pub at: Moment,
    /// When the session last changed its text.
    pub edited: Option<Moment>,
}

/// The text of several events of one sender, in their order.
pub fn combined(events: &[&TrackedEvent]) -> Text {
    let sender = events.first().map_or("", |tracked| tracked.event.sender.as_str());
    let mut text = format!("{} events from {sender}, delivered together:", events.len());
    for tracked in events {
        let event = &tracked.event;
        let reply_to = event.reply_to.map(|id| format!(" reply_to=\"{id}\"")).unwrap_or_default();
        let given = in_tag(event.given());
        text.push_str(&format!("\n\n[event_id {}{reply_to}{given}]\n{}", event.id, event.text.as_str()));
    }
    Text::new(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_that_nobody_named_has_a_number() {
        for number in [0, 1, 9, 10, 19, 90, 1_234_567_890, u64::MAX] {
            assert_eq!(ChatId::numbered(number).as_str(), number.to_string());
        }
    }

    #[test]
    fn names_are_short_and_visible() {
        assert!(ChatId::new("ops room #1").is_some());
        assert!(Label::new("前端").is_some());
        for wrong in ["", " a", "a\nb", "a\u{202e}b", "\u{fffd}", &"x".repeat(200)] {
            assert!(ChatId::new(wrong).is_none(), "{wrong:?}");
        }
    }
}
