//! Which session an event goes to: the one it names, else its conversation's, else the only one there is.

use crate::event::{ChatId, Label};
use crate::ids::SessionId;
use crate::session::Session;
use crate::state::State;

/// Whom a sender asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Nobody in particular.
    Open,
    Session(SessionId),
    Label(Label),
}

/// Why an event cannot be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoRoute {
    UnknownSession(SessionId),
    EndedSession(SessionId),
    /// Several sessions fit, and the sender must say which.
    Several(Vec<(SessionId, Label)>),
}

/// The session, or none yet: then the event waits for one to come.
pub fn route(state: &State, address: &Address, chat: &ChatId) -> Result<Option<SessionId>, NoRoute> {
    match address {
        Address::Session(id) => match state.session(*id) {
            None => Err(NoRoute::UnknownSession(*id)),
            Some(session) if session.has_ended() => match state.successor(*id) {
                Some(next) => Ok(Some(next)),
                None => Err(NoRoute::EndedSession(*id)),
            },
            Some(session) => Ok(Some(session.id)),
        },
        Address::Label(label) => one_of(state.sessions().filter(|session| session.about.label == *label)),
        Address::Open => match state.chat(chat).and_then(|chat| chat.session) {
            Some(id) if state.session(id).is_some_and(Session::is_present) => Ok(Some(id)),
            _ => one_of(state.sessions()),
        },
    }
}

fn one_of<'a>(sessions: impl Iterator<Item = &'a Session>) -> Result<Option<SessionId>, NoRoute> {
    let fitting: Vec<&Session> = sessions.filter(|session| session.is_present()).collect();
    match fitting.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(only.id)),
        several => {
            Err(NoRoute::Several(several.iter().map(|session| (session.id, session.about.label.clone())).collect()))
        }
    }
}
