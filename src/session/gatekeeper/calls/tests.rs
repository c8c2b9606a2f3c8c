//! Calls that belong together, and those that only look so.

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
    assert_eq!(calls.made(&call(1, Some("c"), None)), None);
    assert_eq!(calls.made(&call(1, Some("b"), None)), Some(ask(2)));
    assert!(!calls.has_open(), "no ask is left behind");
}

#[test]
fn a_call_that_was_made_ends_its_ask_and_no_other() {
    let mut calls = Calls::default();
    let mut first = calls.open(new_ask(1), call(1, Some("a"), None));
    let mut second = calls.open(new_ask(2), call(1, Some("b"), None));
    assert_eq!(calls.made(&call(1, Some("b"), None)), Some(ask(2)));
    assert!(matches!(second.try_recv(), Ok(AskOutcome::SettledThere)) && first.try_recv().is_err());
    assert_eq!(calls.made(&call(1, Some("c"), None)), None, "another call with the same input");
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
