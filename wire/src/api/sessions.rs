//! Sessions and the orders to them, as the API tells and takes them.

use portcullis_core::policy::mode_in_words;
use portcullis_core::{OrderOutcome, OutsideText, Presence, Session, StopState, TrackedOrder, UnaskedCall};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::UnaskedCallView;
use crate::hooks::HOOKS_VERSION;
use crate::stream::ConversationWords;

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq, ToSchema)]
pub struct SessionView {
    pub id: String,
    /// What people call it. No other living session has it.
    pub label: String,
    /// attached, expected (the gate has restarted and the process should come back), lost (its link broke) or ended
    pub state: String,
    /// channel, hooks, run, acp or gateway
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
    /// When its agent last did something, or someone had to do with it. 0: told by an earlier release.
    #[serde(default)]
    pub last_active: u64,
    /// The agent's permission mode, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// It takes orders: prompt, interrupt, mode, model, end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub driven: bool,
    /// The version of its hooks, where one of them has called. Renewed by `portcullis install --hooks`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hooks_version: Option<u32>,
    /// working, idle, or dialog: it waits for an answer that only its own terminal takes. None where nobody told. With open
    /// prompts it waits for a person
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
    /// Who stopped it; `stop` says how far that holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stopped_by: Option<String>,
    /// Of a session that was stopped: holds (no tool runs until it is resumed), unconfirmed (its process has not confirmed it
    /// yet) or unenforced (it is connected by the channel alone, where nothing holds a call).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stop: Option<String>,
    /// It takes no events: an MCP client of the gateway, which calls tools and is told nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub takes_no_events: bool,
    /// An event wakes it while it is idle. false: it reads the event at its next prompt or tool call. None: nobody knows
    /// whether it reads what it is given, as on a channel that has not been answered through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wakes: Option<bool>,
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
    /// What its conversation is called, or its first words: told where `words` are asked for, and there is a transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What its agent said or did last: told where `words` are asked for, and there is a transcript.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_words: Option<String>,
    /// The last of its calls that ran although a person had to be asked, and nothing shows that anybody was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unasked_calls: Vec<UnaskedCallView>,
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
            last_active: session.active.0,
            mode: about.mode.clone(),
            driven: about.driven,
            hooks_version: about.hooks_version,
            activity: activity(session).map(str::to_owned),
            stopped_by: session.stopped.clone(),
            stop: session.stop_state().map(|stop| stop.name().to_owned()),
            takes_no_events: !about.takes_events(),
            wakes: about.wakes,
            outside: session.outside.as_ref().map(OutsideView::from),
            orders: session.orders.iter().map(OrderView::from).collect(),
            waiting,
            asks,
            title: None,
            last_words: None,
            unasked_calls: vec![],
        }
    }

    /// The same session, with its calls that ran unasked.
    pub fn with_alarms<'a>(self, unasked: impl Iterator<Item = &'a UnaskedCall>) -> Self {
        Self { unasked_calls: unasked.map(UnaskedCallView::from).collect(), ..self }
    }

    /// The same session, with what its transcript tells.
    pub fn with_words(self, words: ConversationWords) -> Self {
        Self { title: words.title, last_words: words.last, ..self }
    }
}

/// What the agent does, for people who look at its sessions.
fn activity(session: &Session) -> Option<&'static str> {
    let about = Some(&session.about).filter(|_| session.is_attached())?;
    Some(match about.is_working {
        _ if about.at_dialog => "dialog",
        Some(true) => "working",
        Some(false) => "idle",
        None => return None,
    })
}

impl SessionView {
    /// It waits for an answer to a dialog of Claude Code that nobody can give elsewhere.
    pub fn is_at_dialog(&self) -> bool {
        self.activity.as_deref() == Some("dialog")
    }

    /// Its permission mode and what the outside guard adds, for people; none where neither is known.
    pub fn standing_in_words(&self) -> Option<String> {
        let mode = self.mode.as_deref().map(mode_in_words);
        let guard = self
            .outside
            .as_ref()
            .map(|outside| format!("it has read text from {}: what it runs or sends is asked for", outside.sender));
        let dialog = self
            .is_at_dialog()
            .then(|| "Claude Code waits at its terminal, for an answer that only it can take".to_owned());
        let parts: Vec<String> = dialog.into_iter().chain(mode).chain(guard).collect();
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    /// Who stopped it and how far that holds, for people; none where nobody did.
    pub fn stop_in_words(&self) -> Option<String> {
        let by = self.stopped_by.as_deref()?;
        Some(match self.stop.as_deref().and_then(StopState::named) {
            // A gate of an earlier release does not tell.
            Some(StopState::Holds) | None => format!("stopped by {by}"),
            Some(StopState::Unconfirmed) => format!("stop by {by} not confirmed"),
            Some(StopState::Unenforced) => format!("stop by {by} not enforced"),
        })
    }

    /// Its hooks were written by an older release.
    pub fn has_old_hooks(&self) -> bool {
        self.hooks_version.is_some_and(|version| version < HOOKS_VERSION)
    }
}
