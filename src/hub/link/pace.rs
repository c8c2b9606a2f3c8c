//! How often sessions are woken. To wake a process takes longer than an event does, and a hundred sessions that are each
//! woken for each of their events leave no time for more. So while many are written to, each is written to once in a while,
//! with all that came for it meanwhile. Verdicts, orders and answers never wait, and nor does an event for a session that
//! had none for that long.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::locks::locked;

/// So many sessions that were written to within a pause are a crowd. Fewer are written to at once, however often.
const CROWD: usize = 16;
/// In a crowd, a session is written to no sooner than this after the last time.
const PAUSE: Duration = Duration::from_millis(20);

/// The sessions of a gate that were written to of late. Cheap to clone.
#[derive(Clone)]
pub(crate) struct WakePace(Arc<Mutex<Crowd>>);

struct Crowd {
    /// When the pause began that is counted now.
    began: Instant,
    /// Sessions that were written to since, and in the pause before.
    since: usize,
    before: usize,
}

impl Default for WakePace {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Crowd { began: Instant::now(), since: 0, before: 0 })))
    }
}

impl WakePace {
    /// Until when events for a session wait that was last written to then; none where they do not.
    pub(super) fn wait_until(&self, last: Option<Instant>) -> Option<Instant> {
        let now = Instant::now();
        let mut crowd = locked(&self.0);
        let passed = now.duration_since(crowd.began);
        if passed >= PAUSE {
            let is_next = passed < PAUSE * 2;
            *crowd = Crowd { began: now, since: 0, before: if is_next { crowd.since } else { 0 } };
        }
        let due = last.map(|last| last + PAUSE).filter(|due| *due > now);
        if crowd.since.max(crowd.before) >= CROWD && due.is_some() {
            return due;
        }
        if last.is_none_or(|last| last < crowd.began) {
            crowd.since += 1;
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: Duration = Duration::from_micros(50);

    /// Writes to so many sessions in turn for a while. Returns how often each was, and the longest wait.
    async fn written(sessions: usize) -> (usize, Duration) {
        let pace = WakePace::default();
        let mut last = vec![None; sessions];
        let (mut writes, mut longest) = (0, Duration::ZERO);
        for turn in 0..20_000 {
            tokio::time::advance(STEP).await;
            let place = turn % sessions;
            match pace.wait_until(last[place]) {
                Some(until) => longest = longest.max(until - Instant::now()),
                None => {
                    writes += 1;
                    last[place] = Some(Instant::now());
                }
            }
        }
        (writes, longest)
    }

    #[tokio::test(start_paused = true)]
    async fn few_sessions_are_written_to_at_once_and_of_many_each_once_in_a_pause() {
        for few in [1, 2, CROWD - 1] {
            assert_eq!(written(few).await, (20_000, Duration::ZERO), "{few}");
        }
        // A second, in which each of them has its turn every 5 ms.
        let (writes, longest) = written(100).await;
        assert!((4_500..=6_000).contains(&writes) && longest <= PAUSE, "{writes} {longest:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_session_that_had_nothing_for_a_while_is_written_to_at_once_in_any_crowd() {
        let pace = WakePace::default();
        for _ in 0..CROWD * 2 {
            assert_eq!(pace.wait_until(None), None);
        }
        let last = Instant::now();
        assert_eq!(pace.wait_until(Some(last)), Some(last + PAUSE));
        tokio::time::advance(PAUSE).await;
        assert_eq!(pace.wait_until(Some(last)), None);
    }
}
