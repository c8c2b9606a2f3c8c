//! Sessions come, take their events, reply, and go.

use super::{Decided, answer, asks, moves, outside, refuse};
use crate::event::{DeliveryWay, EventLife, Reply, Text, TrackedEvent};
use crate::ids::{EventId, Moment, OrderId, ReplyId, SessionId};
use crate::input::{Answer, Effect, Input, Refusal, Topic};
use crate::people::{Actor, Right};
use crate::record::{Moves, Record};
use crate::session::{Goodbye, Order, OrderOutcome, Presence, Session, SessionAbout};
use crate::state::State;

/// A gate is up. What ended with the one before is not waited for.
pub(super) fn started(state: &State, version: String) -> Decided {
    let gone = state.sessions().filter(|session| session.about.ends_with_the_gate() && !session.has_ended());
    let ended = gone.map(|session| {
        let goodbye = Goodbye::because("the gate was started anew, and cut its client off");
        Effect::then(Input::Ended { session: session.id, goodbye })
    });
    let effects = std::iter::once(Effect::Answer(Answer::Done)).chain(ended).collect();
    (vec![Record::Opened { version }], effects)
}

pub(super) fn attached(
    state: &State,
    now: Moment,
    session: SessionId,
    about: SessionAbout,
    (wrote, holding): (Vec<EventId>, Vec<EventId>),
) -> Decided {
    // What is with a session that is there is not with this one.
    let is_elsewhere = |event: &EventId| {
        let to = state.event(*event).and_then(|tracked| tracked.to).filter(|to| *to != session);
        to.and_then(|to| state.session(to)).is_some_and(Session::is_attached)
    };
    let wrote: Vec<EventId> = wrote.into_iter().filter(|event| !is_elsewhere(event)).collect();
    // Only a new process goes on from another: one that comes back has its place.
    let known = state.session(session).map(|known| known.about.continues);
    let found = known.unwrap_or_else(|| state.predecessor(session, &about));
    // Nobody goes on from a session whose process is there.
    let is_gone = |before: &SessionId| state.session(*before).is_none_or(|before| !before.is_attached());
    let about = SessionAbout { continues: about.continues.filter(is_gone).or(found), ..about };
    let about = of_the_same_agent(state.session(session), about);
    let mut effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Session(session))];
    effects.extend(asks::untold(state, now, session));
    // A stop holds for the agent, in whichever process its session goes on.
    let known = state.session(session).or_else(|| state.session(about.continues?));
    let standing = known.and_then(Session::standing_order);
    effects.extend(standing.map(|(id, order)| Effect::Order { session, id, order }));
    let guard = outside::at_attach(state, session, &about);
    effects.extend(guard.tell.map(|sender| Effect::RaiseGuard { session, sender }));
    let no_longer_its = holding.into_iter().filter(|event| is_for_others(state, session, *event));
    effects.extend(no_longer_its.map(|event| Effect::TakeBack { session, event }));
    effects.push(Effect::Wake(session));
    // What was given to the process before and is still unread is given again, unless that was tried too often.
    let limits = state.limits();
    let again = about.continues.into_iter().flat_map(|before| state.unread(before, now, limits.redelivery_window));
    effects.extend(
        again
            .filter(|tracked| tracked.attempts >= limits.redeliveries)
            .map(|tracked| Effect::then(Input::Died { event: tracked.event.id })),
    );
    // Nobody waits for the process before any more: its session is this one.
    let before = about.continues.and_then(|before| state.session(before));
    if let Some(before) = before.filter(|before| !before.is_attached() && !before.has_ended()) {
        let goodbye = Goodbye::because("it goes on in another process");
        effects.push(Effect::then(Input::Ended { session: before.id, goodbye }));
    }
    let label = state.label_for(session, &about, now);
    let moves = moves::to_attached(state, now, session, (&label, &about), &wrote);
    let attached = Record::Attached { session, about, label: Some(label), wrote, moves: Moves::Recorded };
    ([vec![attached], guard.records, moves].concat(), effects)
}

/// Whether what a process still has in its hands is no longer for its agent: while it was away, the event was given up or
/// went to another session.
fn is_for_others(state: &State, session: SessionId, event: EventId) -> bool {
    let Some(tracked) = state.event(event) else { return false };
    match tracked.life {
        EventLife::Expired { .. } | EventLife::Dropped { .. } | EventLife::Dead { .. } => true,
        EventLife::Waiting | EventLife::Delivered { .. } | EventLife::Seen { .. } => {
            tracked.to.is_some_and(|to| to != session)
        }
    }
}

/// A session is that of one agent for all its life. Who takes its link over does not make us forget which process that is,
/// nor that it runs commands.
fn of_the_same_agent(known: Option<&Session>, about: SessionAbout) -> SessionAbout {
    let Some(known) = known.map(|known| &known.about) else { return about };
    SessionAbout { pid: known.pid.or(about.pid), runs_commands: known.runs_commands || about.runs_commands, ..about }
}

pub(super) fn wrote(state: &State, session: SessionId, events: Vec<EventId>, way: Option<DeliveryWay>) -> Decided {
    // A session writes what waits for it, and not what waits for another.
    let is_its_own = |tracked: &TrackedEvent| tracked.life == EventLife::Waiting && tracked.to == Some(session);
    let events: Vec<EventId> = events.into_iter().filter(|event| state.event(*event).is_some_and(is_its_own)).collect();
    let mut effects = Vec::with_capacity(events.len() + 2);
    effects.extend([Effect::Answer(Answer::Done), Effect::Wake(session)]);
    if events.is_empty() {
        return (vec![], effects);
    }
    effects.extend(events.iter().map(|event| Effect::Publish(Topic::Event(*event))));
    (vec![Record::Wrote { session, events, way }], effects)
}

pub(super) fn lost(state: &State, session: SessionId) -> Decided {
    match state.session(session) {
        Some(known) if known.is_attached() => (
            vec![Record::Lost { session }],
            vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Session(session))],
        ),
        _ => answer(Answer::Done),
    }
}

pub(super) fn ended(state: &State, now: Moment, session: SessionId, goodbye: Goodbye) -> Decided {
    match state.session(session) {
        None => return refuse(Refusal::NoSuchSession),
        Some(known) if known.has_ended() => return answer(Answer::Done),
        Some(_) => {}
    }
    let mut effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Session(session))];
    let open = state.open_asks_of(session);
    effects.extend(
        open.map(|ask| Effect::then(Input::Withdrawn { ask: ask.id, by: None, why: "its session ended".into() })),
    );
    // What waited for it may now be for someone else.
    let others = state.sessions().filter(|other| other.is_attached() && other.id != session);
    effects.extend(others.map(|other| Effect::Wake(other.id)));
    let moves = moves::from_ended(state, now, session, &goodbye);
    let ended = Record::Ended { session, goodbye, moves: Moves::Recorded };
    ([vec![ended], moves].concat(), effects)
}

pub(super) fn replied(state: &State, reply: Reply) -> Decided {
    if state.reply(reply.id).is_some() {
        return answer(Answer::Done);
    }
    let chat = match state.chat(&reply.chat) {
        Some(chat) if chat.shown_to.contains(&reply.session) => chat,
        _ => return refuse(Refusal::ChatNotDelivered(reply.chat)),
    };
    if let Some(event) = reply.reply_to
        // One that is forgotten is believed: the reply may have been kept for long while the gate was away.
        && state.event(event).is_some_and(|answered| answered.event.chat != reply.chat)
    {
        return refuse(Refusal::NotOfChat { event, chat: reply.chat });
    }
    let mut effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Reply(reply.id))];
    effects.extend(chat.unanswered.iter().map(|event| Effect::then(Input::Seen { event: *event })));
    (vec![Record::Replied { reply }], effects)
}

/// A session changes what it said itself, or what the session said that it goes on from.
pub(super) fn reply_edited(state: &State, session: SessionId, reply: ReplyId, text: Text) -> Decided {
    let known = state.reply(reply).filter(|known| state.continues(session, known.session));
    let Some(known) = known else { return refuse(Refusal::NoSuchReply) };
    if known.text == text {
        return answer(Answer::Done);
    }
    let effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Reply(reply))];
    (vec![Record::ReplyEdited { session, reply, chat: known.chat.clone(), text }], effects)
}

/// What is known of the session has changed: its agent began anew, or works in another mode.
pub(super) fn described(state: &State, session: SessionId, about: SessionAbout) -> Decided {
    let Some(known) = state.session(session) else { return refuse(Refusal::NoSuchSession) };
    let about = of_the_same_agent(Some(known), SessionAbout { continues: known.about.continues, ..about });
    if known.about == about {
        return answer(Answer::Done);
    }
    let guard = outside::at_description(state, known, &about);
    let mut effects = vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Session(session))];
    effects.extend(guard.tell.map(|sender| Effect::RaiseGuard { session, sender }));
    // A process that did not know its agent's id when it attached may turn out to go on with a session that is gone.
    let before = state.predecessor(session, &about).filter(|_| known.about.agent_session.is_none());
    let found = SessionAbout { continues: about.continues.or(before), ..about.clone() };
    let label = state.inherited_label(session, &found).filter(|label| *label != known.label);
    ([vec![Record::Described { session, about, label }], guard.records].concat(), effects)
}

/// Reviewers may hold a session up; telling it what to do is for those who may start one.
fn right_to(order: &Order) -> Right {
    match order {
        Order::Interrupt | Order::Stop { .. } | Order::Resume => Right::Review,
        Order::Prompt { .. } | Order::Mode(_) | Order::Model(_) | Order::End => Right::Start,
    }
}

pub(super) fn ordered(state: &State, by: &Actor, session: SessionId, (id, order): (OrderId, Order)) -> Decided {
    let needed = right_to(&order);
    // Holding a session up takes nothing away from anybody: the owner may, also where others answer the prompts.
    let holds_up = matches!(order, Order::Interrupt | Order::Stop { .. }) && by.may(Right::Admin);
    if !by.may(needed) && !holds_up {
        return refuse(Refusal::NeedsRight(needed));
    }
    let known = state.session(session).filter(|known| by.scope.covers(&known.about.label) && !known.has_ended());
    let Some(known) = known else { return refuse(Refusal::NoSuchSession) };
    if !order.is_kept() && !known.about.driven {
        return refuse(Refusal::NotDriven);
    }
    if !order.is_kept() && !known.is_attached() {
        return refuse(Refusal::SessionAway);
    }
    let effects = vec![
        Effect::Answer(Answer::Done),
        Effect::Order { session, id: Some(id), order: order.clone() },
        Effect::Publish(Topic::Session(session)),
    ];
    (vec![Record::Ordered { session, id: Some(id), order, by: by.name.clone() }], effects)
}

/// A session's process says what became of an order of its session. Said again, it is known already.
pub(super) fn order_settled(state: &State, session: SessionId, order: OrderId, outcome: OrderOutcome) -> Decided {
    let tracked = state.session(session).and_then(|known| known.order(order));
    if tracked.is_none_or(|tracked| tracked.outcome.is_some()) {
        return answer(Answer::Done);
    }
    let record = match outcome {
        OrderOutcome::Done => Record::OrderDone { session, order },
        OrderOutcome::Failed { why } => Record::OrderFailed { session, order, why },
    };
    (vec![record], vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Session(session))])
}

/// Sessions that stayed away too long have ended, and events that waited too long are no longer wanted.
pub(super) fn ticked(state: &State, now: Moment) -> Decided {
    let gone = state.sessions().filter(|session| state.session_deadline(session).is_some_and(|due| due <= now));
    let ended = gone.map(|session| {
        let why = match session.presence {
            Presence::Expected { .. } => "it did not come back after the gate restarted",
            _ => "its process went away",
        };
        Effect::then(Input::Ended { session: session.id, goodbye: Goodbye::because(why) })
    });
    let overdue = state.overdue_events(now).into_iter().map(|event| Effect::then(Input::EventExpired { event }));
    (vec![], ended.chain(overdue).chain(asks::due(state, now)).collect())
}
