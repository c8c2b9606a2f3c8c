//! Permission requests come in, verdicts go back, and the first verdict of someone with the right is the one.

use super::{Decided, answer, earlier, refuse};
use crate::ask::{Ask, AskKind, AskLife, AskTimeout, CallOutcome, NewAsk, OnTimeout, ToolCall};
use crate::event::IdempotencyKey;
use crate::ids::{AskId, Code, Moment, SessionId};
use crate::input::{Answer, Effect, Input, Refusal, Topic, VerdictTarget};
use crate::people::{Actor, Right, Via};
use crate::policy::Mode;
use crate::record::Record;
use crate::session::{Presence, Session};
use crate::state::State;
use crate::verdict::{Behavior, Ruling, Scope, Verdict};

/// The name of the gate in verdicts that it gives itself.
const GATE: &str = "portcullis";
/// A call is told to those who watch as activity of its session when the last was so many milliseconds ago.
const ACTIVITY_NEWS: u64 = 10_000;

pub(super) fn asked(state: &State, now: Moment, session: SessionId, new: NewAsk, entropy: u64) -> Decided {
    // A process that lost its gate asks again under the same id: the ask is known, and perhaps already answered.
    if let Some((ask, life)) = state.ask(new.id) {
        let mut effects = vec![Effect::Answer(Answer::Asked { ask: ask.id, code: ask.code })];
        effects.extend(still_to_tell(ask, life).or_else(|| (!life.is_open()).then(|| close(ask))));
        return (vec![], effects);
    }
    if state.session(session).is_none() {
        return refuse(Refusal::NoSuchSession);
    }
    if state.open_asks_of(session).count() >= state.limits().open_asks {
        return refuse(Refusal::TooManyAsks);
    }
    let code = free_code(state, &new.origin, entropy);
    let before = earlier::verdict(state, now, session, &new).map(|(ask, verdict)| {
        // A client that was told to remember it for the session asks no more, and makes the next call as well. What it
        // remembers for longer is for its own folder or user, and no rule of the gateway's.
        // Several clients over HTTP may be one session here, and the answer was for one of them.
        let is_one_client = state.session(session).is_some_and(|session| session.about.pid.is_some());
        let scope = verdict.ruling.scope.min(if is_one_client { Scope::Session } else { Scope::Once });
        let why = Some(format!("answered as {}", ask.code));
        let ruling = Ruling { why, scope, ..Ruling::plain(Behavior::Allow) };
        Verdict { ruling, at: now, idempotency_key: None, ..(*verdict).clone() }
    });
    let NewAsk { id, source, origin, tool, description, preview, details } = new;
    let ask =
        Ask { id, code, session, source, origin, tool, description, preview, details: Box::new(details), at: now };
    let asked = Effect::Answer(Answer::Asked { ask: id, code });
    match before {
        None => (vec![Record::Asked { ask }], vec![asked, Effect::Publish(Topic::Ask(id))]),
        Some(verdict) => {
            let (answered, effects) = settled(&ask, verdict, Some(asked));
            ([vec![Record::Asked { ask }], answered].concat(), effects)
        }
    }
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
    target: &VerdictTarget,
    ruling: Ruling,
    key: Option<IdempotencyKey>,
) -> Decided {
    if !by.may(Right::Review) {
        return refuse(Refusal::NeedsRight(Right::Review));
    }
    let prompts_are_open = state.prompts_are_open(&by.scope);
    let found = match target {
        VerdictTarget::Id(id) => state.ask(*id),
        VerdictTarget::Code(code) => state.ask_by_code(*code),
    };
    let found = found.filter(|(ask, _)| state.is_in_scope(Some(ask.session), &by.scope));
    if matches!(target, VerdictTarget::Code(_))
        && let Some(refusal) = too_many_misses(state, now, &by, found.map(|_| ruling.behavior))
    {
        return refuse(refusal);
    }
    if let Some((ask, life)) = found {
        return answer_to(state, now, (ask, life), by, ruling, key);
    }
    let (records, mut effects) = refuse(Refusal::NoSuchAsk);
    if prompts_are_open && can_miss(&by) && matches!(target, VerdictTarget::Code(_)) {
        effects.push(Effect::then(Input::Missed { by: by.name }));
    }
    (records, effects)
}

/// Whether wrong codes of this person count. The command line of the gate's own user can list the codes: it has nothing to
/// find out by trying, and what someone tries elsewhere in the same name must not keep its user out.
pub(super) fn can_miss(by: &Actor) -> bool {
    !matches!(by.via, Via::Socket | Via::Terminal)
}

/// Refuses who has missed too often; `right` is what a right code was sent with. To deny is always heard: a denial that
/// was guessed lets nothing run, and one that is not heard may.
pub(super) fn too_many_misses(state: &State, now: Moment, by: &Actor, right: Option<Behavior>) -> Option<Refusal> {
    if !state.prompts_are_open(&by.scope) || !can_miss(by) || right == Some(Behavior::Deny) && by.may(Right::Review) {
        return None;
    }
    state.blocked_until(&by.name, now).map(|retry_at| Refusal::TooManyMisses { retry_at })
}

/// Decides one verdict on one ask, through whichever door it came.
pub(super) fn answer_to(
    state: &State,
    now: Moment,
    (ask, life): (&Ask, &AskLife),
    by: Actor,
    ruling: Ruling,
    key: Option<IdempotencyKey>,
) -> Decided {
    let session = state.session(ask.session);
    if !session.is_some_and(|session| by.scope.covers(&session.about.label)) {
        return refuse(Refusal::NoSuchAsk);
    }
    if let Some(decided) = key.as_ref().and_then(|key| repeated(ask, life, &by, key)) {
        return decided;
    }
    let Some(standing) = replaceable(ask, life, ruling.behavior) else {
        return refuse(Refusal::Settled { code: ask.code, life: life.clone() });
    };
    if !by.may(Right::Review) {
        return refuse(Refusal::NeedsRight(Right::Review));
    }
    // A session that is expected back will hear the verdict then; one that is lost never will.
    if !session.is_some_and(Session::is_present) {
        return refuse(Refusal::Undeliverable { code: ask.code });
    }
    if let Err(refusal) = can_carry(ask, &ruling) {
        return refuse(refusal);
    }
    let (missing, votes) = match standing {
        EarlierVotes::Votes(votes) => (still_missing(ask, votes, &by.name, ruling.behavior), votes),
        EarlierVotes::Untold => (0, &[][..]),
    };
    let has_voted = votes.iter().any(|vote| vote.by == by.name);
    let behavior = ruling.behavior;
    let recorded = Effect::Answer(Answer::Recorded { ask: ask.id, code: ask.code, behavior, missing });
    let verdict = Verdict { ruling, by: by.name, via: by.via, device: by.device, at: now, idempotency_key: key };
    match missing {
        0 => {
            let mode = agreed_mode(ask, votes, &verdict.ruling);
            settled(ask, Verdict { ruling: Ruling { mode, ..verdict.ruling }, ..verdict }, Some(recorded))
        }
        _ if has_voted => (vec![], vec![recorded]),
        _ => (vec![Record::Voted { ask: ask.id, verdict }], vec![recorded, Effect::Publish(Topic::Ask(ask.id))]),
    }
}

/// The votes that stand, where a verdict may still be given: while nobody has answered, and while the answer waits for a
/// process that is away. One that was sent is out of our hands, for the client takes no second. Where several must agree
/// and one has denied it, the others have not been heard.
fn replaceable<'a>(ask: &Ask, life: &'a AskLife, behavior: Behavior) -> Option<EarlierVotes<'a>> {
    match life {
        AskLife::Open { votes } => Some(EarlierVotes::Votes(votes)),
        AskLife::Answered { verdict, .. } if life.is_replaceable() => {
            let widens = behavior == Behavior::Allow && verdict.ruling.behavior == Behavior::Deny;
            (!widens || ask.details.quorum == 1).then_some(EarlierVotes::Untold)
        }
        _ => None,
    }
}

/// The mode that follows a plan: the one that all who allowed it named. Where they did not, the first that is offered
/// follows, which is the strictest, whoever spoke last.
fn agreed_mode(ask: &Ask, votes: &[Verdict], ruling: &Ruling) -> Option<Mode> {
    if ruling.behavior == Behavior::Deny || votes.iter().all(|vote| vote.ruling.mode == ruling.mode) {
        return ruling.mode;
    }
    ask.details.modes.first().copied()
}

/// What counts before one more verdict.
enum EarlierVotes<'a> {
    Votes(&'a [Verdict]),
    /// As many as must agree have spoken, and the process has not been there to hear it.
    Untold,
}

/// What the same person said before under the same key is answered as it was then.
fn repeated(ask: &Ask, life: &AskLife, by: &Actor, key: &IdempotencyKey) -> Option<Decided> {
    let (said, missing) = match life {
        AskLife::Open { votes } => (votes.as_slice(), still_missing(ask, votes, &by.name, Behavior::Allow)),
        AskLife::Answered { verdict, .. } => (std::slice::from_ref(&**verdict), 0),
        AskLife::Withdrawn { .. } | AskLife::Expired { .. } => return None,
    };
    let is_it = |verdict: &&Verdict| {
        verdict.by == by.name && verdict.idempotency_key.as_ref().is_some_and(|before| before.key == key.key)
    };
    let before = said.iter().find(is_it)?;
    if before.idempotency_key.as_ref() != Some(key) {
        return Some(refuse(Refusal::VerdictKeyReused { code: ask.code }));
    }
    let behavior = before.ruling.behavior;
    Some(answer(Answer::Recorded { ask: ask.id, code: ask.code, behavior, missing }))
}

/// How many more people must allow it once this one has spoken. One denial is enough.
fn still_missing(ask: &Ask, votes: &[Verdict], by: &str, behavior: Behavior) -> u8 {
    if behavior == Behavior::Deny {
        return 0;
    }
    let others = votes.iter().filter(|vote| vote.by != by).count();
    let others = u8::try_from(others).unwrap_or(u8::MAX);
    ask.details.quorum.saturating_sub(1).saturating_sub(others)
}

/// Whether the ask's source supports this ruling.
fn can_carry(ask: &Ask, ruling: &Ruling) -> Result<(), Refusal> {
    let cannot = |what| Err(Refusal::CannotCarry { what });
    match ruling.behavior {
        Behavior::Allow if !ask.offers(ruling.scope) => cannot(match ruling.scope {
            Scope::Once => "an allow for this once",
            Scope::Session => "an allow for the session",
            Scope::Always => "an allow for always",
        }),
        Behavior::Allow if ruling.input.is_some() && !ask.details.editable => cannot("another input"),
        // Those who allowed before have seen this input and meant this once.
        Behavior::Allow if ask.details.quorum > 1 && ruling.input.is_some() => {
            cannot("another input where several must agree")
        }
        Behavior::Allow if ask.details.quorum > 1 && ruling.scope != Scope::Once => {
            cannot("a verdict beyond this once where several must agree")
        }
        Behavior::Allow if ruling.mode.is_some_and(|mode| !ask.details.modes.contains(&mode)) => cannot("this mode"),
        Behavior::Deny if ruling.mode.is_some() => cannot("a mode with a denial"),
        Behavior::Allow if ruling.interrupt => cannot("an interruption with an allow"),
        Behavior::Allow if ask.details.kind == AskKind::Question && ruling.input.is_none() => {
            Err(Refusal::NeedsAnswers)
        }
        Behavior::Deny if ruling.interrupt && !ask.details.interruptible => cannot("an interruption"),
        Behavior::Deny if ruling.input.is_some() => cannot("another input with a denial"),
        Behavior::Allow | Behavior::Deny => Ok(()),
    }
}

fn settled(ask: &Ask, verdict: Verdict, answer: Option<Effect>) -> Decided {
    let mut effects: Vec<Effect> = answer.into_iter().collect();
    effects.push(carry(ask, &verdict));
    effects.push(Effect::Publish(Topic::Ask(ask.id)));
    (vec![Record::Answered { ask: ask.id, verdict }], effects)
}

fn carry(ask: &Ask, verdict: &Verdict) -> Effect {
    let Ask { id, session, source, origin, .. } = ask;
    let (ruling, at) = (verdict.ruling.clone(), verdict.at);
    Effect::Carry { session: *session, ask: *id, origin: origin.clone(), source: *source, ruling: Box::new(ruling), at }
}

fn close(ask: &Ask) -> Effect {
    let Ask { id, session, source, origin, .. } = ask;
    Effect::Close { session: *session, ask: *id, origin: origin.clone(), source: *source }
}

/// What a process that attaches may still wait for: every verdict that it has not confirmed, and the end of those asks
/// that were settled about the time it was away. It cannot wait for more than it may have open, and what it withdrew
/// itself long ago is not told to it at every attach.
pub(super) fn untold(state: &State, now: Moment, session: SessionId) -> impl Iterator<Item = Effect> {
    let limits = state.limits();
    let away_since = state.session(session).map_or(now, |known| match known.presence {
        Presence::Attached => now,
        Presence::Expected { since } | Presence::Lost { since } => since,
        Presence::Ended { at } => at,
    });
    // The gate sees late that a process went.
    let unseen = limits.lost_grace.max(limits.restart_grace);
    let own = || state.asks().filter(move |(ask, _)| ask.session == session);
    let verdicts = own().filter(|(_, life)| matches!(life, AskLife::Answered { .. }));
    let is_recent = move |life: &AskLife| life.settled_at().is_some_and(|at| away_since.since(at) <= unseen);
    let ended = own().filter(move |(_, life)| {
        matches!(life, AskLife::Expired { .. } | AskLife::Withdrawn { .. }) && is_recent(life)
    });
    let mut ended: Vec<_> = ended.collect();
    ended.sort_by_key(|(_, life)| std::cmp::Reverse(life.settled_at()));
    ended.truncate(limits.open_asks);
    verdicts.chain(ended).filter_map(|(ask, life)| still_to_tell(ask, life))
}

/// The effect that tells the session's process how an ask was settled, until it has confirmed it.
fn still_to_tell(ask: &Ask, life: &AskLife) -> Option<Effect> {
    match life {
        AskLife::Answered { verdict, carried: None, .. } => Some(carry(ask, verdict)),
        // One that the gate withdrew while its session was away: the process may still wait for it.
        AskLife::Expired { .. } | AskLife::Withdrawn { .. } => Some(close(ask)),
        AskLife::Open { .. } | AskLife::Answered { .. } => None,
    }
}

/// A process speaks of the asks of its own session alone.
fn of_session(state: &State, id: AskId, session: Option<SessionId>) -> Option<&(Ask, AskLife)> {
    state.ask(id).filter(|(ask, _)| session.is_none_or(|session| ask.session == session))
}

/// The process has written a verdict: the one that stands, or one that was replaced while it was away.
pub(super) fn carried(state: &State, id: AskId, session: SessionId, verdict_at: Option<Moment>) -> Decided {
    let is_it = |verdict: &Verdict| verdict_at.is_none_or(|at| at == verdict.at);
    match of_session(state, id, Some(session)) {
        Some((_, AskLife::Answered { verdict, carried: None, .. })) if is_it(verdict) => {
            (vec![Record::Carried { ask: id }], vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Ask(id))])
        }
        _ => answer(Answer::Done),
    }
}

pub(super) fn withdrawn(state: &State, id: AskId, by: Option<SessionId>, why: String) -> Decided {
    match of_session(state, id, by) {
        Some((_, life)) if life.is_open() => (
            vec![Record::Withdrawn { ask: id, why }],
            vec![Effect::Answer(Answer::Done), Effect::Publish(Topic::Ask(id))],
        ),
        _ => answer(Answer::Done),
    }
}

/// Decides what an ask means that nobody answered in time.
pub(super) fn expired(state: &State, now: Moment, id: AskId) -> Decided {
    let Some((ask, AskLife::Open { .. })) = state.ask(id) else { return (vec![], vec![]) };
    match ask.details.timeout {
        Some(AskTimeout { milliseconds, then: OnTimeout::Deny }) => {
            let why = format!("nobody answered within {} s", milliseconds.div_ceil(1000));
            let ruling = Ruling { why: Some(why), ..Ruling::plain(Behavior::Deny) };
            let (by, via) = (GATE.to_owned(), Via::Gate);
            settled(ask, Verdict { ruling, by, via, device: None, at: now, idempotency_key: None }, None)
        }
        Some(AskTimeout { then: OnTimeout::NoDecision, .. }) => {
            (vec![Record::AskExpired { ask: id }], vec![close(ask), Effect::Publish(Topic::Ask(id))])
        }
        None => (vec![], vec![]),
    }
}

/// The source should have told what came of the verdict, and has not.
pub(super) fn not_confirmed(state: &State, now: Moment, id: AskId) -> Decided {
    let is_due = state.confirmations().any(|(ask, due)| ask == id && due <= now);
    if !is_due {
        return (vec![], vec![]);
    }
    (vec![Record::NotConfirmed { ask: id }], vec![Effect::Publish(Topic::Ask(id))])
}

/// Records a tool call for the audit. It also settles the ask about this call: the verdict took effect, or someone
/// answered where we could not see it.
pub(super) fn called(state: &State, now: Moment, session: SessionId, call: ToolCall) -> Decided {
    let Some(known) = state.session(session) else { return refuse(Refusal::NoSuchSession) };
    let mut effects = vec![Effect::Answer(Answer::Done)];
    // Those who watch see when something last happened; not at each of many calls.
    effects.extend((now.since(known.active) >= ACTIVITY_NEWS).then_some(Effect::Publish(Topic::Session(session))));
    if let Some((ask, life)) = ask_of(state, session, &call) {
        let (ask, outcome, digest) = (ask.id, call.outcome, call.digest);
        effects.push(Effect::then(match (life.is_open(), outcome) {
            (false, _) => Input::OutcomeReported { ask, outcome, digest },
            (true, CallOutcome::Denied) if known.stopped.is_some() => {
                Input::Withdrawn { ask, by: None, why: "the session was stopped".into() }
            }
            (true, CallOutcome::Denied) => Input::Withdrawn { ask, by: None, why: denied_by(&call.decided_by).into() },
            (true, _) => Input::Withdrawn { ask, by: None, why: "allowed at its terminal".into() },
        }));
    }
    (vec![Record::Called { session, call }], effects)
}

/// Who denied a call whose prompt was open, in the words of its record.
fn denied_by(decided_by: &str) -> &'static str {
    match decided_by {
        "nobody" | "old hooks" | "unreadable" => "denied, as nobody could be asked",
        "client" | "client, after the allow" | "permission-rule" => "denied by Claude Code itself",
        own if own.starts_with("config/") || own.starts_with("mode ") => "denied by Claude Code itself",
        rule if rule.starts_with("rule ") => "denied by a rule",
        "stop" => "the session was stopped",
        _ => "denied at its terminal",
    }
}

fn ask_of<'a>(state: &'a State, session: SessionId, call: &ToolCall) -> Option<&'a (Ask, AskLife)> {
    if let Some(id) = call.ask {
        return state.ask(id).filter(|(ask, _)| ask.session == session);
    }
    let tool_use_id = call.tool_use_id.as_ref()?;
    state.asks().find(|(ask, _)| ask.session == session && ask.details.tool_use_id.as_ref() == Some(tool_use_id))
}

pub(super) fn outcome_reported(state: &State, id: AskId, outcome: CallOutcome, digest: Option<[u8; 32]>) -> Decided {
    let Some((ask, AskLife::Answered { verdict, outcome: None, .. })) = state.ask(id) else {
        return (vec![], vec![]);
    };
    let shown = verdict.ruling.input.as_ref().map(|edited| edited.digest).or(ask.details.digest);
    // A plan has no input that runs: the client reports an approved one without it.
    let ran = outcome != CallOutcome::Denied && ask.details.kind != AskKind::Plan;
    let differs = ran && shown.zip(digest).is_some_and(|(shown, ran)| shown != ran);
    (vec![Record::OutcomeReported { ask: id, outcome, differs }], vec![Effect::Publish(Topic::Ask(id))])
}

/// Asks whose time is over, and pairs that are one: what becomes of them is decided one by one.
pub(super) fn due(state: &State, now: Moment) -> impl Iterator<Item = Effect> {
    let expired = state.open_asks().filter(move |ask| state.ask_deadline(ask).is_some_and(|due| due <= now));
    let expired = expired.map(|ask| Effect::then(Input::AskExpired { ask: ask.id }));
    let unconfirmed = state.confirmations().filter(move |(_, due)| *due <= now);
    let unconfirmed = unconfirmed.map(|(ask, _)| Effect::then(Input::NotConfirmed { ask }));
    let pairs = state.pairs().filter(move |(_, _, due)| *due <= now);
    expired.chain(unconfirmed).chain(pairs.map(|(preview, whole, _)| Effect::then(Input::Joined { preview, whole })))
}
