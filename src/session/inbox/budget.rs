//! How often a session may be woken. A webhook that wakes a session spends its owner's money.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// Two wakes are at least so far apart: what comes in between is one wake.
const APART: Duration = Duration::from_secs(1);
const HOUR: Duration = Duration::from_secs(3600);
/// Senders remembered; the least used is forgotten.
const SENDERS: usize = 256;

pub(super) struct WakeBudget {
    /// For each sender, in an hour. None at all: no wakes.
    per_hour: usize,
    spent: HashMap<String, VecDeque<Instant>>,
    last: Option<Instant>,
}

impl WakeBudget {
    pub(super) fn new(per_hour: usize) -> Self {
        Self { per_hour, spent: HashMap::new(), last: None }
    }

    /// When the session may be woken for one of these senders; none when never.
    pub(super) fn earliest(&self, senders: &[String], now: Instant) -> Option<Instant> {
        let of = |sender: &String| match self.spent.get(sender) {
            Some(wakes) if wakes.len() >= self.per_hour => wakes.front().map(|oldest| (*oldest + HOUR).max(now)),
            _ => (self.per_hour > 0).then_some(now),
        };
        let allowed = senders.iter().filter_map(of).min()?;
        Some(self.last.map_or(allowed, |last| allowed.max(last + APART)))
    }

    /// It is woken, for all of these.
    pub(super) fn spend(&mut self, senders: &[String], now: Instant) {
        self.last = Some(now);
        for sender in senders {
            let wakes = self.spent.entry(sender.clone()).or_default();
            wakes.push_back(now);
            while wakes.len() > self.per_hour {
                wakes.pop_front();
            }
        }
        while self.spent.len() > SENDERS {
            let oldest = self.spent.iter().min_by_key(|(_, wakes)| wakes.back().copied());
            let Some(sender) = oldest.map(|(sender, _)| sender.clone()) else { return };
            self.spent.remove(&sender);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sender_has_a_budget_and_a_burst_is_one_wake() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let (ci, ann) = (vec!["ci".to_owned()], vec!["ann".to_owned()]);
        let mut budget = WakeBudget::new(2);
        assert_eq!(budget.earliest(&ci, at(0)), Some(at(0)));
        budget.spend(&ci, at(0));
        assert_eq!(budget.earliest(&ci, at(0)), Some(at(1)), "what comes meanwhile is one wake");
        budget.spend(&ci, at(1));
        assert_eq!(budget.earliest(&ci, at(2)), Some(at(3600)), "its hour is spent");
        assert_eq!(budget.earliest(&ann, at(2)), Some(at(2)), "and nobody else's");
        assert_eq!(budget.earliest(&["ann".to_owned(), "ci".to_owned()], at(2)), Some(at(2)));
        budget.spend(&ann, at(2));
        assert_eq!(budget.earliest(&ci, at(3600)), Some(at(3600)));
        assert_eq!(WakeBudget::new(0).earliest(&ci, at(0)), None, "never, where nothing may be spent");
    }

    #[test]
    fn senders_are_forgotten_before_they_are_too_many() {
        let mut budget = WakeBudget::new(1);
        for number in 0..1000_u32 {
            budget.spend(&[number.to_string()], Instant::now());
        }
        assert_eq!(budget.spent.len(), SENDERS);
    }
}
