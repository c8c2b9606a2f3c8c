//! Events that were sent: the latest, one with its text, and those that someone wants back on their queue or off it.

use std::collections::BTreeMap;
use std::sync::Arc;

use axum::extract::{Path, State};
use portcullis_core::{Actor, Answer, Event, EventId, EventLife, Input, TrackedEvent};
use portcullis_wire::api::{EventView, FileView};
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::body::{Params, known_state};
use super::files::on_disk;
use super::response::{ErrorResponse, Json, not_found};
use crate::hub::{fault_of, find_event, find_session, now};

#[derive(Deserialize)]
pub(super) struct EventFilter {
    limit: Option<usize>,
    state: Option<String>,
    session: Option<String>,
}

/// `GET /api/v1/events`: newest first. Those who may not review see their own.
pub(super) async fn list(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Params(filter): Params<EventFilter>,
) -> Result<Json<Vec<EventView>>, ErrorResponse> {
    known_state(filter.state.as_deref(), &EventLife::NAMES)?;
    let limit = filter.limit.unwrap_or(100).min(1000);
    let events = door.hub.look(move |state| {
        let session = filter.session.map(|wanted| find_session(state, &wanted, &actor.scope)).transpose()?;
        let session = session.map(|session| session.to_string());
        let mine = state
            .events()
            .rev()
            .filter(|held| actor.sees(&held.event, state.wanted_label_of(held.to).as_ref()))
            .map(|held| EventView::of(held, now()));
        let wanted = mine.filter(|view| {
            filter.state.as_ref().is_none_or(|state| *state == view.state)
                && (session.is_none() || view.session == session)
        });
        Ok::<_, Fault>(wanted.take(limit).collect())
    });
    Ok(Json(events.await??))
}

/// `GET /api/v1/events/{id}`: one event with its text.
pub(super) async fn show(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(id): Path<String>,
) -> Result<Json<EventView>, ErrorResponse> {
    let whole = visible_event(&door, &actor, &id).await?;
    let event = whole.id;
    let view = door.hub.look(move |state| Some(EventView::of(state.event(event)?, now()))).await?;
    // The gate remembers the latest; the journal has them all, but not what became of them in one place.
    let mut view = view.unwrap_or_else(|| EventView {
        id: whole.id.to_string(),
        state: "settled".to_owned(),
        why: "settled long ago".to_owned(),
        via: whole.via.name().to_owned(),
        sender: whole.sender.clone(),
        directs: whole.directs,
        chat_id: whole.chat.to_string(),
        session: None,
        bytes: whole.text.len(),
        at: whole.at.0,
        delivered_at: None,
        first_delivered_at: None,
        way: None,
        seen_at: None,
        redelivered: false,
        reply_to: whole.reply_to.map(|id| id.to_string()),
        attributes: BTreeMap::new(),
        text: None,
        files: vec![],
    });
    view.attributes = whole.attributes.iter().cloned().collect();
    view.text = Some(whole.text.as_str().to_owned());
    let files = on_disk(&door, move |files| files.of_event(&event.to_string())).await?;
    view.files = files.into_iter().map(|file| FileView { path: file.name, size: file.size }).collect();
    Ok(Json(view))
}

/// The event that is meant, if this person may see it.
pub(super) async fn visible_event(door: &Door, actor: &Actor, id: &str) -> Result<Arc<Event>, ErrorResponse> {
    let event = find(door, actor, id).await?;
    let label = door.hub.look(move |state| state.event(event).map(|held| state.wanted_label_of(held.to))).await?;
    let whole = door.hub.read(event).await?.filter(|whole| actor.sees(whole, label.flatten().as_ref()));
    whole.ok_or_else(|| not_found(Kind::NoSuchEvent, format!("no event {id}")))
}

/// The event with this id, or the only one in sight whose id begins so.
async fn find(door: &Door, actor: &Actor, wanted: &str) -> Result<EventId, Fault> {
    let (actor, wanted) = (actor.clone(), wanted.to_owned());
    let found = door.hub.look(move |state| {
        let in_sight = |held: &TrackedEvent| actor.sees(&held.event, state.wanted_label_of(held.to).as_ref());
        find_event(state, &wanted, in_sight)
    });
    found.await?
}

/// `POST /api/v1/events/{id}/retry`: back on its queue.
pub(super) async fn retry(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(id): Path<String>,
) -> Result<&'static str, ErrorResponse> {
    let event = find(&door, &actor, &id).await?;
    change(&door, Input::Retry { by: actor, event }).await
}

/// `POST /api/v1/events/{id}/drop`: off its queue.
pub(super) async fn drop_event(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(id): Path<String>,
) -> Result<&'static str, ErrorResponse> {
    let event = find(&door, &actor, &id).await?;
    change(&door, Input::Drop { by: actor, event }).await
}

async fn change(door: &Door, input: Input) -> Result<&'static str, ErrorResponse> {
    match door.hub.submit(input).await? {
        Answer::Refused(refusal) => Err(fault_of(&refusal).into()),
        _ => Ok("done\n"),
    }
}
