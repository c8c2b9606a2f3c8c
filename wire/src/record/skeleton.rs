//! Forms of what records hold, without what people and agents wrote.

use portcullis_core::{
    Ask, AskId, ChatId, Code, Details, Device, EventId, Identity, Label, Moment, Offer, Order, Pairing, PairingCode,
    Reply, ReplyId, Right, Rights, SentFile, SessionId, Source, Text, Token, TokenId, TokenScope,
};
use serde::{Deserialize, Serialize};

use crate::as_text;
use crate::ask::is_plain;
use crate::form::{Optional, forms};

/// Until the payload is read.
pub(super) fn erased() -> Text {
    Text::Erased
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Reply")]
pub(super) struct ReplyForm {
    #[serde(with = "as_text")]
    id: ReplyId,
    #[serde(with = "as_text")]
    session: SessionId,
    #[serde(with = "as_text")]
    chat: ChatId,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    reply_to: Option<EventId>,
    #[serde(skip, default = "erased")]
    text: Text,
    #[serde(skip)]
    files: Vec<SentFile>,
    #[serde(skip)]
    at: Moment,
    #[serde(skip)]
    edited: Option<Moment>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Ask")]
pub(super) struct AskForm {
    #[serde(with = "as_text")]
    id: AskId,
    #[serde(with = "as_text")]
    code: Code,
    #[serde(with = "as_text")]
    session: SessionId,
    #[serde(alias = "mouth", with = "as_text")]
    source: Source,
    origin: String,
    tool: String,
    #[serde(skip, default = "erased")]
    description: Text,
    #[serde(skip, default = "erased")]
    preview: Text,
    #[serde(default, with = "details", skip_serializing_if = "is_plain")]
    details: Box<Details>,
    #[serde(skip)]
    at: Moment,
}

/// Details without texts. Where there is an input, it is empty.
mod details {
    use super::*;
    use crate::ask::DetailsForm;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(details: &Details, serializer: S) -> Result<S::Ok, S::Error> {
        let offer = |offer: &Offer| Offer { words: String::new(), ..*offer };
        let bare = Details {
            input: details.input.as_ref().map(|_| Text::new("")),
            digest: details.digest,
            tool_use_id: details.tool_use_id.clone(),
            agent: details.agent.clone(),
            offers: details.offers.iter().map(offer).collect(),
            modes: details.modes.clone(),
            reason: None,
            risk: None,
            replaced: None,
            mcp: None,
            ..*details
        };
        DetailsForm::serialize(&bare, serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<Details>, D::Error> {
        let mut details = Box::new(DetailsForm::deserialize(deserializer)?);
        if let Some(input) = &mut details.input {
            *input = Text::Erased;
        }
        Ok(details)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Token")]
pub(super) struct TokenForm {
    #[serde(with = "as_text")]
    id: TokenId,
    person: String,
    hash: [u8; 32],
    #[serde(rename = "labels", default, with = "labels", skip_serializing_if = "covers_everything")]
    scope: TokenScope,
    #[serde(default, with = "Optional::<MomentForm>", skip_serializing_if = "Option::is_none")]
    expires: Option<Moment>,
    #[serde(skip)]
    since: Moment,
    #[serde(default, with = "Optional::<DeviceForm>", skip_serializing_if = "Option::is_none")]
    device: Option<Device>,
    #[serde(skip)]
    last_used: Option<Moment>,
}

forms!(DeviceForm of Device);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Device")]
struct DeviceForm {
    called: String,
    #[serde(with = "rights")]
    rights: Rights,
}

/// Rights by their names. One that this release does not know is left out: it lets nobody do more.
mod rights {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(rights: &Rights, serializer: S) -> Result<S::Ok, S::Error> {
        rights.names().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Rights, D::Error> {
        let names = Vec::<String>::deserialize(deserializer)?;
        Ok(Rights::of(&names.iter().filter_map(|name| Right::named(name)).collect::<Vec<_>>()))
    }
}

forms!(MomentForm of Moment);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Moment")]
struct MomentForm(u64);

fn covers_everything(scope: &TokenScope) -> bool {
    *scope == TokenScope::Everything
}

/// The labels of a scope; null, or none at all, where it covers everything.
mod labels {
    use super::*;
    use serde::{Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(scope: &TokenScope, serializer: S) -> Result<S::Ok, S::Error> {
        match scope {
            TokenScope::Everything => serializer.serialize_none(),
            TokenScope::Labels(labels) => as_text::list::serialize(labels, serializer),
        }
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TokenScope, D::Error> {
        #[derive(Deserialize)]
        struct Labels(#[serde(with = "as_text::list")] Vec<Label>);
        let labels = Option::<Labels>::deserialize(deserializer)?;
        Ok(labels.map_or(TokenScope::Everything, |Labels(labels)| TokenScope::Labels(labels)))
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Pairing")]
pub(super) struct PairingForm {
    #[serde(with = "as_text")]
    code: PairingCode,
    #[serde(flatten, with = "super::connectors::identity")]
    identity: Identity,
    called: String,
    #[serde(skip)]
    since: Moment,
}

/// A tool call without its preview.
pub(super) mod call {
    use crate::ask::ToolCallForm;
    use portcullis_core::{Text, ToolCall};
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(call: &ToolCall, serializer: S) -> Result<S::Ok, S::Error> {
        ToolCallForm::serialize(&ToolCall { preview: Text::new(""), ..call.clone() }, serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ToolCall, D::Error> {
        ToolCallForm::deserialize(deserializer)
    }
}

/// An order without the text of a prompt.
pub(super) mod order {
    use super::*;
    use crate::session::OrderForm;
    use serde::{Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(order: &Order, serializer: S) -> Result<S::Ok, S::Error> {
        match order {
            Order::Prompt { by, .. } => {
                OrderForm::serialize(&Order::Prompt { text: Text::new(""), by: by.clone() }, serializer)
            }
            other => OrderForm::serialize(other, serializer),
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Order, D::Error> {
        OrderForm::deserialize(deserializer)
    }
}

pub(super) mod received;
pub(super) mod verdict;
