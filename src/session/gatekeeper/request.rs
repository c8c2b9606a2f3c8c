//! A tool call as the gatekeeper sees it, whatever the agent, and what it answers.

use std::time::Duration;

use portcullis_core::policy::{Mode, Rule};
use portcullis_core::{AskId, AskKind, McpTool, Scope, Source};
use portcullis_wire::canonical::canonical;
use portcullis_wire::nesting::{DEEPEST, is_too_deep};
use portcullis_wire::preview::preview;
use serde_json::Value;
use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::look::EarlyLook;

/// A call that an agent wants to make.
#[derive(Clone, Debug)]
pub(crate) struct ToolRequest {
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// The client's id of the call, where it tells.
    pub(crate) tool_use_id: Option<String>,
    /// The subagent that makes the call.
    pub(crate) agent: Option<String>,
    /// Where the call is made. None: as the same call was announced, else where the session was started.
    pub(crate) folder: Option<String>,
    pub(crate) mode: Option<String>,
    /// What the client would remember with an allow, in its own form.
    pub(crate) suggestions: Vec<Value>,
    pub(crate) flags: ClientFlags,
    pub(crate) capabilities: Capabilities,
    /// Why not all of the call could be read, where that is so.
    pub(crate) unreadable: Option<String>,
    /// A person allowed this tool before, and for longer than that once: for how long, in a word.
    pub(crate) remembered: Option<&'static str>,
    /// We make the call ourselves, in the place of a tool of the client's.
    pub(crate) own: Option<OwnCall>,
    /// When the gate has said, for this call, that its journal takes records. None: it is asked.
    pub(crate) could_write: Option<Instant>,
    /// A look at the rules that began with the request. None: it begins with the judgement.
    pub(crate) looked: Option<EarlyLook>,
    /// When it came: since then the client waits.
    pub(crate) arrived: Instant,
}

/// What the client would have applied to a call that we make in its place.
#[derive(Clone, Debug)]
pub(crate) struct OwnCall {
    /// Its own rules, besides ours.
    pub(crate) rules: Vec<Rule>,
}

impl ToolRequest {
    /// Why nobody can judge the call: it came only in part, or people could not be shown it.
    pub(super) fn unjudgeable(&self) -> Option<String> {
        let is_deep = || is_too_deep(&self.input).then(|| format!("its input is nested deeper than {DEEPEST} levels"));
        let why = self.unreadable.clone().or_else(is_deep)?;
        Some(format!("portcullis could not judge this call, so it is denied: {why}"))
    }

    /// What the log shows of the call.
    pub(super) fn shown(&self) -> String {
        match &self.unreadable {
            Some(why) => format!("[{why}]"),
            None => preview(&self.tool, &self.input),
        }
    }

    /// For how long the client still waits for an answer. None: for ever.
    pub(super) fn still_waits(&self) -> Option<Duration> {
        self.capabilities.waits.map(|waits| waits.saturating_sub(self.arrived.elapsed()))
    }

    pub(crate) fn kind(&self) -> AskKind {
        AskKind::of_tool(&self.tool)
    }

    pub(crate) fn mode(&self) -> Mode {
        self.mode.as_deref().and_then(Mode::named).unwrap_or_default()
    }
}

/// What the client says about a call it asks permission for.
#[derive(Clone, Debug, Default)]
pub(crate) struct ClientFlags {
    /// No is the answer at hand.
    pub(crate) default_to_no: bool,
    /// The client offers no "always", since no rule could ever allow this.
    pub(crate) suppress_always: bool,
    /// A person must have looked: no approving with one tap.
    pub(crate) requires_user_interaction: bool,
    /// The client's own mode, safety check, hook or ask rule holds the call up, so no rule of ours allows it.
    pub(crate) held_up: bool,
    /// Why the client asks.
    pub(crate) reason: Option<String>,
    /// One sentence of the client on the call.
    pub(crate) description: Option<String>,
    /// The MCP tool that is called, where the connection knows its server.
    pub(crate) mcp: Option<McpTool>,
    /// The plan that is asked about, where it is not in the input.
    pub(crate) plan: Option<String>,
}

impl ClientFlags {
    /// Whether the client wants a person to look, for another reason than its mode.
    pub(super) fn want_a_person(&self) -> bool {
        self.default_to_no || self.suppress_always || self.requires_user_interaction || self.held_up
    }
}

/// What the connection a request came through can do. The gatekeeper knows connections by nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities {
    pub(crate) source: Source,
    /// A call may be allowed with another input. Questions are answered in this way.
    pub(crate) edit: bool,
    /// A denial may end the turn.
    pub(crate) interrupt: bool,
    /// An allow may reach further than this once.
    pub(crate) remember: bool,
    /// An `ask` in answer to [`super::Gatekeeper::before`] makes the client ask a person.
    pub(crate) heeds_ask: bool,
    /// Somebody may answer at a terminal of the client's own, past the gate.
    pub(crate) terminal: bool,
    /// The client waits so long for our answer. None: for ever.
    pub(crate) waits: Option<Duration>,
    pub(crate) without_decision: WithoutDecision,
    /// The modes that may follow a plan, by choice of whoever allows it. The first follows without a choice.
    pub(crate) modes: &'static [Mode],
    /// The client tells soon what came of every verdict. Otherwise one that is handed over is done.
    pub(crate) confirms: bool,
}

/// What the client does with a call that nobody decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WithoutDecision {
    Runs,
    /// Its own prompt at its terminal stays.
    Prompts,
    Denies,
    /// It waits for an answer for as long as it takes.
    Waits,
}

impl Capabilities {
    /// What can still be said while a call is held before it runs: deny, or nothing.
    pub(crate) fn before(self) -> Self {
        Self { edit: false, interrupt: false, remember: false, without_decision: WithoutDecision::Runs, ..self }
    }
}

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Decision {
    Allow {
        /// To run instead of what was asked about.
        input: Option<Value>,
        /// What the client is to remember, in its own form.
        remember: Vec<Value>,
        scope: Scope,
        by: DecidedBy,
    },
    /// Before a call alone: the client is to ask.
    Ask {
        reason: String,
    },
    Deny {
        message: String,
        interrupt: bool,
        by: DecidedBy,
    },
    /// The client goes on as if nobody had been asked.
    #[expect(clippy::enum_variant_names, reason = "the client's own word for it")]
    NoDecision,
}

impl Decision {
    pub(super) fn deny(message: impl Into<String>) -> Self {
        Self::Deny { message: message.into(), interrupt: false, by: DecidedBy::Gatekeeper }
    }
}

/// Who decided, for clients that write it down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DecidedBy {
    Person,
    /// A rule, a stop, or nobody in time.
    Gatekeeper,
}

/// A decision, and the ask whose verdict it carries: confirmed to the gate once the client has it.
#[derive(Debug, PartialEq)]
pub(crate) struct GatekeeperAnswer {
    pub(crate) decision: Decision,
    pub(crate) verdict: Option<AskId>,
}

impl From<Decision> for GatekeeperAnswer {
    fn from(decision: Decision) -> Self {
        Self { decision, verdict: None }
    }
}

/// One call, as far as it can be told from another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallKey {
    pub(crate) tool: String,
    pub(crate) agent: Option<String>,
    /// Of the whole input.
    pub(crate) digest: [u8; 32],
    /// Not every moment tells it.
    pub(crate) tool_use_id: Option<String>,
    pub(crate) folder: Option<String>,
}

impl CallKey {
    pub(crate) fn of(request: &ToolRequest) -> Self {
        Self {
            tool: request.tool.clone(),
            agent: request.agent.clone(),
            digest: call_digest(&request.tool, &request.input),
            tool_use_id: request.tool_use_id.clone(),
            folder: request.folder.clone(),
        }
    }

    /// Whether both are about the same call: by its id where both have one, else by what is called with what.
    pub(super) fn is(&self, other: &Self) -> bool {
        match (&self.tool_use_id, &other.tool_use_id) {
            (Some(one), Some(other)) => one == other,
            _ => (&self.tool, &self.agent, self.digest) == (&other.tool, &other.agent, other.digest),
        }
    }
}

/// Of an input, to compare what was shown with what ran.
pub(crate) fn digest(input: &Value) -> [u8; 32] {
    Sha256::digest(canonical(input).as_bytes()).into()
}

/// The same of a tool's input. Of a message to another agent Claude Code tells before the call some fields that it makes from
/// the others, and does not tell them after it (seen with 2.1.325).
pub(crate) fn call_digest(tool: &str, input: &Value) -> [u8; 32] {
    const MADE: [&str; 3] = ["content", "recipient", "type"];
    match input {
        Value::Object(fields)
            if tool == "SendMessage" && ["to", "message"].iter().all(|name| fields.contains_key(*name)) =>
        {
            let mut fields = fields.clone();
            fields.retain(|name, _| !MADE.contains(&name.as_str()));
            digest(&Value::Object(fields))
        }
        _ => digest(input),
    }
}
