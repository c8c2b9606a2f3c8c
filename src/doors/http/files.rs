//! Files over the API: uploaded for an event, and downloaded by those who may see the event or the reply.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use http_body_util::Limited;
use hyper::StatusCode;
use hyper::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderValue};
use portcullis_core::{EventId, ReplyId};
use portcullis_wire::api::UploadedFile;
use portcullis_wire::error::{Fault, Kind};
use serde::Deserialize;

use super::Door;
use super::access::Permitted;
use super::answers::reserved;
use super::body::{Broken, Params, collect};
use super::body_memory::BodyShare;
use super::queue::visible_event;
use super::response::{ErrorResponse, Json, not_found};
use super::sse::Pass;
use crate::files::{FileStore, LARGEST_FILE, StoredFile};
use crate::hub::mint;

/// Uploads that may be under way at once; of one person a quarter of them.
pub(super) const MOST_UPLOADS: usize = 8;
/// How long one may take: as long as the largest file takes at 40 kB in a second.
const UPLOAD_TIMEOUT: Duration = Duration::from_secs(600);

#[derive(Deserialize)]
pub(super) struct FileName {
    #[serde(default)]
    name: String,
}

/// `POST /api/v1/files?name=NAME`.
pub(super) async fn upload(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    Params(FileName { name }): Params<FileName>,
    request: Request,
) -> Result<Response, ErrorResponse> {
    let busy = || Fault {
        hint: "send one after the other".to_owned(),
        ..Fault::new(Kind::TooManyListeners, "other files are being uploaded").retry_after(1)
    };
    let _place = door.uploads.take(&permitted.actor.name).ok_or_else(busy)?;
    let body = Limited::new(request.into_body(), LARGEST_FILE);
    // There are few places, so it need not be counted besides.
    let mut uncounted = BodyShare::default();
    let read = tokio::select! {
        read = collect(body, None, &mut uncounted, door.limits.idle_time) => read,
        () = tokio::time::sleep(UPLOAD_TIMEOUT) => Err(Broken::Silent),
        // A token that was revoked while the file came lets nobody in any more, and gives its place back.
        () = Pass::of(&door, &permitted).ended() => return Err(Fault::new(Kind::Forbidden, "forbidden").into()),
    };
    let bytes = read.map_err(|broken| match broken {
        Broken::Silent => Fault::new(Kind::Slow, "the file did not come in time"),
        Broken::TooLarge => Fault {
            hint: "a file has at most 20 MiB".to_owned(),
            ..Fault::new(Kind::TooLarge, format!("the file is larger than {LARGEST_FILE} bytes"))
        },
        Broken::Full(fault) => fault,
        Broken::Unreadable(why) => Fault::new(Kind::BadRequest, format!("the file could not be read: {why}")),
    })?;
    let id = mint(EventId::new).to_string();
    let (named, sender) = (id.clone(), permitted.sender());
    let kept = on_disk(&door, move |files| files.stage(&named, &sender, &name, &bytes)).await?;
    let kept = kept.map_err(|error| not_kept("the file", &error))?;
    let uploaded = UploadedFile { id, name: kept.name, size: kept.size };
    Ok((StatusCode::CREATED, Json(uploaded)).into_response())
}

/// What a sender is told whose files were not kept. Their limits are not to blame for what the disk says.
pub(super) fn not_kept(what: &str, error: &io::Error) -> Fault {
    let fault = Fault::new(Kind::FilesFull, format!("{what} could not be kept: {error}"));
    match error.raw_os_error() {
        Some(_) => Fault { hint: "see that the disk is neither full nor failing, then try again".to_owned(), ..fault },
        None => fault,
    }
}

/// Does something with files, where it holds up nobody.
pub(super) async fn on_disk<T: Send + 'static>(
    door: &Door,
    work: impl FnOnce(&FileStore) -> T + Send + 'static,
) -> Result<T, Fault> {
    let files = door.files.clone();
    let working = tokio::task::spawn_blocking(move || work(&files)).await;
    working.map_err(|error| Fault::new(Kind::Internal, format!("the files could not be looked at: {error}")))
}

/// The files that this sender has uploaded for an event.
pub(super) fn staged(files: &FileStore, sender: &str, ids: &[String]) -> Result<Vec<StoredFile>, Fault> {
    let find = |id: &String| {
        files.staged(id, sender).ok_or_else(|| Fault::new(Kind::NoSuchFile, format!("no uploaded file {id:?}")))
    };
    ids.iter().map(find).collect()
}

/// `GET /api/v1/events/{id}/files/{number}`.
pub(super) async fn of_event(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, ErrorResponse> {
    let event = visible_event(&door, &permitted.actor, &id).await?.id;
    download(&door, &permitted, &number, move |files| files.of_event(&event.to_string())).await
}

/// `GET /api/v1/replies/{id}/files/{number}`.
pub(super) async fn of_reply(
    State(door): State<Arc<Door>>,
    permitted: Permitted,
    Path((id, number)): Path<(String, String)>,
) -> Result<Response, ErrorResponse> {
    let actor = permitted.actor.clone();
    let unknown = || not_found(Kind::NoSuchReply, format!("no reply {id}"));
    let wanted: ReplyId = id.parse().map_err(|_| unknown())?;
    let found = door.hub.look(move |state| {
        let (_, reply) = state.replies_after(0).find(|(_, reply)| reply.id == wanted)?;
        state.reply_notice(reply).is_for(&actor).then_some(reply.session)
    });
    let session = found.await?.ok_or_else(unknown)?;
    download(&door, &permitted, &number, move |files| files.of_reply(&session.to_string(), &wanted.to_string())).await
}

/// A file to be saved: nothing in it is shown, or run, where the page is.
async fn download(
    door: &Door,
    permitted: &Permitted,
    number: &str,
    find: impl FnOnce(&FileStore) -> Vec<StoredFile> + Send + 'static,
) -> Result<Response, ErrorResponse> {
    let missing = || not_found(Kind::NoSuchFile, format!("no file {number:?}"));
    let wanted: usize = number.parse().map_err(|_| missing())?;
    let found = on_disk(door, move |files| find(files).into_iter().nth(wanted));
    let StoredFile { name, size, path } = found.await?.ok_or_else(missing)?;
    // The place is kept while the file is read, and then taken by the answer itself: so many at once have one that no more
    // is read than may be held.
    let size = usize::try_from(size).unwrap_or(usize::MAX);
    let _room = reserved(door, permitted.counted_as().as_deref(), size)?;
    let bytes = on_disk(door, move |_| std::fs::read(path).ok()).await?.ok_or_else(missing)?;
    let plain: String = name.chars().map(|letter| if letter.is_ascii() { letter } else { '_' }).collect();
    let encoded: String = name.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let disposition = format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}");
    let disposition = HeaderValue::from_str(&disposition).unwrap_or(HeaderValue::from_static("attachment"));
    let headers =
        [(CONTENT_DISPOSITION, disposition), (CONTENT_TYPE, HeaderValue::from_static("application/octet-stream"))];
    Ok((headers, Body::from(bytes)).into_response())
}
