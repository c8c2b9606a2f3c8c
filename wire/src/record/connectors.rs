//! What a connector's platform has taken, in the journal.

use portcullis_core::{SentAbout, SentMessage};
use serde::{Deserialize, Serialize};

use super::Unreadable;
use crate::as_text;

/// A message as its platform names it. It tells of a reply or of an ask.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Sent {
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    reply: Option<portcullis_core::ReplyId>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    ask: Option<portcullis_core::AskId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user: Option<String>,
    message: String,
}

impl From<&SentMessage> for Sent {
    fn from(sent: &SentMessage) -> Self {
        let (reply, ask) = match sent.about {
            SentAbout::Reply(reply) => (Some(reply), None),
            SentAbout::Ask(ask) => (None, Some(ask)),
        };
        Self { reply, ask, user: sent.user.clone(), message: sent.message.clone() }
    }
}

impl TryFrom<Sent> for SentMessage {
    type Error = Unreadable;

    fn try_from(sent: Sent) -> Result<Self, Unreadable> {
        let about = match (sent.reply, sent.ask) {
            (Some(reply), None) => SentAbout::Reply(reply),
            (None, Some(ask)) => SentAbout::Ask(ask),
            _ => return Err(Unreadable::Field("message")),
        };
        Ok(Self { about, user: sent.user, message: sent.message })
    }
}
