//! The memory for hook calls that are posted: each may be large, and waits for people as long as they need. There is so
//! much for all, and half of it for one token.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::hooks::LONGEST_CALL;

use super::body::Broken;
use crate::fixed;
use crate::locks::locked;

/// Bytes of all calls: four of the largest, or some thousands as they are on most days.
const MOST_BYTES: usize = 4 * LONGEST_CALL;
/// A call takes as much at least: its task and its connection are no smaller.
const LEAST: usize = 16 << 10;
/// Seconds after which some may be free again.
const RETRY: u64 = 5;

pub(super) struct CallMemory {
    most: usize,
    /// The bytes of each token's calls. Changed when a call is read, and when it is answered.
    taken: Mutex<HashMap<String, usize>>,
}

/// What one call takes, given back when it is dropped.
pub(super) struct CallShare {
    memory: Arc<CallMemory>,
    token: String,
    bytes: usize,
}

impl CallMemory {
    pub(super) fn new() -> Arc<Self> {
        Self::of(fixed::limit("HOOK_BYTES", MOST_BYTES))
    }

    fn of(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// For a call of this token, of which nothing was read yet.
    pub(super) fn share(self: &Arc<Self>, token: &str) -> CallShare {
        CallShare { memory: Arc::clone(self), token: token.to_owned(), bytes: 0 }
    }
}

impl CallShare {
    /// Takes so many bytes in place of what it had.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Broken> {
        if bytes > LONGEST_CALL {
            return Err(Broken::TooLarge);
        }
        let (bytes, most) = (bytes.max(LEAST), self.memory.most);
        let mut taken = locked(&self.memory.taken);
        let others: usize = taken.values().sum::<usize>() - self.bytes;
        let of_token = taken.entry(self.token.clone()).or_default();
        let full = |kind, what: &str| Err(Broken::Full(Fault::new(kind, what).retry_after(RETRY)));
        if *of_token - self.bytes + bytes > most / 2 {
            return full(Kind::TooManyCalls, "other calls of this token take all the memory that one token has");
        }
        if others + bytes > most {
            return full(Kind::Busy, "other calls take all the memory that there is for posted hooks");
        }
        *of_token = *of_token - self.bytes + bytes;
        self.bytes = bytes;
        Ok(())
    }

    pub(super) fn give_back(&mut self) {
        let mut taken = locked(&self.memory.taken);
        match taken.get_mut(&self.token) {
            Some(of_token) if *of_token > self.bytes => *of_token -= self.bytes,
            _ => drop(taken.remove(&self.token)),
        }
        self.bytes = 0;
    }
}

impl Drop for CallShare {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_token_has_half_of_the_memory_and_all_have_all_of_it() {
        let memory = CallMemory::of(20 * LEAST);
        let error = |grown: Result<(), Broken>| grown.unwrap_err().fault(0).error;
        let (mut one, mut two) = (memory.share("a"), memory.share("a"));
        assert!(one.grow_to(1).is_ok() && one.grow_to(6 * LEAST).is_ok(), "it grows, and is not counted twice");
        assert_eq!(error(two.grow_to(5 * LEAST)), 42908);
        assert!(two.grow_to(4 * LEAST).is_ok());
        let (mut three, mut four) = (memory.share("b"), memory.share("c"));
        assert!(three.grow_to(10 * LEAST).is_ok());
        assert_eq!(error(four.grow_to(1)), 50302);
        drop(one);
        assert!(four.grow_to(1).is_ok());
        assert_eq!(four.grow_to(LONGEST_CALL + 1), Err(Broken::TooLarge));
        drop((two, three, four));
        assert!(locked(&memory.taken).is_empty(), "nothing is remembered of tokens that have no call");
    }
}
