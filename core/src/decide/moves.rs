//! Where events go when a session attaches or ends, as the records `Moved` and `Requeued`.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Label, TrackedEvent};
use crate::ids::{EventId, Moment, SessionId};
use crate::people::Token;
use crate::record::Record;
use crate::route::Address;
use crate::session::{Goodbye, Session, SessionAbout};
use crate::state::State;

/// How many events one record tells of.
const IN_ONE_RECORD: usize = 1000;

/// Events by where they go.
#[derive(Default)]
struct Moving {
    /// Waiting events, and whether an agent may have seen them already.
    moved: BTreeMap<(Option<SessionId>, bool), Vec<EventId>>,
    /// Settled events that wait again, and how many processes ended with them.
    requeued: BTreeMap<(Option<SessionId>, u8), Vec<EventId>>,
}

impl Moving {
    fn move_to(&mut self, to: Option<SessionId>, redelivered: bool, tracked: &TrackedEvent) {
        self.moved.entry((to, redelivered)).or_default().push(tracked.event.id);
    }

    fn requeue_to(&mut self, to: Option<SessionId>, attempts: u8, tracked: &TrackedEvent) {
        self.requeued.entry((to, attempts)).or_default().push(tracked.event.id);
    }

    /// All of the session that attached or ended, so that they are written with that record or not at all.
    fn into_records(self, session: SessionId) -> Vec<Record> {
        let requeued = self.requeued.into_iter().flat_map(move |((to, attempts), events)| {
            chunks(events).map(move |events| Record::Requeued { session, events, to, attempts })
        });
        let moved = self.moved.into_iter().flat_map(move |((to, redelivered), events)| {
            chunks(events).map(move |events| Record::Moved { session, events, to, redelivered })
        });
        requeued.chain(moved).collect()
    }
}

fn chunks(mut events: Vec<EventId>) -> impl Iterator<Item = Vec<EventId>> {
    std::iter::from_fn(move || {
        let rest = events.split_off(events.len().min(IN_ONE_RECORD));
        Some(std::mem::replace(&mut events, rest)).filter(|chunk| !chunk.is_empty())
    })
}

/// A session that attaches takes over what the session before it had, and what waits for someone like it.
pub(super) fn to_attached(
    state: &State,
    now: Moment,
    session: SessionId,
    (label, about): (&Label, &SessionAbout),
    wrote: &[EventId],
) -> Vec<Record> {
    if !about.takes_events() {
        return vec![];
    }
    let wrote: BTreeSet<&EventId> = wrote.iter().collect();
    let is_left = |tracked: &&TrackedEvent| !wrote.contains(&tracked.event.id);
    let mut moving = Moving::default();
    if let Some(before) = about.continues {
        let limits = state.limits();
        let unread = state.unread(before, now, limits.redelivery_window).filter(is_left);
        let may_come_again =
            |tracked: &&TrackedEvent| tracked.attempts < limits.redeliveries && is_of_linked(state, tracked);
        for tracked in unread.filter(may_come_again) {
            moving.requeue_to(Some(session), tracked.attempts + 1, tracked);
        }
        // The process that had these in its hands is gone: whether it wrote them before, nobody can tell.
        for tracked in state.waiting(Some(before), 0).filter(is_left) {
            moving.move_to(Some(session), true, tracked);
        }
    }
    let fits = |tracked: &&TrackedEvent| match &tracked.event.address {
        Address::Open => true,
        Address::Label(wanted) => state.is_meant((label, about), (wanted, &tracked.event.scope), about.continues),
        Address::Session(_) => false,
    };
    for tracked in state.waiting(None, 0).filter(is_left).filter(fits) {
        moving.move_to(Some(session), false, tracked);
    }
    moving.into_records(session)
}

/// What waits for a session that ends may be for another one; and what it was given, if no model was there to read it.
pub(super) fn from_ended(state: &State, now: Moment, session: SessionId, goodbye: &Goodbye) -> Vec<Record> {
    let mut moving = Moving::default();
    if goodbye.untouched {
        let unread = state.unread(session, now, state.limits().redelivery_window);
        for tracked in unread.filter(|tracked| is_of_linked(state, tracked)) {
            moving.requeue_to(fallback_session(state, tracked, Some(session)), tracked.attempts, tracked);
        }
    }
    for tracked in state.waiting(Some(session), 0) {
        moving.move_to(fallback_session(state, tracked, Some(session)), true, tracked);
    }
    moving.into_records(session)
}

/// Whether the device that an event was sent from is still linked. Others are not sent from one.
fn is_of_linked(state: &State, tracked: &TrackedEvent) -> bool {
    let Some(name) = &tracked.event.device else { return true };
    let is_it = |token: &Token| {
        token.person == tracked.event.sender && token.device.as_ref().is_some_and(|device| device.called == *name)
    };
    state.tokens().any(is_it)
}

/// Where an event goes that someone wants to be tried again: to its session if that is there.
pub(super) fn to_retry(state: &State, tracked: &TrackedEvent) -> Option<SessionId> {
    let stays = tracked.to.filter(|to| state.session(*to).is_some_and(Session::is_present));
    stays.or_else(|| fallback_session(state, tracked, None))
}

/// Where an event goes without its session: to the one that goes on from it, or to the only one that fits as well.
fn fallback_session(state: &State, tracked: &TrackedEvent, ending: Option<SessionId>) -> Option<SessionId> {
    let mut others = state.sessions().filter(|session| Some(session.id) != ending);
    let fits = |session: &&Session| match &tracked.event.address {
        Address::Session(_) => false,
        Address::Label(label) => {
            state.is_meant((&session.label, &session.about), (label, &tracked.event.scope), ending)
        }
        Address::Open => true,
    };
    if let Address::Session(id) = tracked.event.address {
        let successor = others.find(|session| session.about.continues == Some(id));
        return successor.map(|session| session.id).or(tracked.to);
    }
    let mut fitting = others.filter(|session| session.may_be_given()).filter(fits);
    let first = fitting.next()?;
    fitting.next().is_none().then_some(first.id)
}
