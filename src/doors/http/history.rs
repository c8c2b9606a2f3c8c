//! What conversations had before, and which there are, read from the transcripts that their client keeps.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{Path, State};
use portcullis_core::Session;
use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::stream::{ConversationView, ConversationWords, HistoryPage, WantedPage};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::body::Params;
use super::response::{ErrorResponse, Json, not_found};
use crate::hub::find_session;

/// Reads the transcripts of conversations. Each may take a while.
pub(crate) struct TranscriptReader {
    /// A page of the conversation with this id; none where there is no transcript.
    pub(crate) page: ReadPage,
    /// The newest conversations in folders that are wanted.
    pub(crate) newest: ReadNewest,
    /// Where the conversation with this id began; none where there is no transcript.
    pub(crate) folder: ReadFolder,
    /// What the conversation with this id is about; none where there is no transcript.
    pub(crate) words: ReadWords,
}

type ReadPage = Box<dyn Fn(&str, &WantedPage) -> io::Result<Option<HistoryPage>> + Send + Sync>;
type ReadNewest = Box<dyn Fn(&dyn Fn(&std::path::Path) -> bool) -> Vec<ConversationView> + Send + Sync>;
type ReadFolder = Box<dyn Fn(&str) -> Option<PathBuf> + Send + Sync>;
type ReadWords = Box<dyn Fn(&str) -> Option<ConversationWords> + Send + Sync>;

const USUAL_LIMIT: usize = 200;
const MOST: usize = 1000;

#[derive(Deserialize)]
pub(super) struct HistoryFilter {
    before: Option<u64>,
    until: Option<String>,
    limit: Option<usize>,
}

/// `GET /api/v1/sessions/{id}/history`.
pub(super) async fn page(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path(id): Path<String>,
    Params(filter): Params<HistoryFilter>,
) -> Result<Json<HistoryPage>, ErrorResponse> {
    let found = door.hub.look(move |state| {
        let session = find_session(state, &id, &actor.scope)?;
        Ok::<_, Fault>(state.session(session).and_then(|session| session.about.agent_session.clone()))
    });
    let missing = || not_found(Kind::NoTranscript, "there is no transcript of this session");
    let conversation = found.await??.ok_or_else(missing)?;
    let limit = filter.limit.unwrap_or(USUAL_LIMIT).min(MOST);
    let wanted = WantedPage { before: filter.before, until: filter.until, limit };
    let transcripts = Arc::clone(&door.transcripts);
    // The file may be large, and its disk slow.
    let page = tokio::task::spawn_blocking(move || (transcripts.page)(&conversation, &wanted)).await;
    let failed = |error: String| Fault::new(Kind::Internal, format!("the transcript could not be read: {error}"));
    let page = page.map_err(|error| failed(error.to_string()))?.map_err(|error| failed(error.to_string()))?;
    page.map(Json).ok_or_else(missing)
}

/// `GET /api/v1/conversations`: newest first.
pub(super) async fn conversations(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
) -> Result<Json<Vec<ConversationView>>, ErrorResponse> {
    let mut listed = newest(&door).await?;
    let open = door.hub.look(move |state| {
        let mine = state.sessions().filter(|session| actor.scope.covers(&session.about.label));
        let open = mine.filter_map(|session: &Session| Some((session.about.agent_session.clone()?, session.id)));
        open.collect::<std::collections::HashMap<_, _>>()
    });
    let open = open.await?;
    for conversation in &mut listed {
        conversation.session = open.get(&conversation.id).map(ToString::to_string);
    }
    Ok(Json(listed))
}

/// The newest conversations in folders where sessions may be started.
pub(super) async fn newest(door: &Arc<Door>) -> Result<Vec<ConversationView>, Fault> {
    let door = Arc::clone(door);
    let reading = tokio::task::spawn_blocking(move || (door.transcripts.newest)(&|folder| door.starter.covers(folder)));
    reading.await.map_err(|error| Fault::new(Kind::Internal, format!("the transcripts could not be read: {error}")))
}
