//! [`State::apply`] is the only place where a state changes, live and in replay alike. It decides nothing.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::Arc;

use super::{AskRecords, Chat, KeptReply, Queue, State, UsedKey};
use crate::ask::{AskLife, ReportedOutcome};
use crate::event::{ChatId, DeliveryWay, Event, EventLife, Label, Reply, Text, TrackedEvent};
use crate::few::Few;
use crate::ids::{EventId, Moment, OrderId, ReplyId, SessionId};
use crate::record::{Moves, Record};
use crate::session::{Order, OrderOutcome, Presence, Session, SessionAbout, TrackedOrder};

type Queues = BTreeMap<Option<SessionId>, Queue>;

/// A session remembers this many of its latest orders.
const ORDERS: usize = 8;

impl State {
    /// Takes a record in. Never fails: a record that does not fit what is known changes nothing.
    pub fn apply(&mut self, at: Moment, record: &Record) {
        self.revision += 1;
        self.last = self.no_earlier(at);
        match record {
            Record::Opened { .. } => self.opened(at),
            Record::ClockSet { was } => self.clock_set(at, Moment(*was)),
            Record::Received { event, to } => self.received(event, *to),
            Record::Seen { event } => self.seen(*event, at),
            Record::EventExpired { event } => self.settle_event(*event, EventLife::Expired { at }),
            Record::Dropped { event, by, why } => {
                self.settle_event(*event, EventLife::Dropped { at, by: by.clone(), why: why.clone() });
            }
            Record::Died { event } => self.died(*event, at),
            Record::Retried { event, to, moves: Moves::Recorded, .. } => self.put_back(*event, *to, at, 0),
            Record::Retried { event, moves: Moves::Implied, .. } => self.imply_requeue(*event, at, 0),
            Record::Moved { events, to, redelivered, .. } => self.moved(events, *to, *redelivered),
            Record::Requeued { events, to, attempts, .. } => self.requeued(events, *to, at, *attempts),
            Record::Attached { session, about, label, wrote, moves } => {
                self.attached(*session, (about, label.as_ref().unwrap_or(&about.label)), wrote, at);
                if *moves == Moves::Implied {
                    self.imply_moves_of_attached(*session, about, at);
                }
            }
            Record::Wrote { session, events, way } => self.wrote(*session, events, *way, at),
            Record::Lost { session } => self.set_presence(*session, Presence::Lost { since: at }),
            Record::Ended { session, goodbye, moves } => {
                self.set_presence(*session, Presence::Ended { at });
                // Nobody can have got to know one that was gone at once.
                if !goodbye.untouched
                    && let Some(label) = self.label_of(Some(*session))
                {
                    self.keep_label(label, at);
                }
                self.ended.push_back(*session);
                if *moves == Moves::Implied {
                    self.imply_moves_of_ended(*session, goodbye, at);
                }
                self.forget_sessions();
            }
            Record::Replied { reply } => self.replied(reply),
            Record::ReplyEdited { reply, text, .. } => self.reply_edited(*reply, text, at),
            Record::Asked { ask } => {
                self.codes.insert(ask.code, ask.id);
                self.open_asks.insert(ask.id);
                self.asks.insert(ask.id, (ask.clone(), AskLife::Open { votes: vec![] }));
                self.ask_records.insert(ask.id, AskRecords { asked: self.revision, votes: vec![], answered: None });
            }
            Record::Answered { ask, verdict } => self.answer_ask(*ask, verdict.clone()),
            Record::Voted { ask, verdict } => {
                if let Some((_, AskLife::Open { votes })) = self.asks.get_mut(ask) {
                    votes.push(verdict.clone());
                    if let Some(records) = self.ask_records.get_mut(ask) {
                        records.votes.push(self.revision);
                    }
                }
            }
            Record::AskExpired { ask } => self.settle_ask(*ask, AskLife::Expired { at }),
            Record::Joined { ask, into } => self.join(*ask, *into, at),
            Record::OutcomeReported { ask, outcome, differs } => {
                self.outcome_reported(*ask, ReportedOutcome { at, outcome: *outcome, differs: *differs });
            }
            Record::Carried { ask } => self.carried(*ask, at),
            Record::NotConfirmed { ask } => self.not_confirmed(*ask, at),
            Record::Withdrawn { ask, why } => self.settle_ask(*ask, AskLife::Withdrawn { at, why: why.clone() }),
            Record::Missed { by } => note_miss(&mut self.misses, by, at, self.memory.miss_window),
            Record::PersonSet { .. }
            | Record::PersonRemoved { .. }
            | Record::TokenAdded { .. }
            | Record::TokenRevoked { .. }
            | Record::DeviceUsed { .. }
            | Record::PairingAsked { .. }
            | Record::Paired { .. }
            | Record::IdentityLinked { .. }
            | Record::IdentityUnlinked { .. }
            | Record::PairingMissed { .. } => self.apply_people(at, record),
            Record::Described { session, about, label } => {
                self.sessions.change(*session, |known| {
                    known.about = about.clone();
                    known.label = label.as_ref().unwrap_or(&known.label).clone();
                });
                self.note_conversation(*session);
            }
            Record::OutsideRead { session, sender } => self.outside_read(*session, sender, at),
            Record::OutsideEnded { session, .. } => self.outside_ended(*session),
            Record::Ordered { session, id, order, by } => self.ordered(*session, *id, order, by, at),
            Record::OrderDone { session, order } => self.settle_order(*session, *order, OrderOutcome::Done),
            Record::OrderFailed { session, order, why } => {
                self.settle_order(*session, *order, OrderOutcome::Failed { why: why.clone() });
            }
            Record::Taken { connector, position, messages } => self.taken(connector, *position, messages),
            Record::Called { session, call } => self.called(*session, call, at),
            Record::DefaultModeSet { folder, mode, by } => self.set_default_mode(folder, *mode, by, at),
            Record::EditorTrusted { process, what, by } => self.trust_editor(process, what, by, at),
            Record::Redacted { .. } | Record::AccessDenied { .. } => {}
        }
        self.note_activity(at, record);
    }

    fn opened(&mut self, at: Moment) {
        self.opened = at;
        for session in self.sessions.values_mut() {
            if session.is_attached() {
                session.presence = Presence::Expected { since: at };
            }
        }
    }

    /// The clock was ahead and is right again: what happened meanwhile happened now, or its time would never come.
    fn clock_set(&mut self, at: Moment, was: Moment) {
        self.opened = self.opened.min(at);
        for session in self.sessions.values_mut() {
            // As long ago as before: by this it is judged what the agent may have started.
            session.since = Moment(session.since.0.saturating_sub(was.since(at)));
            session.active = session.active.min(at);
            match &mut session.presence {
                Presence::Expected { since } | Presence::Lost { since } => *since = (*since).min(at),
                Presence::Attached | Presence::Ended { .. } => {}
            }
        }
        for tracked in self.events.values_mut() {
            tracked.queued = tracked.queued.min(at);
        }
        for (ask, _) in self.asks.values_mut() {
            ask.at = ask.at.min(at);
        }
        for misses in self.misses.values_mut().chain(self.pairing_misses.values_mut()) {
            misses.iter_mut().for_each(|missed| *missed = (*missed).min(at));
        }
        for pairing in &mut self.pairings {
            pairing.since = pairing.since.min(at);
        }
    }

    fn received(&mut self, event: &Arc<Event>, to: Option<SessionId>) {
        self.arrivals += 1;
        let tracked = TrackedEvent {
            life: EventLife::Waiting,
            to,
            redelivered: false,
            attempts: 0,
            queued: event.at,
            arrival: self.arrivals,
            revision: self.revision,
            delivered: None,
            first_delivered: None,
            size: event.text.len(),
            event: Arc::clone(event),
        };
        self.queues.entry(to).or_default().add(&tracked);
        self.use_chat(event, to);
        self.note_connector_writer(event);
        self.remember_key(event);
        self.events.insert(event.id, tracked);
    }

    fn use_chat(&mut self, event: &Event, to: Option<SessionId>) {
        if let Ok(number) = event.chat.as_str().parse::<u64>() {
            // Only the next numbers count: a person who names a chat `999` does not push the counter there.
            if number <= self.numbered_chats + 1024 {
                self.numbered_chats = self.numbered_chats.max(number);
            }
        }
        let place = match self.chats.entry(event.chat.clone()) {
            Entry::Occupied(mut known) => {
                let chat = known.get_mut();
                chat.session = to.or(chat.session);
                chat.used = event.at;
                return;
            }
            Entry::Vacant(place) => place,
        };
        place.insert(Chat {
            owner: event.sender.clone(),
            credential: event.credential.clone(),
            session: to,
            shown_to: Few::default(),
            unanswered: Few::default(),
            used: event.at,
        });
        self.chat_order.push_back((event.chat.clone(), event.at));
        self.forget_chats();
    }

    /// Forgets the oldest conversations; one that was used since it was queued gets another turn.
    fn forget_chats(&mut self) {
        let mut turns = self.chat_order.len();
        while self.chats.len() > self.memory.chats && turns > 0 {
            turns -= 1;
            let Some((id, queued)) = self.chat_order.pop_front() else { return };
            match self.chats.get(&id) {
                Some(chat) if chat.used > queued => self.chat_order.push_back((id.clone(), chat.used)),
                _ => drop(self.chats.remove(&id)),
            }
        }
    }

    fn remember_key(&mut self, event: &Event) {
        let Some(key) = &event.idempotency_key else { return };
        let name = (event.sender.clone(), key.key.clone());
        let said = UsedKey { event: event.id, chat: event.chat.clone(), digest: key.digest, at: event.at };
        if self.keys.insert(name.clone(), said).is_none() {
            self.key_order.push_back(name);
        }
        while let Some(oldest) = self.key_order.front() {
            let is_old = self.keys.get(oldest).is_none_or(|said| self.last.since(said.at) >= self.memory.key_lifetime);
            if !is_old && self.keys.len() <= self.memory.keys {
                return;
            }
            self.keys.remove(oldest);
            self.key_order.pop_front();
        }
    }

    fn seen(&mut self, id: EventId, at: Moment) {
        if self.is_waiting(id) {
            self.settle_event(id, EventLife::Delivered { at });
        }
        let Some(tracked) = self.events.get_mut(&id) else { return };
        tracked.life = EventLife::Seen { at };
        if let Some(chat) = self.chats.get_mut(&tracked.event.chat) {
            chat.unanswered.forget(&id);
        }
    }

    /// Takes an event off its queue. Its text stays in the journal alone.
    fn settle_event(&mut self, id: EventId, life: EventLife) {
        let Some(tracked) = self.events.get_mut(&id).filter(|tracked| tracked.life == EventLife::Waiting) else {
            return;
        };
        settle(&mut self.queues, tracked, life);
        self.note_settled(id);
    }

    fn note_settled(&mut self, id: EventId) {
        self.settled_events.push_back(id);
        while self.settled_events.len() > self.memory.settled_events {
            if let Some(oldest) = self.settled_events.pop_front() {
                self.events.remove(&oldest);
            }
        }
    }

    fn died(&mut self, id: EventId, at: Moment) {
        self.settle_event(id, EventLife::Dead { at });
        if let Some(tracked) = self.events.get_mut(&id) {
            tracked.life = EventLife::Dead { at };
        }
    }

    fn moved(&mut self, events: &[EventId], to: Option<SessionId>, redelivered: bool) {
        for id in events {
            let Some(tracked) = self.events.get_mut(id).filter(|tracked| tracked.life == EventLife::Waiting) else {
                continue;
            };
            tracked.redelivered |= redelivered;
            self.move_event(*id, to);
        }
    }

    fn requeued(&mut self, events: &[EventId], to: Option<SessionId>, at: Moment, attempts: u8) {
        for id in events {
            let Some(tracked) = self.events.get(id) else { continue };
            // Its conversation goes with it, unless that has gone elsewhere since.
            if let Some(chat) = self.chats.get_mut(&tracked.event.chat).filter(|chat| chat.session == tracked.to) {
                chat.session = to;
            }
            self.put_back(*id, to, at, attempts);
        }
    }

    /// Puts a settled event on a queue again. Its text is still in the journal.
    pub(super) fn put_back(&mut self, id: EventId, to: Option<SessionId>, at: Moment, attempts: u8) {
        let Some(tracked) = self.events.get_mut(&id).filter(|tracked| tracked.life != EventLife::Waiting) else {
            return;
        };
        self.settled_events.retain(|settled| *settled != id);
        (tracked.life, tracked.redelivered) = (EventLife::Waiting, true);
        (tracked.to, tracked.attempts, tracked.queued) = (to, attempts, at);
        self.queues.entry(to).or_default().add(tracked);
    }

    fn attached(&mut self, id: SessionId, (about, label): (&SessionAbout, &Label), wrote: &[EventId], at: Moment) {
        let before = about.continues.and_then(|before| self.sessions.get(before));
        let stopped = before.and_then(|before| before.stopped.clone());
        let orders = before.and_then(Session::order_for_next).into_iter().collect();
        let (about, label) = (about.clone(), label.clone());
        let presence = Presence::Attached;
        let attached = match self.sessions.remove(id) {
            Some(known) => Session { about, label, presence, ..known },
            None => Session { id, label, about, presence, since: at, active: at, stopped, orders, outside: None },
        };
        self.sessions.insert(attached);
        self.ended.retain(|ended| *ended != id);
        self.note_conversation(id);
        self.wrote(id, wrote, None, at);
        self.verdicts_sent_to(id);
    }

    pub(super) fn move_event(&mut self, id: EventId, to: Option<SessionId>) {
        if let Some(tracked) = self.events.get_mut(&id) {
            relocate((&mut self.queues, &mut self.chats), tracked, to);
        }
    }

    fn wrote(&mut self, session: SessionId, events: &[EventId], way: Option<DeliveryWay>, at: Moment) {
        for id in events {
            // Looked up once, for there are many.
            let Some(tracked) = self.events.get_mut(id) else { continue };
            let waited = tracked.life == EventLife::Waiting;
            if waited && tracked.to != Some(session) {
                relocate((&mut self.queues, &mut self.chats), tracked, Some(session));
            }
            if waited {
                settle(&mut self.queues, tracked, EventLife::Delivered { at });
            }
            tracked.delivered = Some((at, way));
            tracked.first_delivered.get_or_insert(at);
            if let Some(chat) = self.chats.get_mut(&tracked.event.chat) {
                chat.shown_to.remember(session, self.memory.of_one_chat);
                chat.unanswered.remember(*id, self.memory.of_one_chat);
            }
            if waited {
                self.note_settled(*id);
            }
        }
    }

    fn set_presence(&mut self, id: SessionId, presence: Presence) {
        self.sessions.change(id, |session| session.presence = presence);
    }

    fn forget_sessions(&mut self) {
        while self.ended.len() > self.memory.ended_sessions {
            if let Some(oldest) = self.ended.pop_front() {
                self.sessions.remove(oldest);
            }
        }
    }

    fn replied(&mut self, reply: &Reply) {
        let (said, changed) = (self.revision, self.revision);
        self.replies.push_back(KeptReply { said, changed, reply: reply.clone() });
        self.forget_replies();
    }

    fn reply_edited(&mut self, id: ReplyId, text: &Text, at: Moment) {
        let known = self.replies.iter_mut().rev().find(|kept| kept.reply.id == id);
        let Some(KeptReply { changed, reply, .. }) = known else { return };
        *changed = self.revision;
        (reply.text, reply.edited) = (text.clone(), Some(at));
        self.forget_replies();
    }

    fn forget_replies(&mut self) {
        let mut bytes: usize = self.replies.iter().map(|kept| kept.reply.text.len()).sum();
        while self.replies.len() > self.memory.replies || bytes > self.memory.reply_bytes && self.replies.len() > 1 {
            bytes -= self.replies.pop_front().map_or(0, |kept| kept.reply.text.len());
        }
    }

    fn ordered(&mut self, to: SessionId, id: Option<OrderId>, order: &Order, by: &str, at: Moment) {
        let Some(session) = self.sessions.get_mut(to) else { return };
        if let Some(id) = id {
            let order = match order {
                Order::Prompt { by, .. } => Order::Prompt { text: Text::Away, by: by.clone() },
                other => other.clone(),
            };
            session.orders.push(TrackedOrder { id, order, by: by.to_owned(), at, outcome: None });
            if session.orders.len() > ORDERS {
                // By the last to stop or to resume it is known whether that holds.
                let kept = session.kept_order().map(|kept| kept.id);
                let oldest = session.orders.iter().position(|tracked| Some(tracked.id) != kept);
                session.orders.remove(oldest.unwrap_or(0));
            }
        }
        match order {
            Order::Stop { by } => session.stopped = Some(by.clone()),
            Order::Resume => session.stopped = None,
            Order::Prompt { .. } | Order::Interrupt | Order::Mode(_) | Order::Model(_) | Order::End => {}
        }
    }

    fn settle_order(&mut self, session: SessionId, order: OrderId, outcome: OrderOutcome) {
        let Some(session) = self.sessions.get_mut(session) else { return };
        if let Some(tracked) = session.orders.iter_mut().find(|tracked| tracked.id == order) {
            tracked.outcome.get_or_insert(outcome);
        }
    }
}

/// Adds a miss of one person, and forgets those that no longer count.
pub(super) fn note_miss(misses: &mut BTreeMap<String, VecDeque<Moment>>, by: &str, at: Moment, window: u64) {
    let misses = misses.entry(by.to_owned()).or_default();
    misses.push_back(at);
    misses.retain(|miss| at.since(*miss) < window);
}

impl Queue {
    fn add(&mut self, tracked: &TrackedEvent) {
        self.events.insert(tracked.arrival, tracked.event.id);
        self.bytes += tracked.size;
    }
}

/// Puts a waiting event on the queue of another session. Its conversation goes with it.
fn relocate(
    (queues, chats): (&mut Queues, &mut HashMap<ChatId, Chat>),
    tracked: &mut TrackedEvent,
    to: Option<SessionId>,
) {
    dequeue(queues, tracked);
    tracked.to = to;
    queues.entry(to).or_default().add(tracked);
    if let Some(chat) = chats.get_mut(&tracked.event.chat) {
        chat.session = to;
    }
}

/// Takes an event off its queue. Its text stays in the journal alone.
fn settle(queues: &mut Queues, tracked: &mut TrackedEvent, life: EventLife) {
    dequeue(queues, tracked);
    tracked.life = life;
    Arc::make_mut(&mut tracked.event).put_away();
}

fn dequeue(queues: &mut Queues, tracked: &TrackedEvent) {
    let Some(queue) = queues.get_mut(&tracked.to) else { return };
    if queue.events.remove(&tracked.arrival).is_some() {
        queue.bytes -= tracked.size;
    }
    if queue.events.is_empty() {
        queues.remove(&tracked.to);
    }
}
