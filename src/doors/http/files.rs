//! Files over the API: uploaded for an event, and downloaded by those who may see the event or the reply.

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use http_body_util::Limited;
use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue, X_CONTENT_TYPE_OPTIONS};
use portcullis_core::{EventId, ReplyId};
use portcullis_wire::api::UploadedFile;
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::body::{Broken, Params, collect};
use super::queue::visible_event;
use super::response::{ErrorResponse, Json, not_found};
use crate::files::{LARGEST_FILE, MOST_FILES, StoredFile};
use crate::hub::mint;

/// Uploads that may be under way at once.
pub(super) const MOST_UPLOADS: usize = 4;

#[derive(Deserialize)]
pub(super) struct FileName {
    #[serde(default)]
    name: String,
}

/// `POST /api/v1/files?name=NAME`.
pub(super) async fn upload(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Params(FileName { name }): Params<FileName>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let busy = |_| Fault::new(Kind::TooManyListeners, "other files are being uploaded").retry_after(1);
    let _place = Arc::clone(&door.uploads).try_acquire_owned().map_err(busy)?;
    let full = |what: &str| Fault::new(Kind::FilesFull, what.to_owned());
    let body = Limited::new(request.into_body(), LARGEST_FILE);
    let bytes = collect(body, None, door.limits.idle_time).await.map_err(|broken| match broken {
        Broken::Silent => Fault::new(Kind::Slow, "the file did not come in time"),
        Broken::TooLarge => Fault::new(Kind::TooLarge, format!("the file is larger than {LARGEST_FILE} bytes")),
        Broken::Unreadable(why) => Fault::new(Kind::BadRequest, format!("the file could not be read: {why}")),
    })?;
    let (store, id) = (door.files.clone(), mint(EventId::new).to_string());
    let staging = {
        let (id, sender) = (id.clone(), actor.name);
        tokio::task::spawn_blocking(move || store.stage(&id, &sender, &name, &bytes))
    };
    let failed = |error: std::io::Error| full(&format!("the file could not be kept: {error}"));
    let kept = staging.await.map_err(|_| full("the file could not be kept"))?.map_err(failed)?;
    let uploaded = UploadedFile { id, name: kept.name, size: kept.size };
    Ok((StatusCode::CREATED, Json(uploaded)).into_response())
}

/// The files that this sender has uploaded for an event.
pub(super) fn staged(door: &Door, sender: &str, ids: &[String]) -> Result<Vec<StoredFile>, Fault> {
    if ids.len() > MOST_FILES {
        return Err(Fault::new(Kind::BadRequest, format!("an event has at most {MOST_FILES} files")));
    }
    let find = |id: &String| {
        door.files.staged(id, sender).ok_or_else(|| Fault::new(Kind::NoSuchFile, format!("no uploaded file {id:?}")))
    };
    ids.iter().map(find).collect()
}

/// `GET /api/v1/events/{id}/files/{number}`.
pub(super) async fn of_event(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path((id, number)): Path<(String, usize)>,
) -> Result<Response, ErrorResponse> {
    let event = visible_event(&door, &actor, &id).await?.id;
    download(door.files.of_event(&event.to_string()), number).await
}

/// `GET /api/v1/replies/{id}/files/{number}`.
pub(super) async fn of_reply(
    State(door): State<Arc<Door>>,
    Permitted { actor, .. }: Permitted,
    Path((id, number)): Path<(String, usize)>,
) -> Result<Response, ErrorResponse> {
    let unknown = || not_found(Kind::NoSuchReply, format!("no reply {id}"));
    let wanted: ReplyId = id.parse().map_err(|_| unknown())?;
    let found = door.hub.look(move |state| {
        let (_, reply) = state.replies_after(0).find(|(_, reply)| reply.id == wanted)?;
        state.reply_notice(reply).is_for(&actor).then_some(reply.session)
    });
    let session = found.await?.ok_or_else(unknown)?;
    download(door.files.of_reply(&session.to_string(), &id), number).await
}

/// A file to be saved: nothing in it is shown, or run, where the page is.
async fn download(files: Vec<StoredFile>, number: usize) -> Result<Response, ErrorResponse> {
    let missing = || not_found(Kind::NoSuchFile, format!("no file {number}"));
    let file = files.into_iter().nth(number).ok_or_else(missing)?;
    let bytes = tokio::fs::read(&file.path).await.map_err(|_| missing())?;
    let plain: String = file.name.chars().map(|letter| if letter.is_ascii() { letter } else { '_' }).collect();
    let encoded: String = file.name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let disposition = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    let disposition = HeaderValue::from_str(&disposition).unwrap_or(HeaderValue::from_static("attachment"));
    let headers = [
        (CONTENT_DISPOSITION, disposition),
        (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream")),
        (X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff")),
    ];
    Ok((headers, Body::from(bytes)).into_response())
}
