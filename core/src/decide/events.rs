//! The later life of an event: read, given up, taken off its queue, or put back.

use super::{Decided, moves, refuse};
use crate::event::{EventLife, TrackedEvent};
use crate::ids::{EventId, SessionId};
use crate::input::{Answer, Effect, Input, Refusal, Topic};
use crate::people::{Actor, Right};
use crate::record::{Moves, Record};
use crate::state::State;

pub(super) fn opened(state: &State, session: SessionId, event: EventId) -> Decided {
    match state.event(event) {
        Some(tracked) if tracked.to == Some(session) => {
            (vec![], vec![Effect::Answer(Answer::Done), Effect::then(Input::Seen { event })])
        }
        _ => refuse(Refusal::NoSuchEvent),
    }
}

/// A session has read what was given to it, and not what was given to another.
pub(super) fn read(state: &State, session: SessionId, events: &[EventId]) -> Decided {
    let is_its_own = |event: &&EventId| state.event(**event).is_some_and(|tracked| tracked.to == Some(session));
    let seen = events.iter().filter(is_its_own).map(|event| Effect::then(Input::Seen { event: *event }));
    (vec![], std::iter::once(Effect::Answer(Answer::Done)).chain(seen).collect())
}

pub(super) fn seen(state: &State, event: EventId) -> Decided {
    match state.event(event).map(|tracked| &tracked.life) {
        Some(EventLife::Waiting | EventLife::Delivered { .. }) => {
            (vec![Record::Seen { event }], vec![Effect::Publish(Topic::Event(event))])
        }
        _ => (vec![], vec![]),
    }
}

pub(super) fn expired(state: &State, event: EventId) -> Decided {
    let Some(tracked) = state.event(event).filter(|tracked| tracked.life == EventLife::Waiting) else {
        return (vec![], vec![]);
    };
    let mut effects = vec![Effect::Publish(Topic::Event(event))];
    effects.extend(taken_back(tracked));
    (vec![Record::EventExpired { event }], effects)
}

pub(super) fn died(state: &State, event: EventId) -> Decided {
    match state.event(event).map(|tracked| &tracked.life) {
        Some(EventLife::Waiting | EventLife::Delivered { .. }) => {
            (vec![Record::Died { event }], vec![Effect::Publish(Topic::Event(event))])
        }
        _ => (vec![], vec![]),
    }
}

/// Reviewers may drop any event of the sessions they have to do with, and a sender their own.
fn may_change<'a>(state: &'a State, by: &Actor, event: EventId) -> Result<&'a TrackedEvent, Refusal> {
    let tracked = state.event(event).ok_or(Refusal::NoSuchEvent)?;
    let reviews = by.may(Right::Review) && state.is_in_scope(tracked.to, &by.scope);
    if reviews || by.may(Right::Talk) && tracked.event.is_of(&by.name) {
        return Ok(tracked);
    }
    Err(Refusal::NoSuchEvent)
}

pub(super) fn drop_event(state: &State, by: &Actor, event: EventId) -> Decided {
    match may_change(state, by, event) {
        Err(refusal) => refuse(refusal),
        Ok(tracked) if tracked.life == EventLife::Waiting => dropped(tracked, by.name.clone(), None),
        Ok(tracked) => refuse(Refusal::EventSettled { life: tracked.life.clone() }),
    }
}

/// Whoever sent it may no longer direct: what no agent was given yet is given to none.
pub(super) fn sender_revoked(state: &State, event: EventId, by: String, why: String) -> Decided {
    match state.event(event) {
        Some(tracked) if tracked.life == EventLife::Waiting => dropped(tracked, by, Some(why)),
        _ => (vec![], vec![]),
    }
}

fn dropped(tracked: &TrackedEvent, by: String, why: Option<String>) -> Decided {
    let event = tracked.event.id;
    let mut effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Event(event))];
    effects.extend(taken_back(tracked));
    (vec![Record::Dropped { event, by, why }], effects)
}

/// The session's process may have it in its hands already.
fn taken_back(tracked: &TrackedEvent) -> Option<Effect> {
    tracked.to.map(|session| Effect::TakeBack { session, event: tracked.event.id })
}

pub(super) fn retry(state: &State, by: &Actor, event: EventId) -> Decided {
    let tracked = match may_change(state, by, event) {
        Ok(tracked) => tracked,
        Err(refusal) => return refuse(refusal),
    };
    if matches!(tracked.life, EventLife::Waiting | EventLife::Seen { .. }) {
        return refuse(Refusal::EventSettled { life: tracked.life.clone() });
    }
    let mut effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Event(event))];
    let attached = state.sessions().filter(|session| session.is_attached());
    effects.extend(attached.map(|session| Effect::Wake(session.id)));
    let (by, to) = (by.name.clone(), moves::to_retry(state, tracked));
    (vec![Record::Retried { event, by, to, moves: Moves::Recorded }], effects)
}
