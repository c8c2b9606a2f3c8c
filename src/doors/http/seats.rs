//! The places for listeners: no person and no device takes them all, and some are kept for the owner at their own machine.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use portcullis_core::OWNER;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Where there are fewer places than this, they are not divided.
const FEW: usize = 8;

pub(super) struct Seats {
    /// For everyone.
    all: Arc<Semaphore>,
    /// For the owner, when the others are taken.
    owners: Arc<Semaphore>,
    /// So many one person may have.
    most: usize,
    /// How many each person has. Changed when a seat is taken, and when it is given back.
    taken: Mutex<HashMap<String, usize>>,
}

/// A place, given back when it is dropped.
pub(super) struct Seat {
    person: String,
    seats: Arc<Seats>,
    _permit: OwnedSemaphorePermit,
}

impl Seats {
    pub(super) fn new(places: usize) -> Arc<Self> {
        let (kept, most) = if places < FEW { (0, places) } else { (places / 8, places / 4) };
        let (all, owners) = (Arc::new(Semaphore::new(places - kept)), Arc::new(Semaphore::new(kept)));
        Arc::new(Self { all, owners, most, taken: Mutex::default() })
    }

    /// How many are taken.
    pub(super) fn taken(&self) -> usize {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner).values().sum()
    }

    /// None when there is no place, or the person has as many as one may have.
    pub(super) fn take(self: &Arc<Self>, person: &str) -> Option<Seat> {
        let is_owner = person == OWNER;
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        let has = taken.get(person).copied().unwrap_or(0);
        if has >= self.most && !is_owner {
            return None;
        }
        let permit = Arc::clone(&self.all).try_acquire_owned().ok();
        let permit = permit.or_else(|| Arc::clone(&self.owners).try_acquire_owned().ok().filter(|_| is_owner))?;
        taken.insert(person.to_owned(), has + 1);
        drop(taken);
        Some(Seat { person: person.to_owned(), seats: Arc::clone(self), _permit: permit })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut taken = self.seats.taken.lock().unwrap_or_else(PoisonError::into_inner);
        match taken.get_mut(&self.person) {
            Some(has) if *has > 1 => *has -= 1,
            _ => drop(taken.remove(&self.person)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_takes_a_quarter_of_the_places_and_the_owner_finds_one() {
        let seats = Seats::new(16);
        let of = |person: &str, wanted: usize| (0..wanted).filter_map(|_| seats.take(person)).collect::<Vec<_>>();
        let (ci, ann, bob) = (of("ci", 16), of("ann", 16), of("bob", 16));
        assert_eq!([ci.len(), ann.len(), bob.len()], [4, 4, 4]);
        let eve = of("eve", 16);
        assert_eq!(eve.len(), 2, "two are kept");
        assert_eq!(of(OWNER, 16).len(), 2);
        drop(ci);
        assert_eq!(of("ci", 16).len(), 4, "what was given back can be taken again");
        assert!(seats.taken.lock().unwrap().get("ci").is_none());
    }

    #[test]
    fn a_few_places_are_not_divided() {
        let seats = Seats::new(2);
        let taken = [seats.take("ci"), seats.take("ci")];
        assert!(taken.iter().all(Option::is_some) && seats.take(OWNER).is_none());
    }
}
