//! The calls of a session: which of them people are asked about, who let each through, and what ran.

use std::collections::VecDeque;

use portcullis_core::{AskId, NewAsk, Ruling};
use tokio::sync::oneshot;

use super::request::CallKey;

/// Calls of each kind that are remembered, so that what follows can be told to belong to them.
const REMEMBERED: usize = 256;

/// How an ask ends for the request that waits with it.
#[derive(Debug)]
pub(super) enum AskOutcome {
    Verdict(Box<Ruling>),
    /// Somebody stopped the session, and what was asked about does not run: says who. They may let it go on meanwhile.
    Stopped(String),
    /// No verdict is coming: nobody answered in time, or nobody could be asked.
    NoVerdict(String),
    /// The call was made or refused at the client's own terminal.
    SettledThere,
}

/// An ask that nobody has answered.
pub(super) struct OpenAsk {
    pub(super) new: NewAsk,
    call: CallKey,
    outcome: oneshot::Sender<AskOutcome>,
    /// The person at a front of ours was shown it.
    pub(super) is_shown: bool,
    /// A gate has it, or had it: people there may have answered.
    pub(super) is_registered: bool,
}

/// A call that was let through, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Allowed {
    pub(super) by: AllowedBy,
    call: CallKey,
    /// Of the input it was allowed with.
    pub(super) digest: [u8; 32],
    /// A prompt has come since.
    is_past: bool,
}

/// A call that people allowed, and that nothing was told of since.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unmade {
    pub(super) ask: AskId,
    pub(super) call: CallKey,
    /// A prompt has come since: the client did not tell of it when the calls around it were over.
    pub(super) is_past: bool,
}

/// A call that does not run because of the verdict on its ask. Nothing has shown yet that the client knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Denied {
    pub(super) ask: AskId,
    pub(super) call: CallKey,
    pub(super) preview: String,
    /// A person, or what kept their allow from counting.
    pub(super) by: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AllowedBy {
    /// People, who answered this ask.
    Ask(AskId),
    /// A rule, by its pattern.
    Rule(String),
    /// The mode, where it is ours to apply.
    Mode(&'static str),
}

#[derive(Default)]
pub(super) struct Calls {
    open: Vec<OpenAsk>,
    /// Calls that are about to be made, newest last.
    announced: VecDeque<CallKey>,
    /// Calls that were allowed and have not been made, newest last.
    allowed: VecDeque<Allowed>,
    /// Calls that people allowed before the client asked for them: when it does, nobody is asked again.
    passed: VecDeque<CallKey>,
    /// Calls that were denied when the client asked, newest last.
    denied: VecDeque<Denied>,
    /// Calls that we refused and put on the record ourselves, newest last.
    refused: VecDeque<CallKey>,
    /// Calls about which the client was told to ask a person, newest last.
    to_ask: VecDeque<ToAsk>,
}

/// A call about which the client was told to ask a person.
struct ToAsk {
    call: CallKey,
    /// The client has a dialog open for it at a terminal, where a person may answer past us.
    is_prompted: bool,
}

impl Calls {
    pub(super) fn has_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// A tool is about to be called.
    pub(super) fn announce(&mut self, call: CallKey) {
        remember(&mut self.announced, call);
    }

    /// The call that a permission request is about, with its id and folder: the newest announced with the same tool and
    /// input. One that has an ask already is another, for calls side by side may be the same but for their ids.
    pub(super) fn join(&self, mut call: CallKey) -> CallKey {
        let is_it =
            |announced: &&CallKey| announced.is(&call) && (call.tool_use_id.is_some() || !self.is_taken(announced));
        let newest = self.announced.iter().rev().find(is_it);
        if let Some(newest) = newest {
            call.tool_use_id = call.tool_use_id.or_else(|| newest.tool_use_id.clone());
            call.folder = call.folder.or_else(|| newest.folder.clone());
        }
        call
    }

    /// Whether an ask, or a rule in its place, has this very call.
    fn is_taken(&self, announced: &CallKey) -> bool {
        let open = self.open.iter().map(|open| &open.call);
        let mut taken = open.chain(self.allowed.iter().map(|allowed| &allowed.call));
        let is_passed = self.passed.iter().any(|passed| passed.is(announced));
        !is_passed && taken.any(|call| call.tool_use_id.is_some() && call.tool_use_id == announced.tool_use_id)
    }

    pub(super) fn open(&mut self, new: NewAsk, call: CallKey) -> oneshot::Receiver<AskOutcome> {
        let (outcome, receiver) = oneshot::channel();
        self.open.push(OpenAsk { new, call, outcome, is_shown: false, is_registered: false });
        receiver
    }

    pub(super) fn ask(&mut self, ask: AskId) -> Option<&mut OpenAsk> {
        self.open.iter_mut().find(|open| open.new.id == ask)
    }

    /// Ends one ask, if it is open.
    pub(super) fn settle(&mut self, ask: AskId, outcome: AskOutcome) {
        if let Some(place) = self.open.iter().position(|open| open.new.id == ask) {
            drop(self.open.swap_remove(place).outcome.send(outcome));
        }
    }

    /// The asks of the main agent for which the client has a dialog of its own.
    pub(super) fn open_dialogs(&self) -> Vec<AskId> {
        let dialogs = self.open.iter().filter(|open| open.call.agent.is_none() && !open.new.details.held);
        dialogs.map(|open| open.new.id).collect()
    }

    /// The asks of those agents, none being the main one.
    pub(super) fn open_of(&self, concerns: impl Fn(Option<&str>) -> bool) -> Vec<AskId> {
        let concerned = self.open.iter().filter(|open| concerns(open.call.agent.as_deref()));
        concerned.map(|open| open.new.id).collect()
    }

    pub(super) fn allow(&mut self, by: AllowedBy, call: CallKey, digest: [u8; 32]) {
        remember(&mut self.allowed, Allowed { by, call, digest, is_past: false });
    }

    pub(super) fn deny(&mut self, denied: Denied) {
        remember(&mut self.denied, denied);
    }

    /// The ask by whose verdict the call does not run, told once.
    pub(super) fn take_denied(&mut self, call: &CallKey) -> Option<Denied> {
        take(&mut self.denied, |denied| denied.call.is(call))
    }

    /// All denied calls of those agents, told once.
    pub(super) fn take_all_denied(&mut self, concerns: impl Fn(Option<&str>) -> bool) -> Vec<Denied> {
        let (taken, left) = std::mem::take(&mut self.denied)
            .into_iter()
            .partition::<Vec<_>, _>(|denied| concerns(denied.call.agent.as_deref()));
        self.denied = left.into();
        taken
    }

    /// A prompt has come in the main agent's conversation.
    pub(super) fn mark_past(&mut self) {
        for allowed in self.allowed.iter_mut().filter(|allowed| allowed.call.agent.is_none()) {
            allowed.is_past = true;
        }
    }

    /// Calls of those agents that people allowed, and that have not been made, told once.
    pub(super) fn take_all_allowed(&mut self, concerns: impl Fn(Option<&str>) -> bool) -> Vec<Unmade> {
        let mut taken = vec![];
        self.allowed.retain(|allowed| match allowed.by {
            AllowedBy::Ask(ask) if concerns(allowed.call.agent.as_deref()) => {
                taken.push(Unmade { ask, call: allowed.call.clone(), is_past: allowed.is_past });
                false
            }
            _ => true,
        });
        taken
    }

    /// People allowed the call before the client asks for it.
    pub(super) fn pass(&mut self, call: CallKey) {
        remember(&mut self.passed, call);
    }

    /// Whether people allowed this very call already, told once. A hook of the client may have put another input under the
    /// same id since: that one nobody allowed.
    pub(super) fn take_passed(&mut self, call: &CallKey) -> bool {
        let is_it = |passed: &CallKey| passed.is(call) && (&passed.tool, passed.digest) == (&call.tool, call.digest);
        take(&mut self.passed, is_it).is_some()
    }

    /// The client was told to ask a person about the call.
    pub(super) fn told_to_ask(&mut self, call: CallKey) {
        remember(&mut self.to_ask, ToAsk { call, is_prompted: false });
    }

    /// The client asks at its terminal. Another hook may have changed the input since, so that the call is not known again:
    /// then it is the newest of the same agent and tool.
    pub(super) fn prompted(&mut self, call: &CallKey) {
        let is_like = |to_ask: &ToAsk| (&to_ask.call.tool, &to_ask.call.agent) == (&call.tool, &call.agent);
        let place = self.to_ask.iter().rposition(|to_ask| to_ask.call.is(call));
        let place = place.or_else(|| self.to_ask.iter().rposition(is_like));
        if let Some(to_ask) = place.and_then(|place| self.to_ask.get_mut(place)) {
            to_ask.is_prompted = true;
        }
    }

    /// Whether the client was told to ask about the call, and has shown nobody a dialog. Told once.
    pub(super) fn take_unprompted(&mut self, call: &CallKey) -> bool {
        let place = self.to_ask.iter().rposition(|to_ask| to_ask.call.is(call));
        place.and_then(|place| self.to_ask.remove(place)).is_some_and(|to_ask| !to_ask.is_prompted)
    }

    pub(super) fn refuse(&mut self, call: CallKey) {
        remember(&mut self.refused, call);
    }

    /// Whether the call was refused by us, told once.
    pub(super) fn take_refused(&mut self, call: &CallKey) -> bool {
        take(&mut self.refused, |refused| refused.is(call)).is_some()
    }

    /// The call was made or refused. Returns the ask that was open for it, which is so no longer.
    pub(super) fn made(&mut self, call: &CallKey) -> Option<AskId> {
        // Nobody will be asked about it any more.
        self.announced.retain(|announced| call.tool_use_id.is_none() || announced.tool_use_id != call.tool_use_id);
        self.take_passed(call);
        let ask = self.open.iter().find(|open| open.call.is(call))?.new.id;
        self.settle(ask, AskOutcome::SettledThere);
        Some(ask)
    }

    /// Who let the call through, told once.
    pub(super) fn take_allowed(&mut self, call: &CallKey) -> Option<Allowed> {
        take(&mut self.allowed, |allowed| allowed.call.is(call))
    }
}

/// The newest that is it.
fn take<T>(queue: &mut VecDeque<T>, is_it: impl Fn(&T) -> bool) -> Option<T> {
    let place = queue.iter().rposition(is_it)?;
    queue.remove(place)
}

fn remember<T>(queue: &mut VecDeque<T>, item: T) {
    queue.push_back(item);
    if queue.len() > REMEMBERED {
        queue.pop_front();
    }
}

#[cfg(test)]
#[path = "calls/tests.rs"]
mod tests;
