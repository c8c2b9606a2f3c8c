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
    /// Somebody stopped the session, and what was asked about does not run.
    Stopped,
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

    /// Ends one ask. None when it is not open.
    pub(super) fn settle(&mut self, ask: AskId, outcome: AskOutcome) -> Option<OpenAsk> {
        let place = self.open.iter().position(|open| open.new.id == ask)?;
        let mut settled = self.open.swap_remove(place);
        let (unused, _) = oneshot::channel();
        let waiting = std::mem::replace(&mut settled.outcome, unused);
        drop(waiting.send(outcome));
        Some(settled)
    }

    /// The asks of those agents, none being the main one.
    pub(super) fn open_of(&self, concerns: impl Fn(Option<&str>) -> bool) -> Vec<AskId> {
        let concerned = self.open.iter().filter(|open| concerns(open.call.agent.as_deref()));
        concerned.map(|open| open.new.id).collect()
    }

    pub(super) fn allow(&mut self, by: AllowedBy, call: CallKey, digest: [u8; 32]) {
        remember(&mut self.allowed, Allowed { by, call, digest });
    }

    pub(super) fn deny(&mut self, denied: Denied) {
        remember(&mut self.denied, denied);
    }

    /// The ask by whose verdict the call does not run, told once.
    pub(super) fn take_denied(&mut self, call: &CallKey) -> Option<Denied> {
        let place = self.denied.iter().rposition(|denied| denied.call.is(call))?;
        self.denied.remove(place)
    }

    /// All denied calls of those agents, told once.
    pub(super) fn take_all_denied(&mut self, concerns: impl Fn(Option<&str>) -> bool) -> Vec<Denied> {
        let (taken, left) = std::mem::take(&mut self.denied)
            .into_iter()
            .partition::<Vec<_>, _>(|denied| concerns(denied.call.agent.as_deref()));
        self.denied = left.into();
        taken
    }

    /// Calls of those agents that people allowed, and that have not been made, told once.
    pub(super) fn take_all_allowed(&mut self, concerns: impl Fn(Option<&str>) -> bool) -> Vec<(AskId, CallKey)> {
        let mut taken = vec![];
        self.allowed.retain(|allowed| match allowed.by {
            AllowedBy::Ask(ask) if concerns(allowed.call.agent.as_deref()) => {
                taken.push((ask, allowed.call.clone()));
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
        let place = self.passed.iter().rposition(is_it);
        place.and_then(|place| self.passed.remove(place)).is_some()
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
        let place = self.refused.iter().rposition(|refused| refused.is(call));
        place.and_then(|place| self.refused.remove(place)).is_some()
    }

    /// The call was made or refused. Returns the ask that was open for it, which is so no longer.
    pub(super) fn made(&mut self, call: &CallKey) -> Option<OpenAsk> {
        // Nobody will be asked about it any more.
        self.announced.retain(|announced| call.tool_use_id.is_none() || announced.tool_use_id != call.tool_use_id);
        self.take_passed(call);
        let ask = self.open.iter().find(|open| open.call.is(call))?.new.id;
        self.settle(ask, AskOutcome::SettledThere)
    }

    /// Who let the call through, told once.
    pub(super) fn take_allowed(&mut self, call: &CallKey) -> Option<Allowed> {
        let place = self.allowed.iter().rposition(|allowed| allowed.call.is(call))?;
        self.allowed.remove(place)
    }
}

fn remember<T>(queue: &mut VecDeque<T>, item: T) {
    queue.push_back(item);
    if queue.len() > REMEMBERED {
        queue.pop_front();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{Behavior, Details, Moment, Source, Text};

    fn new_ask(number: u64) -> NewAsk {
        NewAsk {
            id: AskId::new(Moment(number), 0),
            source: Source::Hook,
            origin: number.to_string(),
            tool: "Bash".to_owned(),
            description: Text::new(""),
            preview: Text::new(""),
            details: Details::default(),
        }
    }

    fn ask(number: u64) -> AskId {
        new_ask(number).id
    }

    fn call(command: u8, tool_use_id: Option<&str>, agent: Option<&str>) -> CallKey {
        CallKey {
            tool: "Bash".to_owned(),
            agent: agent.map(str::to_owned),
            digest: [command; 32],
            tool_use_id: tool_use_id.map(str::to_owned),
            folder: Some(format!("/{command}")),
        }
    }

    fn asked(command: u8, agent: Option<&str>) -> CallKey {
        CallKey { folder: None, ..call(command, None, agent) }
    }

    fn made(calls: &mut Calls, call: &CallKey) -> Option<AskId> {
        calls.made(call).map(|open| open.new.id)
    }

    #[test]
    fn a_request_belongs_to_the_newest_call_of_the_same_agent_tool_and_input() {
        let mut calls = Calls::default();
        for (command, id, agent) in [(1, "a", None), (1, "b", None), (2, "c", None), (1, "d", Some("sub"))] {
            calls.announce(call(command, Some(id), agent));
        }
        let joined = |command, agent| calls.join(asked(command, agent));
        assert_eq!(joined(1, None).tool_use_id.as_deref(), Some("b"));
        assert_eq!(joined(1, None).folder.as_deref(), Some("/1"), "it is made where it was announced");
        assert_eq!(joined(1, Some("sub")).tool_use_id.as_deref(), Some("d"));
        assert_eq!(joined(3, None).tool_use_id, None);
        let named = CallKey { folder: None, ..call(9, Some("a"), None) };
        assert_eq!(calls.join(named).folder.as_deref(), Some("/1"), "by its id, whatever the input");
    }

    #[test]
    fn of_two_calls_that_are_the_same_each_has_its_own_ask_and_ends_it() {
        let mut calls = Calls::default();
        for id in ["a", "b", "c"] {
            calls.announce(call(1, Some(id), None));
        }
        for (number, id) in [(1, "c"), (2, "b")] {
            let joined = calls.join(asked(1, None));
            assert_eq!(joined.tool_use_id.as_deref(), Some(id));
            drop(calls.open(new_ask(number), joined));
        }
        calls.settle(ask(1), AskOutcome::Verdict(Box::new(Ruling::plain(Behavior::Allow))));
        calls.allow(AllowedBy::Ask(ask(1)), call(1, Some("c"), None), [1; 32]);
        let joined = calls.join(asked(1, None));
        assert_eq!(joined.tool_use_id.as_deref(), Some("a"), "also while the answered call runs");
        calls.allow(AllowedBy::Rule("Bash".to_owned()), joined, [1; 32]);
        assert_eq!(calls.join(asked(1, None)).tool_use_id, None, "each has its own");
        assert_eq!(made(&mut calls, &call(1, Some("c"), None)), None);
        assert_eq!(made(&mut calls, &call(1, Some("b"), None)), Some(ask(2)));
        assert!(!calls.has_open(), "no ask is left behind");
    }

    #[test]
    fn a_call_that_was_made_ends_its_ask_and_no_other() {
        let mut calls = Calls::default();
        let mut first = calls.open(new_ask(1), call(1, Some("a"), None));
        let mut second = calls.open(new_ask(2), call(1, Some("b"), None));
        assert_eq!(made(&mut calls, &call(1, Some("b"), None)), Some(ask(2)));
        assert!(matches!(second.try_recv(), Ok(AskOutcome::SettledThere)) && first.try_recv().is_err());
        assert_eq!(made(&mut calls, &call(1, Some("c"), None)), None, "another call with the same input");
    }

    #[test]
    fn an_allowed_call_is_found_once_whatever_it_ran_with() {
        let mut calls = Calls::default();
        calls.allow(AllowedBy::Ask(ask(1)), call(1, Some("a"), None), [1; 32]);
        let allowed = calls.take_allowed(&call(9, Some("a"), None)).unwrap();
        assert_eq!((allowed.by, allowed.digest), (AllowedBy::Ask(ask(1)), [1; 32]));
        assert_eq!(calls.take_allowed(&call(9, Some("a"), None)), None);
    }

    #[test]
    fn what_people_allowed_before_the_client_asks_is_found_when_it_does_and_once() {
        let mut calls = Calls::default();
        calls.announce(call(1, Some("a"), None));
        calls.allow(AllowedBy::Ask(ask(1)), call(1, Some("a"), None), [1; 32]);
        calls.pass(call(1, Some("a"), None));
        let joined = calls.join(asked(1, None));
        assert_eq!(joined.tool_use_id.as_deref(), Some("a"));
        assert!(calls.take_passed(&joined) && !calls.take_passed(&joined));
        calls.pass(call(1, Some("b"), None));
        assert!(!calls.take_passed(&call(2, Some("b"), None)), "another input under the same id");
    }

    #[test]
    fn agents_that_went_on_end_their_own_asks_alone() {
        let mut calls = Calls::default();
        let _main = calls.open(new_ask(1), call(1, None, None));
        let _sub = calls.open(new_ask(2), call(2, None, Some("sub")));
        assert_eq!(calls.open_of(|agent| agent.is_none()), [ask(1)]);
        assert_eq!(calls.open_of(|agent| agent == Some("sub")), [ask(2)]);
    }
}
