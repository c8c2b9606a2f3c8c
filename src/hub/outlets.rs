//! Outlets carry events and verdicts to attached processes, a bounded number at a time.

#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use portcullis_core::{EventId, Moment, SessionId, State, Text, TrackedEvent, combined};
use portcullis_wire::link::GateMessage;
use tokio::sync::mpsc;

use super::run::read_event;
use crate::store::Store;

/// Events on their way to one process and not yet confirmed: this many, or this many bytes.
const WINDOW: usize = 512;
const WINDOW_BYTES: usize = 8 << 20;
/// The window, a word for each event of it that is taken back, and as many verdicts and orders: many events may be taken back
/// from a process before it has read the first of them.
const CAPACITY: usize = 2 * WINDOW + 512;

/// What is sent to an attached process.
#[derive(Debug)]
pub(super) enum ToSession {
    /// An event, and others that were put into its text. It becomes a message only when it is written.
    Event(TrackedEvent, Vec<EventId>),
    Message(Box<GateMessage<'static>>),
}

/// The hub's end of one attached process.
pub(super) struct Outlet {
    pub(super) number: u64,
    /// None once the process fell behind or went: its link ends, and detaches this outlet by its number.
    sender: Option<mpsc::Sender<ToSession>>,
    /// Sent and not yet confirmed, with their sizes.
    sent: HashMap<EventId, usize, RandomState>,
    sent_bytes: usize,
    /// Of what was sent, those events that went as one.
    together: Vec<Vec<EventId>>,
    /// Everything that arrived before this has been looked at.
    next: u64,
}

impl Outlet {
    /// `holding` are events the process already has: they are on their way, and not sent again.
    pub(super) fn new(holding: &[EventId]) -> (Self, mpsc::Receiver<ToSession>) {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        let (sender, receiver) = mpsc::channel(CAPACITY);
        let sent = holding.iter().map(|event| (*event, 0)).collect();
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        (Self { number, sender: Some(sender), sent, sent_bytes: 0, together: vec![], next: 0 }, receiver)
    }

    fn has_space(&self) -> bool {
        self.sender.is_some() && self.sent.len() < WINDOW && self.sent_bytes < WINDOW_BYTES
    }

    /// Sends what waits, as far as the window goes. The rest stays waiting; some of it on purpose, until the moment told.
    fn pump(&mut self, pumping: &Pumping<'_>, session: SessionId) -> Result<Option<Moment>, Gone> {
        let (mut next, mut held_back): (u64, Option<(u64, Moment)>) = (self.next, None);
        for held in pumping.state.waiting(Some(session), self.next) {
            if !self.has_space() || held.arrival > pumping.safe {
                break;
            }
            if !self.sent.contains_key(&held.event.id) {
                match pumping.coalesce.get(&held.event.sender).map(|window| held.queued.plus(*window)) {
                    None => self.send(whole(held, pumping.store), vec![])?,
                    Some(until) if until > pumping.now => held_back = held_back.or(Some((held.arrival, until))),
                    Some(_) => self.send_together(pumping, session, held)?,
                }
            }
            next = held.arrival + 1;
        }
        // What is held back, or came behind it, is looked at again.
        self.next = held_back.map_or(next, |(first, _)| first);
        Ok(held_back.map(|(_, until)| until))
    }

    fn send(&mut self, held: TrackedEvent, also: Vec<(EventId, usize)>) -> Result<(), Gone> {
        let ids: Vec<EventId> = also.iter().map(|(id, _)| *id).collect();
        if !ids.is_empty() {
            self.together.push([&[held.event.id], ids.as_slice()].concat());
        }
        for (id, size) in also.into_iter().chain([(held.event.id, held.size)]) {
            self.sent.insert(id, size);
            self.sent_bytes += size;
        }
        let sender = self.sender.as_ref().ok_or(Gone)?;
        sender.try_send(ToSession::Event(held, ids)).map_err(|_| Gone)
    }

    /// These no longer count towards the window.
    fn forget(&mut self, events: &[EventId]) {
        for event in events {
            self.sent_bytes -= self.sent.remove(event).unwrap_or(0);
        }
        self.together.retain_mut(|group| {
            group.retain(|event| !events.contains(event));
            group.len() > 1
        });
    }

    /// Of what the process had when it attached nobody knows what came in one text. It may be all of one noisy sender's.
    pub(super) fn hold_together(&mut self, state: &State, coalesce: &HashMap<String, u64>) {
        let mut held: HashMap<&str, Vec<EventId>> = HashMap::new();
        let known = self.sent.keys().filter_map(|id| state.event(*id));
        for tracked in known.filter(|tracked| coalesce.contains_key(&tracked.event.sender)) {
            held.entry(&tracked.event.sender).or_default().push(tracked.event.id);
        }
        self.together.extend(held.into_values().filter(|group| group.len() > 1));
    }

    /// One noisy sender's events in one, as many as have come.
    fn send_together(&mut self, pumping: &Pumping<'_>, session: SessionId, first: &TrackedEvent) -> Result<(), Gone> {
        let waiting = pumping.state.waiting(Some(session), first.arrival);
        let safe = waiting.take_while(|held| held.arrival <= pumping.safe);
        let same =
            safe.filter(|held| held.event.sender == first.event.sender && !self.sent.contains_key(&held.event.id));
        let group: Vec<TrackedEvent> = same.take(TOGETHER).map(|held| whole(held, pumping.store)).collect();
        let [only] = group.as_slice() else {
            let mut together = group[0].clone();
            let first = Arc::make_mut(&mut together.event);
            // The tag speaks of all of them.
            first.put_away();
            first.text = combined(&group.iter().collect::<Vec<_>>());
            let also = group[1..].iter().map(|held| (held.event.id, held.size)).collect();
            return self.send(together, also);
        };
        self.send(only.clone(), vec![])
    }
}

/// Events of one noisy sender that are delivered as one, at most.
const TOGETHER: usize = 100;

/// What an outlet looks at when it sends.
pub(super) struct Pumping<'a> {
    pub(super) state: &'a State,
    pub(super) store: &'a Store,
    pub(super) coalesce: &'a HashMap<String, u64>,
    /// What arrived after this is not yet safe in the journal.
    pub(super) safe: u64,
    pub(super) now: Moment,
}

/// An event that was written before is only in the journal by now.
fn whole(held: &TrackedEvent, store: &Store) -> TrackedEvent {
    let mut held = held.clone();
    if held.event.text == Text::Away {
        match read_event(store.records(), held.event.id) {
            Ok(Some(event)) => held.event = event,
            Ok(None) | Err(_) => Arc::make_mut(&mut held.event).text = Text::Erased,
        }
    }
    held
}

/// The process is gone, or so far behind that it has to attach anew.
struct Gone;

/// All attached processes.
#[derive(Default)]
pub(super) struct Outlets {
    by_session: HashMap<SessionId, Outlet, RandomState>,
    /// Sessions that may have something to send. A set, because one batch wakes the same session many times.
    awake: HashSet<SessionId, RandomState>,
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

    /// Written events no longer count towards the window.
    pub(super) fn confirmed(&mut self, session: SessionId, events: &[EventId]) {
        if let Some(outlet) = self.by_session.get_mut(&session) {
            outlet.forget(events);
        }
    }

    /// The process is not to hand on an event that was sent to it. It hands on none of those that came in one text with it:
    /// they are sent again, without it.
    pub(super) fn take_back(&mut self, session: SessionId, event: EventId) {
        let Some(outlet) = self.by_session.get_mut(&session) else { return };
        if !outlet.sent.contains_key(&event) {
            return;
        }
        let group = outlet.together.iter().find(|group| group.contains(&event));
        let group = group.cloned().unwrap_or_else(|| vec![event]);
        outlet.forget(&group);
        outlet.next = 0;
        self.awake.insert(session);
        for event in group {
            self.carry(session, GateMessage::TakeBack { event });
        }
    }

    /// Events that moved between sessions may have arrived before what was already sent: look from the start again.
    pub(super) fn look_again(&mut self) {
        for (session, outlet) in &mut self.by_session {
            outlet.next = 0;
            self.awake.insert(*session);
        }
    }

    /// Sends to every session that may have something to send. Returns when something that is held back comes due.
    pub(super) fn pump(&mut self, pumping: &Pumping<'_>) -> Option<Moment> {
        let mut due: Option<Moment> = None;
        for session in self.awake.drain() {
            let Some(outlet) = self.by_session.get_mut(&session) else { continue };
            match outlet.pump(pumping, session) {
                Ok(held_back) => due = due.into_iter().chain(held_back).min(),
                // Its link sees the end of the channel, closes, and detaches. Until then it keeps its place: what is
                // not here can not be detached, and its session would stay attached for ever.
                Err(Gone) => outlet.sender = None,
            }
        }
        due
    }

    /// What finds no process stays in the journal, and is sent when one attaches.
    pub(super) fn carry(&mut self, session: SessionId, message: GateMessage<'static>) {
        let Some(outlet) = self.by_session.get_mut(&session) else { return };
        let message = ToSession::Message(Box::new(message));
        let sent = outlet.sender.as_ref().is_some_and(|sender| sender.try_send(message).is_ok());
        if !sent {
            outlet.sender = None;
        }
    }
}
