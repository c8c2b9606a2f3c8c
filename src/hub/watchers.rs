//! Those who watch: each is told what changes, and one that cannot keep up is cut off and told so.

use std::sync::{Arc, OnceLock};

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
    pub(crate) changes: mpsc::Receiver<Arc<Published>>,
}

/// All watchers of the hub.
pub(super) struct Watchers {
    senders: Vec<mpsc::Sender<Arc<Published>>>,
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
        let (sender, changes) = mpsc::channel(self.capacity);
        self.senders.push(sender);
        Watcher { revision, first, changes }
    }

    /// Never waits: a full or closed watcher is dropped, which ends its stream.
    pub(super) fn publish(&mut self, published: &Arc<Published>) {
        self.senders.retain(|sender| sender.try_send(Arc::clone(published)).is_ok());
    }

    /// Forgets those who went away while nothing was published.
    pub(super) fn sweep(&mut self) {
        self.senders.retain(|sender| !sender.is_closed());
    }
}
