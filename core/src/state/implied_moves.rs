//! Where events went in journals of release 0.1.0, which did not record it: it followed from who attached, who ended and
//! what was retried.
//!
//! These are the rules of that release, with its numbers. They are for its records alone ([`Moves::Implied`]) and never
//! change: else an old journal would replay to another state. What happens today is decided in `decide::moves`.
//!
//! [`Moves::Implied`]: crate::record::Moves::Implied

use super::State;
use crate::event::{EventLife, TrackedEvent};
use crate::ids::{EventId, Moment, SessionId};
use crate::route::Address;
use crate::session::{Goodbye, Session, SessionAbout};

const REDELIVERIES: u8 = 2;
const REDELIVERY_WINDOW: u64 = 60 * 60_000;

impl State {
    pub(super) fn imply_moves_of_attached(&mut self, id: SessionId, about: &SessionAbout, at: Moment) {
        if let Some(before) = about.continues {
            for (event, attempts) in self.unread_of(before, at) {
                if attempts < REDELIVERIES {
                    self.imply_requeue(event, at, attempts + 1);
                }
            }
            for event in self.mark_waiting(before) {
                self.move_event(event, Some(id));
            }
        }
        let fits = |tracked: &TrackedEvent| match &tracked.event.address {
            Address::Open => true,
            Address::Label(wanted) => *wanted == about.label,
            Address::Session(_) => false,
        };
        let fitting = self.waiting(None, 0).filter(|tracked| fits(tracked)).map(|tracked| tracked.event.id);
        for event in fitting.collect::<Vec<_>>() {
            self.move_event(event, Some(id));
        }
    }

    pub(super) fn imply_moves_of_ended(&mut self, id: SessionId, goodbye: &Goodbye, at: Moment) {
        if goodbye.untouched {
            for (event, attempts) in self.unread_of(id, at) {
                self.imply_requeue(event, at, attempts);
            }
        }
        for event in self.mark_waiting(id) {
            let to = self.events.get(&event).and_then(|tracked| self.implied_fallback(tracked));
            if to != Some(id) {
                self.move_event(event, to);
            }
        }
    }

    /// A settled event goes back to its session, or where it belongs without it.
    pub(super) fn imply_requeue(&mut self, id: EventId, at: Moment, attempts: u8) {
        let Some(tracked) = self.events.get(&id).filter(|tracked| tracked.life != EventLife::Waiting) else { return };
        let stays = tracked.to.filter(|to| self.session(*to).is_some_and(Session::is_present));
        let to = stays.or_else(|| self.implied_fallback(tracked));
        self.put_back(id, to, at, attempts);
    }

    fn unread_of(&self, session: SessionId, at: Moment) -> Vec<(EventId, u8)> {
        let unread = self.unread(session, at, REDELIVERY_WINDOW);
        unread.map(|tracked| (tracked.event.id, tracked.attempts)).collect()
    }

    /// Marks everything that waits for a session as redelivered: its process may have written it.
    fn mark_waiting(&mut self, session: SessionId) -> Vec<EventId> {
        let waiting: Vec<EventId> = self.waiting(Some(session), 0).map(|tracked| tracked.event.id).collect();
        for event in &waiting {
            if let Some(tracked) = self.events.get_mut(event) {
                tracked.redelivered = true;
            }
        }
        waiting
    }

    fn implied_fallback(&self, tracked: &TrackedEvent) -> Option<SessionId> {
        let fits = |session: &&Session| match &tracked.event.address {
            Address::Session(_) => false,
            Address::Label(label) => session.about.label == *label,
            Address::Open => true,
        };
        if let Address::Session(id) = tracked.event.address {
            return self.successor(id).or(tracked.to);
        }
        super::only(self.sessions().filter(|session| session.is_present()).filter(fits)).map(|session| session.id)
    }
}
