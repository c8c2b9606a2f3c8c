//! Asks, rulings, orders and tool calls as they go over the link and into the journal.

use portcullis_core::{
    AskId, AskKind, Behavior, CallOutcome, Edited, OnTimeout, Order as CoreOrder, Ruling as CoreRuling, Scope, Text,
};
use serde::{Deserialize, Serialize};
use std::ops::Not;

use crate::link::{BadFrame, read_id};

/// What is known of a call beyond its preview.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Details {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<[u8; 32]>,
    #[serde(default, alias = "tool_use", skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(default = "tool", skip_serializing_if = "is_tool")]
    pub kind: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<Offer>,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub editable: bool,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub interruptible: bool,
    #[serde(default, alias = "default_no", skip_serializing_if = "Not::not")]
    pub default_to_no: bool,
    #[serde(default, alias = "hands_on", skip_serializing_if = "Not::not")]
    pub requires_user_interaction: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, alias = "danger", skip_serializing_if = "Option::is_none")]
    pub risk: Option<AskRisk>,
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub quorum: u8,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
}

impl Default for Details {
    fn default() -> Self {
        (&portcullis_core::Details::default()).into()
    }
}

/// A scope beyond this once, and what choosing it would do.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, utoipa::ToSchema)]
pub struct Offer {
    /// session or always
    pub scope: String,
    #[serde(default)]
    pub words: String,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, utoipa::ToSchema)]
pub struct AskRisk {
    pub level: String,
    #[serde(default)]
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Within {
    pub milliseconds: u64,
    /// no decision, or deny
    pub then: String,
}

fn tool() -> String {
    AskKind::Tool.name().to_owned()
}

fn is_tool(kind: &str) -> bool {
    kind == AskKind::Tool.name()
}

fn one() -> u8 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(number: &u8) -> bool {
    *number == 1
}

impl Details {
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }

    /// Without anything that people or the agent wrote: what is left when the rest is erased.
    pub fn bare(&self) -> Self {
        Self {
            input: self.input.as_ref().map(|_| String::new()),
            reason: None,
            risk: None,
            offers: self.offers.iter().map(|offer| Offer { words: String::new(), ..offer.clone() }).collect(),
            ..self.clone()
        }
    }
}

impl From<&portcullis_core::Details> for Details {
    fn from(details: &portcullis_core::Details) -> Self {
        let offer =
            |offer: &portcullis_core::Offer| Offer { scope: offer.scope.name().to_owned(), words: offer.words.clone() };
        Self {
            input: details.input.as_ref().map(|input| input.as_str().to_owned()),
            digest: details.digest,
            tool_use_id: details.tool_use_id.clone(),
            agent: details.agent.clone(),
            kind: details.kind.name().to_owned(),
            offers: details.offers.iter().map(offer).collect(),
            editable: details.editable,
            interruptible: details.interruptible,
            default_to_no: details.default_to_no,
            requires_user_interaction: details.requires_user_interaction,
            reason: details.reason.clone(),
            risk: details
                .risk
                .as_ref()
                .map(|risk| AskRisk { level: risk.level.clone(), reasons: risk.reasons.clone() }),
            quorum: details.quorum,
            within: details.within.map(|(milliseconds, lapse)| Within { milliseconds, then: lapse.name().to_owned() }),
        }
    }
}

impl TryFrom<Details> for portcullis_core::Details {
    type Error = BadFrame;

    fn try_from(details: Details) -> Result<Self, BadFrame> {
        let offer = |offer: Offer| {
            let scope = Scope::named(&offer.scope).ok_or_else(|| BadFrame::new("scope", &offer.scope))?;
            Ok(portcullis_core::Offer { scope, words: offer.words })
        };
        let within = |within: Within| {
            let lapse = OnTimeout::named(&within.then).ok_or_else(|| BadFrame::new("then", &within.then))?;
            Ok((within.milliseconds, lapse))
        };
        Ok(Self {
            input: details.input.map(Text::new),
            digest: details.digest,
            tool_use_id: details.tool_use_id,
            agent: details.agent,
            kind: AskKind::named(&details.kind).ok_or_else(|| BadFrame::new("kind", &details.kind))?,
            offers: details.offers.into_iter().map(offer).collect::<Result<_, _>>()?,
            editable: details.editable,
            interruptible: details.interruptible,
            default_to_no: details.default_to_no,
            requires_user_interaction: details.requires_user_interaction,
            reason: details.reason,
            risk: details.risk.map(|risk| portcullis_core::AskRisk { level: risk.level, reasons: risk.reasons }),
            quorum: details.quorum.max(1),
            within: details.within.map(within).transpose()?,
        })
    }
}

/// What someone said to an ask.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Ruling {
    pub behavior: String,
    #[serde(default = "once", skip_serializing_if = "is_once")]
    pub scope: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<[u8; 32]>,
    #[serde(default, skip_serializing_if = "Not::not")]
    pub interrupt: bool,
}

fn once() -> String {
    Scope::Once.name().to_owned()
}

fn is_once(scope: &str) -> bool {
    scope == Scope::Once.name()
}

impl From<&CoreRuling> for Ruling {
    fn from(ruling: &CoreRuling) -> Self {
        Self {
            behavior: ruling.behavior.name().to_owned(),
            scope: ruling.scope.name().to_owned(),
            why: ruling.why.clone(),
            input: ruling.input.as_ref().map(|edited| edited.text.as_str().to_owned()),
            digest: ruling.input.as_ref().map(|edited| edited.digest),
            interrupt: ruling.interrupt,
        }
    }
}

impl TryFrom<Ruling> for CoreRuling {
    type Error = BadFrame;

    fn try_from(ruling: Ruling) -> Result<Self, BadFrame> {
        Ok(Self {
            behavior: Behavior::named(&ruling.behavior).ok_or_else(|| BadFrame::new("behavior", &ruling.behavior))?,
            scope: Scope::named(&ruling.scope).ok_or_else(|| BadFrame::new("scope", &ruling.scope))?,
            why: ruling.why,
            input: ruling.input.zip(ruling.digest).map(|(text, digest)| Edited { text: Text::new(text), digest }),
            interrupt: ruling.interrupt,
        })
    }
}

/// What someone wants a running session to do.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    Prompt { text: String, by: String },
    Interrupt,
    Mode(String),
    Model(Option<String>),
    Stop { by: String },
    Resume,
    End,
}

impl From<&CoreOrder> for Order {
    fn from(order: &CoreOrder) -> Self {
        match order {
            CoreOrder::Prompt { text, by } => Self::Prompt { text: text.as_str().to_owned(), by: by.clone() },
            CoreOrder::Interrupt => Self::Interrupt,
            CoreOrder::Mode(mode) => Self::Mode(mode.clone()),
            CoreOrder::Model(model) => Self::Model(model.clone()),
            CoreOrder::Stop { by } => Self::Stop { by: by.clone() },
            CoreOrder::Resume => Self::Resume,
            CoreOrder::End => Self::End,
        }
    }
}

impl From<Order> for CoreOrder {
    fn from(order: Order) -> Self {
        match order {
            Order::Prompt { text, by } => Self::Prompt { text: Text::new(text), by },
            Order::Interrupt => Self::Interrupt,
            Order::Mode(mode) => Self::Mode(mode),
            Order::Model(model) => Self::Model(model),
            Order::Stop { by } => Self::Stop { by },
            Order::Resume => Self::Resume,
            Order::End => Self::End,
        }
    }
}

/// One tool call of an agent.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct ToolCall {
    pub tool: String,
    #[serde(default, alias = "tool_use", skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// ran, failed or denied
    pub outcome: String,
    pub decided_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<[u8; 32]>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ask: Option<String>,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub preview: String,
}

impl From<&portcullis_core::ToolCall> for ToolCall {
    fn from(call: &portcullis_core::ToolCall) -> Self {
        Self {
            tool: call.tool.clone(),
            tool_use_id: call.tool_use_id.clone(),
            agent: call.agent.clone(),
            outcome: call.outcome.name().to_owned(),
            decided_by: call.decided_by.clone(),
            digest: call.digest,
            ask: call.ask.map(|ask| ask.to_string()),
            preview: call.preview.as_str().to_owned(),
        }
    }
}

impl TryFrom<ToolCall> for portcullis_core::ToolCall {
    type Error = BadFrame;

    fn try_from(call: ToolCall) -> Result<Self, BadFrame> {
        Ok(Self {
            outcome: CallOutcome::named(&call.outcome).ok_or_else(|| BadFrame::new("outcome", &call.outcome))?,
            ask: call.ask.as_deref().map(|ask| read_id::<AskId>("ask", ask)).transpose()?,
            tool: call.tool,
            tool_use_id: call.tool_use_id,
            agent: call.agent,
            decided_by: call.decided_by,
            digest: call.digest,
            preview: Text::new(call.preview),
        })
    }
}
