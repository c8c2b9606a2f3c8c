//! How often one line is written, in the journal or in the log: whoever tries something again and again fills neither.

use std::time::{Duration, Instant};

/// So many lines at once, then one in each pause; what is left out is counted.
#[derive(Debug)]
pub(crate) struct LineRate {
    burst: u32,
    pause: Duration,
    /// Lines that may still be written.
    left: u32,
    filled: Instant,
    /// What happened since the last line.
    unwritten: u64,
}

impl LineRate {
    pub(crate) fn new(burst: u32, pause: Duration, now: Instant) -> Self {
        Self { burst, pause, left: burst, filled: now, unwritten: 0 }
    }

    /// Whether what happened now is written down, and how much before it was not.
    pub(crate) fn take(&mut self, now: Instant) -> Option<u64> {
        let pauses = now.saturating_duration_since(self.filled).as_secs() / self.pause.as_secs().max(1);
        if pauses > 0 {
            let pauses = u32::try_from(pauses).unwrap_or(u32::MAX);
            self.left = self.left.saturating_add(pauses).min(self.burst);
            self.filled += self.pause.saturating_mul(pauses);
        }
        if self.left == 0 {
            self.unwritten += 1;
            return None;
        }
        self.left -= 1;
        Some(std::mem::take(&mut self.unwritten))
    }

    /// Whether nothing is owed, and all lines may be written again.
    pub(super) fn is_full(&self, now: Instant) -> bool {
        self.unwritten == 0 && now.saturating_duration_since(self.filled) >= self.pause * self.burst
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_minute_says_how_often_it_happened_in_between() {
        let start = Instant::now();
        let mut rate = LineRate::new(1, Duration::from_secs(60), start);
        let mut lines = |seconds: u64, times: u32| -> Vec<u64> {
            (0..times).filter_map(|_| rate.take(start + Duration::from_secs(seconds))).collect()
        };
        assert_eq!(lines(0, 4000), [0]);
        assert_eq!(lines(59, 10), [0; 0]);
        assert_eq!(lines(60, 10), [4009]);
        assert_eq!(lines(600, 2), [9], "nothing is saved up");
        assert_eq!(lines(660, 1), [1]);
    }
}
