//! Sessions over the API: those there are, and what a running one is told to do.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Path, Request, State};
use portcullis_core::{
    Actor, Answer, Input, Notice, Order, OrderId, Right, Session, SessionId, State as Known, Text, Topic, TrackedOrder,
};
use portcullis_wire::api::{NewMode, NewModel, NewPrompt, OrderView, SessionView};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::body::{Params, read_json};
use super::response::{ErrorResponse, Json, not_found};
use crate::hub::{fault_of, find_session, mint};

fn view(state: &Known, session: &Session) -> SessionView {
    let view = SessionView::of(session, state.waiting_size(Some(session.id)).0, state.open_asks_of(session.id).count());
    view.with_alarms(state.unasked_calls().filter(|call| call.session == session.id))
}

#[derive(Deserialize)]
pub(super) struct SessionFilter {
    #[serde(default)]
    all: bool,
    #[serde(default)]
    words: bool,
}

/// Sessions whose transcripts are looked into at once: those that were active last.
const MOST_WITH_WORDS: usize = 100;

/// `GET /api/v1/sessions[?all=true][&words=true]`: those that have not ended; with `all`, the latest that have, too; with
/// `words`, what each is about.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Params(filter): Params<SessionFilter>,
) -> Result<Json<Vec<SessionView>>, ErrorResponse> {
    // Who may only talk to sessions does not read along.
    let words = filter.words && (actor.may(Right::Review) || actor.may(Right::Admin));
    let sessions = door.hub.look(move |state| {
        let mine = state.all_sessions().filter(|session| actor.scope.covers(&session.about.label));
        let wanted = mine.filter(|session| filter.all || !session.has_ended());
        wanted.map(|session| view(state, session)).collect::<Vec<_>>()
    });
    let sessions = sessions.await?;
    Ok(Json(if words { with_words(&door, sessions).await? } else { sessions }))
}

/// The sessions, with what their transcripts tell.
async fn with_words(door: &Door, sessions: Vec<SessionView>) -> Result<Vec<SessionView>, Fault> {
    let reader = Arc::clone(&door.transcripts);
    let mut times: Vec<u64> = sessions.iter().map(|session| session.last_active).collect();
    times.sort_unstable_by(|one, other| other.cmp(one));
    let since = times.get(MOST_WITH_WORDS).map_or(0, |time| time + 1);
    let look = move |session: SessionView| {
        let conversation = session.agent_session.as_deref().filter(|_| session.last_active >= since);
        let words = conversation.and_then(|conversation| (reader.words)(conversation)).unwrap_or_default();
        session.with_words(words)
    };
    let reading = tokio::task::spawn_blocking(move || sessions.into_iter().map(look).collect()).await;
    reading.map_err(|error| Fault::new(Kind::Internal, format!("the transcripts could not be read: {error}")))
}

/// `GET /api/v1/sessions/{id}`: by its id, its label, or the beginning of one.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(id): Path<String>,
) -> Result<Json<SessionView>, ErrorResponse> {
    let unknown = format!("no session {id}");
    let found = door.hub.look(move |state| {
        let session = find_session(state, &id, &actor.scope)?;
        Ok::<_, Fault>(state.session(session).map(|session| view(state, session)))
    });
    found.await??.map(Json).ok_or_else(|| not_found(Kind::NoSuchSession, unknown))
}

type Ordered = Result<Json<OrderView>, ErrorResponse>;

#[derive(Deserialize)]
pub(super) struct OrderWait {
    /// Seconds.
    #[serde(default)]
    wait: u64,
}

/// The session may take its time: nobody waits longer for it than this.
const LONGEST_WAIT: u64 = 30;

/// `POST /api/v1/sessions/{id}/stop`.
pub(super) async fn stop(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    wait: Params<OrderWait>,
) -> Ordered {
    let by = permitted.actor.name.clone();
    order(&door, permitted.actor, &id, Order::Stop { by }, &wait).await
}

/// `POST /api/v1/sessions/{id}/resume`.
pub(super) async fn resume(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    wait: Params<OrderWait>,
) -> Ordered {
    order(&door, permitted.actor, &id, Order::Resume, &wait).await
}

/// `POST /api/v1/sessions/{id}/interrupt`.
pub(super) async fn interrupt(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    wait: Params<OrderWait>,
) -> Ordered {
    order(&door, permitted.actor, &id, Order::Interrupt, &wait).await
}

/// `POST /api/v1/sessions/{id}/end`.
pub(super) async fn end(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    wait: Params<OrderWait>,
) -> Ordered {
    order(&door, permitted.actor, &id, Order::End, &wait).await
}

/// `POST /api/v1/sessions/{id}/prompt`.
pub(super) async fn prompt(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    wait: Params<OrderWait>,
    request: Request,
) -> Ordered {
    let NewPrompt { prompt } = read_json(request, &door).await?;
    if prompt.trim().is_empty() {
        return Err(Fault::new(Kind::BadRequest, "prompt is empty").into());
    }
    let by = permitted.actor.name.clone();
    order(&door, permitted.actor, &id, Order::Prompt { text: Text::new(prompt), by }, &wait).await
}

/// `POST /api/v1/sessions/{id}/mode`.
pub(super) async fn set_mode(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    wait: Params<OrderWait>,
    request: Request,
) -> Ordered {
    let NewMode { mode } = read_json(request, &door).await?;
    order(&door, permitted.actor, &id, Order::Mode(mode), &wait).await
}

/// `POST /api/v1/sessions/{id}/model`.
pub(super) async fn set_model(
    door: State<Arc<Door>>,
    permitted: Permitted,
    id: Path<String>,
    wait: Params<OrderWait>,
    request: Request,
) -> Ordered {
    let NewModel { model } = read_json(request, &door).await?;
    order(&door, permitted.actor, &id, Order::Model(model), &wait).await
}

/// Gives a running session an order, and answers what has become of it: recorded, or what the session has said by the
/// end of the wait.
async fn order(door: &Door, by: Actor, session: &str, order: Order, wait: &Params<OrderWait>) -> Ordered {
    let unknown = || not_found(Kind::NoSuchSession, format!("no session {session}"));
    let (wanted, scope) = (session.to_owned(), by.scope.clone());
    let session: SessionId = door.hub.look(move |state| find_session(state, &wanted, &scope)).await??;
    let id = mint(OrderId::new);
    if let Answer::Refused(refusal) = door.hub.submit(Input::Ordered { id, by, session, order }).await? {
        return Err(fault_of(&refusal).into());
    }
    let mine =
        move |state: &Known| state.notice(Topic::Session(session)).map(|notice| (0, notice)).into_iter().collect();
    let mut watcher = door.hub.watch(mine).await?;
    let first = watcher.first.iter().find_map(|(_, notice)| order_in(notice, session, id));
    let (mut tracked, mut is_attached) = first.ok_or_else(unknown)?;
    let mut wait = std::pin::pin!(tokio::time::sleep(Duration::from_secs(wait.0.wait.min(LONGEST_WAIT))));
    // A process that is away confirms nothing before it is back.
    while tracked.outcome.is_none() && is_attached {
        tokio::select! {
            change = watcher.changes.recv() => match change {
                Some(change) => {
                    (tracked, is_attached) = order_in(&change.notice, session, id).unwrap_or((tracked, is_attached));
                }
                None => break,
            },
            () = &mut wait => break,
        }
    }
    Ok(Json(OrderView::from(&tracked)))
}

/// An order as a notice about its session has it, and whether the session's process is there.
fn order_in(notice: &Notice, session: SessionId, id: OrderId) -> Option<(TrackedOrder, bool)> {
    match notice {
        Notice::Session { session: known, .. } if known.id == session => {
            Some((known.order(id)?.clone(), known.is_attached()))
        }
        _ => None,
    }
}
