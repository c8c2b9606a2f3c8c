//! The last records of the subjects that were written lately, so that an append need not look them up.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher};

use foldhash::fast::RandomState;

use crate::store::Seq;

/// So many subjects are remembered at least, and twice as many at most: about 4 MB. Far more than the index lacks.
const GENERATION: usize = 64 << 10;

/// By a hash of the subject. That two subjects share one does no harm: whoever does not meet what they expect looks it up.
#[derive(Default)]
pub(super) struct KnownSubjects {
    hasher: RandomState,
    young: Lasts,
    /// What was young before; the oldest is forgotten a generation at a time.
    old: Lasts,
    /// Where `young` begins.
    young_after: Seq,
    /// Whoever has a record after this one is known.
    after: Seq,
}

type Lasts = HashMap<u64, Seq, BuildHasherDefault<Hashed>>;

impl KnownSubjects {
    pub(super) fn key(&self, subject: impl AsRef<[u8]>) -> u64 {
        self.hasher.hash_one(subject.as_ref())
    }

    pub(super) fn last(&self, key: u64) -> Option<Seq> {
        self.young.get(&key).or_else(|| self.old.get(&key)).copied()
    }

    /// Whoever has a record after this one is known.
    pub(super) fn after(&self) -> Seq {
        self.after
    }

    pub(super) fn note(&mut self, key: u64, last: Seq) {
        self.young.insert(key, last);
        if self.young.len() >= GENERATION {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
            (self.after, self.young_after) = (self.young_after, last);
        }
    }

    /// Takes in all records from `after` on up to those that are known, unless they are too many.
    pub(super) fn note_older(&mut self, after: Seq, older: &[(u64, Seq)]) {
        if older.len() < GENERATION && after < self.after {
            for (key, seq) in older {
                let last = self.old.entry(*key).or_insert(*seq);
                *last = (*last).max(*seq);
            }
            self.after = after;
        }
    }

    /// Forgets all. What is noted from now on comes after `tail`.
    pub(super) fn forget(&mut self, tail: Seq) {
        self.young.clear();
        self.old.clear();
        (self.after, self.young_after) = (tail, tail);
    }
}

/// The key is a hash already.
#[derive(Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, key: u64) {
        self.0 = key;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered_and_the_oldest_are_not() {
        let mut known = KnownSubjects::default();
        let total = 3 * GENERATION as u64;
        for number in 1..=total {
            let key = known.key(number.to_string());
            known.note(key, Seq(number));
        }
        let last = |number: u64| known.last(known.key(number.to_string()));
        assert_eq!((last(1), last(total)), (None, Some(Seq(total))));
        assert!(known.young.len() + known.old.len() <= 2 * GENERATION);
        assert!(known.after().0 > 1 && known.after().0 <= total - GENERATION as u64);
        assert!((known.after().0 + 1..=total).all(|number| last(number) == Some(Seq(number))));
    }

    #[test]
    fn what_is_older_fills_the_gap_and_never_replaces_what_is_newer() {
        let mut known = KnownSubjects::default();
        known.forget(Seq(10));
        let [ann, bob] = ["ann", "bob"].map(|subject| known.key(subject));
        known.note(ann, Seq(11));
        known.note_older(Seq(4), &[(ann, Seq(5)), (bob, Seq(6)), (bob, Seq(9))]);
        assert_eq!((known.last(ann), known.last(bob), known.after()), (Some(Seq(11)), Some(Seq(9)), Seq(4)));
        known.note_older(Seq(0), &vec![(0, Seq(1)); GENERATION]);
        assert_eq!(known.after(), Seq(4), "too many");
    }
}
