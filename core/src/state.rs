//! The state of the gate: the sum of its records, and nothing that is not in them.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use crate::ask::{Ask, AskLife, UnaskedCall};
use crate::connector::{ConnectorName, Identity};
use crate::event::{ChatId, EventLife, Label, Reply, TrackedEvent};
use crate::few::Few;
use crate::ids::{AskId, Code, EventId, Moment, ReplyId, SessionId, TokenId};
use crate::input::{Notice, Topic};
use crate::people::{Pairing, Person, Role, Token, TokenScope};
use crate::record::Subject;
use crate::session::{Session, SessionAbout};

mod activity;
mod apply;
mod asks;
mod connectors;
mod deadlines;
mod editors;
mod implied_moves;
mod labels;
mod limits;
mod outside;
mod people;
mod projects;
mod sessions;
mod snapshot;

pub use limits::Limits;
pub(crate) use limits::StateMemory;
pub use snapshot::SubjectEnds;

/// The only item, if there is just one.
fn only<T>(mut items: impl Iterator<Item = T>) -> Option<T> {
    let first = items.next()?;
    items.next().is_none().then_some(first)
}

/// A conversation: who may read its replies, and which sessions were shown it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chat {
    /// The person who opened it.
    pub owner: String,
    /// The person with whose credential an agent opened it: it listens as that person.
    pub credential: Option<String>,
    /// Where its next event goes.
    pub session: Option<SessionId>,
    /// Sessions that were given one of its events, and so may reply.
    pub shown_to: Few<SessionId>,
    /// Delivered events that no reply has answered yet.
    pub unanswered: Few<EventId>,
    pub used: Moment,
}

/// The event that a sender sent with an idempotency key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UsedKey {
    pub(crate) event: EventId,
    pub(crate) chat: ChatId,
    pub(crate) digest: [u8; 32],
    at: Moment,
}

/// A queue holds events in the order of their arrival, and counts their bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Queue {
    events: BTreeMap<u64, EventId>,
    bytes: usize,
}

/// The revisions of those records of an ask that hold what someone wrote, and count.
#[derive(Clone, Debug, PartialEq, Eq)]
struct AskRecords {
    asked: u64,
    /// Of its votes, in their order.
    votes: Vec<u64>,
    answered: Option<u64>,
}

/// A reply, and the revisions at which it was said and last changed.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeptReply {
    said: u64,
    changed: u64,
    reply: Reply,
}

pub use connectors::Connected;
pub use editors::TrustedEditor;
use labels::LabelMemory;
pub use projects::DefaultMode;
use sessions::KnownSessions;

/// The state of the gate. Only [`State::apply`] changes it; it is rebuilt from the journal at start.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct State {
    /// For `decide` alone.
    limits: Limits,
    memory: StateMemory,
    /// How many records made this state. Names a change for those who watch.
    revision: u64,
    /// When the last record was written. Time never runs backwards past it.
    last: Moment,
    sessions: KnownSessions,
    /// Ended sessions still remembered, oldest first.
    ended: VecDeque<SessionId>,
    labels: LabelMemory,
    events: BTreeMap<EventId, TrackedEvent>,
    /// What waits for each session; under none, what waits for a session to come.
    queues: BTreeMap<Option<SessionId>, Queue>,
    arrivals: u64,
    /// Events no longer waiting, oldest first, so that the oldest can be forgotten.
    settled_events: VecDeque<EventId>,
    /// Conversations with text from outside before their model. They outlive their sessions, for they may be resumed.
    outside: outside::GuardedConversations,
    asks: BTreeMap<AskId, (Ask, AskLife)>,
    /// Where the journal has what was written about each of the asks.
    ask_records: BTreeMap<AskId, AskRecords>,
    open_asks: BTreeSet<AskId>,
    /// Answered asks whose source has yet to tell what came of the verdict, and in time.
    awaiting: BTreeSet<AskId>,
    /// Answered asks whose source should have told, and has not.
    unconfirmed: BTreeSet<AskId>,
    /// Codes of open and recently settled asks: none of them is given out again.
    codes: BTreeMap<Code, AskId>,
    settled_asks: VecDeque<AskId>,
    /// The last calls that ran although people had to be asked, newest last.
    unasked_calls: VecDeque<UnaskedCall>,
    /// Settled asks whose text is held, oldest first, with its length, and all the lengths together.
    settled_texts: VecDeque<(AskId, usize)>,
    settled_bytes: usize,
    /// Hook asks that stand for a channel's as well, with the code that one was shown under.
    joined: BTreeMap<AskId, Code>,
    /// When the gate last started: what was open then has a little longer.
    opened: Moment,
    chats: HashMap<ChatId, Chat>,
    /// Chats in the order they may be forgotten, each with its use when it was put here.
    chat_order: VecDeque<(ChatId, Moment)>,
    /// The number of the last conversation that nobody named.
    numbered_chats: u64,
    /// By sender and key, so that one sender's keys never meet another's.
    keys: BTreeMap<(String, String), UsedKey>,
    key_order: VecDeque<(String, String)>,
    misses: BTreeMap<String, VecDeque<Moment>>,
    people: BTreeMap<String, Person>,
    tokens: BTreeMap<TokenId, Token>,
    /// The role that a person had when each of their tokens was made.
    token_roles: BTreeMap<TokenId, Role>,
    /// By folder. Changed by admins; few enough to be looked through.
    default_modes: BTreeMap<String, DefaultMode>,
    /// Editors that a person has said are theirs, oldest first.
    trusted_editors: VecDeque<TrustedEditor>,
    pairings: Vec<Pairing>,
    pairing_misses: BTreeMap<String, VecDeque<Moment>>,
    /// What is known of each connector that ever ran.
    connectors: BTreeMap<ConnectorName, Connected>,
    /// The newest replies in the order they were said, for those who reconnect.
    replies: VecDeque<KeptReply>,
}

/// A clock that is set right by a server moves by seconds. By more than this many milliseconds, it was wrong before.
const MOST_AHEAD: u64 = 60_000;

impl State {
    pub fn new(limits: Limits) -> Self {
        Self { limits, ..Self::default() }
    }

    /// A state that remembers less, so that tests see it forget.
    #[cfg(test)]
    pub(crate) fn with_memory(limits: Limits, memory: StateMemory) -> Self {
        Self { limits, memory, ..Self::default() }
    }

    #[cfg(test)]
    pub(crate) fn set_limits(&mut self, limits: Limits) {
        self.limits = limits;
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The later of the clock and the last record, unless that is so far ahead that the clock must have been wrong then.
    pub fn no_earlier(&self, clock: Moment) -> Moment {
        if self.was_ahead_of(clock).is_some() { clock } else { clock.max(self.last) }
    }

    /// When the last record was written, if the clock has gone back further than clocks do by themselves.
    pub fn was_ahead_of(&self, clock: Moment) -> Option<Moment> {
        (self.last.since(clock) > MOST_AHEAD).then_some(self.last)
    }

    /// Sessions that have not ended.
    pub fn sessions(&self) -> impl Iterator<Item = &Session> {
        self.all_sessions().filter(|session| !session.has_ended())
    }

    pub fn all_sessions(&self) -> impl Iterator<Item = &Session> {
        self.sessions.values()
    }

    /// Sessions that have not ended, and have the label or wanted it.
    pub(crate) fn sessions_labelled(&self, label: &Label) -> impl Iterator<Item = &Session> {
        self.sessions.labelled(label)
    }

    pub fn session(&self, id: SessionId) -> Option<&Session> {
        self.sessions.get(id)
    }

    /// The living session that goes on from an ended one.
    pub fn successor(&self, id: SessionId) -> Option<SessionId> {
        self.sessions().find(|session| session.about.continues == Some(id)).map(|session| session.id)
    }

    pub fn event(&self, id: EventId) -> Option<&TrackedEvent> {
        self.events.get(&id)
    }

    /// Every event the gate remembers, newest last.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &TrackedEvent> {
        self.events.values()
    }

    /// Whether a prompt is open that someone with this scope has to do with.
    pub fn prompts_are_open(&self, scope: &TokenScope) -> bool {
        match scope {
            TokenScope::Everything => !self.open_asks.is_empty(),
            scope => self.open_asks().any(|ask| self.is_in_scope(Some(ask.session), scope)),
        }
    }

    /// What waits for a session (or for one to come) from an arrival on, in order.
    pub fn waiting(&self, session: Option<SessionId>, from: u64) -> impl Iterator<Item = &TrackedEvent> {
        let queue = self.queues.get(&session);
        queue.into_iter().flat_map(move |queue| queue.events.range(from..)).filter_map(|(_, id)| self.events.get(id))
    }

    /// All that waits, for any session and for none.
    pub fn all_waiting(&self) -> impl Iterator<Item = &TrackedEvent> {
        self.queues.keys().flat_map(|session| self.waiting(*session, 0))
    }

    /// How many events have arrived so far. The last has this number.
    pub fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// How many events, and how many bytes of text, wait for a session or for one to come.
    pub fn waiting_size(&self, session: Option<SessionId>) -> (usize, usize) {
        self.queues.get(&session).map_or((0, 0), |queue| (queue.events.len(), queue.bytes))
    }

    pub fn waiting_total(&self) -> usize {
        self.queues.values().map(|queue| queue.events.len()).sum()
    }

    pub fn ask(&self, id: AskId) -> Option<&(Ask, AskLife)> {
        self.asks.get(&id)
    }

    pub fn ask_by_code(&self, code: Code) -> Option<&(Ask, AskLife)> {
        self.codes.get(&code).and_then(|id| self.asks.get(id))
    }

    /// Open and recently settled asks, newest last.
    pub fn asks(&self) -> impl Iterator<Item = &(Ask, AskLife)> {
        self.asks.values()
    }

    pub fn open_asks(&self) -> impl Iterator<Item = &Ask> {
        self.open_asks.iter().filter_map(|id| self.asks.get(id)).map(|(ask, _)| ask)
    }

    /// Asks that someone should look at: nobody has answered them, or nothing shows that the client took the answer.
    pub fn listed_asks(&self) -> impl Iterator<Item = &(Ask, AskLife)> {
        let is_present = |ask: &Ask| self.session(ask.session).is_some_and(Session::is_present);
        let unconfirmed = self.unconfirmed.iter().filter_map(|id| self.asks.get(id));
        let open = self.open_asks.iter().filter_map(|id| self.asks.get(id));
        open.chain(unconfirmed.filter(move |(ask, _)| is_present(ask)))
    }

    /// The last calls that ran although a person had to be asked, newest last.
    pub fn unasked_calls(&self) -> impl Iterator<Item = &UnaskedCall> {
        self.unasked_calls.iter()
    }

    /// Whether someone may still answer this ask: its process hears of it, and has not been sent another answer.
    pub fn is_answerable(&self, ask: &Ask, life: &AskLife) -> bool {
        let is_present = self.session(ask.session).is_some_and(Session::is_present);
        is_present && (life.is_open() || life.is_replaceable())
    }

    pub fn open_asks_of(&self, session: SessionId) -> impl Iterator<Item = &Ask> {
        self.open_asks().filter(move |ask| ask.session == session)
    }

    pub fn chat(&self, id: &ChatId) -> Option<&Chat> {
        self.chats.get(id)
    }

    /// The name for a conversation that nobody named.
    pub(crate) fn next_chat(&self) -> Option<ChatId> {
        (self.numbered_chats + 1..).map(ChatId::numbered).find(|chat| !self.chats.contains_key(chat))
    }

    /// One of the newest replies.
    pub fn reply(&self, id: ReplyId) -> Option<&Reply> {
        self.replies.iter().rev().map(|kept| &kept.reply).find(|reply| reply.id == id)
    }

    /// Whether a session is another one, or goes on from it, over however many processes.
    pub(crate) fn continues(&self, session: SessionId, before: SessionId) -> bool {
        let mut at = Some(session);
        for _ in 0..=self.sessions.len() {
            match at {
                Some(id) if id == before => return true,
                Some(id) => at = self.session(id).and_then(|known| known.about.continues),
                None => return false,
            }
        }
        false
    }

    /// The newest replies that were said or changed since a revision, in the order they were said. Each comes with the
    /// revision of its last change.
    pub fn replies_after(&self, revision: u64) -> impl Iterator<Item = (u64, &Reply)> {
        self.replies.iter().filter(move |kept| kept.changed > revision).map(|kept| (kept.changed, &kept.reply))
    }

    pub fn reply_notice(&self, reply: &Reply) -> Notice {
        let chat = self.chats.get(&reply.chat);
        let owners = chat.map(|chat| [Some(chat.owner.clone()), chat.credential.clone()]);
        let owners = owners.into_iter().flatten().flatten().collect();
        Notice::Replied { owners, wanted_label: self.wanted_label_of(Some(reply.session)), reply: reply.clone() }
    }

    pub fn label_of(&self, session: Option<SessionId>) -> Option<Label> {
        Some(self.session(session?)?.label.clone())
    }

    /// The label by which tokens are limited to the session.
    pub fn wanted_label_of(&self, session: Option<SessionId>) -> Option<Label> {
        Some(self.session(session?)?.about.label.clone())
    }

    /// Whether someone with this scope has to do with a session. With one that is forgotten, or still to come, only those
    /// do who have to do with all.
    pub fn is_in_scope(&self, session: Option<SessionId>, scope: &TokenScope) -> bool {
        self.wanted_label_of(session).map_or(*scope == TokenScope::Everything, |label| scope.covers(&label))
    }

    /// When the person may try a code again, if they have missed too often.
    pub(crate) fn blocked_until(&self, person: &str, now: Moment) -> Option<Moment> {
        self.too_many(self.misses.get(person)?, now)
    }

    pub(crate) fn pairing_blocked_until(&self, person: &str, now: Moment) -> Option<Moment> {
        self.too_many(self.pairing_misses.get(person)?, now)
    }

    fn too_many(&self, misses: &VecDeque<Moment>, now: Moment) -> Option<Moment> {
        let window = self.memory.miss_window;
        let recent: Vec<Moment> = misses.iter().copied().filter(|miss| now.since(*miss) < window).collect();
        let first_that_counts = recent.len().checked_sub(self.limits.misses)?;
        recent.get(first_that_counts).map(|miss| miss.plus(window))
    }

    pub fn person(&self, name: &str) -> Option<&Person> {
        self.people.get(name)
    }

    pub fn people(&self) -> impl Iterator<Item = (&String, &Person)> {
        self.people.iter()
    }

    /// The person with this identity; none is a stranger.
    pub fn person_of(&self, identity: &Identity) -> Option<(&String, &Person)> {
        self.people.iter().find(|(_, person)| person.identities.contains(identity))
    }

    /// What is known of a connector; none when it never ran.
    pub fn connector(&self, name: &ConnectorName) -> Option<&Connected> {
        self.connectors.get(name)
    }

    pub fn token(&self, id: TokenId) -> Option<&Token> {
        self.tokens.get(&id)
    }

    /// Every token that was not revoked, also those that have expired.
    pub fn tokens(&self) -> impl Iterator<Item = &Token> {
        self.tokens.values()
    }

    /// Strangers whose codes still count.
    pub fn open_pairings(&self, now: Moment) -> impl Iterator<Item = &Pairing> {
        self.pairings.iter().filter(move |pairing| now.since(pairing.since) < self.memory.pairing_lifetime)
    }

    /// The session of the same agent that this one goes on from: its process is gone, and the agent's own id is the same.
    pub(crate) fn predecessor(&self, session: SessionId, about: &SessionAbout) -> Option<SessionId> {
        let agent = about.agent_session.as_ref()?;
        let same = self.sessions.values().filter(|other| other.about.agent_session.as_ref() == Some(agent));
        let gone = same.filter(|other| other.id != session && !other.is_attached());
        gone.max_by_key(|other| other.since).map(|other| other.id)
    }

    /// Events that were written to a session in the last milliseconds and that nothing shows to have been read.
    pub(crate) fn unread(&self, session: SessionId, now: Moment, window: u64) -> impl Iterator<Item = &TrackedEvent> {
        self.settled_events.iter().filter_map(|id| self.events.get(id)).filter(move |tracked| match tracked.life {
            EventLife::Delivered { at } => tracked.to == Some(session) && now.since(at) < window,
            _ => false,
        })
    }

    /// Whether this sender has sent an event under this idempotency key.
    pub fn knows_key(&self, sender: &str, key: &str, now: Moment) -> bool {
        self.used_key(sender, key, now).is_some()
    }

    pub(crate) fn used_key(&self, sender: &str, key: &str, now: Moment) -> Option<&UsedKey> {
        let said = self.keys.get(&(sender.to_owned(), key.to_owned()))?;
        (now.since(said.at) < self.memory.key_lifetime).then_some(said)
    }

    /// The present state of a topic, for those who watch.
    pub fn notice(&self, topic: Topic) -> Option<Notice> {
        match topic {
            Topic::Session(id) => {
                let session = self.session(id)?.clone();
                Some(Notice::Session {
                    session,
                    waiting: self.waiting_size(Some(id)).0,
                    asks: self.open_asks_of(id).count(),
                })
            }
            Topic::Event(id) => {
                let mut tracked = self.event(id)?.clone();
                Arc::make_mut(&mut tracked.event).put_away();
                Some(Notice::Event { wanted_label: self.wanted_label_of(tracked.to), event: tracked })
            }
            Topic::Ask(id) => {
                let (ask, life) = self.ask(id)?.clone();
                let session = self.session(ask.session)?;
                let (label, wanted_label) = (session.label.clone(), session.about.label.clone());
                Some(Notice::Ask { ask, life, label, wanted_label })
            }
            Topic::Reply(id) => Some(self.reply_notice(self.reply(id)?)),
            Topic::People => Some(Notice::People),
        }
    }

    /// Whether anything about a subject is in this state, so that a decision may rest on it.
    pub fn knows(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Gate | Subject::Person(_) | Subject::Pairing(_) | Subject::Connector(_) | Subject::Project(_) => {
                true
            }
            Subject::Event(id) => self.events.contains_key(id),
            Subject::Session(id) => self.session(*id).is_some(),
            Subject::Ask(id) => self.asks.contains_key(id),
        }
    }

    /// Whether an event is still to be written to its session.
    pub(crate) fn is_waiting(&self, id: EventId) -> bool {
        self.event(id).is_some_and(|tracked| tracked.life == EventLife::Waiting)
    }
}
