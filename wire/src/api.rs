//! The HTTP API: what `/api/v1` answers and takes. Moments are milliseconds since 1970.

mod asks;
mod devices;
mod editors;
mod events;
mod mcp;
mod modes;
mod people;
mod reading;
mod rules;
mod sessions;

use portcullis_core::{Moment, Notice, UnaskedCall};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::notify::NotifyView;
pub use asks::{
    AskView, McpToolView, NewVerdict, OfferView, REFUSED_AFTER_YES, Recorded, ReplacedView, RiskView, VerdictView,
};
pub use devices::{
    DeviceView, LinkView, MadeDevice, MeView, NewDevice, NewLink, NewPresence, NewSubscription, PushView,
    SubscriptionKeys,
};
pub use editors::{NewTrustedEditor, TrustedEditorView};
pub use events::{Accepted, EventView, FileView, NewEvent, ReplyView, UploadedFile};
pub use mcp::{McpServerView, McpSignInView, NamedMcpServer};
pub use modes::{ConfiguredModeView, DefaultModeView, NewDefaultMode, SetModeView};
pub use people::{Approval, MadeToken, NewRole, NewToken, PairingView, PeopleView, PersonView, TokenView};
pub use reading::UnknownPrompt;
pub use rules::{ChainView, NewCheck, RuleView, RulingView, as_told};
pub use sessions::{NewMode, NewModel, NewPrompt, OrderView, OutsideView, SessionView};

/// One message of `watch`. The first ones tell the state, then comes `ready`, then every change.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Session(SessionView),
    Event(EventView),
    Ask(Box<AskView>),
    Reply(ReplyView),
    /// People, tokens or devices have changed; told to admins, who may read them again.
    People {},
    Ready {
        revision: u64,
    },
    /// The watcher was too slow and must start again.
    Resync {
        why: String,
    },
}

/// One line of the log.
#[derive(Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct LogLine {
    /// Its place in the journal.
    pub seq: u64,
    pub at: u64,
    /// What it is about: `event/ID`, `ask/ID`, `session/ID`, …
    pub subject: String,
    /// The record's skeleton, as the journal keeps it.
    #[schema(value_type = Object)]
    pub record: serde_json::Value,
    /// What people wrote; none when there was nothing, or when it was erased. Where the record says `attributed`, its last
    /// line is what the sender gave along.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub payload: Option<String>,
    /// What people wrote was erased.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub erased: bool,
    /// The record as a sentence for people, where it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub told: Option<ToldLine>,
}

/// A record as people read it.
#[derive(Debug, Serialize, Deserialize, PartialEq, ToSchema)]
pub struct ToldLine {
    /// One line, with secrets masked.
    pub words: String,
    /// The label of the session that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// detail, plain or attention
    pub weight: String,
}

/// Taken by `POST /api/v1/log/barred`: what the command line was asked to do inside an agent, and did not.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// What was tried.
    pub what: String,
}

/// Taken by `POST /api/v1/log/redact`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRedaction {
    /// `event/ID`, `ask/ID`, `session/ID`, or the bare id of an event or a prompt.
    pub subject: String,
}

/// Answered by `POST /api/v1/log/redact`.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct Redacted {
    pub subject: String,
    /// How many payloads there were.
    pub erased: usize,
}

/// Answered by `GET /api/v1/status`, and by `portcullis status --json`.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
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
    /// Where browsers elsewhere find the page, if that is served.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_url: Option<String>,
    /// Where a proxy or a tunnel for it ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub public_listen: Option<String>,
    pub socket: String,
    pub journal: String,
    pub durability: String,
    /// Where the gate writes what happens: a file where it runs in the background, else `standard error`.
    #[serde(default)]
    pub log: String,
    /// Where the owner's token is kept; none when it came from the environment.
    pub token_file: Option<String>,
    /// Leaves by itself when idle.
    pub auto_started: bool,
    pub dev_sender: Option<String>,
    /// `device` where the owner of this machine answers no prompts on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<String>,
    pub sessions: usize,
    pub waiting_events: usize,
    pub open_asks: usize,
    pub watchers: usize,
    /// How the command of `[notify]` fares, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifyView>,
    /// The last calls that ran although a person had to be asked, and nothing shows that anybody was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked_calls: Vec<UnaskedCallView>,
}

/// A call that ran although a person had to be asked.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct UnaskedCallView {
    /// Milliseconds since 1970.
    pub at: u64,
    /// The session's id.
    pub session: String,
    /// The session's label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    pub tool: String,
}

impl From<&UnaskedCall> for UnaskedCallView {
    fn from(call: &UnaskedCall) -> Self {
        let UnaskedCall { at, session, label, tool } = call;
        let label = label.as_ref().map(ToString::to_string);
        Self { at: at.0, session: session.to_string(), label, tool: tool.clone() }
    }
}

/// A time span as people say it.
pub fn ago(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => format!("{} min", seconds / 60),
        3600..86_400 => format!("{} h", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

impl Change {
    /// What is told of a notice at `now`.
    pub fn of(notice: &Notice, now: Moment) -> Self {
        match notice {
            Notice::Session { session, waiting, asks } => Self::Session(SessionView::of(session, *waiting, *asks)),
            Notice::Event { event, .. } => Self::Event(EventView::of(event, now)),
            Notice::Ask { ask, life, label, .. } => Self::Ask(Box::new(AskView::of(ask, life).labelled(Some(label)))),
            Notice::Replied { reply, .. } => Self::Reply(reply.into()),
            Notice::People => Self::People {},
        }
    }
}
