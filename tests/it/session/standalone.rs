//! `portcullis channel --standalone`: gate and channel in one process, under the same lock.

use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::{PATIENCE, Signal};
use serde_json::json;

#[test]
fn a_standalone_session_is_a_gate_of_its_own() {
    let home = Home::new();
    let session = StandIn::start(&home, &["--standalone", "--dev-sender", "dev"]);
    assert_eq!(session.tool_names(), ["reply", "inbox"]);
    let here = home.listening();
    let dev = |text: &str| Request::post("/").header("X-Sender", "dev").body(text).send(&here);
    assert_eq!(dev("hello").expect(200).text(), "ok");
    assert_eq!(session.next_event().meta("sender"), "dev");
    session.ask("abcde", "Bash", "Push", "git push");
    let events = crate::support::sse::Events::open(&here, "/events", &[]);
    assert!(events.containing("abcde").data.contains("git push"));
    assert_eq!(dev("yes abcde").expect(200).text(), "verdict recorded");
    assert_eq!(session.next_verdict().behavior, "allow");
    session.call("reply", &json!({"chat_id": "1", "text": "done"}));
    events.containing("Reply to 1: done");
    let long = "x".repeat(30_000);
    dev(&long).expect(200);
    let event = session.next_event();
    assert!(event.content.contains("10000 more bytes"), "{:.100}", event.content);
    let whole = session.call("inbox", &json!({"event_id": event.meta("event_id")}));
    assert!(whole["content"][0]["text"].as_str().unwrap().ends_with(&long));
    assert_eq!(home.status()["pid"], session.pid());
}

#[test]
fn a_standalone_session_and_a_gate_exclude_each_other() {
    let home = Home::new();
    let first = StandIn::start(&home, &["--standalone"]);
    assert_eq!(home.run(&["serve"]).ok().stdout, "");
    refused(&home, first.pid());
    home.stop_gate();
    first.wait_exit(PATIENCE);

    let gate = home.serve();
    refused(&home, gate.pid());
}

#[test]
fn other_sessions_attach_to_a_standalone_session_and_outlive_it() {
    for ending in [Signal::TERM, Signal::KILL] {
        let home = Home::new();
        let alone = StandIn::start(&home, &["--standalone", "--label", "alone"]);
        let other = StandIn::start(&home, &["--label", "other"]);
        home.attached(2);
        Request::post("/?label=other").body("hello").send(&home.socket()).expect(200);
        assert_eq!(other.next_event().content, "hello");
        alone.signal(ending);
        alone.wait_exit(PATIENCE);
        home.attached(1);
        Request::post("/?label=other").body("still here").send(&home.socket()).expect(200);
        assert_eq!(other.next_event().content, "still here");
    }
}

#[test]
fn a_standalone_session_ends_promptly_and_leaves_the_lock() {
    let home = Home::new();
    for signal in [None, Some(Signal::INT), Some(Signal::TERM)] {
        let session = StandIn::start(&home, &["--standalone"]);
        match signal {
            None => session.close_stdin(),
            Some(signal) => session.signal(signal),
        }
        assert!(session.wait_exit(PATIENCE).success());
        assert_eq!(home.run(&["status"]).status.code(), Some(1));
    }
    let ended = home.serve().get("/api/v1/sessions?all=true").json();
    assert!(ended.as_array().unwrap().iter().all(|session| session["state"] == "ended"), "{ended}");
}

#[track_caller]
fn refused(home: &Home, holder: u32) {
    let second = home.spawn(StandIn::command(home, &["--standalone"]), Stdin::Open);
    let ran = Ran::of(&second, PATIENCE);
    assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
    assert!(ran.stderr.contains(&format!("already running (pid {holder})")), "{ran:#?}");
    assert!(ran.stderr.contains("hint: leave --standalone off"), "{ran:#?}");
}
