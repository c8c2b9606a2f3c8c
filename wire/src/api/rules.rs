//! Rules of the API: those that count in a folder, and what they say of a call; and the state of the journal's chain.

use portcullis_core::policy::{Decision, Judgement, Mode, Rule};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{REFUSED_AFTER_YES, RiskView};

/// One rule, with where it is written.
#[derive(Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct RuleView {
    /// By which `portcullis rules remove` knows it.
    pub number: usize,
    /// allow, ask or deny
    pub decision: String,
    pub rule: String,
    pub why: Option<String>,
    /// The sessions it is meant for, by a pattern of their labels.
    pub session: Option<String>,
    /// How many people must allow.
    pub quorum: Option<u32>,
    pub origin: String,
    /// False where it is an allow rule of a project that nobody has trusted, or can never match.
    pub counts: bool,
    pub warning: Option<String>,
    pub file: String,
    pub line: usize,
    pub examples: usize,
}

impl RuleView {
    pub fn of(number: usize, rule: &Rule, file: String, line: usize, examples: usize) -> Self {
        let warning = rule.warning();
        let counts = warning.is_none() && (rule.decision != Decision::Allow || rule.source.origin.is_trusted());
        Self {
            number,
            decision: rule.decision.name().to_owned(),
            rule: rule.pattern.to_string(),
            why: rule.why.clone(),
            session: rule.session.clone(),
            quorum: rule.quorum,
            origin: rule.source.origin.name().to_owned(),
            counts,
            warning,
            file,
            line,
            examples,
        }
    }
}

/// Taken by `POST /api/v1/rules/check`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewCheck {
    /// Where the session works.
    pub folder: String,
    pub tool: String,
    /// The input as an object, or what the tool is mainly given as text: a command, a path, an address.
    #[schema(value_type = Object)]
    pub input: serde_json::Value,
    /// default, acceptEdits, plan, dontAsk, auto or bypassPermissions; default
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
}

/// What the rules say of a call.
#[derive(Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct RulingView {
    /// allow, ask or deny
    pub decision: String,
    /// The rule that decided; null where the mode or safety did.
    pub rule: Option<String>,
    pub why: String,
    /// `FILE:LINE` of that rule.
    pub place: Option<String>,
    /// What kept it from being more permissive, whatever the rules say.
    pub mandatory_asks: Vec<String>,
    /// No rule could make it pass unasked.
    pub suppress_always: bool,
    pub quorum: Option<u32>,
    pub risk: RiskView,
    /// What would be decided if the project's rules were trusted; null where that is the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion)]
    pub if_trusted: Option<Box<Self>>,
    /// True where Claude Code's own check decides about it (mode auto), and perhaps asks nobody.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub left_to_client: bool,
    /// What else may decide and could not all be read: the client's own settings. `portcullis rules check` never reads them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub not_looked_at: Vec<String>,
}

impl RulingView {
    pub fn of(judgement: &Judgement, if_trusted: Option<&Judgement>) -> Self {
        let Judgement { decision, rule, why, mandatory_asks, suppress_always, quorum, risk } = judgement;
        let place = rule.as_ref().and_then(|rule| rule.source.place.as_ref());
        Self {
            decision: decision.name().to_owned(),
            rule: rule.as_ref().map(|rule| rule.pattern.to_string()),
            why: why.clone(),
            place: place.map(|(file, line)| format!("{file}:{line}")),
            mandatory_asks: mandatory_asks.iter().map(ToString::to_string).collect(),
            suppress_always: *suppress_always,
            quorum: *quorum,
            risk: RiskView {
                level: risk.level.name().to_owned(),
                reasons: risk.reasons.iter().map(|reason| reason.name().to_owned()).collect(),
            },
            if_trusted: if_trusted.map(|trusted| Box::new(Self::of(trusted, None))),
            left_to_client: false,
            not_looked_at: vec![],
        }
    }
}

/// The judgement as people are told it. In dontAsk mode the gate holds what a person must decide, and asks them all the
/// same.
pub fn as_told(judgement: Judgement, mode: Mode) -> Judgement {
    if !judgement.is_held_in(mode) {
        return judgement;
    }
    let why = judgement.why.split("; in dontAsk mode").next().unwrap_or_default();
    let why = format!("{why}; in {} mode {REFUSED_AFTER_YES}", mode.name());
    Judgement { decision: Decision::Ask, why, ..judgement }
}

/// Whether the journal is as it was written.
#[derive(Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct ChainView {
    pub ok: bool,
    /// How many records there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records: Option<u64>,
    /// The hash of the last one, worth noting elsewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
    /// The first record that is not as it was written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seq: Option<u64>,
    /// What is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub what: Option<String>,
}
