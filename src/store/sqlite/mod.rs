//! The journal in one SQLite file, in write-ahead mode.

mod erase;
mod files;
mod form;
mod header;
mod index;
mod known;
mod open;
#[cfg(test)]
mod opening;
mod packing;
mod read;
mod retention;
mod snapshot;
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod tests;
mod thread;
mod version;
mod write;

pub(super) use retention::retire;
pub(crate) use retention::{Retention, RetireError, Retired};

use std::cell::RefCell;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::{Append, Durability, Erasure, OpenError, Records, Refused, Safety, Seq, StoreError, WrittenAppends};
use files::beside;
pub(super) use header::glance;
use index::Index;
use known::KnownSubjects;
use thread::{Aside, Checkpointer, ReadJob, Syncer};
use write::{Salts, Tail};

/// Each part has a connection of its own, and they need no lock of ours: in write-ahead mode a reader sees all that was
/// committed before it looked, and never waits for a writer. The fields are dropped in this order: whichever connection
/// is closed last empties the log, and by then nobody may be writing.
pub(crate) struct Sqlite {
    /// When what is written has to outlive a power cut.
    syncer: Option<Syncer>,
    checkpointer: Checkpointer,
    /// Reads for those who do not wait for them.
    aside: Aside,
    /// Everything else, on the caller's thread.
    journal: Journal,
}

/// One connection to the file.
pub(crate) struct Journal {
    connection: Connection,
    /// How long it waits for others who use the file.
    patience: Duration,
    /// Drawn when the journal was made; its name in the chain.
    writer: Vec<u8>,
    salts: Salts,
    /// Where the journal ended after the last append of this connection. None after one that failed.
    tail: Option<Tail>,
    /// Where subjects ended then.
    known: RefCell<KnownSubjects>,
    /// Of the row being written, so that its room is used again.
    row: Vec<u8>,
    index: Index,
    /// Where the snapshot is, if there is one.
    snapshot: PathBuf,
    /// Whether the file system allows a write-ahead log.
    has_log: bool,
}

impl Sqlite {
    pub(super) fn open(path: &Path, durability: Durability) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::Failed { path: path.to_owned(), source: error.into() };
        let open = || Journal::open(path, durability);
        let journal = open()?;
        journal.empty_a_log_that_was_left();
        let checkpointer = Checkpointer::start(open()?).map_err(failed)?;
        let syncer = match durability {
            Durability::Power if journal.has_log => {
                let log = File::open(beside(path, "-wal")).map_err(failed)?;
                Some(Syncer::start(log).map_err(failed)?)
            }
            // Without a log SQLite syncs by itself, at each commit.
            Durability::Power | Durability::Process => None,
        };
        let aside = Aside::start(open()?).map_err(failed)?;
        Ok(Self { syncer, checkpointer, aside, journal })
    }

    pub(super) fn write(&mut self, appends: &[Append]) -> WrittenAppends {
        if let Some(why) = self.failure() {
            let refused = Err(Refused::Failed(why.to_owned()));
            return WrittenAppends { answers: vec![refused; appends.len()], safety: Safety::Now };
        }
        let answers = self.journal.append(appends);
        self.checkpointer.appended(appends.iter().map(Append::bytes).sum());
        let safety = match &self.syncer {
            Some(syncer) if answers.iter().any(Result::is_ok) => syncer.sync(),
            _ => Safety::Now,
        };
        WrittenAppends { answers, safety }
    }

    pub(super) fn failure(&self) -> Option<&str> {
        self.syncer.as_ref().and_then(Syncer::failure)
    }

    pub(super) fn journal(&self) -> &Journal {
        &self.journal
    }

    pub(super) fn aside(&self, read: ReadJob) {
        if let Err(read) = self.aside.take(read) {
            // So many wait already that this one is not put off further.
            read(Records::Sqlite(&self.journal));
        }
    }

    pub(super) fn last_of(&self, subject: &str) -> Result<Option<Seq>, StoreError> {
        self.journal.last_of(subject)
    }

    pub(super) fn erase(&mut self, subject: &str) -> Result<Erasure, StoreError> {
        self.journal.erase(subject)
    }

    /// Written by the thread for reads: nobody waits for it.
    pub(super) fn keep_snapshot(&self, upto: Seq, bytes: Vec<u8>) -> bool {
        let Some(tail) = self.journal.ends_at(upto) else { return false };
        let path = self.journal.snapshot.clone();
        self.aside(Box::new(move |_| {
            if let Err(error) = snapshot::write(&path, tail, &bytes) {
                tracing::warn!(%error, path = %path.display(), "the snapshot stays as it was");
            }
        }));
        true
    }
}

impl ToSql for Seq {
    /// SQLite counts to 2^63. A sequence beyond that is no record's, and neither is the last below it.
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(i64::try_from(self.0).unwrap_or(i64::MAX).into())
    }
}

impl FromSql for Seq {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        i64::column_result(value).map(|seq| Self(seq.cast_unsigned()))
    }
}
