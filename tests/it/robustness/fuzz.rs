//! Any bytes at any door of the real programs: they are refused or taken, and the next who comes is served.

use crate::support::connection::{Connection, Target};
use crate::support::home::Home;
use crate::support::http::Request;
use crate::support::link::Link;
use crate::support::standin::StandIn;
use crate::support::until;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use serde_json::json;
use std::time::Duration;

#[test]
fn any_bytes_at_the_port_and_the_socket_leave_the_gate_working() {
    let home = Home::new();
    let gate = home.serve();
    let (token, host) = (home.token(), gate.target().host());
    let requests: Vec<Vec<u8>> = [
        Request::get("/api/v1/sessions?all=true").token(token),
        Request::get("/api/v1/events?limit=3&state=waiting").token(token),
        Request::get("/api/v1/log?after=1&limit=2").token(token),
        Request::post("/any/path?label=x&chat=y").token(token).header("Idempotency-Key", "k").body("hello"),
        Request::post("/api/v1/events").token(token).json(&json!({"text": "hello", "label": "x"})),
        Request::post("/api/v1/asks/abcde/verdict").token(token).json(&json!({"behavior": "allow"})),
        Request::post("/api/v1/tokens").token(token).json(&json!({"person": "ann", "role": "sender"})),
        Request::post("/api/v1/log/redact").token(token).json(&json!({"subject": "event/x"})),
        Request::get("/link").header("Connection", "Upgrade").header("Upgrade", "portcullis-link"),
    ]
    .into_iter()
    .map(|request| request.header("Host", &host).bytes(&gate.target(), true))
    .collect();
    let targets = [gate.target(), gate.socket()];
    for bytes in cases(prop_oneof![vec(any::<u8>(), 0..300), damaged(requests)]) {
        for target in &targets {
            pour(target, &bytes);
        }
        assert!(!gate.has_exited(), "it died of {:?}", String::from_utf8_lossy(&bytes));
    }
    for target in &targets {
        Request::get("/healthz").send(target).expect(200);
    }
    assert!(!gate.stderr().contains("panicked"), "{}", gate.stderr());
    let session = StandIn::start(&home, &["--label", "x"]);
    gate.say("/?label=x", "the last word").expect(200);
    session.event_containing("the last word");
}

#[test]
fn any_lines_on_stdin_leave_the_channel_working() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &[]);
    home.attached(1);
    let lines: Vec<Vec<u8>> = [
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "reply", "arguments": {"chat_id": "1", "text": "x"}}}),
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {"name": "inbox", "arguments": {"event_id": "x"}}}),
        json!({"jsonrpc": "2.0", "id": 9, "method": "tools/list", "params": {"cursor": "x"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/claude/channel/permission_request",
               "params": {"request_id": "abcde", "tool_name": "Bash", "description": "x", "input_preview": "y"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}),
        json!({"jsonrpc": "2.0", "id": 10, "result": {"roots": []}}),
    ]
    .iter()
    .map(|line| line.to_string().into_bytes())
    .collect();
    for bytes in cases(prop_oneof![vec(any::<u8>(), 0..300), damaged(lines)]) {
        session.send_line(&bytes);
        assert!(!session.has_exited(), "it died of {:?}", String::from_utf8_lossy(&bytes));
    }
    assert_eq!(session.request("ping", &json!({})), json!({}));
    gate.say("/", "the last word").expect(200);
    session.event_containing("the last word");
    assert!(!session.stderr().contains("panicked"), "{}", session.stderr());
}

#[test]
fn any_frames_on_a_link_leave_the_gate_working() {
    let home = Home::new();
    let gate = home.serve();
    let frames: Vec<Vec<u8>> = [
        json!({"attach": {"session": "01m7f9jc2g75gzpa3000000004", "about": {"label": "x", "connected_by": "test"}, "wrote": [], "holding": []}}),
        json!({"wrote": {"events": ["01m7f9jc2g75gzpa3000000004"]}}),
        json!({"asked": {"id": "01m7f9jc2g75gzpa3000000004", "source": "channel", "origin": "abcde", "tool": "Bash", "description": "x", "preview": "y"}}),
        json!({"replied": {"id": "01m7f9jc2g75gzpa3000000004", "chat": "1", "text": "x", "files": []}}),
        json!({"carried": {"ask": "01m7f9jc2g75gzpa3000000004"}}),
        json!({"inbox": {"event": null}}),
        json!({"bye": {"why": "x"}}),
    ]
    .iter()
    .map(|message| json!({"n": 1, "message": message}).to_string().into_bytes())
    .collect();
    let frame = || prop_oneof![vec(any::<u8>(), 0..100), prop::sample::select(frames.clone()), damaged(frames.clone())];
    for bytes in cases((prop::sample::select(frames.clone()), vec(frame(), 0..6))) {
        let (first, rest) = bytes;
        Link::welcomed(&home).pour(&std::iter::once(first).chain(rest).collect::<Vec<_>>().join(&b'\n'));
    }
    assert!(!gate.has_exited() && !gate.stderr().contains("panicked"), "{}", gate.stderr());
    until("no session", || (home.status()["sessions"] == 0).then_some(()));
    let session = StandIn::start(&home, &["--label", "well"]);
    gate.say("/?label=well", "the last word").expect(200);
    session.event_containing("the last word");
}

/// As many as `PROPTEST_CASES` says.
fn cases<S: Strategy>(strategy: S) -> impl Iterator<Item = S::Value> {
    let mut runner = TestRunner::default();
    (0..runner.config().cases).map(move |_| strategy.new_tree(&mut runner).unwrap().current())
}

/// One of these with some bytes changed, cut off or put in twice.
fn damaged(whole: Vec<Vec<u8>>) -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>());
    (prop::sample::select(whole), vec(change, 0..4), prop::option::of(any::<prop::sample::Index>()), any::<bool>())
        .prop_map(|(mut bytes, changes, cut, twice)| {
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            if twice { [bytes.clone(), bytes].concat() } else { bytes }
        })
}

/// Writes all of it and hangs up, with a look at what was answered.
fn pour(target: &Target, bytes: &[u8]) {
    let mut connection = Connection::open(target);
    if connection.try_write(bytes).is_ok() {
        drop(connection.rest(Duration::from_millis(1)));
    }
}
