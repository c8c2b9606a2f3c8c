//! A platform played by hand: the program at the other end of a socket connector, which may be slow, hang up, or die with
//! a message that it has taken and not acknowledged.

use crate::support::home::Home;
use crate::support::seen::{OrFail, PATIENCE, Seen, until};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// What the platform does with an item that it has put before its people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// It says so.
    Acknowledge,
    /// It says so later, if ever.
    Wait,
    /// It dies before it can say so.
    HangUp,
}

/// Decides by how many items came before.
type Policy = Box<dyn FnMut(usize) -> Then + Send>;

#[derive(Clone)]
pub(crate) struct Bridge {
    shared: Arc<Shared>,
}

struct Shared {
    address: PathBuf,
    policy: Mutex<Policy>,
    /// The connection there is, for writing, and its number.
    connection: Mutex<Option<(usize, UnixStream)>>,
    connections: AtomicUsize,
    items: Seen<Value>,
    /// Everything else that the gate said.
    others: Seen<Value>,
    next: AtomicU64,
}

impl Bridge {
    /// Configures the connector `ops` of this home, and listens where the gate will look for it.
    pub(crate) fn of(home: &Home, settings: &str) -> Self {
        Self::with(home, settings, |_| Then::Acknowledge)
    }

    pub(crate) fn with(home: &Home, settings: &str, policy: impl FnMut(usize) -> Then + Send + 'static) -> Self {
        let address = home.folder().join("ops.sock");
        home.write_config(&format!("{settings}\n[connectors.socket.ops]\naddress = \"{}\"\n", address.display()));
        let shared = Arc::new(Shared {
            address,
            policy: Mutex::new(Box::new(policy)),
            connection: Mutex::default(),
            connections: AtomicUsize::new(0),
            items: Seen::new(),
            others: Seen::new(),
            next: AtomicU64::new(1),
        });
        let bridge = Self { shared };
        bridge.listen();
        bridge
    }

    pub(crate) fn listen(&self) {
        // One that was there before is gone.
        std::fs::remove_file(&self.shared.address).ok();
        let listener = UnixListener::bind(&self.shared.address).unwrap();
        let bridge = self.clone();
        std::thread::spawn(move || {
            // Until the connection that `leave` makes.
            for stream in listener.incoming().flatten() {
                if !bridge.serve(&stream) {
                    return;
                }
            }
        });
    }

    /// Reads until the gate goes, or the policy says so. False when this was no gate.
    fn serve(&self, stream: &UnixStream) -> bool {
        let shared = &self.shared;
        let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
        let Some(hello) = lines.next() else { return false };
        shared.others.push(serde_json::from_str(&hello).unwrap());
        let number = shared.connections.fetch_add(1, Ordering::Relaxed);
        *lock(&shared.connection) = Some((number, stream.try_clone().unwrap()));
        for line in lines {
            let frame: Value = serde_json::from_str(&line).unwrap();
            if frame["item"].is_null() {
                shared.others.push(frame);
                continue;
            }
            let count = shared.items.count();
            let then = lock(&shared.policy)(count);
            let id = frame["item"]["id"].as_str().unwrap().to_owned();
            shared.items.push(frame["item"].clone());
            match then {
                Then::Acknowledge => self.acknowledge(&id),
                Then::Wait => {}
                Then::HangUp => break,
            }
        }
        stream.shutdown(std::net::Shutdown::Both).ok();
        lock(&shared.connection).take_if(|(current, _)| *current == number);
        true
    }

    pub(crate) fn change(&self, policy: impl FnMut(usize) -> Then + Send + 'static) {
        *lock(&self.shared.policy) = Box::new(policy);
    }

    pub(crate) fn acknowledge(&self, id: &str) {
        self.write(&json!({"taken": {"id": id, "message": format!("m-{id}")}}));
    }

    /// Acknowledges everything that came, also what was acknowledged before.
    pub(crate) fn acknowledge_all(&self) {
        for item in self.items() {
            self.acknowledge(item["id"].as_str().unwrap());
        }
    }

    /// Breaks the connection, as a network or a restart would.
    pub(crate) fn hang_up(&self) {
        if let Some((_, connection)) = lock(&self.shared.connection).take() {
            connection.shutdown(std::net::Shutdown::Both).ok();
        }
    }

    /// Breaks the connection and is not there any more.
    pub(crate) fn leave(&self) {
        std::fs::rename(&self.shared.address, self.shared.address.with_extension("gone")).unwrap();
        self.hang_up();
        drop(UnixStream::connect(self.shared.address.with_extension("gone")));
    }

    /// Says a line; false when there is no connection.
    pub(crate) fn write(&self, frame: &Value) -> bool {
        let connection = lock(&self.shared.connection).as_ref().and_then(|(_, stream)| stream.try_clone().ok());
        connection.is_some_and(|mut stream| stream.write_all(format!("{frame}\n").as_bytes()).is_ok())
    }

    /// What a user wrote alone to the bot, and what the gate answered.
    #[track_caller]
    pub(crate) fn said(&self, user: &str, text: &str) -> Value {
        self.asked(
            "said",
            json!({"user": user, "called": format!("User {user}"), "chat": user, "direct": true, "text": text}),
        )
    }

    /// Says something under a number, and returns the gate's answer to it. Says it again when the gate goes meanwhile.
    #[track_caller]
    pub(crate) fn asked(&self, word: &str, mut body: Value) -> Value {
        let n = self.shared.next.fetch_add(1, Ordering::Relaxed);
        body["n"] = n.into();
        let frame = json!({ word: body });
        let mut said_on = None;
        until(&format!("an answer to {frame}"), || {
            let connection = lock(&self.shared.connection).as_ref().map(|(number, _)| *number);
            if connection.is_some() && connection != said_on {
                said_on = connection.filter(|_| self.write(&frame));
            }
            let answers = self.shared.others.find(Duration::from_millis(100), |frame| frame["done"]["n"] == n);
            answers.ok().map(|frame| frame["done"].clone())
        })
    }

    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// The oldest item that nobody has taken here and that has this in its text.
    #[track_caller]
    pub(crate) fn item(&self, kind: &str, text: &str) -> Value {
        let is_it =
            |item: &Value| item["kind"] == kind && item["text"].as_str().is_some_and(|shown| shown.contains(text));
        let found = self.shared.items.take(PATIENCE, is_it);
        found.or_fail(|missed| format!("no {kind} with {text:?}: {missed}\n{:#?}", self.items()))
    }

    /// Everything that came, doubles and all.
    pub(crate) fn items(&self) -> Vec<Value> {
        self.shared.items.all()
    }

    pub(crate) fn item_count(&self) -> usize {
        self.shared.items.count()
    }

    /// Lines of the gate that were neither items nor answers.
    pub(crate) fn complaints(&self) -> Vec<Value> {
        self.shared.others.all().into_iter().filter(|frame| frame["unreadable"].is_object()).collect()
    }

    /// Lets a user in: the code that they are shown is approved by the owner.
    #[track_caller]
    pub(crate) fn pair(&self, home: &Home, user: &str, name: &str, role: &str) {
        let answer = self.said(user, "hello?");
        let code = answer["pairing"]["code"].as_str().ok_or(()).or_fail(|()| format!("no code: {answer}"));
        home.run(&["people", "pair", code, "--name", name, "--role", role]).ok();
        self.item("paired", &format!("You are {name} now, a {role}."));
    }
}

fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
