//! The streams of attached sessions: what a session's process keeps is fetched over its link while someone looks, and goes
//! to them past the loop and the journal.
//!
//! One who looks asks for what is behind their number, takes the answer, and asks again. So nothing piles up in the gate,
//! and who is slow, or comes back after the gate was killed, goes on by number.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use portcullis_core::SessionId;
use portcullis_wire::link::GateMessage;
use portcullis_wire::stream::StreamBatch;
use tokio::sync::{mpsc, oneshot, watch};

use crate::locks::locked;

/// The links that have a stream. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Streams {
    links: Arc<Mutex<HashMap<SessionId, StreamLink>>>,
    /// Rings when a link has come or gone.
    changed: Arc<watch::Sender<()>>,
}

struct StreamLink {
    /// Of the outlet of the same process.
    number: u64,
    to_session: mpsc::Sender<GateMessage<'static>>,
    /// Who waits for an answer, by the number of their look.
    looks: HashMap<u64, oneshot::Sender<StreamBatch>>,
}

/// The session's process is not linked, or has no stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NotLinked;

/// Takes the stream away when the link ends.
pub(super) struct OpenStream {
    streams: Streams,
    session: SessionId,
    number: u64,
}

impl Default for Streams {
    fn default() -> Self {
        Self { links: Arc::default(), changed: Arc::new(watch::Sender::new(())) }
    }
}

impl Streams {
    /// The process of a session is linked.
    pub(super) fn open(
        &self,
        session: SessionId,
        number: u64,
        to_session: mpsc::Sender<GateMessage<'static>>,
    ) -> OpenStream {
        let link = StreamLink { number, to_session, looks: HashMap::new() };
        locked(&self.links).insert(session, link);
        self.changed.send_replace(());
        OpenStream { streams: self.clone(), session, number }
    }

    /// The process answers a look. One that nobody waits for any more is called off: the process may not have heard.
    pub(super) fn arrived(&self, session: SessionId, batch: StreamBatch) {
        let mut links = locked(&self.links);
        let Some(link) = links.get_mut(&session) else { return };
        let look = batch.look;
        let is_taken = link.looks.remove(&look).is_some_and(|taker| taker.send(batch).is_ok());
        if !is_taken {
            drop(link.to_session.try_send(GateMessage::LookAway { look }));
        }
    }

    /// The look of one who watches, from one answer to the next.
    pub(crate) fn begin(&self, session: SessionId) -> StreamLook {
        static NUMBERS: AtomicU64 = AtomicU64::new(1);
        StreamLook { streams: self.clone(), session, number: NUMBERS.fetch_add(1, Ordering::Relaxed) }
    }

    /// Tells when links have come or gone from now on.
    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changed.subscribe()
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        let mut links = locked(&self.streams.links);
        // Another process may have taken its place.
        if links.get(&self.session).is_some_and(|link| link.number == self.number) {
            links.remove(&self.session);
        }
        drop(links);
        self.streams.changed.send_replace(());
    }
}

/// Someone who watches a session's stream. Its process is told when they go.
pub(crate) struct StreamLook {
    streams: Streams,
    session: SessionId,
    number: u64,
}

impl StreamLook {
    /// The entries after this number: those there are, else the next ones that come; with `at_once` also none.
    pub(crate) async fn after(&self, after: u64, at_once: bool) -> Result<StreamBatch, NotLinked> {
        let (taker, taken) = oneshot::channel();
        let to_session = {
            let mut links = locked(&self.streams.links);
            let link = links.get_mut(&self.session).ok_or(NotLinked)?;
            link.looks.insert(self.number, taker);
            link.to_session.clone()
        };
        let look = GateMessage::Look { look: self.number, after, at_once };
        to_session.send(look).await.map_err(|_| NotLinked)?;
        taken.await.map_err(|_| NotLinked)
    }
}

impl Drop for StreamLook {
    fn drop(&mut self) {
        let mut links = locked(&self.streams.links);
        if let Some(link) = links.get_mut(&self.session) {
            link.looks.remove(&self.number);
            drop(link.to_session.try_send(GateMessage::LookAway { look: self.number }));
        }
    }
}
