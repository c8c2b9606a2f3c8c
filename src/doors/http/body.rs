//! The query and the body of a request: read whole, within the limits of type, size and time.

use std::time::Duration;

use axum::body::Body;
use axum::body::HttpBody;
use axum::extract::rejection::QueryRejection;
use axum::extract::{FromRequestParts, Query, Request};
use axum::http::Uri;
use axum::http::request::Parts;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::HeaderMap;
use hyper::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use portcullis_wire::error::{Fault, Kind};
use serde::de::DeserializeOwned;
use tokio::time::{Instant, timeout_at};

use super::Door;
use super::access::Permitted;
use super::body_memory::BodyShare;
use super::call_memory::CallShare;
use super::response::ErrorResponse;
use crate::fixed;

/// The query of a request. An error in it is answered like any other.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned, S: Sync> FromRequestParts<S> for Params<T> {
    type Rejection = ErrorResponse;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, ErrorResponse> {
        read_params(&parts.uri).map(Self).map_err(ErrorResponse)
    }
}

pub(super) fn read_params<T: DeserializeOwned>(uri: &Uri) -> Result<T, Fault> {
    let bad = |error: QueryRejection| Fault::new(Kind::BadRequest, error.body_text());
    Query::try_from_uri(uri).map(|Query(params)| params).map_err(bad)
}

/// The state that a list is to show: one of those there are, or an error that names them.
pub(super) fn known_state(wanted: Option<&str>, names: &[&str]) -> Result<(), Fault> {
    match wanted.filter(|wanted| !names.contains(wanted)) {
        None => Ok(()),
        Some(unknown) => {
            let what = format!("unknown state {unknown:?}: the states are {}", names.join(", "));
            Err(Fault::new(Kind::BadRequest, what))
        }
    }
}

/// Refuses bodies that are not text: multipart forms, images, compressed bodies.
pub(super) fn check_type(headers: &HeaderMap) -> Result<(), Fault> {
    let unsupported = |what: &str| Err(Fault::new(Kind::UnsupportedBody, format!("the gate does not take {what}")));
    if headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding.as_bytes() != b"identity") {
        return unsupported("compressed bodies");
    }
    let Some(kind) = headers.get(CONTENT_TYPE) else { return Ok(()) };
    let kind = kind.to_str().unwrap_or("?").split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_text = kind.is_empty()
        || kind.starts_with("text/")
        || kind.ends_with("+json")
        || kind.ends_with("+xml")
        || TEXT_TYPES.contains(&kind.as_str());
    if is_text { Ok(()) } else { unsupported(&kind) }
}

/// Types that are text, besides those that say so in their name.
const TEXT_TYPES: [&str; 5] = [
    "application/x-www-form-urlencoded",
    "application/json",
    "application/xml",
    "application/x-ndjson",
    "application/yaml",
];

/// Whether a value of `Content-Type` is one that most clients send with text. What is not may be text all the same.
pub(super) fn is_common_text(kind: &str) -> bool {
    kind.starts_with("text/") && !kind.contains(';') || TEXT_TYPES.contains(&kind)
}

/// The `Idempotency-Key` of a request, if it has one.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Fault> {
    let Some(key) = headers.get("idempotency-key") else { return Ok(None) };
    match key.to_str() {
        Ok(key) if !key.is_empty() && key.len() <= 255 => Ok(Some(key.to_owned())),
        _ => Err(Fault::new(Kind::BadRequest, "an Idempotency-Key has 1 to 255 visible letters")),
    }
}

/// The body as JSON, whatever type it was declared to be: `curl -d` declares a form.
pub(super) async fn read_json<T: DeserializeOwned>(request: Request, door: &Door) -> Result<T, Fault> {
    from_json(&read_text(request, door).await?)
}

/// The same of anybody at all: as much as such a request needs, and not for long.
pub(super) async fn read_small_json<T: DeserializeOwned>(request: Request, door: &Door) -> Result<T, Fault> {
    let reading = read_within(request, door, SMALL_BODY);
    let late = |_| Broken::Silent.fault(SMALL_BODY);
    let text = tokio::time::timeout(fixed::wait("SMALL_BODY", SMALL_BODY_TIMEOUT), reading).await.map_err(late)??;
    from_json(&text)
}

fn from_json<T: DeserializeOwned>(text: &str) -> Result<T, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::new(Kind::BadRequest, format!("the body does not fit: {error}")))
}

/// The whole body as text, within the limits of size and time.
pub(super) async fn read_text(request: Request, door: &Door) -> Result<String, Fault> {
    read_within(request, door, door.limits.body).await
}

async fn read_within(request: Request, door: &Door, limit: usize) -> Result<String, Fault> {
    let permitted = request.extensions().get::<Permitted>();
    let mut share = door.unfinished.share(permitted);
    let token = permitted.and_then(|permitted| permitted.token.clone());
    let length = request.headers().get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    if length.is_some_and(|length| length > limit) {
        return Err(Broken::TooLarge.fault(limit));
    }
    let body = Limited::new(request.into_body(), limit);
    let collected = collect(body, length, &mut share, door.limits.idle_time).await;
    let bytes = collected.map_err(|broken| broken.fault(limit))?;
    // A token that was revoked while the body came lets nobody in any more.
    if token.is_some_and(|token| !door.credentials.still_counts(&token)) {
        return Err(Fault::new(Kind::Forbidden, "forbidden"));
    }
    String::from_utf8(bytes.into()).map_err(|error| {
        let place = error.utf8_error().valid_up_to();
        Fault::new(Kind::NotUtf8, format!("the body is not UTF-8: byte {place} does not fit"))
    })
}

/// Bytes of a body from someone who has shown nothing yet. They may come from anywhere, and many at once.
const SMALL_BODY: usize = 4096;
/// How long such a body may take in all.
const SMALL_BODY_TIMEOUT: Duration = Duration::from_secs(10);

/// The longest time that one body may take, however steadily it comes.
const BODY_TIMEOUT: Duration = Duration::from_secs(3600);

/// Why a body was not read to its end.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// Nothing of it came for longer than the idle time.
    Silent,
    TooLarge,
    Unreadable(String),
    /// Others that are being read or answered take all the memory.
    Full(Fault),
}

impl Broken {
    /// Of a body that may have so many bytes.
    pub(super) fn fault(self, limit: usize) -> Fault {
        match self {
            Self::Silent => Fault::new(Kind::Slow, "the body did not come in time"),
            Self::TooLarge => Fault::new(Kind::TooLarge, format!("the body is larger than {limit} bytes")),
            Self::Unreadable(why) => Fault::new(Kind::BadRequest, format!("the body could not be read: {why}")),
            Self::Full(fault) => fault,
        }
    }
}

impl From<axum::Error> for Broken {
    fn from(error: axum::Error) -> Self {
        Self::Unreadable(error.to_string())
    }
}

impl From<Box<dyn std::error::Error + Send + Sync>> for Broken {
    fn from(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        match error.downcast_ref::<LengthLimitError>() {
            Some(_) => Self::TooLarge,
            None => Self::Unreadable(error.to_string()),
        }
    }
}

/// The data of a body, frame by frame. It may be slow, but no pause in it may be longer than `silence`.
struct Frames<B> {
    body: B,
    silence: Duration,
    last: Instant,
}

impl<B> Frames<B>
where
    B: HttpBody<Data = Bytes> + Unpin,
    Broken: From<B::Error>,
{
    fn of(body: B, silence: Duration) -> Self {
        Self { body, silence, last: Instant::now() + BODY_TIMEOUT }
    }

    /// None at the end.
    async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        loop {
            let until = self.last.min(Instant::now() + self.silence);
            let frame = timeout_at(until, self.body.frame()).await.map_err(|_| Broken::Silent)?;
            let Some(frame) = frame else { return Ok(None) };
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
    }
}

/// So much of a body is kept of which the rest finds no share.
const BEGINNING: usize = 4096;

/// The body as far as there is memory for it, and why the rest is missing. A longer body is read to its end all the same: a
/// client that still writes does not see the answer.
pub(super) async fn read_beginning(body: Body, share: &mut CallShare, silence: Duration) -> (Vec<u8>, Option<Broken>) {
    let (mut beginning, mut problem) = (Vec::new(), None);
    let mut frames = Frames::of(body, silence);
    loop {
        match frames.next().await {
            Ok(Some(data)) if problem.is_none() => match share.grow_to(beginning.len() + data.len()) {
                Ok(()) => beginning.extend_from_slice(&data),
                Err(broken) => {
                    let missing = BEGINNING.saturating_sub(beginning.len());
                    beginning.extend_from_slice(&data[..missing.min(data.len())]);
                    beginning.truncate(BEGINNING);
                    beginning.shrink_to_fit();
                    share.give_back();
                    problem = Some(broken);
                }
            },
            Ok(Some(_)) => {}
            Ok(None) => return (beginning, problem),
            Err(broken) => return (beginning, Some(broken)),
        }
    }
}

/// Collects the frames of a body into one buffer; a body of one frame is not copied.
pub(super) async fn collect(
    body: Limited<Body>,
    length: Option<usize>,
    share: &mut BodyShare,
    silence: Duration,
) -> Result<Bytes, Broken> {
    let mut whole = BytesMut::new();
    let mut frames = Frames::of(body, silence);
    while let Some(data) = frames.next().await? {
        if whole.is_empty() && Some(data.len()) == length {
            return Ok(data);
        }
        share.grow_to(length.unwrap_or_default().max(whole.len() + data.len()))?;
        if whole.is_empty() {
            whole.reserve(length.unwrap_or(data.len()));
        }
        whole.extend_from_slice(&data);
        // A client that writes as fast as we read would keep the thread from those who deliver.
        tokio::task::yield_now().await;
    }
    Ok(whole.freeze())
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::{StreamExt as _, stream};
    use hyper::header::HeaderValue;

    /// A body of one byte after each of these pauses, read by someone who bears ten seconds of silence.
    async fn read(pauses: &[u64]) -> Result<usize, Broken> {
        let bytes = stream::iter(pauses.to_vec()).then(|seconds| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok::<_, std::convert::Infallible>("x")
        });
        let body = Limited::new(Body::from_stream(bytes), 10_000);
        collect(body, None, &mut BodyShare::default(), Duration::from_secs(10)).await.map(|bytes| bytes.len())
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_may_be_slow_and_may_not_be_silent() {
        assert_eq!(read(&[9; 100]).await, Ok(100), "a quarter of an hour, never silent for ten seconds");
        assert_eq!(read(&[11]).await, Err(Broken::Silent));
        assert_eq!(
            read(&[1, 1, 11, 1]).await,
            Err(Broken::Silent),
            "it counts anew after each byte, also in the middle"
        );
        assert_eq!(read(&[1; 5000]).await, Err(Broken::Silent), "and not for ever");
    }

    #[test]
    fn text_is_taken_and_parts_and_pictures_are_not() {
        let is_taken = |kind: &'static str| {
            check_type(&[(CONTENT_TYPE, HeaderValue::from_static(kind))].into_iter().collect()).is_ok()
        };
        for kind in
            ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=utf-8", "TEXT/MARKDOWN", ""]
        {
            assert!(is_taken(kind), "{kind}");
        }
        for kind in ["multipart/form-data; boundary=x", "image/png", "application/octet-stream", "application/gzip"] {
            assert!(!is_taken(kind), "{kind}");
        }
    }
}
