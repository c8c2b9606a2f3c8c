//! `GET /api/v1/watch`: the state first, then every change, as JSON for programs.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use portcullis_core::{Actor, Notice, State as Known, Topic};
use portcullis_wire::api::Change;

use super::access::Permitted;
use super::answers::reserved;
use super::response::{ErrorResponse, event_stream};
use super::{Door, sse};
use crate::hub::{Published, now};

/// Events told at the start: the waiting ones, newest last, at most this many.
const FIRST_EVENTS: usize = 1000;

pub(super) async fn watch(State(door): State<Arc<Door>>, permitted: Permitted) -> Result<Response, ErrorResponse> {
    let place = sse::take_place(&door, &permitted)?;
    let pass = sse::Pass::of(&door, &permitted);
    let (counted_as, actor) = (permitted.counted_as(), permitted.actor);
    let watcher = door.hub.watch(everything).await?;
    let revision = watcher.revision;
    let told = || watcher.first.iter().map(|(_, notice)| notice).filter(|notice| notice.is_for(&actor));
    // The place is kept until the first state is made, and then taken by the answer itself.
    let room = reserved(&door, counted_as.as_deref(), told().map(Notice::bytes).sum())?;
    let changes = told().map(|notice| Change::of(notice, now())).chain([Change::Ready { revision }]);
    let first = changes.map(|change| encode(revision, &change)).collect();
    drop(room);
    let last = {
        let door = Arc::clone(&door);
        move || encode(revision, &Change::Resync { why: sse::ending(&door).to_owned() })
    };
    Ok(event_stream(sse::stream_of(first, watcher, place, pass, move |published| render(published, &actor), last)))
}

fn everything(state: &Known) -> Vec<(u64, Notice)> {
    let sessions = state.sessions().map(|session| Topic::Session(session.id));
    let asks = state.listed_asks().map(|(ask, _)| Topic::Ask(ask.id));
    let queues = state.sessions().map(|session| Some(session.id)).chain([None]);
    let waiting =
        queues.flat_map(|queue| state.waiting(queue, 0)).take(FIRST_EVENTS).map(|held| Topic::Event(held.event.id));
    sessions.chain(asks).chain(waiting).filter_map(|topic| Some((state.revision(), state.notice(topic)?))).collect()
}

fn render(published: &Published, actor: &Actor) -> Option<Bytes> {
    let encoded = |published: &Published| encode(published.revision, &Change::of(&published.notice, now()));
    published.notice.is_for(actor).then(|| published.json(encoded))
}

fn encode(revision: u64, change: &Change) -> Bytes {
    sse::message(revision, &serde_json::to_string(change).unwrap_or_default())
}
