//! The HTTP API: what `/api/v1` answers and takes. Moments are milliseconds since 1970.

mod asks;
mod reading;

use std::collections::BTreeMap;

use portcullis_core::policy::mode_in_words;
use portcullis_core::{
    Address, DeliveryWay, EventLife, Moment, Notice, OrderOutcome, OutsideText, Pairing, Person, Presence, Reply, Role,
    SentFile, Session, Token, TokenScope, TrackedEvent, TrackedOrder,
};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::hooks::HOOKS_VERSION;
use crate::notify::NotifyView;
pub use asks::{AskView, NewVerdict, OfferView, Recorded, RiskView, VerdictView};
pub use reading::UnknownPrompt;

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct SessionView {
    pub id: String,
    /// What people call it. No other living session has it.
    pub label: String,
    /// attached, expected (the gate has restarted and the process should come back), lost (its link broke) or ended
    pub state: String,
    /// channel, hooks or run
    pub connected_by: String,
    /// The agent's process.
    pub pid: Option<u32>,
    /// Where it works.
    pub folder: Option<String>,
    /// Claude Code's own id of the session.
    pub agent_session: Option<String>,
    /// The session before, when the same agent has come back in a new process.
    pub continues: Option<String>,
    /// When it attached first.
    pub since: u64,
    /// The agent's permission mode, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// It takes orders: prompt, interrupt, mode, model, end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub driven: bool,
    /// The version of its hooks, where one of them has called. Renewed by `portcullis install --hooks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks_version: Option<u32>,
    /// working or idle; none where nobody told. With open prompts it waits for a person
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// Who stopped it: no tool runs until it is resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// Text from someone who may not direct it is before its model: what runs or sends something is asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outside: Option<OutsideView>,
    /// What it was told to do of late, newest last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub orders: Vec<OrderView>,
    /// Events waiting for it.
    pub waiting: usize,
    /// Prompts it has open.
    pub asks: usize,
}

/// The text from outside that is before a session's model.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct OutsideView {
    /// Who sent it.
    pub sender: String,
    pub since: u64,
}

impl From<&OutsideText> for OutsideView {
    fn from(outside: &OutsideText) -> Self {
        Self { sender: outside.sender.clone(), since: outside.since.0 }
    }
}

/// What someone told a session to do.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct OrderView {
    pub id: String,
    /// prompt, interrupt, mode, model, stop, resume or end
    pub order: String,
    pub by: String,
    pub at: u64,
    /// recorded; done or failed once the session has said so
    pub state: String,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl From<&TrackedOrder> for OrderView {
    fn from(tracked: &TrackedOrder) -> Self {
        let why = match &tracked.outcome {
            Some(OrderOutcome::Failed { why }) => Some(why.clone()),
            Some(OrderOutcome::Done) | None => None,
        };
        Self {
            id: tracked.id.to_string(),
            order: tracked.order.name().to_owned(),
            by: tracked.by.clone(),
            at: tracked.at.0,
            state: tracked.state().to_owned(),
            why,
        }
    }
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct EventView {
    pub id: String,
    /// waiting, delivered, seen, expired, dropped or dead
    pub state: String,
    /// Why it is in that state, for people.
    pub why: String,
    /// Through which door it came.
    pub via: String,
    /// Who sent it.
    pub sender: String,
    /// The conversation.
    pub chat_id: String,
    /// The session it is for; null while it waits for one.
    pub session: Option<String>,
    /// The length of its text.
    pub bytes: usize,
    /// When it came.
    pub at: u64,
    /// When it was last given to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delivered_at: Option<u64>,
    /// How it was given to the agent: `channel`; `tool_call`, `prompt`, `stop` or `wake` for a hook at that moment;
    /// `driven` where the gate's own process holds the agent. Left out where that was not told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// When the model showed that it had read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seen_at: Option<u64>,
    /// The agent may have met it before.
    pub redelivered: bool,
    /// The message of an agent that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    /// What its door knew about it and what its sender gave along. Only where one event is shown.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
    /// Only where one event is shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct ReplyView {
    pub id: String,
    pub session: String,
    /// The conversation.
    pub chat_id: String,
    /// The event that it answers, where it answers a particular one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<String>,
    pub text: String,
    /// Files that the reply names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileView>,
    /// When it was said.
    pub at: u64,
    /// When its text was last changed, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub edited_at: Option<u64>,
}

/// A file that goes with a reply.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct FileView {
    pub path: String,
    pub size: u64,
}

impl From<&SentFile> for FileView {
    fn from(file: &SentFile) -> Self {
        Self { path: file.path.clone(), size: file.size }
    }
}

/// One message of `watch`. The first ones tell the state, then comes `ready`, then every change.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    Session(SessionView),
    Event(EventView),
    Ask(Box<AskView>),
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
#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewEvent {
    pub text: String,
    /// The session with this id.
    #[serde(default)]
    pub session: Option<String>,
    /// The session with this label.
    #[serde(default)]
    pub label: Option<String>,
    /// The conversation; without it the event opens a new one.
    #[serde(default)]
    pub chat: Option<String>,
    /// The id of the reply that it answers. Its conversation is the event's.
    #[serde(default)]
    pub reply_to: Option<String>,
    /// For the tag in which the model reads the event: at most 20, named by letters, digits and underscores, 256 bytes each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// What became of something said.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
#[serde(rename_all = "snake_case")]
pub struct Accepted {
    /// The id of the event.
    pub id: String,
    /// The conversation.
    pub chat_id: String,
    /// The session it is for; null while it waits for one.
    pub session: Option<String>,
    /// Why it was not taken as a verdict, where it reads like one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Taken by `POST /api/v1/sessions/{id}/prompt`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewPrompt {
    pub prompt: String,
}

/// Taken by `POST /api/v1/sessions/{id}/mode`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewMode {
    pub mode: String,
}

/// Taken by `POST /api/v1/sessions/{id}/model`; none is the agent's own choice.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewModel {
    /// Null is the agent's own choice.
    pub model: Option<String>,
}

/// A token as it is listed: never the token itself.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct TokenView {
    pub id: String,
    pub person: String,
    /// The person's role: sender, reviewer, admin or agent.
    #[serde(default)]
    pub role: String,
    /// Sessions it is for; none means all.
    pub labels: Option<Vec<String>>,
    /// When it was made.
    pub since: u64,
    /// Until when it counts.
    pub expires: Option<u64>,
    /// It counts no more.
    pub expired: bool,
}

impl TokenView {
    pub fn of(token: &Token, role: Option<Role>, now: Moment) -> Self {
        Self {
            id: token.id.to_string(),
            person: token.person.clone(),
            role: role.map(|role| role.to_string()).unwrap_or_default(),
            labels: match &token.scope {
                TokenScope::Everything => None,
                TokenScope::Labels(labels) => Some(labels.iter().map(ToString::to_string).collect()),
            },
            since: token.since.0,
            expires: token.expires.map(|expires| expires.0),
            expired: token.has_expired(now),
        }
    }
}

/// Taken by `POST /api/v1/tokens`. The token is made by the gate and told once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    pub person: String,
    /// sender, reviewer, admin or agent
    pub role: String,
    /// The sessions it is for; all without.
    #[serde(default)]
    pub labels: Option<Vec<String>>,
    /// Seconds from now.
    #[serde(default)]
    pub expires_in: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    pub id: String,
    /// Told this once.
    pub token: String,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct PersonView {
    pub name: String,
    /// sender, reviewer, admin or agent
    pub role: String,
    /// When they were let in.
    pub since: u64,
    /// Who they are elsewhere: `telegram:42`.
    pub identities: Vec<String>,
    /// How many they have.
    pub tokens: usize,
}

impl PersonView {
    pub fn of(name: &str, person: &Person, tokens: usize) -> Self {
        let identities = person.identities.iter().map(ToString::to_string);
        let (name, role, since) = (name.to_owned(), person.role.name().to_owned(), person.since.0);
        Self { name, role, since, identities: identities.collect(), tokens }
    }
}

/// A stranger who waits to be let in. The code is not told: the stranger has to show it.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct PairingView {
    pub platform: String,
    pub user: String,
    pub called: String,
    pub since: u64,
}

impl From<&Pairing> for PairingView {
    fn from(pairing: &Pairing) -> Self {
        let Pairing { identity, called, since, .. } = pairing;
        let (platform, user) = (identity.platform().to_string(), identity.user().to_owned());
        Self { platform, user, called: called.clone(), since: since.0 }
    }
}

/// Answered by `GET /api/v1/people`.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct PeopleView {
    pub people: Vec<PersonView>,
    pub waiting: Vec<PairingView>,
}

/// Taken by `PUT /api/v1/people/{name}`.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewRole {
    /// sender, reviewer, admin or agent
    pub role: String,
}

/// Taken by `POST /api/v1/pairings`: let the stranger with this code in.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// As the stranger was shown it.
    pub code: String,
    /// What the person is to be called.
    pub name: String,
    /// sender, reviewer, admin or agent
    pub role: String,
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
    pub socket: String,
    pub journal: String,
    pub durability: String,
    /// Where a gate that runs in the background writes what happens.
    #[serde(default)]
    pub log: String,
    /// Where the owner's token is kept; none when it came from the environment.
    pub token_file: Option<String>,
    /// Leaves by itself when idle.
    pub auto_started: bool,
    pub dev_sender: Option<String>,
    pub sessions: usize,
    pub waiting_events: usize,
    pub open_asks: usize,
    pub watchers: usize,
    /// How the command of `[notify]` fares, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub notify: Option<NotifyView>,
}

impl SessionView {
    pub fn of(session: &Session, waiting: usize, asks: usize) -> Self {
        let about = &session.about;
        Self {
            id: session.id.to_string(),
            label: session.label.to_string(),
            state: session.presence.name().to_owned(),
            connected_by: about.connected_by.clone(),
            pid: about.pid.filter(|_| !matches!(session.presence, Presence::Ended { .. })),
            folder: about.folder.clone(),
            agent_session: about.agent_session.clone(),
            continues: about.continues.map(|id| id.to_string()),
            since: session.since.0,
            mode: about.mode.clone(),
            driven: about.driven,
            hooks_version: about.hooks_version,
            activity: activity(session).map(str::to_owned),
            stopped_by: session.stopped.clone(),
            outside: session.outside.as_ref().map(OutsideView::from),
            orders: session.orders.iter().map(OrderView::from).collect(),
            waiting,
            asks,
        }
    }
}

/// What the agent does, for people who look at its sessions.
fn activity(session: &Session) -> Option<&'static str> {
    let is_working = session.about.is_working.filter(|_| session.is_attached())?;
    Some(if is_working { "working" } else { "idle" })
}

impl SessionView {
    /// Its permission mode and what the outside guard adds, for people; none where neither is known.
    pub fn standing_in_words(&self) -> Option<String> {
        let mode = self.mode.as_deref().map(mode_in_words);
        let guard = self
            .outside
            .as_ref()
            .map(|outside| format!("it has read text from {}: what it runs or sends is asked for", outside.sender));
        let parts: Vec<String> = mode.into_iter().chain(guard).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Its hooks were written by an older release.
    pub fn has_old_hooks(&self) -> bool {
        self.hooks_version.is_some_and(|version| version < HOOKS_VERSION)
    }
}

impl EventView {
    /// The event as it is at `now`, without its text.
    pub fn of(tracked: &TrackedEvent, now: Moment) -> Self {
        let event = &tracked.event;
        Self {
            id: event.id.to_string(),
            state: tracked.life.name().to_owned(),
            why: why(tracked, now),
            via: event.via.name().to_owned(),
            sender: event.sender.clone(),
            chat_id: event.chat.to_string(),
            session: tracked.to.map(|to| to.to_string()),
            bytes: tracked.size,
            at: event.at.0,
            delivered_at: tracked.delivered.map(|(at, _)| at.0),
            way: tracked.delivered.and_then(|(_, way)| way).map(|way| way.name().to_owned()),
            seen_at: if let EventLife::Seen { at } = tracked.life { Some(at.0) } else { None },
            redelivered: tracked.redelivered,
            reply_to: event.reply_to.map(|id| id.to_string()),
            attributes: BTreeMap::new(),
            text: None,
        }
    }
}

/// Why an event is where it is, in words that a person can act on.
fn why(tracked: &TrackedEvent, now: Moment) -> String {
    match (&tracked.life, tracked.to, &tracked.event.address) {
        (EventLife::Waiting, None, Address::Label(label)) => format!("no session with label `{label}` is attached"),
        (EventLife::Waiting, None, _) => "no session is attached".to_owned(),
        (EventLife::Waiting, Some(_), _) => "its session is away or has not taken it yet".to_owned(),
        (EventLife::Delivered { at }, ..) => {
            let causes = match tracked.delivered.and_then(|(_, way)| way) {
                Some(DeliveryWay::Channel) => {
                    "likely causes are that channels are not switched on for the account (`portcullis doctor` explains), \
                     that Claude Code was started without --dangerously-load-development-channels, or that the model has \
                     not answered yet"
                }
                Some(DeliveryWay::Driven) => "the agent took it, and the model has not answered it or opened it yet",
                Some(DeliveryWay::ToolCall | DeliveryWay::Prompt | DeliveryWay::Stop | DeliveryWay::Wake) => {
                    "Claude Code took it from a hook, and the model has not answered it or opened it yet; a turn that was \
                     interrupted just then may have lost it (`portcullis events retry` gives it again)"
                }
                None => {
                    "the model has not answered it or opened it yet; `portcullis doctor` shows whether it can be reached"
                }
            };
            format!("written to the session {} ago, not confirmed: {causes}", ago(now.since(*at)))
        }
        (EventLife::Seen { .. }, ..) => "the model opened it or answered its conversation".to_owned(),
        (EventLife::Expired { .. }, ..) => "no session took it in time".to_owned(),
        (EventLife::Dropped { by, .. }, ..) => format!("dropped by {by}"),
        (EventLife::Dead { .. }, ..) => {
            format!(
                "given up: it was written to {} processes, and each ended before the model read it",
                tracked.attempts + 1
            )
        }
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

impl From<&Reply> for ReplyView {
    fn from(reply: &Reply) -> Self {
        Self {
            id: reply.id.to_string(),
            session: reply.session.to_string(),
            chat_id: reply.chat.to_string(),
            reply_to: reply.reply_to.map(|id| id.to_string()),
            text: reply.text.as_str().to_owned(),
            files: reply.files.iter().map(FileView::from).collect(),
            at: reply.at.0,
            edited_at: reply.edited.map(|at| at.0),
        }
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
        }
    }
}
