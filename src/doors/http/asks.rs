//! Prompts and verdicts over the API.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use portcullis_core::{
    Answer, Ask, AskLife, Behavior, Code, Edited, IdempotencyKey, Input, Ruling, Scope, State as Known, Target, Text,
    TokenScope,
};
use portcullis_wire::api::{AskView, NewVerdict, Recorded, VerdictView};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;
use serde_json::{Map, Value};
use sha2::{Digest as _, Sha256};

use super::Door;
use super::access::Permitted;
use super::body::{Params, idempotency_key, read_json};
use super::response::{ErrorResponse, not_found};
use crate::hub::fault_of;

#[derive(Deserialize)]
pub(super) struct AskFilter {
    state: Option<String>,
}

/// `GET /api/v1/asks[?state=open]`: open and recently settled prompts, newest last.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Params(filter): Params<AskFilter>,
) -> Result<Json<Vec<AskView>>, ErrorResponse> {
    let asks = door.hub.look(move |state| {
        let wanted = state
            .asks()
            .filter(|(ask, _)| covers(state, &actor.scope, ask))
            .filter(|(_, life)| filter.state.as_deref().is_none_or(|state| state == life.name()));
        wanted.map(|(ask, life)| AskView::of(ask, life)).collect()
    });
    Ok(Json(asks.await?))
}

/// `GET /api/v1/verdicts`: who said what, newest last.
pub(super) async fn verdicts(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
) -> Result<Json<Vec<VerdictView>>, ErrorResponse> {
    let verdicts = door.hub.look(move |state| {
        let wanted = state.asks().filter(|(ask, _)| covers(state, &actor.scope, ask));
        wanted.filter_map(|(ask, life)| VerdictView::of(ask, life)).collect()
    });
    Ok(Json(verdicts.await?))
}

/// Whether someone has to do with the session that asks.
fn covers(state: &Known, scope: &TokenScope, ask: &Ask) -> bool {
    state.is_in_scope(Some(ask.session), scope)
}

/// By id, or by the code that people type.
pub(super) fn read_target(text: &str) -> Result<Target, ErrorResponse> {
    let by_code = || Code::parse(text).map(Target::Code);
    let target = text.parse().ok().map(Target::Id).or_else(by_code);
    target.ok_or_else(|| not_found(Kind::NoSuchAsk, format!("{text:?} is neither an id nor a code")))
}

/// `GET /api/v1/asks/{id or code}`.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(text): Path<String>,
) -> Result<Json<AskView>, ErrorResponse> {
    let target = read_target(&text)?;
    let found = door.hub.look(move |state| {
        find(state, &target)
            .filter(|(ask, _)| covers(state, &actor.scope, ask))
            .map(|(ask, life)| AskView::of(ask, life))
    });
    found.await?.map(Json).ok_or_else(|| not_found(Kind::NoSuchAsk, format!("no prompt {text}")))
}

/// `POST /api/v1/asks/{id or code}/verdict`.
pub(super) async fn answer(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(text): Path<String>,
    request: Request,
) -> Result<Json<Recorded>, ErrorResponse> {
    let target = read_target(&text)?;
    let key = idempotency_key(request.headers())?;
    let new: NewVerdict = read_json(request, &door).await?;
    let once = key.map(|key| IdempotencyKey { key, digest: digest(&new) });
    let ruling = read_ruling(new, &door, &target).await?;
    match door.hub.submit(Input::Answered { by: actor, target, ruling, once }).await? {
        Answer::Recorded { ask, code, behavior, missing } => {
            let (ask, code) = (ask.to_string(), code.to_string());
            Ok(Json(Recorded { ask, code, behavior: behavior.name().to_owned(), missing }))
        }
        Answer::Refused(refusal) => Err(fault_of(&refusal).into()),
        other => Err(Fault::new(Kind::Internal, format!("the hub answered {other:?}")).into()),
    }
}

/// Of what was sent: its fields come in the same order however they were written.
fn digest(new: &NewVerdict) -> [u8; 32] {
    Sha256::digest(serde_json::to_vec(new).unwrap_or_default()).into()
}

/// What the caller says, with the answers to questions put into the input they belong to.
async fn read_ruling(new: NewVerdict, door: &Door, target: &Target) -> Result<Ruling, ErrorResponse> {
    let bad = |message: String| ErrorResponse::from(Fault::new(Kind::BadRequest, message));
    let NewVerdict { behavior, why, scope, input, answers, interrupt } = new;
    let Some(behavior) = Behavior::named(&behavior) else {
        return Err(bad(format!("behavior is \"allow\" or \"deny\", not {behavior:?}")));
    };
    let scope = scope.unwrap_or_else(|| Scope::Once.name().to_owned());
    let Some(scope) = Scope::named(&scope) else {
        return Err(bad(format!("scope is \"once\", \"session\" or \"always\", not {scope:?}")));
    };
    if why.as_ref().is_some_and(|why| why.len() > 4096) {
        return Err(bad("why is longer than 4096 bytes".to_owned()));
    }
    let input = match (input, answers) {
        (Some(_), Some(_)) => return Err(bad("input and answers exclude each other".to_owned())),
        (Some(input), None) => Some(Value::Object(input)),
        (None, Some(answers)) => {
            let target = target.clone();
            let asked = door.hub.look(move |state| {
                let (ask, _) = find(state, &target)?;
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
    Ok(Ruling { behavior, scope, why, input, interrupt })
}

fn find<'a>(state: &'a Known, target: &Target) -> Option<&'a (Ask, AskLife)> {
    match target {
        Target::Id(id) => state.ask(*id),
        Target::Code(code) => state.ask_by_code(*code),
    }
}
