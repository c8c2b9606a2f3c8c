//! The HTTP API: what `/api/v1` answers and takes. Moments are milliseconds since 1970.

use portcullis_core::{Ask, AskLife, EventLife, Held, Notice, Presence, Reply, Session, Verdict};
use serde::{Deserialize, Serialize};

use crate::link::File;

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct SessionView {
    pub id: String,
    pub label: String,
    /// attached, expected, lost or ended
    pub state: String,
    pub connected_by: String,
    pub pid: Option<u32>,
    pub folder: Option<String>,
    pub agent_session: Option<String>,
    pub continues: Option<String>,
    pub since: u64,
    /// Events waiting for it.
    pub waiting: usize,
    /// Prompts it has open.
    pub asks: usize,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct EventView {
    pub id: String,
    /// waiting, delivered, seen or expired
    pub state: String,
    /// Why it is in that state, for people.
    pub why: String,
    pub via: String,
    pub sender: String,
    pub chat_id: String,
    pub session: Option<String>,
    pub bytes: usize,
    pub at: u64,
    pub redelivered: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct AskView {
    pub id: String,
    pub code: String,
    /// open, answered or withdrawn
    pub state: String,
    pub session: String,
    pub mouth: String,
    pub tool: String,
    pub description: String,
    pub preview: String,
    pub at: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictView>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct VerdictView {
    pub ask: String,
    pub code: String,
    pub behavior: String,
    pub by: String,
    pub via: String,
    pub at: u64,
    pub why: Option<String>,
    /// When the session's process had handed it to the agent.
    pub carried_at: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct ReplyView {
    pub id: String,
    pub session: String,
    pub chat_id: String,
    pub text: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<File>,
    pub at: u64,
}

/// One message of `watch`. The first ones tell the state, then comes `ready`, then every change.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Session(SessionView),
    Event(EventView),
    Ask(AskView),
    Reply(ReplyView),
    Ready {
        revision: u64,
    },
    /// The watcher was too slow and must start again.
    Resync {
        why: String,
    },
}

/// Taken by `POST /api/v1/events`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    pub text: String,
    #[serde(default)]
    pub session: Option<String>,
    #[serde(default)]
    pub label: Option<String>,
    #[serde(default)]
    pub chat: Option<String>,
}

/// What became of something said.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
pub struct Accepted {
    pub id: String,
    pub chat_id: String,
    pub session: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Taken by `POST /api/v1/asks/{id or code}/verdict`.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NewVerdict {
    /// allow or deny
    pub behavior: String,
    #[serde(default)]
    pub why: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct Recorded {
    pub ask: String,
    pub code: String,
    pub behavior: String,
}

/// Answered by `GET /api/v1/status`, and by `portcullis status --json`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub struct Status {
    pub running: bool,
    pub version: String,
    pub pid: u32,
    /// Milliseconds since 1970.
    pub started_at: u64,
    /// Where HTTP is served; none when only the socket is.
    pub listen: Option<String>,
    /// Why there is no listener, where one was wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listen_problem: Option<String>,
    pub socket: String,
    pub journal: String,
    pub durability: String,
    /// Where the owner's token is kept; none when it came from the environment.
    pub token_file: Option<String>,
    /// Leaves by itself when idle.
    pub auto_started: bool,
    pub dev_sender: Option<String>,
    pub sessions: usize,
    pub waiting_events: usize,
    pub open_asks: usize,
    pub watchers: usize,
}

impl SessionView {
    pub fn of(session: &Session, waiting: usize, asks: usize) -> Self {
        let about = &session.about;
        Self {
            id: session.id.to_string(),
            label: about.label.to_string(),
            state: session.presence.name().to_owned(),
            connected_by: about.connected_by.clone(),
            pid: about.pid.filter(|_| !matches!(session.presence, Presence::Ended { .. })),
            folder: about.folder.clone(),
            agent_session: about.agent_session.clone(),
            continues: about.continues.map(|id| id.to_string()),
            since: session.since.0,
            waiting,
            asks,
        }
    }
}

impl From<&Held> for EventView {
    fn from(held: &Held) -> Self {
        let event = &held.event;
        let why = match (&held.life, held.to) {
            (EventLife::Waiting, None) => "no session has come for it yet",
            (EventLife::Waiting, Some(_)) => "its session has not taken it yet",
            (EventLife::Delivered { .. }, _) => "written to the session; nothing shows yet that the model read it",
            (EventLife::Seen { .. }, _) => "the model opened it or answered its conversation",
            (EventLife::Expired { .. }, _) => "no session took it in time",
        };
        Self {
            id: event.id.to_string(),
            state: held.life.name().to_owned(),
            why: why.to_owned(),
            via: event.via.name().to_owned(),
            sender: event.sender.clone(),
            chat_id: event.chat.to_string(),
            session: held.to.map(|to| to.to_string()),
            bytes: held.size,
            at: event.at.0,
            redelivered: held.redelivered,
            text: None,
        }
    }
}

impl AskView {
    pub fn of(ask: &Ask, life: &AskLife) -> Self {
        Self {
            id: ask.id.to_string(),
            code: ask.code.to_string(),
            state: life.name().to_owned(),
            session: ask.session.to_string(),
            mouth: ask.mouth.name().to_owned(),
            tool: ask.tool.clone(),
            description: ask.description.as_str().to_owned(),
            preview: ask.preview.as_str().to_owned(),
            at: ask.at.0,
            verdict: VerdictView::of(ask, life),
            withdrawn: match life {
                AskLife::Withdrawn { why, .. } => Some(why.clone()),
                _ => None,
            },
        }
    }
}

impl VerdictView {
    pub fn of(ask: &Ask, life: &AskLife) -> Option<Self> {
        let AskLife::Answered { verdict, carried } = life else { return None };
        let Verdict { behavior, by, via, at, why } = verdict;
        Some(Self {
            ask: ask.id.to_string(),
            code: ask.code.to_string(),
            behavior: behavior.name().to_owned(),
            by: by.clone(),
            via: via.name().to_owned(),
            at: at.0,
            why: why.clone(),
            carried_at: carried.map(|at| at.0),
        })
    }
}

impl From<&Reply> for ReplyView {
    fn from(reply: &Reply) -> Self {
        Self {
            id: reply.id.to_string(),
            session: reply.session.to_string(),
            chat_id: reply.chat.to_string(),
            text: reply.text.as_str().to_owned(),
            files: reply.files.iter().map(File::from).collect(),
            at: reply.at.0,
        }
    }
}

impl From<&Notice> for Change {
    fn from(notice: &Notice) -> Self {
        match notice {
            Notice::Session { session, waiting, asks } => Self::Session(SessionView::of(session, *waiting, *asks)),
            Notice::Event(held) => Self::Event(held.into()),
            Notice::Ask { ask, life, .. } => Self::Ask(AskView::of(ask, life)),
            Notice::Replied { reply, .. } => Self::Reply(reply.into()),
        }
    }
}
