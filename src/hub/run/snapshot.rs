//! Snapshots of the state, so that a start need not replay the whole journal. The journal is the truth: a snapshot is a
//! cache of it that may be missing, and it holds nothing that people or agents wrote.

use portcullis_core::{Limits, State};

use super::super::heads::Heads;
use super::HubLoop;
use super::replay::{ReadState, read_record};
use crate::store::{Records, Seq, Snapshot};

impl HubLoop {
    /// Under a load that never pauses something is always on its way to the disk. Then it is waited for, once in a while:
    /// else there would be no snapshot for as long as the load lasts.
    pub(super) fn is_snapshot_overdue(&self) -> bool {
        let since = self.state.revision().saturating_sub(self.snapshot_at);
        since >= self.snapshot_after.saturating_mul(2).max(1) && !self.written.is_empty()
    }

    /// Keeps a snapshot if so many records came since the last one. Saving takes a few milliseconds, for what a state
    /// remembers is bounded; it is written elsewhere. Nothing may be on its way: what is in the state is in the journal.
    pub(super) fn keep_snapshot(&mut self, worthwhile: u64) {
        let revision = self.state.revision();
        if revision.saturating_sub(self.snapshot_at) < worthwhile.max(1) {
            return;
        }
        let is_settled = self.written.is_empty() && self.batch.is_empty();
        if !is_settled || self.broken.is_some() || self.store.failure().is_some() {
            return;
        }
        self.save_snapshot(revision);
    }

    /// A function of its own, so that what is counted for an event (`bench/counts.rs`) can leave it out.
    #[inline(never)]
    fn save_snapshot(&mut self, revision: u64) {
        let mut bytes = opening(&self.version);
        bytes.extend(self.state.save(&self.heads.known_to(&self.state)));
        if !self.store.keep_snapshot(Seq(revision), bytes) {
            tracing::warn!("another process has written to the journal: no snapshot is made of what it does not hold");
        }
        // Also where it was not kept: it is not tried at each batch.
        self.snapshot_at = revision;
    }
}

/// Another release may make another state of the same records.
fn opening(version: &str) -> Vec<u8> {
    format!("{version}\n").into_bytes()
}

/// What the snapshot says, whole again with the texts that the journal still has, and the record up to which it is.
pub(super) fn restored(records: Records<'_>, limits: &Limits, version: &str) -> Option<ReadState> {
    let Snapshot { upto, bytes } = records.snapshot()?;
    let (mut state, ends) = State::restore(limits.clone(), bytes.strip_prefix(&*opening(version))?)?;
    if state.revision() != upto.0 {
        return None;
    }
    let wanted: Vec<Seq> = state.text_records().into_iter().map(Seq).collect();
    let mut put_back = 0;
    let picked = records.pick(&wanted, &mut |stored| {
        let is_put_back = read_record(&stored).is_ok_and(|record| state.put_text_back(stored.seq.0, &record));
        put_back += usize::from(is_put_back);
    });
    if picked.is_err() || put_back != wanted.len() {
        tracing::warn!("the snapshot does not fit the journal, which is read as a whole");
        return None;
    }
    tracing::debug!(upto = upto.0, "the state was read from a snapshot");
    Some(ReadState { state, heads: Heads::of(ends), snapshot: upto })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use portcullis_core::{Answer, SessionId, Subject, SubjectEnds};

    use super::super::super::tests::{Process, hub_on, said};
    use super::super::replay::read_state;
    use super::*;
    use crate::mint::mint;
    use crate::store::StoreConfig;

    /// What the journal comes to, with its snapshot or with none.
    fn read(journal: &Path) -> (State, SubjectEnds, Seq) {
        let store = StoreConfig::at(journal).open().unwrap();
        let read = read_state(store.records(), &Limits::default(), "1").unwrap();
        let mut ends = read.heads.known_to(&read.state);
        ends.sort();
        (read.state, ends, read.snapshot)
    }

    #[tokio::test]
    async fn a_start_with_a_snapshot_knows_what_the_whole_journal_says() {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal.db");
        let snapshot = folder.path().join("journal.db.snapshot");
        let session = mint(SessionId::new);
        let mut last = None;
        for round in 0..3_u64 {
            let (hub, stop, task) = hub_on(StoreConfig::at(&journal).open().unwrap()).await;
            let mut process = Process::attach(&hub, session).await;
            for number in 0..30 {
                let said = hub.submit(said(&format!("secret {round} {number}"))).await.unwrap();
                let Answer::Accepted { event, .. } = said else { panic!("{said:?}") };
                last = Some(event);
                let (ids, _) = process.next_event().await;
                // The last ones still wait when the gate stops.
                if number < 25 {
                    process.wrote(&hub, ids).await;
                }
            }
            stop.cancel();
            task.await.unwrap();
            let (with, ends, upto) = read(&journal);
            assert!(upto.0 > 30 * round, "the snapshot of round {round} is used: {upto:?}");
            let kept = fs::read(&snapshot).unwrap();
            assert!(!kept.windows(7).any(|bytes| bytes == b"secret "), "it holds no text");
            fs::remove_file(&snapshot).unwrap();
            let (without, all_ends, from) = read(&journal);
            assert_eq!((with, ends, from), (without, all_ends, Seq(0)), "round {round}");
            if round > 0 {
                fs::write(&snapshot, kept).unwrap();
            }
        }

        // What is redacted is gone also where a snapshot was made before.
        let waiting = Subject::Event(last.unwrap());
        let (hub, stop, task) = hub_on(StoreConfig::at(&journal).open().unwrap()).await;
        assert_eq!(hub.erase(waiting).await.unwrap().payloads, 1);
        let told = hub.look(|state| format!("{state:?}")).await.unwrap();
        assert!(told.contains("secret 2 28") && !told.contains("secret 2 29"), "{told}");
        stop.cancel();
        task.await.unwrap();
    }

    #[test]
    fn a_snapshot_of_another_release_is_not_read() {
        let mut store = crate::store::Store::memory();
        let mut bytes = opening("1");
        bytes.extend(State::default().save(&[]));
        assert!(store.keep_snapshot(Seq(0), bytes));
        assert!(restored(store.records(), &Limits::default(), "1").is_some());
        for version in ["2", "", "11"] {
            assert!(restored(store.records(), &Limits::default(), version).is_none(), "{version}");
        }
    }
}
