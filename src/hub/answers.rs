//! Verdicts as people and programs give them at any door: which prompt they mean, and what they say to it.

use portcullis_core::policy::Mode;
use portcullis_core::{
    Actor, Answer, Ask, AskLife, Behavior, Code, Edited, IdempotencyKey, Input, Ruling, Scope, State, Text,
    VerdictTarget,
};
use portcullis_wire::api::{NewVerdict, Recorded};
use portcullis_wire::error::{Fault, Kind};
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::{Hub, fault_of};

/// By id, or by the code that people type.
pub(crate) fn read_target(text: &str) -> Result<VerdictTarget, Fault> {
    let by_code = || Code::parse(text).map(VerdictTarget::Code);
    let target = text.parse().ok().map(VerdictTarget::Id).or_else(by_code);
    target.ok_or_else(|| Fault::new(Kind::NoSuchAsk, format!("{text:?} is neither an id nor a code")))
}

fn find_ask<'a>(state: &'a State, target: &VerdictTarget) -> Option<&'a (Ask, AskLife)> {
    match target {
        VerdictTarget::Id(id) => state.ask(*id),
        VerdictTarget::Code(code) => state.ask_by_code(*code),
    }
}

impl Hub {
    /// Has a verdict counted. A verdict that is given twice under one `key` counts once.
    pub(crate) async fn answer(
        &self,
        by: Actor,
        target: VerdictTarget,
        new: NewVerdict,
        key: Option<String>,
    ) -> Result<Recorded, Fault> {
        let idempotency_key = key.map(|key| IdempotencyKey { key, digest: digest(&new) });
        let ruling = self.read_ruling(new, &target).await?;
        match self.submit(Input::Answered { by, target, ruling, idempotency_key }).await? {
            Answer::Recorded { ask, code, behavior, missing } => {
                let (ask, code) = (ask.to_string(), code.to_string());
                Ok(Recorded { ask, code, behavior: behavior.name().to_owned(), missing })
            }
            Answer::Refused(refusal) => Err(fault_of(&refusal)),
            other => Err(Fault::new(Kind::Internal, format!("the hub answered {other:?}"))),
        }
    }

    /// What the caller says, with the answers to questions put into the input they belong to.
    async fn read_ruling(&self, new: NewVerdict, target: &VerdictTarget) -> Result<Ruling, Fault> {
        let bad = |message: String| Fault::new(Kind::BadRequest, message);
        let NewVerdict { behavior, why, scope, input, answers, interrupt, mode } = new;
        let Some(behavior) = Behavior::named(&behavior) else {
            return Err(bad(format!("behavior is \"allow\" or \"deny\", not {behavior:?}")));
        };
        let scope = scope.unwrap_or_else(|| Scope::Once.name().to_owned());
        let Some(scope) = Scope::named(&scope) else {
            return Err(bad(format!("scope is \"once\", \"session\" or \"always\", not {scope:?}")));
        };
        let mode =
            mode.map(|mode| Mode::named(&mode).ok_or_else(|| bad(format!("there is no mode {mode:?}")))).transpose()?;
        if why.as_ref().is_some_and(|why| why.len() > 4096) {
            return Err(bad("why is longer than 4096 bytes".to_owned()));
        }
        let input = match (input, answers) {
            (Some(_), Some(_)) => return Err(bad("input and answers exclude each other".to_owned())),
            (Some(input), None) => Some(Value::Object(input)),
            (None, Some(answers)) => {
                let target = target.clone();
                let asked = self.look(move |state| {
                    let (ask, _) = find_ask(state, &target)?;
                    serde_json::from_str::<Map<String, Value>>(ask.details.input.as_ref()?.as_str()).ok()
                });
                let mut input = asked.await?.unwrap_or_default();
                input.insert("answers".to_owned(), serde_json::to_value(answers).unwrap_or_default());
                Some(Value::Object(input))
            }
            (None, None) => None,
        };
        let input = input.map(|input| {
            let text = input.to_string();
            Edited { digest: Sha256::digest(&text).into(), text: Text::new(text) }
        });
        Ok(Ruling { behavior, scope, why, input, interrupt, mode })
    }
}

/// Of what was sent: its fields come in the same order however they were written.
fn digest(new: &NewVerdict) -> [u8; 32] {
    Sha256::digest(serde_json::to_vec(new).unwrap_or_default()).into()
}
