//! A session's end of a link, with the gate played by hand: what it keeps, says again, and does only once.

use crate::fakes::gate::FakeGate;
use crate::support::home::Home;
use crate::support::link::Link;
use crate::support::standin::StandIn;
use serde_json::{Value, json};

#[test]
fn unconfirmed_deliveries_are_reported_again_and_held_events_are_named() {
    let home = Home::without_auto_start();
    let gate = FakeGate::of(&home);
    let mut session = StandIn::start_paused(&home, &[]);
    let (mut link, attach) = gate.attached();
    assert_eq!((&attach["wrote"], &attach["holding"]), (&json!([]), &json!([])));
    let events = ["01m7f9jc2g75gzpa3000000001", "01m7f9jc2g75gzpa3000000002"];
    confirm(&mut link, &attach);
    events.iter().for_each(|event| link.say(&event_frame(event)));
    // Whatever comes after them was read after them.
    session.ask("abcde", "Bash", "Push", "git push");
    assert_eq!(link.hear()["message"]["asked"]["origin"], "abcde");
    drop(link);

    let (mut link, again) = gate.attached();
    assert_eq!(again["session"], attach["session"], "it is the same session");
    assert_eq!(sorted(&again["holding"]), events, "not ready for them, it holds them");
    confirm(&mut link, &again);
    assert_eq!(link.hear()["message"]["asked"]["origin"], "abcde", "nobody confirmed the prompt, so it is asked again");
    session.initialized();
    let mut wrote: Vec<Value> = Vec::new();
    while wrote.len() < 2 {
        wrote.extend(link.hear()["message"]["wrote"]["events"].as_array().unwrap().clone());
    }
    assert_eq!(wrote, events);
    drop(link);

    let (link, again) = gate.attached();
    assert_eq!((sorted(&again["wrote"]), &again["holding"]), (events.to_vec(), &json!([])));
    drop(link);
    let (mut link, again) = gate.attached();
    assert_eq!(sorted(&again["wrote"]), events, "the gate went before it had that");
    confirm(&mut link, &again);
    drop(link);
    let (_link, again) = gate.attached();
    assert_eq!(again["wrote"], json!([]), "once is enough");
    assert_eq!(session.event_count(), 2);
}

#[test]
fn a_repeated_verdict_is_delivered_once_and_confirmed_again() {
    let home = Home::without_auto_start();
    let gate = FakeGate::of(&home);
    let session = StandIn::start(&home, &[]);
    let verdict = json!({"verdict": {"ask": "01m7f9jc2g75gzpa3000000009", "origin": "abcde", "source": "channel", "ruling": {"behavior": "allow"}}});
    for _ in 0..3 {
        let (mut link, attach) = gate.attached();
        confirm(&mut link, &attach);
        link.say(&verdict);
        assert_eq!(link.hear()["message"]["carried"]["ask"], "01m7f9jc2g75gzpa3000000009");
    }
    let (mut link, attach) = gate.attached();
    confirm(&mut link, &attach);
    link.say(&event_frame("01m7f9jc2g75gzpa3000000003"));
    session.next_event();
    assert_eq!(session.verdict_count(), 1);
    assert_eq!(session.next_verdict().behavior, "allow");
}

#[test]
fn a_reply_keeps_its_id_when_it_is_sent_again() {
    let home = Home::without_auto_start();
    let gate = FakeGate::of(&home);
    let session = StandIn::start(&home, &[]);
    let (mut link, attach) = gate.attached();
    confirm(&mut link, &attach);
    std::thread::scope(|scope| {
        let replying = scope.spawn(|| session.call("reply", &json!({"chat_id": "1", "text": "hello"})));
        let first = link.hear();
        assert_eq!(first["message"]["replied"]["text"], "hello");
        drop(link);
        let (mut link, attach) = gate.attached();
        confirm(&mut link, &attach);
        let second = link.hear();
        assert_eq!(second, first, "the same id, so that the gate knows it");
        link.say(&json!({"done": {"n": second["n"], "answer": "ok"}}));
        let id = second["message"]["replied"]["id"].as_str().unwrap();
        assert_eq!(replying.join().unwrap()["content"][0]["text"], format!("sent, message_id={id}"));
    });
}

#[test]
fn a_refused_session_reports_the_reason_and_a_hint() {
    let home = Home::without_auto_start();
    let gate = FakeGate::of(&home);
    let session = StandIn::start(&home, &[]);
    let (mut link, _) = gate.greeted();
    link.say(&json!({"refused": {"error": 50501, "message": "no version in common", "hint": "run `portcullis stop`"}}));
    session.complaint("no version in common");
    session.complaint("run `portcullis stop`");
    let (mut link, _) = gate.greeted();
    link.say(&json!({"hand_over": {"program": "0.0.1"}}));
    let (mut link, attach) = gate.attached();
    confirm(&mut link, &attach);
    link.say(&event_frame("01m7f9jc2g75gzpa3000000003"));
    session.next_event();
}

#[test]
fn a_gate_that_does_not_greet_is_left_and_tried_again() {
    let home = Home::without_auto_start();
    home.fix("PORTCULLIS_TEST_GREETING", 200);
    let gate = FakeGate::of(&home);
    let session = StandIn::start(&home, &[]);
    let _silent = gate.greeted();
    session.complaint("the gate does not greet");
    let (mut link, attach) = gate.attached();
    confirm(&mut link, &attach);
    link.say(&event_frame("01m7f9jc2g75gzpa3000000003"));
    session.next_event();
}

#[test]
fn a_session_reads_on_while_its_gate_does_not() {
    let home = Home::without_auto_start();
    let gate = FakeGate::of(&home);
    let session = StandIn::start(&home, &[]);
    let (mut link, attach) = gate.attached();
    confirm(&mut link, &attach);
    let text = "x".repeat(100_000);
    std::thread::scope(|scope| {
        let replies: Vec<_> =
            (0..100).map(|_| scope.spawn(|| session.call("reply", &json!({"chat_id": "1", "text": text})))).collect();
        link.say(&event_frame("01m7f9jc2g75gzpa3000000003"));
        session.next_event();
        let mut replied = 0;
        while replied < replies.len() {
            let said = link.hear();
            link.say(&json!({"done": {"n": said["n"], "answer": "ok"}}));
            replied += usize::from(said["message"]["replied"].is_object());
        }
    });
}

#[test]
fn an_attach_says_how_the_session_is_and_no_older_description_follows_it() {
    let home = Home::without_auto_start();
    let gate = FakeGate::of(&home);
    let session = StandIn::start(&home, &[]);
    let (mut link, attach) = gate.attached();
    confirm(&mut link, &attach);
    let work_in = |mode: &str| session.hook("Notification", &json!({"permission_mode": mode}));
    work_in("plan");
    work_in("auto");
    while link.hear()["message"]["described"]["mode"] != "auto" {}
    drop(link);
    let (mut link, again) = gate.attached();
    assert_eq!(again["about"]["mode"], "auto");
    confirm(&mut link, &again);
    work_in("default");
    let said = link.hear();
    assert_eq!(said["message"]["described"]["mode"], "default", "{said}");
}

fn confirm(link: &mut Link, attach: &Value) {
    link.say(&json!({"done": {"n": attach["n"], "answer": "ok"}}));
}

fn event_frame(id: &str) -> Value {
    json!({"event": {"id": id, "via": "http", "sender": "owner", "chat": "1", "text": "hello"}})
}

fn sorted(ids: &Value) -> Vec<&str> {
    let mut ids: Vec<&str> = ids.as_array().unwrap().iter().filter_map(Value::as_str).collect();
    ids.sort_unstable();
    ids
}
