//! The stream of a session that has hooks: its numbers over the death of the gate, what is no longer kept, what the
//! transcript tells, and who may look.

use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::hooks::{bash, with};
use crate::support::seen::{PATIENCE, until};
use crate::support::standin::StandIn;
use crate::support::stream::Stream;
use serde_json::{Value, json};
use std::io::Write as _;
use std::sync::mpsc;

const CONVERSATION: &str = "0c0ffee0-0000-4000-8000-000000000001";

fn prompt(session: &StandIn, text: &str) {
    session.hook("UserPromptSubmit", &json!({"prompt": text}));
}

#[test]
fn a_thousand_entries_come_once_and_in_order_while_the_gate_is_killed_three_times() {
    const ALL: u64 = 1000;
    let home = Home::without_auto_start();
    let mut gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let mut seen: Vec<(u64, String)> = vec![];
    std::thread::scope(|scope| {
        // How many may have been said: so some come before each death, some while there is no gate, and some after.
        let (allow, allowed) = mpsc::channel::<u64>();
        let (said, is_said) = mpsc::channel::<u64>();
        let session = &session;
        scope.spawn(move || {
            let mut number = 0;
            for most in allowed {
                while number < most {
                    number += 1;
                    prompt(session, &format!("prompt {number}"));
                }
                // Nobody waits for the last.
                said.send(number).unwrap_or_default();
            }
        });
        for (before, most) in [(250, 300), (500, 600), (750, 850), (ALL, ALL)] {
            allow.send(most).unwrap();
            let mut stream = Stream::open(&gate, home.token(), "api", seen.len() as u64);
            while (seen.len() as u64) < before {
                let entry = stream.entry();
                seen.push((entry["n"].as_u64().unwrap(), entry["user"]["text"].as_str().unwrap().to_owned()));
            }
            if before < ALL {
                gate.kill_9();
                allow.send(most + 20).unwrap();
                assert_eq!([is_said.recv().unwrap(), is_said.recv().unwrap()], [most, most + 20]);
                gate = home.serve();
                home.attached(1);
            }
        }
    });
    let expected: Vec<(u64, String)> = (1..=ALL).map(|number| (number, format!("prompt {number}"))).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_stream_ends_with_its_session() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_LOST_GRACE", 200);
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    prompt(&session, "one");
    let mut stream = Stream::open(&gate, home.token(), "api", 0);
    assert_eq!(stream.entry()["user"], json!({"text": "one", "by": "terminal"}));
    drop(session);
    stream.until_ended();
}

#[test]
fn what_is_no_longer_kept_is_told_as_lost_and_the_rest_comes_by_number() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_RING", 4000);
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    for number in 1..=100 {
        prompt(&session, &format!("prompt {number}"));
    }
    let path = "/api/v1/sessions/api/stream?after=3";
    // The stream has a prompt a moment after its hook was answered.
    let messages = until("the last in the stream", || {
        let events = Stream::events(&gate, home.token(), path);
        let messages: Vec<Value> =
            std::iter::repeat_with(|| serde_json::from_str(&events.next(PATIENCE).data).unwrap()).take(3).collect();
        (messages[0]["opened"]["newest"] == 100).then_some(messages)
    });
    let oldest = messages[0]["opened"]["oldest"].as_u64().unwrap();
    assert!(oldest > 50, "{messages:?}");
    assert_eq!(messages[1], json!({"lost": {"after": 3, "next": oldest}}));
    assert_eq!(messages[2]["entry"]["user"]["text"], format!("prompt {oldest}"));
}

/// The transcript that Claude Code would write.
fn transcript(home: &Home) -> std::fs::File {
    let folder = home.user().join(".claude/projects/-project");
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join(format!("{CONVERSATION}.jsonl"));
    std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap()
}

fn write(file: &mut std::fs::File, kind: &str, id: &str, content: &Value) {
    let line =
        json!({"type": kind, "timestamp": "2026-01-02T03:04:05.678Z", "message": {"id": id, "content": content}});
    writeln!(file, "{line}").unwrap();
}

fn session_of_conversation(home: &Home) -> (Gate, StandIn) {
    let gate = home.serve();
    let session = StandIn::start_command(home, StandIn::command_of(home, &["--label", "api"], CONVERSATION));
    home.attached(1);
    (gate, session)
}

#[test]
fn the_words_of_a_session_with_hooks_come_from_its_transcript_and_each_call_once() {
    let home = Home::new();
    let (gate, session) = session_of_conversation(&home);
    let mut stream = Stream::open(&gate, home.token(), "api", 0);
    prompt(&session, "make it");
    let mut file = transcript(&home);
    write(&mut file, "user", "", &json!("make it"));
    write(&mut file, "assistant", "m1", &json!([{"type": "text", "text": "I will."}]));
    write(
        &mut file,
        "assistant",
        "m1",
        &json!([{"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "ls"}}]),
    );
    let call = with(bash("ls"), "tool_use_id", "t1");
    session.hook("PreToolUse", &call);
    write(&mut file, "user", "", &json!([{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]));
    session.hook("PostToolUse", &call);
    write(&mut file, "assistant", "m2", &json!([{"type": "text", "text": "There is a.txt."}]));
    session.hook("Stop", &json!({"stop_hook_active": "false"}));
    stream.until(|entry| entry["turn"].is_object());
    assert_eq!(stream.kinds(), ["user", "text", "call", "result", "text", "turn"]);
    assert_eq!(stream.text(), "I will.There is a.txt.");
    assert_eq!(stream.one("result"), json!({"call": "t1", "text": "a.txt"}));
    // Nobody has to be at the terminal for words to come.
    write(&mut file, "assistant", "m3", &json!([{"type": "text", "text": "By itself."}]));
    assert_eq!(stream.entry()["text"]["text"], "By itself.");
}

#[test]
fn what_was_said_before_is_read_from_the_transcript_page_by_page() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_LOST_GRACE", 200);
    let mut file = transcript(&home);
    for number in 1..=25 {
        write(&mut file, "user", "", &json!(format!("question {number}")));
        write(
            &mut file,
            "assistant",
            &format!("m{number}"),
            &json!([{"type": "text", "text": format!("answer {number}")}]),
        );
    }
    let (gate, session) = session_of_conversation(&home);
    let mut stream = Stream::open(&gate, home.token(), "api", 0);
    write(&mut file, "assistant", "m26", &json!([{"type": "text", "text": "answer 26"}]));
    assert_eq!(stream.entry()["text"], json!({"message": "m26", "block": 0, "text": "answer 26"}), "the rest is older");
    let page = |query: &str| gate.get(&format!("/api/v1/sessions/api/history?limit=20&{query}")).expect(200).json();
    let (mut told, mut query) = (vec![], "until=m26".to_owned());
    loop {
        let page = page(&query);
        let entries = page["entries"].as_array().unwrap().clone();
        assert_eq!(entries[0]["at"], 1_767_323_045_678_u64);
        told.splice(0..0, entries);
        match page["before"].as_u64() {
            Some(before) => query = format!("before={before}"),
            None => break,
        }
    }
    let words = |entry: &Value| entry["user"]["text"].as_str().or(entry["text"]["text"].as_str()).unwrap().to_owned();
    let expected = (1..=25).flat_map(|number| [format!("question {number}"), format!("answer {number}")]);
    assert_eq!(told.iter().map(words).collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    // One that has ended has its history as well.
    drop(session);
    stream.until_ended();
    assert_eq!(page("")["entries"].as_array().unwrap().len(), 20);
    let other = StandIn::start(&home, &["--label", "other"]);
    gate.get("/api/v1/sessions/other/history").expect(404);
    drop(other);
}

#[test]
fn those_who_may_see_a_sessions_prompts_may_see_its_stream_and_nobody_else() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start_under_an_agent(&home, &["--label", "api"]);
    home.attached(1);
    prompt(&session, "a secret plan");
    let (stream, history) = ("/api/v1/sessions/api/stream", "/api/v1/sessions/api/history");
    for path in [stream, history] {
        gate.get_as("wrong", path).expect(401);
        gate.get_as(&home.token_for("ci", "sender"), path).expect(403);
        gate.get_as(&home.token_with(&["bob", "--role", "reviewer", "--label", "web"]), path).expect(404);
    }
    let token = home.token_with(&["ann", "--role", "reviewer", "--label", "api"]);
    let mut looking = Stream::open(&gate, &token, "api", 0);
    assert_eq!(looking.entry()["user"]["text"], "a secret plan");
    home.run(&["people", "remove", "ann"]).ok();
    looking.until_closed();
}

#[test]
fn a_result_that_the_transcript_tells_late_takes_the_place_of_the_empty_one() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_TRANSCRIPT_LATE", 1);
    let mut file = transcript(&home);
    let (gate, session) = session_of_conversation(&home);
    let mut stream = Stream::open(&gate, home.token(), "api", 0);
    let call = with(bash("ls"), "tool_use_id", "t1");
    session.hook("PreToolUse", &call);
    session.hook("PostToolUse", &call);
    stream.until(|entry| entry["result"].is_object());
    assert_eq!(stream.one("result"), json!({"call": "t1", "text": ""}));
    write(&mut file, "user", "", &json!([{"type": "tool_result", "tool_use_id": "t1", "content": "a.txt"}]));
    assert_eq!(stream.entry()["result"], json!({"call": "t1", "text": "a.txt"}));
}

#[test]
fn a_stream_has_heartbeats_while_its_session_is_away() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_HEARTBEAT", 100);
    home.fix("PORTCULLIS_TEST_LOST_GRACE", 600_000);
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    session.kill_9();
    let events = Stream::events(&gate, home.token(), "/api/v1/sessions/api/stream");
    events.containing("away");
    for _ in 0..3 {
        assert_eq!(events.comment(), "heartbeat");
    }
}
