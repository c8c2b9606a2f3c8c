//! Those who watch: each is told what changes, and one that cannot keep up is cut off and told so.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use bytes::Bytes;
use portcullis_core::Notice;
use tokio::sync::mpsc;

/// A change, as it is handed to every watcher. Whoever needs it as bytes first makes them, for all.
#[derive(Debug)]
pub(crate) struct Published {
    /// How many records the state was made of with the one that made this so. Never less than that of the change
    /// before: whoever has seen this one has seen all that came with a smaller one.
    pub(crate) revision: u64,
    pub(crate) notice: Notice,
    text: OnceLock<Bytes>,
    json: OnceLock<Bytes>,
}

impl Published {
    pub(crate) fn new(revision: u64, notice: Notice) -> Arc<Self> {
        Arc::new(Self { revision, notice, text: OnceLock::new(), json: OnceLock::new() })
    }

    /// The bytes for people, made once.
    pub(crate) fn text(&self, render: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.text.get_or_init(|| render(self)).clone()
    }

    /// The bytes for programs, made once.
    pub(crate) fn json(&self, render: impl FnOnce(&Self) -> Bytes) -> Bytes {
        self.json.get_or_init(|| render(self)).clone()
    }
}

/// What a watcher holds. When `changes` ends while the gate lives, it was too slow and must start again.
pub(crate) struct Watcher {
    pub(crate) revision: u64,
    /// How things are, each with the revision since which it is so.
    pub(crate) first: Vec<(u64, Notice)>,
    pub(crate) changes: Changes,
}

/// Changes on their way to one watcher.
pub(crate) struct Changes {
    receiver: mpsc::Receiver<Arc<Published>>,
    /// Bytes of text on their way. Added to by the hub, taken off here.
    bytes: Arc<AtomicUsize>,
}

impl Changes {
    pub(crate) fn poll_recv(&mut self, context: &mut Context<'_>) -> Poll<Option<Arc<Published>>> {
        self.receiver.poll_recv(context).map(|published| {
            published.inspect(|published| {
                self.bytes.fetch_sub(published.notice.bytes(), Ordering::Relaxed);
            })
        })
    }

    pub(crate) async fn recv(&mut self) -> Option<Arc<Published>> {
        std::future::poll_fn(|context| self.poll_recv(context)).await
    }
}

/// The hub's end of one watcher.
struct Sender {
    sender: mpsc::Sender<Arc<Published>>,
    bytes: Arc<AtomicUsize>,
}

impl Sender {
    /// False when the watcher is gone or cannot keep up. One change always fits, however large.
    fn send(&self, published: &Arc<Published>) -> bool {
        let bytes = published.notice.bytes();
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        (before == 0 || before + bytes <= MOST_BYTES) && self.sender.try_send(Arc::clone(published)).is_ok()
    }
}

/// More text than this never waits for one watcher, however few changes it is in.
const MOST_BYTES: usize = 4 << 20;

/// All watchers of the hub.
pub(super) struct Watchers {
    senders: Vec<Sender>,
    capacity: usize,
}

impl Watchers {
    pub(super) fn new(capacity: usize) -> Self {
        Self { senders: vec![], capacity }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.senders.is_empty()
    }

    pub(super) fn add(&mut self, revision: u64, first: Vec<(u64, Notice)>) -> Watcher {
        let (sender, receiver) = mpsc::channel(self.capacity);
        let bytes = Arc::new(AtomicUsize::new(0));
        self.senders.push(Sender { sender, bytes: Arc::clone(&bytes) });
        Watcher { revision, first, changes: Changes { receiver, bytes } }
    }

    /// Never waits: a full or closed watcher is dropped, which ends its stream.
    pub(super) fn publish(&mut self, published: &Arc<Published>) {
        self.senders.retain(|sender| sender.send(published));
    }

    /// Forgets those who went away while nothing was published.
    pub(super) fn sweep(&mut self) {
        self.senders.retain(|sender| !sender.sender.is_closed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_core::{ChatId, Moment, Reply, ReplyId, SessionId, Text};

    fn reply(bytes: usize) -> Arc<Published> {
        let (id, session) = (ReplyId::new(Moment(0), 0), SessionId::new(Moment(0), 0));
        let (chat, text) = (ChatId::new("c").unwrap(), Text::new("x".repeat(bytes)));
        let reply = Reply { id, session, chat, reply_to: None, text, files: vec![], at: Moment(0), edited: None };
        Published::new(1, Notice::Replied { reply, owners: vec![], wanted_label: None })
    }

    #[tokio::test]
    async fn what_waits_for_a_watcher_is_bounded_by_its_bytes_too() {
        let mut watchers = Watchers::new(1024);
        let (mut reads, stuck) = (watchers.add(0, vec![]), watchers.add(0, vec![]));
        let large = reply(MOST_BYTES / 4 + 1);
        for _ in 0..20 {
            watchers.publish(&large);
            assert!(reads.changes.recv().await.is_some());
        }
        assert_eq!((watchers.senders.len(), stuck.changes.receiver.len()), (1, 3));
        watchers.publish(&reply(2 * MOST_BYTES));
        assert!(reads.changes.recv().await.is_some(), "one always fits");
    }
}
