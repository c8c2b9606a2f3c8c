//! The memory for hook calls that are posted: each may be large, and waits for people as long as they need. There is so
//! much for all, and half of it for one token.

use std::sync::Arc;

use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::hooks::LONGEST_CALL;

use super::body::Broken;
use super::budget::{ByteBudget, NoRoom, Share};
use crate::fixed;

/// Bytes of all calls: four of the largest, or some thousands as they are on most days.
const MOST_BYTES: usize = 4 * LONGEST_CALL;
/// A call takes as much at least: its task and its connection are no smaller.
const LEAST: usize = 16 << 10;
/// Seconds after which some may be free again.
const RETRY: u64 = 5;

pub(super) struct CallMemory(Arc<ByteBudget>);

/// What one call takes, given back when it is dropped.
pub(super) struct CallShare(Share);

impl CallMemory {
    pub(super) fn new() -> Self {
        Self(ByteBudget::new(fixed::limit("HOOK_BYTES", MOST_BYTES)))
    }

    /// For a call of this token, of which nothing was read yet.
    pub(super) fn share(&self, token: &str) -> CallShare {
        CallShare(self.0.share(token))
    }
}

impl CallShare {
    /// Takes so many bytes in place of what it had.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Broken> {
        if bytes > LONGEST_CALL {
            return Err(Broken::TooLarge);
        }
        self.0.set(bytes.max(LEAST)).map_err(|full| {
            let (kind, what) = match full {
                NoRoom::OfSender => {
                    (Kind::TooManyCalls, "other calls of this token take all the memory that one token has")
                }
                NoRoom::OfAll => (Kind::Busy, "other calls take all the memory that there is for posted hooks"),
            };
            Broken::Full(Fault::new(kind, what).retry_after(RETRY))
        })
    }

    pub(super) fn give_back(&mut self) {
        self.0.less(usize::MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_without_room_is_told_whose_calls_take_it() {
        let memory = CallMemory(ByteBudget::new(20 * LEAST));
        let error = |grown: Result<(), Broken>| grown.unwrap_err().fault(0).error;
        let (mut one, mut two, mut three) = (memory.share("a"), memory.share("a"), memory.share("b"));
        assert!(one.grow_to(10 * LEAST).is_ok());
        assert_eq!(error(two.grow_to(1)), 42908);
        assert!(three.grow_to(10 * LEAST).is_ok());
        assert_eq!(error(memory.share("c").grow_to(1)), 50302);
        one.give_back();
        assert!(two.grow_to(1).is_ok());
        assert_eq!(two.grow_to(LONGEST_CALL + 1), Err(Broken::TooLarge));
    }
}
