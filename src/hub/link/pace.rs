//! How often sessions are woken. To wake a process takes longer than an event does, and a hundred sessions that are each
//! woken for each of their events leave no time for more. So above a rate of all sessions together, events for one session
//! wait a moment for the next ones and are written at once. Verdicts, orders and answers never wait.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::Instant;

use crate::locks::locked;

/// Writes a second, of all sessions together, that nothing waits for, and so many at once.
const RATE: f64 = 8_000.0;
const BURST: f64 = 80.0;
/// Above that, a session is written to no sooner than this after the last time.
const PAUSE: Duration = Duration::from_millis(5);

/// What all links of a gate have left. Cheap to clone.
#[derive(Clone)]
pub(crate) struct WakeBudget(Arc<Mutex<Left>>);

struct Left {
    writes: f64,
    counted: Instant,
}

impl Default for WakeBudget {
    fn default() -> Self {
        Self(Arc::new(Mutex::new(Left { writes: BURST, counted: Instant::now() })))
    }
}

impl WakeBudget {
    /// Until when events for a session wait to which something was last written then; none where they do not.
    pub(super) fn wait_until(&self, last: Instant) -> Option<Instant> {
        let now = Instant::now();
        let mut left = locked(&self.0);
        let passed = now.duration_since(left.counted).as_secs_f64();
        left.writes = (left.writes + passed * RATE).min(BURST);
        left.counted = now;
        // After the pause it is written in any case, and counts: others are then to wait.
        if left.writes >= 1.0 || last + PAUSE <= now {
            left.writes = (left.writes - 1.0).max(-BURST);
            return None;
        }
        Some(last + PAUSE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_session_is_written_to_at_once_and_of_many_none_waits_longer_than_the_pause() {
        let budget = WakeBudget::default();
        let mut last = Instant::now();
        for _ in 0..10_000 {
            tokio::time::advance(Duration::from_micros(150)).await;
            assert_eq!(budget.wait_until(last), None, "one after the other is no crowd");
            last = Instant::now();
        }
        let recent = Instant::now();
        let at_once = (0..1000).filter(|_| budget.wait_until(recent).is_none()).count();
        assert!((60..=100).contains(&at_once), "{at_once}");
        let due = budget.wait_until(recent).unwrap();
        assert_eq!(due - recent, PAUSE);
        tokio::time::advance(PAUSE).await;
        assert_eq!(budget.wait_until(recent), None);
    }
}
