//! Permission requests come in, verdicts go back, and the first verdict of someone with the right is the one.

use super::{Decided, answer, refuse};
use crate::ask::{Ask, AskLife, Mouth};
use crate::event::Text;
use crate::ids::{AskId, Code, Moment, SessionId};
use crate::input::{Answer, Effect, Input, Refusal, Target, Topic};
use crate::people::{Actor, Right};
use crate::record::Record;
use crate::session::Session;
use crate::state::State;
use crate::verdict::{Behavior, Verdict};

pub(super) struct Request {
    pub(super) id: AskId,
    pub(super) session: SessionId,
    pub(super) mouth: Mouth,
    pub(super) origin: String,
    pub(super) tool: String,
    pub(super) description: Text,
    pub(super) preview: Text,
}

pub(super) fn asked(state: &State, now: Moment, request: Request, entropy: u64) -> Decided {
    // A process that lost its gate asks again under the same id: the ask is known, and perhaps already answered.
    if let Some((ask, life)) = state.ask(request.id) {
        let mut effects = vec![Effect::Answer(Answer::Asked { ask: ask.id, code: ask.code })];
        effects.extend(still_to_carry(ask, life));
        return (vec![], effects);
    }
    if state.session(request.session).is_none() {
        return refuse(Refusal::NoSuchSession);
    }
    if state.open_asks_of(request.session).count() >= state.limits().open_asks {
        return refuse(Refusal::TooManyAsks);
    }
    let code = free_code(state, &request.origin, entropy);
    let Request { id, session, mouth, origin, tool, description, preview } = request;
    let ask = Ask { id, code, session, mouth, origin, tool, description, preview, at: now };
    (
        vec![Record::Asked { ask }],
        vec![Effect::Answer(Answer::Asked { ask: id, code }), Effect::Publish(Topic::Ask(id))],
    )
}

/// The client's own code where nobody else has it, else a fresh one.
fn free_code(state: &State, origin: &str, entropy: u64) -> Code {
    let own = Code::parse(origin);
    let fresh = (0..).map(|step| Code::from_entropy(entropy.wrapping_add(step)));
    let mut codes = own.into_iter().chain(fresh);
    codes.find(|code| state.ask_by_code(*code).is_none()).unwrap_or_else(|| Code::from_entropy(entropy))
}

pub(super) fn answered(
    state: &State,
    now: Moment,
    by: Actor,
    target: &Target,
    behavior: Behavior,
    why: Option<String>,
) -> Decided {
    if !by.may(Right::Review) {
        return refuse(Refusal::NeedsRight(Right::Review));
    }
    let prompts_are_open = state.prompts_are_open();
    let found = match target {
        Target::Id(id) => state.ask(*id),
        Target::Code(code) => {
            if prompts_are_open && let Some(retry_at) = state.barred_until(&by.name, now) {
                return refuse(Refusal::TooManyMisses { retry_at });
            }
            state.ask_by_code(*code)
        }
    };
    if let Some((ask, life)) = found.filter(|(ask, _)| state.is_in_scope(Some(ask.session), &by.scope)) {
        return answer_to(state, now, ask, life, by, behavior, why);
    }
    let (records, mut effects) = refuse(Refusal::NoSuchAsk);
    if prompts_are_open && matches!(target, Target::Code(_)) {
        effects.push(Effect::Then(Input::Missed { by: by.name }));
    }
    (records, effects)
}

/// One verdict on one ask, whatever words or door it came in.
pub(super) fn answer_to(
    state: &State,
    now: Moment,
    ask: &Ask,
    life: &AskLife,
    by: Actor,
    behavior: Behavior,
    why: Option<String>,
) -> Decided {
    let session = state.session(ask.session);
    if !session.is_some_and(|session| by.scope.covers(&session.about.label)) {
        return refuse(Refusal::NoSuchAsk);
    }
    if !life.is_open() {
        return refuse(Refusal::Settled { code: ask.code, life: life.clone() });
    }
    if !by.may(Right::Review) {
        return refuse(Refusal::NeedsRight(Right::Review));
    }
    // A session that is expected back will hear the verdict then; one that is lost never will.
    if !session.is_some_and(Session::is_present) {
        return refuse(Refusal::Undeliverable { code: ask.code });
    }
    let verdict = Verdict { behavior, by: by.name, via: by.via, at: now, why };
    let effects = vec![
        Effect::Answer(Answer::Recorded { ask: ask.id, code: ask.code, behavior }),
        carry(ask, behavior),
        Effect::Publish(Topic::Ask(ask.id)),
    ];
    (vec![Record::Answered { ask: ask.id, verdict }], effects)
}

fn carry(ask: &Ask, behavior: Behavior) -> Effect {
    Effect::Carry { session: ask.session, ask: ask.id, origin: ask.origin.clone(), behavior }
}

/// The verdict that the session's process has not yet confirmed to have written.
pub(super) fn still_to_carry(ask: &Ask, life: &AskLife) -> Option<Effect> {
    match life {
        AskLife::Answered { verdict, carried: None } => Some(carry(ask, verdict.behavior)),
        _ => None,
    }
}

pub(super) fn carried(state: &State, id: AskId) -> Decided {
    match state.ask(id) {
        Some((_, AskLife::Answered { carried: None, .. })) => {
            (vec![Record::Carried { ask: id }], vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Ask(id))])
        }
        _ => answer(Answer::Done),
    }
}

pub(super) fn withdrawn(state: &State, id: AskId, why: String) -> Decided {
    match state.ask(id) {
        Some((_, life)) if life.is_open() => (
            vec![Record::Withdrawn { ask: id, why }],
            vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Ask(id))],
        ),
        _ => answer(Answer::Done),
    }
}
