//! What became of a call: told by the client, shown by what it does next, or known because we refused it ourselves.

use portcullis_core::{AskId, AskKind, CallOutcome, Text, ToolCall, excerpt};
use portcullis_wire::preview::preview;

use super::calls::{AllowedBy, Denied};
use super::request::{CallKey, DecidedBy, ToolRequest};
use super::{Gatekeeper, PromptNews, Settled};

/// As much of a call goes on the record; what was asked about is whole in its ask.
const LONGEST_RECORD: usize = 4 << 10;

/// A call that was made, failed, or was refused.
#[derive(Clone, Debug)]
pub(crate) struct FinishedCall {
    pub(crate) call: CallKey,
    pub(crate) preview: String,
    pub(crate) outcome: CallOutcome,
    /// In the client's own words, where it says who decided.
    pub(crate) decided_by: Option<String>,
}

/// How a client goes on, which shows that no dialog of that agent is open any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WentOn {
    /// It is about to make another call: those that were denied are behind it, those that were allowed may still run.
    NextCall,
    /// All calls of its last message are over, or the turn is.
    CallsOver,
}

impl Gatekeeper {
    /// A call was made or refused: whatever was asked about it is settled, and it goes on the record. False when it ran
    /// with something else than was allowed.
    pub(crate) fn after(&self, finished: FinishedCall) -> bool {
        let FinishedCall { call, preview, outcome, decided_by } = finished;
        // A plan has no input that runs: the client reports an approved one without it.
        let is_plan = AskKind::of_tool(&call.tool) == AskKind::Plan;
        let mut state = self.state();
        let open = state.calls.made(&call).map(|open| open.new.id);
        let allowed = state.calls.take_allowed(&call);
        let denied = state.calls.take_denied(&call);
        if outcome == CallOutcome::Denied && state.calls.take_refused(&call) {
            return true;
        }
        let decided = match (open, allowed.as_ref().map(|allowed| &allowed.by), &denied) {
            (Some(_), ..) => "terminal".to_owned(),
            (None, Some(AllowedBy::Ask(_)), _) => "person".to_owned(),
            (None, Some(AllowedBy::Rule(rule)), _) => format!("rule {rule}"),
            (None, None, Some(denied)) if outcome == CallOutcome::Denied => denied.by.to_owned(),
            // Its own rules, or its mode: not every client tells which.
            (None, None, _) => "client".to_owned(),
        };
        let ask = open.or(denied.map(|denied| denied.ask)).or(allowed.as_ref().and_then(|allowed| match allowed.by {
            AllowedBy::Ask(ask) => Some(ask),
            AllowedBy::Rule(_) => None,
        }));
        let is_as_allowed =
            outcome == CallOutcome::Denied || is_plan || allowed.is_none_or(|allowed| allowed.digest == call.digest);
        let is_recorded = state.audit.write(ToolCall {
            tool: call.tool,
            tool_use_id: call.tool_use_id,
            agent: call.agent,
            outcome,
            decided_by: decided_by.unwrap_or(decided),
            digest: Some(call.digest),
            ask,
            preview: Text::new(excerpt(&preview, Some(LONGEST_RECORD)).0),
        });
        drop(state);
        if let Some(ask) = ask.filter(|_| !is_recorded) {
            self.withdraw(ask, "its call was made or refused");
        }
        if let Some(ask) = open {
            self.tell(PromptNews::Settled {
                ask,
                how: Settled::Withdrawn("it was answered at the terminal".to_owned()),
            });
        }
        is_as_allowed
    }

    /// The agent went on. What was denied is known to it, and what was allowed and has not been made by the end of its calls
    /// was denied past us.
    pub(crate) fn went_on(&self, how: WentOn, concerns: impl Fn(Option<&str>) -> bool) {
        let mut state = self.state();
        let denied = state.calls.take_all_denied(&concerns);
        let unmade = match how {
            WentOn::NextCall => vec![],
            WentOn::CallsOver => state.calls.take_all_allowed(&concerns),
        };
        for Denied { ask, call, preview, by } in denied {
            state.audit.write(not_made(call, Some(ask), by, &preview));
        }
        for (ask, call) in unmade {
            state.audit.write(not_made(call, Some(ask), "terminal", ""));
        }
    }

    /// A call was denied in answer to the client's own request.
    pub(super) fn denied(&self, request: &ToolRequest, call: CallKey, ask: Option<AskId>, by: DecidedBy) {
        let by = self.who_denied(by);
        match ask {
            Some(ask) => {
                let preview = preview(&request.tool, &request.input);
                self.state().calls.deny(Denied { ask, call, preview, by });
            }
            None => self.record_refused(request, &call, by, None),
        }
    }

    pub(super) fn who_denied(&self, by: DecidedBy) -> &'static str {
        match by {
            DecidedBy::Person => "person",
            DecidedBy::Gatekeeper if self.stop_reason().is_some() => "stop",
            DecidedBy::Gatekeeper => "nobody",
        }
    }

    /// Puts a call on the record that does not run because of us. The client may tell of it again, and not every one does.
    pub(super) fn record_refused(&self, request: &ToolRequest, call: &CallKey, by: &str, ask: Option<AskId>) {
        let shown = preview(&request.tool, &request.input);
        let mut state = self.state();
        if state.calls.take_refused(call) {
            // Refused before it ran, and once more when permission was asked for.
            return state.calls.refuse(call.clone());
        }
        state.calls.refuse(call.clone());
        state.audit.write(not_made(call.clone(), ask, by, &shown));
    }
}

fn not_made(call: CallKey, ask: Option<AskId>, by: &str, preview: &str) -> ToolCall {
    ToolCall {
        tool: call.tool,
        tool_use_id: call.tool_use_id,
        agent: call.agent,
        outcome: CallOutcome::Denied,
        decided_by: by.to_owned(),
        digest: Some(call.digest),
        ask,
        preview: Text::new(excerpt(preview, Some(LONGEST_RECORD)).0),
    }
}
