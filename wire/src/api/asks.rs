//! Prompts and verdicts, as the API tells and takes them.

use portcullis_core::policy::{Risk, risk_in_words};
use portcullis_core::{Ask, AskKind, AskLife, Behavior, Label, McpTool, Offer, Replaced, Text, Verdict, by_whom};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::nesting::readable;
use crate::questions::{GivenAnswers, how_to_allow_input};

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct AskView {
    pub id: String,
    /// Five letters by which people answer it.
    pub code: String,
    /// open, unconfirmed (answered, and nothing shows that the client took it), answered, withdrawn or expired
    pub state: String,
    /// A verdict still counts: it is open, or its answer has only waited for a process that is away, and may be replaced.
    #[serde(default)]
    pub answerable: bool,
    pub session: String,
    /// The session's label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// How it came, and how the verdict goes back: channel, hook or control
    pub source: String,
    /// What the agent wants to run.
    pub tool: String,
    /// The MCP tool that it is, by the names of its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mcp: Option<McpToolView>,
    /// What it is for, in the agent's words.
    pub description: String,
    /// What would run, for people.
    pub preview: String,
    /// When it was asked.
    pub at: u64,
    /// The whole input of the call; none where only a preview is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<serde_json::Value>,
    /// Only a preview is known: what runs may be more than what is shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub preview_only: bool,
    /// tool, question (the agent asks something: allowed with answers) or plan
    #[serde(default)]
    pub kind: String,
    /// The client's id of the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool_use_id: Option<String>,
    /// The subagent that asks, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
    /// How far beyond this once a verdict may reach, and what that would do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub offers: Vec<OfferView>,
    /// It takes another input.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub editable: bool,
    /// A denial may end the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interruptible: bool,
    /// The client wants no to be the default.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub default_to_no: bool,
    /// The client wants a person to look at it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_user_interaction: bool,
    /// Why it is asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How dangerous it looks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<RiskView>,
    /// How many people must allow it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<u8>,
    /// Who has allowed it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allowed_by: Vec<String>,
    /// Until when it can be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer_by: Option<u64>,
    /// Whether it is denied or left undecided when nobody has answered by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
    /// The call is held before it runs: without an answer in time it is denied.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// Of a plan: the modes that may follow, where the client lets the reviewer choose. The first follows without a choice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modes: Vec<String>,
    /// Of a Write: the file that was there when it was asked about, and would be replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replaces: Option<ReplacedView>,
    /// Once it is answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictView>,
    /// Why it is no longer asked, once it is withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
}

/// A tool of an MCP server.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct McpToolView {
    pub server: String,
    /// As its server calls it; as rules do, where only that is known.
    pub tool: String,
    /// What its server calls it for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
}

impl From<&McpTool> for McpToolView {
    fn from(McpTool { server, tool, title }: &McpTool) -> Self {
        Self { server: server.clone(), tool: tool.clone(), title: title.clone() }
    }
}

impl From<&McpToolView> for McpTool {
    fn from(McpToolView { server, tool, title }: &McpToolView) -> Self {
        Self { server: server.clone(), tool: tool.clone(), title: title.clone() }
    }
}

impl McpToolView {
    /// What a name such as `mcp__db__query` says, where its server is not known otherwise.
    fn named(tool: &str) -> Option<Self> {
        let (server, tool) = tool.strip_prefix("mcp__")?.split_once("__")?;
        let is_whole = !server.is_empty() && !tool.is_empty();
        is_whole.then(|| Self { server: server.to_owned(), tool: tool.to_owned(), title: None })
    }
}

/// A scope beyond this once, and what choosing it would do.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct OfferView {
    /// session or always
    pub scope: String,
    /// What choosing it would do.
    #[serde(default)]
    pub words: String,
}

impl From<&Offer> for OfferView {
    fn from(offer: &Offer) -> Self {
        Self { scope: offer.scope.to_string(), words: offer.words.clone() }
    }
}

/// A file that a call would replace as a whole.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct ReplacedView {
    /// Its bytes.
    pub size: u64,
    /// None where it is no text, or must not be looked into: protected files, those outside of the working folder, and those
    /// that a rule keeps from being read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lines: Option<u64>,
    /// None in these cases, and above 128 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl From<&Replaced> for ReplacedView {
    fn from(replaced: &Replaced) -> Self {
        let text = replaced.text.as_ref().map(|text| text.as_str().to_owned());
        Self { size: replaced.size, lines: replaced.lines, text }
    }
}

/// How dangerous the call looks, and why. It decides nothing.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct RiskView {
    /// low, medium or high
    pub level: String,
    #[serde(default)]
    pub reasons: Vec<String>,
}

impl RiskView {
    /// `high (network, unclear)`, or the level alone where there is no reason to name.
    pub fn in_words(&self) -> String {
        risk_in_words(&self.level, &self.reasons.join(", "))
    }
}

impl From<&Risk> for RiskView {
    fn from(risk: &Risk) -> Self {
        Self { level: risk.level.to_string(), reasons: risk.reasons.iter().map(ToString::to_string).collect() }
    }
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct VerdictView {
    /// The id of the prompt.
    pub ask: String,
    /// The code of the prompt.
    pub code: String,
    /// allow or deny
    pub behavior: String,
    /// Who said it.
    pub by: String,
    /// Through which door.
    pub via: String,
    /// What the device is called that it was said on, where it was a linked one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// When it was said.
    pub at: u64,
    /// In the person's own words.
    pub why: Option<String>,
    /// once, session or always
    #[serde(default)]
    pub scope: String,
    /// The denial ends the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
    /// What is to run instead of what was asked about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<serde_json::Value>,
    /// The mode that follows a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// When the session's process had handed it to the agent.
    pub carried_at: Option<u64>,
    /// recorded, handed_over, done (handed over, and nothing more is heard on this connection), confirmed (what became of
    /// the call is known) or not_confirmed (the client should have shown by now that it took it)
    #[serde(default)]
    pub confirmation: String,
    /// What is known to have followed: ran, failed, denied, or unknown: it was begun, and nobody knows how far it ran.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// When that was reported.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outcome_at: Option<u64>,
    /// It ran with something else than was shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
}

/// Taken by `POST /api/v1/asks/{id or code}/verdict`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewVerdict {
    /// allow or deny
    pub behavior: String,
    /// Up to 4096 bytes; the agent is told with a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// once (the default), session or always, where the prompt offers it
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The whole input to run instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<serde_json::Map<String, serde_json::Value>>,
    /// Answers to a prompt of kind question: `{"QUESTION": "LABEL"}`, or a list as people type them: `["SQLite"]`, `["2"]` or
    /// `["QUESTION=LABEL"]`. Every question must be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answers: Option<GivenAnswers>,
    /// With a denial: end the turn.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub interrupt: bool,
    /// With an allowed plan: the mode that follows, one of the prompt's `modes`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct Recorded {
    /// The id of the prompt.
    pub ask: String,
    /// The code of the prompt.
    pub code: String,
    /// allow or deny
    pub behavior: String,
    /// How many more people must allow it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missing: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn is_zero(number: &u8) -> bool {
    *number == 0
}

/// JSON where it reads as such, also as a part of the answer, else the text itself.
fn json(text: &Text) -> serde_json::Value {
    serde_json::from_str(text.as_str()).map_or_else(|_| text.as_str().into(), readable)
}

/// What Claude Code does with a call that it would have denied without asking, although people allowed it.
pub const REFUSED_AFTER_YES: &str = "Claude Code refuses it even after a yes, unless its own settings allow it";

impl AskView {
    /// Nobody has answered it, and it is still asked.
    pub fn is_open(&self) -> bool {
        self.state == "open"
    }

    /// How it is allowed from the command line, in words that follow what it asks.
    pub fn how_to_allow(&self) -> String {
        let kind = AskKind::named(&self.kind).unwrap_or(AskKind::Tool);
        how_to_allow_input(kind, self.input.as_ref().unwrap_or(&serde_json::Value::Null), &self.code)
    }
}

impl AskView {
    /// What a person who says yes has to know: `in dontAsk mode Claude Code refuses it …`.
    pub fn caveat(&self) -> Option<&str> {
        self.reason.as_deref()?.rsplit("; ").next().filter(|last| last.ends_with(REFUSED_AFTER_YES))
    }

    /// The same prompt, of a session whose process hears no verdict any more.
    pub fn answerable_if(self, is_present: bool) -> Self {
        Self { answerable: self.answerable && is_present, ..self }
    }

    /// The prompt of the session with this label.
    pub fn labelled(self, label: Option<&Label>) -> Self {
        Self { label: label.map(ToString::to_string), ..self }
    }

    pub fn of(ask: &Ask, life: &AskLife) -> Self {
        let details = &ask.details;
        let timeout = details.timeout.filter(|_| life.is_open());
        Self {
            id: ask.id.to_string(),
            code: ask.code.to_string(),
            state: life.name().to_owned(),
            answerable: life.is_open() || life.is_replaceable(),
            session: ask.session.to_string(),
            label: None,
            source: ask.source.name().to_owned(),
            tool: ask.tool.clone(),
            mcp: details.mcp.as_ref().map(McpToolView::from).or_else(|| McpToolView::named(&ask.tool)),
            description: ask.description.as_str().to_owned(),
            preview: ask.preview.as_str().to_owned(),
            at: ask.at.0,
            input: details.input.as_ref().filter(|input| **input != Text::Away).map(json),
            preview_only: details.input.is_none(),
            kind: details.kind.to_string(),
            tool_use_id: details.tool_use_id.clone(),
            agent_id: details.agent.clone(),
            offers: details.offers.iter().map(OfferView::from).collect(),
            editable: details.editable,
            interruptible: details.interruptible,
            default_to_no: details.default_to_no,
            requires_user_interaction: details.requires_user_interaction,
            reason: details.reason.clone(),
            risk: details.risk.as_ref().map(RiskView::from),
            quorum: (details.quorum > 1).then_some(details.quorum),
            allowed_by: match life {
                AskLife::Open { votes } => votes.iter().map(|vote| vote.by.clone()).collect(),
                AskLife::Answered { agreed, verdict, .. } if details.quorum > 1 => {
                    let last = Some(&verdict.by).filter(|_| verdict.ruling.behavior == Behavior::Allow);
                    agreed.iter().chain(last).cloned().collect()
                }
                _ => vec![],
            },
            answer_by: timeout.map(|timeout| ask.at.plus(timeout.milliseconds).0),
            otherwise: timeout.map(|timeout| timeout.then.to_string()),
            held: details.held,
            modes: details.modes.iter().map(ToString::to_string).collect(),
            replaces: details.replaced.as_ref().map(ReplacedView::from),
            verdict: VerdictView::of(ask, life),
            withdrawn: match life {
                AskLife::Withdrawn { why, .. } => Some(why.clone()),
                _ => None,
            },
        }
    }
}

impl VerdictView {
    /// `ann over http`, `ann on "Phone"`.
    pub fn by_whom(&self) -> String {
        by_whom(&self.by, &self.via, self.device.as_deref())
    }

    pub fn of(ask: &Ask, life: &AskLife) -> Option<Self> {
        let AskLife::Answered { verdict, carried, outcome, .. } = life else { return None };
        let Verdict { ruling, by, via, device, at, idempotency_key: _ } = &**verdict;
        Some(Self {
            ask: ask.id.to_string(),
            code: ask.code.to_string(),
            behavior: ruling.behavior.name().to_owned(),
            by: by.clone(),
            via: via.name().to_owned(),
            device: device.clone(),
            at: at.0,
            why: ruling.why.clone(),
            scope: ruling.scope.name().to_owned(),
            interrupt: ruling.interrupt,
            input: ruling.input.as_ref().map(|edited| json(&edited.text)),
            mode: ruling.mode.map(|mode| mode.to_string()),
            carried_at: carried.map(|at| at.0),
            confirmation: life.confirmation(ask).map(|confirmation| confirmation.to_string()).unwrap_or_default(),
            outcome: outcome.map(|reported| reported.outcome.to_string()),
            outcome_at: outcome.map(|reported| reported.at.0),
            differs: outcome.is_some_and(|reported| reported.differs),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_input_that_is_nested_too_deep_is_told_as_text_so_that_lists_of_prompts_can_be_read() {
        let deep = Text::new(format!("{}1{}", "[".repeat(126), "]".repeat(126)));
        assert!(json(&deep).as_str().is_some_and(|text| text == deep.as_str()));
        assert_eq!(json(&Text::new("{\"a\":[1]}")), serde_json::json!({"a": [1]}));
    }
}
