//! The outside guard is kept for each conversation of an agent: it goes with the conversation into another process and into
//! a copy of it, and stays behind where the conversation is cleared.

use super::{Decided, answer, refuse};
use crate::ids::SessionId;
use crate::input::{Answer, Effect, Refusal, Topic};
use crate::record::Record;
use crate::session::{ConversationOrigin, OutsideText, Session, SessionAbout};
use crate::state::State;

/// What ends the guard where the conversation was cleared.
const CLEARED: &str = "/clear";

/// What follows for the guard when a session's process attaches or its conversation is another one.
#[derive(Default)]
pub(super) struct GuardMoves {
    pub(super) records: Vec<Record>,
    /// The sender to tell the process of: it may not know.
    pub(super) tell: Option<String>,
}

pub(super) fn read(state: &State, session: SessionId, sender: String) -> Decided {
    let Some(known) = state.session(session) else { return refuse(Refusal::NoSuchSession) };
    // Another process of the conversation may have ended its guard, and this one still has it.
    let kept = state.outside_of(session, &known.about);
    if [known.outside.as_ref(), kept].iter().all(|outside| outside.is_some_and(|outside| outside.sender == sender)) {
        return answer(Answer::Done);
    }
    changed(session, Record::OutsideRead { session, sender })
}

pub(super) fn ended(state: &State, session: SessionId, by: String) -> Decided {
    let Some(known) = state.session(session) else { return refuse(Refusal::NoSuchSession) };
    if known.outside.is_none() {
        return answer(Answer::Done);
    }
    changed(session, Record::OutsideEnded { session, by })
}

fn changed(session: SessionId, record: Record) -> Decided {
    (vec![record], vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Session(session))])
}

/// A process attaches. The guard of its conversation holds, whichever process read the text.
pub(super) fn at_attach(state: &State, session: SessionId, about: &SessionAbout) -> GuardMoves {
    let kept = state.outside_of(session, about);
    // One that comes back is where it was: only a new process goes on from another.
    let is_new = state.session(session).is_none();
    let before = about.continues.filter(|_| is_new).and_then(|before| state.session(before)?.outside.as_ref());
    moved(session, kept, before.or_else(|| forked_from(state, about).filter(|_| is_new)))
}

/// The session speaks of another conversation than before, or says how it began.
pub(super) fn at_description(state: &State, known: &Session, about: &SessionAbout) -> GuardMoves {
    let is_another = known.about.agent_session != about.agent_session;
    let is_news = is_another || about.origin.is_some() && known.about.origin != about.origin;
    if !is_news {
        return GuardMoves::default();
    }
    let kept = state.outside_of(known.id, about);
    if about.origin == Some(ConversationOrigin::Cleared) {
        // The guard may have gone with it into the new conversation, until it was sure that this one is empty.
        let ended = known.outside.is_some() && (kept.is_none() || !is_another);
        let record = Record::OutsideEnded { session: known.id, by: CLEARED.to_owned() };
        return GuardMoves { records: ended.then_some(record).into_iter().collect(), tell: None };
    }
    moved(known.id, kept, known.outside.as_ref().or_else(|| forked_from(state, about)))
}

fn moved(session: SessionId, kept: Option<&OutsideText>, inherited: Option<&OutsideText>) -> GuardMoves {
    let sender = kept.or(inherited).map(|outside| outside.sender.clone());
    let record = sender.clone().filter(|_| kept.is_none()).map(|sender| Record::OutsideRead { session, sender });
    GuardMoves { records: record.into_iter().collect(), tell: sender }
}

/// A copy may be one of any conversation: the agent does not say of which. One of the same folder is the most likely.
fn forked_from<'a>(state: &'a State, about: &SessionAbout) -> Option<&'a OutsideText> {
    (about.origin == Some(ConversationOrigin::Forked)).then(|| state.latest_outside(about.folder.as_deref())).flatten()
}
