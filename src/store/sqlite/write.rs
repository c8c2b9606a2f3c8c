//! Appending: what is written together becomes one row, and is committed in one transaction.

use std::ops::{ControlFlow, Deref};

use rusqlite::Connection;
use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_ROWID};

use super::Journal;
use super::form::{self, Malformed, NewRecord, RowRecords};
use super::known::KnownSubjects;
use super::read::RowReader;
use crate::store::chain::{self, GENESIS, Hash, Salt, Skeleton};
use crate::store::{Append, Entry, Refused, Seq, StoreError};

/// A row takes no further record when it has grown to this many bytes, so that a single record can be read without
/// reading much else. What one record has is never divided.
pub(super) const LARGE_ROW: usize = 64 << 10;

const LAST_ROW: &str = "SELECT first_seq, bytes FROM batch ORDER BY first_seq DESC LIMIT 1";
pub(super) const INSERT: &str = "INSERT INTO batch (first_seq, count, bytes) VALUES (?1, ?2, ?3)";

impl Journal {
    /// The last record of a subject, as far as this connection can see without a transaction.
    pub(super) fn last_of(&self, subject: &str) -> Result<Option<Seq>, StoreError> {
        if self.tail.is_none() {
            // What is noted may be of a transaction that was taken back.
            let last = self.reader().last_of(subject);
            return last.map_err(StoreError::doing("looking for the last record of a subject"));
        }
        let reader = self.reader();
        let last = self.known.borrow_mut().look_up(&reader, subject);
        last.map_err(StoreError::doing("looking for the last record of a subject"))
    }

    pub(super) fn append(&mut self, appends: &[Append]) -> Vec<Result<Seq, Refused>> {
        self.append_all(appends).unwrap_or_else(|error| {
            // Everything was taken back, also what others in the batch had a conflict with: all have failed.
            let refused = Refused::from(error);
            vec![Err(refused); appends.len()]
        })
    }

    fn append_all(&mut self, appends: &[Append]) -> Result<Vec<Result<Seq, Refused>>, StoreError> {
        let known = self.tail.take();
        let appended = match self.transact(appends, known) {
            // Another process has written since: neither the tail we knew nor the last records of subjects are the last.
            Err(error) if known.is_some() && is_taken(&error) => self.transact(appends, None),
            appended => appended,
        };
        appended.map_err(StoreError::doing("appending to the journal"))
    }

    fn transact(&mut self, appends: &[Append], tail: Option<Tail>) -> rusqlite::Result<Vec<Result<Seq, Refused>>> {
        let transaction = Transaction::begin(&self.connection)?;
        let tail = match tail {
            Some(tail) => tail,
            None => {
                let tail = Tail::look_up(&transaction)?;
                self.known.get_mut().forget(tail.last);
                tail
            }
        };
        form::begin(&mut self.row, &self.writer);
        let mut batch = Batch {
            reader: RowReader { connection: &transaction, index: &self.index },
            writer: &self.writer,
            salts: &mut self.salts,
            known: self.known.get_mut(),
            row: &mut self.row,
            first: Seq(tail.last.0 + 1),
            tail,
        };
        let answers = appends.iter().map(|append| batch.append(append)).collect::<rusqlite::Result<_>>()?;
        batch.finish_row()?;
        let tail = batch.tail;
        transaction.commit()?;
        self.tail = Some(tail);
        Ok(answers)
    }
}

impl KnownSubjects {
    /// The last record of a subject, exactly. What had to be gone through for it need not be again.
    fn look_up(&mut self, reader: &RowReader<'_>, subject: &str) -> rusqlite::Result<Option<Seq>> {
        if let Some(last) = self.last(self.key(subject)) {
            let is_its_own = reader.record(last, |_, record| record.skeleton.subject == subject.as_bytes())?;
            return if is_its_own == Some(true) { Ok(Some(last)) } else { reader.last_of(subject) };
        }
        let (mut indexed, upto) = reader.index.look_up(reader, subject);
        let (mut last, mut older) = (indexed.pop(), vec![]);
        if upto >= self.after() {
            return Ok(last);
        }
        reader.each(upto, |record| {
            if record.seq > self.after() {
                return ControlFlow::Break(());
            }
            if record.skeleton.subject == subject.as_bytes() {
                last = Some(record.seq);
            }
            older.push((self.key(record.skeleton.subject), record.seq));
            ControlFlow::Continue(())
        })?;
        self.note_older(upto, &older);
        Ok(last)
    }
}

/// Whether someone has used a sequence that we took for free.
fn is_taken(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_CONSTRAINT_PRIMARYKEY | SQLITE_CONSTRAINT_ROWID))
}

/// Where the journal ends: its last record, and the chain up to there.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    pub(super) last: Seq,
    pub(super) chain: Hash,
}

impl Tail {
    pub(super) fn look_up(connection: &Connection) -> rusqlite::Result<Self> {
        let mut statement = connection.prepare_cached(LAST_ROW)?;
        let mut rows = statement.query([])?;
        let mut tail = Self { last: Seq(0), chain: GENESIS };
        let Some(row) = rows.next()? else { return Ok(tail) };
        let first = row.get(0)?;
        for record in RowRecords::of(first, row.get_ref(1)?.as_blob()?)? {
            let record = record?;
            tail = Self { last: record.seq, chain: record.chain.try_into().unwrap_or(GENESIS) };
        }
        if tail.last == Seq(0) { Err(Malformed(first).into()) } else { Ok(tail) }
    }
}

/// Salts drawn and not yet used: the system is asked for many at once.
#[derive(Default)]
pub(super) struct Salts(Vec<Salt>);

impl Salts {
    const AT_ONCE: usize = 256;

    /// An error, rather than a payload that could be guessed from its digest.
    fn next(&mut self) -> rusqlite::Result<Salt> {
        if self.0.is_empty() {
            let mut drawn = vec![Salt::default(); Self::AT_ONCE];
            getrandom::fill(drawn.as_flattened_mut())
                .map_err(|error| rusqlite::Error::ToSqlConversionFailure(format!("drawing salts: {error}").into()))?;
            self.0 = drawn;
        }
        Ok(self.0.pop().unwrap_or_default())
    }
}

/// A transaction that may write from its first moment, and is taken back unless it is committed. Unlike rusqlite's own
/// it has its statements prepared.
pub(super) struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    pub(super) fn begin(connection: &'a Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    pub(super) fn commit(self) -> rusqlite::Result<()> {
        self.prepare_cached("COMMIT")?.execute([]).map(drop)
    }
}

impl Deref for Transaction<'_> {
    type Target = Connection;

    fn deref(&self) -> &Connection {
        self.0
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        if !self.is_autocommit()
            && let Err(error) = self.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "a transaction of the journal could not be taken back");
        }
    }
}

/// One transaction being filled.
struct Batch<'a> {
    reader: RowReader<'a>,
    writer: &'a [u8],
    salts: &'a mut Salts,
    /// If the transaction is taken back, it is forgotten with all that was noted here.
    known: &'a mut KnownSubjects,
    /// The row being filled.
    row: &'a mut Vec<u8>,
    /// Its first record.
    first: Seq,
    /// Where the journal ends so far.
    tail: Tail,
}

impl Batch<'_> {
    fn append(&mut self, append: &Append) -> rusqlite::Result<Result<Seq, Refused>> {
        if append.entries.is_empty() {
            return Ok(Err(Refused::nothing_to_append()));
        }
        let key = self.known.key(&append.subject);
        let known = self.known.last(key);
        let is_right = known.is_some() && known == append.after || known.is_none() && append.fresh;
        if !is_right {
            let last = match known.filter(|seq| *seq >= self.first) {
                // WrittenAppends in this very transaction, so that no reader finds it in a row yet.
                Some(seq) => Some(seq),
                None => self.known.look_up(&self.reader, &append.subject)?,
            };
            if last != append.after {
                return Ok(Err(Refused::Conflict { last }));
            }
        }
        let mut after = append.after.unwrap_or(Seq(0));
        for entry in &append.entries {
            self.put(&append.subject, after, entry)?;
            after = self.tail.last;
        }
        self.known.note(key, after);
        Ok(Ok(after))
    }

    fn put(&mut self, subject: &str, after: Seq, entry: &Entry) -> rusqlite::Result<()> {
        let payload = match &entry.payload {
            None => None,
            Some(payload) => Some((self.salts.next()?, payload)),
        };
        let digest = payload.as_ref().map(|(salt, payload)| chain::digest(salt, payload));
        let skeleton = Skeleton {
            writer: self.writer,
            subject: subject.as_bytes(),
            after: after.0,
            at: entry.at,
            body: &entry.body,
            digest: digest.as_ref().map(Hash::as_slice),
        };
        let chain = skeleton.chained_to(&self.tail.chain);
        let payload = payload.as_ref().map(|(salt, bytes)| (salt.as_slice(), bytes.as_ref()));
        form::put(self.row, &NewRecord { skeleton, chain: &chain, payload });
        self.tail = Tail { last: Seq(self.tail.last.0 + 1), chain };
        if self.row.len() >= LARGE_ROW {
            self.finish_row()?;
        }
        Ok(())
    }

    fn finish_row(&mut self) -> rusqlite::Result<()> {
        let count = (self.tail.last.0 + 1).saturating_sub(self.first.0);
        if count > 0 {
            let mut insert = self.reader.connection.prepare_cached(INSERT)?;
            insert.execute((self.first, count.cast_signed(), self.row.as_slice()))?;
            self.first = Seq(self.tail.last.0 + 1);
            form::begin(self.row, self.writer);
        }
        Ok(())
    }
}
