//! Which conversations have text from outside before their model, whichever process they are in.

use std::collections::BTreeMap;

use super::State;
use super::snapshot::saved_structs;
use crate::ids::{Moment, SessionId};
use crate::session::{OutsideText, SessionAbout};

/// Conversations whose guard is up, by [`key`].
pub(super) type GuardedConversations = BTreeMap<String, Guarded>;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guarded {
    outside: OutsideText,
    folder: Option<String>,
}

saved_structs! { Guarded { outside, folder } }

/// The agent's own name of the conversation; the session's, while the agent has not told it.
fn key(session: SessionId, about: &SessionAbout) -> String {
    about.agent_session.clone().unwrap_or_else(|| session.to_string())
}

impl State {
    /// The text from outside in the conversation that a session is in.
    pub(crate) fn outside_of(&self, session: SessionId, about: &SessionAbout) -> Option<&OutsideText> {
        self.outside.get(&key(session, about)).map(|guarded| &guarded.outside)
    }

    /// The newest text from outside in any conversation, and rather in one of this folder.
    pub(crate) fn latest_outside(&self, folder: Option<&str>) -> Option<&OutsideText> {
        let all = self.outside.values();
        let latest = all.max_by_key(|guarded| (guarded.folder.as_deref() == folder, guarded.outside.since))?;
        Some(&latest.outside)
    }

    pub(super) fn outside_read(&mut self, session: SessionId, sender: &str, at: Moment) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        let key = key(session, &known.about);
        let since = self.outside.get(&key).map_or(at, |guarded| guarded.outside.since);
        let outside = OutsideText { sender: sender.to_owned(), since };
        known.outside = Some(outside.clone());
        self.outside.insert(key, Guarded { outside, folder: known.about.folder.clone() });
        while self.outside.len() > self.memory.guarded_conversations {
            let oldest = self.outside.iter().min_by_key(|(_, guarded)| guarded.outside.since);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            self.outside.remove(&oldest);
        }
    }

    pub(super) fn outside_ended(&mut self, session: SessionId) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        known.outside = None;
        self.outside.remove(&key(session, &known.about));
    }

    /// The session may speak of another conversation from now on.
    pub(super) fn note_conversation(&mut self, session: SessionId) {
        let Some(known) = self.sessions.get_mut(session) else { return };
        known.outside = self.outside.get(&key(session, &known.about)).map(|guarded| guarded.outside.clone());
    }
}
