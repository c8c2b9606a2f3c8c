//! Verdicts as people and programs give them at any door: which prompt they mean, and what they say to it.

use portcullis_core::policy::Mode;
use portcullis_core::{
    Actor, Answer, Ask, AskKind, AskLife, Behavior, Code, Edited, IdempotencyKey, Input, Refusal, Right, Ruling, Scope,
    State, Text, TokenScope, VerdictTarget,
};
use portcullis_wire::api::{NewVerdict, Recorded};
use portcullis_wire::canonical::{canonical, sorted_fields};
use portcullis_wire::error::{Candidate, Fault, Kind};
use portcullis_wire::nesting::{DEEPEST, is_too_deep};
use portcullis_wire::questions::{GivenAnswers, Questions};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::names::{find_ask_to_show, open_candidates};
use super::{Hub, fault_of};

/// By id, or by the code that people type.
pub(crate) fn named_in_full(text: &str) -> Option<VerdictTarget> {
    let by_code = || Code::parse(text).map(VerdictTarget::Code);
    text.parse().ok().map(VerdictTarget::Id).or_else(by_code)
}

/// Why the prompt of a held call takes nothing else.
const HELD: &str = "this call is held before it runs: it can be allowed or denied once, as it is";

/// `it takes scope once or session`, and a plan also which modes.
fn offered(ask: &Ask) -> String {
    let scopes = ask.details.offers.iter().map(|offer| offer.scope.name());
    let scopes = [Scope::Once.name()].into_iter().chain(scopes).collect::<Vec<_>>().join(" or ");
    let modes: Vec<&str> = ask.details.modes.iter().map(|mode| mode.name()).collect();
    match modes.is_empty() {
        true => format!("it takes scope {scopes}"),
        false => format!("it takes scope {scopes}, and mode {}", modes.join(" or ")),
    }
}

fn no_mode(name: &str) -> String {
    format!("there is no mode {name:?}: the modes are {}", Mode::ALL.map(Mode::name).join(", "))
}

fn find_ask<'a>(state: &'a State, target: &VerdictTarget) -> Option<&'a (Ask, AskLife)> {
    match target {
        VerdictTarget::Id(id) => state.ask(*id),
        VerdictTarget::Code(code) => state.ask_by_code(*code),
    }
}

/// What there is to answer in a prompt.
enum AskedQuestions {
    /// The questions are in this input.
    In(Value),
    /// The prompt is for a tool or a plan.
    NoQuestion,
    /// The input is no longer held, or is none.
    Unreadable,
}

impl Hub {
    /// Has a verdict counted. A verdict that is given twice under one `key` counts once.
    pub(crate) async fn answer(
        &self,
        by: Actor,
        target: VerdictTarget,
        mut new: NewVerdict,
        key: Option<String>,
    ) -> Result<Recorded, Fault> {
        let idempotency_key = key.map(|key| IdempotencyKey { key, digest: digest(&mut new) });
        let ruling = self.read_ruling(new, &by, &target).await?;
        let (scope, meant) = (by.scope.clone(), target.clone());
        match self.submit(Input::Answered { by, target, ruling, idempotency_key }).await? {
            Answer::Recorded { ask, code, behavior, missing } => {
                let (ask, code) = (ask.to_string(), code.to_string());
                Ok(Recorded { ask, code, behavior: behavior.name().to_owned(), missing })
            }
            Answer::Refused(refusal) => Err(self.explained(&refusal, scope, meant).await),
            other => Err(Fault::new(Kind::Internal, format!("the hub answered {other:?}"))),
        }
    }

    /// A refusal with what the prompt takes instead, or with the prompts there are.
    async fn explained(&self, refusal: &Refusal, scope: TokenScope, target: VerdictTarget) -> Fault {
        let fault = fault_of(refusal);
        match refusal {
            Refusal::CannotCarry { .. } => {
                let message = fault.message.clone();
                let told = self.look(move |state| {
                    find_ask(state, &target).map(|(ask, _)| match ask.details.held {
                        true => HELD.to_owned(),
                        false => format!("{message}: {}", offered(ask)),
                    })
                });
                match told.await.ok().flatten() {
                    Some(message) => Fault { message, ..fault },
                    None => fault,
                }
            }
            Refusal::NoSuchAsk => {
                let open = self.look(move |state| open_candidates(state, &scope));
                fault.knowing(open.await.unwrap_or_default())
            }
            _ => fault,
        }
    }

    /// Which prompt a verdict is about: its id, or its code in full. The beginning might mean another one by then.
    pub(crate) async fn read_target(&self, text: &str, scope: &TokenScope) -> Result<VerdictTarget, Fault> {
        if let Some(target) = named_in_full(text) {
            return Ok(target);
        }
        let (wanted, scope) = (text.to_owned(), scope.clone());
        let begin = self.look(move |state| match find_ask_to_show(state, &wanted, &scope) {
            Ok((ask, _)) => vec![Candidate::ask(ask)],
            Err(fault) => fault.candidates,
        });
        let what = format!(
            "no prompt {text:?}: a verdict names its prompt in full, by the five letters of its code or by its id"
        );
        Err(Fault::new(Kind::NoSuchAsk, what).knowing(begin.await?))
    }

    /// What a prompt that this person may still answer asks. None: there is no such prompt, and the core says why.
    async fn asked(&self, by: &Actor, target: &VerdictTarget) -> Result<Option<AskedQuestions>, Fault> {
        if !by.may(Right::Review) {
            return Ok(None);
        }
        let (target, scope) = (target.clone(), by.scope.clone());
        let asked = self.look(move |state| {
            let (ask, life) = find_ask(state, &target)?;
            if !state.is_in_scope(Some(ask.session), &scope) || !state.is_answerable(ask, life) {
                return None;
            }
            if ask.details.kind != AskKind::Question {
                return Some(AskedQuestions::NoQuestion);
            }
            let input = ask.details.input.as_ref().and_then(|input| serde_json::from_str(input.as_str()).ok());
            Some(input.filter(Value::is_object).map_or(AskedQuestions::Unreadable, AskedQuestions::In))
        });
        Ok(asked.await?)
    }

    /// What the caller says, with the answers to questions put into the input they belong to.
    async fn read_ruling(&self, new: NewVerdict, by: &Actor, target: &VerdictTarget) -> Result<Ruling, Fault> {
        let bad = |message: String| Fault::new(Kind::BadRequest, message);
        let unanswered = |message: String| Fault::new(Kind::NeedsAnswers, message);
        let NewVerdict { behavior, why, scope, input, answers, interrupt, mode } = new;
        let Some(behavior) = Behavior::named(&behavior) else {
            return Err(bad(format!("behavior is \"allow\" or \"deny\", not {behavior:?}")));
        };
        let scope = scope.unwrap_or_else(|| Scope::Once.name().to_owned());
        let Some(scope) = Scope::named(&scope) else {
            return Err(bad(format!("scope is \"once\", \"session\" or \"always\", not {scope:?}")));
        };
        let mode = mode.map(|mode| Mode::named(&mode).ok_or_else(|| bad(no_mode(&mode)))).transpose()?;
        if why.as_ref().is_some_and(|why| why.len() > 4096) {
            return Err(bad("why is longer than 4096 bytes".to_owned()));
        }
        let questions = if input.is_some() || answers.is_some() { self.asked(by, target).await? } else { None };
        let input = match (input, answers, questions) {
            (Some(_), Some(_), _) => return Err(bad("input and answers exclude each other".to_owned())),
            (Some(input), None, questions) => {
                let given = input.get("answers").map(|given| serde_json::from_value::<GivenAnswers>(given.clone()));
                if let (Some(AskedQuestions::In(asked)), Some(given)) = (questions, given) {
                    let given = given.map_err(|error| bad(format!("the answers cannot be read: {error}")))?;
                    Questions::of(&asked).read(&given).map_err(unanswered)?;
                }
                Some(Value::Object(input))
            }
            (None, Some(given), Some(AskedQuestions::In(mut asked))) => {
                asked["answers"] = Value::Object(Questions::of(&asked).read(&given).map_err(unanswered)?);
                Some(asked)
            }
            (None, Some(_), Some(AskedQuestions::NoQuestion)) => {
                return Err(bad("this prompt asks no question".to_owned()));
            }
            (None, Some(_), Some(AskedQuestions::Unreadable)) => {
                return Err(bad("the questions of this prompt cannot be read".to_owned()));
            }
            // The prompt is settled or unknown: the core says which.
            (None, Some(_), None) => Some(Value::Object(Map::new())),
            (None, None, _) => None,
        };
        if input.as_ref().is_some_and(is_too_deep) {
            return Err(bad(format!("the input is nested deeper than {DEEPEST} levels")));
        }
        let input = input.map(|input| {
            let text = canonical(&input);
            Edited { digest: Sha256::digest(&text).into(), text: Text::new(text) }
        });
        Ok(Ruling { behavior, scope, why, input, interrupt, mode })
    }
}

/// Of what was sent: its fields come in the same order however they were written.
fn digest(new: &mut NewVerdict) -> [u8; 32] {
    new.input = new.input.as_ref().map(sorted_fields);
    Sha256::digest(serde_json::to_vec(new).unwrap_or_default()).into()
}
