//! What the user's and the project's rules say of a call, as their files are at that moment.

use std::path::{Path, PathBuf};

use portcullis_core::AskKind;
use portcullis_core::policy::{Decision, Judgement, MandatoryAsk, Mode, OutsidePolicy};
use portcullis_wire::tools;

use super::request::{Decision as GateDecision, ToolRequest};
use crate::rules::Rules;

/// The rules of one session.
pub(crate) struct Judge {
    rules: Rules,
    /// Where the session was started.
    folder: PathBuf,
    /// Other folders it may work in.
    added: Vec<PathBuf>,
    label: String,
}

impl Judge {
    pub(crate) fn new(rules: Rules, folder: PathBuf, added: Vec<PathBuf>, label: String) -> Self {
        Self { rules, folder, added, label }
    }

    /// The rules of a user whose home is this folder, for a session there.
    #[cfg(test)]
    pub(crate) fn of_home(folder: &Path) -> Self {
        Self::new(Rules::of_home(folder), folder.to_owned(), vec![], "api".to_owned())
    }

    /// Looks at the rules as they are now. Relative paths of the call lead from its own folder.
    pub(super) fn judge(&self, request: &ToolRequest) -> Judgement {
        let call = tools::call(&request.tool, &request.input);
        self.rules.decide(request.mode(), &self.context(request), call)
    }

    /// Whether the call may pass unasked although text from outside went before the model.
    pub(super) fn passes_outside_guard(&self, request: &ToolRequest, policy: OutsidePolicy) -> bool {
        let call = tools::call(&request.tool, &request.input);
        self.rules.passes_outside_guard(&self.context(request), call, policy)
    }

    /// Decides before a call, or about its permission, where nobody else can: what a person must decide is left to the
    /// terminal where the client asks there, and denied where it would not.
    pub(crate) fn decide_alone(&self, request: &ToolRequest) -> GateDecision {
        let judgement = self.judge(request);
        if denied_by(&judgement).is_some() {
            return GateDecision::deny(judgement.why);
        }
        if !must_ask(&judgement) || request.kind() != AskKind::Tool {
            return GateDecision::NoDecision;
        }
        if asks_a_person(request, &judgement) {
            return GateDecision::Ask { reason: judgement.why };
        }
        GateDecision::deny(format!(
            "A person must decide this ({}), and the session's own portcullis process does not answer: `portcullis doctor` \
             says why.",
            judgement.why
        ))
    }

    fn context(&self, request: &ToolRequest) -> portcullis_core::policy::Context {
        let mut context = self.rules.around(&self.folder, &self.added, Some(&self.label));
        // Where the agent has gone meanwhile is where its relative paths lead, but no folder it may work in.
        if let Some(folder) = request.folder.as_ref().filter(|folder| Path::new(folder).is_absolute()) {
            context.cwd.clone_from(folder);
        }
        context
    }
}

/// The rule of somebody that denies the call, and not only might. Where no rule speaks, the client's own mode and settings
/// decide.
pub(super) fn denied_by(judgement: &Judgement) -> Option<String> {
    let is_denied = judgement.decision == Decision::Deny;
    let rule = judgement.rule.as_ref().filter(|rule| is_denied && rule.decision == Decision::Deny)?;
    Some(rule.pattern.to_string())
}

/// Why a person must decide, also where the client would let the call through by itself.
pub(super) fn must_ask(judgement: &Judgement) -> bool {
    judgement.is_asked_by_rule() || is_mandatory(judgement)
}

/// Whether no rule and no mode lets the call pass unasked.
pub(super) fn is_mandatory(judgement: &Judgement) -> bool {
    judgement.mandatory_asks.iter().any(never_unasked)
}

fn never_unasked(mandatory: &MandatoryAsk) -> bool {
    // A line that nobody can read may hold what a rule denies or asks for.
    matches!(mandatory, MandatoryAsk::CriticalRemoval(_) | MandatoryAsk::ProtectedPath(_) | MandatoryAsk::Unreadable(_))
}

/// Whether the client, told to ask about this call, has one person decide it, and that is enough.
pub(super) fn asks_a_person(request: &ToolRequest, judgement: &Judgement) -> bool {
    let several = quorum(judgement) > 1 && request.capabilities.terminal;
    // In auto mode Claude Code has its own check decide about these before it asks anybody, or asks only at its terminal.
    let is_checked_first = request.mode() == Mode::Auto && is_mandatory(judgement);
    request.capabilities.heeds_ask && !several && !is_checked_first
}

/// How many people must allow the call.
pub(super) fn quorum(judgement: &Judgement) -> u8 {
    judgement.quorum.and_then(|quorum| u8::try_from(quorum).ok()).unwrap_or(1).max(1)
}
