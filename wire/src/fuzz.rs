//! Whatever another program or an old journal says is read or refused: nothing of it panics, and what was read can be
//! written and read again.

use std::fmt::Debug;

use portcullis_core::Moment;
use proptest::prelude::*;
use proptest::sample::Index;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::channel::{Notification, PermissionRequest};
use crate::link::{GateMessage, Greeting, LineHead, Numbered, Opening, SessionMessage};
use crate::record::tests::every_record;
use crate::record::{RecordPayload, read, write};

const AT: Moment = Moment(1_700_000_000_000);

/// One of each kind, as a peer would send it.
fn every_frame() -> Vec<Value> {
    let about = json!({"label": "api", "connected_by": "channel", "pid": 4, "folder": "/tmp", "agent_session": null, "continues": null});
    let details = json!({"input": "{}", "digest": vec![7; 32], "offers": [{"scope": "session", "words": "w"}],
        "risk": {"level": "high", "reasons": ["network"]}, "quorum": 2, "timeout": {"milliseconds": 5, "then": "deny"}});
    let id = "01m7f9jc2g75gzpa3000000001";
    let said = [
        json!({"attach": {"session": id, "about": about, "wrote": [id], "holding": [id]}}),
        json!({"wrote": {"events": [id]}}),
        json!({"asked": {"id": id, "source": "channel", "origin": "abcde", "tool": "Bash", "description": "d",
            "preview": "p", "details": details}}),
        json!({"carried": {"ask": id}}),
        json!({"answered": {"ask": id, "ruling": {"behavior": "allow", "scope": "always"}}}),
        json!({"called": {"tool": "Bash", "outcome": "ran", "decided_by": "hook"}}),
        json!({"described": about}),
        json!({"ordered": {"order": id, "outcome": "done"}}),
        json!({"ordered": {"order": id, "outcome": {"failed": {"why": "w"}}}}),
        json!({"replied": {"id": id, "chat": "1", "text": "t", "files": [{"path": "f", "size": 1}]}}),
        json!({"edited": {"id": id, "text": "t"}}),
        json!({"inbox": {"event": null}}),
        json!({"bye": {"why": "w", "untouched": true}}),
    ];
    let told = [
        json!({"hello": {"min": 1, "max": 1, "program": "0.1.0"}}),
        json!({"welcome": {"version": 1, "program": "0.1.0"}}),
        json!({"refused": {"error": 50501, "message": "m", "hint": "h", "retry_after": 1}}),
        json!({"event": {"id": id, "via": "http", "sender": "dev", "chat": "1", "attributes": [["a", "b"]],
            "text": "t\u{0}\"ä", "rest": 1, "redelivered": true, "also": [id]}}),
        json!({"line": {"jsonrpc": "2.0", "method": "notifications/claude/channel", "params": {"content": "t\u{0}\"ä",
            "meta": {"event_id": id, "chat_id": "1", "via": "http", "sender": "dev", "directs": "true", "path": "/"}}}}),
        json!({"verdict": {"ask": id, "origin": "abcde", "source": "hook", "ruling": {"behavior": "deny", "why": "w"}}}),
        json!({"closed": {"ask": id, "origin": "abcde", "source": "hook"}}),
        json!({"order": {"id": id, "order": {"mode": "plan"}}}),
        json!({"order": {"order": "interrupt"}}),
        json!({"done": {"n": 1, "answer": {"asked": {"code": "abcde"}}}}),
        json!({"done": {"n": 1, "answer": {"inbox": {"events": []}}}}),
    ];
    said.map(|message| json!({"n": 7, "message": message})).into_iter().chain(told).collect()
}

/// Reads a line as this type; what was read is written and read again.
fn passes<T: DeserializeOwned + Serialize + PartialEq + Debug>(bytes: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<T>(bytes) else { return false };
    let again = serde_json::to_vec(&line).unwrap();
    assert_eq!(serde_json::from_slice::<T>(&again).unwrap(), line);
    true
}

/// The same for what the gate says, which borrows from its line.
fn passes_from_gate(bytes: &[u8]) -> bool {
    let Ok(line) = serde_json::from_slice::<GateMessage<'_>>(bytes) else { return false };
    if let GateMessage::Line(line) = &line {
        drop(line.frame());
    }
    let _ = LineHead::of_message(bytes);
    let again = serde_json::to_vec(&line).unwrap();
    assert_eq!(serde_json::from_slice::<GateMessage<'_>>(&again).unwrap(), line);
    true
}

fn is_line(bytes: &[u8]) -> bool {
    let kinds = [passes::<Opening>, passes::<Greeting>, passes::<Numbered<SessionMessage>>, passes_from_gate];
    kinds.map(|passes| passes(bytes)).contains(&true)
}

#[test]
fn the_frames_that_are_damaged_here_are_frames() {
    for frame in every_frame() {
        assert!(is_line(frame.to_string().as_bytes()), "{frame}");
    }
}

/// What is put in the place of some part of a message.
fn any_part() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        Just(json!([])),
        Just(json!({})),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
        prop::sample::select(vec!["allow", "deny", "abcde", "channel", "01", "\u{0}", ""]).prop_map(Value::from),
    ]
}

/// Every place in a message, as a path of steps.
fn places(value: &Value, here: &str, all: &mut Vec<String>) {
    all.push(here.to_owned());
    match value {
        Value::Array(values) => {
            values.iter().enumerate().for_each(|(n, value)| places(value, &format!("{here}/{n}"), all));
        }
        Value::Object(fields) => fields.iter().for_each(|(name, value)| places(value, &format!("{here}/{name}"), all)),
        _ => {}
    }
}

/// Bytes; words in any order; and messages with some parts put in the place of others, and at last a byte.
fn any_message(whole: Vec<Value>) -> impl Strategy<Value = Vec<u8>> {
    let free = prop::collection::vec(any::<u8>(), 0..100);
    let words = r#"(\{|\}|\[|\]|"|:|,|"n":|"id":|"hello":|"done":|null|7|-1|1e999|\\ud800|\\u0000| |ä){0,24}"#;
    let changes = prop::collection::vec((any::<Index>(), any_part()), 0..4);
    let changed = (prop::sample::select(whole), changes).prop_map(|(mut message, changes)| {
        for (place, part) in changes {
            let mut all = vec![];
            places(&message, "", &mut all);
            if let Some(there) = message.pointer_mut(place.get::<String>(&all)) {
                *there = part;
            }
        }
        message.to_string().into_bytes()
    });
    let torn = (changed, prop::option::of((any::<Index>(), any::<u8>()))).prop_map(|(mut bytes, tear)| {
        if let Some((place, byte)) = tear {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    });
    prop_oneof![1 => free, 1 => words.prop_map(String::into_bytes), 4 => torn]
}

fn any_record() -> impl Strategy<Value = (Vec<u8>, Vec<u8>)> {
    let stored: Vec<_> = every_record().iter().map(|record| write(record).unwrap()).collect();
    let as_json = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap_or_default();
    let bodies = stored.iter().map(|stored| as_json(&stored.body)).collect();
    let payloads = stored.iter().filter_map(|stored| stored.payload.as_deref()).map(as_json).collect();
    (any_message(bodies), any_message(payloads))
}

proptest! {
    #[test]
    fn any_frame_is_read_and_written_again_or_refused(bytes in any_message(every_frame())) {
        is_line(&bytes);
    }

    #[test]
    fn any_record_is_read_and_written_again_or_refused((body, payload) in any_record()) {
        for payload in [RecordPayload::Kept(&payload), RecordPayload::Erased, RecordPayload::None] {
            let Ok(record) = read(AT, &body, payload) else { continue };
            let stored = write(&record).unwrap();
            let kept = stored.payload.as_deref().map_or(RecordPayload::None, RecordPayload::Kept);
            prop_assert!(read(AT, &stored.body, kept).is_ok());
        }
    }

    #[test]
    fn any_notification_of_the_client_is_read_or_refused(bytes in any_message(vec![json!({"jsonrpc": "2.0",
        "method": "notifications/claude/channel/permission_request",
        "params": {"request_id": "abcde", "tool_name": "Bash", "description": "d", "input_preview": "p"}})])) {
        drop(serde_json::from_slice::<Notification<PermissionRequest>>(&bytes));
    }
}
