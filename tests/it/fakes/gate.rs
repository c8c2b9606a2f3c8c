//! A gate played by hand, for what a real one does only when it dies at the right moment.

use crate::support::connection::Target;
use crate::support::home::Home;
use crate::support::link::{Link, OURS, VERSION};
use crate::support::until;
use serde_json::{Value, json};
use std::os::unix::net::UnixListener;

pub(crate) struct FakeGate {
    listener: UnixListener,
}

impl FakeGate {
    /// Listens where the gate of this home would.
    pub(crate) fn of(home: &Home) -> Self {
        let Target::Unix(socket) = home.socket() else { unreachable!("a gate's socket is a Unix socket") };
        let listener = UnixListener::bind(socket).unwrap();
        listener.set_nonblocking(true).unwrap();
        Self { listener }
    }

    /// Waits for a process to connect, and returns its link and what it said first.
    #[track_caller]
    pub(crate) fn greeted(&self) -> (Link, Value) {
        let (stream, _) = until("a process that connects", || self.listener.accept().ok());
        stream.set_nonblocking(false).unwrap();
        let mut link = Link::accepted(stream);
        let hello = link.hear()["hello"].clone();
        (link, hello)
    }

    /// The same, and lets it attach: returns what it said of itself, and the number of that line as `n`.
    #[track_caller]
    pub(crate) fn attached(&self) -> (Link, Value) {
        let (mut link, hello) = self.greeted();
        assert_eq!(hello, json!({"min": 2, "max": VERSION, "program": OURS}));
        link.say(&json!({"welcome": {"version": VERSION, "program": OURS}}));
        let second = link.hear();
        let mut attach = second["message"]["attach"].clone();
        assert!(attach.is_object(), "the second line is attach");
        attach["n"] = second["n"].clone();
        (link, attach)
    }
}
