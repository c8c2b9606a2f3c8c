//! Appending a batch in one transaction, and erasing what must not stay.

use std::time::{Duration, Instant};
use std::{slice, thread};

use rusqlite::{CachedStatement, OptionalExtension, Transaction, TransactionBehavior};

use super::Journal;
use crate::store::chain::{self, GENESIS, Hash, Salt, Skeleton};
use crate::store::{Append, Entry, Refused, Seq, StoreError};

const TAIL: &str = "
    SELECT (SELECT max(seq) FROM record), (SELECT chain FROM record WHERE writer = ?1 ORDER BY seq DESC LIMIT 1)";
const LAST: &str = "SELECT seq FROM record WHERE subject = ?1 ORDER BY after DESC LIMIT 1";
const IS_OF: &str = "SELECT 1 FROM record WHERE seq = ?1 AND subject = ?2";
const INSERT: &str = "
    INSERT INTO record (seq, subject, after, at, writer, body, digest, chain) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
    ON CONFLICT (subject, after) DO NOTHING";
const INSERT_PAYLOAD: &str = "INSERT INTO payload (seq, salt, bytes) VALUES (?1, ?2, ?3)";
const ERASE: &str = "
    UPDATE payload SET salt = NULL, bytes = NULL
    WHERE seq IN (SELECT seq FROM record WHERE subject = ?1) AND salt IS NOT NULL";

impl Journal {
    pub(super) fn append(&mut self, appends: &[Append]) -> Vec<Result<Seq, Refused>> {
        self.append_all(appends).unwrap_or_else(|error| {
            // Everything was taken back, also what others in the batch had a conflict with: all have failed.
            let refused = Refused::from(error);
            vec![Err(refused); appends.len()]
        })
    }

    fn append_all(&mut self, appends: &[Append]) -> Result<Vec<Result<Seq, Refused>>, StoreError> {
        let payloads = appends.iter().flat_map(|append| &append.entries).filter(|entry| entry.payload.is_some());
        self.salts.resize(payloads.count(), Salt::default());
        getrandom::fill(self.salts.as_flattened_mut()).map_err(StoreError::doing("drawing salts"))?;
        self.transact(appends).map_err(StoreError::doing("appending to the journal"))
    }

    fn transact(&mut self, appends: &[Append]) -> rusqlite::Result<Vec<Result<Seq, Refused>>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut batch = Batch::begin(&transaction, &self.writer, &self.salts)?;
        let answers = appends.iter().map(|append| batch.append(append)).collect::<rusqlite::Result<_>>()?;
        drop(batch);
        transaction.commit()?;
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

/// One transaction being filled.
struct Batch<'a> {
    transaction: &'a Transaction<'a>,
    is_of: CachedStatement<'a>,
    insert: CachedStatement<'a>,
    insert_payload: CachedStatement<'a>,
    writer: &'a [u8],
    /// Enough for the payloads that are still to come.
    salts: slice::Iter<'a, Salt>,
    /// The journal's last record so far.
    last: Seq,
    /// The writer's chain so far.
    chain: Hash,
}

impl<'a> Batch<'a> {
    /// Looks up the tail anew each time: nothing to keep in step when a transaction fails or another process writes.
    fn begin(transaction: &'a Transaction<'a>, writer: &'a [u8], salts: &'a [Salt]) -> rusqlite::Result<Self> {
        let (last, chain): (Option<Seq>, Option<Hash>) =
            transaction.prepare_cached(TAIL)?.query_row([writer], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(Self {
            transaction,
            is_of: transaction.prepare_cached(IS_OF)?,
            insert: transaction.prepare_cached(INSERT)?,
            insert_payload: transaction.prepare_cached(INSERT_PAYLOAD)?,
            writer,
            salts: salts.iter(),
            last: last.unwrap_or(Seq(0)),
            chain: chain.unwrap_or(GENESIS),
        })
    }

    fn append(&mut self, append: &Append) -> rusqlite::Result<Result<Seq, Refused>> {
        let Some((first, rest)) = append.entries.split_first() else {
            return Ok(Err(Refused::nothing_to_append()));
        };
        // The unique index sees who comes second, but not who names a record that never was the subject's.
        if let Some(after) = append.after
            && !self.is_of.exists((after, &append.subject))?
        {
            return self.conflict(&append.subject);
        }
        if !self.insert(&append.subject, append.after.unwrap_or(Seq(0)), first)? {
            return self.conflict(&append.subject);
        }
        for entry in rest {
            self.insert(&append.subject, self.last, entry)?;
        }
        Ok(Ok(self.last))
    }

    /// False when the subject already has a record after that one.
    fn insert(&mut self, subject: &str, after: Seq, entry: &Entry) -> rusqlite::Result<bool> {
        let seq = Seq(self.last.0 + 1);
        let payload = match &entry.payload {
            None => None,
            Some(payload) => Some((self.salt()?, payload)),
        };
        let digest = payload.map(|(salt, payload)| chain::digest(salt, payload));
        let skeleton = Skeleton {
            writer: self.writer,
            subject: subject.as_bytes(),
            after: after.0,
            at: entry.at,
            body: &entry.body,
            digest: digest.as_ref().map(Hash::as_slice),
        };
        let chain = skeleton.chained_to(&self.chain);
        let inserted = self.insert.execute((
            seq,
            subject,
            after,
            entry.at.cast_signed(),
            self.writer,
            &entry.body,
            skeleton.digest,
            chain,
        ))?;
        if inserted == 0 {
            return Ok(false);
        }
        if let Some((salt, payload)) = payload {
            self.insert_payload.execute((seq, salt, payload))?;
        }
        self.last = seq;
        self.chain = chain;
        Ok(true)
    }

    /// An error, rather than a payload that could be guessed from its digest.
    fn salt(&mut self) -> rusqlite::Result<&'a Salt> {
        self.salts.next().ok_or_else(|| rusqlite::Error::ToSqlConversionFailure("too few salts were drawn".into()))
    }

    fn conflict(&self, subject: &str) -> rusqlite::Result<Result<Seq, Refused>> {
        let last = self.transaction.prepare_cached(LAST)?.query_row([subject], |row| row.get(0)).optional()?;
        Ok(Err(Refused::Conflict { last }))
    }
}
