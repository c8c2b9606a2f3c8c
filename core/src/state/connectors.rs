//! What the records tell of connectors: how far each has come, and who writes in which of its conversations.

use std::collections::{BTreeMap, VecDeque};

use super::State;
use super::snapshot::saved_structs;
use crate::connector::{ConnectorName, Identity, SentAbout, SentMessage};
use crate::event::{ChatId, Event};
use crate::people::{Right, Via};

/// Conversations that one connector is remembered to have.
const CHATS: usize = 10_000;
/// People remembered of one conversation, the latest.
const WRITERS: usize = 64;
/// Messages that can still be changed on one platform, the latest.
const MESSAGES: usize = 4_000;

/// What is known of one connector.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connected {
    /// Its platform has taken everything that was for it up to this position of the journal. None before the first record
    /// of that.
    pub position: Option<u64>,
    chats: BTreeMap<ChatId, Writers>,
    /// The conversations by their last use, so that the oldest can be forgotten.
    chat_order: BTreeMap<u64, ChatId>,
    /// The platform's own names for messages, by what each tells of and to whom.
    messages: BTreeMap<(SentAbout, Option<String>), String>,
    message_order: VecDeque<(SentAbout, Option<String>)>,
}

/// Those who wrote in a conversation, and when it was last used.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Writers {
    people: Vec<String>,
    used: u64,
}

saved_structs! {
    Connected { position, chats, chat_order, messages, message_order }
    Writers { people, used }
}

impl Connected {
    /// The platform's own name for the message that told someone of something first.
    pub fn message(&self, about: SentAbout, user: Option<&str>) -> Option<&str> {
        self.messages.get(&(about, user.map(str::to_owned))).map(String::as_str)
    }

    fn sent(&mut self, sent: &SentMessage) {
        let key = (sent.about, sent.user.clone());
        if self.messages.contains_key(&key) {
            return;
        }
        self.messages.insert(key.clone(), sent.message.clone());
        self.message_order.push_back(key);
        if self.messages.len() > MESSAGES
            && let Some(oldest) = self.message_order.pop_front()
        {
            self.messages.remove(&oldest);
        }
    }

    fn note_writer(&mut self, chat: &ChatId, person: &str, now: u64) {
        let writers = self.chats.entry(chat.clone()).or_default();
        self.chat_order.remove(&writers.used);
        writers.used = now;
        writers.people.retain(|known| known != person);
        if writers.people.len() == WRITERS {
            writers.people.remove(0);
        }
        writers.people.push(person.to_owned());
        self.chat_order.insert(now, chat.clone());
        if self.chats.len() > CHATS
            && let Some((_, oldest)) = self.chat_order.pop_first()
        {
            self.chats.remove(&oldest);
        }
    }
}

impl State {
    /// Whether someone who wrote in a conversation of a connector is still let in there: else nobody is to be told.
    pub fn is_served(&self, connector: &ConnectorName, chat: &ChatId) -> bool {
        let writers = self.connector(connector).and_then(|connected| connected.chats.get(chat));
        let is_in = |name: &String| {
            let person = self.person(name);
            person.is_some_and(|person| person.identities.iter().any(|identity| identity.platform() == connector))
        };
        writers.is_some_and(|writers| writers.people.iter().any(is_in))
    }

    /// Those on a platform who may answer prompts.
    pub fn reviewers_on(&self, connector: &ConnectorName) -> impl Iterator<Item = &Identity> {
        let reviewers = self.people().filter(|(_, person)| person.role.rights().has(Right::Review));
        let identities = reviewers.flat_map(|(_, person)| &person.identities);
        identities.filter(move |identity| identity.platform() == connector)
    }

    /// The connector whose conversation this is by its name, if it ever ran.
    pub(crate) fn connector_of(&self, chat: &ChatId) -> Option<&ConnectorName> {
        self.connectors.keys().find(|name| name.own_chat(chat).is_some())
    }

    pub(super) fn note_connector_writer(&mut self, event: &Event) {
        if let Via::Connector(name) = &event.via {
            let now = self.revision;
            self.connectors.entry(name.clone()).or_default().note_writer(&event.chat, &event.sender, now);
        }
    }

    pub(super) fn taken(&mut self, connector: &ConnectorName, position: u64, messages: &[SentMessage]) {
        let connected = self.connectors.entry(connector.clone()).or_default();
        connected.position = connected.position.max(Some(position));
        for sent in messages {
            connected.sent(sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_conversation_is_forgotten_first_and_one_in_use_is_not() {
        let mut connected = Connected::default();
        let chat = |number: usize| ChatId::new(&number.to_string()).unwrap();
        for number in 0..CHATS + 5 {
            connected.note_writer(&chat(number), "ann", 2 * number as u64 + 1);
            connected.note_writer(&chat(0), "bob", 2 * number as u64 + 2);
        }
        assert_eq!((connected.chats.len(), connected.chat_order.len()), (CHATS, CHATS));
        assert_eq!(connected.chats[&chat(0)].people, ["ann", "bob"]);
        assert!(!connected.chats.contains_key(&chat(1)) && connected.chats.contains_key(&chat(CHATS + 4)));
    }

    #[test]
    fn no_more_messages_and_people_are_remembered_than_fit() {
        let mut state = State::default();
        let name = ConnectorName::new("ops").unwrap();
        let about = |number: usize| SentAbout::Ask(crate::AskId::new(crate::Moment(0), number as u128));
        for number in 0..MESSAGES + 3 {
            let sent = SentMessage { about: about(number), user: None, message: number.to_string() };
            state.taken(&name, 0, &[sent.clone(), SentMessage { message: "again".into(), ..sent }]);
        }
        let connected = state.connector(&name).unwrap();
        assert_eq!((connected.messages.len(), connected.message_order.len()), (MESSAGES, MESSAGES));
        assert_eq!((connected.message(about(2), None), connected.message(about(3), None)), (None, Some("3")));
        assert_eq!(connected.message(about(3), Some("u")), None);

        let mut connected = Connected::default();
        let chat = ChatId::new("c").unwrap();
        for number in 0..WRITERS + 1 {
            connected.note_writer(&chat, &number.to_string(), number as u64);
        }
        assert_eq!(connected.chats[&chat].people.len(), WRITERS);
        assert_eq!(connected.chats[&chat].people[0], "1");
    }
}
