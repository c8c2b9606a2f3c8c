//! Calls that we make ourselves, in the place of tools of the client's: its mode and its rules are ours to apply.

use portcullis_core::policy::{Decision as RuleDecision, Judgement};

use super::after::RefusedAt;
use super::calls::AllowedBy;
use super::request::{CallKey, DecidedBy, Decision, ToolRequest};
use super::{Gatekeeper, allowed_as_it_is};

/// Tools that look at what an allowed call has started, or end it.
const OF_RUNNING_CALLS: [&str; 2] = ["BashOutput", "KillShell"];

impl Gatekeeper {
    /// What becomes of a call that nobody is asked about, by the rules and the mode; none where a person decides. A stop and
    /// denials by rules have been looked at.
    pub(super) async fn without_asking(
        &self,
        at: RefusedAt,
        request: &ToolRequest,
        call: &CallKey,
        judgement: &Judgement,
        outside: Option<&str>,
    ) -> Option<Decision> {
        let is_of_running_call = OF_RUNNING_CALLS.contains(&request.tool.as_str());
        let is_denied = judgement.decision == RuleDecision::Deny && !judgement.must_be_asked();
        if is_denied && !is_of_running_call {
            self.record_refused(at, request, call, &format!("mode {}", request.mode().name()), None);
            return Some(Decision::deny(judgement.why.clone()));
        }
        let is_let_pass =
            outside.is_none() && judgement.decision == RuleDecision::Allow && !request.flags.want_a_person();
        let may_pass = is_let_pass || is_of_running_call && !judgement.is_asked_by_rule();
        // What a rule allows is on the record, or is not allowed by it.
        if !may_pass || judgement.rule.is_some() && !self.can_be_recorded(None).await {
            return None;
        }
        // The stop may have come meanwhile.
        if let Some(denied) = self.denied_by_stop(at, request, call) {
            return Some(denied);
        }
        let by = match &judgement.rule {
            Some(rule) => AllowedBy::Rule(rule.pattern.to_string()),
            None => AllowedBy::Mode(request.mode().name()),
        };
        self.state().calls.allow(by, call.clone(), call.digest);
        Some(allowed_as_it_is(DecidedBy::Gatekeeper))
    }
}
