//! Server-sent events: a stream that starts with the state, goes on with changes, and never stays silent for long.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use futures_util::stream;
use portcullis_wire::error::{Fault, Kind};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::time::{Instant, MissedTickBehavior};

use super::Door;
use super::credentials::Caller;
use crate::hub::{Known, Published, Roster, Watcher, now};

const HEARTBEAT: Duration = Duration::from_secs(15);

/// A place among those who listen.
pub(super) fn seat(door: &Door) -> Result<OwnedSemaphorePermit, Fault> {
    let full = |_| Fault::new(Kind::TooManyListeners, "too many listeners").retry_after(30);
    Arc::clone(&door.listeners).try_acquire_owned().map_err(full)
}

/// `first`, then every change that `render` makes bytes of, then `last` when there is no more: the listener was too slow, or the gate stops.
pub(super) fn stream_of<F>(
    first: Vec<Bytes>,
    watcher: Watcher,
    seat: OwnedSemaphorePermit,
    pass: Pass,
    render: F,
    last: impl FnOnce() -> Bytes + Send + 'static,
) -> Body
where
    F: Fn(&Published) -> Option<Bytes> + Send + 'static,
{
    let mut heartbeat = tokio::time::interval_at(Instant::now() + HEARTBEAT, HEARTBEAT);
    heartbeat.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let listening = Listening {
        first: first.into_iter(),
        watcher: Some(watcher),
        heartbeat,
        last: Some(Box::new(last)),
        pass,
        render,
        _seat: seat,
    };
    Body::from_stream(stream::unfold(listening, Listening::next))
}

/// What a listener was let in by. When it no longer counts, the stream ends.
pub(super) struct Pass {
    known: Option<Known>,
    roster: watch::Receiver<Arc<Roster>>,
}

impl Pass {
    pub(super) fn of(door: &Door, caller: &Caller) -> Self {
        Self { known: caller.known.clone(), roster: door.hub.roster() }
    }

    /// Returns when the pass no longer counts; never for the owner.
    async fn has_ended(&mut self) {
        let Some(known) = self.known.clone() else { return std::future::pending().await };
        while self.roster.borrow_and_update().still_knows(&known, now()) {
            let expiry = known.expires.map_or(A_DAY, |expires| Duration::from_millis(expires.since(now())));
            tokio::select! {
                changed = self.roster.changed() => if changed.is_err() { return },
                () = tokio::time::sleep(expiry) => {}
            }
        }
    }
}

const A_DAY: Duration = Duration::from_secs(86_400);

struct Listening<F> {
    first: std::vec::IntoIter<Bytes>,
    /// None after the last word.
    watcher: Option<Watcher>,
    heartbeat: tokio::time::Interval,
    /// What is said when there is no more to come.
    last: Option<Box<dyn FnOnce() -> Bytes + Send>>,
    pass: Pass,
    render: F,
    /// Given back when the listener goes.
    _seat: OwnedSemaphorePermit,
}

impl<F: Fn(&Published) -> Option<Bytes>> Listening<F> {
    async fn next(mut self) -> Option<(Result<Bytes, std::convert::Infallible>, Self)> {
        if let Some(bytes) = self.first.next() {
            return Some((Ok(bytes), self));
        }
        loop {
            let watcher = self.watcher.as_mut()?;
            let published = tokio::select! {
                published = watcher.changes.recv() => published,
                () = self.pass.has_ended() => return None,
                _ = self.heartbeat.tick() => return Some((Ok(Bytes::from_static(b": heartbeat\n\n")), self)),
            };
            match published {
                Some(published) => {
                    if let Some(bytes) = (self.render)(&published) {
                        return Some((Ok(bytes), self));
                    }
                }
                None => {
                    self.watcher = None;
                    let last = self.last.take()?;
                    return Some((Ok(last()), self));
                }
            }
        }
    }
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
