//! The gate under test, in the foreground: ready before the test goes on, gone when it ends.

use super::child::{Child, Stdin};
use super::connection::Target;
use super::home::Home;
use super::http::{Answer, Request};
use super::seen::{OrFail, PATIENCE, until};
use super::sse::Events;
use rustix::process::Signal;
use serde_json::Value;
use std::net::SocketAddr;
use std::process::{Command, ExitStatus};
use std::time::Duration;

pub(crate) struct Gate {
    child: Child,
    /// `None` when it could have no port and serves its Unix socket alone.
    address: Option<SocketAddr>,
    socket: Target,
    token: String,
}

impl Gate {
    #[track_caller]
    pub(crate) fn start(home: &Home, args: &[&str]) -> Self {
        let words: Vec<&str> = std::iter::once("serve").chain(args.iter().copied()).collect();
        Self::start_command(home, home.command(&words))
    }

    /// For a gate with an environment of its own.
    #[track_caller]
    pub(crate) fn start_command(home: &Home, command: Command) -> Self {
        let child = home.spawn(command, Stdin::Nothing);
        let line = child.line(PATIENCE, |_| true);
        let address = match line.strip_prefix("ready ") {
            Some(url) => url.strip_prefix("http://").and_then(|address| address.parse().ok()),
            None => None,
        };
        let understood = address.is_some() || line == "ready socket-only";
        assert!(understood, "the first line is not the ready line: {line:?}\n{}", child.story());
        Self { child, address, socket: home.socket(), token: home.token().to_owned() }
    }

    #[track_caller]
    pub(crate) fn address(&self) -> SocketAddr {
        self.address.ok_or(()).or_fail(|()| format!("this gate serves its socket only\n{}", self.child.story()))
    }

    #[track_caller]
    pub(crate) fn port(&self) -> u16 {
        self.address().port()
    }

    pub(crate) fn has_port(&self) -> bool {
        self.address.is_some()
    }

    #[track_caller]
    pub(crate) fn target(&self) -> Target {
        Target::Tcp(self.address())
    }

    pub(crate) fn socket(&self) -> Target {
        self.socket.clone()
    }

    /// Says something as the owner.
    #[track_caller]
    pub(crate) fn say(&self, path: &str, text: &str) -> Answer {
        Request::post(path).token(&self.token).body(text).send(&self.target())
    }

    /// Posts JSON as the owner.
    #[track_caller]
    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.post_as(&self.token, path, body)
    }

    /// Sends an event as the owner, to no session in particular, and returns its id.
    #[track_caller]
    pub(crate) fn send_event(&self, text: &str) -> String {
        self.say("/", text).expect(200).event_id()
    }

    #[track_caller]
    pub(crate) fn event_state(&self, event: &str) -> Value {
        self.get(&format!("/api/v1/events/{event}")).json()["state"].clone()
    }

    /// Waits until this event is waiting, delivered, seen or whatever else it should become.
    #[track_caller]
    pub(crate) fn wait_for_event(&self, event: &str, state: &str) {
        until(&format!("an event that is {state}"), || (self.event_state(event) == state).then_some(()));
    }

    /// Looks something up as the owner.
    #[track_caller]
    pub(crate) fn get(&self, path: &str) -> Answer {
        Request::get(path).token(&self.token).send(&self.target())
    }

    /// Listens as the owner; connected when this returns.
    #[track_caller]
    pub(crate) fn events(&self) -> Events {
        self.listen_as(&self.token, "/events")
    }

    /// Says something as whoever has this token.
    #[track_caller]
    pub(crate) fn say_as(&self, token: &str, path: &str, text: &str) -> Answer {
        Request::post(path).token(token).body(text).send(&self.target())
    }

    #[track_caller]
    pub(crate) fn get_as(&self, token: &str, path: &str) -> Answer {
        Request::get(path).token(token).send(&self.target())
    }

    #[track_caller]
    pub(crate) fn post_as(&self, token: &str, path: &str, body: &Value) -> Answer {
        Request::post(path).token(token).json(body).send(&self.target())
    }

    /// Listens to `/events` or `/api/v1/watch` as whoever has this token; connected when this returns.
    #[track_caller]
    pub(crate) fn listen_as(&self, token: &str, path: &str) -> Events {
        let stream = Events::open(&self.target(), path, &[("Authorization", &format!("Bearer {token}"))]);
        match path {
            "/events" => assert_eq!(stream.comment(), "connected"),
            _ => drop(stream.containing("ready")),
        }
        stream
    }

    /// Watches as the owner; the state has been told when this returns.
    #[track_caller]
    pub(crate) fn watch(&self) -> Events {
        self.listen_as(&self.token, "/api/v1/watch")
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.pid()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.child.signal(signal);
    }

    /// Takes it away without a word, as a crash or the kernel would.
    #[track_caller]
    pub(crate) fn kill_9(&self) -> ExitStatus {
        self.child.kill_9()
    }

    /// Asks it to go, as a service manager does, and waits until it has.
    #[track_caller]
    pub(crate) fn stop(&self) -> ExitStatus {
        self.child.signal(Signal::TERM);
        self.child.wait_exit(PATIENCE)
    }

    #[track_caller]
    pub(crate) fn wait_exit(&self, within: Duration) -> ExitStatus {
        self.child.wait_exit(within)
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.child.has_exited()
    }

    pub(crate) fn stdout(&self) -> String {
        self.child.stdout()
    }

    /// Its log.
    pub(crate) fn stderr(&self) -> String {
        self.child.stderr()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.child.story());
        }
    }
}
