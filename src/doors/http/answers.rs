//! The memory for answers that nobody reads: a large one is held until its reader has taken it, so one sender holds only so
//! much of them at once. What is small, and what the owner asks for at their own machine, is not counted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::{Body as _, Frame, SizeHint};
use portcullis_wire::error::{Fault, Kind};

use super::Door;
use super::access::Permitted;
use super::budget::{ByteBudget, Share};
use super::sse::Pass;
use crate::fixed;

/// Bytes of all answers that are counted: several of the largest lists of prompts.
const MOST_BYTES: usize = 128 << 20;
/// Smaller answers are not counted: the connection itself takes as much.
const SMALL: usize = 64 << 10;
/// Seconds after which earlier answers may be read, or their connections closed.
const RETRY: u64 = 5;

pub(super) struct AnswerMemory(Arc<ByteBudget>);

impl AnswerMemory {
    pub(super) fn new() -> Self {
        Self(ByteBudget::new(fixed::limit("ANSWER_BYTES", MOST_BYTES)))
    }
}

/// The answer, as one that counts for as long as it is not read, and breaks off when whoever asked for it may no longer.
pub(super) fn counted(door: &Door, permitted: &Permitted, answer: Response) -> Result<Response, Fault> {
    let size = usize::try_from(answer.body().size_hint().lower()).unwrap_or(usize::MAX);
    let Some(sender) = permitted.counted_as().filter(|_| size > SMALL) else { return Ok(answer) };
    let share = taken(door, &sender, size)?;
    let pass = Pass::of(door, permitted).ending();
    Ok(answer.map(|body| Body::new(CountedBody { body, rest: Bytes::new(), pass, share })))
}

/// Room for an answer of about this size, taken before it is made, by whoever it is counted for: an answer that could not
/// be held is not made.
pub(super) fn reserved(door: &Door, sender: Option<&str>, size: usize) -> Result<Option<Share>, Fault> {
    sender.filter(|_| size > SMALL).map(|sender| taken(door, sender, size)).transpose()
}

fn taken(door: &Door, sender: &str, size: usize) -> Result<Share, Fault> {
    let mut share = door.unread.0.share(sender);
    let full = "earlier answers were not read yet, and take all the memory for answers";
    share.set(size).map_err(|_| Fault::new(Kind::TooManyUnread, full).retry_after(RETRY))?;
    Ok(share)
}

/// A body whose bytes count until they were written. It is handed out in pieces: what hyper has of it, it sends.
struct CountedBody {
    body: Body,
    /// What is left of the body's last frame.
    rest: Bytes,
    /// Is ready when the token no longer counts; none where there is no token.
    pass: Option<BoxFuture<'static, ()>>,
    share: Share,
}

impl CountedBody {
    fn piece(&mut self) -> Frame<Bytes> {
        let bytes = self.rest.split_to(SMALL.min(self.rest.len()));
        let share = self.share.split(bytes.len());
        Frame::data(Bytes::from_owner(CountedBytes { bytes, _share: share }))
    }
}

/// Bytes on their way out with what they take: hyper drops them when they are written, and the body long before that.
struct CountedBytes {
    bytes: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl hyper::body::Body for CountedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            return Poll::Ready(match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => Some(Ok(match frame.into_data() {
                    Ok(bytes) => {
                        self.rest = bytes;
                        self.piece()
                    }
                    Err(other) => other,
                })),
                ended => ended,
            });
        }
        if let Some(pass) = &mut self.pass
            && pass.as_mut().poll(context).is_ready()
        {
            // An error, and no end: half of it must not look like the whole.
            return Poll::Ready(Some(Err(axum::Error::new("the token counts no longer"))));
        }
        Poll::Ready(Some(Ok(self.piece())))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (rest, left) = (self.rest.len() as u64, self.body.size_hint());
        let mut hint = SizeHint::new();
        hint.set_lower(left.lower() + rest);
        if let Some(upper) = left.upper() {
            hint.set_upper(upper + rest);
        }
        hint
    }
}
