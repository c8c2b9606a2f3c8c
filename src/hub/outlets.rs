//! Outlets carry events and verdicts to attached processes, a bounded number at a time.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};

use portcullis_core::{AskId, Behavior, EventId, Held, SessionId, State, Text};
use tokio::sync::mpsc;

use super::run::read_event;
use crate::store::Store;

/// Events on their way to one process and not yet confirmed: this many, or this many bytes.
const WINDOW: usize = 512;
const WINDOW_BYTES: usize = 8 << 20;
/// Room for the window, and for verdicts beside it.
const CAPACITY: usize = WINDOW + 512;

/// What is sent to an attached process.
#[derive(Debug)]
pub(crate) enum Parcel {
    /// Boxed: an event is far larger than a verdict.
    Event(Box<Held>),
    Verdict {
        ask: AskId,
        origin: String,
        behavior: Behavior,
    },
}

/// The hub's end of one attached process.
pub(super) struct Outlet {
    pub(super) number: u64,
    sender: mpsc::Sender<Parcel>,
    /// Sent and not yet confirmed, with their sizes.
    sent: HashMap<EventId, usize>,
    sent_bytes: usize,
    /// Everything that arrived before this has been looked at.
    next: u64,
}

impl Outlet {
    /// `holding` are events the process already has: they are on their way, and not sent again.
    pub(super) fn new(holding: &[EventId]) -> (Self, mpsc::Receiver<Parcel>) {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let sent = holding.iter().map(|event| (*event, 0)).collect();
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        (Self { number, sender, sent, sent_bytes: 0, next: 0 }, receiver)
    }

    fn has_room(&self) -> bool {
        self.sent.len() < WINDOW && self.sent_bytes < WINDOW_BYTES
    }

    /// Sends what waits, as far as there is room. The rest stays waiting.
    fn pump(&mut self, state: &State, store: &Store, session: SessionId) -> Result<(), Gone> {
        for held in state.waiting(Some(session), self.next) {
            if !self.has_room() {
                return Ok(());
            }
            if !self.sent.contains_key(&held.event.id) {
                self.sender.try_send(Parcel::Event(Box::new(whole(held, store)))).map_err(|_| Gone)?;
                self.sent.insert(held.event.id, held.size);
                self.sent_bytes += held.size;
            }
            self.next = held.arrival + 1;
        }
        Ok(())
    }
}

/// An event that was written before is only in the journal by now.
fn whole(held: &Held, store: &Store) -> Held {
    let mut held = held.clone();
    if held.event.text == Text::Away {
        held.event.text = match read_event(store, held.event.id) {
            Ok(Some(event)) => event.text,
            Ok(None) | Err(_) => Text::Erased,
        };
    }
    held
}

/// The process is gone, or so far behind that it has to attach anew.
struct Gone;

/// All attached processes.
#[derive(Default)]
pub(super) struct Outlets {
    by_session: HashMap<SessionId, Outlet>,
    /// Sessions that may have something to send. A set, because one batch wakes the same session many times.
    awake: HashSet<SessionId>,
}

impl Outlets {
    pub(super) fn open(&mut self, session: SessionId, outlet: Outlet) {
        self.by_session.insert(session, outlet);
    }

    /// Whether it was this outlet that carried for the session.
    pub(super) fn close(&mut self, session: SessionId, number: u64) -> bool {
        match self.by_session.get(&session) {
            Some(outlet) if outlet.number == number => self.by_session.remove(&session).is_some(),
            _ => false,
        }
    }

    pub(super) fn wake(&mut self, session: SessionId) {
        self.awake.insert(session);
    }

    /// Frees the room that written events took.
    pub(super) fn confirmed(&mut self, session: SessionId, events: &[EventId]) {
        let Some(outlet) = self.by_session.get_mut(&session) else { return };
        for event in events {
            outlet.sent_bytes -= outlet.sent.remove(event).unwrap_or(0);
        }
    }

    /// Events that moved between sessions may have arrived before what was already sent: look from the start again.
    pub(super) fn look_again(&mut self) {
        for (session, outlet) in &mut self.by_session {
            outlet.next = 0;
            self.awake.insert(*session);
        }
    }

    pub(super) fn pump(&mut self, state: &State, store: &Store) {
        for session in self.awake.drain() {
            let Some(outlet) = self.by_session.get_mut(&session) else { continue };
            if outlet.pump(state, store, session).is_err() {
                // Its link sees the end of the channel, closes, and detaches.
                self.by_session.remove(&session);
            }
        }
    }

    /// A verdict that finds no process stays in the journal, and is sent when one attaches.
    pub(super) fn carry(&mut self, session: SessionId, ask: AskId, origin: String, behavior: Behavior) {
        let Some(outlet) = self.by_session.get(&session) else { return };
        if outlet.sender.try_send(Parcel::Verdict { ask, origin, behavior }).is_err() {
            self.by_session.remove(&session);
        }
    }
}
