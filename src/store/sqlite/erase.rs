//! Erasing what must not stay: zeros are written over a payload where it stands, and the write-ahead log is emptied.
//!
//! Rows are never deleted or made smaller. That would make SQLite move neighbours together, and copies of them stay in
//! the unused part of a page, `secure_delete` or not, where a later erasure does not find them.

use std::ops::Range;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::{Connection, MAIN_DB};

use super::Journal;
use super::form::{ERASED, RowRecord};
use super::write::Transaction;
use crate::store::{Erasure, Seq, StoreError};

/// Something was erased, and may still stand in the write-ahead log.
const UNEMPTIED: &str = "unemptied";
const SET_UNEMPTIED: &str = "INSERT OR REPLACE INTO meta VALUES (?1, x'01')";

/// Where a payload stands.
pub(super) struct Place {
    row: Seq,
    mark: usize,
    secret: Range<usize>,
}

impl Place {
    /// Of a payload that is still there.
    pub(super) fn of(row: Seq, record: &RowRecord<'_>) -> Option<Self> {
        record.kept()?;
        Some(Self { row, mark: record.mark, secret: record.secret.clone() })
    }

    /// Within a transaction of the caller's.
    pub(super) fn erase(&self, connection: &Connection) -> rusqlite::Result<()> {
        let mut row = connection.blob_open(MAIN_DB, "batch", "bytes", self.row.0.cast_signed(), false)?;
        row.write_all_at(&vec![0; self.secret.len()], self.secret.start)?;
        row.write_all_at(&[ERASED], self.mark)?;
        row.close()
    }
}

/// Within the transaction that erases: if nobody empties the log after it, the next one who opens the journal does.
pub(super) fn note_unemptied(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute(SET_UNEMPTIED, [UNEMPTIED]).map(drop)
}

impl Journal {
    pub(super) fn erase(&mut self, subject: &str) -> Result<Erasure, StoreError> {
        let payloads = self.erase_all(subject).map_err(StoreError::doing("erasing payloads"))?;
        Ok(Erasure { payloads, left: self.empty_the_log().err() })
    }

    fn erase_all(&self, subject: &str) -> rusqlite::Result<usize> {
        let transaction = Transaction::begin(&self.connection)?;
        let reader = self.reader();
        let mut erased = 0;
        for seq in reader.seqs_of(subject)? {
            if let Some(place) = reader.record(seq, |row, record| Place::of(row, &record))?.flatten() {
                place.erase(&transaction)?;
                erased += 1;
            }
        }
        if erased > 0 {
            note_unemptied(&transaction)?;
        }
        transaction.commit()?;
        Ok(erased)
    }

    /// Moves into the file what nobody is reading from the log any more; waits for nobody.
    pub(super) fn checkpoint(&self) -> rusqlite::Result<()> {
        self.connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()))
    }

    /// What was written lately is in the write-ahead log as well. Only one may tidy the log at a time, and SQLite does
    /// not wait for another who does, our own checkpointer included.
    pub(super) fn empty_the_log(&self) -> Result<(), StoreError> {
        let doing = "erasing payloads from the write-ahead log";
        self.truncate_the_log(doing)?;
        let forget = "DELETE FROM meta WHERE name = ?1";
        self.connection.execute(forget, [UNEMPTIED]).map_err(StoreError::doing(doing)).map(drop)
    }

    /// Whether something that was erased may still stand in the log: whoever erased it did not get to emptying that.
    pub(super) fn is_unemptied(&self) -> bool {
        self.meta(UNEMPTIED).is_ok_and(|noted| noted.is_some())
    }

    /// Does what an erasure that was broken off did not get to.
    pub(super) fn empty_a_log_that_was_left(&self) {
        if self.is_unemptied()
            && let Err(error) = self.empty_the_log()
        {
            tracing::warn!("what was erased may still stand in the journal's write-ahead log: {error}");
        }
    }

    fn truncate_the_log(&self, doing: &'static str) -> Result<(), StoreError> {
        let deadline = Instant::now() + self.patience;
        loop {
            let busy = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get(0));
            if !busy.map_err(StoreError::doing(doing))? {
                return Ok(());
            }
            if Instant::now() > deadline {
                return Err(StoreError::doing(doing)("another process is using it"));
            }
            thread::sleep(Duration::from_millis(5));
        }
    }
}
