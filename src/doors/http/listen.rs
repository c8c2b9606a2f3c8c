//! `GET /events`: replies and prompts as text, for people with curl.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use bytes::Bytes;
use hyper::HeaderMap;
use portcullis_core::{Actor, Notice, State as Known};
use portcullis_wire::text;

use super::access::Permitted;
use super::answers::reserved;
use super::response::{ErrorResponse, event_stream};
use super::{Door, sse};
use crate::hub::Published;

pub(super) async fn listen(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    headers: HeaderMap,
) -> Result<Response, ErrorResponse> {
    let place = sse::take_place(&door, &permitted)?;
    let pass = sse::Pass::of(&door, &permitted);
    let (counted_as, actor) = (permitted.counted_as(), permitted.actor);
    let missed_since = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse::<u64>().ok());
    let watcher = door.hub.watch(move |state| catch_up(state, missed_since)).await?;
    let told = || watcher.first.iter().filter(|(_, notice)| notice.is_for(&actor));
    // The place is kept until all of it is made, and then taken by the answer itself.
    let room = reserved(&door, counted_as.as_deref(), told().map(|(_, notice)| size_in_text(notice)).sum())?;
    let mut first = vec![Bytes::from_static(b": connected\n\n")];
    first.extend(told().filter_map(|(revision, notice)| Some(sse::message(*revision, &text::notice(notice)?))));
    drop(room);
    let last = {
        let door = Arc::clone(&door);
        move || format!(": {}\n\n", sse::ending(&door)).into()
    };
    Ok(event_stream(sse::stream_of(first, watcher, place, pass, move |published| render(published, &actor), last)))
}

/// About as many bytes are in the text of a notice: of a prompt what it is for and what would run, and not its input.
fn size_in_text(notice: &Notice) -> usize {
    match notice {
        Notice::Ask { ask, .. } => ask.description.len() + ask.preview.len(),
        other => other.bytes(),
    }
}

/// What someone who comes late has to know: replies since they left, and every prompt that is still open.
///
/// A reply keeps the number it was last told with: whoever is cut off in the middle asks for the rest by it.
fn catch_up(state: &Known, missed_since: Option<u64>) -> Vec<(u64, Notice)> {
    let mut missed: Vec<(u64, &portcullis_core::Reply)> =
        missed_since.into_iter().flat_map(|revision| state.replies_after(revision)).collect();
    missed.sort_by_key(|(revision, _)| *revision);
    let replies = missed.into_iter().map(|(revision, reply)| (revision, state.reply_notice(reply)));
    let asks = state.listed_asks().filter_map(|(ask, _)| state.notice(portcullis_core::Topic::Ask(ask.id)));
    replies.chain(asks.map(|notice| (state.revision(), notice))).collect()
}

fn render(published: &Published, actor: &Actor) -> Option<Bytes> {
    if !published.notice.is_for(actor) {
        return None;
    }
    let bytes = published.text(|published| match text::notice(&published.notice) {
        Some(text) => sse::message(published.revision, &text),
        None => Bytes::new(),
    });
    (!bytes.is_empty()).then_some(bytes)
}
