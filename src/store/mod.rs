//! The journal: bytes kept by subject, in one order, for ever. It knows nothing of what they mean.

mod chain;
mod error;
#[cfg(test)]
mod memory;
#[cfg(test)]
mod races;
mod records;
mod sqlite;
#[cfg(test)]
mod story;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::oneshot;

pub(crate) use error::{OpenError, StoreError, VerifyError};
#[cfg(test)]
pub(crate) use memory::{Memory, Syncs};
pub(crate) use records::Records;
use sqlite::Sqlite;
pub(crate) use sqlite::{Retention, RetireError, Retired};

/// Global position of a record. 1 is the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Seq(pub(crate) u64);

/// One record to be kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Milliseconds since 1970.
    pub(crate) at: u64,
    /// The skeleton: kept for ever.
    pub(crate) body: Vec<u8>,
    /// What may be erased later without breaking the chain.
    pub(crate) payload: Option<Arc<[u8]>>,
}

/// Entries for one subject, taken all together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Append {
    pub(crate) subject: String,
    /// Sequence of the subject's last record. `None`: the subject must be new.
    pub(crate) after: Option<Seq>,
    /// The subject's id was drawn at random just now, so that nobody can have written of it. A store may take that at its
    /// word: to look for it each time would cost more than the append.
    pub(crate) fresh: bool,
    pub(crate) entries: Vec<Entry>,
}

impl Append {
    fn bytes(&self) -> usize {
        let entry = |entry: &Entry| entry.body.len() + entry.payload.as_ref().map_or(0, |payload| payload.len());
        self.subject.len() + self.entries.iter().map(entry).sum::<usize>()
    }
}

/// One record as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stored {
    pub(crate) seq: Seq,
    pub(crate) subject: String,
    pub(crate) at: u64,
    pub(crate) body: Vec<u8>,
    pub(crate) payload: Payload,
}

impl Stored {
    fn bytes(&self) -> usize {
        let payload = match &self.payload {
            Payload::Kept(bytes) => bytes.len(),
            Payload::None | Payload::Erased => 0,
        };
        self.subject.len() + self.body.len() + payload
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Payload {
    /// The record never had one.
    None,
    Kept(Vec<u8>),
    Erased,
}

/// Why one append was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    /// Someone was faster: the subject's last record is `last`, not the one that was named.
    Conflict { last: Option<Seq> },
    /// It is not known to be safe, so nothing may be done that rests on it.
    Failed(String),
}

impl Refused {
    fn nothing_to_append() -> Self {
        Self::Failed("an append needs at least one entry".to_owned())
    }
}

/// What was taken, and when it is safe.
pub(crate) struct WrittenAppends {
    /// In the order of the appends, each with the sequence of its last entry.
    pub(crate) answers: Vec<Result<Seq, Refused>>,
    pub(crate) safety: Safety,
}

/// When something that was written outlives what it is meant to outlive.
pub(crate) enum Safety {
    Now,
    Later(oneshot::Receiver<Result<(), String>>),
}

impl Safety {
    /// Waits for it. Who stops waiting may ask again; who was told may not.
    pub(crate) async fn reached(&mut self) -> Result<(), String> {
        match self {
            Self::Now => Ok(()),
            Self::Later(told) => {
                told.await.unwrap_or_else(|_| Err("the journal's thread for syncs has ended".to_owned()))
            }
        }
    }

    pub(crate) fn is_now(&self) -> bool {
        matches!(self, Self::Now)
    }
}

/// What an append outlives once it is safe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Durability {
    /// The death of the process.
    Process,
    /// A power failure. Synced on a thread of its own.
    Power,
}

/// Which journal: all that is needed to open it, and to look after it beside the one who has it open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoreConfig {
    pub(crate) path: PathBuf,
    pub(crate) durability: Durability,
}

impl StoreConfig {
    /// For whoever only reads, and for tests.
    pub(crate) fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), durability: Durability::Process }
    }

    /// Opens the journal, or starts a new one; the folder must exist.
    pub(crate) fn open(&self) -> Result<Store, OpenError> {
        Sqlite::open(&self.path, self.durability).map(|sqlite| Store::Sqlite(Box::new(sqlite)))
    }

    /// Looks at it from outside: opens nothing, locks nothing and changes nothing.
    pub(crate) fn glance(&self) -> io::Result<Glance> {
        sqlite::glance(&self.path)
    }

    /// Erases what is not to be kept. The gate goes on meanwhile.
    pub(crate) fn retire(&self, retention: Retention) -> Result<Retired, RetireError> {
        sqlite::retire(&self.path, retention)
    }
}

/// What a file looks like from outside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Glance {
    Missing,
    /// Just made, or all that is in it still stands in the log beside it.
    Unsettled,
    Ours {
        version: u32,
        /// The newest version this program knows.
        known: u32,
    },
    Foreign,
}

/// What all records up to one of them come to, in the words of whoever made it. A cache: nothing is in it that is not in the
/// records, and it may be deleted at any time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Snapshot {
    pub(crate) upto: Seq,
    pub(crate) bytes: Vec<u8>,
}

/// What was erased.
#[derive(Debug)]
pub(crate) struct Erasure {
    pub(crate) payloads: usize,
    /// Why copies of them may still be there, and for how long: the next one who opens the journal sees to it.
    pub(crate) left: Option<StoreError>,
}

/// The chain as it was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) records: u64,
    /// Hexadecimal. Noted elsewhere, it makes a later cut of the tail visible.
    pub(crate) head: String,
    /// Payloads that are gone, but for those that have had their time. Somebody must have recorded why.
    pub(crate) erased: Vec<ErasedPayload>,
}

/// A payload that was erased before its time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErasedPayload {
    pub(crate) seq: Seq,
    pub(crate) subject: String,
}

/// Keeps records by subject, in one order, for ever.
pub(crate) enum Store {
    /// For tests: the same contract, and nothing left behind.
    #[cfg(test)]
    Memory(Memory),
    Sqlite(Box<Sqlite>),
}

impl Store {
    #[cfg(test)]
    pub(crate) fn memory() -> Self {
        Self::Memory(Memory::default())
    }

    /// The same, and every append is refused while there is a refusal.
    #[cfg(test)]
    pub(crate) fn memory_refusing(refusal: &std::sync::Arc<std::sync::Mutex<Option<Refused>>>) -> Self {
        let mut memory = Memory::default();
        memory.refusal = std::sync::Arc::clone(refusal);
        Self::Memory(memory)
    }

    /// The same, and how many appends were refused is counted.
    #[cfg(test)]
    pub(crate) fn memory_counting(
        refusal: &std::sync::Arc<std::sync::Mutex<Option<Refused>>>,
        refused: &std::sync::Arc<std::sync::atomic::AtomicUsize>,
    ) -> Self {
        let mut memory = Memory::default();
        (memory.refusal, memory.refused) = (std::sync::Arc::clone(refusal), std::sync::Arc::clone(refused));
        Self::Memory(memory)
    }

    /// The same, and what is written is safe when the test says so.
    #[cfg(test)]
    pub(crate) fn memory_syncing() -> (Self, Syncs) {
        let (memory, syncs) = Memory::syncing();
        (Self::Memory(memory), syncs)
    }

    #[cfg(test)]
    pub(crate) fn sqlite(path: &std::path::Path, durability: Durability) -> Result<Self, OpenError> {
        StoreConfig { path: path.to_owned(), durability }.open()
    }

    /// Appends each batch after the sequence it names, or says that someone was faster. One conflict does not fail the
    /// others; one failure fails them all.
    ///
    /// Nothing may be done that rests on it before it is safe. What is written is safe in the order of the writing, and
    /// when one cannot be made safe nothing after it is taken.
    pub(crate) fn write(&mut self, appends: &[Append]) -> WrittenAppends {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => memory.write(appends),
            Self::Sqlite(sqlite) => sqlite.write(appends),
        }
    }

    /// Why nothing more is taken: what was written could not be made safe.
    pub(crate) fn failure(&self) -> Option<&str> {
        match self {
            #[cfg(test)]
            Self::Memory(_) => None,
            Self::Sqlite(sqlite) => sqlite.failure(),
        }
    }

    /// The same as `write`, and returns when it is safe.
    #[cfg(test)]
    pub(crate) async fn append(&mut self, appends: Vec<Append>) -> Vec<Result<Seq, Refused>> {
        let WrittenAppends { answers, mut safety } = self.write(&appends);
        match safety.reached().await {
            Ok(()) => answers,
            Err(why) => vec![Err(Refused::Failed(why)); answers.len()],
        }
    }

    /// The sequence of a subject's last record.
    pub(crate) fn last_of(&self, subject: &str) -> Result<Option<Seq>, StoreError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.read(subject).last().map(|record| record.seq)),
            Self::Sqlite(sqlite) => sqlite.last_of(subject),
        }
    }

    /// Keeps a snapshot in the place of the one before, off the caller's thread. It must hold no payload: those are erased
    /// in the records alone. False, and nothing is kept, where the journal does not end at `upto`.
    pub(crate) fn keep_snapshot(&mut self, upto: Seq, bytes: Vec<u8>) -> bool {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => memory.keep_snapshot(upto, bytes),
            Self::Sqlite(sqlite) => sqlite.keep_snapshot(upto, bytes),
        }
    }

    /// The records, read on the caller's thread.
    pub(crate) fn records(&self) -> Records<'_> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => Records::Memory(memory),
            Self::Sqlite(sqlite) => Records::Sqlite(sqlite.journal()),
        }
    }

    /// Lets `read` at the records on a thread of its own, as they are now or later: whoever asks does not wait.
    pub(crate) fn aside(&self, read: impl FnOnce(Records<'_>) + Send + 'static) {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => read(Records::Memory(memory)),
            Self::Sqlite(sqlite) => sqlite.aside(Box::new(read)),
        }
    }

    /// Erases the payloads of a subject and says how many there were; the skeletons and the chain stay.
    ///
    /// On disk the bytes are gone from the journal and its side files when this returns, unless it says that some are
    /// left, but not from a backup that an upgrade has left beside it.
    pub(crate) fn erase(&mut self, subject: &str) -> Result<Erasure, StoreError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => Ok(Erasure { payloads: memory.erase(subject), left: None }),
            Self::Sqlite(sqlite) => sqlite.erase(subject),
        }
    }
}
