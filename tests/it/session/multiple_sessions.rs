//! Several sessions, one gate: each gets its own, and what nobody can take yet waits.

use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, running, until};
use serde_json::json;
use std::sync::atomic::{AtomicBool, Ordering};

#[test]
fn a_mistyped_verdict_among_several_sessions_is_said_to_be_none() {
    let home = Home::new();
    let gate = home.serve();
    let sessions = ["api", "web"].map(|label| {
        let session = StandIn::start(&home, &["--label", label]);
        until("the session", || home.run(&["session", "list"]).ok().stdout.contains(label).then_some(()));
        session
    });
    let refused = gate.say("/", "yes abcd3").expect(409).text();
    let (what, hint) = refused.split_once('\n').unwrap();
    let several = "as a message it is not clear for whom: several sessions could be meant: api, web";
    assert_eq!(what, format!("not taken as a verdict: no prompt is open; {several}"));
    let wanted =
        "to answer a prompt, write yes or no and its five letters; for a message, name one: ?label=api or ?label=web";
    assert_eq!(hint.trim_end(), format!("hint: {wanted}"));
    gate.open_prompt(&sessions[0], "abcde");
    let refused = gate.say("/", "yes abcdef").expect(409).text();
    assert!(refused.starts_with("not taken as a verdict: write yes or no and the prompt's five letters"), "{refused}");
    gate.say("/", "yes please, all of you").expect(409);
    assert_eq!(gate.say("/", "yes abcde").expect(200).text(), "verdict recorded");
}

#[test]
fn two_sessions_each_get_their_own_events() {
    let home = Home::new();
    let gate = home.serve();
    let (api, web) = (StandIn::start(&home, &["--label", "api"]), StandIn::start(&home, &["--label", "web"]));
    let sessions = home.attached(2);
    let id = |label: &str| {
        let about = sessions.iter().find(|session| session["label"] == label).unwrap();
        about["id"].as_str().unwrap().to_owned()
    };
    gate.say("/?label=api", "by label").expect(200);
    gate.say(&format!("/?session={}", id("web")), "by id").expect(200);
    gate.say("/?label=api&chat=deploy", "a conversation").expect(200);
    gate.say("/?chat=deploy", "goes on where it began").expect(200);
    gate.say("/?chat=deploy&label=web", "until it is moved").expect(200);
    gate.say("/?chat=deploy", "and stays there").expect(200);

    let heard =
        |session: &StandIn, count: usize| -> Vec<String> { (0..count).map(|_| session.next_event().content).collect() };
    assert_eq!(heard(&api, 3), ["by label", "a conversation", "goes on where it began"]);
    assert_eq!(heard(&web, 3), ["by id", "until it is moved", "and stays there"]);

    let events = gate.events();
    for session in [&api, &web] {
        session.call("reply", &json!({"chat_id": "deploy", "text": "both were spoken to"}));
        events.containing("Reply to deploy");
    }
    assert_eq!((api.event_count(), web.event_count()), (3, 3));
}

#[test]
fn the_same_code_in_two_sessions_never_answers_the_other_session() {
    let home = Home::new();
    let gate = home.serve();
    let (one, two) = (StandIn::start(&home, &["--label", "one"]), StandIn::start(&home, &["--label", "two"]));
    home.attached(2);
    let events = gate.events();
    one.ask("abcde", "Bash", "List", "ls");
    events.containing("Session one.");
    two.ask("abcde", "Bash", "Remove all", "rm -rf /");
    let shown = events.containing("Session two.").data;
    assert!(shown.contains("rm -rf /") && !shown.contains("abcde"), "the second is given another code: {shown}");
    let code = shown.split("\"yes ").nth(1).and_then(|rest| rest.get(..5)).unwrap();

    gate.say("/", "yes abcde").expect(200);
    assert_eq!(one.next_verdict().behavior, "allow");
    gate.say("/", &format!("no {code}")).expect(200);
    let verdict = two.next_verdict();
    assert_eq!((&*verdict.request_id, &*verdict.behavior), ("abcde", "deny"), "in the client's own letters");
    gate.say("/?label=one", "the last word").expect(200);
    one.event_containing("the last word");
    assert_eq!((one.verdict_count(), two.verdict_count()), (1, 1));

    // Settled codes stay taken as well: a late "yes abcde" must not meet another's prompt.
    two.ask("abcde", "Bash", "Again", "rm -rf ~");
    assert!(!events.containing("rm -rf ~").data.contains("yes abcde"));
    gate.say("/", "yes abcde").expect(409);
}

#[test]
fn killing_one_session_does_not_affect_the_others() {
    let home = Home::new();
    let gate = home.serve();
    let (dies, lives) = (StandIn::start(&home, &["--label", "dies"]), StandIn::start(&home, &["--label", "lives"]));
    home.attached(2);
    let events = gate.events();
    dies.ask("aaaaa", "Bash", "One", "1");
    lives.ask("bbbbb", "Bash", "Two", "2");
    events.containing("aaaaa");
    events.containing("bbbbb");
    dies.kill_9();
    home.attached(1);

    gate.say("/", "to the only one left").expect(200);
    assert_eq!(lives.next_event().content, "to the only one left");
    gate.say("/", "yes bbbbb").expect(200);
    assert_eq!(lives.next_verdict().behavior, "allow");
    assert!(!lives.has_exited() && !gate.has_exited());
}

#[test]
fn events_wait_for_their_session_and_arrive_in_order() {
    let home = Home::new();
    let gate = home.serve();
    let numbers = |text: &str| (0..50).map(|number| format!("{text} {number}")).collect::<Vec<_>>();
    for number in 0..50 {
        gate.say("/", &format!("for anyone {number}")).expect(200);
        gate.say("/?label=web", &format!("for web {number}")).expect(200);
    }
    let listed = gate.get("/api/v1/events?state=waiting").json();
    assert_eq!(listed.as_array().unwrap().len(), 100);

    let api = StandIn::start(&home, &["--label", "api"]);
    let heard: Vec<String> = (0..50).map(|_| api.next_event().content).collect();
    assert_eq!(heard, numbers("for anyone"));
    let web = StandIn::start(&home, &["--label", "web"]);
    let heard: Vec<String> = (0..50).map(|_| web.next_event().content).collect();
    assert_eq!(heard, numbers("for web"));
    until("an empty queue", || (home.status()["waiting_events"] == 0).then_some(()));
    assert_eq!((api.event_count(), web.event_count()), (50, 50));
}

#[test]
fn events_of_concurrent_senders_arrive_once_and_in_each_senders_order() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    const SENDERS: usize = 8;
    const EACH: usize = 50;
    std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let gate = &gate;
            scope.spawn(move || (0..EACH).for_each(|n| drop(gate.say("/", &format!("{sender} {n}")).expect(200))));
        }
    });
    let mut next = [0; SENDERS];
    for _ in 0..SENDERS * EACH {
        let event = session.next_event();
        let (sender, number) = event.content.split_once(' ').unwrap();
        let place = &mut next[sender.parse::<usize>().unwrap()];
        assert_eq!(number, place.to_string(), "of sender {sender}");
        *place += 1;
    }
}

#[test]
fn an_event_not_yet_written_when_its_session_ends_goes_to_the_next_session() {
    let home = Home::new();
    let gate = home.serve();
    // It never says that it is initialized, so its channel holds what it is given.
    let leaves = StandIn::start_paused(&home, &[]);
    home.attached(1);
    gate.say("/", "for whoever is there").expect(200);
    leaves.close_stdin();
    leaves.wait_exit(PATIENCE);
    let next = StandIn::start(&home, &[]);
    let event = next.next_event();
    assert_eq!((&*event.content, event.meta("redelivered")), ("for whoever is there", "true"));
}

#[test]
fn ten_sessions_started_at_once_start_one_gate() {
    let home = Home::new();
    let sessions: Vec<StandIn> = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..10)
            .map(|number| {
                let home = &home;
                scope.spawn(move || StandIn::start(home, &["--label", &format!("s{number}")]))
            })
            .collect();
        starting.into_iter().map(|session| session.join().unwrap()).collect()
    });
    home.attached(10);
    let is_gate = |process: &running::Running| process.args.get(1).is_some_and(|word| word == "serve");
    let gates = until("one gate alone", || {
        let gates: Vec<_> = running::portcullis_of(&home.folder()).into_iter().filter(is_gate).collect();
        (gates.len() == 1).then_some(gates)
    });
    assert_eq!(Some(gates[0].pid), home.pid_in_lock());
    for (number, session) in sessions.iter().enumerate() {
        let text = format!("hello {number}");
        Request::post(&format!("/?label=s{number}")).body(text.as_str()).send(&home.socket()).expect(200);
        assert_eq!(session.next_event().content, text);
    }
    let complaints = |line: &&str| line.contains("WARN") || line.contains("ERROR");
    assert_eq!(home.log().lines().find(complaints), None, "those who were late left quietly");
}

#[test]
fn probing_the_lock_never_prevents_a_gate_from_starting() {
    let home = Home::new();
    let lock = std::fs::File::create(home.folder().join("gate.lock")).unwrap();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        // As every session does while it looks for one, only without a pause.
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                if lock.try_lock_shared().is_ok() {
                    lock.unlock().unwrap();
                }
            }
        });
        let stop_looking = Defer(&done);
        for _ in 0..20 {
            home.serve().stop();
        }
        drop(stop_looking);
    });
}

/// Ends the looking also when the test fails, or it would wait for it for ever.
struct Defer<'a>(&'a AtomicBool);

impl Drop for Defer<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
