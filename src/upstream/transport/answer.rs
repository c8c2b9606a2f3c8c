//! What comes back over HTTP: a refusal, one message, or a stream of events.

use std::io;
use std::task::Poll;

use bytes::Bytes;
use futures_util::FutureExt as _;
use futures_util::stream::{BoxStream, Stream, StreamExt as _};
use http_body_util::{BodyExt as _, Limited};
use hyper::body::{Body, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE};
use hyper::{Response, StatusCode};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::streamable_http_client::{AuthRequiredError, InsufficientScopeError, StreamableHttpError};
use sse_stream::{Sse, SseStream};

use super::http::{Headers, HttpFailure};
use super::{LARGEST_MESSAGE, mend};
use crate::turns::{next_turn, poll_once};

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
    events_in(body.into_data_stream().map(|chunk| chunk.map_err(io::Error::other)), largest)
}

fn events_in(chunks: impl Stream<Item = io::Result<Bytes>> + Send + 'static, largest: usize) -> EventStream {
    let (mut since, mut last) = (0_usize, 0_u8);
    let limited = chunks.map(move |chunk| {
        let chunk = chunk?;
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

/// What a stream of events is that answers one request.
pub(super) enum StreamedAnswer {
    /// It has ended, and the answer is all that it said.
    Whole(Box<ServerJsonRpcMessage>),
    Events(EventStream),
}

/// More of a stream is not looked at before it is handed on.
const MOST_AT_ONCE: usize = 1 << 20;
/// Whoever reads the connection has so many turns in a row without bringing anything.
const TURNS: usize = 3;

/// Most servers send the answer and the end of its stream at once. Then it need not be a stream to anybody.
pub(super) async fn streamed_answer<B>(mut body: B, largest: usize) -> StreamedAnswer
where
    B: Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>>> + Send + Unpin + 'static,
{
    let (mut chunks, mut bytes, mut turns, mut broken) = (vec![], 0, 0, None);
    let has_ended = loop {
        match poll_once(&mut body.frame()).await {
            Poll::Ready(None) => break true,
            Poll::Ready(Some(Ok(frame))) => {
                let Ok(data) = frame.into_data() else { continue };
                (bytes, turns) = (bytes + data.len(), 0);
                chunks.push(data);
            }
            Poll::Ready(Some(Err(error))) => {
                broken = Some(Err(io::Error::other(error)));
                break false;
            }
            Poll::Pending if turns < TURNS => {
                turns += 1;
                next_turn().await;
            }
            Poll::Pending => break false,
        }
        if bytes > MOST_AT_ONCE.min(largest) {
            break false;
        }
    };
    match has_ended.then(|| only_answer(&chunks)).flatten() {
        Some(answer) => StreamedAnswer::Whole(Box::new(answer)),
        None => {
            let came = futures_util::stream::iter(chunks.into_iter().map(Ok).chain(broken));
            let rest = body.into_data_stream().map(|chunk| chunk.map_err(io::Error::other));
            StreamedAnswer::Events(events_in(came.chain(rest), largest))
        }
    }
}

/// The answer, if the events say nothing else.
fn only_answer(chunks: &[Bytes]) -> Option<ServerJsonRpcMessage> {
    let chunks: Vec<io::Result<Bytes>> = chunks.iter().cloned().map(Ok).collect();
    let events = SseStream::from_bytes_stream(futures_util::stream::iter(chunks));
    // All of them are there.
    let events = events.collect::<Vec<_>>().now_or_never()?;
    let mut said = events.into_iter().filter(|event| match event {
        Ok(event) => event.data.as_ref().is_some_and(|data| !data.is_empty()),
        Err(_) => true,
    });
    let (Some(Ok(only)), None) = (said.next(), said.next()) else { return None };
    let is_message = only.event.as_deref().is_none_or(|name| name.is_empty() || name == "message");
    let message = mend::message(only.data.filter(|_| is_message)?.as_bytes())?;
    matches!(message, ServerJsonRpcMessage::Response(_) | ServerJsonRpcMessage::Error(_)).then_some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::body::Frame;
    use std::convert::Infallible;

    const ANSWER: &str = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[],\"acme\":1}}\n\n";

    /// A stream in these pieces, after each of which its server takes a while. One without an end goes on for ever.
    async fn streamed(pieces: &[&str], has_end: bool) -> (bool, Vec<String>) {
        let pieces: Vec<_> = pieces.iter().map(|piece| Bytes::copy_from_slice(piece.as_bytes())).collect();
        let pieces = futures_util::stream::iter(pieces.into_iter().enumerate()).then(|(number, piece)| async move {
            if number > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(9)).await;
            }
            Ok::<_, Infallible>(Frame::data(piece))
        });
        let rest = futures_util::stream::pending().take(usize::from(!has_end));
        let body = http_body_util::StreamBody::new(Box::pin(pieces.chain(rest)));
        let events = match streamed_answer(body, LARGEST_MESSAGE).await {
            StreamedAnswer::Whole(answer) => return (true, vec![serde_json::to_string(&answer).unwrap()]),
            StreamedAnswer::Events(events) => events,
        };
        let left = events.take_until(tokio::time::sleep(std::time::Duration::from_secs(9)));
        let said = left.filter_map(|event| async { event.ok()?.data.filter(|data| !data.is_empty()) });
        (false, said.collect().await)
    }

    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_all_of_its_stream_is_no_stream_and_everything_else_comes_as_it_is_said() {
        let first = "id: 1\nretry: 5\ndata: \n\n";
        let progress = "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\",\"params\":{\"progressToken\":1,\"progress\":1}}\n\n";
        let at_once = format!("{first}event: message\nid: 2\n{ANSWER}");
        let (is_whole, said) = streamed(&[&at_once], true).await;
        assert!(is_whole && said[0].contains("\"acme\":1"), "{said:?}");
        let (head, tail) = ANSWER.split_at(30);
        let more = format!("{progress}{ANSWER}");
        let (endless, with_more, late): (&[&str], &[&str], &[&str]) =
            (&[ANSWER], &[&more], &[first, progress, head, tail]);
        for (pieces, has_end, count) in
            [(endless, false, 1), (with_more, true, 2), (late, true, 2), (&[progress], true, 1)]
        {
            let (is_whole, said) = streamed(pieces, has_end).await;
            assert!(!is_whole && said.len() == count, "{pieces:?}: {said:?}");
        }
    }
}
