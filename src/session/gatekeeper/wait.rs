//! An ask from the moment it is put to people to the decision that comes of it.

use std::time::Duration;

use portcullis_core::policy::Judgement;
use portcullis_core::{AskId, Behavior, Code, NewAsk, Ruling, Scope};
use portcullis_wire::error::Fault;
use portcullis_wire::front::PromptNews;
use portcullis_wire::permission::{remembered, set_mode};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::ask::{MARGIN, limit, new_ask};
use super::calls::{AllowedBy, AskOutcome};
use super::front::{ANSWER_TIMEOUT, Front};
use super::judge::{Judged, denied_by, quorum};
use super::request::{CallKey, DecidedBy, Decision, GatekeeperAnswer, ToolRequest, WithoutDecision, call_digest};
use super::{Gatekeeper, stopped_by};
use crate::fixed;
use crate::mint::mint;

/// A gate that is away may take so long to hear of an ask where a terminal has it meanwhile.
const REGISTER_TIMEOUT: Duration = Duration::from_secs(60);
/// The same where nobody sits at a terminal: somebody may be waiting for the end of a script.
const UNATTENDED_REGISTER_TIMEOUT: Duration = Duration::from_secs(5);

/// The gate's word that its journal takes records counts so long. For a call that had to wait before it is judged, the gate is
/// asked again.
const COULD_WRITE: Duration = Duration::from_millis(100);

/// What the agent is told of a denial for which nobody gave a reason.
pub(super) const DENIED: &str = "A person denied this.";

impl Gatekeeper {
    /// Puts a request to people and waits. None where the client settled it by itself, or no longer asks.
    pub(super) async fn ask_people(
        &self,
        request: &ToolRequest,
        call: CallKey,
        judgement: &Judgement,
        outside: Option<String>,
        cancelled: &CancellationToken,
    ) -> Option<GatekeeperAnswer> {
        let id = mint(AskId::new);
        let replaced = self.judge.replaced(request).await;
        // After what takes its time: the client has waited meanwhile.
        let limit = limit(request, self.settings.ask_limit);
        let mut new = new_ask(id, request, &call, judgement, outside, limit);
        new.details.replaced = replaced;
        let shown = new.clone();
        let receiver = {
            let mut state = self.state();
            // A stop before this is seen here, and one after it ends the ask.
            match &state.stopped_by {
                Some(by) => return Some(Decision::deny(stopped_by(by)).into()),
                None => state.calls.open(new.clone(), call.clone()),
            }
        };
        let waiting = async {
            let registering = async {
                self.register(new, request).await;
                std::future::pending::<()>().await;
            };
            tokio::select! {
                outcome = receiver => outcome.unwrap_or(AskOutcome::SettledThere),
                () = registering => AskOutcome::SettledThere,
                () = client_gives_up(request) => AskOutcome::NoVerdict("nobody answered in time".to_owned()),
            }
        };
        let outcome = tokio::select! {
            outcome = waiting => outcome,
            () = cancelled.cancelled() => {
                let why = match request.capabilities.without_decision {
                    WithoutDecision::Waits => "the agent no longer asks",
                    _ => "denied, interrupted or timed out at the terminal",
                };
                // A verdict may be in already: the client does not hear it any more.
                self.state().calls.settle(id, AskOutcome::SettledThere);
                self.no_longer_asked(id, why);
                return None;
            }
        };
        // What ended by itself is still in the list.
        self.state().calls.settle(id, AskOutcome::SettledThere);
        Some(match outcome {
            AskOutcome::SettledThere => return None,
            AskOutcome::Stopped(why) => {
                self.no_longer_asked(id, "the session was stopped");
                Decision::deny(why).into()
            }
            AskOutcome::NoVerdict(why) => {
                self.no_longer_asked(id, &why);
                self.without_verdict(request, &why).into()
            }
            AskOutcome::Verdict(ruling) => {
                let decision = tokio::select! {
                    decision = self.decision_of(&ruling, request, call, &shown) => decision,
                    () = client_gives_up(request) => {
                        self.without_verdict(request, "the verdict could not be judged in time")
                    }
                };
                self.tell(PromptNews::Ruled { ask: id, ruling });
                GatekeeperAnswer { decision, verdict: Some(id) }
            }
        })
    }

    /// Tells the gate of an ask, and the front with the code that it gets.
    async fn register(&self, new: NewAsk, request: &ToolRequest) {
        let id = new.id;
        let mut asking = std::pin::pin!(self.session.ask_for(new));
        if self.settings.front != Front::None {
            let code = match tokio::time::timeout(ANSWER_TIMEOUT, &mut asking).await {
                Ok(code) => code,
                Err(_) => {
                    self.show(id, None);
                    asking.await
                }
            };
            return self.registered(id, code);
        }
        let timeout = match (request.capabilities.without_decision, request.capabilities.terminal) {
            (WithoutDecision::Waits, _) => None,
            (_, true) => Some(REGISTER_TIMEOUT),
            (_, false) => Some(fixed::wait("CONNECT", UNATTENDED_REGISTER_TIMEOUT)),
        };
        let Some(timeout) = timeout else { return self.registered(id, asking.await) };
        tokio::select! {
            asked = tokio::time::timeout(timeout, asking) => match asked {
                Ok(code) => self.registered(id, code),
                Err(_) => self.nobody_asked(id, "the gate is away"),
            },
            why = self.session.without_gate() => self.nobody_asked(id, &format!("no gate can be started: {why}")),
        }
    }

    fn registered(&self, ask: AskId, code: Result<Code, Fault>) {
        match code {
            Ok(code) => self.show(ask, Some(code)),
            Err(fault) => self.nobody_asked(ask, &fault.message),
        }
    }

    /// Nobody was asked, so nobody may be waiting to answer when the gate is back.
    fn nobody_asked(&self, ask: AskId, why: &str) {
        tracing::warn!("a prompt was not relayed: {why}");
        self.end(ask, AskOutcome::NoVerdict(format!("nobody could be asked: {why}")));
    }

    /// What silence means, by what the client would do with it.
    fn without_verdict(&self, request: &ToolRequest, why: &str) -> Decision {
        if let Some(message) = self.stop_reason() {
            return Decision::deny(message);
        }
        match request.capabilities.without_decision {
            WithoutDecision::Runs | WithoutDecision::Waits => {
                Decision::deny(format!("A person must decide this, and there was no decision: {why}."))
            }
            WithoutDecision::Prompts | WithoutDecision::Denies => Decision::NoDecision,
        }
    }

    /// A verdict as the client is told it. An input that is no object, or that the rules refuse, allows nothing; nor does
    /// a verdict that a stop has overtaken.
    pub(super) async fn decision_of(
        &self,
        ruling: &Ruling,
        request: &ToolRequest,
        call: CallKey,
        shown: &NewAsk,
    ) -> Decision {
        if ruling.behavior == Behavior::Deny {
            let said = ruling.why.as_deref().filter(|why| !why.trim().is_empty());
            let message = said.unwrap_or(DENIED).to_owned();
            return Decision::Deny { message, interrupt: ruling.interrupt, by: DecidedBy::Person };
        }
        // The gate refuses such a verdict; one that was given at a front while it was away comes here first.
        if ruling.input.is_some() && !shown.details.editable {
            return Decision::deny("This call can only be allowed as it is.");
        }
        let input = match &ruling.input {
            None => None,
            Some(edited) => match serde_json::from_str(edited.text.as_str()) {
                Ok(input @ Value::Object(_)) => Some(input),
                _ => return Decision::deny("The edited input could not be read."),
            },
        };
        // Rules, files and links may be others by now: what counts is what they say when it is allowed.
        if let Some(why) = self.objection(request, input.as_ref(), shown.details.quorum).await {
            let what =
                if input.is_some() { "The edited input is denied" } else { "It was allowed, and is denied by now" };
            return Decision::deny(format!("{what}: {why}"));
        }
        // After the last wait, so that a stop that came meanwhile holds.
        if let Some(message) = self.stop_reason() {
            return Decision::deny(message);
        }
        let allowed = input.as_ref().map_or(call.digest, |input| call_digest(&request.tool, input));
        self.state().calls.allow(AllowedBy::Ask(shown.id), call, allowed);
        // A scope that was not offered reaches no further than this once.
        let is_offered = shown.details.offers.iter().any(|offer| offer.scope == ruling.scope);
        let scope = if is_offered { ruling.scope } else { Scope::Once };
        // The mode that follows a plan is said in so many words, so that nobody has to know what the client would choose.
        let mode = ruling.mode.or(shown.details.modes.first().copied());
        let mode = mode.filter(|mode| shown.details.modes.contains(mode)).map(|mode| set_mode(mode.name()));
        let remember = match scope {
            Scope::Once => mode.into_iter().collect(),
            Scope::Session => remembered(&request.suggestions, false),
            Scope::Always => remembered(&request.suggestions, true),
        };
        Decision::Allow { input, remember, scope, by: DecidedBy::Person }
    }

    /// What the rules have by now against an input that this many people have allowed, or one in its place. What nobody has
    /// seen when it was asked about must be judged, or it is not allowed.
    async fn objection(&self, request: &ToolRequest, edited: Option<&Value>, allowed_by: u8) -> Option<String> {
        let input = edited.unwrap_or(&request.input).clone();
        let allowed = ToolRequest { input, looked: None, ..request.clone() };
        let mut judged = self.judge.judge_in_time(&allowed).await;
        if let Judged::Late(_) = judged {
            judged = self.judge.judge_in_time(&allowed).await;
        }
        let judgement = match judged {
            Judged::Late(judgement) if edited.is_some() => return Some(judgement.why),
            Judged::Late(judgement) | Judged::InTime(judgement) => judgement,
        };
        if denied_by(&judgement).is_some() {
            return Some(judgement.why);
        }
        let wanted = quorum(&judgement);
        (wanted > allowed_by).then(|| format!("it wants {wanted} people: {}", judgement.why))
    }

    /// What a rule allows is on the record, or is not allowed by it.
    pub(super) async fn can_be_recorded(&self, could_write: Option<Instant>) -> bool {
        // What the gate says here can come to it as long as it holds the link.
        if could_write.is_some_and(|when| when.elapsed() < COULD_WRITE) && self.session.is_attached() {
            return true;
        }
        tokio::time::timeout(ANSWER_TIMEOUT, self.session.can_record()).await.unwrap_or(false)
    }

    /// Nobody can answer the ask any more: the gate is told, and so is the front.
    fn no_longer_asked(&self, ask: AskId, why: &str) {
        self.withdraw(ask, why);
        self.withdrawn(ask, why);
    }

    /// An ask is no longer asked. The word is never dropped, for somebody may answer it; there are no more of these than
    /// there were asks.
    pub(super) fn withdraw(&self, ask: AskId, why: &str) {
        let (session, why) = (self.session.clone(), why.to_owned());
        tokio::spawn(async move { session.withdraw(ask, why).await });
    }
}

/// Returns shortly before the client stops waiting: the gate, which has the same limit, may be away.
async fn client_gives_up(request: &ToolRequest) {
    match request.still_waits() {
        Some(waits) => tokio::time::sleep(waits.saturating_sub(MARGIN / 2)).await,
        None => std::future::pending().await,
    }
}
