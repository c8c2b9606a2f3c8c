//! What may come out of a ruling, and the modes a session can be in.

/// Ordered by strictness, so that `max` of all matches is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

impl Decision {
    pub const ALL: [Self; 3] = [Self::Allow, Self::Ask, Self::Deny];

    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::Deny => "deny",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|decision| decision.name() == name)
    }
}

/// How much a session may do without being asked, in Claude Code's words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Mode {
    #[default]
    Default,
    /// Edits inside the working folders go through.
    AcceptEdits,
    /// Nothing but reading goes through, whatever the rules allow.
    Plan,
    /// What would be asked is denied.
    DontAsk,
    /// The client asks a classifier of its own. Our own decisions are those of the default mode.
    Auto,
    /// Everything goes through, but for deny rules, ask rules and what is never approved.
    BypassPermissions,
}

impl Mode {
    pub const ALL: [Self; 6] =
        [Self::Default, Self::AcceptEdits, Self::Plan, Self::DontAsk, Self::Auto, Self::BypassPermissions];

    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "acceptEdits",
            Self::Plan => "plan",
            Self::DontAsk => "dontAsk",
            Self::Auto => "auto",
            Self::BypassPermissions => "bypassPermissions",
        }
    }

    /// The mode of that name; `manual` is what newer clients call the default.
    pub fn named(name: &str) -> Option<Self> {
        if name == "manual" {
            return Some(Self::Default);
        }
        Self::ALL.into_iter().find(|mode| mode.name() == name)
    }
}
