//! Server-sent events: a stream of the state, then of every change, with a heartbeat in between.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use hyper::body::{Frame, SizeHint};
use portcullis_wire::error::{Fault, Kind};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior};

use super::Door;
use super::access::Permitted;
use super::seats::Seat;
use crate::fixed;
use crate::hub::{Changes, Known, Published, Roster, Watcher, now};

/// Often enough that whoever listens knows within seconds that the gate hangs.
const HEARTBEAT: Duration = Duration::from_secs(5);

/// Takes one of the places that there are for listeners.
pub(super) fn take_place(door: &Door, permitted: &Permitted) -> Result<Seat, Fault> {
    let full = || Fault::new(Kind::TooManyListeners, "too many listeners").retry_after(30);
    let device = permitted.device().map(|device| device.to_string());
    door.listeners.take(device.as_deref().unwrap_or(&permitted.actor.name)).ok_or_else(full)
}

/// A body of `first`, then of every change that `render` makes bytes of, then of `last`, when the listener was too slow or
/// the gate stops.
pub(super) fn stream_of<F>(
    first: Vec<Bytes>,
    watcher: Watcher,
    place: Seat,
    pass: Pass,
    render: F,
    last: impl FnOnce() -> Bytes + Send + 'static,
) -> Body
where
    F: Fn(&Published) -> Option<Bytes> + Send + Unpin + 'static,
{
    let every = heartbeat_time();
    let mut heartbeat = tokio::time::interval_at(Instant::now() + every, every);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    Body::new(EventBody {
        first: first.into_iter(),
        changes: Some(watcher.changes),
        heartbeat,
        last: Some(Box::new(last)),
        pass: pass.ending(),
        render,
        _place: place,
    })
}

/// The token that a listener was let in by. When it no longer counts, the stream ends.
pub(super) struct Pass {
    token: Option<Known>,
    roster: watch::Receiver<Arc<Roster>>,
}

impl Pass {
    pub(super) fn of(door: &Door, permitted: &Permitted) -> Self {
        Self { token: permitted.token.clone(), roster: door.hub.roster() }
    }

    /// Ends when the token no longer counts; never for the owner, who needs none.
    pub(super) async fn ended(self) {
        match self.ending() {
            Some(ending) => ending.await,
            None => std::future::pending().await,
        }
    }

    /// Is ready when the token no longer counts; none for the owner, who needs none.
    pub(super) fn ending(mut self) -> Option<BoxFuture<'static, ()>> {
        let token = self.token?;
        Some(Box::pin(async move {
            while self.roster.borrow_and_update().still_knows(&token, now()) {
                let expiry = token.expires.map_or(A_DAY, |expires| Duration::from_millis(expires.since(now())));
                tokio::select! {
                    changed = self.roster.changed() => if changed.is_err() { return },
                    () = tokio::time::sleep(expiry) => {}
                }
            }
        }))
    }
}

const A_DAY: Duration = Duration::from_secs(86_400);

/// A body that does not end by itself. It is written by hand because there are a thousand of them, and stream
/// combinators take as long again as the work itself.
struct EventBody<F> {
    first: std::vec::IntoIter<Bytes>,
    /// None after `last` was sent.
    changes: Option<Changes>,
    heartbeat: tokio::time::Interval,
    /// Makes what is sent last.
    last: Option<Box<dyn FnOnce() -> Bytes + Send>>,
    pass: Option<BoxFuture<'static, ()>>,
    render: F,
    /// Given back when the connection closes.
    _place: Seat,
}

impl<F: Fn(&Published) -> Option<Bytes> + Unpin> EventBody<F> {
    fn next(&mut self, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        if let Some(bytes) = self.first.next() {
            return Poll::Ready(Some(bytes));
        }
        if let Some(pass) = &mut self.pass
            && pass.as_mut().poll(context).is_ready()
        {
            return Poll::Ready(None);
        }
        let Some(changes) = &mut self.changes else { return Poll::Ready(None) };
        while let Poll::Ready(published) = changes.poll_recv(context) {
            let Some(published) = published else {
                self.changes = None;
                return Poll::Ready(self.last.take().map(|last| last()));
            };
            if let Some(bytes) = (self.render)(&published) {
                return Poll::Ready(Some(bytes));
            }
        }
        self.heartbeat.poll_tick(context).map(|_| Some(heartbeat()))
    }
}

impl<F: Fn(&Published) -> Option<Bytes> + Unpin> hyper::body::Body for EventBody<F> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.next(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn size_hint(&self) -> SizeHint {
        let mut hint = SizeHint::default();
        hint.set_lower(self.first.as_slice().iter().map(|bytes| bytes.len() as u64).sum());
        hint
    }
}

/// How long a stream is silent at most.
pub(super) fn heartbeat_time() -> Duration {
    fixed::wait("HEARTBEAT", HEARTBEAT)
}

pub(super) fn heartbeat() -> Bytes {
    Bytes::from_static(b": heartbeat\n\n")
}

/// JSON in one line as one message without an id: a line break inside it is escaped.
pub(super) fn data(line: &[u8]) -> Bytes {
    [b"data: ", line, b"\n\n"].concat().into()
}

/// Why a stream ends.
pub(super) fn ending(door: &Door) -> &'static str {
    if door.stop.is_cancelled() { "the gate is stopping" } else { "too slow, connect again" }
}

/// One message. A line break of any kind in the text starts a new `data:` line, so that text never becomes a field.
pub(super) fn message(id: u64, text: &str) -> Bytes {
    let mut bytes = format!("id: {id}\n");
    let text = text.replace("\r\n", "\n");
    for line in text.split(['\n', '\r']) {
        bytes.push_str("data: ");
        bytes.push_str(line);
        bytes.push('\n');
    }
    bytes.push('\n');
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_becomes_a_field() {
        let got = message(7, "a\rid: 1\r\nevent: x\n\nb");
        assert_eq!(got, "id: 7\ndata: a\ndata: id: 1\ndata: event: x\ndata: \ndata: b\n\n");
    }
}
