//! What may come out of a ruling, and the modes a session can be in.

use crate::names::names;

/// Ordered by strictness, so that `max` of all matches is the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Decision {
    Allow,
    Ask,
    Deny,
}

names!(Decision { Allow = "allow", Ask = "ask", Deny = "deny" });

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

// `manual` is what newer clients call the default.
names!(Mode {
    Default = "default" | "manual",
    AcceptEdits = "acceptEdits",
    Plan = "plan",
    DontAsk = "dontAsk",
    Auto = "auto",
    BypassPermissions = "bypassPermissions",
});
