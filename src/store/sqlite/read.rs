//! Reading the journal back, and walking its chain.

use std::ops::ControlFlow;

use rusqlite::{Connection, OptionalExtension as _};

use super::Journal;
use super::form::{Malformed, RowRecord, RowRecords};
use super::index::Index;
use super::retention::youngest_retired;
use super::write::Tail;
use crate::store::chain::{self, Walk};
use crate::store::{Seq, StoreError, Stored, Verified, VerifyError};

/// From the row that has record `?1` on.
const ROWS_FROM: &str = "
    SELECT first_seq, count, bytes FROM batch
    WHERE first_seq >= coalesce((SELECT max(first_seq) FROM batch WHERE first_seq <= ?1), 0) ORDER BY first_seq";
const ROW_WITH: &str = "
    SELECT first_seq, bytes FROM batch WHERE first_seq <= ?1 ORDER BY first_seq DESC LIMIT 1";
/// A page that has grown to this many bytes takes no further record.
const LARGE_PAGE: usize = 4 << 20;

/// Looks into the rows; the index, where there is one that fits, only makes it faster.
pub(super) struct RowReader<'a> {
    pub(super) connection: &'a Connection,
    pub(super) index: &'a Index,
}

impl RowReader<'_> {
    /// Calls `each` for the records after `after`, in order, until it breaks. They are borrowed from their row: a journal
    /// of gigabytes is read without copying it.
    pub(super) fn each(
        &self,
        after: Seq,
        mut each: impl FnMut(RowRecord<'_>) -> ControlFlow<()>,
    ) -> rusqlite::Result<()> {
        self.each_in_row(after, |_, record| each(record))
    }

    /// The same, each with the first sequence of its row.
    pub(super) fn each_in_row(
        &self,
        after: Seq,
        mut each: impl FnMut(Seq, RowRecord<'_>) -> ControlFlow<()>,
    ) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(ROWS_FROM)?;
        let mut rows = statement.query([Seq(after.0.saturating_add(1))])?;
        while let Some(row) = rows.next()? {
            let first = row.get(0)?;
            for record in RowRecords::of(first, row.get_ref(2)?.as_blob()?)? {
                let record = record?;
                if record.seq > after && each(first, record).is_break() {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// What `look` makes of one record and of the first sequence of its row, if there is such a record.
    pub(super) fn record<T>(
        &self,
        seq: Seq,
        look: impl FnOnce(Seq, RowRecord<'_>) -> T,
    ) -> rusqlite::Result<Option<T>> {
        let mut statement = self.connection.prepare_cached(ROW_WITH)?;
        let mut rows = statement.query([seq])?;
        let Some(row) = rows.next()? else { return Ok(None) };
        let first: Seq = row.get(0)?;
        for record in RowRecords::of(first, row.get_ref(1)?.as_blob()?)? {
            let record = record?;
            if record.seq == seq {
                return Ok(Some(look(first, record)));
            }
        }
        Ok(None)
    }

    /// Calls `each` for these records, which are given in order. What stands in one row is read at once.
    pub(super) fn each_of(&self, seqs: &[Seq], mut each: impl FnMut(RowRecord<'_>)) -> rusqlite::Result<()> {
        let mut statement = self.connection.prepare_cached(ROW_WITH)?;
        let mut wanted = seqs.iter().copied();
        let mut next = wanted.next();
        while let Some(seq) = next {
            let mut rows = statement.query([seq])?;
            let Some(row) = rows.next()? else { return Ok(()) };
            for record in RowRecords::of(row.get(0)?, row.get_ref(1)?.as_blob()?)? {
                let record = record?;
                if Some(record.seq) == next {
                    each(record);
                    next = wanted.next();
                }
            }
            if next == Some(seq) {
                // There is no such record.
                next = wanted.next();
            }
        }
        Ok(())
    }

    /// Where the records of a subject are, in order.
    pub(super) fn seqs_of(&self, subject: &str) -> rusqlite::Result<Vec<Seq>> {
        let (mut seqs, upto) = self.index.look_up(self, subject);
        self.each(upto, |record| {
            if record.skeleton.subject == subject.as_bytes() {
                seqs.push(record.seq);
            }
            ControlFlow::Continue(())
        })?;
        Ok(seqs)
    }

    pub(super) fn last_of(&self, subject: &str) -> rusqlite::Result<Option<Seq>> {
        Ok(self.seqs_of(subject)?.pop())
    }
}

impl Journal {
    pub(super) fn reader(&self) -> RowReader<'_> {
        RowReader { connection: &self.connection, index: &self.index }
    }

    pub(in crate::store) fn replay(&self, after: Seq, each: &mut dyn FnMut(Stored)) -> Result<(), StoreError> {
        let all = |record: RowRecord<'_>| {
            each(record.stored());
            ControlFlow::Continue(())
        };
        self.reader().each(after, all).map_err(StoreError::doing("replaying the journal"))
    }

    pub(in crate::store) fn pick(&self, seqs: &[Seq], each: &mut dyn FnMut(Stored)) -> Result<(), StoreError> {
        let picked = self.reader().each_of(seqs, |record| each(record.stored()));
        picked.map_err(StoreError::doing("reading records of the journal"))
    }

    pub(in crate::store) fn page(&self, after: Seq, limit: usize) -> Result<Vec<Stored>, StoreError> {
        let (mut page, mut bytes) = (Vec::new(), 0);
        let fill = |record: RowRecord<'_>| {
            if page.len() == limit || bytes >= LARGE_PAGE {
                return ControlFlow::Break(());
            }
            let stored = record.stored();
            bytes += stored.bytes();
            page.push(stored);
            ControlFlow::Continue(())
        };
        self.reader().each(after, fill).map_err(StoreError::doing("reading a page of the journal"))?;
        Ok(page)
    }

    pub(in crate::store) fn read(&self, subject: &str) -> Result<Vec<Stored>, StoreError> {
        let last = self.last_of(subject)?;
        self.read_back(subject, last).map_err(StoreError::doing("reading a subject of the journal"))
    }

    /// The records of a subject up to `last`: each names the one before it.
    fn read_back(&self, subject: &str, last: Option<Seq>) -> rusqlite::Result<Vec<Stored>> {
        let (reader, mut next, mut found) = (self.reader(), last, vec![]);
        while let Some(seq) = next {
            let read = reader.record(seq, |_, record| (record.stored(), record.skeleton.after))?;
            // Only in a journal that someone has changed is it another's, or comes after this one.
            let Some((stored, after)) = read.filter(|(stored, after)| stored.subject == subject && *after < seq.0)
            else {
                break;
            };
            found.push(stored);
            next = (after > 0).then_some(Seq(after));
        }
        found.reverse();
        Ok(found)
    }

    pub(in crate::store) fn head(&self) -> Result<String, StoreError> {
        let tail = Tail::look_up(&self.connection).map_err(StoreError::doing("reading the journal's head"))?;
        Ok(chain::to_hex(&tail.chain))
    }

    pub(in crate::store) fn verify(&self, head: Option<&str>) -> Result<Verified, VerifyError> {
        let mut walk = Walk::towards(head)?;
        let retired = self.retired().map_err(StoreError::doing("reading what was erased by age"))?;
        walk.retired = Some((retired, youngest_retired()));
        self.walk(&mut walk).map_err(StoreError::doing("walking the journal's chain"))??;
        walk.arrive()
    }

    fn walk(&self, walk: &mut Walk) -> rusqlite::Result<Result<(), VerifyError>> {
        let mut statement = self.connection.prepare_cached(ROWS_FROM)?;
        let mut rows = statement.query([Seq(0)])?;
        while let Some(row) = rows.next()? {
            let (first, count, bytes) = (row.get(0)?, row.get(1)?, row.get_ref(2)?.as_blob()?);
            if let Err(broken) = walk_row(walk, first, count, bytes) {
                return Ok(Err(broken));
            }
        }
        Ok(Ok(()))
    }

    /// A value of the journal's own notes.
    pub(super) fn meta(&self, name: &str) -> rusqlite::Result<Option<Vec<u8>>> {
        self.connection.query_row("SELECT value FROM meta WHERE name = ?1", [name], |row| row.get(0)).optional()
    }
}

fn walk_row(walk: &mut Walk, first: Seq, count: Seq, bytes: &[u8]) -> Result<(), VerifyError> {
    let damaged = |Malformed(seq)| VerifyError::Broken { seq, what: "changed, or not where it was written" };
    let mut next = first;
    for record in RowRecords::of(first, bytes).map_err(damaged)? {
        walk.step(&record.map_err(damaged)?.found())?;
        next = Seq(next.0.saturating_add(1));
    }
    // A row without records would hide those of the row it stands in.
    if next == first {
        return Err(VerifyError::Broken { seq: first, what: "its row holds no record" });
    }
    if next.0 != first.0.saturating_add(count.0) {
        return Err(VerifyError::Broken { seq: next, what: "its row was made longer or shorter" });
    }
    Ok(())
}
