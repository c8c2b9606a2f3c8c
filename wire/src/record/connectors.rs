//! Identities, and messages that a connector's platform has taken, as records hold them.

use portcullis_core::{AskId, ConnectorName, Identity, ReplyId, SentAbout, SentMessage};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::as_text;

/// An identity as two fields, `platform` and `user`.
pub(super) mod identity {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Fields {
        #[serde(with = "as_text")]
        platform: ConnectorName,
        user: String,
    }

    pub(crate) fn serialize<S: Serializer>(identity: &Identity, serializer: S) -> Result<S::Ok, S::Error> {
        Fields { platform: identity.platform().clone(), user: identity.user().to_owned() }.serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Identity, D::Error> {
        let Fields { platform, user } = Fields::deserialize(deserializer)?;
        Identity::new(platform, &user).ok_or_else(|| D::Error::custom("user is no id of a user"))
    }
}

/// Messages, each with the reply or the ask that it tells of.
pub(super) mod messages {
    use super::*;

    #[derive(Serialize, Deserialize)]
    struct Sent {
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        reply: Option<ReplyId>,
        #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
        ask: Option<AskId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        user: Option<String>,
        message: String,
    }

    pub(crate) fn serialize<S: Serializer>(messages: &[SentMessage], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(messages.iter().map(|sent| {
            let (reply, ask) = match sent.about {
                SentAbout::Reply(reply) => (Some(reply), None),
                SentAbout::Ask(ask) => (None, Some(ask)),
            };
            Sent { reply, ask, user: sent.user.clone(), message: sent.message.clone() }
        }))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<SentMessage>, D::Error> {
        let read = |Sent { reply, ask, user, message }| match (reply, ask) {
            (Some(reply), None) => Ok(SentMessage { about: SentAbout::Reply(reply), user, message }),
            (None, Some(ask)) => Ok(SentMessage { about: SentAbout::Ask(ask), user, message }),
            _ => Err(D::Error::custom("a message tells of a reply or of an ask")),
        };
        Vec::<Sent>::deserialize(deserializer)?.into_iter().map(read).collect()
    }
}
