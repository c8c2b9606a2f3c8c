//! What goes out: which records concern a connector, and what is told of them to whom.

use std::fmt;
use std::str::FromStr;

use portcullis_core::{
    Ask, AskId, AskLife, ChatId, ConnectorName, Identity, Moment, Record, Reply, ReplyId, Role, SentAbout, SessionId,
    State, Subject, Text,
};

use crate::hub::run::read_record;
use crate::hub::{Hub, Trouble};
use crate::store::{Seq, Stored};

/// One thing that the platform is to be told. It may come again after a crash, under the same id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) id: ItemId,
    pub(crate) to: Recipient,
    /// The platform's own name for the message that told of it first, where it gave one.
    pub(crate) message: Option<String>,
    pub(crate) what: ItemContent,
}

/// The place of the record in the journal, and the user where several are told of it. Stays the same for ever.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ItemId {
    pub(super) seq: Seq,
    pub(super) user: Option<String>,
}

/// Where an item goes, in the platform's own names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Recipient {
    Chat(String),
    /// To the user alone, where nobody else reads it.
    User(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ItemContent {
    Reply(Reply),
    /// The text that stands in the place of a reply from now on.
    Edit {
        reply: ReplyId,
        text: Text,
    },
    Prompt {
        ask: Box<Ask>,
        /// Of its session.
        label: String,
        /// How it is by now: only an open one can still be answered.
        state: &'static str,
    },
    /// What became of a prompt.
    Progress {
        ask: Box<Ask>,
        life: AskLife,
    },
    /// The user was let in.
    Paired {
        name: String,
        role: Role,
    },
}

impl fmt::Display for ItemId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            None => write!(f, "{}", self.seq.0),
            Some(user) => write!(f, "{}@{user}", self.seq.0),
        }
    }
}

/// The text is no id of an item.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotAnItem;

impl FromStr for ItemId {
    type Err = NotAnItem;

    fn from_str(text: &str) -> Result<Self, NotAnItem> {
        let (seq, user) = text.split_once('@').map_or((text, None), |(seq, user)| (seq, Some(user.to_owned())));
        Ok(Self { seq: Seq(seq.parse().map_err(|_| NotAnItem)?), user })
    }
}

/// Whether a record is of a kind that goes out, told without reading it: most are not.
pub(super) fn may_go_out(stored: &Stored) -> bool {
    let kind = |kind: &str| stored.body.strip_prefix(b"{\"").is_some_and(|body| body.starts_with(kind.as_bytes()));
    match stored.subject.split('/').next() {
        Some("ask") => !kind("carried\""),
        Some("session") => kind("replied\"") || kind("reply_edited\""),
        Some("person") => kind("identity_linked\""),
        _ => false,
    }
}

pub(super) fn concerns(record: &Record, connector: &ConnectorName) -> bool {
    match record {
        // What was erased cannot be told any more.
        Record::Replied { reply: Reply { chat, text, .. } } | Record::ReplyEdited { chat, text, .. } => {
            connector.own_chat(chat).is_some() && *text != Text::Erased
        }
        Record::IdentityLinked { identity, .. } => identity.platform() == connector,
        _ => matches!(record.subject(), Subject::Ask(_)),
    }
}

/// What the messages of a record tell of.
pub(super) fn about(record: &Record) -> Option<SentAbout> {
    match (record, record.subject()) {
        (Record::Replied { reply: Reply { id, .. } } | Record::ReplyEdited { reply: id, .. }, _) => {
            Some(SentAbout::Reply(*id))
        }
        (_, Subject::Ask(ask)) => Some(SentAbout::Ask(ask)),
        _ => None,
    }
}

/// The items of a record, for those whom it concerns now: who was shown out since is told nothing.
pub(super) async fn of_record(
    hub: &Hub,
    connector: &ConnectorName,
    seq: Seq,
    record: &Record,
) -> Result<Vec<Item>, Trouble> {
    let connector = connector.clone();
    match (record.clone(), record.subject()) {
        (Record::Replied { reply }, _) => hub.look(move |state| of_reply(state, &connector, seq, reply)).await,
        (Record::ReplyEdited { reply, chat, text, .. }, _) => {
            hub.look(move |state| of_edit(state, &connector, (seq, &chat), reply, text)).await
        }
        (Record::IdentityLinked { identity, name, .. }, _) => {
            hub.look(move |state| of_pairing(state, seq, &identity, name)).await
        }
        (_, Subject::Ask(id)) => {
            let Some((ask, life)) = ask_as_of(hub, id, seq).await? else { return Ok(vec![]) };
            hub.look(move |state| of_ask(state, &connector, seq, &ask, &life)).await
        }
        _ => Ok(vec![]),
    }
}

fn of_reply(state: &State, connector: &ConnectorName, seq: Seq, reply: Reply) -> Vec<Item> {
    let Some(chat) = connector.own_chat(&reply.chat).filter(|_| state.is_served(connector, &reply.chat)) else {
        return vec![];
    };
    let (id, to) = (ItemId { seq, user: None }, Recipient::Chat(chat.to_owned()));
    vec![Item { id, to, message: None, what: ItemContent::Reply(reply) }]
}

fn of_edit(
    state: &State,
    connector: &ConnectorName,
    (seq, chat): (Seq, &ChatId),
    reply: ReplyId,
    text: Text,
) -> Vec<Item> {
    let Some(own) = connector.own_chat(chat).filter(|_| state.is_served(connector, chat)) else { return vec![] };
    let (id, to) = (ItemId { seq, user: None }, Recipient::Chat(own.to_owned()));
    let before = state.connector(connector).and_then(|known| known.message(SentAbout::Reply(reply), None));
    vec![Item { id, to, message: before.map(str::to_owned), what: ItemContent::Edit { reply, text } }]
}

fn of_pairing(state: &State, seq: Seq, identity: &Identity, name: String) -> Vec<Item> {
    let Some((_, person)) = state.person_of(identity).filter(|(now, _)| **now == name) else { return vec![] };
    let user = identity.user().to_owned();
    let (id, role) = (ItemId { seq, user: Some(user.clone()) }, person.role);
    vec![Item { id, to: Recipient::User(user), message: None, what: ItemContent::Paired { name, role } }]
}

/// Everyone on the platform who may answer is told, each alone.
fn of_ask(state: &State, connector: &ConnectorName, seq: Seq, ask: &Ask, life: &AskLife) -> Vec<Item> {
    let what = match life {
        AskLife::Open { votes } if votes.is_empty() => {
            let now = state.ask(ask.id).map_or("settled", |(_, life)| life.name());
            ItemContent::Prompt { ask: Box::new(ask.clone()), label: label_of(state, ask.session), state: now }
        }
        life if portcullis_wire::text::progress(ask, life).is_none() => return vec![],
        life => ItemContent::Progress { ask: Box::new(ask.clone()), life: life.clone() },
    };
    let item = |identity: &Identity| {
        let user = identity.user();
        let before = state.connector(connector).and_then(|known| known.message(SentAbout::Ask(ask.id), Some(user)));
        Item {
            id: ItemId { seq, user: Some(user.to_owned()) },
            to: Recipient::User(user.to_owned()),
            message: before.map(str::to_owned),
            what: what.clone(),
        }
    };
    state.reviewers_on(connector).map(item).collect()
}

/// A session that is forgotten is told by its id.
fn label_of(state: &State, session: SessionId) -> String {
    state.label_of(Some(session)).map_or_else(|| session.to_string(), |label| label.to_string())
}

/// An ask as it was when a record of it had been written: the journal has all of it, also when the gate has forgotten it.
async fn ask_as_of(hub: &Hub, id: AskId, seq: Seq) -> Result<Option<(Ask, AskLife)>, Trouble> {
    let mut state = State::default();
    for stored in hub.story(Subject::Ask(id)).await?.iter().filter(|stored| stored.seq <= seq) {
        let record = read(stored)?;
        if let Record::Joined { into, .. } = &record {
            // It is told by the code of the other.
            for stored in hub.story(Subject::Ask(*into)).await?.iter().take(1) {
                state.apply(Moment(stored.at), &read(stored)?);
            }
        }
        state.apply(Moment(stored.at), &record);
    }
    Ok(state.ask(id).cloned())
}

fn read(stored: &Stored) -> Result<Record, Trouble> {
    read_record(stored).map_err(|error| Trouble::Journal(format!("{error:#}")))
}
