//! The gatekeeper: one state machine for every tool call of every agent.
//!
//! A call passes three moments. [`Gatekeeper::before`] it runs, the gatekeeper may only tighten; when permission is
//! [`Gatekeeper::asked`] for, it may allow; [`Gatekeeper::after`] it ran, what ran is held against what was shown. At each
//! moment the order is the same: a stop, the rules and mandatory asks, the outside guard, then people.

mod after;
mod ask;
mod audit;
mod calls;
mod front;
mod judge;
mod look;
mod outside;
mod own;
mod replaced;
mod request;
#[cfg(test)]
mod tests;
mod wait;

use std::future::ready;
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::{Either, select};
use portcullis_core::policy::{Decision as RuleDecision, Judgement, Mode, OutsidePolicy};
use portcullis_core::{AskId, AskKind, Ruling, Scope};
use portcullis_wire::front::PromptNews;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::fixed;
use crate::locks::locked;
use crate::session::link::SessionHandle;
use after::RefusedAt;
pub(crate) use after::{FinishedCall, REJECTED, WentOn};
pub(crate) use ask::shortened;
use audit::AuditLog;
use calls::{AllowedBy, AskOutcome, Calls};
pub(crate) use front::Front;
pub(crate) use judge::Judge;
use judge::{asks_a_person, denied_by};
pub(crate) use look::EarlyLook;
pub(crate) use outside::OutsideGuard;
pub(crate) use request::{
    CallKey, Capabilities, ClientFlags, DecidedBy, Decision, GatekeeperAnswer, OwnCall, ToolRequest, WithoutDecision,
    call_digest, digest,
};

/// Who directs a session by typing at its terminal or at a front, as the log calls them.
pub(crate) const AT_THE_TERMINAL: &str = "terminal";

/// A client that waits no longer than this cannot have people asked before a call.
const SHORTEST_HOLD: Duration = Duration::from_secs(30);

/// What the owner may set.
#[derive(Clone, Debug, Default)]
pub(crate) struct GatekeeperSettings {
    pub(crate) outside: OutsidePolicy,
    /// How long asks can be answered, where the owner limits it.
    pub(crate) ask_limit: ask::Limit,
    /// Somebody sits at a front of ours and may answer although the gate cannot be reached.
    pub(crate) front: Front,
}

/// Every tool call of one session goes through here.
pub(crate) struct Gatekeeper {
    session: SessionHandle,
    judge: Judge,
    settings: GatekeeperSettings,
    news: Option<mpsc::UnboundedSender<PromptNews>>,
    /// The gate has told what stands for the session.
    knows_orders: watch::Sender<bool>,
    started: Instant,
    outside: OutsideGuard,
    /// Held for short looks and changes, never while something is awaited.
    state: Mutex<GatekeeperState>,
}

/// A process that has just started does not know whether its session was stopped. It holds calls until the gate has said
/// so, and no longer than this: a session whose gate cannot be reached goes on by its rules.
const FIRST_ATTACH_TIMEOUT: Duration = Duration::from_secs(5);

struct GatekeeperState {
    /// Who stopped the session from outside, while it is stopped.
    stopped_by: Option<String>,
    calls: Calls,
    audit: AuditLog,
}

impl Gatekeeper {
    pub(crate) fn new(
        session: SessionHandle,
        judge: Judge,
        settings: GatekeeperSettings,
        news: Option<mpsc::UnboundedSender<PromptNews>>,
    ) -> Self {
        let audit = AuditLog::new(session.clone());
        let outside = OutsideGuard::new(session.clone());
        let state = GatekeeperState { stopped_by: None, calls: Calls::default(), audit };
        let (knows_orders, started) = (watch::Sender::new(false), Instant::now());
        Self { session, judge, settings, news, knows_orders, started, outside, state: Mutex::new(state) }
    }

    fn state(&self) -> MutexGuard<'_, GatekeeperState> {
        locked(&self.state)
    }

    /// The rules of the session, for what the client is not asked about.
    pub(crate) fn judge(&self) -> Judge {
        self.judge.clone()
    }

    /// The gate has told what stands for the session: a stop, or nothing.
    pub(crate) fn attached(&self) {
        self.knows_orders.send_replace(true);
    }

    async fn hold_until_attached(&self) {
        let until = self.started + fixed::wait("FIRST_ATTACH", FIRST_ATTACH_TIMEOUT);
        let mut knows_orders = self.knows_orders.subscribe();
        let attached = tokio::time::timeout_at(until, knows_orders.wait_for(|knows| *knows));
        tokio::select! {
            _attached = attached => {}
            _why = self.session.without_gate() => {}
        }
    }

    /// A tool is about to be called. Answers deny, ask or nothing, and allow only for a call that we make ourselves. Where
    /// the client would swallow an `ask`, or a terminal could answer alone for several people, the call is held until people
    /// have answered.
    ///
    /// `others_may_answer` is looked at where the client would be told to ask: whether something else than a person might
    /// answer it there, such as a hook of somebody else.
    pub(crate) async fn before(
        &self,
        mut request: ToolRequest,
        cancelled: &CancellationToken,
        others_may_answer: impl Future<Output = bool>,
    ) -> GatekeeperAnswer {
        let call = CallKey::of(&request);
        self.state().calls.announce(call.clone());
        self.hold_until_attached().await;
        let judgement = match self.judged(RefusedAt::Before, &request, &call).await {
            Ok(judgement) => judgement,
            Err(denied) => return denied.into(),
        };
        // The client asks by itself: that is what questions and plans are.
        if request.kind() != AskKind::Tool {
            return Decision::NoDecision.into();
        }
        let outside = self.outside_reason(&request).await;
        // The stop may have come meanwhile.
        if let Some(denied) = self.denied_by_stop(RefusedAt::Before, &request, &call) {
            return denied.into();
        }
        if request.own.is_some() {
            let decided = self.without_asking(RefusedAt::Before, &request, &call, &judgement, outside.as_deref()).await;
            if let Some(decision) = decided {
                return decision.into();
            }
        } else if !judgement.must_be_asked() && outside.is_none() {
            return Decision::NoDecision.into();
        }
        let is_heeded = asks_a_person(&request, &judgement);
        if is_heeded && !others_may_answer.await {
            // The stop may have come meanwhile.
            if let Some(denied) = self.denied_by_stop(RefusedAt::Before, &request, &call) {
                return denied.into();
            }
            self.state().calls.told_to_ask(call);
            return Decision::Ask { reason: outside.unwrap_or(judgement.why) }.into();
        }
        if request.capabilities.waits.is_some_and(|waits| waits < SHORTEST_HOLD) {
            self.record_refused(RefusedAt::Before, &request, &call, "old hooks", None);
            let because = if is_heeded { "a hook of somebody else may answer in their place, " } else { "" };
            return Decision::deny(format!(
                "A person must decide this ({}), {because}and the installed hooks are too old to wait for one: run \
                 `portcullis install --hooks` again.",
                outside.unwrap_or(judgement.why)
            ))
            .into();
        }
        request.capabilities = request.capabilities.before();
        let answer = match self.ask_people(&request, call.clone(), &judgement, outside, cancelled).await {
            Some(answer) => answer,
            None if cancelled.is_cancelled() => return Decision::NoDecision.into(),
            // The session went on without an answer, and the client would run the call.
            None => Decision::deny("A person must decide this, and it is no longer asked.").into(),
        };
        match answer.decision {
            Decision::Allow { .. } => {
                self.state().calls.pass(call);
                match request.own {
                    Some(_) => answer,
                    None => GatekeeperAnswer { decision: Decision::NoDecision, ..answer },
                }
            }
            Decision::Deny { by, message, interrupt } => {
                self.record_refused(RefusedAt::Before, &request, &call, self.who_denied(by), answer.verdict);
                // The client shows it as an error of a hook.
                let message = if by == DecidedBy::Person { as_said(&message) } else { message };
                GatekeeperAnswer { decision: Decision::Deny { message, interrupt, by }, verdict: answer.verdict }
            }
            Decision::Ask { .. } | Decision::NoDecision => answer,
        }
    }

    /// The client asks for permission. Waits until there is an answer, or until the client no longer asks.
    pub(crate) async fn asked(&self, mut request: ToolRequest, cancelled: &CancellationToken) -> GatekeeperAnswer {
        self.hold_until_attached().await;
        let call = {
            let calls = &mut self.state().calls;
            let call = calls.join(CallKey::of(&request));
            if request.capabilities.terminal {
                calls.prompted(&call);
            }
            call
        };
        request.folder.clone_from(&call.folder);
        // The gate is asked meanwhile whether it could write down what a rule allows.
        let judging = Box::pin(self.judged(RefusedAt::Asked, &request, &call));
        let (judged, can_be_recorded) = match select(judging, Box::pin(self.can_be_recorded(request.could_write))).await
        {
            Either::Left((judged, asking)) => (judged, Either::Left(asking)),
            Either::Right((can, judging)) => (judging.await, Either::Right(ready(can))),
        };
        let judgement = match judged {
            Ok(judgement) => judgement,
            Err(denied) => return denied.into(),
        };
        if self.state().calls.take_passed(&call) {
            return allowed_as_it_is(DecidedBy::Person).into();
        }
        let outside = self.outside_reason(&request).await;
        if request.own.is_some() {
            let decided = self.without_asking(RefusedAt::Asked, &request, &call, &judgement, outside.as_deref()).await;
            if let Some(decision) = decided {
                return decision.into();
            }
        }
        let may_pass = rule_may_allow(&request, &judgement) || is_remembered(&request, &judgement);
        if outside.is_none() && may_pass && can_be_recorded.await {
            // The stop may have come meanwhile.
            if let Some(denied) = self.denied_by_stop(RefusedAt::Asked, &request, &call) {
                return denied.into();
            }
            let rule = judgement.rule.as_ref().map(|rule| rule.pattern.to_string());
            let rule = rule.or(request.remembered.map(str::to_owned)).unwrap_or_default();
            let digest = call.digest;
            self.state().calls.allow(AllowedBy::Rule(rule), call, digest);
            return allowed_as_it_is(DecidedBy::Gatekeeper).into();
        }
        let answer = self.ask_people(&request, call.clone(), &judgement, outside, cancelled).await;
        let answer = answer.unwrap_or_else(|| Decision::NoDecision.into());
        if let Decision::Deny { by, .. } = &answer.decision {
            self.denied(&request, call, answer.verdict, *by);
        }
        answer
    }

    /// Why a call may not be made although someone allowed it a while ago: a stop, or a rule that came since.
    pub(crate) async fn refused_meanwhile(&self, request: &ToolRequest) -> Option<Decision> {
        self.judged(RefusedAt::Asked, request, &CallKey::of(request)).await.err()
    }

    /// Somebody stopped the session: nothing that is asked about runs, and no other tool.
    pub(crate) fn stop(&self, by: String) {
        let why = stopped_by(&by);
        let asks = {
            let mut state = self.state();
            state.stopped_by = Some(by);
            state.calls.open_of(|_| true)
        };
        asks.into_iter().for_each(|ask| self.end(ask, AskOutcome::Stopped(why.clone())));
    }

    /// Ends an ask for the request that waits with it. A front that was not yet shown the ask is shown it first.
    fn end(&self, ask: AskId, outcome: AskOutcome) {
        self.show(ask, None);
        self.state().calls.settle(ask, outcome);
    }

    pub(crate) fn resume(&self) {
        self.state().stopped_by = None;
    }

    /// A verdict has come for one of this session's asks.
    pub(crate) fn verdict(&self, ask: AskId, ruling: Ruling) {
        self.end(ask, AskOutcome::Verdict(Box::new(ruling)));
    }

    /// No verdict will come.
    pub(crate) fn closed(&self, ask: AskId) {
        self.end(ask, AskOutcome::NoVerdict("nobody answered in time".to_owned()));
    }

    /// The agents that this concerns went on without an answer: what they asked about is no longer asked.
    pub(crate) fn withdraw_asks(&self, concerns: impl Fn(Option<&str>) -> bool, why: &str) {
        let asks = self.state().calls.open_of(concerns);
        self.withdraw_all(asks, why);
    }

    /// The main agent has no dialog open any more. Its calls that are held before they run are still asked about.
    pub(crate) fn withdraw_dialogs(&self, why: &str) {
        let asks = self.state().calls.open_dialogs();
        self.withdraw_all(asks, why);
    }

    fn withdraw_all(&self, asks: Vec<AskId>, why: &str) {
        for ask in asks {
            self.state().calls.settle(ask, AskOutcome::SettledThere);
            self.withdraw(ask, why);
        }
    }

    /// Nobody can answer any more: everything that is asked about is denied.
    pub(crate) fn deny_all(&self, why: &str) {
        let asks = self.state().calls.open_of(|_| true);
        for ask in asks {
            self.end(ask, AskOutcome::NoVerdict(why.to_owned()));
        }
    }

    /// Which of these tools a rule denies, whatever they are called with.
    pub(crate) async fn denied_tools(&self, tools: Vec<String>) -> Vec<bool> {
        self.judge.denied_tools(tools).await
    }

    pub(crate) fn has_open_asks(&self) -> bool {
        self.state().calls.has_open()
    }

    pub(crate) fn outside(&self) -> &OutsideGuard {
        &self.outside
    }

    /// Why the outside guard holds this call up, where it does.
    async fn outside_reason(&self, request: &ToolRequest) -> Option<String> {
        let reason = self.outside.reason()?;
        (!self.judge.passes_outside_guard(request, self.settings.outside).await).then_some(reason)
    }

    fn stop_reason(&self) -> Option<String> {
        self.state().stopped_by.as_deref().map(stopped_by)
    }

    fn denied_by_stop(&self, at: RefusedAt, request: &ToolRequest, call: &CallKey) -> Option<Decision> {
        let message = self.stop_reason()?;
        self.record_refused(at, request, call, "stop", None);
        Some(Decision::deny(message))
    }

    /// What the rules say of a call that can be judged, and is refused neither by a stop nor by one of them.
    async fn judged(&self, at: RefusedAt, request: &ToolRequest, call: &CallKey) -> Result<Judgement, Decision> {
        if let Some(why) = request.unjudgeable() {
            self.record_refused(at, request, call, "unreadable", None);
            return Err(Decision::deny(why));
        }
        let judgement = self.judge.judge(request).await;
        // Afterwards, so that a stop that came meanwhile holds.
        if let Some(denied) = self.denied_by_stop(at, request, call) {
            return Err(denied);
        }
        let Some(rule) = denied_by(&judgement) else { return Ok(judgement) };
        self.record_refused(at, request, call, &format!("rule {rule}"), None);
        Err(Decision::deny(judgement.why))
    }
}

fn stopped_by(by: &str) -> String {
    format!(
        "{by} has stopped this session from outside. No tool runs until they let it go on: say so, and wait for the user."
    )
}

/// A person's words, for where nothing else tells that a person spoke.
fn as_said(message: &str) -> String {
    match message {
        wait::DENIED => message.to_owned(),
        words => format!("A person denied this: {words}"),
    }
}

fn allowed_as_it_is(by: DecidedBy) -> Decision {
    Decision::Allow { input: None, remember: vec![], scope: Scope::Once, by }
}

/// What a person allowed for longer than once passes where nothing says that somebody must look again.
fn is_remembered(request: &ToolRequest, judgement: &Judgement) -> bool {
    let ClientFlags { requires_user_interaction, held_up, .. } = request.flags;
    request.remembered.is_some()
        && judgement.rule.is_none()
        && judgement.mandatory_asks.is_empty()
        && request.kind() == AskKind::Tool
        && !(requires_user_interaction || held_up)
}

/// Only a rule that somebody wrote lets a call through, never in plan mode, and only where neither safety nor the client
/// wants a person.
fn rule_may_allow(request: &ToolRequest, judgement: &Judgement) -> bool {
    let is_ruled = judgement.rule.as_ref().is_some_and(|rule| rule.decision == RuleDecision::Allow);
    judgement.decision == RuleDecision::Allow
        && is_ruled
        && judgement.mandatory_asks.is_empty()
        && request.mode() != Mode::Plan
        && request.kind() == AskKind::Tool
        && !request.flags.want_a_person()
}
