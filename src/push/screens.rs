//! Who looks at a page now: each page says so while it can be seen, again and again, and is forgotten when it no longer does.

use std::collections::BTreeMap;
use std::time::Duration;

use portcullis_core::{Moment, TokenId};

use crate::fixed;

/// A page that can be seen says so three times within this: one that crashed, or lost its network, is soon forgotten.
const LEASE: Duration = Duration::from_secs(45);
/// Pages of one device that are counted. More are not open at once.
const MOST_PAGES: usize = 16;

#[derive(Default)]
pub(super) struct Screens(BTreeMap<(TokenId, String), SeenPage>);

struct SeenPage {
    person: String,
    until: Moment,
}

impl Screens {
    pub(super) fn note(&mut self, person: &str, device: TokenId, page: &str, visible: bool, now: Moment) {
        self.0.retain(|_, screen| screen.until > now);
        let place = (device, page.to_owned());
        self.0.remove(&place);
        let of_device = self.0.keys().filter(|(other, _)| *other == device).count();
        if !visible || of_device >= MOST_PAGES {
            return;
        }
        let lease = u64::try_from(fixed::wait("PUSH_SCREEN", LEASE).as_millis()).unwrap_or(u64::MAX);
        self.0.insert(place, SeenPage { person: person.to_owned(), until: now.plus(lease) });
    }

    /// Devices that are no longer linked show nobody anything.
    pub(super) fn keep(&mut self, is_linked: impl Fn(TokenId) -> bool) {
        self.0.retain(|(device, _), _| is_linked(*device));
    }

    pub(super) fn looks_until(&self, person: &str, now: Moment) -> Option<Moment> {
        let of_person = self.0.values().filter(|screen| screen.person == person && screen.until > now);
        of_person.map(|screen| screen.until).max()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_looks_while_one_page_of_theirs_is_seen_and_says_so() {
        let (phone, laptop) = (TokenId::new(Moment(1), 1), TokenId::new(Moment(1), 2));
        let mut screens = Screens::default();
        screens.note("ann", phone, "a", true, Moment(0));
        screens.note("ann", laptop, "a", true, Moment(20_000));
        assert_eq!(screens.looks_until("bob", Moment(1)), None);
        assert_eq!(screens.looks_until("ann", Moment(1)), Some(Moment(65_000)));
        screens.note("ann", laptop, "a", false, Moment(30_000));
        assert_eq!(screens.looks_until("ann", Moment(30_000)), Some(Moment(45_000)));
        assert_eq!(screens.looks_until("ann", Moment(45_000)), None, "it did not say so again");
        screens.note("ann", laptop, "a", true, Moment(50_000));
        screens.keep(|device| device == phone);
        assert_eq!(screens.looks_until("ann", Moment(50_000)), None, "the laptop was revoked");
    }

    #[test]
    fn pages_of_one_device_are_bounded_and_take_no_place_of_another() {
        let (phone, laptop) = (TokenId::new(Moment(1), 1), TokenId::new(Moment(1), 2));
        let mut screens = Screens::default();
        for page in 0..100 {
            screens.note("ann", phone, &page.to_string(), true, Moment(0));
        }
        screens.note("bob", laptop, "a", true, Moment(0));
        assert_eq!(screens.0.len(), MOST_PAGES + 1);
        assert!(screens.looks_until("bob", Moment(1)).is_some());
    }
}
