//! The faults that were found in servers of this kind, each one here.

use crate::support::connection::{Connection, Target};
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal, until};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const EVENTS: usize = 10_000;
const SENDERS: usize = 8;
const ASKS: usize = 40;

#[test]
fn no_event_is_lost_or_counted_twice_when_gate_and_session_are_killed_under_load() {
    let home = Home::new();
    home.write_config("durability = \"process\"\n");
    let asker = StandIn::start(&home, &["--label", "asker"]);
    let start = || {
        StandIn::start_command(
            &home,
            StandIn::command_of(&home, &["--label", "load"], "5f9d41a3-1c62-4f6e-9f0a-000000000003"),
        )
    };
    let mut sessions = vec![start()];
    home.attached(2);
    let load = Load::default();
    let answers = std::thread::scope(|scope| {
        for sender in 0..SENDERS {
            let (load, socket) = (&load, home.socket());
            scope.spawn(move || load.send(&socket, sender));
        }
        let answering = scope.spawn(|| answer_all(&home, &asker));
        for (count, kill_gate, kill_session) in
            [(1000, true, false), (2500, false, true), (4500, true, true), (7000, true, false), (9000, false, true)]
        {
            until("enough events", || (load.count.load(Ordering::Relaxed) >= count).then_some(()));
            if kill_session {
                sessions.last().unwrap().kill_9();
            }
            if kill_gate {
                home.kill_gate(Signal::KILL);
            }
            if kill_session {
                sessions.push(start());
            }
        }
        answering.join().unwrap()
    });
    let accepted = load.accepted.into_inner().unwrap();
    assert_eq!((accepted.len(), EVENTS), (EVENTS, accepted.values().collect::<BTreeSet<_>>().len()));

    until("an empty queue", || (home.status()["waiting_events"] == 0).then_some(()));
    let mut heard: BTreeMap<String, String> = BTreeMap::new();
    until("every event that was accepted", || {
        // What was written to a client that was killed then was written.
        for session in &sessions {
            while session.event_count() > session.taken_count() {
                let event = session.next_event();
                let again = heard.insert(event.meta("event_id").to_owned(), event.content.clone()).is_some();
                assert!(!again || event.meta("redelivered") == "true", "twice, and not marked: {event:?}");
            }
        }
        accepted.iter().all(|(text, id)| heard.get(id) == Some(text)).then_some(())
    });
    assert_eq!(heard.len(), accepted.len(), "nothing came that was not accepted");

    assert_eq!(answers.len(), ASKS);
    assert_eq!(asker.verdict_count(), ASKS, "each prompt was answered once");
    for _ in 0..ASKS {
        let verdict = asker.next_verdict();
        assert_eq!(answers.get(&verdict.request_id), Some(&verdict.behavior), "{verdict:?}");
    }
    home.run(&["log", "verify"]).ok();
}

/// What was answered 2xx: text and id.
#[derive(Default)]
struct Load {
    accepted: Mutex<BTreeMap<String, String>>,
    count: AtomicUsize,
}

impl Load {
    /// Sends its share, each event under a key of its own, again until it is accepted.
    fn send(&self, socket: &Target, sender: usize) {
        let mut connection = None;
        for number in 0..EVENTS / SENDERS {
            let text = format!("{sender}-{number}");
            let request = Request::post("/?label=load").header("Idempotency-Key", &text).body(text.as_str());
            let id = Connection::send_until_accepted(&mut connection, socket, &request);
            assert!(self.accepted.lock().unwrap().insert(text, id).is_none());
            self.count.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Opens one prompt after the other and lets two people contradict each other about it. Returns what was recorded.
fn answer_all(home: &Home, asker: &StandIn) -> BTreeMap<String, String> {
    let letters = b"abcdefghijkmnopqrstuvwxyz";
    let code = |number: usize| format!("ask{}{}", char::from(letters[number / 25]), char::from(letters[number % 25]));
    let answer = |code: &str, behavior: &str| {
        until("an answer to a verdict", || {
            let verdict = Request::post(&format!("/api/v1/asks/{code}/verdict")).json(&json!({"behavior": behavior}));
            let answer = verdict.try_send(&home.socket()).ok()?;
            // Not there yet, or not there any more: the gate has only just started again.
            matches!(answer.status, 200 | 409).then_some(())
        });
    };
    let mut recorded = BTreeMap::new();
    for number in 0..ASKS {
        let code = code(number);
        asker.ask(&code, "Bash", "Push", "git push");
        std::thread::scope(|scope| {
            scope.spawn(|| answer(&code, "allow"));
            scope.spawn(|| answer(&code, "deny"));
        });
        let ask =
            until("the prompt", || Request::get(&format!("/api/v1/asks/{code}")).try_send(&home.socket()).ok()).json();
        recorded.insert(code, ask["verdict"]["behavior"].as_str().unwrap().to_owned());
    }
    until("every verdict to be carried", || (asker.verdict_count() >= ASKS).then_some(()));
    recorded
}

#[test]
fn events_of_a_killed_stalled_session_go_to_its_next_process_in_order() {
    let home = Home::new();
    let gate = home.serve();
    let command = || StandIn::command_of(&home, &[], "5f9d41a3-1c62-4f6e-9f0a-000000000004");
    let stalls = StandIn::start_command(&home, command());
    home.attached(1);
    stalls.signal(Signal::STOP);
    // Far more than is on its way to one process at a time.
    let mut sender = Connection::open(&gate.target());
    let sent: Vec<String> = (0..700)
        .map(|number| {
            let request = Request::post("/").token(home.token()).body(format!("{number} {}", "x".repeat(1000)));
            sender.send(&request).expect(200).event_id()
        })
        .collect();
    stalls.kill_9();
    home.attached(0);
    let next = StandIn::start_command(&home, command());
    let heard: Vec<String> = (0..sent.len()).map(|_| next.next_event().meta("event_id").to_owned()).collect();
    assert!(heard == sent, "each once, and in order");
}

#[test]
fn a_retry_after_the_sender_disconnected_counts_once() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let request = Request::post("/").token(home.token()).header("Idempotency-Key", "build-17").body("failed");
    gate.signal(Signal::STOP);
    // The gate has the whole of it, and the sender has no more patience.
    let mut gave_up = Connection::open(&gate.target());
    gave_up.write(&request.bytes(&gate.target(), true));
    drop(gave_up);
    gate.signal(Signal::CONT);
    let ids: BTreeSet<String> = (0..3).map(|_| request.send(&gate.target()).expect(200).event_id()).collect();
    assert_eq!(ids.len(), 1);
    gate.say("/", "the next").expect(200);
    assert_eq!([session.next_event().content, session.next_event().content], ["failed", "the next"]);
}

#[test]
fn a_request_cut_off_by_its_sender_is_accepted_whole_or_not_at_all() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    for number in 0..100 {
        let text = format!("{number} {}", "x".repeat(10_000));
        let whole = Request::post("/").token(home.token()).body(text).bytes(&gate.target(), true);
        let cut = if number % 2 == 0 { whole.len() } else { whole.len() - 1 };
        Connection::open(&gate.target()).write(&whole[..cut]);
    }
    gate.say("/", "the last word").expect(200);
    let mut numbers = BTreeSet::new();
    loop {
        let event = session.next_event();
        if event.content == "the last word" {
            break;
        }
        let (number, rest) = event.content.split_once(' ').unwrap();
        assert_eq!(rest.len(), 10_000);
        assert!(numbers.insert(number.parse::<usize>().unwrap()), "{number} came twice");
    }
    assert!(numbers.iter().all(|number| number % 2 == 0), "half a body was taken: {numbers:?}");
}

#[test]
fn a_verdict_with_an_unknown_code_is_chat_and_answers_no_later_prompt() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    for text in ["yes abcde", "no fghij", "YES ABCDE"] {
        let said = gate.say("/", text).expect(200).text();
        assert!(said.starts_with("ok\nnot taken as a verdict: no prompt is open"), "{said}");
        assert_eq!(session.next_event().content, text);
    }
    gate.verdict("abcde", &json!({"behavior": "allow"})).expect(404);
    // A prompt that comes later under the same letters is not answered by what was said before.
    gate.open_prompt(&session, "abcde");
    gate.say("/", "anything else").expect(200);
    session.event_containing("anything else");
    assert_eq!(session.verdict_count(), 0);
}

#[test]
fn each_sender_hears_and_continues_only_their_own_conversations() {
    let home = Home::new();
    let gate = home.serve();
    let [mia, bob, rae] =
        [("mia", "sender"), ("bob", "sender"), ("rae", "reviewer")].map(|(n, r)| home.token_for(n, r));
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let streams = [&mia, &bob].map(|token| ["/events", "/api/v1/watch"].map(|path| gate.listen_as(token, path)));
    let reviewer = gate.listen_as(&rae, "/events");
    for (token, chat) in [(&mia, "of-mia"), (&bob, "of-bob")] {
        gate.say_as(token, &format!("/?chat={chat}"), "hello").expect(200);
        session.next_event();
    }
    let refused = gate.say_as(&bob, "/?chat=of-mia", "and what did she say?").expect(403);
    assert!(refused.text().contains("belongs to someone else"), "{refused}");
    session.ask("abcde", "Bash", "Push", "a prompt for reviewers");
    for (chat, text) in
        [("of-mia", "a word for mia"), ("of-bob", "a word for bob"), ("of-mia", "the end"), ("of-bob", "the end")]
    {
        session.call("reply", &json!({"chat_id": chat, "text": text}));
    }
    for ([events, watch], own, foreign) in [(&streams[0], "mia", "bob"), (&streams[1], "bob", "mia")] {
        for stream in [events, watch] {
            stream.containing("the end");
            let told = format!("{:?}", stream.all());
            assert!(told.contains(&format!("a word for {own}")), "{told}");
            assert!(!told.contains(foreign) && !told.contains("reviewers"), "{told}");
        }
    }
    for text in ["abcde", "a word for mia", "a word for bob"] {
        reviewer.containing(text);
    }
}

#[test]
fn an_event_for_a_client_that_closed_its_output_is_not_lost() {
    let home = Home::new();
    let gate = home.serve();
    let mut command = StandIn::command(&home, &[]);
    command
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null());
    let mut deaf = command.spawn().unwrap();
    home.attached(1);
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}});
    let initialize = json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params});
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    // It will never read a word.
    drop(deaf.stdout.take());
    let mut stdin = deaf.stdin.take().unwrap();
    std::io::Write::write_all(&mut stdin, format!("{initialize}\n{initialized}\n").as_bytes()).unwrap();
    let sent = gate.say("/", "for whoever reads").expect(200);
    let event = format!("/api/v1/events/{}", sent.header("x-event-id").unwrap());
    let mut ended = || deaf.try_wait().unwrap();
    if ended().is_none() {
        assert_eq!(gate.get(&event).json()["state"], "waiting", "what nobody took is not delivered");
    }
    drop(stdin);
    until("its end", ended);
    let next = StandIn::start(&home, &[]);
    assert_eq!(next.next_event().content, "for whoever reads");
    next.close_stdin();
    next.wait_exit(PATIENCE);
}
