//! The gate or a session dies at the worst moment: nothing that was accepted is lost, and nothing happens twice.

use crate::support::connection::{Connection, Target};
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::sse::Events;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal, until};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const EVENTS: usize = 2_000;
const SENDERS: usize = 4;

#[test]
fn no_accepted_event_is_lost_when_the_gate_is_killed_under_load() {
    nothing_is_lost("process");
}

#[test]
fn no_accepted_event_is_lost_when_the_gate_is_killed_under_load_and_survives_power_cuts() {
    nothing_is_lost("power");
}

fn nothing_is_lost(durability: &str) {
    let home = Home::new();
    let mut command = StandIn::command(&home, &[]);
    // The session starts every gate of this test, and hands it this on.
    command.env("PORTCULLIS_DURABILITY", durability);
    let session = StandIn::start_command(&home, command);
    let before = home.attached(1)[0]["id"].clone();
    assert_eq!(home.status()["durability"], durability);

    let accepted = Accepted::default();
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (accepted, socket) = (&accepted, home.socket());
            scope.spawn(move || accepted.send(&socket, sender));
        }
        for (count, signal) in [(EVENTS / 5, Signal::KILL), (EVENTS / 2, Signal::KILL), (EVENTS * 4 / 5, Signal::TERM)]
        {
            until("enough events", || (accepted.count.load(Ordering::Relaxed) >= count).then_some(()));
            home.kill_gate(signal);
        }
    });
    let accepted = accepted.ids.into_inner().unwrap();
    assert_eq!(accepted.len(), EVENTS);

    let mut arrived = BTreeSet::new();
    while !accepted.is_subset(&arrived) {
        let event = session.next_event();
        assert_eq!(event.meta("redelivered"), "", "{event:?}");
        assert!(arrived.insert(event.meta("event_id").to_owned()), "twice: {event:?}");
    }
    until("an empty queue", || (home.status()["waiting_events"] == 0).then_some(()));
    home.kill_gate(Signal::KILL);
    assert_eq!(home.attached(1)[0]["id"], before, "it is the same session all along");

    let mut connection = Connection::open(&home.socket());
    for id in &accepted {
        let event = connection.send(&Request::get(&format!("/api/v1/events/{id}"))).expect(200).json();
        assert_eq!(event["state"], "delivered", "{event}");
    }
    assert_eq!(session.event_count(), arrived.len(), "nothing came twice");
}

/// The ids that were answered 2xx.
#[derive(Default)]
struct Accepted {
    ids: Mutex<BTreeSet<String>>,
    count: AtomicUsize,
}

impl Accepted {
    /// Sends its share, each event again until it is accepted.
    fn send(&self, socket: &Target, sender: usize) {
        let mut connection = None;
        for number in 0..EVENTS / SENDERS {
            let request = Request::post("/").body(format!("{sender} {number}"));
            let id = Connection::send_until_accepted(&mut connection, socket, &request);
            assert!(self.ids.lock().unwrap().insert(id));
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

#[test]
fn open_prompts_survive_a_killed_gate_and_are_answered_once() {
    let home = Home::new();
    let sessions = ["one", "two"].map(|label| StandIn::start(&home, &["--label", label]));
    let before = home.attached(2);
    for (session, code) in sessions.iter().zip(["aaaaa", "bbbbb"]) {
        session.ask(code, "Bash", "Push", "git push");
    }
    until("two prompts", || (home.status()["open_asks"] == 2).then_some(()));
    for _ in 0..2 {
        home.kill_gate(Signal::KILL);
        assert_eq!(ids(&home.attached(2)), ids(&before), "the sessions come back by themselves");
    }
    let events = Events::open(&home.socket(), "/events", &[]);
    for (session, code, word) in [(&sessions[0], "aaaaa", "yes"), (&sessions[1], "bbbbb", "no")] {
        assert!(events.containing(code).data.contains("git push"));
        let answer = say(&home, &format!("{word} {code}"));
        assert_eq!(answer, "verdict recorded");
        let verdict = session.next_verdict();
        assert_eq!((&*verdict.request_id, &*verdict.behavior), (code, if word == "yes" { "allow" } else { "deny" }));
    }
    home.kill_gate(Signal::KILL);
    home.attached(2);
    for (session, label) in sessions.iter().zip(["one", "two"]) {
        through(&home, session, label);
        assert_eq!(session.verdict_count(), 1);
    }
}

#[test]
fn a_verdict_arrives_once_although_the_gate_is_killed_right_after_it() {
    let home = Home::new();
    let session = StandIn::start(&home, &[]);
    let codes = ["aaaaa", "bbbbb", "ccccc", "ddddd", "eeeee"];
    for code in codes {
        home.attached(1);
        session.ask(code, "Bash", "Push", "git push");
        until("the prompt", || (home.status()["open_asks"] == 1).then_some(()));
        assert_eq!(say(&home, &format!("yes {code}")), "verdict recorded");
        home.kill_gate(Signal::KILL);
        assert_eq!(session.next_verdict().request_id, code);
    }
    home.attached(1);
    through(&home, &session, "project");
    assert_eq!(session.verdict_count(), codes.len());
}

#[test]
fn a_verdict_for_a_stalled_session_survives_a_killed_gate() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    gate.open_prompt(&session, "abcde");
    session.signal(Signal::STOP);
    gate.say("/", "yes abcde").expect(200);
    let gate = home.restart(&gate);
    gate.say("/", "no abcde").expect(409);
    session.signal(Signal::CONT);
    assert_eq!(session.next_verdict().behavior, "allow");
    through(&home, &session, "project");
    assert_eq!(session.verdict_count(), 1);
}

#[test]
fn prompts_and_replies_sent_without_a_gate_arrive_when_it_is_back() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    gate.say("/", "hello").expect(200);
    session.next_event();
    until("a confirmed delivery", || (home.status()["waiting_events"] == 0).then_some(()));
    gate.kill_9();
    session.ask("abcde", "Bash", "Push", "git push");
    std::thread::scope(|scope| {
        let replying = scope.spawn(|| session.call("reply", &json!({"chat_id": "1", "text": "still here"})));
        // The channel answers others meanwhile.
        assert_eq!(session.request("ping", &json!({})), json!({}));
        let gate = home.serve();
        let events = gate.events();
        assert!(events.containing("abcde").data.contains("git push"));
        let sent = replying.join().unwrap()["content"][0]["text"].as_str().unwrap().to_owned();
        assert!(sent.starts_with("sent, message_id="), "{sent}");
        assert_eq!(gate.say("/", "yes abcde").expect(200).text(), "verdict recorded");
        assert_eq!(session.next_verdict().behavior, "allow");
        let token = format!("Bearer {}", home.token());
        let all = Events::open(&gate.target(), "/events", &[("Authorization", &token), ("Last-Event-ID", "0")]);
        assert_eq!(all.next(PATIENCE).data, "Reply to 1: still here");
        session.call("reply", &json!({"chat_id": "1", "text": "the last word"}));
        assert_eq!(all.next(PATIENCE).data, "Reply to 1: the last word", "what was said once is told once");
    });
}

#[test]
fn events_of_a_killed_session_go_to_the_next_and_its_prompts_are_withdrawn() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_LOST_GRACE", 500);
    let gate = home.serve();
    let events = gate.events();
    let dies = StandIn::start(&home, &[]);
    home.attached(1);
    dies.ask("abcde", "Bash", "Push", "git push");
    events.containing("abcde");
    dies.signal(Signal::STOP);
    for number in 0..5 {
        gate.say("/", &format!("in its hands {number}")).expect(200);
    }
    dies.kill_9();
    home.attached(0);
    let next = StandIn::start(&home, &[]);
    home.attached(1);
    gate.say("/", "meanwhile").expect(200);
    assert_eq!(next.next_event().content, "meanwhile", "a session that is lost takes nothing new");

    // For ten seconds it might come back.
    assert_eq!(events.containing("withdrawn").data, "Prompt abcde: withdrawn, its session ended");
    for number in 0..5 {
        let event = next.next_event();
        assert_eq!((event.content, &event.meta["redelivered"]), (format!("in its hands {number}"), &json!("true")));
    }
    gate.say("/", "yes abcde").expect(409);
}

#[track_caller]
fn say(home: &Home, text: &str) -> String {
    // Over the port: on the socket the parent of a session is taken for the agent, which may not answer itself.
    Request::post("/").token(home.token()).body(text).send(&home.listening()).expect(200).text()
}

/// Whatever was on its way to the session before this call has arrived after it.
#[track_caller]
fn through(home: &Home, session: &StandIn, label: &str) {
    Request::post(&format!("/?label={label}")).body("the last word").send(&home.socket()).expect(200);
    session.event_containing("the last word");
}

fn ids(sessions: &[serde_json::Value]) -> Vec<&str> {
    sessions.iter().filter_map(|session| session["id"].as_str()).collect()
}
