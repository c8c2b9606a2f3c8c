//! An answer whose client is told at once that there will be one, and of whom we know whether it still listens.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame, SizeHint};
use hyper::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use hyper::{Response, StatusCode};
use portcullis_wire::error::Fault;
use tokio::time::{Instant, Interval};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::sessions::InUse;
use crate::agents::gateway::unchanged::event_unchanged;
use crate::fixed;

/// A client that has no answer after so long gets its stream, and the answer on it.
const SOON: Duration = Duration::from_millis(500);
/// A call that is answered within this has its answer in one piece: each piece wakes the gate and the client.
const AT_ONCE: Duration = Duration::from_millis(20);
/// Of the pieces that come within it, no more wait for one another.
const MOST_AT_ONCE: usize = 64 << 10;
const EVENTS: &str = "text/event-stream";
/// Seconds after which a client may try again for which there was no place.
const SOME_TIME: &str = "30";

/// Cancelled when the client no longer listens to the answer of its request, although it does not have all of it.
#[derive(Clone, Debug, Default)]
pub(in crate::agents::gateway) struct AnswerListener(CancellationToken);

impl AnswerListener {
    pub(in crate::agents::gateway) async fn gone(&self) {
        self.0.cancelled().await;
    }

    pub(in crate::agents::gateway) fn is_gone(&self) -> bool {
        self.0.is_cancelled()
    }

    pub(super) fn leaving(&self) -> Option<DropGuard> {
        Some(self.0.clone().drop_guard())
    }
}

type HandledResponse = Response<BoxBody<Bytes, Infallible>>;

/// What is known of an answer before it comes.
#[derive(Clone, Copy)]
pub(super) struct AnswerComes {
    /// Its head says nothing by itself: the client may have a stream before.
    pub(super) has_head_early: bool,
    /// It answers one request, and is no stream of what a server says by itself.
    pub(super) with_an_end: bool,
}

/// What goes with an answer until its last byte.
pub(super) struct Timely {
    /// Before what it is dropped with: who is cancelled for want of a listener finds that out.
    pub(super) listening: Option<DropGuard>,
    pub(super) _in_use: Option<InUse>,
    /// How often a stream on which nothing is said has a comment.
    pub(super) comment: Duration,
}

impl Timely {
    /// The answer; a stream for it where it takes its time, unless the head of the answer says something itself.
    pub(super) async fn answer(
        self,
        answering: BoxFuture<'static, HandledResponse>,
        comes: AnswerComes,
    ) -> Response<AnswerBody> {
        // In this order, since what comes last is dropped first.
        let mut answering = answering;
        let with = self;
        let soon = if comes.has_head_early { fixed::wait("MCP_SOON", SOON) } else { Duration::MAX };
        let part = match tokio::time::timeout(soon, &mut answering).await {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                let part = BodyPart::Known { body, events: true };
                let body = AnswerBody { with, part, comments: None, first: VecDeque::new() };
                let body = if comes.with_an_end { body.with_what_comes_at_once().await } else { body };
                return Response::from_parts(head, body);
            }
            Err(_) => BodyPart::Awaited(answering),
        };
        let mut comments = tokio::time::interval_at(Instant::now(), with.comment);
        comments.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut response = Response::new(AnswerBody { with, part, comments: Some(comments), first: VecDeque::new() });
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(EVENTS));
        response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        response
    }
}

/// A fault as the gate tells it.
pub(super) fn faulty(fault: &Fault) -> HandledResponse {
    let mut response = Response::new(Full::new(serde_json::to_vec(fault).unwrap_or_default().into()).boxed());
    *response.status_mut() = StatusCode::from_u16(fault.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(SOME_TIME));
    }
    response
}

pub(super) fn refuse_with(fault: &Fault) -> Response<AnswerBody> {
    known(faulty(fault))
}

pub(super) fn refuse(status: StatusCode, text: impl Into<Bytes>) -> Response<AnswerBody> {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    known(response)
}

fn known(response: HandledResponse) -> Response<AnswerBody> {
    response.map(|body| {
        let with = Timely { listening: None, _in_use: None, comment: Duration::MAX };
        AnswerBody { with, part: BodyPart::Known { body, events: true }, comments: None, first: VecDeque::new() }
    })
}

/// Fields are dropped in this order: `with` says that nobody listens, and then what was listened to goes.
pub(super) struct AnswerBody {
    with: Timely,
    part: BodyPart,
    /// While the answer is awaited.
    comments: Option<Interval>,
    /// What came before the head was sent.
    first: VecDeque<Bytes>,
}

enum BodyPart {
    Awaited(BoxFuture<'static, HandledResponse>),
    /// Its bytes as they are; else as one event.
    Known {
        body: BoxBody<Bytes, Infallible>,
        events: bool,
    },
    /// All of it stands in `first`.
    Ended,
}

impl AnswerBody {
    /// Takes in what comes right after the head, so that it is sent with it.
    async fn with_what_comes_at_once(mut self) -> Self {
        let until = Instant::now() + AT_ONCE;
        let (mut first, mut bytes) = (VecDeque::new(), 0);
        while bytes < MOST_AT_ONCE {
            match tokio::time::timeout_at(until, self.frame()).await {
                Ok(Some(Ok(frame))) => {
                    let Ok(data) = frame.into_data() else { continue };
                    bytes += data.len();
                    first.push_back(data);
                }
                Ok(None) => {
                    self.part = BodyPart::Ended;
                    break;
                }
                Err(_later) => break,
            }
        }
        Self { first, ..self }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
        if let Some(data) = this.first.pop_front() {
            return Poll::Ready(Some(Ok(Frame::data(data))));
        }
        if let BodyPart::Awaited(answering) = &mut this.part {
            match answering.as_mut().poll(context) {
                Poll::Ready(answer) => {
                    let is_events = |kind: &HeaderValue| kind.as_bytes().starts_with(EVENTS.as_bytes());
                    let events = answer.headers().get(CONTENT_TYPE).is_some_and(is_events);
                    this.part = BodyPart::Known { body: answer.into_body(), events };
                    this.comments = None;
                }
                Poll::Pending => {
                    let Some(comments) = &mut this.comments else { return Poll::Pending };
                    ready!(comments.poll_tick(context));
                    return Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(b":\n\n")))));
                }
            }
        }
        let (body, events) = match &mut this.part {
            BodyPart::Known { body, events } => (body, events),
            BodyPart::Awaited(_) => return Poll::Pending,
            BodyPart::Ended => return Poll::Ready(None),
        };
        let frame = ready!(Pin::new(body).poll_frame(context));
        Poll::Ready(match frame {
            // One message as JSON, in one line.
            Some(Ok(frame)) if !*events => {
                Some(Ok(frame.map_data(|data| [b"data: ", &*data, b"\n\n"].concat().into())))
            }
            Some(Ok(frame)) => Some(Ok(frame.map_data(event_unchanged))),
            // It ended by itself: whoever listened has all of it.
            None => {
                drop(this.with.listening.take().map(DropGuard::disarm));
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.first.is_empty()
            && match &self.part {
                BodyPart::Known { body, .. } => body.is_end_stream(),
                BodyPart::Awaited(_) => false,
                BodyPart::Ended => true,
            }
    }

    fn size_hint(&self) -> SizeHint {
        match self.part {
            BodyPart::Ended => SizeHint::with_exact(self.first.iter().map(|data| data.len() as u64).sum()),
            BodyPart::Known { .. } | BodyPart::Awaited(_) => SizeHint::default(),
        }
    }
}

#[cfg(test)]
mod tests;
