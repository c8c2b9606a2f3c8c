//! The only place where a state changes, live and in replay alike.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Chat, Queue, SaidOnce, State};
use crate::ask::{AskLife, Effected};
use crate::event::{ChatId, Event, EventLife, Reply, Text, TrackedEvent};
use crate::ids::{AskId, EventId, Moment, OrderId, ReplyId, SessionId};
use crate::record::Record;
use crate::route::Address;
use crate::session::{Goodbye, Order, OrderOutcome, Presence, Session, SessionAbout, TrackedOrder};

/// A chat remembers this many of its latest sessions and unanswered events.
const CHAT_MEMORY: usize = 16;
/// Replies kept for those who reconnect, in bytes.
const REPLY_BYTES: usize = 4 << 20;

/// A session remembers this many of its latest orders.
const ORDERS: usize = 8;

/// However young, no more settled asks than this are kept.
const SETTLED_ASKS: usize = 10_000;

impl State {
    /// Takes a record in. Never fails: a record that does not fit what is known changes nothing.
    pub fn apply(&mut self, at: Moment, record: &Record) {
        self.revision += 1;
        self.last = self.last.max(at);
        match record {
            Record::Opened { .. } => self.opened(at),
            Record::Received { event, to } => self.received(event, *to),
            Record::Seen { event } => self.seen(*event, at),
            Record::Expired { event } => self.settle_event(*event, EventLife::Expired { at }),
            Record::Dropped { event, by } => self.settle_event(*event, EventLife::Dropped { at, by: by.clone() }),
            Record::Died { event } => self.died(*event, at),
            Record::Retried { event, .. } => self.requeue(*event, at, 0),
            Record::Attached { session, about, wrote } => self.attached(*session, about, wrote, at),
            Record::Wrote { session, events } => self.wrote(*session, events, at),
            Record::Lost { session } => self.set_presence(*session, Presence::Lost { since: at }),
            Record::Ended { session, goodbye } => self.ended(*session, goodbye, at),
            Record::Replied { reply } => self.replied(reply),
            Record::ReplyEdited { reply, text, .. } => self.reply_edited(*reply, text, at),
            Record::Asked { ask } => {
                self.codes.insert(ask.code, ask.id);
                self.open_asks.insert(ask.id);
                self.asks.insert(ask.id, (ask.clone(), AskLife::Open { votes: vec![] }));
            }
            Record::Answered { ask, verdict } => {
                let verdict = Box::new(verdict.clone());
                self.settle_ask(*ask, AskLife::Answered { verdict, carried: None, effected: None });
            }
            Record::Voted { ask, verdict } => {
                if let Some((_, AskLife::Open { votes })) = self.asks.get_mut(ask) {
                    votes.push(verdict.clone());
                }
            }
            Record::Lapsed { ask } => self.settle_ask(*ask, AskLife::Expired { at }),
            Record::Joined { ask, into } => self.join(*ask, *into, at),
            Record::Effected { ask, outcome, differs } => {
                if let Some((_, AskLife::Answered { effected, .. })) = self.asks.get_mut(ask) {
                    effected.get_or_insert(Effected { at, outcome: *outcome, differs: *differs });
                }
            }
            Record::Carried { ask } => {
                if let Some((_, AskLife::Answered { carried, .. })) = self.asks.get_mut(ask) {
                    carried.get_or_insert(at);
                }
            }
            Record::Withdrawn { ask, why } => self.settle_ask(*ask, AskLife::Withdrawn { at, why: why.clone() }),
            Record::Missed { by } => note_miss(&mut self.misses, by, at, self.limits.misses_within),
            Record::PersonSet { .. }
            | Record::PersonRemoved { .. }
            | Record::TokenAdded { .. }
            | Record::TokenRevoked { .. }
            | Record::PairingAsked { .. }
            | Record::Paired { .. }
            | Record::IdentityLinked { .. }
            | Record::IdentityUnlinked { .. }
            | Record::PairingMissed { .. } => self.apply_people(at, record),
            Record::Described { session, about } => {
                if let Some(known) = self.sessions.get_mut(session) {
                    known.about = about.clone();
                }
            }
            Record::Ordered { session, id, order, by } => self.ordered(*session, *id, order, by, at),
            Record::OrderDone { session, order } => self.settle_order(*session, *order, OrderOutcome::Done),
            Record::OrderFailed { session, order, why } => {
                self.settle_order(*session, *order, OrderOutcome::Failed { why: why.clone() });
            }
            Record::Taken { connector, position, messages } => self.taken(connector, *position, messages),
            Record::Redacted { .. } | Record::Barred { .. } | Record::Called { .. } => {}
        }
    }

    fn opened(&mut self, at: Moment) {
        self.opened = at;
        for session in self.sessions.values_mut() {
            if session.is_attached() {
                session.presence = Presence::Expected { since: at };
            }
        }
    }

    fn received(&mut self, event: &Arc<Event>, to: Option<SessionId>) {
        self.arrivals += 1;
        let held = TrackedEvent {
            life: EventLife::Waiting,
            to,
            redelivered: false,
            attempts: 0,
            queued: event.at,
            arrival: self.arrivals,
            size: event.text.len(),
            event: Arc::clone(event),
        };
        self.queues.entry(to).or_default().add(&held);
        self.use_chat(event, to);
        self.heard_from(event);
        self.remember_key(event);
        self.events.insert(event.id, held);
    }

    fn use_chat(&mut self, event: &Event, to: Option<SessionId>) {
        if let Ok(number) = event.chat.as_str().parse::<u64>() {
            // Only the next numbers count: a person who names a chat `999` does not push the counter there.
            if number <= self.numbered_chats + 1024 {
                self.numbered_chats = self.numbered_chats.max(number);
            }
        }
        if let Some(chat) = self.chats.get_mut(&event.chat) {
            chat.session = to.or(chat.session);
            chat.used = event.at;
            return;
        }
        let chat =
            Chat { owner: event.sender.clone(), session: to, shown_to: vec![], unanswered: vec![], used: event.at };
        self.chats.insert(event.chat.clone(), chat);
        self.chat_order.push_back((event.chat.clone(), event.at));
        self.forget_chats();
    }

    /// Forgets the oldest conversations; one that was used since it was queued gets another turn.
    fn forget_chats(&mut self) {
        let mut turns = self.chat_order.len();
        while self.chats.len() > self.limits.chats && turns > 0 {
            turns -= 1;
            let Some((id, queued)) = self.chat_order.pop_front() else { return };
            match self.chats.get(&id) {
                Some(chat) if chat.used > queued => self.chat_order.push_back((id.clone(), chat.used)),
                _ => drop(self.chats.remove(&id)),
            }
        }
    }

    fn remember_key(&mut self, event: &Event) {
        let Some(once) = &event.once else { return };
        let name = (event.sender.clone(), once.key.clone());
        let said = SaidOnce { event: event.id, chat: event.chat.clone(), digest: once.digest, at: event.at };
        if self.keys.insert(name.clone(), said).is_none() {
            self.key_order.push_back(name);
        }
        while let Some(oldest) = self.key_order.front() {
            let is_old = self.keys.get(oldest).is_none_or(|said| self.last.since(said.at) >= self.limits.keys_within);
            if !is_old && self.keys.len() <= self.limits.keys {
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
        let Some(held) = self.events.get_mut(&id) else { return };
        held.life = EventLife::Seen { at };
        if let Some(chat) = self.chats.get_mut(&held.event.chat) {
            chat.unanswered.retain(|event| *event != id);
        }
    }

    /// Takes an event off its queue. Its text stays in the journal alone.
    fn settle_event(&mut self, id: EventId, life: EventLife) {
        let Some(held) = self.events.get_mut(&id).filter(|held| held.life == EventLife::Waiting) else { return };
        dequeue(&mut self.queues, held);
        held.life = life;
        Arc::make_mut(&mut held.event).text = Text::Away;
        self.settled_events.push_back(id);
        while self.settled_events.len() > self.limits.settled_events {
            if let Some(oldest) = self.settled_events.pop_front() {
                self.events.remove(&oldest);
            }
        }
    }

    fn died(&mut self, id: EventId, at: Moment) {
        self.settle_event(id, EventLife::Dead { at });
        if let Some(held) = self.events.get_mut(&id) {
            held.life = EventLife::Dead { at };
        }
    }

    /// Puts a settled event back on the queue where it belongs now. Its text is still in the journal.
    fn requeue(&mut self, id: EventId, at: Moment, attempts: u8) {
        let Some(mut held) = self.events.remove(&id) else { return };
        if held.life != EventLife::Waiting {
            self.settled_events.retain(|settled| *settled != id);
            (held.life, held.redelivered, held.attempts, held.queued) = (EventLife::Waiting, true, attempts, at);
            let stays = held.to.filter(|to| self.session(*to).is_some_and(Session::is_present));
            held.to = stays.or_else(|| self.fallback_session(&held));
            self.queues.entry(held.to).or_default().add(&held);
        }
        self.events.insert(id, held);
    }

    fn attached(&mut self, id: SessionId, about: &SessionAbout, wrote: &[EventId], at: Moment) {
        let before = about.continues.and_then(|before| self.sessions.get(&before));
        let stopped = before.and_then(|before| before.stopped.clone());
        let orders = before.and_then(Session::kept_order).into_iter().cloned().collect();
        let session = Session { id, about: about.clone(), presence: Presence::Attached, since: at, stopped, orders };
        let known = self.sessions.entry(id).or_insert(session);
        known.about = about.clone();
        known.presence = Presence::Attached;
        self.ended.retain(|ended| *ended != id);
        self.wrote(id, wrote, at);
        if let Some(before) = about.continues {
            let unread: Vec<(EventId, u8)> =
                self.unread(before, at).map(|held| (held.event.id, held.attempts)).collect();
            let most = self.limits.redeliveries;
            for (event, attempts) in unread.into_iter().filter(|(_, attempts)| *attempts < most) {
                self.requeue(event, at, attempts + 1);
            }
            self.mark_waiting(before);
            self.reassign(Some(before), |_| Some(id));
        }
        let label = about.label.clone();
        self.reassign(None, |held| match &held.event.address {
            Address::Open => Some(id),
            Address::Label(wanted) => (*wanted == label).then_some(id),
            Address::Session(_) => None,
        });
    }

    /// Moves what waits in one queue to the sessions that `choose` names, keeping the order of arrival.
    fn reassign(&mut self, from: Option<SessionId>, choose: impl Fn(&TrackedEvent) -> Option<SessionId>) {
        let waiting: Vec<EventId> = self.waiting(from, 0).map(|held| held.event.id).collect();
        for id in waiting {
            let Some(to) = self.events.get(&id).and_then(&choose) else { continue };
            self.move_event(id, Some(to));
        }
    }

    fn move_event(&mut self, id: EventId, to: Option<SessionId>) {
        let Some(held) = self.events.get_mut(&id) else { return };
        dequeue(&mut self.queues, held);
        held.to = to;
        self.queues.entry(to).or_default().add(held);
        if let Some(chat) = self.chats.get_mut(&held.event.chat) {
            chat.session = to;
        }
    }

    fn wrote(&mut self, session: SessionId, events: &[EventId], at: Moment) {
        for id in events {
            let Some(held) = self.events.get(id) else { continue };
            let chat = held.event.chat.clone();
            if held.life == EventLife::Waiting && held.to != Some(session) {
                self.move_event(*id, Some(session));
            }
            self.settle_event(*id, EventLife::Delivered { at });
            self.show_chat(&chat, session, *id);
        }
    }

    fn show_chat(&mut self, chat: &ChatId, session: SessionId, event: EventId) {
        let Some(chat) = self.chats.get_mut(chat) else { return };
        remember(&mut chat.shown_to, session);
        remember(&mut chat.unanswered, event);
    }

    fn set_presence(&mut self, id: SessionId, presence: Presence) {
        if let Some(session) = self.sessions.get_mut(&id) {
            session.presence = presence;
        }
    }

    fn ended(&mut self, id: SessionId, goodbye: &Goodbye, at: Moment) {
        self.set_presence(id, Presence::Ended { at });
        self.ended.push_back(id);
        if goodbye.untouched {
            let unread: Vec<(EventId, u8)> = self.unread(id, at).map(|held| (held.event.id, held.attempts)).collect();
            for (event, attempts) in unread {
                self.requeue(event, at, attempts);
            }
        }
        for event in self.mark_waiting(id) {
            let fallback_session = self.events.get(&event).and_then(|held| self.fallback_session(held));
            if fallback_session != Some(id) {
                self.move_event(event, fallback_session);
            }
        }
        while self.ended.len() > self.limits.ended_sessions {
            if let Some(oldest) = self.ended.pop_front() {
                self.sessions.remove(&oldest);
            }
        }
    }

    /// The process that had these in its hands is gone: whether it wrote them before, nobody can tell.
    fn mark_waiting(&mut self, session: SessionId) -> Vec<EventId> {
        let waiting: Vec<EventId> = self.waiting(Some(session), 0).map(|held| held.event.id).collect();
        for event in &waiting {
            if let Some(held) = self.events.get_mut(event) {
                held.redelivered = true;
            }
        }
        waiting
    }

    /// Where an event goes when its session has ended: to one that fits as well, if there is just one.
    fn fallback_session(&self, held: &TrackedEvent) -> Option<SessionId> {
        let fits = |session: &&Session| match &held.event.address {
            Address::Session(_) => false,
            Address::Label(label) => session.about.label == *label,
            Address::Open => true,
        };
        if let Address::Session(id) = held.event.address {
            return self.successor(id).or(held.to);
        }
        let mut heirs = self.sessions().filter(|session| session.is_present()).filter(fits);
        match (heirs.next(), heirs.next()) {
            (Some(only), None) => Some(only.id),
            _ => None,
        }
    }

    fn replied(&mut self, reply: &Reply) {
        self.replies.push_back((self.revision, reply.clone()));
        self.forget_replies();
    }

    fn reply_edited(&mut self, id: ReplyId, text: &Text, at: Moment) {
        let known = self.replies.iter_mut().rev().find(|(_, reply)| reply.id == id);
        let Some((revision, reply)) = known else { return };
        *revision = self.revision;
        (reply.text, reply.edited) = (text.clone(), Some(at));
        self.forget_replies();
    }

    fn forget_replies(&mut self) {
        let mut bytes: usize = self.replies.iter().map(|(_, reply)| reply.text.len()).sum();
        while self.replies.len() > self.limits.replies || bytes > REPLY_BYTES && self.replies.len() > 1 {
            bytes -= self.replies.pop_front().map_or(0, |(_, reply)| reply.text.len());
        }
    }

    fn ordered(&mut self, to: SessionId, id: Option<OrderId>, order: &Order, by: &str, at: Moment) {
        let Some(session) = self.sessions.get_mut(&to) else { return };
        if let Some(id) = id {
            let order = match order {
                Order::Prompt { by, .. } => Order::Prompt { text: Text::Away, by: by.clone() },
                other => other.clone(),
            };
            session.orders.push(TrackedOrder { id, order, by: by.to_owned(), at, outcome: None });
            if session.orders.len() > ORDERS {
                session.orders.remove(0);
            }
        }
        match order {
            Order::Stop { by } => session.stopped = Some(by.clone()),
            Order::Resume => session.stopped = None,
            Order::Prompt { .. } | Order::Interrupt | Order::Mode(_) | Order::Model(_) | Order::End => {}
        }
    }

    fn settle_order(&mut self, session: SessionId, order: OrderId, outcome: OrderOutcome) {
        let Some(session) = self.sessions.get_mut(&session) else { return };
        if let Some(tracked) = session.orders.iter_mut().find(|tracked| tracked.id == order) {
            tracked.outcome.get_or_insert(outcome);
        }
    }

    /// The channel's ask is the hook's from now on, and so is its code.
    fn join(&mut self, preview: AskId, whole: AskId, at: Moment) {
        let Some((ask, _)) = self.asks.get(&preview) else { return };
        let code = ask.code;
        let Some((into, _)) = self.asks.get(&whole) else { return };
        let why = format!("shown whole as prompt {}", into.code);
        self.codes.insert(code, whole);
        self.joined.insert(whole, code);
        self.settle_ask(preview, AskLife::Withdrawn { at, why });
    }

    fn settle_ask(&mut self, id: AskId, life: AskLife) {
        let Some((ask, current)) = self.asks.get_mut(&id) else { return };
        if !current.is_open() {
            return;
        }
        *current = life;
        let bytes = ask.bytes();
        self.open_asks.remove(&id);
        self.settled_asks.push_back(id);
        self.settled_texts.push_back((id, bytes));
        self.settled_bytes += bytes;
        self.forget_asks();
        self.leave_texts_to_the_journal();
    }

    /// Of what was settled first. Who answered, and how, stays.
    fn leave_texts_to_the_journal(&mut self) {
        while self.settled_bytes > self.limits.settled_ask_bytes {
            let Some((oldest, bytes)) = self.settled_texts.pop_front() else { return };
            self.settled_bytes -= bytes;
            if let Some((ask, _)) = self.asks.get_mut(&oldest) {
                ask.leave_texts_to_the_journal();
            }
        }
    }

    /// Frees the codes of asks settled long ago.
    fn forget_asks(&mut self) {
        while let Some(oldest) = self.settled_asks.front().copied() {
            let settled = self.asks.get(&oldest).and_then(|(_, life)| life.settled_at()).unwrap_or_default();
            let young = self.last.since(settled) < self.limits.settled_asks;
            if young && self.settled_asks.len() <= SETTLED_ASKS {
                return;
            }
            self.settled_asks.pop_front();
            if let Some((_, bytes)) = self.settled_texts.pop_front_if(|(id, _)| *id == oldest) {
                self.settled_bytes -= bytes;
            }
            if let Some((ask, _)) = self.asks.remove(&oldest) {
                let also = self.joined.remove(&ask.id);
                for code in also.into_iter().chain([ask.code]) {
                    // A code that was handed on is forgotten with the ask that has it now.
                    if self.codes.get(&code) == Some(&ask.id) {
                        self.codes.remove(&code);
                    }
                }
            }
        }
    }
}

/// Misses of one person, as far back as they count.
pub(super) fn note_miss(misses: &mut BTreeMap<String, VecDeque<Moment>>, by: &str, at: Moment, within: u64) {
    let misses = misses.entry(by.to_owned()).or_default();
    misses.push_back(at);
    misses.retain(|miss| at.since(*miss) < within);
}

impl Queue {
    fn add(&mut self, held: &TrackedEvent) {
        self.events.insert(held.arrival, held.event.id);
        self.bytes += held.size;
    }
}

fn dequeue(queues: &mut BTreeMap<Option<SessionId>, Queue>, held: &TrackedEvent) {
    let Some(queue) = queues.get_mut(&held.to) else { return };
    if queue.events.remove(&held.arrival).is_some() {
        queue.bytes -= held.size;
    }
    if queue.events.is_empty() {
        queues.remove(&held.to);
    }
}

fn remember<T: PartialEq>(list: &mut Vec<T>, item: T) {
    if list.contains(&item) {
        return;
    }
    if list.len() == CHAT_MEMORY {
        list.remove(0);
    }
    list.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Ask, Details, Source};
    use crate::ids::Code;
    use crate::state::Limits;

    #[test]
    fn settled_prompts_hold_so_much_text_and_no_more_and_stay_known() {
        let limits = Limits { settled_ask_bytes: 100, ..Limits::default() };
        let mut state = State::new(limits);
        let asks: Vec<Ask> = (0..20_u8)
            .map(|n| Ask {
                id: AskId::new(Moment(0), n.into()),
                code: Code::from_entropy(n.into()),
                session: SessionId::new(Moment(0), 1),
                source: Source::Hook,
                origin: String::new(),
                tool: "Bash".into(),
                description: Text::new("0123456789"),
                preview: if n == 0 { Text::Erased } else { Text::new("0123456789") },
                details: Box::new(Details { input: Some(Text::new("0123456789")), ..Details::default() }),
                at: Moment(0),
            })
            .collect();
        for ask in &asks {
            state.apply(Moment(1), &Record::Asked { ask: ask.clone() });
        }
        let held = |state: &State| -> usize { asks.iter().map(|ask| state.ask(ask.id).unwrap().0.bytes()).sum() };
        assert_eq!(held(&state), 20 * 30 - 10, "open ones are held whole");
        for ask in &asks {
            state.apply(Moment(2), &Record::Withdrawn { ask: ask.id, why: "w".into() });
        }
        assert_eq!(held(&state), 90, "the last three");
        for ask in &asks {
            assert_eq!(state.ask_by_code(ask.code).unwrap().1.name(), "withdrawn");
        }
        let (oldest, _) = state.ask(asks[0].id).unwrap();
        assert_eq!((&oldest.description, &oldest.preview), (&Text::Away, &Text::Erased));

        let next_day = Moment(2 + state.limits.settled_asks);
        state.apply(next_day, &Record::Asked { ask: Ask { id: AskId::new(Moment(0), 99), ..asks[0].clone() } });
        state.apply(next_day, &Record::Withdrawn { ask: AskId::new(Moment(0), 99), why: "w".into() });
        assert_eq!((state.asks().count(), state.settled_bytes, state.settled_texts.len()), (1, 20, 1));
    }
}
