//! Payloads do not stay for ever: the oldest are erased when they are too old, or together too large.

use std::path::Path;
use std::time::{Duration, SystemTime};

use rusqlite::{OptionalExtension as _, TransactionBehavior, params};

use super::Journal;
use crate::store::{Durability, OpenError, StoreError};

/// What is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retention {
    /// Payloads older than this moment (milliseconds since 1970) go.
    pub(crate) not_before: u64,
    /// Of the rest, the oldest go while they are together larger than this …
    pub(crate) most_bytes: u64,
    /// … but none that is younger than this moment: somebody may still be waiting for it.
    pub(crate) keep_after: u64,
}

/// A writer waits no longer than for this many rows.
const AT_ONCE: usize = 1000;

/// `retired`: everything up to this sequence has been erased by age or size.
const RETIRED: &str = "SELECT value FROM meta WHERE name = 'retired'";
const SET_RETIRED: &str = "INSERT INTO meta VALUES ('retired', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1";
const AT: &str = "SELECT at FROM record WHERE seq = ?1";
const KEPT: &str = "SELECT coalesce(sum(length(bytes)), 0) FROM record WHERE seq > ?1";
const OLDEST: &str = "
    SELECT seq, at, coalesce(length(bytes), 0) FROM record
    WHERE seq > ?1 AND digest IS NOT NULL ORDER BY seq LIMIT ?2";
const ERASE: &str = "UPDATE record SET salt = NULL, bytes = NULL WHERE seq > ?1 AND seq <= ?2 AND salt IS NOT NULL";

/// What was erased by age or size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retired {
    /// Payloads erased just now.
    pub(crate) erased: usize,
    /// Everything up to this moment is erased, by now or before.
    pub(crate) until: u64,
}

/// Erases what is not to be kept, with a connection of its own: the gate goes on meanwhile.
pub(crate) fn retire(path: &Path, retention: Retention) -> Result<Retired, RetireError> {
    let mut journal = Journal::open(path, Durability::Process)?;
    let erased = journal.retire(retention).map_err(StoreError::doing("erasing old payloads"))?;
    let until = journal.retired_until().map_err(StoreError::doing("looking at what was erased"))?;
    if erased > 0 {
        journal.empty_the_log()?;
    }
    Ok(Retired { erased, until })
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum RetireError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// No payload that is younger than this is erased by age or size, whatever the settings: somebody may wait for it. Said
/// here as well, so that whoever erases something else cannot call it that.
pub(super) fn youngest_retired() -> u64 {
    const A_DAY: Duration = Duration::from_secs(24 * 3600);
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(A_DAY).as_millis()).unwrap_or(u64::MAX)
}

impl Journal {
    /// Up to which record payloads have been erased by age or size.
    pub(super) fn retired(&self) -> rusqlite::Result<i64> {
        let retired: Option<Vec<u8>> = self.connection.query_row(RETIRED, [], |row| row.get(0)).optional()?;
        Ok(retired.and_then(|bytes| Some(i64::from_be_bytes(bytes.try_into().ok()?))).unwrap_or(0))
    }

    /// When the last record was written whose payload has been erased by age or size.
    fn retired_until(&self) -> rusqlite::Result<u64> {
        let at = self.connection.query_row(AT, [self.retired()?], |row| row.get::<_, i64>(0)).optional()?;
        Ok(at.map_or(0, i64::cast_unsigned))
    }

    fn retire(&mut self, retention: Retention) -> rusqlite::Result<usize> {
        let mut retired = self.retired()?;
        let mut kept: u64 = self.connection.query_row(KEPT, [retired], |row| row.get::<_, i64>(0))?.cast_unsigned();
        let mut erased = 0;
        loop {
            let (mut upto, mut goes_on) = (retired, false);
            {
                let mut oldest = self.connection.prepare_cached(OLDEST)?;
                let mut rows = oldest.query(params![retired, AT_ONCE as i64])?;
                let mut seen = 0;
                while let Some(row) = rows.next()? {
                    let (seq, at, size): (i64, i64, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
                    let (at, size) = (at.cast_unsigned(), size.cast_unsigned());
                    let goes = at < retention.not_before || kept > retention.most_bytes && at < retention.keep_after;
                    if !goes {
                        break;
                    }
                    (upto, kept, seen) = (seq, kept - size, seen + 1);
                }
                goes_on |= seen == AT_ONCE;
            }
            if upto > retired {
                let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
                erased += transaction.execute(ERASE, params![retired, upto])?;
                transaction.execute(SET_RETIRED, params![upto.to_be_bytes().as_slice()])?;
                transaction.commit()?;
                retired = upto;
            }
            if !goes_on {
                return Ok(erased);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Append, Entry, Payload, Seq, Store};

    async fn journal_of(path: &Path, entries: impl Iterator<Item = (u64, usize)>) {
        let mut store = Store::sqlite(path, Durability::Process).unwrap();
        let appends = entries.enumerate().map(|(number, (at, size))| {
            let payload = (size > 0).then(|| vec![b'x'; size].into());
            Append {
                subject: format!("event/{number}"),
                after: None,
                entries: vec![Entry { at, body: b"{}".into(), payload }],
            }
        });
        store.append(appends.collect()).await;
    }

    fn kept(path: &Path) -> Vec<u64> {
        let store = Store::sqlite(path, Durability::Process).unwrap();
        store.verify(None).expect("the chain holds");
        let records = store.page(Seq(0), 10_000).unwrap();
        records
            .into_iter()
            .filter(|stored| matches!(stored.payload, Payload::Kept(_)))
            .map(|stored| stored.at)
            .collect()
    }

    #[tokio::test]
    async fn what_is_too_old_or_too_much_goes_oldest_first_and_what_is_young_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        journal_of(&path, (1..=10).map(|at| (at, if at == 4 { 0 } else { 100 }))).await;
        let retire = |not_before, most_bytes, keep_after| {
            super::retire(&path, Retention { not_before, most_bytes, keep_after }).unwrap().erased
        };
        assert_eq!(retire(3, 1 << 30, 0), 2);
        assert_eq!(kept(&path), [3, 5, 6, 7, 8, 9, 10]);
        assert_eq!(retire(3, 1 << 30, 0), 0);
        assert_eq!(retire(0, 500, 99), 2, "700 bytes are 200 too many");
        assert_eq!(kept(&path), [6, 7, 8, 9, 10]);
        assert_eq!(retire(0, 0, 8), 2, "what is young stays however much it is");
        assert_eq!(kept(&path), [8, 9, 10]);
        let nothing = Retention { not_before: 0, most_bytes: 1 << 30, keep_after: 0 };
        assert_eq!(super::retire(&path, nothing).unwrap().until, 7, "also of what was erased before");
    }

    #[tokio::test]
    async fn many_go_in_several_steps() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        journal_of(&path, (0..2500).map(|at| (at, 1))).await;
        assert_eq!(
            super::retire(&path, Retention { not_before: 2400, most_bytes: 1 << 30, keep_after: 0 }).unwrap().erased,
            2400
        );
        assert_eq!(kept(&path).len(), 100);
    }
}
