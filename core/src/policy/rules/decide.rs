//! The ruling on one call: the strictest of what safety and the mode demand, and what the rules say.

use std::fmt;

use super::certain::is_certain;
use super::decision::{Decision, Mode};
use super::matching;
use super::risk::{self, Risk, RiskLevel};
use super::rule::{Rule, RuleSet};
use crate::policy::critical::removal;
use crate::policy::critical::safety;
use crate::policy::files::access::{Access, Action, FileAccess, Step};
use crate::policy::files::call::{Call, Context, Disk};
use crate::policy::shell::{ParseIssue, Script};
use crate::policy::texts::dialects::tool_reads_otherwise;
use crate::policy::words::processes::is_open;

/// What was decided, by what, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    pub decision: Decision,
    /// The rule that decided; none when the mode or safety did.
    pub rule: Option<Rule>,
    /// One sentence for people.
    pub why: String,
    /// What kept the decision from being more permissive, whatever the rules say.
    pub mandatory_asks: Vec<MandatoryAsk>,
    /// No rule could make this pass unasked, so "always" is not offered.
    pub suppress_always: bool,
    /// How many people must allow it, where an ask rule says so.
    pub quorum: Option<u32>,
    pub risk: Risk,
}

impl Judgement {
    /// Somebody wrote that this is asked for, whatever the mode makes of it, or a rule might deny it. In auto mode only such
    /// calls are turned into prompts.
    pub fn is_asked_by_rule(&self) -> bool {
        self.rule.as_ref().is_some_and(|rule| match rule.decision {
            Decision::Allow => false,
            Decision::Ask => self.decision != Decision::Allow,
            Decision::Deny => self.decision == Decision::Ask,
        })
    }
}

impl Judgement {
    /// Whether no rule and no mode lets the call pass unasked.
    pub fn is_mandatory(&self) -> bool {
        self.mandatory_asks.iter().any(MandatoryAsk::holds_in_every_mode)
    }

    /// Whether a person must decide, also where the client would let the call through by itself.
    pub fn must_be_asked(&self) -> bool {
        self.is_asked_by_rule() || self.is_mandatory()
    }

    /// Whether people are asked although the mode denies what would be asked: the gate holds such a call before it runs. What
    /// a rule denies, or might, is denied.
    pub fn is_held_in(&self, mode: Mode) -> bool {
        let is_by_deny_rule = self.rule.as_ref().is_some_and(|rule| rule.decision == Decision::Deny);
        mode == Mode::DontAsk && self.decision == Decision::Deny && self.must_be_asked() && !is_by_deny_rule
    }

    /// Whether Claude Code's own check decides about it, in this mode, and perhaps asks nobody.
    pub fn is_left_to_client(&self, mode: Mode) -> bool {
        mode == Mode::Auto && self.decision == Decision::Ask && !self.must_be_asked()
    }
}

/// Why a call does not pass unasked, whatever the rules say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MandatoryAsk {
    CriticalRemoval(String),
    ProtectedPath(String),
    /// Nobody knows what a shell makes of it.
    Unreadable(&'static str),
    /// More than simple commands of literal words.
    NotPlain(&'static str),
    /// Another folder's hooks and settings would be used.
    FolderAndGit,
    /// Which files are meant depends on whether a `cd` went well.
    FolderAndFiles,
    /// Nothing but reading passes in plan mode.
    PlanMode,
    /// A question to a person, which nobody else can answer.
    NeedsPerson,
    Malformed,
}

impl MandatoryAsk {
    /// Whether it holds where everything else passes.
    fn holds_in_bypass(&self) -> bool {
        match self {
            Self::CriticalRemoval(_)
            | Self::ProtectedPath(_)
            | Self::Unreadable(_)
            | Self::NeedsPerson
            | Self::Malformed => true,
            Self::NotPlain(_) | Self::FolderAndGit | Self::FolderAndFiles | Self::PlanMode => false,
        }
    }

    /// Whether the gate itself holds the call up for it, whatever the client would do.
    fn holds_in_every_mode(&self) -> bool {
        // A line that nobody can read may hold what a rule denies or asks for.
        matches!(self, Self::CriticalRemoval(_) | Self::ProtectedPath(_) | Self::Unreadable(_))
    }

    fn is_about_the_mode(&self) -> bool {
        *self == Self::PlanMode
    }
}

impl fmt::Display for MandatoryAsk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CriticalRemoval(what) => write!(f, "removing {what} is never approved unasked"),
            Self::ProtectedPath(path) => write!(f, "{path} is protected: changes of it are always asked for"),
            Self::Unreadable(why) | Self::NotPlain(why) => write!(f, "the command cannot be approved unseen: {why}"),
            Self::FolderAndGit => f.write_str("cd together with git is always asked for"),
            Self::FolderAndFiles => f.write_str("which files are meant depends on cd, so it is asked for"),
            Self::PlanMode => f.write_str("in plan mode nothing but reading passes unasked"),
            Self::NeedsPerson => f.write_str("it needs a person's answer"),
            Self::Malformed => f.write_str("what is given to the tool cannot be understood"),
        }
    }
}

/// Decides one call. `call` must have its links followed; see [`Call::followed`].
pub fn decide(rules: &RuleSet, mode: Mode, context: &Context, call: &Call) -> Judgement {
    let action = Action::of(call, context);
    let view = View { rules, mode, context, call };
    decide_action(&view, &action, &Weighed::of(&view, &action))
}

/// A call that was looked up on a disk and taken apart once, to be decided in any mode.
pub struct PreparedCall<'context> {
    context: &'context Context,
    call: Call,
    action: Action,
}

impl<'context> PreparedCall<'context> {
    /// With the folders looked into that the call goes into, for what these rules mean in them.
    pub fn of(rules: &RuleSet, context: &'context Context, call: Call, disk: &impl Disk) -> Self {
        let (call, action) = call.taken_apart(context, disk);
        let call = call.looked_below_by(&action, rules, context, disk);
        Self { context, call, action }
    }

    pub fn decide(&self, rules: &RuleSet, mode: Mode) -> Judgement {
        let view = View { rules, mode, context: self.context, call: &self.call };
        decide_action(&view, &self.action, &Weighed::of(&view, &self.action))
    }

    /// The same in each of these modes. What no mode changes is found out once.
    pub fn decide_in_each(&self, rules: &RuleSet, modes: &[Mode]) -> Vec<Judgement> {
        let view = |mode| View { rules, mode, context: self.context, call: &self.call };
        let weighed = Weighed::of(&view(Mode::Default), &self.action);
        modes.iter().map(|mode| decide_action(&view(*mode), &self.action, &weighed)).collect()
    }
}

/// What is the same in every mode.
struct Weighed<'a> {
    /// What no rule and no mode approves, and what a line is not plain by.
    mandatory_asks: Vec<MandatoryAsk>,
    /// What a rule says for certain, or else perhaps, with why.
    strict: Option<(Decision, &'a Rule, String)>,
    quorum: Option<u32>,
    risk: Risk,
}

impl<'a> Weighed<'a> {
    fn of(view: &View<'a>, action: &Action) -> Self {
        Self {
            mandatory_asks: view.mandatory_asks_in_every_mode(action),
            strict: view.strict(action),
            quorum: view.quorum(action),
            risk: risk::of(view.call, action, view.context),
        }
    }
}

fn decide_action(view: &View<'_>, action: &Action, weighed: &Weighed<'_>) -> Judgement {
    let mode = view.mode;
    let mut mandatory_asks = weighed.mandatory_asks.clone();
    mandatory_asks.extend(view.mandatory_ask_of_mode(action));
    if mode == Mode::BypassPermissions {
        mandatory_asks.retain(MandatoryAsk::holds_in_bypass);
    }
    let (said, rule, why) = match &weighed.strict {
        Some((decision, rule, why)) => (*decision, Some(*rule), why.clone()),
        None => view.consented(action),
    };
    let mandatory_ask = if mandatory_asks.is_empty() { Decision::Allow } else { Decision::Ask };
    let why = match mandatory_asks.first() {
        Some(first) if said < mandatory_ask || rule.is_none() && said == mandatory_ask => first.to_string(),
        _ => why,
    };
    let rule = if said < mandatory_ask { None } else { rule };
    // What a rule only might mean no rule can approve.
    let is_perhaps = said == Decision::Ask && rule.is_some_and(|rule| rule.decision == Decision::Deny);
    let asked = said.max(mandatory_ask);
    let decision = if mode == Mode::DontAsk && asked == Decision::Ask { Decision::Deny } else { asked };
    let why = if decision == asked { why } else { format!("{why}; in dontAsk mode what would be asked is denied") };
    Judgement {
        decision,
        why,
        suppress_always: is_perhaps || mandatory_asks.iter().any(|mandatory_ask| !mandatory_ask.is_about_the_mode()),
        quorum: weighed.quorum,
        risk: weighed.risk.clone(),
        rule: rule.cloned(),
        mandatory_asks,
    }
}

/// Whether a rule by itself speaks about a call: what its examples in a file are held against. That a project's rule
/// is not trusted yet, or meant for some sessions only, does not count here.
pub fn applies(rule: &Rule, context: &Context, call: &Call) -> bool {
    let mut rule = Rule { session: None, ..rule.clone() };
    if !rule.source.origin.is_trusted() {
        rule.source.origin = super::rule::Origin::Project { trusted: true };
    }
    let action = Action::of(call, context);
    if rule.decision != Decision::Allow {
        return matching::strictly(&rule, call, &action, context);
    }
    let rules = RuleSet { rules: vec![rule] };
    let view = View { rules: &rules, mode: Mode::Default, context, call };
    let plain = !matches!(&action, Action::Shell(plan) if plan.script.issue.is_some());
    plain && matches!(view.consent(&action), Ok(Some(_)))
}

/// The judgement on a line in which a command plainly stands that a rule denies: it takes no more than one reading of the
/// line, however much it would cost to find out what else may be meant.
pub fn plainly_denied(rules: &RuleSet, context: &Context, call: &Call) -> Option<Judgement> {
    let line = call.text("command").filter(|_| call.runs_a_line())?;
    let denies: Vec<&Rule> = rules.rules.iter().filter(|rule| rule.decision == Decision::Deny).collect();
    if denies.is_empty() {
        return None;
    }
    let script = Script::read(line);
    let rule = denies.into_iter().find(|rule| matching::plainly(rule, call, &script, context))?;
    Some(Judgement {
        decision: Decision::Deny,
        rule: Some(rule.clone()),
        why: because(rule),
        mandatory_asks: vec![],
        suppress_always: true,
        quorum: None,
        risk: Risk { level: RiskLevel::High, reasons: vec![] },
    })
}

pub(super) struct View<'a> {
    pub(crate) rules: &'a RuleSet,
    pub(crate) mode: Mode,
    pub(crate) context: &'a Context,
    pub(crate) call: &'a Call,
}

impl<'a> View<'a> {
    fn matching(&self, decision: Decision, action: &Action) -> impl Iterator<Item = &'a Rule> {
        let of_this_kind = self.rules.rules.iter().filter(move |rule| rule.decision == decision);
        of_this_kind.filter(move |rule| matching::strictly(rule, self.call, action, self.context))
    }

    /// The strict rules that might be about the call, with why that is not certain.
    fn perhaps(&self, action: &Action) -> impl Iterator<Item = (&'a Rule, String)> {
        self.rules
            .rules
            .iter()
            .filter_map(move |rule| Some((rule, matching::perhaps(rule, self.call, action, self.context)?)))
    }

    fn quorum(&self, action: &Action) -> Option<u32> {
        if !self.rules.rules.iter().any(|rule| rule.quorum.is_some()) {
            return None;
        }
        let certain = self.matching(Decision::Ask, action).filter_map(|rule| rule.quorum);
        certain.chain(self.perhaps(action).filter_map(|(rule, _)| rule.quorum)).max()
    }

    /// What deny and ask rules say, or might say.
    fn strict(&self, action: &Action) -> Option<(Decision, &'a Rule, String)> {
        for decision in [Decision::Deny, Decision::Ask] {
            if let Some(rule) = self.matching(decision, action).next() {
                return Some((decision, rule, because(rule)));
            }
        }
        let (rule, why) = self.perhaps(action).next()?;
        let verb = if rule.decision == Decision::Deny { "denies" } else { "asks for" };
        Some((Decision::Ask, rule, format!("{why}; the {} rule {} {verb} it", rule.source.origin.name(), rule.pattern)))
    }

    /// What allow rules say, or else the mode.
    fn consented(&self, action: &Action) -> (Decision, Option<&'a Rule>, String) {
        match self.consent(action) {
            Ok(Some(rule)) => (Decision::Allow, Some(rule), because(rule)),
            Ok(None) => (Decision::Allow, None, format!("{} mode lets it pass", self.mode.name())),
            Err(lack) => (Decision::Ask, None, lack),
        }
    }

    pub(crate) fn mandatory_asks(&self, action: &Action) -> Vec<MandatoryAsk> {
        let mut mandatory_asks = self.mandatory_asks_in_every_mode(action);
        mandatory_asks.extend(self.mandatory_ask_of_mode(action));
        mandatory_asks
    }

    fn mandatory_ask_of_mode(&self, action: &Action) -> Option<MandatoryAsk> {
        (self.mode == Mode::Plan && !self.only_reads(action)).then_some(MandatoryAsk::PlanMode)
    }

    fn mandatory_asks_in_every_mode(&self, action: &Action) -> Vec<MandatoryAsk> {
        let mut mandatory_asks = vec![];
        mandatory_asks.extend(removal::critical(self.call, action, self.context).map(MandatoryAsk::CriticalRemoval));
        mandatory_asks.extend(safety::protected(self.call, action, self.context).map(MandatoryAsk::ProtectedPath));
        if matches!(self.call.tool.as_str(), "AskUserQuestion" | "ExitPlanMode") {
            mandatory_asks.push(MandatoryAsk::NeedsPerson);
        }
        match action {
            Action::Malformed => mandatory_asks.push(MandatoryAsk::Malformed),
            Action::Shell(plan) => {
                let is_certain = self.allows_every_line() && is_certain(plan);
                match plan.script.issue {
                    Some(ParseIssue::Unreadable(why)) => mandatory_asks.push(MandatoryAsk::Unreadable(why)),
                    Some(ParseIssue::NotPlain(why)) if !is_certain => mandatory_asks.push(MandatoryAsk::NotPlain(why)),
                    Some(ParseIssue::NotPlain(_)) | None => {}
                }
                let line = self.call.text("command").unwrap_or_default();
                let unseen = plan.suspects.unseen.or(tool_reads_otherwise(&self.call.tool, line));
                mandatory_asks.extend(unseen.map(MandatoryAsk::Unreadable));
                if plan.has_cd() && plan.has_git() {
                    mandatory_asks.push(MandatoryAsk::FolderAndGit);
                }
                let redirected = plan.steps.iter().any(|step| !step.redirects.is_empty());
                let writes = || action.accesses().into_iter().any(|file| file.access == Access::Write);
                let denies_reading = |rule: &Rule| {
                    rule.decision == Decision::Deny && rule.pattern.tool == "Read" && rule.pattern.specifier.is_some()
                };
                let reads = || action.accesses().into_iter().any(|file| file.access == Access::Read);
                let might_be_denied = || reads() && self.rules.rules.iter().any(denies_reading);
                if plan.has_cd() && !is_certain && (redirected || writes() || might_be_denied()) {
                    mandatory_asks.push(MandatoryAsk::FolderAndFiles);
                }
            }
            Action::File(files) => {
                let is_hidden = |file: &FileAccess| file.path.as_deref().is_some_and(is_open);
                let why = "it goes through a folder that is open as a descriptor";
                mandatory_asks.extend(files.iter().any(is_hidden).then_some(MandatoryAsk::Unreadable(why)));
            }
            Action::Other => {}
        }
        mandatory_asks
    }

    /// Surely nothing but reading; where it reads is for the rules and the mode to say.
    pub(crate) fn only_reads(&self, action: &Action) -> bool {
        match action {
            // Others send what they read.
            Action::File(accesses) => {
                let reads = ["Read", "Glob", "Grep", "LS", "LSP", "NotebookRead"].contains(&self.call.tool.as_str());
                reads && accesses.iter().all(|file| file.access == Access::Read)
            }
            Action::Shell(plan) => {
                let reads =
                    |step: &Step| step.reads.is_some() && step.redirects.iter().all(|file| file.access == Access::Read);
                plan.script.issue.is_none() && plan.steps.iter().all(reads)
            }
            Action::Other | Action::Malformed => false,
        }
    }
}

fn because(rule: &Rule) -> String {
    let said = match rule.decision {
        Decision::Allow => "allowed",
        Decision::Ask => "asked for",
        Decision::Deny => "denied",
    };
    match &rule.why {
        Some(why) => why.clone(),
        None => format!("{said} by the {} rule {}", rule.source.origin.name(), rule.pattern),
    }
}
