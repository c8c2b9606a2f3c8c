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
#[cfg(test)]
mod tampering;
#[cfg(test)]
mod tests;
mod thread;
mod version;
mod write;

pub(crate) use retention::{Retention, RetireError, retire};

use std::io;
use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;
use rusqlite::types::{FromSql, FromSqlResult, ToSql, ToSqlOutput, ValueRef};

use super::{Append, Durability, OpenError, Refused, Seq, StoreError, Stored, Verified, VerifyError};
pub(crate) use header::glance;
use index::Index;
use known::Known;
use thread::{Appender, Checkpointer};
use write::{Salts, Tail};

/// Each part has a connection of its own, and they need no lock of ours: in write-ahead mode a reader sees all that was
/// committed before it looked, and never waits for a writer. The fields are dropped in this order: whichever connection
/// is closed last empties the log, and by then nobody may be writing.
pub(crate) struct Sqlite {
    /// Appends, when they have to wait for the disk.
    appender: Option<Appender>,
    checkpointer: Checkpointer,
    /// Everything else, on the caller's thread.
    journal: Journal,
}

/// One connection to the file.
struct Journal {
    connection: Connection,
    /// How long it waits for others who use the file.
    patience: Duration,
    /// Drawn when the journal was made; its name in the chain.
    writer: Vec<u8>,
    salts: Salts,
    /// Where the journal ended after the last append of this connection. None after one that failed.
    tail: Option<Tail>,
    /// Where subjects ended then.
    known: Known,
    /// Of the row being written, so that its room is used again.
    row: Vec<u8>,
    index: Index,
}

impl Sqlite {
    pub(super) fn open(path: &Path, durability: Durability) -> Result<Self, OpenError> {
        let failed = |error: io::Error| OpenError::Failed { path: path.to_owned(), source: error.into() };
        let open = || Journal::open(path, durability);
        let journal = open()?;
        let checkpointer = Checkpointer::start(open()?).map_err(failed)?;
        let appender = match durability {
            Durability::Process => None,
            Durability::Power => Some(Appender::start(open()?).map_err(failed)?),
        };
        Ok(Self { appender, checkpointer, journal })
    }

    /// Without a thread this never waits: the batch is in when the future is first polled.
    pub(super) async fn append(&mut self, appends: Vec<Append>) -> Vec<Result<Seq, Refused>> {
        let bytes = appends.iter().map(Append::bytes).sum();
        let answers = match &self.appender {
            None => self.journal.append(&appends),
            Some(appender) => appender.append(appends).await,
        };
        self.checkpointer.appended(bytes);
        answers
    }

    pub(super) fn replay(&self, after: Seq, each: &mut dyn FnMut(Stored)) -> Result<(), StoreError> {
        self.journal.replay(after, each)
    }

    pub(super) fn read(&self, subject: &str) -> Result<Vec<Stored>, StoreError> {
        self.journal.read(subject)
    }

    pub(super) fn page(&self, after: Seq, limit: usize) -> Result<Vec<Stored>, StoreError> {
        self.journal.page(after, limit)
    }

    pub(super) fn erase(&mut self, subject: &str) -> Result<usize, StoreError> {
        self.journal.erase(subject)
    }

    pub(super) fn verify(&self, head: Option<&str>) -> Result<Verified, VerifyError> {
        self.journal.verify(head)
    }

    pub(super) fn head(&self) -> Result<String, StoreError> {
        self.journal.head()
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
