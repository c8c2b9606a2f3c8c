//! What may come out of a ruling, and the modes a session can be in.

use crate::names::names;
use crate::shown::visible;

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

impl Mode {
    /// What the mode means for whoever is asked, in one line.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Default => "Claude Code asks before it edits, runs or sends something",
            Self::AcceptEdits => "Claude Code edits files in the working folders unasked, and asks for the rest",
            Self::Plan => "Claude Code only reads until its plan is allowed",
            Self::DontAsk => "Claude Code denies what it would ask for; only what its own settings allow runs",
            Self::Auto => "Claude Code decides most calls itself; `portcullis rules add ask Bash` asks anyway",
            Self::BypassPermissions => "Claude Code asks for nothing; `portcullis rules add ask Bash` asks anyway",
        }
    }
}

/// A mode by the name that the client gave it, with what it means.
pub fn mode_in_words(name: &str) -> String {
    match Mode::named(name) {
        Some(mode) => format!("{}: {}", mode.name(), mode.in_words()),
        None => format!("{}: a mode that this release does not know", visible(name)),
    }
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
