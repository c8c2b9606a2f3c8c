//! The gate's end of a link, with a process played by hand: upgrades, refusals, and what is sent again.

use crate::support::PATIENCE;
use crate::support::home::Home;
use crate::support::link::{Link, OURS, VERSION, new_id};
use serde_json::{Value, json};

#[test]
fn an_idle_gate_hands_over_to_a_newer_portcullis() {
    let home = Home::new();
    let gate = home.serve();
    gate.say("/", "waits for the next gate").expect(200);
    let mut newer = Link::open(&home);
    assert_eq!(newer.greet("99.0.0", VERSION, VERSION), json!({"hand_over": {"program": OURS}}));
    assert!(gate.wait_exit(PATIENCE).success());
    let gate = home.serve();
    assert_eq!(gate.get("/api/v1/status").json()["waiting_events"], 1);
}

#[test]
fn a_gate_in_use_stays_and_accepts_a_newer_portcullis() {
    let home = Home::new();
    let gate = home.serve();
    let welcome = json!({"welcome": {"version": VERSION, "program": OURS}});
    let mut session = Link::open(&home);
    assert_eq!(session.greet(OURS, VERSION, VERSION), welcome, "the same portcullis is not newer");
    session.attach(&new_id(), &[], &[]);
    assert_eq!(Link::open(&home).greet("99.0.0", VERSION, VERSION), welcome);
    assert_eq!(Link::open(&home).greet("0.0.1", 1, 7), welcome, "an older one that knows our version");
    assert!(!gate.has_exited());
}

#[test]
fn incompatible_link_versions_are_refused_with_a_hint() {
    let home = Home::new();
    let gate = home.serve();
    let mut session = Link::open(&home);
    session.greet(OURS, VERSION, VERSION);
    session.attach(&new_id(), &[], &[]);
    for (min, max) in [(1, 1), (VERSION + 1, 9), (0, 0), (9, 3)] {
        let answer = Link::open(&home).greet("99.0.0", min, max);
        let refused = &answer["refused"];
        assert!(refused["message"].as_str().unwrap().contains("no link version in common"), "{answer}");
        assert!(refused["hint"].as_str().unwrap().contains("portcullis stop"), "{answer}");
    }
    for nonsense in [json!({"bye": {"why": "no hello"}}), json!("hello"), json!({"hello": {}})] {
        let mut link = Link::open(&home);
        link.say(&nonsense);
        assert!(link.hear()["refused"]["message"].as_str().unwrap().contains("hello"), "{nonsense}");
        assert_eq!(link.hear(), Value::Null, "it is closed");
    }
    assert!(!gate.has_exited());
}

#[test]
fn a_process_that_attaches_again_gets_only_the_events_it_does_not_have() {
    let home = Home::new();
    let gate = home.serve();
    let id = new_id();
    let mut link = Link::welcomed(&home);
    link.attach(&id, &[], &[]);
    let events: Vec<String> = (0..4)
        .map(|number| {
            gate.say("/", &format!("event {number}")).expect(200);
            link.hear()["event"]["id"].as_str().unwrap().to_owned()
        })
        .collect();
    link.tell(2, &json!({"wrote": {"events": [events[0]]}}));
    assert_eq!(link.answer(2), "ok");
    drop(link);
    home.attached(0);

    let mut link = Link::welcomed(&home);
    link.attach(&id, &events[1..2], &events[2..3]);
    assert_eq!(link.hear()["event"]["text"], "event 3");
    let states = || [0, 1, 2, 3].map(|place: usize| gate.event_state(&events[place]));
    assert_eq!(states(), ["delivered", "delivered", "waiting", "waiting"]);
    link.tell(2, &json!({"wrote": {"events": [events[2], events[3]]}}));
    link.answer(2);
    assert_eq!(states(), ["delivered"; 4]);
    gate.say("/", "event 4").expect(200);
    assert_eq!(link.hear()["event"]["text"], "event 4", "nothing of the rest came in between");
}

#[test]
fn a_verdict_is_sent_again_until_it_is_confirmed() {
    let home = Home::new();
    let gate = home.serve();
    let (id, ask) = (new_id(), new_id());
    let asked = json!({"asked": {"id": ask, "source": "channel", "origin": "abcde", "tool": "Bash",
                                 "description": "Push", "preview": "git push"}});
    let mut link = Link::welcomed(&home);
    link.attach(&id, &[], &[]);
    // Whoever is not sure that it was heard asks again; it is one prompt all the same.
    for _ in 0..2 {
        link.tell(2, &asked);
        assert_eq!(link.answer(2), json!({"asked": {"code": "abcde"}}));
    }
    assert_eq!(gate.asks().len(), 1);
    gate.say("/", "yes abcde").expect(200);
    let verdict = link.hear();
    let at = &gate.get("/api/v1/asks/abcde").json()["verdict"]["at"];
    let said = json!({"ask": ask, "origin": "abcde", "source": "channel", "ruling": {"behavior": "allow"}, "at": at});
    assert_eq!(verdict["verdict"], said);
    drop(link);

    let mut link = Link::welcomed(&home);
    link.attach(&id, &[], &[]);
    assert_eq!(link.hear(), verdict);
    link.tell(3, &json!({"carried": {"ask": ask}}));
    link.answer(3);
    drop(link);

    let mut link = Link::welcomed(&home);
    link.attach(&id, &[], &[]);
    gate.say("/", "the next word").expect(200);
    assert_eq!(link.hear()["event"]["text"], "the next word", "and not again after that");
}

#[test]
fn a_newer_process_of_a_session_replaces_the_older() {
    let home = Home::new();
    let gate = home.serve();
    let id = new_id();
    let (mut old, mut new) = (Link::welcomed(&home), Link::welcomed(&home));
    old.attach(&id, &[], &[]);
    new.attach(&id, &[], &[]);
    assert_eq!(old.hear(), Value::Null, "the old one is let go");
    drop(old);
    gate.say("/", "hello").expect(200);
    assert_eq!(new.hear()["event"]["text"], "hello");
    assert_eq!(home.attached(1)[0]["id"], *id);
    new.tell(2, &json!({"bye": {"why": "done"}}));
    home.attached(0);
}
