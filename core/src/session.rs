//! A session is one running agent, known to us by the process that attached for it.

use crate::event::{Label, Text};
use crate::ids::{Moment, OrderId, SessionId};
use crate::names::names;

/// How an MCP client is connected that calls tools through us.
pub const GATEWAY: &str = "gateway";
/// How an agent is connected whose hooks nobody has heard of: it can be told things, and nothing holds its calls.
pub const CHANNEL: &str = "channel";

/// The description of a session by its process. It may change while the session lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAbout {
    /// The label its process wants: what the user chose, else the name of its folder. Rules and tokens name this one.
    pub label: Label,
    /// The user chose the label.
    pub label_chosen: bool,
    /// How it is connected, for people: [`CHANNEL`], `hooks`, `run`, `acp`, [`GATEWAY`].
    pub connected_by: String,
    /// The agent's own process.
    pub pid: Option<u32>,
    /// The person with whose token its client comes. None: it came without a token, as what the owner runs here does.
    pub person: Option<String>,
    /// The agent runs commands: a process that descends from it may not answer its prompts.
    pub runs_commands: bool,
    /// The folder the agent works in.
    pub folder: Option<String>,
    /// The agent's own name for the session, where it told us.
    pub agent_session: Option<String>,
    /// The session that this one continues. What waits for that one goes to this one.
    pub continues: Option<SessionId>,
    /// The agent's permission mode, where it told us.
    pub mode: Option<String>,
    /// The session takes orders: its process is ours and holds the agent.
    pub driven: bool,
    /// The version of the hooks that are installed for it, once one of them has called.
    pub hooks_version: Option<u32>,
    /// The agent works on something, or waits for its next prompt. None: nobody told.
    pub is_working: Option<bool>,
    /// The agent waits for an answer to a dialog that only its own terminal shows.
    pub at_dialog: bool,
    /// An event wakes the agent while it waits for its next prompt. None: nobody knows whether it reads what it is given.
    pub wakes: Option<bool>,
    /// How the agent's present conversation began, where that matters.
    pub origin: Option<ConversationOrigin>,
}

/// How a conversation began that is not simply a new one, or an old one under its own id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationOrigin {
    /// Empty: what was before the model is gone.
    Cleared,
    /// A copy of another one, and the agent does not say of which.
    Forked,
}

names!(ConversationOrigin { Cleared = "cleared", Forked = "forked" });

/// Text from someone who may not direct a session, that is before its model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutsideText {
    /// Who sent it; the last one, where there were several.
    pub sender: String,
    pub since: Moment,
}

impl SessionAbout {
    /// Whether there is an agent that events can be given to. An MCP client calls tools, and is told nothing.
    pub fn takes_events(&self) -> bool {
        self.connected_by != GATEWAY
    }

    /// Whether its process runs under the gate and ends with it: that of MCP clients over HTTP, which come by a token.
    pub fn ends_with_the_gate(&self) -> bool {
        self.connected_by == GATEWAY && self.person.is_some()
    }

    /// Whether a stop has an effect: by the channel alone nobody is asked before a call.
    pub fn can_be_stopped(&self) -> bool {
        self.driven || self.connected_by != CHANNEL || self.hooks_version.is_some()
    }

    /// A session of which nothing else is known yet.
    pub fn new(label: Label, connected_by: &str) -> Self {
        Self {
            label,
            label_chosen: false,
            connected_by: connected_by.to_owned(),
            pid: None,
            person: None,
            runs_commands: false,
            folder: None,
            agent_session: None,
            continues: None,
            mode: None,
            driven: false,
            hooks_version: None,
            is_working: None,
            at_dialog: false,
            wakes: None,
            origin: None,
        }
    }
}

/// An order to a running session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Order {
    /// The user's own words, as if typed at its terminal.
    Prompt {
        text: Text,
        by: String,
    },
    /// The agent ends its turn.
    Interrupt,
    Mode(String),
    /// None is the agent's own choice.
    Model(Option<String>),
    /// No tool runs until it is told to resume.
    Stop {
        by: String,
    },
    Resume,
    End,
}

impl Order {
    /// Stopping and resuming hold for the agent, also while its process is away. The rest is for now or not at all.
    pub fn is_kept(&self) -> bool {
        matches!(self, Self::Stop { .. } | Self::Resume)
    }

    pub fn name(&self) -> &'static str {
        match self {
            Self::Prompt { .. } => "prompt",
            Self::Interrupt => "interrupt",
            Self::Mode(_) => "mode",
            Self::Model(_) => "model",
            Self::Stop { .. } => "stop",
            Self::Resume => "resume",
            Self::End => "end",
        }
    }
}

/// What the session's process made of an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OrderOutcome {
    Done,
    Failed { why: String },
}

/// An order as the gate keeps it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedOrder {
    pub id: OrderId,
    /// The text of a prompt is in the journal alone.
    pub order: Order,
    pub by: String,
    pub at: Moment,
    /// None until the session's process has confirmed it; for ever, when the process went away with it.
    pub outcome: Option<OrderOutcome>,
}

impl TrackedOrder {
    /// How far it has come.
    pub fn state(&self) -> &'static str {
        match self.outcome {
            None => "recorded",
            Some(OrderOutcome::Done) => "done",
            Some(OrderOutcome::Failed { .. }) => "failed",
        }
    }
}

/// How far the stop of a session holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StopState {
    /// The session's process has confirmed it: no tool runs.
    Holds,
    /// It is recorded, and the session's process has not confirmed it.
    Unconfirmed,
    /// It is recorded, and nothing enforces it.
    Unenforced,
}

names!(StopState { Holds = "holds", Unconfirmed = "unconfirmed", Unenforced = "unenforced" });

/// How a session came to its end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goodbye {
    pub why: String,
    /// No model was there: it ended at once, as a client does that only looks whether we answer. What it was given is
    /// for someone else.
    pub untouched: bool,
}

impl Goodbye {
    pub fn because(why: impl Into<String>) -> Self {
        Self { why: why.into(), untouched: false }
    }
}

/// The presence of a session's process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    Attached,
    /// The gate restarted and the process should come back. Counts as present when a route is chosen.
    Expected {
        since: Moment,
    },
    /// The connection broke. Does not count: most likely the process is dead.
    Lost {
        since: Moment,
    },
    Ended {
        at: Moment,
    },
}

impl Presence {
    pub fn name(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Expected { .. } => "expected",
            Self::Lost { .. } => "lost",
            Self::Ended { .. } => "ended",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Session {
    pub id: SessionId,
    /// What people call it: no other living session has it, and it is kept for the session's life.
    pub label: Label,
    pub about: SessionAbout,
    pub presence: Presence,
    /// When the session first attached.
    pub since: Moment,
    /// When its agent last did something, or someone had to do with it.
    pub active: Moment,
    /// The person who stopped the session: no tool may run.
    pub stopped: Option<String>,
    /// The latest orders, newest last.
    pub orders: Vec<TrackedOrder>,
    /// The outside guard is up: a copy of what [`crate::State`] keeps for the session's conversation.
    pub outside: Option<OutsideText>,
}

impl Session {
    pub fn is_attached(&self) -> bool {
        self.presence == Presence::Attached
    }

    /// Whether events may go to it: it is there, and takes them.
    pub fn may_be_given(&self) -> bool {
        self.is_present() && self.about.takes_events()
    }

    /// Whether the process is attached or expected back.
    pub fn is_present(&self) -> bool {
        matches!(self.presence, Presence::Attached | Presence::Expected { .. })
    }

    /// One of its latest orders.
    pub fn order(&self, id: OrderId) -> Option<&TrackedOrder> {
        self.orders.iter().find(|tracked| tracked.id == id)
    }

    /// The latest order to stop or to resume.
    pub(crate) fn kept_order(&self) -> Option<&TrackedOrder> {
        self.orders.iter().rev().find(|tracked| tracked.order.is_kept())
    }

    /// The same for the process in which the session goes on. A stop is for that one to confirm: what one process has
    /// confirmed need not hold in the next.
    pub(crate) fn order_for_next(&self) -> Option<TrackedOrder> {
        let kept = self.kept_order()?.clone();
        let is_stop = matches!(kept.order, Order::Stop { .. });
        Some(TrackedOrder { outcome: kept.outcome.filter(|_| !is_stop), ..kept })
    }

    /// How far its stop holds; none where nobody stopped it.
    pub fn stop_state(&self) -> Option<StopState> {
        self.stopped.as_ref()?;
        let is_confirmed = self.kept_order().is_some_and(|kept| kept.outcome == Some(OrderOutcome::Done));
        Some(match is_confirmed {
            _ if !self.about.can_be_stopped() => StopState::Unenforced,
            true => StopState::Holds,
            false => StopState::Unconfirmed,
        })
    }

    /// What a process that attaches has to be told: the stop that holds, or a resume that nobody has confirmed. Journals
    /// of 0.1.0 have stops without an id.
    pub(crate) fn standing_order(&self) -> Option<(Option<OrderId>, Order)> {
        let kept = self.kept_order();
        match &self.stopped {
            Some(by) => Some((kept.map(|kept| kept.id), Order::Stop { by: by.clone() })),
            None => kept.filter(|kept| kept.outcome.is_none()).map(|kept| (Some(kept.id), kept.order.clone())),
        }
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.presence, Presence::Ended { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Actor, Input, Limits, Moves, Record, Role, State, TokenScope, Via, decide};

    #[test]
    fn a_stop_that_one_process_confirmed_is_unconfirmed_in_the_next_until_that_one_says_so() {
        let mut state = State::new(Limits::default());
        let mut does = |input: Input| {
            for record in decide(&state, Moment(0), input).0 {
                state.apply(Moment(0), &record);
            }
            [1, 2, 3].map(|number| state.session(SessionId::new(Moment(0), number)).and_then(Session::stop_state))
        };
        let [first, second, third] = [1, 2, 3].map(|number| SessionId::new(Moment(0), number));
        let attach = |session, continues| Input::Attached {
            session,
            about: SessionAbout { driven: true, continues, ..SessionAbout::new(Label::new("api").unwrap(), "run") },
            wrote: vec![],
            holding: vec![],
        };
        let by = Actor {
            name: "ann".into(),
            rights: Role::Reviewer.rights(),
            via: Via::Http,
            scope: TokenScope::Everything,
            device: None,
        };
        let id = OrderId::new(Moment(0), 1);
        let settled = |session, outcome| Input::OrderSettled { session, order: id, outcome };
        let (holds, unconfirmed) = (Some(StopState::Holds), Some(StopState::Unconfirmed));
        does(attach(first, None));
        does(Input::Ordered { by, session: first, id, order: Order::Stop { by: "ann".into() } });
        assert_eq!(does(settled(first, OrderOutcome::Done))[0], holds);
        does(Input::Lost { session: first });
        assert_eq!(does(attach(second, Some(first)))[1], unconfirmed, "nothing has come from the new process");
        assert_eq!(does(settled(second, OrderOutcome::Failed { why: "no hook answers".into() }))[1], unconfirmed);
        does(Input::Lost { session: second });
        assert_eq!(does(attach(third, Some(second)))[2], unconfirmed);
        assert_eq!(does(settled(third, OrderOutcome::Done))[2], holds);
    }

    #[test]
    fn a_stop_that_holds_is_known_to_hold_however_many_orders_follow() {
        let mut state = State::new(Limits::default());
        let session = SessionId::new(Moment(0), 1);
        let about = SessionAbout { driven: true, ..SessionAbout::new(Label::new("api").unwrap(), "run") };
        let order = |number: u128, order| {
            let (id, by) = (OrderId::new(Moment(0), number), "ann".to_owned());
            Record::Ordered { session, id: Some(id), order, by }
        };
        let attached = Record::Attached { session, about, label: None, wrote: vec![], moves: Moves::Recorded };
        let stopped = order(1, Order::Stop { by: "ann".into() });
        for record in [attached, stopped, Record::OrderDone { session, order: OrderId::new(Moment(0), 1) }] {
            state.apply(Moment(0), &record);
        }
        for number in 2..30 {
            state.apply(Moment(0), &order(number, Order::Interrupt));
        }
        let known = state.session(session).unwrap();
        assert_eq!((known.stop_state(), known.orders.len()), (Some(StopState::Holds), 8));
        assert_eq!(known.orders.last().unwrap().id, OrderId::new(Moment(0), 29));
    }
}
