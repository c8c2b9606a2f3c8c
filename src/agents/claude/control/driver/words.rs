//! What goes in and out of a driven session, and what comes back to it from other tasks.

use std::path::PathBuf;
use std::sync::Arc;

use bytes::Bytes;
use portcullis_core::policy::OutsidePolicy;
use portcullis_core::{AskId, AskTimeout, OrderId, Ruling, SessionAbout};
use portcullis_wire::control::Message;
use serde_json::Value;

use crate::agents::claude::control::requests::NoAnswer;
use crate::agents::claude::process::StderrTail;
use crate::session::gatekeeper::{Front, Judge, PromptNews};

/// What a session starts with, besides the client.
pub(crate) struct Start {
    pub(crate) about: SessionAbout,
    pub(crate) folder: PathBuf,
    /// What to say first.
    pub(crate) prompt: Option<String>,
    /// The session ends when there is nothing more to do.
    pub(crate) once: bool,
    /// For each ask: how long it can be answered, and then what.
    pub(crate) timeout: Option<AskTimeout>,
    /// Who sits at a front of ours, and may answer although the gate cannot be reached.
    pub(crate) front: Front,
    /// The owner has opted in to a mode in which nothing is asked.
    pub(crate) allow_bypass: bool,
    pub(crate) outside: OutsidePolicy,
    /// How often one sender may begin a turn of an idle session in an hour.
    pub(crate) wakes_per_hour: usize,
    pub(crate) judge: Arc<Judge>,
}

/// What whoever started the session wants of it.
#[derive(Debug)]
pub(crate) enum Command {
    Prompt(String),
    /// Someone here answers a prompt.
    Answer {
        ask: AskId,
        ruling: Ruling,
    },
    Interrupt,
    /// When there is nothing more to do.
    Finish,
    End,
}

/// What whoever started the session is told.
#[derive(Debug)]
pub(crate) enum Told {
    Message {
        line: Bytes,
        message: Box<Message>,
    },
    Prompt(PromptNews),
    /// The client has nothing to do.
    Idle,
    Notice(String),
}

/// How a session ended.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// The client's own id of the conversation, once it has had a turn.
    pub(crate) agent_session: Option<String>,
    /// The client's last `result`.
    pub(crate) result: Option<(Bytes, Message)>,
    /// Someone interrupted the last turn.
    pub(crate) interrupted: bool,
    /// Someone denied a call and ended the last turn with it.
    pub(crate) denied: bool,
    pub(crate) stderr_tail: StderrTail,
    /// Why it had to end, where something went wrong.
    pub(crate) problem: Option<String>,
}

/// What comes back to the session from other tasks.
pub(super) enum Word {
    Initialized(Result<Value, NoAnswer>),
    /// A request of the client has its answer.
    Answered {
        request: String,
        /// The answer was a denial that ends the turn.
        ends_turn: bool,
    },
    /// The client has taken the mode that an order wanted.
    ModeIs {
        mode: String,
        order: Option<OrderId>,
    },
    Notice(String),
}
