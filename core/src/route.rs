//! Which session an event goes to: the one it names, else its conversation's, else the only one there is.

use crate::event::Label;
use crate::ids::SessionId;
use crate::people::TokenScope;
use crate::session::Session;
use crate::state::{Chat, State};

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
    /// An MCP client of the gateway: nobody there reads events.
    TakesNone(SessionId),
    /// Several sessions fit, and the sender must say which.
    Several(Vec<(SessionId, Label)>),
    /// The sender has to do with these labels only.
    OutOfScope(Vec<Label>),
}

/// The session, or none yet: then the event waits for one to come. `chat` is its conversation, if there was one before.
pub fn route(
    state: &State,
    address: &Address,
    chat: Option<&Chat>,
    scope: &TokenScope,
) -> Result<Option<SessionId>, NoRoute> {
    let in_scope = |session: &&Session| scope.covers(&session.about.label);
    match address {
        Address::Session(id) => match state.session(*id).filter(in_scope) {
            None => Err(NoRoute::UnknownSession(*id)),
            Some(session) if session.has_ended() => {
                match state.successor(*id).filter(|next| state.session(*next).as_ref().is_some_and(in_scope)) {
                    Some(next) => Ok(Some(next)),
                    None => Err(NoRoute::EndedSession(*id)),
                }
            }
            Some(session) if !session.about.takes_events() => Err(NoRoute::TakesNone(*id)),
            Some(session) => Ok(Some(session.id)),
        },
        Address::Label(label) => {
            // As in `State::is_meant`, for all sessions at once: of those that wanted the label none is meant while one
            // has it.
            let wanting = state.sessions_labelled(label).filter(in_scope);
            let named = state.sessions_labelled(label).filter(|session| session.label == *label).filter(in_scope);
            let mut named = named.peekable();
            let found = if named.peek().is_some() { one_of(named) } else { one_of(wanting) };
            match found? {
                None if !scope.covers(label) => Err(out_of(scope)),
                found => Ok(found),
            }
        }
        Address::Open => {
            let talks_to = chat.and_then(|chat| chat.session).and_then(|id| state.session(id));
            if let Some(session) = talks_to.filter(in_scope).filter(|session| session.is_present()) {
                return Ok(Some(session.id));
            }
            match one_of(state.sessions().filter(in_scope))? {
                // Whoever came first would get it, and that might be anyone.
                None if *scope != TokenScope::Everything => Err(out_of(scope)),
                found => Ok(found),
            }
        }
    }
}

fn out_of(scope: &TokenScope) -> NoRoute {
    match scope {
        TokenScope::Everything => NoRoute::OutOfScope(vec![]),
        TokenScope::Labels(labels) => NoRoute::OutOfScope(labels.clone()),
    }
}

fn one_of<'a>(sessions: impl Iterator<Item = &'a Session>) -> Result<Option<SessionId>, NoRoute> {
    let mut fitting = sessions.filter(|session| session.may_be_given());
    let Some(first) = fitting.next() else { return Ok(None) };
    let Some(second) = fitting.next() else { return Ok(Some(first.id)) };
    let several = [first, second].into_iter().chain(fitting);
    Err(NoRoute::Several(several.map(|session| (session.id, session.label.clone())).collect()))
}
