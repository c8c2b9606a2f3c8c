//! An ask is one permission request: open until someone with the right answers, or until nobody can any more.

use crate::event::Text;
use crate::ids::{AskId, Code, Moment, SessionId};
use crate::verdict::Verdict;

/// The kind of connection through which an ask came, and through which its verdict goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mouth {
    Channel,
}

impl Mouth {
    pub fn name(self) -> &'static str {
        match self {
            Self::Channel => "channel",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::Channel].into_iter().find(|mouth| mouth.name() == name)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub id: AskId,
    /// What people type. Unique among all open and recently settled asks of the gate.
    pub code: Code,
    pub session: SessionId,
    pub mouth: Mouth,
    /// The client's own name for the request; two sessions may use the same one.
    pub origin: String,
    pub tool: String,
    pub description: Text,
    pub preview: Text,
    pub at: Moment,
}

/// How far an ask has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskLife {
    Open,
    /// Someone said allow or deny. `carried` is when the session's own process had written it out.
    Answered {
        verdict: Verdict,
        carried: Option<Moment>,
    },
    Withdrawn {
        at: Moment,
        why: String,
    },
}

impl AskLife {
    pub fn name(&self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Answered { .. } => "answered",
            Self::Withdrawn { .. } => "withdrawn",
        }
    }

    pub fn is_open(&self) -> bool {
        *self == Self::Open
    }

    pub fn settled_at(&self) -> Option<Moment> {
        match self {
            Self::Open => None,
            Self::Answered { verdict, .. } => Some(verdict.at),
            Self::Withdrawn { at, .. } => Some(*at),
        }
    }
}
