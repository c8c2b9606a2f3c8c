//! Connectors carry prompts and replies to a platform where people are, and bring back what they say there.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::event::{ChatId, is_plain_name};
use crate::ids::{AskId, ReplyId};

/// The name of a connector. It is the platform of the identities that the connector speaks for, and what stands where
/// the door of an event or a verdict is told.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectorName(Arc<str>);

/// Doors and programs that are no connectors: a connector of the same name would be taken for them.
const RESERVED: [&str; 14] = [
    "http", "socket", "terminal", "gate", "editor", "page", "device", "api", "channel", "hook", "control", "gateway",
    "link", "owner",
];
const LONGEST_NAME: usize = 32;
const LONGEST_USER: usize = 128;

impl ConnectorName {
    /// None when it is empty, too long, reserved, or anything but `a` to `z`, and after that `a` to `z`, digits, `-` and `_`.
    pub fn new(name: &str) -> Option<Self> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
        let fits = name.len() <= LONGEST_NAME
            && name.starts_with(|first: char| first.is_ascii_lowercase())
            && name.bytes().all(plain)
            && !RESERVED.contains(&name);
        fits.then(|| Self(name.into()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The gate's name for a conversation of the platform. None when the platform's own name for it cannot be one.
    pub fn chat(&self, chat: &str) -> Option<ChatId> {
        ChatId::new(&format!("{self}:{chat}"))
    }

    /// The platform's own name for a conversation, if it is one of this connector.
    pub fn own_chat<'a>(&self, chat: &'a ChatId) -> Option<&'a str> {
        chat.as_str().strip_prefix(self.as_str())?.strip_prefix(':')
    }
}

/// The text is no name of a connector.
#[derive(Debug, PartialEq, Eq)]
pub struct BadConnectorName;

impl fmt::Display for BadConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "expected a-z and up to {} of a-z, 0-9, - and _, and none of {}",
            LONGEST_NAME - 1,
            RESERVED.join(", ")
        )
    }
}

impl std::error::Error for BadConnectorName {}

impl FromStr for ConnectorName {
    type Err = BadConnectorName;

    fn from_str(name: &str) -> Result<Self, BadConnectorName> {
        Self::new(name).ok_or(BadConnectorName)
    }
}

impl fmt::Display for ConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for ConnectorName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Who someone is on a platform: `telegram:42`. The user is the platform's own id of them, never a name that they chose.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity {
    platform: ConnectorName,
    user: Arc<str>,
}

impl Identity {
    /// None when the user is empty, too long, or has letters that cannot be seen.
    pub fn new(platform: ConnectorName, user: &str) -> Option<Self> {
        is_plain_name(user, LONGEST_USER).then(|| Self { platform, user: user.into() })
    }

    pub fn platform(&self) -> &ConnectorName {
        &self.platform
    }

    pub fn user(&self) -> &str {
        &self.user
    }
}

/// The text is no identity.
#[derive(Debug, PartialEq, Eq)]
pub struct NotAnIdentity;

impl fmt::Display for NotAnIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a connector's name, a colon and the user's id there, such as telegram:42")
    }
}

impl std::error::Error for NotAnIdentity {}

impl FromStr for Identity {
    type Err = NotAnIdentity;

    fn from_str(text: &str) -> Result<Self, NotAnIdentity> {
        let (platform, user) = text.split_once(':').ok_or(NotAnIdentity)?;
        ConnectorName::new(platform).and_then(|platform| Self::new(platform, user)).ok_or(NotAnIdentity)
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.platform, self.user)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// What a message on a platform tells of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SentAbout {
    Reply(ReplyId),
    Ask(AskId),
}

/// A message that a platform took, by the platform's own name for it: with that it can be changed there later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SentMessage {
    pub about: SentAbout,
    /// Whom it was sent to; none when it went to a conversation.
    pub user: Option<String>,
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connector_is_named_in_small_letters_and_as_no_other_door_is() {
        for name in ["telegram", "ops-2", "a_b", &"a".repeat(32)] {
            assert_eq!(ConnectorName::new(name).unwrap().to_string(), name);
        }
        for name in ["", "Telegram", "2ops", "-a", "a b", "a:b", "ä", "http", "gate", "owner", &"a".repeat(33)] {
            assert_eq!(ConnectorName::new(name), None, "{name:?}");
        }
    }

    #[test]
    fn an_identity_is_read_as_it_is_written() {
        for text in ["telegram:42", "ops:a:b", "ops:Ünï"] {
            assert_eq!(text.parse::<Identity>().unwrap().to_string(), text);
        }
        for text in ["", "telegram", "telegram:", ":42", "Telegram:42", "telegram: 42", "telegram:4\u{200b}2", "http:1"]
        {
            assert_eq!(text.parse::<Identity>(), Err(NotAnIdentity), "{text:?}");
        }
    }

    #[test]
    fn a_conversation_belongs_to_the_connector_it_is_named_after() {
        let [ops, op] = ["ops", "op"].map(|name| ConnectorName::new(name).unwrap());
        let chat = ops.chat("-100:7").unwrap();
        assert_eq!((chat.as_str(), ops.own_chat(&chat), op.own_chat(&chat)), ("ops:-100:7", Some("-100:7"), None));
        assert_eq!(ops.own_chat(&ChatId::new("ops").unwrap()), None);
        assert_eq!(ops.chat(&"x".repeat(200)), None);
    }
}
