//! When something last happened in a session: its agent did something, or someone had to do with it.

use super::State;
use crate::ids::{Moment, SessionId};
use crate::record::{Record, Subject};

impl State {
    /// What the gate notes by itself, such as that a process went away or came back, is no activity.
    pub(super) fn note_activity(&mut self, at: Moment, record: &Record) {
        let session = match record {
            Record::Attached { .. }
            | Record::Lost { .. }
            | Record::Ended { .. }
            | Record::Moved { .. }
            | Record::Requeued { .. }
            | Record::AskExpired { .. }
            | Record::Withdrawn { .. }
            | Record::Joined { .. }
            | Record::NotConfirmed { .. } => return,
            Record::Received { to, .. } => *to,
            _ => self.session_of(&record.subject()),
        };
        if let Some(session) = session.and_then(|session| self.sessions.get_mut(session)) {
            session.active = session.active.max(at);
        }
    }

    fn session_of(&self, subject: &Subject) -> Option<SessionId> {
        match subject {
            Subject::Session(session) => Some(*session),
            Subject::Ask(ask) => self.asks.get(ask).map(|(ask, _)| ask.session),
            _ => None,
        }
    }
}
