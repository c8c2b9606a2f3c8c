//! Appending a batch in one transaction, and erasing what must not stay.

use std::ops::Deref;
use std::thread;
use std::time::{Duration, Instant};

use rusqlite::ffi::{SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_ROWID};
use rusqlite::{CachedStatement, Connection, OptionalExtension};

use super::Journal;
use crate::store::chain::{self, GENESIS, Hash, Salt, Skeleton};
use crate::store::{Append, Entry, Refused, Seq, StoreError};

const TAIL: &str = "
    SELECT (SELECT max(seq) FROM record), (SELECT chain FROM record WHERE writer = ?1 ORDER BY seq DESC LIMIT 1)";
const LAST: &str = "SELECT seq FROM record WHERE subject = ?1 ORDER BY after DESC LIMIT 1";
const IS_OF: &str = "SELECT 1 FROM record WHERE seq = ?1 AND subject = ?2";
const INSERT: &str = "
    INSERT INTO record (seq, subject, after, at, writer, body, digest, chain, salt, bytes)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (subject, after) DO NOTHING";
const ERASE: &str = "UPDATE record SET salt = NULL, bytes = NULL WHERE subject = ?1 AND salt IS NOT NULL";

impl Journal {
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
            // Another process has written since: the tail we knew is not the tail any more.
            Err(error) if known.is_some() && is_taken(&error) => self.transact(appends, None),
            appended => appended,
        };
        appended.map_err(StoreError::doing("appending to the journal"))
    }

    fn transact(&mut self, appends: &[Append], tail: Option<Tail>) -> rusqlite::Result<Vec<Result<Seq, Refused>>> {
        let transaction = Transaction::begin(&self.connection)?;
        let mut batch = Batch::begin(&transaction, tail, &self.writer, &mut self.salts)?;
        let answers = appends.iter().map(|append| batch.append(append)).collect::<rusqlite::Result<_>>()?;
        let tail = batch.tail;
        drop(batch);
        transaction.commit()?;
        self.tail = Some(tail);
        Ok(answers)
    }

    /// Rows are emptied where they lie, never deleted. Deleting would make SQLite move neighbours together, and copies
    /// of them stay in the unused part of a page, `secure_delete` or not, where a later erasure does not find them.
    pub(super) fn erase(&mut self, subject: &str) -> Result<usize, StoreError> {
        let erased = self.connection.execute(ERASE, [subject]).map_err(StoreError::doing("erasing payloads"))?;
        self.empty_the_log()?;
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

/// Whether someone has used a sequence that we took for free.
fn is_taken(error: &rusqlite::Error) -> bool {
    let code = error.sqlite_error().map(|error| error.extended_code);
    matches!(code, Some(SQLITE_CONSTRAINT_PRIMARYKEY | SQLITE_CONSTRAINT_ROWID))
}

/// Where the journal ends: its last record, and the writer's chain up to there.
#[derive(Clone, Copy)]
pub(super) struct Tail {
    last: Seq,
    chain: Hash,
}

impl Tail {
    fn look_up(connection: &Connection, writer: &[u8]) -> rusqlite::Result<Self> {
        let (last, chain): (Option<Seq>, Option<Hash>) =
            connection.prepare_cached(TAIL)?.query_row([writer], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self { last: last.unwrap_or(Seq(0)), chain: chain.unwrap_or(GENESIS) })
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
struct Transaction<'a>(&'a Connection);

impl<'a> Transaction<'a> {
    fn begin(connection: &'a Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN IMMEDIATE")?.execute([])?;
        Ok(Self(connection))
    }

    fn commit(self) -> rusqlite::Result<()> {
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
    transaction: &'a Transaction<'a>,
    insert: CachedStatement<'a>,
    writer: &'a [u8],
    salts: &'a mut Salts,
    /// Where the journal ends so far.
    tail: Tail,
}

impl<'a> Batch<'a> {
    /// What is known of the tail from the batch before need not be looked up. Should it be wrong, the first insert
    /// finds its sequence taken.
    fn begin(
        transaction: &'a Transaction<'a>,
        tail: Option<Tail>,
        writer: &'a [u8],
        salts: &'a mut Salts,
    ) -> rusqlite::Result<Self> {
        let tail = tail.map_or_else(|| Tail::look_up(transaction, writer), Ok)?;
        let insert = transaction.prepare_cached(INSERT)?;
        Ok(Self { transaction, insert, writer, salts, tail })
    }

    fn append(&mut self, append: &Append) -> rusqlite::Result<Result<Seq, Refused>> {
        let Some((first, rest)) = append.entries.split_first() else {
            return Ok(Err(Refused::nothing_to_append()));
        };
        // The unique index sees who comes second, but not who names a record that never was the subject's.
        if let Some(after) = append.after
            && !self.transaction.prepare_cached(IS_OF)?.exists((after, &append.subject))?
        {
            return self.conflict(&append.subject);
        }
        if !self.insert(&append.subject, append.after.unwrap_or(Seq(0)), first)? {
            return self.conflict(&append.subject);
        }
        for entry in rest {
            self.insert(&append.subject, self.tail.last, entry)?;
        }
        Ok(Ok(self.tail.last))
    }

    /// False when the subject already has a record after that one.
    fn insert(&mut self, subject: &str, after: Seq, entry: &Entry) -> rusqlite::Result<bool> {
        let seq = Seq(self.tail.last.0 + 1);
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
        let inserted = self.insert.execute((
            seq,
            subject,
            after,
            entry.at.cast_signed(),
            self.writer,
            &entry.body,
            skeleton.digest,
            chain,
            payload.map(|(salt, _)| salt),
            payload.map(|(_, bytes)| bytes),
        ))?;
        if inserted == 0 {
            return Ok(false);
        }
        self.tail = Tail { last: seq, chain };
        Ok(true)
    }

    fn conflict(&self, subject: &str) -> rusqlite::Result<Result<Seq, Refused>> {
        let last = self.transaction.prepare_cached(LAST)?.query_row([subject], |row| row.get(0)).optional()?;
        Ok(Err(Refused::Conflict { last }))
    }
}
