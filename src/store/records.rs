//! What can be read of a journal, whichever kind it is, on whichever thread.

#[cfg(test)]
use super::Memory;
use super::sqlite::Journal;
use super::{Seq, Snapshot, StoreError, Stored, Verified, VerifyError};

/// What can be read of a journal, by whoever may look at it.
#[derive(Clone, Copy)]
pub(crate) enum Records<'a> {
    #[cfg(test)]
    Memory(&'a Memory),
    Sqlite(&'a Journal),
}

impl Records<'_> {
    /// Calls `each` for every record after `after`, in order.
    pub(crate) fn replay(&self, after: Seq, each: &mut dyn FnMut(Stored)) -> Result<(), StoreError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => {
                memory.replay(after, each);
                Ok(())
            }
            Self::Sqlite(journal) => journal.replay(after, each),
        }
    }

    /// Calls `each` for those of these records that there are. They are named in order.
    pub(crate) fn pick(&self, seqs: &[Seq], each: &mut dyn FnMut(Stored)) -> Result<(), StoreError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => {
                memory.pick(seqs, each);
                Ok(())
            }
            Self::Sqlite(journal) => journal.pick(seqs, each),
        }
    }

    /// What was last kept with `Store::keep_snapshot`, if it is whole and the journal has the record up to which it was
    /// made.
    pub(crate) fn snapshot(&self) -> Option<Snapshot> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => memory.snapshot(),
            Self::Sqlite(journal) => journal.snapshot(),
        }
    }

    /// All records of one subject, in order.
    pub(crate) fn read(&self, subject: &str) -> Result<Vec<Stored>, StoreError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.read(subject)),
            Self::Sqlite(journal) => journal.read(subject),
        }
    }

    /// The first records after `after`, at most `limit`, and fewer when they are large.
    pub(crate) fn page(&self, after: Seq, limit: usize) -> Result<Vec<Stored>, StoreError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.page(after, limit)),
            Self::Sqlite(journal) => journal.page(after, limit),
        }
    }

    /// Walks the chain and finds a changed, removed or reordered record; with a `head` noted earlier also a cut tail.
    pub(crate) fn verify(&self, head: Option<&str>) -> Result<Verified, VerifyError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => memory.verify(head),
            Self::Sqlite(journal) => journal.verify(head),
        }
    }

    /// The chain's end, worth noting elsewhere.
    pub(crate) fn head(&self) -> Result<String, StoreError> {
        match self {
            #[cfg(test)]
            Self::Memory(memory) => Ok(memory.head()),
            Self::Sqlite(journal) => journal.head(),
        }
    }
}
