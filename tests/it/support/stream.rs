//! Someone who looks at the stream of a session, and checks that its numbers have no gap and no double.

use super::gate::Gate;
use super::seen::PATIENCE;
use super::sse::Events;
use serde_json::Value;

pub(crate) struct Stream {
    events: Events,
    /// What came first.
    pub(crate) opened: Value,
    pub(crate) entries: Vec<Value>,
    after: u64,
}

impl Stream {
    #[track_caller]
    pub(crate) fn open(gate: &Gate, token: &str, session: &str, after: u64) -> Self {
        let path = format!("/api/v1/sessions/{session}/stream?after={after}");
        let mut stream = Self { events: Self::events(gate, token, &path), opened: Value::Null, entries: vec![], after };
        stream.opened = loop {
            let message = stream.message();
            // Its process may be about to attach.
            if message["away"].is_null() {
                break message["opened"].clone();
            }
        };
        assert!(stream.opened.is_object());
        stream
    }

    /// What comes, as it comes.
    #[track_caller]
    pub(crate) fn events(gate: &Gate, token: &str, path: &str) -> Events {
        Events::open(&gate.target(), path, &[("Authorization", &format!("Bearer {token}"))])
    }

    /// The next message, whatever it is.
    #[track_caller]
    pub(crate) fn message(&mut self) -> Value {
        let event = self.events.next(PATIENCE * 2);
        let message: Value = serde_json::from_str(&event.data).unwrap();
        if let Some(entry) = message.get("entry") {
            assert_eq!(event.id, Some(entry["n"].to_string()), "{event:?}");
        }
        message
    }

    /// The next entry, which has the next number.
    #[track_caller]
    pub(crate) fn entry(&mut self) -> Value {
        let message = self.message();
        let entry = message["entry"].clone();
        assert_eq!(entry["n"], self.after + 1, "{message}");
        self.after += 1;
        self.entries.push(entry.clone());
        entry
    }

    #[track_caller]
    pub(crate) fn until(&mut self, wanted: impl Fn(&Value) -> bool) -> Value {
        loop {
            let entry = self.entry();
            if wanted(&entry) {
                return entry;
            }
        }
    }

    #[track_caller]
    pub(crate) fn until_text(&mut self, text: &str) {
        while !self.text().contains(text) {
            self.entry();
        }
    }

    #[track_caller]
    pub(crate) fn until_ended(&mut self) {
        loop {
            let message = self.message();
            if message["ended"].is_object() {
                return self.events.wait_end();
            }
            assert!(message["entry"].is_object() || message["away"].is_object(), "{message}");
        }
    }

    /// Nothing more comes, and nothing says why.
    #[track_caller]
    pub(crate) fn until_closed(&self) {
        self.events.wait_end();
    }

    /// As many entries.
    #[track_caller]
    pub(crate) fn read(mut self, count: usize) -> Self {
        for _ in 0..count {
            self.entry();
        }
        self
    }

    /// The last number that came, or that it began after.
    pub(crate) fn last(&self) -> u64 {
        self.after
    }

    pub(crate) fn numbers(&self) -> Vec<u64> {
        self.entries.iter().filter_map(|entry| entry["n"].as_u64()).collect()
    }

    /// All the agent has said, in one.
    pub(crate) fn text(&self) -> String {
        self.entries.iter().filter_map(|entry| entry["text"]["text"].as_str()).collect()
    }

    pub(crate) fn kinds(&self) -> Vec<&str> {
        let known = ["user", "event", "text", "call", "result", "turn", "notice"];
        self.entries.iter().map(|entry| known.into_iter().find(|kind| entry.get(kind).is_some()).unwrap()).collect()
    }

    /// The first entry of this kind.
    #[track_caller]
    pub(crate) fn one(&self, kind: &str) -> Value {
        self.entries.iter().find_map(|entry| entry.get(kind)).unwrap().clone()
    }
}
