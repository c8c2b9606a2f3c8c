//! What became of a call: told by the client, shown by what it does next, or known because we refused it ourselves.

use portcullis_core::{AskId, AskKind, CallOutcome, ToolCall};
use portcullis_wire::preview::preview;

use super::Gatekeeper;
use super::audit::record_of;
use super::calls::{AllowedBy, Denied, Unmade};
use super::request::{CallKey, DecidedBy, ToolRequest};

/// A call that was made, failed, or was refused.
#[derive(Clone, Debug)]
pub(crate) struct FinishedCall {
    pub(crate) call: CallKey,
    pub(crate) preview: String,
    pub(crate) outcome: CallOutcome,
    /// In the client's own words, where it says who decided.
    pub(crate) decided_by: Option<String>,
}

/// A person allowed a call, and the client did not run it: a rule of its own denies it.
const AFTER_ALLOW: &str = "client, after the allow";

/// The client's word for a call that a person kept from running, and for one that they interrupted as it ran.
pub(crate) const REJECTED: &str = "user-rejected";

/// How a client goes on, which shows that no dialog of that agent is open any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WentOn {
    /// It is about to make another call: those that were denied are behind it, those that were allowed may still run.
    NextCall,
    /// All calls of its last message are over, or the turn is.
    CallsOver,
    /// A person interrupted the turn: what was allowed may have run, in part or in full.
    Interrupted,
}

/// A call that ran, held against what was said of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RanAs {
    /// Nothing was said against it.
    Decided,
    OtherInput,
    /// A person had to be asked, and nothing shows that anybody was.
    Unasked,
}

impl RanAs {
    /// What the people before the session's screens are told, where they should know.
    pub(crate) fn alarm(self, tool: &str, id: Option<&str>) -> Option<String> {
        let what = match self {
            Self::Decided => return None,
            Self::OtherInput => "ran with something else than was allowed",
            Self::Unasked => "ran although a person had to be asked, and nothing shows that anybody was",
        };
        let where_told = id.map_or("`portcullis log` tells more".to_owned(), |id| format!("the log has the call {id}"));
        Some(format!("Portcullis ALARM: {tool} {what}; {where_told}"))
    }
}

/// When a call is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RefusedAt {
    Before,
    Asked,
}

impl Gatekeeper {
    /// A call was made or refused: whatever was asked about it is settled, and it goes on the record.
    pub(crate) fn after(&self, finished: FinishedCall) -> RanAs {
        let FinishedCall { call, preview, outcome, decided_by } = finished;
        // A plan has no input that runs: the client reports an approved one without it.
        let is_plan = AskKind::of_tool(&call.tool) == AskKind::Plan;
        let mut state = self.state();
        let open = state.calls.made(&call);
        let allowed = state.calls.take_allowed(&call);
        let is_unprompted = state.calls.take_unprompted(&call);
        // Nobody keeps a call from running that was let through already: it was interrupted, and may have begun.
        let is_interrupted =
            (outcome, decided_by.as_deref()) == (CallOutcome::Denied, Some(REJECTED)) && allowed.is_some();
        let (outcome, decided_by) = if is_interrupted { (CallOutcome::Unknown, None) } else { (outcome, decided_by) };
        // What it ran with nobody tells then.
        let call = match &allowed {
            Some(allowed) if outcome == CallOutcome::Unknown => CallKey { digest: allowed.digest, ..call },
            _ => call,
        };
        let unasked = is_unprompted && outcome != CallOutcome::Denied && allowed.is_none();
        let denied = state.calls.take_denied(&call).filter(|_| outcome == CallOutcome::Denied);
        if outcome == CallOutcome::Denied && state.calls.take_refused(&call) {
            return RanAs::Decided;
        }
        // Its own rules, or its mode: not every client tells which.
        let (decided, asked) = match allowed.as_ref().map(|allowed| &allowed.by) {
            _ if open.is_some() => ("terminal".to_owned(), open),
            Some(AllowedBy::Ask(ask)) if outcome == CallOutcome::Denied => (AFTER_ALLOW.to_owned(), Some(*ask)),
            Some(AllowedBy::Ask(ask)) => ("person".to_owned(), Some(*ask)),
            Some(AllowedBy::Rule(rule)) => (format!("rule {rule}"), None),
            Some(AllowedBy::Mode(mode)) => (format!("mode {mode}"), None),
            None => match denied {
                Some(denied) => (denied.by.to_owned(), Some(denied.ask)),
                None => ("client".to_owned(), None),
            },
        };
        let is_as_allowed =
            outcome == CallOutcome::Denied || is_plan || allowed.is_none_or(|allowed| allowed.digest == call.digest);
        let decided_by = decided_by.unwrap_or(decided);
        let record = ToolCall { unasked, ..record_of(call, outcome, decided_by, asked, &preview) };
        let is_recorded = state.audit.write(record);
        drop(state);
        if let Some(ask) = asked.filter(|_| !is_recorded) {
            self.withdraw(ask, "its call was made or refused");
        }
        if let Some(ask) = open {
            self.withdrawn(ask, "it was answered at the terminal");
        }
        match (unasked, is_as_allowed) {
            (true, _) => RanAs::Unasked,
            (false, true) => RanAs::Decided,
            (false, false) => RanAs::OtherInput,
        }
    }

    /// Something else begins in the session. What was allowed before, and is not told of by the end of the next calls, was
    /// interrupted.
    pub(crate) fn prompted(&self) {
        self.state().calls.mark_past();
    }

    /// The agent went on. What was denied is known to it, and what was allowed and has not been made by the end of its calls
    /// the client has kept from running by itself; of what was interrupted nobody knows how far it ran.
    pub(crate) fn went_on(&self, how: WentOn, concerns: impl Fn(Option<&str>) -> bool) {
        let mut state = self.state();
        let denied = state.calls.take_all_denied(&concerns);
        let unmade = match how {
            WentOn::NextCall => vec![],
            WentOn::CallsOver | WentOn::Interrupted => state.calls.take_all_allowed(&concerns),
        };
        for Denied { ask, call, preview, by } in denied {
            state.audit.write(record_of(call, CallOutcome::Denied, by.to_owned(), Some(ask), &preview));
        }
        for Unmade { ask, call, is_past } in unmade {
            let (outcome, by) = match is_past || how == WentOn::Interrupted {
                true => (CallOutcome::Unknown, "person"),
                false => (CallOutcome::Denied, AFTER_ALLOW),
            };
            state.audit.write(record_of(call, outcome, by.to_owned(), Some(ask), ""));
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
            None => self.record_refused(RefusedAt::Asked, request, &call, by, None),
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
    pub(super) fn record_refused(
        &self,
        at: RefusedAt,
        request: &ToolRequest,
        call: &CallKey,
        by: &str,
        ask: Option<AskId>,
    ) {
        let mut state = self.state();
        // One that was refused before it ran may be refused once more when permission is asked for. Before it runs, only
        // its id can tell that it is the same: of several that could not be read, each is another.
        let may_be_known = at == RefusedAt::Asked || call.tool_use_id.is_some();
        if !(may_be_known && state.calls.take_refused(call)) {
            let shown = request.shown();
            state.audit.write(record_of(call.clone(), CallOutcome::Denied, by.to_owned(), ask, &shown));
        }
        state.calls.refuse(call.clone());
    }
}
