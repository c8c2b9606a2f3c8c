//! What people write to mean a session, a prompt or an event: its name, its id, or the beginning of either.

use portcullis_core::{
    Ask, AskLife, EventId, Session, SessionId, State, Token, TokenId, TokenScope, TrackedEvent, visible,
};
use portcullis_wire::error::{Candidate, Fault, Kind};

/// The session that is meant: by its id, its label, the label it wanted, or the beginning of one of them. Living sessions
/// come before those that have ended.
pub(crate) fn find_session(state: &State, wanted: &str, scope: &TokenScope) -> Result<SessionId, Fault> {
    let mine: Vec<&Session> = state.all_sessions().filter(|session| scope.covers(&session.about.label)).collect();
    let id = wanted.to_ascii_lowercase();
    if let Some(session) = mine.iter().find(|session| session.id.to_string() == id) {
        return Ok(session.id);
    }
    let (ended, living): (Vec<&Session>, Vec<&Session>) = mine.into_iter().partition(|session| session.has_ended());
    let has_label = |session: &&Session| session.label.as_str() == wanted;
    let wants_label = |session: &&Session| session.about.label.as_str() == wanted;
    let begins = |session: &&Session| {
        !wanted.is_empty() && (session.label.as_str().starts_with(wanted) || session.id.to_string().starts_with(&id))
    };
    // Of those that had the label one after the other, the last is meant.
    let last_of = ended.iter().copied().filter(has_label).max_by_key(|session| session.since);
    let meant: [Vec<&Session>; 5] = [
        living.iter().copied().filter(has_label).collect(),
        living.iter().copied().filter(wants_label).collect(),
        last_of.into_iter().collect(),
        living.iter().copied().filter(begins).collect(),
        ended.iter().copied().filter(begins).collect(),
    ];
    let candidate = |session: &&Session| Candidate::session(session.id, &session.label);
    let found = first_meant("sessions", wanted, meant, candidate)?;
    found.map(|session| session.id).ok_or_else(|| {
        let unknown = Fault::new(Kind::NoSuchSession, format!("no session {}", visible(wanted)));
        unknown.knowing(living.iter().map(candidate).collect())
    })
}

/// The prompt that is meant by someone who wants to look at it: by its code, its id, or the beginning of one of them.
/// Open ones come first. A verdict names its prompt in full: the beginning might mean another one by then.
pub(crate) fn find_ask_to_show<'a>(
    state: &'a State,
    wanted: &str,
    scope: &TokenScope,
) -> Result<&'a (Ask, AskLife), Fault> {
    let id = wanted.to_ascii_lowercase();
    let mine = || state.asks().filter(|(ask, _)| state.is_in_scope(Some(ask.session), scope));
    let is_it = |(ask, _): &&(Ask, AskLife)| ask.code.to_string() == id || ask.id.to_string() == id;
    let begins =
        |(ask, _): &&(Ask, AskLife)| ask.code.to_string().starts_with(&id) || ask.id.to_string().starts_with(&id);
    let meant = [
        mine().filter(is_it).last().into_iter().collect::<Vec<_>>(),
        mine().filter(|(_, life)| life.is_open()).filter(begins).collect(),
        mine().filter(begins).collect(),
    ];
    let candidate = |(ask, _): &&(Ask, AskLife)| Candidate::ask(ask);
    first_meant("prompts", wanted, meant, candidate)?.ok_or_else(|| {
        let unknown = Fault::new(Kind::NoSuchAsk, format!("no prompt {}", visible(wanted)));
        unknown.knowing(open_candidates(state, scope))
    })
}

/// The prompts that are open, and that the caller may see.
pub(super) fn open_candidates(state: &State, scope: &TokenScope) -> Vec<Candidate> {
    let mine = state.open_asks().filter(|ask| state.is_in_scope(Some(ask.session), scope));
    mine.map(Candidate::ask).collect()
}

/// The token that is meant: by its id, or the beginning of it.
pub(crate) fn find_token(state: &State, wanted: &str) -> Result<TokenId, Fault> {
    if let Ok(id) = wanted.parse() {
        return Ok(id);
    }
    let id = wanted.to_ascii_lowercase();
    let candidate = |token: &&Token| Candidate { id: token.id.to_string(), name: Some(token.person.clone()) };
    let begins = |token: &&Token| !id.is_empty() && token.id.to_string().starts_with(&id);
    let meant = [state.tokens().filter(begins).collect()];
    let unknown = Fault::new(Kind::NoSuchToken, format!("no token {}", visible(wanted)));
    first_meant("tokens", wanted, meant, candidate)?.map(|token| token.id).ok_or(unknown)
}

/// The event that is meant: by its id, or the beginning of it among those that the caller may see.
pub(crate) fn find_event(
    state: &State,
    wanted: &str,
    may_see: impl Fn(&TrackedEvent) -> bool,
) -> Result<EventId, Fault> {
    if let Ok(id) = wanted.parse() {
        return Ok(id);
    }
    let id = wanted.to_ascii_lowercase();
    let begins = state.events().filter(|tracked| tracked.event.id.to_string().starts_with(&id));
    let meant = [begins.filter(|tracked| may_see(tracked)).map(|tracked| tracked.event.id).collect()];
    let unknown = Fault::new(Kind::NoSuchEvent, format!("no event {}", visible(wanted)));
    let candidate = |id: &EventId| Candidate { id: id.to_string(), name: None };
    first_meant("events", wanted, meant, candidate)?.ok_or(unknown)
}

/// The only one of the first list that is not empty.
fn first_meant<T>(
    what: &str,
    wanted: &str,
    lists: impl IntoIterator<Item = Vec<T>>,
    candidate: impl Fn(&T) -> Candidate,
) -> Result<Option<T>, Fault> {
    const NAMED: usize = 10;
    let Some(mut meant) = lists.into_iter().find(|meant| !meant.is_empty()) else { return Ok(None) };
    if meant.len() == 1 {
        return Ok(meant.pop());
    }
    let candidates: Vec<Candidate> = meant.iter().map(candidate).collect();
    let names: Vec<String> = candidates.iter().take(NAMED).map(Candidate::in_words).collect();
    let more = match candidates.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let message = format!("{wanted} may mean several {what}: {}{more}", names.join(", "));
    Err(Fault { candidates, ..Fault::new(Kind::Ambiguous, visible(&message)) })
}
