//! Payloads do not stay for ever: the oldest are erased when they are too old, or together too large.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Journal;
use super::erase::{Place, note_unemptied};
use super::write::Transaction;
use crate::store::{Durability, OpenError, Seq, StoreError};

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

/// A writer waits no longer than for this many payloads.
const AT_ONCE: usize = 1000;

/// Everything up to this sequence has been erased by age or size.
const RETIRED: &str = "retired";
const SET_RETIRED: &str = "INSERT INTO meta VALUES ('retired', ?1) ON CONFLICT (name) DO UPDATE SET value = ?1";

/// What was erased by age or size.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Retired {
    /// Payloads erased just now.
    pub(crate) erased: usize,
    /// Everything up to this moment is erased, by now or before.
    pub(crate) until: u64,
}

/// Erases what is not to be kept, with a connection of its own: the gate goes on meanwhile.
pub(in crate::store) fn retire(path: &Path, retention: Retention) -> Result<Retired, RetireError> {
    let mut journal = Journal::open(path, Durability::Process)?;
    let erased = journal.retire(retention).map_err(StoreError::doing("erasing old payloads"))?;
    let until = journal.retired_until().map_err(StoreError::doing("looking at what was erased"))?;
    // Also after one that was killed before it got to this.
    if journal.is_unemptied() {
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
    pub(super) fn retired(&self) -> rusqlite::Result<Seq> {
        let noted = self.meta(RETIRED)?;
        Ok(Seq(noted.and_then(|bytes| Some(u64::from_be_bytes(bytes.try_into().ok()?))).unwrap_or(0)))
    }

    /// When the last record was written whose payload has been erased by age or size.
    fn retired_until(&self) -> rusqlite::Result<u64> {
        Ok(self.reader().record(self.retired()?, |_, record| record.skeleton.at)?.unwrap_or(0))
    }

    fn retire(&mut self, retention: Retention) -> rusqlite::Result<usize> {
        let mut retired = self.retired()?;
        let mut kept = self.kept_after(retired)?;
        let mut erased = 0;
        loop {
            let oldest = self.oldest(retired, &mut kept, retention)?;
            if oldest.upto > retired {
                let transaction = Transaction::begin(&self.connection)?;
                for place in &oldest.payloads {
                    place.erase(&transaction)?;
                }
                note_unemptied(&transaction)?;
                transaction.execute(SET_RETIRED, [oldest.upto.0.to_be_bytes().as_slice()])?;
                transaction.commit()?;
                erased += oldest.payloads.len();
                retired = oldest.upto;
            }
            if oldest.seen < AT_ONCE {
                return Ok(erased);
            }
        }
    }

    /// How large the payloads after a record are together.
    fn kept_after(&self, after: Seq) -> rusqlite::Result<u64> {
        let mut kept = 0;
        self.reader().each(after, |record| {
            kept += record.kept().unwrap_or(0) as u64;
            ControlFlow::Continue(())
        })?;
        Ok(kept)
    }

    /// The next payloads that are to go; what is then left is taken off `kept`.
    fn oldest(&self, after: Seq, kept: &mut u64, retention: Retention) -> rusqlite::Result<Oldest> {
        let mut oldest = Oldest { payloads: vec![], upto: after, seen: 0 };
        self.reader().each_in_row(after, |row, record| {
            if record.skeleton.digest.is_none() {
                return ControlFlow::Continue(());
            }
            let at = record.skeleton.at;
            let goes = at < retention.not_before || *kept > retention.most_bytes && at < retention.keep_after;
            if !goes || oldest.seen == AT_ONCE {
                return ControlFlow::Break(());
            }
            *kept = kept.saturating_sub(record.kept().unwrap_or(0) as u64);
            (oldest.upto, oldest.seen) = (record.seq, oldest.seen + 1);
            oldest.payloads.extend(Place::of(row, &record));
            ControlFlow::Continue(())
        })?;
        Ok(oldest)
    }
}

/// Payloads whose time has come, at most [`AT_ONCE`].
struct Oldest {
    payloads: Vec<Place>,
    /// The last record that was looked at and whose payload goes, or is gone.
    upto: Seq,
    seen: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Append, Entry, Payload, Store};

    async fn journal_of(path: &Path, entries: impl Iterator<Item = (u64, usize)>) {
        let mut store = Store::sqlite(path, Durability::Process).unwrap();
        let appends = entries.enumerate().map(|(number, (at, size))| {
            let payload = (size > 0).then(|| vec![b'x'; size].into());
            Append {
                subject: format!("event/{number}"),
                after: None,
                fresh: false,
                entries: vec![Entry { at, body: b"{}".into(), payload }],
            }
        });
        store.append(appends.collect()).await;
    }

    fn kept(path: &Path) -> Vec<u64> {
        let store = Store::sqlite(path, Durability::Process).unwrap();
        store.records().verify(None).expect("the chain holds");
        let records = store.records().page(Seq(0), 10_000).unwrap();
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
