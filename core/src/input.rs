//! An [`Input`] is something that happened; an [`Effect`] is something that the hub must do.

use std::sync::Arc;

use crate::ask::{Ask, AskLife, CallOutcome, NewAsk, Source, ToolCall};
use crate::attributes::Attribute;
use crate::connector::{ConnectorName, Identity, SentMessage};
use crate::event::{ChatId, DeliveryWay, EventLife, IdempotencyKey, Label, Reply, SentFile, Text, TrackedEvent};
use crate::ids::{AskId, Code, EventId, Moment, OrderId, PairingCode, ReplyId, SessionId, TokenId};
use crate::people::{Actor, Inside, Right, Role, Token, TokenScope};
use crate::policy::Mode;
use crate::route::{Address, NoRoute};
use crate::session::{Goodbye, Order, OrderOutcome, Session, SessionAbout};
use crate::verdict::{Behavior, Ruling, SaidText};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// The gate is up, and its journal has been read.
    /// The clock went back; until now it was as late as this.
    ClockSet {
        was: u64,
    },
    Started {
        version: String,
    },
    /// Someone said something: a verdict when it reads as one for a prompt we know, else an event.
    Said {
        id: EventId,
        by: Actor,
        /// The session in which the sender's process runs: it answers no prompt and directs no session.
        inside: Option<Inside>,
        text: SaidText,
        address: Address,
        chat: Option<ChatId>,
        attributes: Arc<[Attribute]>,
        /// The message of an agent that it answers.
        reply_to: Option<ReplyId>,
        idempotency_key: Option<IdempotencyKey>,
    },
    /// Someone sent a verdict on a prompt.
    Answered {
        by: Actor,
        target: VerdictTarget,
        ruling: Ruling,
        idempotency_key: Option<IdempotencyKey>,
    },
    /// A process attached for a session. `holding` are events it has received and not yet written.
    Attached {
        session: SessionId,
        about: SessionAbout,
        wrote: Vec<EventId>,
        holding: Vec<EventId>,
    },
    Wrote {
        session: SessionId,
        events: Vec<EventId>,
        /// None where it was not told.
        way: Option<DeliveryWay>,
    },
    /// The connection of the session's process broke without a goodbye.
    Lost {
        session: SessionId,
    },
    Ended {
        session: SessionId,
        goodbye: Goodbye,
    },
    /// The agent asks for permission. `entropy` gives the code of the ask where the client's own code is in use.
    Asked {
        session: SessionId,
        ask: Box<NewAsk>,
        entropy: u64,
    },
    /// The session's process wrote the verdict to the agent.
    Carried {
        ask: AskId,
        session: SessionId,
        /// When the verdict was given that was written. None: the process was given it at a front, or is of an earlier release.
        verdict_at: Option<Moment>,
    },
    /// Nobody answered in time.
    AskExpired {
        ask: AskId,
    },
    /// Nothing showed in time that the client took the verdict.
    NotConfirmed {
        ask: AskId,
    },
    /// Two asks are about the same call: the channel's `preview`, and the hook's `whole` input.
    Joined {
        preview: AskId,
        whole: AskId,
    },
    /// A tool of the agent ran, or was denied.
    Called {
        session: SessionId,
        call: ToolCall,
    },
    /// The call that an ask was about ran, or was denied.
    OutcomeReported {
        ask: AskId,
        outcome: CallOutcome,
        digest: Option<[u8; 32]>,
    },
    /// The description of the session has changed.
    Described {
        session: SessionId,
        about: SessionAbout,
    },
    /// Text from someone who may not direct the session is before its model.
    OutsideRead {
        session: SessionId,
        sender: String,
    },
    /// A person who may direct the session has spoken.
    OutsideEnded {
        session: SessionId,
        by: String,
    },
    /// Someone gave an order to a running session.
    Ordered {
        id: OrderId,
        by: Actor,
        session: SessionId,
        order: Order,
    },
    /// Someone says in which mode sessions in a folder start that name none; none: as configured.
    SetDefaultMode {
        by: Actor,
        folder: String,
        mode: Option<Mode>,
    },
    /// Someone says of an editor whose origin the system does not tell that it is theirs.
    TrustEditor {
        by: Actor,
        process: String,
        what: String,
    },
    /// The session's process says what became of an order.
    OrderSettled {
        session: SessionId,
        order: OrderId,
        outcome: OrderOutcome,
    },
    /// The ask is no longer asked. `by` is the session whose process says so; none when it follows from another input.
    Withdrawn {
        ask: AskId,
        by: Option<SessionId>,
        why: String,
    },
    Replied {
        id: ReplyId,
        session: SessionId,
        chat: ChatId,
        /// The event that it answers, where it answers a particular one.
        reply_to: Option<EventId>,
        text: Text,
        files: Vec<SentFile>,
    },
    /// The agent puts another text in the place of one of its replies.
    ReplyEdited {
        session: SessionId,
        reply: ReplyId,
        text: Text,
    },
    /// The agent opens one of its events.
    Opened {
        session: SessionId,
        event: EventId,
    },
    /// The turn in which the agent was given these events has ended, so its model has read them.
    Read {
        session: SessionId,
        events: Vec<EventId>,
    },
    /// The model showed that it had read this event.
    Seen {
        event: EventId,
    },
    /// The event waited too long.
    EventExpired {
        event: EventId,
    },
    /// Someone takes an event off its queue; `Retry` puts it back.
    Drop {
        by: Actor,
        event: EventId,
    },
    Retry {
        by: Actor,
        event: EventId,
    },
    /// The event was given up.
    Died {
        event: EventId,
    },
    SetPerson {
        by: Actor,
        name: String,
        role: Role,
    },
    RemovePerson {
        by: Actor,
        name: String,
    },
    AddToken {
        by: Actor,
        token: Token,
        role: Role,
    },
    /// A browser has shown a link that `by` had asked for. `token` is its key.
    LinkDevice {
        by: Actor,
        token: Token,
    },
    RevokeToken {
        by: Actor,
        token: TokenId,
    },
    /// A linked browser has made a request.
    DeviceUsed {
        token: TokenId,
    },
    /// What `by` did shows out whoever sent this event.
    SenderRevoked {
        event: EventId,
        by: String,
        why: String,
    },
    /// A stranger on a platform wants in. `entropy` gives the code they are shown.
    AskPairing {
        identity: Identity,
        called: String,
        entropy: u64,
    },
    /// The owner lets the stranger with this code in.
    Pair {
        by: Actor,
        code: PairingCode,
        name: String,
        role: Role,
    },
    /// Someone typed a pairing code that nobody was shown.
    PairingMissed {
        by: String,
    },
    /// The identity belongs to no person from now on.
    Unlink {
        by: Actor,
        identity: Identity,
    },
    /// The connector's platform has taken everything that was for it up to this position of the journal.
    Taken {
        connector: ConnectorName,
        position: u64,
        messages: Vec<SentMessage>,
    },
    /// What people wrote about a subject is about to be erased.
    Redacted {
        what: String,
        by: Actor,
    },
    /// A door refused what only an attacker or a confused agent would try.
    AccessDenied {
        who: String,
        what: String,
    },
    /// Someone typed a code that no prompt has.
    Missed {
        by: String,
    },
    /// Time passed.
    Ticked,
}

/// The target of a verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VerdictTarget {
    Id(AskId),
    Code(Code),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Answer the one who submitted the input.
    Answer(Answer),
    /// The session may have events to send.
    Wake(SessionId),
    /// Hand the verdict to the session's process.
    Carry { session: SessionId, ask: AskId, origin: String, source: Source, ruling: Box<Ruling>, at: Moment },
    /// Tell the session's process that no verdict is coming.
    Close { session: SessionId, ask: AskId, origin: String, source: Source },
    /// Give the session's process this order.
    Order { session: SessionId, id: Option<OrderId>, order: Order },
    /// Tell the session's process that text of this sender is before its model.
    RaiseGuard { session: SessionId, sender: String },
    /// Tell the session's process not to give this event to its agent.
    TakeBack { session: SessionId, event: EventId },
    /// Send the present state of the topic to everyone who watches and may see it.
    Publish(Topic),
    /// Decide this input next. One input writes one subject: what follows for other subjects is an input of its own.
    Then(Box<Input>),
}

impl Effect {
    pub(crate) fn then(input: Input) -> Self {
        Self::Then(Box::new(input))
    }
}

/// The answer to the submitter of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Done,
    /// An event was taken. `not_a_verdict` says why something that looks like a verdict was not one.
    /// `repeated` when the same had been said before under the same key.
    Accepted {
        event: EventId,
        chat: ChatId,
        to: Option<SessionId>,
        not_a_verdict: Option<NotAVerdict>,
        repeated: bool,
    },
    /// The verdict counts.
    Recorded {
        ask: AskId,
        code: Code,
        behavior: Behavior,
        /// How many more people must allow it.
        missing: u8,
    },
    /// The ask is known under this code.
    Asked {
        ask: AskId,
        code: Code,
    },
    /// The stranger is to show this code.
    Pairing {
        code: PairingCode,
    },
    Refused(Refusal),
}

/// Why a text that reads like a verdict was taken as chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotAVerdict {
    NoSuchCode(Code),
    BadGrammar,
    NoPromptOpen,
    /// It names a prompt that was answered already, or is gone.
    Settled(Code),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    NeedsRight(Right),
    NoRoute(NoRoute),
    /// The text reads like a verdict and is none, and as chat it has no session to go to.
    UnclearVerdict {
        why: NotAVerdict,
        no_route: NoRoute,
    },
    /// The conversation belongs to somebody else.
    ForeignChat(ChatId),
    /// The sender used the key before, for something else.
    KeyReused {
        event: EventId,
    },
    /// The person used the key before, for another verdict on the same prompt.
    VerdictKeyReused {
        code: Code,
    },
    /// A verdict by a process that an agent runs.
    FromInside(Inside),
    NoSuchAsk,
    /// Somebody answered first, or the prompt is gone.
    Settled {
        code: Code,
        life: AskLife,
    },
    TooManyMisses {
        retry_at: Moment,
    },
    /// The queue of the session is full.
    SessionFull {
        waiting: usize,
    },
    /// The session has too many open prompts.
    TooManyAsks,
    NoSuchSession,
    NoSuchEvent,
    /// Not one of the session's own, or so old that it is forgotten.
    NoSuchReply,
    /// The prompt's process is gone: a verdict would reach nobody.
    Undeliverable {
        code: Code,
    },
    /// The ask's source does not support this verdict.
    CannotCarry {
        what: &'static str,
    },
    /// A question is allowed with its answers only.
    NeedsAnswers,
    /// The session does not take orders.
    NotDriven,
    /// The session's process is not there to take the order.
    SessionAway,
    /// The conversation has no such message of an agent.
    NoSuchMessage,
    /// The event that a reply says it answers is not of its conversation.
    NotOfChat {
        event: EventId,
        chat: ChatId,
    },
    /// The event is in a state in which it cannot be dropped or retried.
    EventSettled {
        life: EventLife,
    },
    BadName,
    NoSuchPerson,
    NoSuchToken,
    /// The person is known in another role.
    OtherRole {
        role: Role,
    },
    NoSuchPairing,
    TooManyDevices,
    /// The mode in which nothing is asked is named for each session, or in the owner's configuration.
    NotADefaultMode,
    TooManyProjects,
    TooManyPairings,
    NoSuchIdentity,
    /// The agent tried to answer a conversation it was never shown.
    ChatNotDelivered(ChatId),
}

/// A topic is something that changed. Its present state is read only when somebody watches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    Session(SessionId),
    Event(EventId),
    Ask(AskId),
    Reply(ReplyId),
    /// People, tokens or identities have changed.
    People,
}

/// A notice tells those who watch about a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// With the number of events waiting for it, and of prompts it has open.
    Session { session: Session, waiting: usize, asks: usize },
    /// The event without its text, and the label that the session it is for wanted.
    Event { event: TrackedEvent, wanted_label: Option<Label> },
    Ask {
        ask: Ask,
        life: AskLife,
        /// The session's label.
        label: Label,
        wanted_label: Label,
    },
    /// `owners` are the person whose conversation it is, and the one whose credential an agent opened it with.
    Replied { reply: Reply, owners: Vec<String>, wanted_label: Option<Label> },
    /// People, tokens, devices or identities have changed.
    People,
}

impl Notice {
    /// How many bytes of text the notice holds.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Ask { ask, .. } => ask.bytes(),
            Self::Replied { reply, .. } => reply.text.len(),
            Self::Session { .. } | Self::Event { .. } | Self::People => 0,
        }
    }

    /// Reviewers see everything within their scope; others the replies to their own conversations and the fate of their
    /// own events.
    pub fn is_for(&self, actor: &Actor) -> bool {
        let covered = |label: &Option<Label>| match (label, &actor.scope) {
            (_, TokenScope::Everything) => true,
            (Some(label), scope) => scope.covers(label),
            (None, TokenScope::Labels(_)) => false,
        };
        let reviews = actor.may(Right::Review);
        match self {
            Self::Replied { owners, wanted_label, .. } => {
                covered(wanted_label) && (reviews || owners.contains(&actor.name) && actor.may(Right::Talk))
            }
            Self::Event { event, wanted_label } => actor.sees(&event.event, wanted_label.as_ref()),
            Self::Session { session, .. } => reviews && actor.scope.covers(&session.about.label),
            Self::Ask { wanted_label, .. } => reviews && actor.scope.covers(wanted_label),
            Self::People => actor.may(Right::Admin),
        }
    }
}
