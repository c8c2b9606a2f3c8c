//! Sessions over the API, the gate's own status, and the link by which processes attach.

use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Json};
use hyper::StatusCode;
use hyper::header::{CONNECTION, UPGRADE};
use hyper::upgrade::Parts;
use hyper_util::rt::TokioIo;
use portcullis_core::{Answer, Input, Order, Right, Session, State as Known, Text, Via};
use portcullis_wire::api::{NewMode, NewModel, NewPrompt, SessionView, Status};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;
use tokio::net::UnixStream;

use super::Door;
use super::answer::{Refused, not_found, refuse};
use super::body::{Params, read_json};
use super::credentials::Caller;
use super::patience::Patience;
use crate::hub::{fault_of, link};

fn view(state: &Known, session: &Session) -> SessionView {
    SessionView::of(session, state.waiting_size(Some(session.id)).0, state.open_asks_of(session.id).count())
}

#[derive(Deserialize)]
pub(super) struct Which {
    #[serde(default)]
    all: bool,
}

/// `GET /api/v1/sessions[?all=true]`: those that have not ended; with `all`, the latest that have, too.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Params(which): Params<Which>,
) -> Result<Json<Vec<SessionView>>, Refused> {
    let scope = caller.with(Right::Talk)?.scope.clone();
    let sessions = door.hub.look(move |state| {
        let mine = state.all_sessions().filter(|session| scope.covers(&session.about.label));
        let wanted = mine.filter(|session| which.all || !session.has_ended());
        wanted.map(|session| view(state, session)).collect()
    });
    Ok(Json(sessions.await?))
}

/// `GET /api/v1/sessions/{id}`.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Path(id): Path<String>,
) -> Result<Json<SessionView>, Refused> {
    let scope = caller.with(Right::Talk)?.scope.clone();
    let unknown = || not_found(Kind::NoSuchSession, format!("no session {id}"));
    let session = id.parse().map_err(|_| unknown())?;
    let found = door.hub.look(move |state| {
        let session = state.session(session).filter(|session| scope.covers(&session.about.label));
        session.map(|session| view(state, session))
    });
    found.await?.map(Json).ok_or_else(unknown)
}

/// `POST /api/v1/sessions/{id}/{order}`: have a running session do something.
pub(super) async fn order(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    Path((id, order)): Path<(String, String)>,
    request: Request,
) -> Result<Json<SessionView>, Refused> {
    let by = caller.with(Right::Talk)?.name.clone();
    let order = match order.as_str() {
        "interrupt" => Order::Interrupt,
        "stop" => Order::Stop { by },
        "resume" => Order::Resume,
        "end" => Order::End,
        "prompt" => {
            let NewPrompt { prompt } = read_json(request, &door).await?;
            if prompt.trim().is_empty() {
                return Err(Fault::new(Kind::BadRequest, "prompt is empty").into());
            }
            Order::Prompt { text: Text::new(prompt), by }
        }
        "mode" => Order::Mode(read_json::<NewMode>(request, &door).await?.mode),
        "model" => Order::Model(read_json::<NewModel>(request, &door).await?.model),
        other => return Err(not_found(Kind::NoSuchRoute, format!("no such order: {other}"))),
    };
    let by = caller.outside_with(Right::Talk, &door, "telling a session what to do").await?.clone();
    let unknown = || not_found(Kind::NoSuchSession, format!("no session {id}"));
    let session = id.parse().map_err(|_| unknown())?;
    if let Answer::Refused(refusal) = door.hub.submit(Input::Ordered { by, session, order }).await? {
        return Err(fault_of(&refusal).into());
    }
    let found = door.hub.look(move |state| state.session(session).map(|session| view(state, session)));
    found.await?.map(Json).ok_or_else(unknown)
}

/// `GET /api/v1/status`.
pub(super) async fn status(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
) -> Result<Json<Status>, Refused> {
    caller.with(Right::Admin)?;
    let watchers = door.limits.listeners - door.listeners.available_permits();
    let mut status = Status { watchers, ..door.status.clone() };
    let counts = |state: &Known| {
        let attached = state.sessions().filter(|session| session.is_attached()).count();
        (attached, state.waiting_total(), state.open_asks().count())
    };
    (status.sessions, status.waiting_events, status.open_asks) = door.hub.look(counts).await?;
    Ok(Json(status))
}

/// `POST /api/v1/stop`: the gate writes what it has taken in, and leaves.
pub(super) async fn stop(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
) -> Result<&'static str, Refused> {
    caller.with(Right::Admin)?;
    door.stop.cancel();
    Ok("stopping\n")
}

/// `GET /link`: only over the socket, only for processes of ours.
pub(super) async fn link(
    State(door): State<Arc<Door>>,
    Extension(caller): Extension<Caller>,
    mut request: Request,
) -> Response {
    let over_the_socket = caller.actor.as_ref().is_some_and(|actor| actor.via == Via::Socket);
    if !over_the_socket {
        return refuse(&Fault::new(Kind::Forbidden, "the link is served on the Unix socket only"));
    }
    let upgrade = request.headers().get(UPGRADE).map(hyper::header::HeaderValue::as_bytes);
    if upgrade != Some(b"portcullis-link") {
        return refuse(&Fault::new(Kind::BadRequest, "a link is asked for with Upgrade: portcullis-link"));
    }
    // What an agent runs may attach, and answers no prompt: also not as the terminal of a session.
    let reviews = caller.with(Right::Review).is_ok();
    let answers = reviews && matches!(caller.inside(&door).await, Ok(None));
    let upgrading = hyper::upgrade::on(&mut request);
    let gate = link::Gate { answers, ..door.link.clone() };
    tokio::spawn(async move {
        let upgraded = match upgrading.await {
            Ok(upgraded) => upgraded.downcast::<TokioIo<Patience<UnixStream>>>(),
            Err(error) => return tracing::debug!(%error, "a link was not upgraded"),
        };
        let Ok(Parts { io, read_buf, .. }) = upgraded else {
            return tracing::error!("a link that is no Unix socket");
        };
        if let Err(error) = link::serve(io.into_inner().into_inner(), &read_buf, gate).await {
            tracing::debug!("link: {error:#}");
        }
    });
    (StatusCode::SWITCHING_PROTOCOLS, [(CONNECTION, "upgrade"), (UPGRADE, "portcullis-link")]).into_response()
}
