//! The memory for answers that nobody reads: a large one is held until its reader has taken it, so one sender holds only so
//! much of them at once. What is small, and what the owner asks for at their own machine, is not counted.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::body::{Body as _, Frame, SizeHint};
use portcullis_core::OWNER;
use portcullis_wire::error::{Fault, Kind};

use super::access::Permitted;
use super::budget::{ByteBudget, Share};
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

    /// The answer, as one that counts for as long as it is not read.
    pub(super) fn counted(&self, permitted: &Permitted, answer: Response) -> Result<Response, Fault> {
        let size = usize::try_from(answer.body().size_hint().lower()).unwrap_or(usize::MAX);
        let device = permitted.token.as_ref().filter(|known| known.device.is_some());
        if size <= SMALL || device.is_none() && permitted.actor.name == OWNER {
            return Ok(answer);
        }
        let sender =
            permitted.token.as_ref().map_or_else(|| permitted.actor.name.clone(), |known| known.token.to_string());
        let mut share = self.0.share(&sender);
        share.set(size).map_err(|_| {
            Fault::new(Kind::TooManyUnread, "earlier answers were not read yet, and take all the memory for answers")
                .retry_after(RETRY)
        })?;
        Ok(answer.map(|body| Body::new(CountedBody { body, share })))
    }
}

/// A body whose bytes count until they were written.
struct CountedBody {
    body: Body,
    share: Share,
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
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        Poll::Ready(frame.map(|frame| {
            frame.map(|frame| {
                frame.map_data(|bytes| {
                    let share = self.share.split(bytes.len());
                    Bytes::from_owner(CountedBytes { bytes, _share: share })
                })
            })
        }))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
