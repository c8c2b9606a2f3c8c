//! The last records of the subjects that were written lately, so that an append need not look them up.

use std::collections::HashMap;
use std::hash::{BuildHasher, BuildHasherDefault, Hasher, RandomState};

use crate::store::Seq;

/// So many subjects are remembered at least, and twice as many at most: about 2 MB.
const GENERATION: usize = 32 << 10;

/// By a hash of the subject. That two subjects share one does no harm: their last records differ, so that the one who
/// does not meet its own is looked up.
#[derive(Default)]
pub(super) struct Known {
    hasher: RandomState,
    young: HashMap<u64, Seq, BuildHasherDefault<Hashed>>,
    /// What was young before; the oldest is forgotten a generation at a time.
    old: HashMap<u64, Seq, BuildHasherDefault<Hashed>>,
}

impl Known {
    pub(super) fn key(&self, subject: &str) -> u64 {
        self.hasher.hash_one(subject)
    }

    pub(super) fn last(&self, key: u64) -> Option<Seq> {
        self.young.get(&key).or_else(|| self.old.get(&key)).copied()
    }

    pub(super) fn note(&mut self, key: u64, last: Seq) {
        self.young.insert(key, last);
        if self.young.len() >= GENERATION {
            std::mem::swap(&mut self.young, &mut self.old);
            self.young.clear();
        }
    }

    pub(super) fn forget(&mut self) {
        self.young.clear();
        self.old.clear();
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
        let mut known = Known::default();
        for number in 0..3 * GENERATION {
            let key = known.key(&number.to_string());
            known.note(key, Seq(number as u64));
        }
        let last = |number: usize| known.last(known.key(&number.to_string()));
        assert_eq!(last(0), None);
        let latest = 3 * GENERATION - 1;
        assert_eq!(last(latest), Some(Seq(latest as u64)));
        assert!(known.young.len() + known.old.len() <= 2 * GENERATION);
    }
}
