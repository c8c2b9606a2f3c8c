//! Prompts and verdicts over the API.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use portcullis_core::{Ask, AskLife, Right, State as Known, TokenScope, VerdictTarget};
use portcullis_wire::api::{AskView, NewVerdict, Recorded, VerdictView};
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::tools;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Door;
use super::access::Permitted;
use super::answers::reserved;
use super::body::{Params, idempotency_key, known_state, read_json};
use super::response::{ErrorResponse, Json};
use crate::hub::{find_ask_to_show, find_session};

#[derive(Deserialize)]
pub(super) struct AskFilter {
    state: Option<String>,
    session: Option<String>,
    limit: Option<usize>,
}

/// `GET /api/v1/asks[?state=open][&session=ID]`: open and recently settled prompts, newest last.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    Params(filter): Params<AskFilter>,
) -> Result<Json<Vec<AskView>>, ErrorResponse> {
    known_state(filter.state.as_deref(), &AskLife::NAMES)?;
    let (counted_as, actor, counting) = (permitted.counted_as(), permitted.actor, Arc::clone(&door));
    let asks = door.hub.look(move |state| {
        let session = filter.session.map(|wanted| find_session(state, &wanted, &actor.scope)).transpose()?;
        let all: Box<dyn Iterator<Item = _>> = match filter.state.as_deref() {
            // What is answered, and nothing shows that the client took it, is still for someone to look at.
            Some("open") => Box::new(state.listed_asks()),
            wanted => {
                let is_wanted = move |life: &AskLife| wanted.is_none_or(|wanted| wanted == life.name());
                Box::new(state.asks().filter(move |(_, life)| is_wanted(life)))
            }
        };
        let of_it = all.filter(|(ask, _)| session.is_none_or(|session| ask.session == session));
        let covered: Vec<_> = of_it.filter(|(ask, _)| covers(state, &actor.scope, ask)).collect();
        let older = covered.len().saturating_sub(filter.limit.unwrap_or(usize::MAX));
        let listed = &covered[older..];
        let room = reserved(&counting, counted_as.as_deref(), listed.iter().map(|(ask, _)| size_in_answer(ask)).sum())?;
        Ok::<_, Fault>((listed.iter().map(|(ask, life)| view(state, ask, life)).collect(), room))
    });
    // The place is kept until the answer is made, and then taken by the answer itself.
    let (asks, _room) = asks.await??;
    Ok(Json(asks))
}

/// About as many bytes are in an answer for this prompt: its input stands there, and the preview of it.
pub(super) fn size_in_answer(ask: &Ask) -> usize {
    ask.bytes()
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

/// Whether the session that asks is in the scope.
fn covers(state: &Known, scope: &TokenScope, ask: &Ask) -> bool {
    state.is_in_scope(Some(ask.session), scope)
}

/// `GET /api/v1/asks/{id or code}`; the beginning is enough where it means one prompt.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(text): Path<String>,
) -> Result<Json<AskView>, ErrorResponse> {
    let found = door
        .hub
        .look(move |state| find_ask_to_show(state, &text, &actor.scope).map(|(ask, life)| view(state, ask, life)));
    Ok(Json(found.await??))
}

fn view(state: &Known, ask: &Ask, life: &AskLife) -> AskView {
    AskView::of(ask, life)
        .labelled(state.label_of(Some(ask.session)).as_ref())
        .answerable_if(state.is_answerable(ask, life))
}

/// `POST /api/v1/asks/{id or code}/verdict`.
pub(super) async fn answer(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(text): Path<String>,
    request: Request,
) -> Result<Json<Recorded>, ErrorResponse> {
    let target = door.hub.read_target(&text, &actor.scope).await?;
    let key = idempotency_key(request.headers())?;
    let new: NewVerdict = read_json(request, &door).await?;
    if let Some(input) = new.input.as_ref().filter(|_| new.answers.is_none() && actor.may(Right::Review)) {
        can_run(&door, &actor.scope, &target, input.clone()).await?;
    }
    Ok(Json(door.hub.answer(actor, target, new, key).await?))
}

/// Refuses an input with which the tool cannot run: it would be an allow that denies, and the prompt would be gone.
async fn can_run(
    door: &Door,
    scope: &TokenScope,
    target: &VerdictTarget,
    input: Map<String, Value>,
) -> Result<(), ErrorResponse> {
    let (target, scope) = (target.clone(), scope.clone());
    let lacking = door.hub.look(move |state| {
        let found = match target {
            VerdictTarget::Id(id) => state.ask(id),
            VerdictTarget::Code(code) => state.ask_by_code(code),
        };
        let is_open = |(ask, life): &&(Ask, AskLife)| covers(state, &scope, ask) && state.is_answerable(ask, life);
        let (ask, _) = found.filter(is_open)?;
        let field = tools::lacks(&ask.tool, &Value::Object(input))?;
        Some(format!("the input has no {field:?}, and {} needs one, as a text", ask.tool))
    });
    match lacking.await? {
        Some(what) => Err(Fault::new(Kind::CannotCarry, what).into()),
        None => Ok(()),
    }
}
