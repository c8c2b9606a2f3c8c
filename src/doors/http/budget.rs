//! Bytes that may be held at once: so many for all, and half of them for one sender.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use crate::locks::locked;

pub(super) struct ByteBudget {
    most: usize,
    /// The bytes of each sender. Changed when a share grows, shrinks or is dropped.
    taken: Mutex<HashMap<String, usize>>,
}

/// What one call or answer takes, given back when it is dropped.
pub(super) struct Share {
    budget: Arc<ByteBudget>,
    sender: String,
    bytes: usize,
}

/// Whose bytes leave no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRoom {
    OfSender,
    OfAll,
}

impl ByteBudget {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, taken: Mutex::default() })
    }

    /// For something of this sender that holds no bytes yet.
    pub(super) fn share(self: &Arc<Self>, sender: &str) -> Share {
        Share { budget: Arc::clone(self), sender: sender.to_owned(), bytes: 0 }
    }
}

impl Share {
    /// Takes so many bytes in place of what it had.
    pub(super) fn set(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let most = self.budget.most;
        let mut taken = locked(&self.budget.taken);
        let others: usize = taken.values().sum::<usize>() - self.bytes;
        let of_sender = taken.get(&self.sender).copied().unwrap_or_default() - self.bytes;
        if bytes > self.bytes && of_sender + bytes > most / 2 {
            return Err(NoRoom::OfSender);
        }
        if bytes > self.bytes && others + bytes > most {
            return Err(NoRoom::OfAll);
        }
        match of_sender + bytes {
            0 => drop(taken.remove(&self.sender)),
            sum => drop(taken.insert(self.sender.clone(), sum)),
        }
        self.bytes = bytes;
        Ok(())
    }

    /// So many of its bytes as a share of their own, or all if it has fewer.
    pub(super) fn split(&mut self, bytes: usize) -> Self {
        let bytes = bytes.min(self.bytes);
        self.bytes -= bytes;
        Self { budget: Arc::clone(&self.budget), sender: self.sender.clone(), bytes }
    }

    /// Gives some of its bytes back.
    pub(super) fn less(&mut self, bytes: usize) {
        // Less always has room.
        self.set(self.bytes.saturating_sub(bytes)).ok();
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.less(self.bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sender_has_half_and_all_have_all_of_it() {
        let budget = ByteBudget::new(20);
        let (mut one, mut two) = (budget.share("a"), budget.share("a"));
        assert!(one.set(1).is_ok() && one.set(6).is_ok(), "it grows, and is not counted twice");
        assert_eq!(two.set(5), Err(NoRoom::OfSender));
        assert!(two.set(4).is_ok());
        let (mut three, mut four) = (budget.share("b"), budget.share("c"));
        assert!(three.set(10).is_ok());
        assert_eq!(four.set(1), Err(NoRoom::OfAll));
        one.less(1);
        drop(one.split(1));
        assert!(four.set(2).is_ok() && four.set(3).is_err());
        drop((one, two, three, four));
        assert!(locked(&budget.taken).is_empty(), "nothing is remembered of senders that hold nothing");
    }
}
