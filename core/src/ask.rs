//! An ask is one permission request: open until someone with the right answers, or until nobody can any more.

use crate::event::{Label, Text};
use crate::ids::{AskId, Code, Moment, SessionId};
use crate::names::names;
use crate::policy::{Mode, Risk};
use crate::verdict::{Behavior, Scope, Verdict};

/// The kind of connection through which an ask came, and through which its verdict goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The client's channel notification. It carries a rendering of the call, and takes allow or deny.
    Channel,
    /// A hook of an interactive session.
    Hook,
    /// The control protocol of a session that we drive.
    Control,
    /// A tool call of an MCP client, which we carry out ourselves.
    Gateway,
}

names!(Source { Channel = "channel", Hook = "hook", Control = "control", Gateway = "gateway" });

/// An `AskKind` says what the agent asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AskKind {
    /// The agent wants to run a tool.
    #[default]
    Tool,
    /// The agent wants answers to its questions. Allowing it needs the answers.
    Question,
    /// The agent wants to carry out a plan.
    Plan,
}

names!(AskKind { Tool = "tool", Question = "question", Plan = "plan" });

impl AskKind {
    /// The kind of an ask for this tool of the client.
    pub fn of_tool(tool: &str) -> Self {
        match tool {
            "AskUserQuestion" => Self::Question,
            "ExitPlanMode" => Self::Plan,
            _ => Self::Tool,
        }
    }
}

/// `OnTimeout` says what an ask means when nobody has answered it in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnTimeout {
    /// The gate decides nothing: the agent's own prompt stays, where there is one.
    NoDecision,
    Deny,
}

names!(OnTimeout { NoDecision = "no decision", Deny = "deny" });

/// An offer is a scope other than `once` that the ask's source supports, and what choosing it would do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    pub scope: Scope,
    pub words: String,
}

/// How long an ask can be answered, and what it means when nobody has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AskTimeout {
    pub milliseconds: u64,
    pub then: OnTimeout,
}

/// What a call would replace: the file that was there when it was asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Replaced {
    /// Bytes of the file.
    pub size: u64,
    /// None where it is no text, or must not be looked into.
    pub lines: Option<u64>,
    /// None where it is too long to be shown, no text, or must not be looked into.
    pub text: Option<Text>,
}

/// The details of an ask: what is known of the call beyond its preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// The whole input as JSON. Without it there is a preview only.
    pub input: Option<Text>,
    /// SHA-256 of the input, to be compared with what ran.
    pub digest: Option<[u8; 32]>,
    /// The client's own id of the call.
    pub tool_use_id: Option<String>,
    /// The subagent that asks.
    pub agent: Option<String>,
    pub kind: AskKind,
    pub offers: Vec<Offer>,
    /// The call may be allowed with another input.
    pub editable: bool,
    /// A denial may end the turn as well.
    pub interruptible: bool,
    /// The client wants No to be the preselected answer.
    pub default_to_no: bool,
    /// The client wants a person to look at the call: nobody may allow it with one tap.
    pub requires_user_interaction: bool,
    /// Why a person is asked.
    pub reason: Option<String>,
    pub risk: Option<Risk>,
    /// How many people must allow the call.
    pub quorum: u8,
    /// None: the ask can be answered until it is withdrawn.
    pub timeout: Option<AskTimeout>,
    /// The call is held before it runs: without a verdict it would run, so silence denies it.
    pub held: bool,
    /// The modes that may follow a plan, where whoever allows it may choose. The first follows when nobody does.
    pub modes: Vec<Mode>,
    /// The file that the call would replace as a whole.
    pub replaced: Option<Replaced>,
    /// The source tells within so many milliseconds what came of a verdict. None: it never does, and a verdict that is
    /// handed over is done.
    pub confirm_within: Option<u64>,
    /// The MCP tool that would be called, where its server is known.
    pub mcp: Option<McpTool>,
}

/// A tool of an MCP server by its own names: the name that rules have for it may be a shorter one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpTool {
    pub server: String,
    pub tool: String,
    /// What the server calls it for people. It decides nothing.
    pub title: Option<String>,
}

impl Default for Details {
    fn default() -> Self {
        Self {
            input: None,
            digest: None,
            tool_use_id: None,
            agent: None,
            kind: AskKind::Tool,
            offers: vec![],
            editable: false,
            interruptible: false,
            default_to_no: false,
            requires_user_interaction: false,
            reason: None,
            risk: None,
            quorum: 1,
            timeout: None,
            held: false,
            modes: vec![],
            replaced: None,
            confirm_within: None,
            mcp: None,
        }
    }
}

/// A new ask, as its source sends it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAsk {
    pub id: AskId,
    pub source: Source,
    /// The client's own name for the request; two sessions may use the same one.
    pub origin: String,
    pub tool: String,
    pub description: Text,
    pub preview: Text,
    pub details: Details,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    pub id: AskId,
    /// The code that people type, unique among all open and recently settled asks of the gate.
    pub code: Code,
    pub session: SessionId,
    pub source: Source,
    /// The client's own name for the request; two sessions may use the same one.
    pub origin: String,
    pub tool: String,
    pub description: Text,
    pub preview: Text,
    pub details: Box<Details>,
    pub at: Moment,
}

impl Ask {
    /// Whether the source of the ask supports a verdict of this scope.
    pub fn offers(&self, scope: Scope) -> bool {
        scope == Scope::Once || self.details.offers.iter().any(|offer| offer.scope == scope)
    }

    /// Whether the source tells what came of this verdict. A client whose turn is ended tells nothing.
    pub fn tells_of(&self, verdict: &Verdict) -> bool {
        self.details.confirm_within.is_some() && !verdict.ruling.interrupt
    }

    /// Until when the source should have told what came of a verdict.
    pub(crate) fn confirm_by(&self, verdict: &Verdict, carried: Option<Moment>) -> Option<Moment> {
        let within = self.details.confirm_within?;
        match carried {
            None => Some(verdict.at.plus(within)),
            Some(_) if verdict.ruling.interrupt => None,
            Some(_) if verdict.ruling.behavior == Behavior::Allow && self.may_still_run() => None,
            Some(at) => Some(at.plus(within)),
        }
    }

    /// Whether the call may still run so long after it was allowed that nothing follows from silence.
    pub fn may_still_run(&self) -> bool {
        self.details.kind == AskKind::Tool && !QUICK_TOOLS.contains(&self.tool.as_str())
    }

    /// How many bytes of text the ask holds.
    pub fn bytes(&self) -> usize {
        let replaced = self.details.replaced.as_ref().and_then(|replaced| replaced.text.as_ref());
        let texts = [&self.description, &self.preview].into_iter().chain(&self.details.input).chain(replaced);
        texts.map(Text::len).sum()
    }

    /// Drops the texts from memory: the journal has them. An erased text stays marked as erased.
    pub(crate) fn leave_texts_to_the_journal(&mut self) {
        let texts = [&mut self.description, &mut self.preview].into_iter().chain(&mut self.details.input);
        for text in texts.filter(|text| matches!(text, Text::Here(_))) {
            *text = Text::Away;
        }
        self.details.replaced = None;
    }
}

/// Tools that end at once, whatever they are called with.
const QUICK_TOOLS: [&str; 5] = ["Read", "Write", "Edit", "MultiEdit", "NotebookEdit"];

/// The outcome of a tool call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    Ran,
    /// The tool ran, and failed.
    Failed,
    /// The call was sent, or begun and interrupted, and nobody knows how far it was carried out.
    Unknown,
    Denied,
}

names!(CallOutcome { Ran = "ran", Failed = "failed", Unknown = "unknown", Denied = "denied" });

/// One tool call of an agent, for the audit, whether anyone was asked or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolCall {
    pub tool: String,
    pub tool_use_id: Option<String>,
    pub agent: Option<String>,
    pub outcome: CallOutcome,
    /// What allowed or denied the call: `config/rule`, `user_temporary`, `hook`, `terminal`.
    pub decided_by: String,
    /// SHA-256 of the input that the tool ran with.
    pub digest: Option<[u8; 32]>,
    /// The ask about this call, where the source knows it.
    pub ask: Option<AskId>,
    pub preview: Text,
    /// The client was told to have a person asked, ran the call, and nothing shows that anybody was.
    pub unasked: bool,
}

/// A call that ran unasked, as the gate remembers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnaskedCall {
    pub at: Moment,
    pub session: SessionId,
    /// The session's, then.
    pub label: Option<Label>,
    pub tool: String,
}

/// The outcome of the call that an ask was about, as it was reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReportedOutcome {
    pub at: Moment,
    pub outcome: CallOutcome,
    /// The tool ran with another input than people were shown.
    pub differs: bool,
}

/// How far a verdict has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Confirmation {
    /// It is in the journal; the session's process has not written it to the client.
    Recorded,
    /// The client has it, and will show what it did with it.
    HandedOver,
    /// The client has it, and nothing more is ever heard of it on this connection.
    Done,
    /// What became of the call is known.
    Confirmed,
    /// The client should have shown what it did with it, and has not.
    NotConfirmed,
}

names!(Confirmation {
    Recorded = "recorded",
    HandedOver = "handed_over",
    Done = "done",
    Confirmed = "confirmed",
    NotConfirmed = "not_confirmed",
});

/// The state of an ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskLife {
    /// Nobody has settled the ask. `votes` are those who allowed it, where several must.
    Open {
        votes: Vec<Verdict>,
    },
    /// Someone said allow or deny. `carried` is when the session's own process had written it to the agent, and
    /// `outcome` what is known to have become of the call. `unconfirmed` is when the source should have told of it and had
    /// not.
    Answered {
        verdict: Box<Verdict>,
        /// Who had allowed it before, where several must.
        agreed: Vec<String>,
        /// The process was there when the verdict was given, or has come back since: it may have it.
        sent: bool,
        carried: Option<Moment>,
        outcome: Option<ReportedOutcome>,
        unconfirmed: Option<Moment>,
    },
    Withdrawn {
        at: Moment,
        why: String,
    },
    /// Nobody answered in time, and the gate decided nothing.
    Expired {
        at: Moment,
    },
}

impl AskLife {
    /// The names of all states.
    pub const NAMES: [&str; 5] = ["open", "unconfirmed", "answered", "withdrawn", "expired"];

    pub fn name(&self) -> &'static str {
        match self {
            Self::Open { .. } => Self::NAMES[0],
            Self::Answered { .. } if self.is_unconfirmed() => Self::NAMES[1],
            Self::Answered { .. } => Self::NAMES[2],
            Self::Withdrawn { .. } => Self::NAMES[3],
            Self::Expired { .. } => Self::NAMES[4],
        }
    }

    pub fn is_open(&self) -> bool {
        matches!(self, Self::Open { .. })
    }

    /// Whether someone answered, and nothing shows that the client took the verdict.
    pub fn is_unconfirmed(&self) -> bool {
        matches!(self, Self::Answered { unconfirmed: Some(_), outcome: None, .. })
    }

    /// Whether the verdict may still be replaced: its time is over, and it has only ever waited for a process that is away.
    pub fn is_replaceable(&self) -> bool {
        matches!(self, Self::Answered { sent: false, carried: None, .. }) && self.is_unconfirmed()
    }

    /// How far a verdict on this ask has come. None while there is no verdict.
    pub fn confirmation(&self, ask: &Ask) -> Option<Confirmation> {
        let Self::Answered { verdict, carried, outcome, unconfirmed, .. } = self else { return None };
        Some(match (outcome, unconfirmed, carried) {
            (Some(_), ..) => Confirmation::Confirmed,
            (None, Some(_), _) => Confirmation::NotConfirmed,
            (None, None, None) => Confirmation::Recorded,
            (None, None, Some(_)) if ask.tells_of(verdict) => Confirmation::HandedOver,
            (None, None, Some(_)) => Confirmation::Done,
        })
    }

    pub fn settled_at(&self) -> Option<Moment> {
        match self {
            Self::Open { .. } => None,
            Self::Answered { verdict, .. } => Some(verdict.at),
            Self::Withdrawn { at, .. } | Self::Expired { at } => Some(*at),
        }
    }
}
