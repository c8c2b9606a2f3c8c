//! What comes back over HTTP: a refusal, one message, or a stream of events.

use std::io;

use bytes::Bytes;
use futures_util::stream::{BoxStream, StreamExt as _};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError};
use sse_stream::{Sse, SseStream};

use super::http::{Headers, HttpFailure};
use super::{LARGEST_MESSAGE, mend};

pub(super) const JSON: &str = "application/json";
pub(super) const EVENTS: &str = "text/event-stream";
/// As much of the text of an error is shown.
const SHOWN: usize = 500;

/// What is sent and comes back here.
pub(super) type HttpAnswer<T> = Result<T, StreamableHttpError<HttpFailure>>;
pub(super) type EventStream = BoxStream<'static, Result<Sse, sse_stream::Error>>;
/// What a server says on how to be let in.
pub(super) fn challenge(response: &Response<Incoming>) -> String {
    let said = response.headers().get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
    said.unwrap_or_default().to_owned()
}
pub(super) fn content_type(response: &Response<Incoming>) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    kind.unwrap_or_default().to_ascii_lowercase()
}

/// The response, unless it is an error. Whoever configured a credential that is refused is not asked to sign in.
pub(super) async fn accepted(response: Response<Incoming>, headers: &Headers) -> HttpAnswer<Response<Incoming>> {
    let status = response.status();
    if status.is_success() {
        return Ok(response);
    }
    if !headers.contains_key(&AUTHORIZATION) {
        let challenge = challenge(&response);
        match status {
            StatusCode::UNAUTHORIZED => {
                return Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)));
            }
            StatusCode::FORBIDDEN => {
                let needs = InsufficientScopeError::new(challenge, None);
                return Err(StreamableHttpError::InsufficientScope(needs));
            }
            _ => {}
        }
    }
    let text = read(response).await.unwrap_or_default();
    let text = String::from_utf8_lossy(&text).chars().take(SHOWN).collect();
    Err(StreamableHttpError::Client(HttpFailure::Status { status: status.as_u16(), text }))
}

pub(super) async fn read(response: Response<Incoming>) -> Result<Bytes, HttpFailure> {
    let body = Limited::new(response.into_body(), LARGEST_MESSAGE).collect().await;
    body.map(http_body_util::Collected::to_bytes).map_err(|error| HttpFailure::Lost(error.to_string()))
}

/// Events with a limit on each. What rmcp would refuse in them is mended.
pub(super) fn events_of(body: Incoming, largest: usize) -> EventStream {
    let (mut since, mut last) = (0_usize, 0_u8);
    let limited = body.into_data_stream().map(move |chunk| {
        let chunk = chunk.map_err(io::Error::other)?;
        for byte in chunk.iter().filter(|byte| **byte != b'\r') {
            since = if *byte == b'\n' && last == b'\n' { 0 } else { since + 1 };
            last = *byte;
        }
        if since > largest { Err(io::Error::other("an event is too large")) } else { Ok(chunk) }
    });
    let mended =
        |event: Result<Sse, sse_stream::Error>| event.map(|event| Sse { data: event.data.map(mend::text), ..event });
    SseStream::from_bytes_stream(limited).map(mended).boxed()
}
