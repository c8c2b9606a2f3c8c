//! The prompts a session has open, and which call of a tool each of them is about.

use std::collections::VecDeque;

use portcullis_core::AskId;
use portcullis_wire::hooks::HookCall;
use sha2::{Digest as _, Sha256};
use tokio::sync::oneshot;

/// Calls and answered prompts remembered, so that what follows can be told to belong to them.
const REMEMBERED: usize = 64;

/// One call of a tool, as far as hooks tell it from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Called {
    pub(super) tool: String,
    pub(super) agent: Option<String>,
    /// Of the whole input.
    pub(super) digest: [u8; 32],
    /// Not told with a permission request.
    pub(super) tool_use_id: Option<String>,
}

impl Called {
    pub(super) fn of(call: &HookCall) -> Self {
        let input = serde_json::to_vec(&call.tool_input).unwrap_or_default();
        Self {
            tool: call.tool_name.clone(),
            agent: call.agent_id.clone(),
            digest: Sha256::digest(input).into(),
            tool_use_id: call.tool_use_id.clone(),
        }
    }

    /// Whether both are about the same call: by its id where both have one, else by what is called with what.
    fn is(&self, other: &Self) -> bool {
        match (&self.tool_use_id, &other.tool_use_id) {
            (Some(one), Some(other)) => one == other,
            _ => (&self.tool, &self.agent, self.digest) == (&other.tool, &other.agent, other.digest),
        }
    }
}

/// How a prompt ends for the hook that waits with it.
#[derive(Debug)]
pub(super) enum Outcome<V> {
    Verdict(V),
    /// Somebody stopped the session, and what was asked about does not run.
    Stopped,
    /// The client is left to itself.
    NoDecision,
}

struct Open<V> {
    ask: AskId,
    called: Called,
    answer: oneshot::Sender<Outcome<V>>,
}

/// `V` is what a verdict is to those who wait.
pub(super) struct Prompts<V> {
    open: Vec<Open<V>>,
    /// Calls that were announced, newest last.
    announced: VecDeque<Called>,
    /// Prompts that were answered through us, newest last.
    answered: VecDeque<(AskId, Called)>,
    /// Calls that a rule allowed, with the rule, newest last.
    by_rule: VecDeque<(String, Called)>,
}

impl<V> Prompts<V> {
    pub(super) fn new() -> Self {
        Self { open: vec![], announced: VecDeque::new(), answered: VecDeque::new(), by_rule: VecDeque::new() }
    }

    pub(super) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// A tool is about to be called.
    pub(super) fn announced(&mut self, called: Called) {
        remember(&mut self.announced, called);
    }

    /// The id of the call that a permission request is about: the newest announced with the same tool and input. One
    /// that has a prompt already is another, for calls side by side may be the same but for their ids.
    pub(super) fn joined(&self, mut called: Called) -> Called {
        let is_it = |announced: &&Called| announced.is(&called) && !self.is_taken(announced);
        let newest = self.announced.iter().rev().find(is_it);
        called.tool_use_id = called.tool_use_id.or_else(|| newest.and_then(|announced| announced.tool_use_id.clone()));
        called
    }

    /// Whether a prompt, or a rule in its place, has this very call.
    fn is_taken(&self, announced: &Called) -> bool {
        let open = self.open.iter().map(|open| &open.called);
        let answered = self.answered.iter().map(|(_, called)| called);
        let allowed = self.by_rule.iter().map(|(_, called)| called);
        let mut taken = open.chain(answered).chain(allowed);
        taken.any(|called| called.tool_use_id.is_some() && called.tool_use_id == announced.tool_use_id)
    }

    pub(super) fn open(&mut self, ask: AskId, called: Called) -> oneshot::Receiver<Outcome<V>> {
        let (answer, outcome) = oneshot::channel();
        self.open.push(Open { ask, called, answer });
        outcome
    }

    /// A verdict has come. False when nobody waits for it.
    pub(super) fn answered(&mut self, ask: AskId, verdict: V) -> bool {
        let Some(open) = self.take(ask) else { return false };
        remember(&mut self.answered, (ask, open.called));
        open.answer.send(Outcome::Verdict(verdict)).is_ok()
    }

    /// No verdict will come.
    pub(super) fn closed(&mut self, ask: AskId) {
        if let Some(open) = self.take(ask) {
            drop(open.answer.send(Outcome::NoDecision));
        }
    }

    /// The session is stopped: nothing that is asked about runs.
    pub(super) fn stopped(&mut self) {
        for open in self.open.drain(..) {
            drop(open.answer.send(Outcome::Stopped));
        }
    }

    pub(super) fn take_back(&mut self, ask: AskId) -> bool {
        self.take(ask).is_some()
    }

    fn take(&mut self, ask: AskId) -> Option<Open<V>> {
        let place = self.open.iter().position(|open| open.ask == ask)?;
        Some(self.open.swap_remove(place))
    }

    /// The call was made or refused. Answers the prompt that was open for it, which is so no longer.
    pub(super) fn made(&mut self, called: &Called) -> Option<AskId> {
        // Nobody will be asked about it any more.
        self.announced.retain(|announced| called.tool_use_id.is_none() || announced.tool_use_id != called.tool_use_id);
        let ask = self.open.iter().find(|open| open.called.is(called))?.ask;
        self.closed(ask);
        Some(ask)
    }

    /// The prompt that was answered for this call, told once.
    pub(super) fn answered_for(&mut self, called: &Called) -> Option<AskId> {
        let place = self.answered.iter().rposition(|(_, answered)| answered.is(called))?;
        self.answered.remove(place).map(|(ask, _)| ask)
    }

    /// A rule allowed the call, and nobody was asked.
    pub(super) fn allow_by(&mut self, rule: String, called: Called) {
        remember(&mut self.by_rule, (rule, called));
    }

    /// The rule that allowed this call, told once.
    pub(super) fn allowed_by(&mut self, called: &Called) -> Option<String> {
        let place = self.by_rule.iter().rposition(|(_, allowed)| allowed.is(called))?;
        self.by_rule.remove(place).map(|(rule, _)| rule)
    }

    /// Those whom this concerns went on without an answer. Answers the prompts that are closed by that.
    pub(super) fn went_on(&mut self, concerns: impl Fn(Option<&str>) -> bool) -> Vec<AskId> {
        let asks: Vec<AskId> =
            self.open.iter().filter(|open| concerns(open.called.agent.as_deref())).map(|open| open.ask).collect();
        for ask in &asks {
            self.closed(*ask);
        }
        asks
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
    use portcullis_core::Moment;

    fn ask(number: u64) -> AskId {
        AskId::new(Moment(number), 0)
    }

    fn called(command: u8, tool_use_id: Option<&str>, agent: Option<&str>) -> Called {
        Called {
            tool: "Bash".to_owned(),
            agent: agent.map(str::to_owned),
            digest: [command; 32],
            tool_use_id: tool_use_id.map(str::to_owned),
        }
    }

    #[test]
    fn a_prompt_belongs_to_the_newest_call_of_the_same_agent_tool_and_input() {
        let mut prompts = Prompts::<()>::new();
        for (command, id, agent) in [(1, "a", None), (1, "b", None), (2, "c", None), (1, "d", Some("sub"))] {
            prompts.announced(called(command, Some(id), agent));
        }
        let joined = |command, agent| prompts.joined(called(command, None, agent)).tool_use_id;
        assert_eq!(joined(1, None).as_deref(), Some("b"));
        assert_eq!(joined(1, Some("sub")).as_deref(), Some("d"));
        assert_eq!(joined(3, None), None);
    }

    #[test]
    fn of_two_calls_that_are_the_same_each_has_its_own_prompt_and_ends_it() {
        let mut prompts = Prompts::new();
        for id in ["a", "b", "c"] {
            prompts.announced(called(1, Some(id), None));
        }
        for (number, id) in [(1, "c"), (2, "b")] {
            let joined = prompts.joined(called(1, None, None));
            assert_eq!(joined.tool_use_id.as_deref(), Some(id));
            drop(prompts.open(ask(number), joined));
        }
        prompts.answered(ask(1), "allow");
        let joined = prompts.joined(called(1, None, None));
        assert_eq!(joined.tool_use_id.as_deref(), Some("a"), "also while the answered call runs");
        prompts.allow_by("Bash".to_owned(), joined);
        assert_eq!(prompts.joined(called(1, None, None)).tool_use_id, None, "each has its own");
        assert_eq!(prompts.made(&called(1, Some("c"), None)), None);
        assert_eq!(prompts.made(&called(1, Some("b"), None)), Some(ask(2)));
        assert!(!prompts.are_open(), "no prompt is left behind");
        prompts.answered_for(&called(1, Some("c"), None));
        assert_eq!(prompts.joined(called(1, None, None)).tool_use_id, None, "what was made is not asked about");
    }

    #[test]
    fn a_call_that_was_made_closes_its_prompt_and_no_other() {
        let mut prompts = Prompts::<()>::new();
        let mut first = prompts.open(ask(1), called(1, Some("a"), None));
        let mut second = prompts.open(ask(2), called(1, Some("b"), None));
        assert_eq!(prompts.made(&called(1, Some("b"), None)), Some(ask(2)));
        assert!(matches!(second.try_recv(), Ok(Outcome::NoDecision)) && first.try_recv().is_err());
        assert_eq!(prompts.made(&called(1, Some("c"), None)), None, "another call with the same input");
    }

    #[test]
    fn an_answered_prompt_is_found_by_the_call_it_allowed_once() {
        let mut prompts = Prompts::new();
        let mut outcome = prompts.open(ask(1), called(1, Some("a"), None));
        assert!(prompts.answered(ask(1), "allow") && !prompts.answered(ask(1), "deny"));
        assert!(matches!(outcome.try_recv(), Ok(Outcome::Verdict("allow"))));
        assert_eq!(prompts.answered_for(&called(9, Some("a"), None)), Some(ask(1)), "whatever it was edited to");
        assert_eq!(prompts.answered_for(&called(9, Some("a"), None)), None);
    }

    #[test]
    fn a_stop_ends_every_prompt_and_a_verdict_that_comes_later_is_nobodys() {
        let mut prompts = Prompts::new();
        let outcomes =
            [prompts.open(ask(1), called(1, None, None)), prompts.open(ask(2), called(2, None, Some("sub")))];
        prompts.stopped();
        for mut outcome in outcomes {
            assert!(matches!(outcome.try_recv(), Ok(Outcome::Stopped)));
        }
        assert!(!prompts.are_open() && !prompts.answered(ask(1), "allow"));
    }

    #[test]
    fn who_goes_on_closes_their_own_prompts_alone() {
        let mut prompts = Prompts::<()>::new();
        let _main = prompts.open(ask(1), called(1, None, None));
        let mut sub = prompts.open(ask(2), called(2, None, Some("sub")));
        assert_eq!(prompts.went_on(|agent| agent.is_none()), [ask(1)]);
        assert!(sub.try_recv().is_err());
        assert_eq!(prompts.went_on(|agent| agent == Some("sub")), [ask(2)]);
    }
}
