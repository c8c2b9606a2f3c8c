//! A record is something that happened. The journal keeps it for ever, and a state is made of records alone.

use std::fmt;
use std::sync::Arc;

use crate::ask::{Ask, CallOutcome, ToolCall};
use crate::connector::{ConnectorName, Identity, SentMessage};
use crate::event::{ChatId, DeliveryWay, Event, Label, Reply, Text};
use crate::ids::{AskId, EventId, OrderId, PairingCode, ReplyId, SessionId, TokenId};
use crate::names::names;
use crate::people::{Pairing, Role, Token};
use crate::policy::Mode;
use crate::session::{Goodbye, Order, SessionAbout};
use crate::verdict::Verdict;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A gate started: whoever was attached to the one before is expected back.
    Opened {
        version: String,
    },
    /// The clock went back, further than clocks do by themselves.
    ClockSet {
        /// As late as it was by the record before.
        was: u64,
    },
    Received {
        event: Arc<Event>,
        to: Option<SessionId>,
    },
    /// The model opened the event, answered its conversation, or ended the turn that brought it.
    Seen {
        event: EventId,
    },
    EventExpired {
        event: EventId,
    },
    /// A process attached for the session, and had by then written these events to the agent.
    Attached {
        session: SessionId,
        about: SessionAbout,
        /// The label it was given. None in journals of 0.1.0: there it has the label it wanted.
        label: Option<Label>,
        wrote: Vec<EventId>,
        moves: Moves,
    },
    /// The session's process wrote these events whole to the agent.
    Wrote {
        session: SessionId,
        events: Vec<EventId>,
        /// None where it was not told.
        way: Option<DeliveryWay>,
    },
    Lost {
        session: SessionId,
    },
    Ended {
        session: SessionId,
        goodbye: Goodbye,
        moves: Moves,
    },
    /// Waiting events were put on the queue of another session, or of none, when `session` attached or ended.
    Moved {
        session: SessionId,
        events: Vec<EventId>,
        to: Option<SessionId>,
        /// The process that had them is gone, and may have written them.
        redelivered: bool,
    },
    /// Events that were written wait again, because nothing shows that the model read them when `session` attached or
    /// ended.
    Requeued {
        session: SessionId,
        events: Vec<EventId>,
        to: Option<SessionId>,
        /// How many processes were given them and ended.
        attempts: u8,
    },
    Replied {
        reply: Reply,
    },
    /// The session put another text in the place of one of its replies.
    ReplyEdited {
        session: SessionId,
        reply: ReplyId,
        chat: ChatId,
        text: Text,
    },
    Asked {
        ask: Ask,
    },
    Answered {
        ask: AskId,
        verdict: Verdict,
    },
    /// One of several who must agree said allow.
    Voted {
        ask: AskId,
        verdict: Verdict,
    },
    /// The session's process wrote the verdict to the agent.
    Carried {
        ask: AskId,
    },
    Withdrawn {
        ask: AskId,
        why: String,
    },
    /// Nobody answered in time, and that decided nothing.
    AskExpired {
        ask: AskId,
    },
    /// The ask is the other one, which has the call whole.
    Joined {
        ask: AskId,
        into: AskId,
    },
    /// Nothing showed in time that the client took the verdict.
    NotConfirmed {
        ask: AskId,
    },
    /// What the ask was about ran, or was kept from it.
    OutcomeReported {
        ask: AskId,
        outcome: CallOutcome,
        differs: bool,
    },
    /// A tool of the agent ran, or was kept from it.
    Called {
        session: SessionId,
        call: ToolCall,
    },
    Described {
        session: SessionId,
        about: SessionAbout,
        /// Another label than before: the agent turned out to go on with a session that had it.
        label: Option<Label>,
    },
    /// Text from someone who may not direct the session is before its model: the outside guard is up.
    OutsideRead {
        session: SessionId,
        sender: String,
    },
    /// The outside guard is down again: a person who may direct the session has spoken, or its conversation was cleared.
    OutsideEnded {
        session: SessionId,
        by: String,
    },
    /// Someone wants the session to do something. Journals of 0.1.0 have orders without an id.
    Ordered {
        session: SessionId,
        id: Option<OrderId>,
        order: Order,
        by: String,
    },
    /// The session's process did what was ordered.
    OrderDone {
        session: SessionId,
        order: OrderId,
    },
    /// The session's process could not do what was ordered, or refused to.
    OrderFailed {
        session: SessionId,
        order: OrderId,
        why: String,
    },
    /// Sessions in this folder and below that name no mode start in this one from now on; none: as configured again.
    DefaultModeSet {
        folder: String,
        mode: Option<Mode>,
        by: String,
    },
    /// This process answers prompts as its person from now on, although the system does not tell who started it.
    EditorTrusted {
        /// Which process it is: no other one is ever named so.
        process: String,
        /// What it is, for people.
        what: String,
        by: String,
    },
    /// Someone took the event off its queue.
    Dropped {
        event: EventId,
        by: String,
        /// None: it was this event that they meant.
        why: Option<String>,
    },
    /// It was written to process after process, and each ended before the model showed that it had read it.
    Died {
        event: EventId,
    },
    /// Someone put the event back on its queue.
    Retried {
        event: EventId,
        by: String,
        to: Option<SessionId>,
        moves: Moves,
    },
    /// Someone typed a code that no ask has, while prompts were open.
    Missed {
        by: String,
    },
    /// A person was let in, or given another role.
    PersonSet {
        name: String,
        role: Role,
        by: String,
    },
    PersonRemoved {
        name: String,
        by: String,
    },
    TokenAdded {
        token: Token,
        by: String,
    },
    TokenRevoked {
        token: TokenId,
        person: String,
        by: String,
        /// What the device was called whose key it was.
        device: Option<String>,
    },
    /// The device with this key was used. Written once an hour at most, and not for each request.
    DeviceUsed {
        token: TokenId,
        person: String,
    },
    PairingAsked {
        pairing: Pairing,
    },
    /// The stranger is this person from now on.
    Paired {
        code: PairingCode,
        name: String,
        role: Role,
        by: String,
    },
    /// Whoever has this identity is this person from now on.
    IdentityLinked {
        identity: Identity,
        name: String,
        by: String,
    },
    IdentityUnlinked {
        identity: Identity,
        name: String,
        by: String,
    },
    /// Someone typed a pairing code that nobody was shown.
    PairingMissed {
        by: String,
    },
    /// The connector's platform has taken everything that was for it up to this position of the journal.
    Taken {
        connector: ConnectorName,
        position: u64,
        messages: Vec<SentMessage>,
    },
    /// What people wrote about a subject was erased.
    Redacted {
        what: String,
        by: String,
    },
    /// Something was refused that only an attacker or a confused agent would try.
    AccessDenied {
        who: String,
        what: String,
    },
}

/// Whether the journal says where events went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Moves {
    /// It does: `Moved` and `Requeued` follow, and `to` is set.
    Recorded,
    /// It does not: the record is older than `Moved`.
    #[default]
    Implied,
}

names!(Moves { Recorded = "recorded", Implied = "implied" });

/// What a record is about. Records of one subject have one order, and two writers cannot both be next.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Subject {
    Gate,
    Event(EventId),
    Session(SessionId),
    Ask(AskId),
    Person(String),
    /// Strangers of one platform who want in.
    Pairing(ConnectorName),
    Connector(ConnectorName),
    /// What holds for sessions in a folder.
    Project(String),
}

impl Record {
    pub fn subject(&self) -> Subject {
        match self {
            Self::Opened { .. } | Self::ClockSet { .. } => Subject::Gate,
            Self::Received { event, .. } => Subject::Event(event.id),
            Self::Seen { event }
            | Self::EventExpired { event }
            | Self::Dropped { event, .. }
            | Self::Died { event }
            | Self::Retried { event, .. } => Subject::Event(*event),
            Self::Attached { session, .. }
            | Self::Wrote { session, .. }
            | Self::Lost { session }
            | Self::Called { session, .. }
            | Self::Described { session, .. }
            | Self::OutsideRead { session, .. }
            | Self::OutsideEnded { session, .. }
            | Self::Ordered { session, .. }
            | Self::Moved { session, .. }
            | Self::Requeued { session, .. }
            | Self::ReplyEdited { session, .. }
            | Self::OrderDone { session, .. }
            | Self::OrderFailed { session, .. }
            | Self::Ended { session, .. } => Subject::Session(*session),
            Self::Replied { reply } => Subject::Session(reply.session),
            Self::Asked { ask } => Subject::Ask(ask.id),
            Self::Answered { ask, .. }
            | Self::Voted { ask, .. }
            | Self::Carried { ask }
            | Self::AskExpired { ask }
            | Self::Joined { ask, .. }
            | Self::NotConfirmed { ask }
            | Self::OutcomeReported { ask, .. }
            | Self::Withdrawn { ask, .. } => Subject::Ask(*ask),
            Self::Missed { by: name }
            | Self::PersonSet { name, .. }
            | Self::PersonRemoved { name, .. }
            | Self::TokenRevoked { person: name, .. }
            | Self::DeviceUsed { person: name, .. }
            | Self::Paired { name, .. }
            | Self::IdentityLinked { name, .. }
            | Self::IdentityUnlinked { name, .. }
            | Self::PairingMissed { by: name }
            | Self::Redacted { by: name, .. }
            | Self::EditorTrusted { by: name, .. }
            | Self::AccessDenied { who: name, .. } => Subject::Person(name.clone()),
            Self::TokenAdded { token, .. } => Subject::Person(token.person.clone()),
            Self::PairingAsked { pairing } => Subject::Pairing(pairing.identity.platform().clone()),
            Self::Taken { connector, .. } => Subject::Connector(connector.clone()),
            Self::DefaultModeSet { folder, .. } => Subject::Project(folder.clone()),
        }
    }
}

impl Subject {
    /// Puts the subject behind a text. Those that there are thousands of do not take the way through a formatter.
    pub fn put_into(&self, text: &mut String) {
        match self {
            Self::Event(id) => {
                text.push_str("event/");
                text.push_str(id.text().as_str());
            }
            other => text.push_str(&other.to_string()),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gate => f.write_str("gate"),
            Self::Event(id) => write!(f, "event/{id}"),
            Self::Session(id) => write!(f, "session/{id}"),
            Self::Ask(id) => write!(f, "ask/{id}"),
            Self::Person(name) => write!(f, "person/{name}"),
            Self::Pairing(platform) => write!(f, "pairing/{platform}"),
            Self::Connector(name) => write!(f, "connector/{name}"),
            Self::Project(folder) => write!(f, "project/{folder}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::Moment;

    #[test]
    fn a_subject_has_one_name() {
        let (event, session) = (EventId::new(Moment(1), 2), SessionId::new(Moment(1), 2));
        for subject in [Subject::Gate, Subject::Event(event), Subject::Session(session), Subject::Person("ann".into())]
        {
            let mut text = String::from("of ");
            subject.put_into(&mut text);
            assert_eq!(text, format!("of {subject}"));
        }
    }
}
