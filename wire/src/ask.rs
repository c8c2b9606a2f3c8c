//! Asks, rulings and tool calls as they go over the link and into the journal: forms of core's types.
//!
//! The names in `alias` are those of older journals.

use std::ops::Not;

use portcullis_core::policy::{Mode, Reason, Risk, RiskLevel};
use portcullis_core::{
    AskId, AskKind, AskTimeout, Behavior, CallOutcome, Details, Edited, McpTool, Offer, OnTimeout, Replaced, Ruling,
    Scope, Text, ToolCall,
};
use serde::{Deserialize, Deserializer, Serialize};

use crate::as_text;
use crate::form::{List, Optional, forms};

forms!(
    DetailsForm of Details,
    OfferForm of Offer,
    McpToolForm of McpTool,
    RiskForm of Risk,
    AskTimeoutForm of AskTimeout,
    ReplacedForm of Replaced,
    EditedForm of Edited,
    RulingForm of Ruling,
    ToolCallForm of ToolCall,
);

/// The form of [`Details`]. A missing field has its value in [`Details::default`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Details", default = "Details::default")]
pub struct DetailsForm {
    #[serde(with = "as_text::option", skip_serializing_if = "Option::is_none")]
    input: Option<Text>,
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<[u8; 32]>,
    #[serde(alias = "tool_use", skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(with = "as_text", skip_serializing_if = "is_tool")]
    kind: AskKind,
    #[serde(with = "List::<OfferForm>", skip_serializing_if = "Vec::is_empty")]
    offers: Vec<Offer>,
    #[serde(skip_serializing_if = "Not::not")]
    editable: bool,
    #[serde(skip_serializing_if = "Not::not")]
    interruptible: bool,
    #[serde(alias = "default_no", skip_serializing_if = "Not::not")]
    default_to_no: bool,
    #[serde(alias = "hands_on", skip_serializing_if = "Not::not")]
    requires_user_interaction: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(alias = "danger", with = "Optional::<RiskForm>", skip_serializing_if = "Option::is_none")]
    risk: Option<Risk>,
    #[serde(deserialize_with = "at_least_one", skip_serializing_if = "is_one")]
    quorum: u8,
    #[serde(alias = "within", with = "Optional::<AskTimeoutForm>", skip_serializing_if = "Option::is_none")]
    timeout: Option<AskTimeout>,
    #[serde(skip_serializing_if = "Not::not")]
    held: bool,
    #[serde(with = "as_text::list", skip_serializing_if = "Vec::is_empty")]
    modes: Vec<Mode>,
    #[serde(with = "Optional::<ReplacedForm>", skip_serializing_if = "Option::is_none")]
    replaced: Option<Replaced>,
    #[serde(skip_serializing_if = "Option::is_none")]
    confirm_within: Option<u64>,
    #[serde(with = "Optional::<McpToolForm>", skip_serializing_if = "Option::is_none")]
    mcp: Option<McpTool>,
}

/// Whether the details need not be written.
pub fn is_plain(details: &Details) -> bool {
    *details == Details::default()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_tool(kind: &AskKind) -> bool {
    *kind == AskKind::Tool
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_one(number: &u8) -> bool {
    *number == 1
}

fn at_least_one<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    u8::deserialize(deserializer).map(|number| number.max(1))
}

/// The form of a [`McpTool`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "McpTool")]
pub struct McpToolForm {
    server: String,
    tool: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    title: Option<String>,
}

/// The form of an [`Offer`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Offer")]
pub struct OfferForm {
    #[serde(with = "as_text")]
    scope: Scope,
    #[serde(default)]
    words: String,
}

/// The form of a [`Risk`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Risk")]
pub struct RiskForm {
    #[serde(with = "as_text")]
    level: RiskLevel,
    #[serde(default, with = "as_text::list")]
    reasons: Vec<Reason>,
}

/// The form of an [`AskTimeout`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "AskTimeout")]
pub struct AskTimeoutForm {
    milliseconds: u64,
    #[serde(with = "as_text")]
    then: OnTimeout,
}

/// The form of a [`Replaced`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Replaced")]
pub struct ReplacedForm {
    size: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lines: Option<u64>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    text: Option<Text>,
}

/// The form of a [`Ruling`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Ruling")]
pub struct RulingForm {
    #[serde(with = "as_text")]
    behavior: Behavior,
    #[serde(default, with = "as_text", skip_serializing_if = "is_once")]
    scope: Scope,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    why: Option<String>,
    #[serde(default, with = "Optional::<EditedForm>", skip_serializing_if = "Option::is_none")]
    input: Option<Edited>,
    #[serde(default, skip_serializing_if = "Not::not")]
    interrupt: bool,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    mode: Option<Mode>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
pub(crate) fn is_once(scope: &Scope) -> bool {
    *scope == Scope::Once
}

/// The form of [`Edited`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "Edited")]
pub struct EditedForm {
    #[serde(with = "as_text")]
    text: Text,
    digest: [u8; 32],
}

/// The form of a [`ToolCall`].
#[derive(Serialize, Deserialize)]
#[serde(remote = "ToolCall")]
pub struct ToolCallForm {
    tool: String,
    #[serde(default, alias = "tool_use", skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    #[serde(with = "as_text")]
    outcome: CallOutcome,
    decided_by: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    digest: Option<[u8; 32]>,
    #[serde(default, with = "as_text::option", skip_serializing_if = "Option::is_none")]
    ask: Option<AskId>,
    #[serde(default = "no_text", with = "as_text", skip_serializing_if = "Text::is_empty")]
    preview: Text,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    unasked: bool,
}

fn no_text() -> Text {
    Text::new("")
}
