//! Sessions over the API: those there are, and what a running one is told to do.

use std::sync::Arc;

use axum::Json;
use axum::extract::{Path, Request, State};
use portcullis_core::{Actor, Answer, Input, Order, Session, State as Known, Text};
use portcullis_wire::api::{NewMode, NewModel, NewPrompt, SessionView};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::body::{Params, read_json};
use super::response::{ErrorResponse, not_found};
use crate::hub::fault_of;

fn view(state: &Known, session: &Session) -> SessionView {
    SessionView::of(session, state.waiting_size(Some(session.id)).0, state.open_asks_of(session.id).count())
}

#[derive(Deserialize)]
pub(super) struct SessionFilter {
    #[serde(default)]
    all: bool,
}

/// `GET /api/v1/sessions[?all=true]`: those that have not ended; with `all`, the latest that have, too.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Params(filter): Params<SessionFilter>,
) -> Result<Json<Vec<SessionView>>, ErrorResponse> {
    let sessions = door.hub.look(move |state| {
        let mine = state.all_sessions().filter(|session| actor.scope.covers(&session.about.label));
        let wanted = mine.filter(|session| filter.all || !session.has_ended());
        wanted.map(|session| view(state, session)).collect()
    });
    Ok(Json(sessions.await?))
}

/// `GET /api/v1/sessions/{id}`.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(id): Path<String>,
) -> Result<Json<SessionView>, ErrorResponse> {
    let unknown = || not_found(Kind::NoSuchSession, format!("no session {id}"));
    let session = id.parse().map_err(|_| unknown())?;
    let found = door.hub.look(move |state| {
        let session = state.session(session).filter(|session| actor.scope.covers(&session.about.label));
        session.map(|session| view(state, session))
    });
    found.await?.map(Json).ok_or_else(unknown)
}

type Ordered = Result<Json<SessionView>, ErrorResponse>;

/// `POST /api/v1/sessions/{id}/stop`.
pub(super) async fn stop(door: State<Arc<Door>>, permitted: Permitted, id: Path<String>) -> Ordered {
    let by = permitted.actor.name.clone();
    order(&door, permitted.actor, &id, Order::Stop { by }).await
}

/// `POST /api/v1/sessions/{id}/resume`.
pub(super) async fn resume(door: State<Arc<Door>>, permitted: Permitted, id: Path<String>) -> Ordered {
    order(&door, permitted.actor, &id, Order::Resume).await
}

/// `POST /api/v1/sessions/{id}/interrupt`.
pub(super) async fn interrupt(door: State<Arc<Door>>, permitted: Permitted, id: Path<String>) -> Ordered {
    order(&door, permitted.actor, &id, Order::Interrupt).await
}

/// `POST /api/v1/sessions/{id}/end`.
pub(super) async fn end(door: State<Arc<Door>>, permitted: Permitted, id: Path<String>) -> Ordered {
    order(&door, permitted.actor, &id, Order::End).await
}

/// `POST /api/v1/sessions/{id}/prompt`.
pub(super) async fn prompt(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    request: Request,
) -> Ordered {
    let NewPrompt { prompt } = read_json(request, &door).await?;
    if prompt.trim().is_empty() {
        return Err(Fault::new(Kind::BadRequest, "prompt is empty").into());
    }
    let by = permitted.actor.name.clone();
    order(&door, permitted.actor, &id, Order::Prompt { text: Text::new(prompt), by }).await
}

/// `POST /api/v1/sessions/{id}/mode`.
pub(super) async fn set_mode(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    request: Request,
) -> Ordered {
    let NewMode { mode } = read_json(request, &door).await?;
    order(&door, permitted.actor, &id, Order::Mode(mode)).await
}

/// `POST /api/v1/sessions/{id}/model`.
pub(super) async fn set_model(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    request: Request,
) -> Ordered {
    let NewModel { model } = read_json(request, &door).await?;
    order(&door, permitted.actor, &id, Order::Model(model)).await
}

/// Gives a running session an order, and answers how the session is then.
async fn order(door: &Door, by: Actor, id: &str, order: Order) -> Ordered {
    let unknown = || not_found(Kind::NoSuchSession, format!("no session {id}"));
    let session = id.parse().map_err(|_| unknown())?;
    if let Answer::Refused(refusal) = door.hub.submit(Input::Ordered { by, session, order }).await? {
        return Err(fault_of(&refusal).into());
    }
    let found = door.hub.look(move |state| state.session(session).map(|session| view(state, session)));
    found.await?.map(Json).ok_or_else(unknown)
}
