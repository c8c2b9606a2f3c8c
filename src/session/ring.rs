//! The end of a session's stream, kept in the session's own process: the gate fetches from it while someone looks.
//!
//! Each entry has a number that is never given twice. Whoever has an entry has it for good, so that one that was handed
//! out is not changed any more; words that nobody has seen yet are put together.

mod kept;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use portcullis_wire::stream::{EntryKind, NumberedEntry, RawEntry, StreamBatch, StreamEntry};
use tokio::sync::Notify;

use crate::fixed;
use crate::locks::locked;
use crate::mint::now;
use kept::KeptEntry;

/// As much of the stream is kept.
const KEPT: usize = 4 << 20;
/// Words are put together up to this.
const LONGEST_TEXT: usize = 4 << 10;
/// Bytes in one answer, so that what else is on the link never waits long for it.
const BATCH: usize = 128 << 10;
/// Looks that may be open at once; the gate has fewer places for listeners of one session.
const MOST_LOOKS: usize = 4096;
/// How long a session that ends waits for those who look to read to its end.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// The ring. Adapters put entries in, and the link takes them out.
pub(crate) struct StreamRing {
    state: Mutex<RingState>,
    /// There is something for the link to take, or there may be.
    ready: Notify,
    /// A look has come or gone.
    looked: Notify,
    most: usize,
}

struct RingState {
    kept: VecDeque<KeptEntry>,
    bytes: usize,
    /// The number of the last entry; 0 before the first.
    newest: u64,
    /// The highest number that was handed out.
    handed: u64,
    /// Who looks, by the gate's number of the look.
    looks: BTreeMap<u64, Looking>,
}

/// One who looks.
struct Looking {
    /// The last number that they have, as far as is known.
    after: u64,
    /// They wait for an answer; else they are about to ask again.
    waits: bool,
    /// The answer is due even where there is nothing new.
    at_once: bool,
}

impl StreamRing {
    pub(super) fn new() -> Self {
        let state = RingState { kept: VecDeque::new(), bytes: 0, newest: 0, handed: 0, looks: BTreeMap::new() };
        let most = fixed::limit("RING", KEPT);
        Self { state: Mutex::new(state), ready: Notify::new(), looked: Notify::new(), most }
    }

    fn state(&self) -> MutexGuard<'_, RingState> {
        locked(&self.state)
    }

    /// Puts an entry at the end. Never waits.
    pub(crate) fn push(&self, kind: EntryKind) {
        self.push_from(kind, now().0);
    }

    /// Puts an entry at the end that is of this moment. It may be known only later; but what stands behind another is no
    /// older than that.
    pub(crate) fn push_from(&self, kind: EntryKind, at: u64) {
        let mut state = self.state();
        if !state.put_together(&kind) {
            state.newest += 1;
            let last = state.kept.back();
            let at = at.min(now().0).max(last.map_or(0, |last| last.at));
            let entry = KeptEntry::new(state.newest, at, kind, last);
            state.bytes += entry.bytes;
            state.kept.push_back(entry);
        }
        while state.bytes > self.most
            && state.kept.len() > 1
            && let Some(oldest) = state.kept.pop_front()
        {
            state.bytes -= oldest.bytes;
        }
        let is_looked_at = !state.looks.is_empty();
        drop(state);
        if is_looked_at {
            self.ready.notify_one();
        }
    }

    pub(crate) fn is_looked_at(&self) -> bool {
        !self.state().looks.is_empty()
    }

    /// Waits until someone looks. May be dropped while waiting.
    pub(crate) async fn looked_at(&self) {
        loop {
            let looked = self.looked.notified();
            if self.is_looked_at() {
                return;
            }
            looked.await;
        }
    }

    /// Someone wants what comes after this number.
    pub(super) fn look(&self, look: u64, after: u64, at_once: bool) {
        let mut state = self.state();
        let after = after.min(state.newest);
        if state.looks.len() >= MOST_LOOKS {
            state.looks.pop_first();
        }
        state.looks.insert(look, Looking { after, waits: true, at_once });
        drop(state);
        self.looked.notify_waiters();
        self.ready.notify_one();
    }

    pub(super) fn look_away(&self, look: u64) {
        self.state().looks.remove(&look);
        self.looked.notify_waiters();
    }

    /// The gate is gone, and with it all who looked.
    pub(super) fn forget_looks(&self) {
        self.state().looks.clear();
        self.looked.notify_waiters();
    }

    /// What someone who looks is to be told next. May be dropped while waiting.
    pub(super) async fn next_batch(&self) -> StreamBatch {
        loop {
            if let Some(batch) = self.state().next_batch() {
                return batch;
            }
            self.ready.notified().await;
        }
    }

    /// Waits until all who look have what there is, at most for a moment.
    pub(super) async fn drained(&self) {
        let draining = async {
            loop {
                let looked = self.looked.notified();
                if self.state().is_drained() {
                    return;
                }
                looked.await;
            }
        };
        drop(tokio::time::timeout(DRAIN_TIMEOUT, draining).await);
    }
}

impl RingState {
    /// Puts words behind those of the same block, where nobody has seen those yet.
    fn put_together(&mut self, new: &EntryKind) -> bool {
        let handed = self.handed;
        let Some(last) = self.kept.back_mut().filter(|last| last.n > handed) else { return false };
        let before = last.bytes;
        let is_put = last.put_together(new, LONGEST_TEXT);
        self.bytes += last.bytes - before;
        is_put
    }

    fn is_drained(&self) -> bool {
        self.looks.values().all(|looking| looking.waits && looking.after == self.newest)
    }

    fn next_batch(&mut self) -> Option<StreamBatch> {
        let newest = self.newest;
        let is_due = |looking: &Looking| looking.waits && (looking.at_once || looking.after < newest);
        let (look, looking) = self.looks.iter_mut().find(|(_, looking)| is_due(looking))?;
        let oldest = self.kept.front().map_or(newest + 1, |kept| kept.n);
        // They are one apart, so that the place of the first that is wanted is known.
        let skipped = (looking.after + 1).saturating_sub(oldest);
        let (mut entries, mut bytes) = (vec![], 0);
        for kept in self.kept.iter().skip(usize::try_from(skipped).unwrap_or(usize::MAX)) {
            bytes += kept.bytes;
            if bytes > BATCH && !entries.is_empty() {
                break;
            }
            let entry = StreamEntry { n: Some(kept.n), at: kept.at, kind: kept.kind() };
            // It always can be written: its keys are text.
            let Ok(entry) = RawEntry::of(&entry) else { break };
            entries.push(NumberedEntry { n: kept.n, entry });
        }
        looking.after = entries.last().map_or(looking.after, |entry| entry.n);
        (looking.waits, looking.at_once) = (false, false);
        self.handed = self.handed.max(looking.after);
        Some(StreamBatch { look: *look, oldest, newest, entries })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(message: &str, text: &str) -> EntryKind {
        EntryKind::Text { message: message.into(), block: 0, text: text.into(), agent: None }
    }

    fn numbers(batch: &StreamBatch) -> Vec<u64> {
        batch.entries.iter().map(|entry| entry.n).collect()
    }

    fn taken(ring: &StreamRing) -> Option<StreamBatch> {
        ring.state().next_batch()
    }

    #[test]
    fn words_are_put_together_until_someone_has_them() {
        let ring = StreamRing::new();
        ring.push(text("a", "He"));
        ring.push(text("a", "llo"));
        ring.look(1, 0, false);
        let batch = taken(&ring).unwrap();
        assert_eq!(numbers(&batch), [1]);
        assert!(batch.entries[0].entry.json().contains("\"Hello\""));
        ring.push(text("a", " there"));
        ring.push(text("b", "x"));
        assert!(taken(&ring).is_none(), "nobody asks");
        ring.look(1, 1, false);
        assert_eq!(numbers(&taken(&ring).unwrap()), [2, 3]);
    }

    #[test]
    fn each_who_looks_gets_what_is_behind_their_number_and_an_answer_when_there_is_one() {
        let ring = StreamRing::new();
        ring.look(7, 0, true);
        let first = taken(&ring).unwrap();
        assert_eq!((first.look, first.oldest, first.newest, numbers(&first)), (7, 1, 0, vec![]));
        for number in 0..3 {
            ring.push(EntryKind::Notice { text: number.to_string() });
        }
        ring.look(7, 1, false);
        ring.look(8, 9, true);
        ring.look(9, 3, false);
        assert_eq!(numbers(&taken(&ring).unwrap()), [2, 3]);
        let ahead = taken(&ring).unwrap();
        assert_eq!((ahead.look, ahead.newest, numbers(&ahead)), (8, 3, vec![]), "a number that was never given");
        assert!(taken(&ring).is_none());
        ring.look_away(9);
        ring.push(EntryKind::Notice { text: String::new() });
        assert!(taken(&ring).is_none());
    }

    #[test]
    fn only_the_end_is_kept_and_a_batch_is_small() {
        let ring = StreamRing::new();
        for _ in 0..1000 {
            ring.push(EntryKind::Notice { text: "x".repeat(16 << 10) });
        }
        assert!(ring.state().bytes <= KEPT);
        let mut after = 0;
        let mut seen = vec![];
        loop {
            ring.look(1, after, false);
            let Some(batch) = taken(&ring) else { break };
            assert!(batch.entries.len() <= 8);
            after = batch.entries.last().unwrap().n;
            seen.extend(numbers(&batch));
        }
        assert_eq!(after, 1000);
        assert!(seen[0] > 700 && seen.windows(2).all(|two| two[1] == two[0] + 1));
    }
}
