//! An answer whose client is told at once that there will be one, and of whom we know whether it still listens.

use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Frame};
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
        has_head_early: bool,
    ) -> Response<AnswerBody> {
        // In this order, since what comes last is dropped first.
        let mut answering = answering;
        let with = self;
        let soon = if has_head_early { fixed::wait("MCP_SOON", SOON) } else { Duration::MAX };
        let part = match tokio::time::timeout(soon, &mut answering).await {
            Ok(answer) => {
                let (head, body) = answer.into_parts();
                let part = BodyPart::Known { body, events: true };
                return Response::from_parts(head, AnswerBody { with, part, comments: None });
            }
            Err(_) => BodyPart::Awaited(answering),
        };
        let mut comments = tokio::time::interval_at(Instant::now(), with.comment);
        comments.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut response = Response::new(AnswerBody { with, part, comments: Some(comments) });
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
        AnswerBody { with, part: BodyPart::Known { body, events: true }, comments: None }
    })
}

/// Fields are dropped in this order: `with` says that nobody listens, and then what was listened to goes.
pub(super) struct AnswerBody {
    with: Timely,
    part: BodyPart,
    /// While the answer is awaited.
    comments: Option<Interval>,
}

enum BodyPart {
    Awaited(BoxFuture<'static, HandledResponse>),
    /// Its bytes as they are; else as one event.
    Known {
        body: BoxBody<Bytes, Infallible>,
        events: bool,
    },
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let this = &mut *self;
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
        let BodyPart::Known { body, events } = &mut this.part else { return Poll::Pending };
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
        matches!(&self.part, BodyPart::Known { body, .. } if body.is_end_stream())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timely(listening: &AnswerListener) -> Timely {
        Timely { listening: listening.leaving(), _in_use: None, comment: Duration::from_secs(15) }
    }

    async fn next(body: &mut AnswerBody) -> Option<String> {
        let frame = body.frame().await?.unwrap().into_data().unwrap();
        Some(String::from_utf8(frame.to_vec()).unwrap())
    }

    #[tokio::test(start_paused = true)]
    async fn who_waits_for_an_answer_has_a_stream_with_comments_and_then_the_answer() {
        let listening = AnswerListener::default();
        let answering = Box::pin(async {
            tokio::time::sleep(Duration::from_secs(40)).await;
            let mut answer = Response::new(Full::new(Bytes::from_static(b"{\"id\":1}")).boxed());
            *answer.status_mut() = StatusCode::BAD_REQUEST;
            answer
        });
        let response = timely(&listening).answer(answering, true).await;
        assert_eq!(
            (response.status(), &response.headers()[CONTENT_TYPE]),
            (StatusCode::OK, &HeaderValue::from_static(EVENTS))
        );
        let mut body = response.into_body();
        let begun = Instant::now();
        for seconds in [0, 15, 30] {
            assert_eq!(next(&mut body).await.as_deref(), Some(":\n\n"));
            assert_eq!(begun.elapsed().as_secs(), seconds);
        }
        assert_eq!(next(&mut body).await.as_deref(), Some("data: {\"id\":1}\n\n"));
        assert_eq!(next(&mut body).await, None);
        drop(body);
        assert!(!listening.is_gone(), "it has all of the answer");
    }

    #[tokio::test(start_paused = true)]
    async fn who_leaves_is_gone_before_what_waited_for_the_answer_is_dropped() {
        struct Told(AnswerListener, std::sync::Arc<std::sync::Mutex<Option<bool>>>);
        impl Drop for Told {
            fn drop(&mut self) {
                *self.1.lock().unwrap() = Some(self.0.is_gone());
            }
        }
        let (listening, was_gone) = (AnswerListener::default(), std::sync::Arc::default());
        let told = Told(listening.clone(), std::sync::Arc::clone(&was_gone));
        let answering = Box::pin(async move {
            let _told = told;
            std::future::pending().await
        });
        drop(timely(&listening).answer(answering, true).await);
        assert_eq!(*was_gone.lock().unwrap(), Some(true));
    }
}
