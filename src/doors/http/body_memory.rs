//! The memory for bodies that are not whole yet: each may rest for a minute, or come for an hour, so one sender holds only so
//! much of them at once. What is small, and what the owner sends at their own machine, is not counted.

use std::sync::Arc;

use portcullis_wire::error::{Fault, Kind};

use super::access::Permitted;
use super::body::Broken;
use super::budget::{ByteBudget, NoRoom, Share};
use crate::fixed;

/// Bytes of all bodies that are counted, or eight of the largest where those are larger.
const MOST_BYTES: usize = 64 << 20;
/// Smaller bodies are not counted: the connection itself takes as much.
const SMALL: usize = 16 << 10;
/// Seconds after which some may be whole, or their connections closed.
const RETRY: u64 = 5;

pub(super) struct BodyMemory(Arc<ByteBudget>);

/// What one body takes, given back when it is dropped. None for one that is not counted.
#[derive(Default)]
pub(super) struct BodyShare(Option<Share>);

impl BodyMemory {
    /// For bodies that may have so many bytes each.
    pub(super) fn new(largest: usize) -> Self {
        Self(ByteBudget::new(fixed::limit("BODY_BYTES", MOST_BYTES.max(8 * largest))))
    }

    /// For a body of which nothing was read yet. Of someone who has shown nothing only small ones are read.
    pub(super) fn share(&self, permitted: Option<&Permitted>) -> BodyShare {
        BodyShare(permitted.and_then(Permitted::counted_as).map(|sender| self.0.share(&sender)))
    }
}

impl BodyShare {
    /// Takes so many bytes in place of what it had.
    pub(super) fn grow_to(&mut self, bytes: usize) -> Result<(), Broken> {
        let Some(share) = self.0.as_mut().filter(|_| bytes > SMALL) else { return Ok(()) };
        share.set(bytes).map_err(|full| {
            let (kind, what) = match full {
                NoRoom::OfSender => (
                    Kind::TooManyBodies,
                    "other requests of this sender that are not whole take all the memory that one has",
                ),
                NoRoom::OfAll => {
                    (Kind::Busy, "other requests that are not whole take all the memory that there is for them")
                }
            };
            Broken::Full(Fault::new(kind, what).retry_after(RETRY))
        })
    }
}
