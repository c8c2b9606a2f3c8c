//! A session is one running agent, known to us by the process that attached for it.

use crate::event::{Label, Text};
use crate::ids::{Moment, SessionId};

/// The description of a session by its process. It may change while the session lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionAbout {
    pub label: Label,
    /// How it is connected, for people: `channel`, `hooks`, `run`.
    pub connected_by: String,
    /// The agent's own process.
    pub pid: Option<u32>,
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

/// A goodbye says how a session ended.
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
    pub about: SessionAbout,
    pub presence: Presence,
    /// When the session first attached.
    pub since: Moment,
    /// The person who stopped the session: no tool may run.
    pub stopped: Option<String>,
}

impl Session {
    pub fn is_attached(&self) -> bool {
        self.presence == Presence::Attached
    }

    /// Whether the process is attached or expected back.
    pub fn is_present(&self) -> bool {
        matches!(self.presence, Presence::Attached | Presence::Expected { .. })
    }

    pub fn has_ended(&self) -> bool {
        matches!(self.presence, Presence::Ended { .. })
    }
}
