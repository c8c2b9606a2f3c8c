//! How fast one person may send: a bucket each, filled at a steady rate.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use crate::locks::locked;

pub(super) struct Rates {
    rate: f64,
    burst: f64,
    /// By person. Changed at each event; the lock is held for a few instructions and never across a wait.
    buckets: Mutex<HashMap<String, Bucket>>,
}

struct Bucket {
    left: f64,
    filled: Instant,
}

impl Rates {
    pub(super) fn new(rate: usize, burst: usize) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "rates are small numbers")]
        Self { rate: rate as f64, burst: burst as f64, buckets: Mutex::default() }
    }

    /// Takes one from the person's bucket, or says in how many seconds there will be one.
    pub(super) fn take(&self, person: &str, now: Instant) -> Result<(), u64> {
        let mut buckets = locked(&self.buckets);
        if !buckets.contains_key(person) {
            buckets.insert(person.to_owned(), Bucket { left: self.burst, filled: now });
        }
        let Some(bucket) = buckets.get_mut(person) else { return Ok(()) };
        let since = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.left = (bucket.left + since * self.rate).min(self.burst);
        bucket.filled = now;
        if bucket.left < 1.0 {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a few seconds, never negative"
            )]
            return Err(((1.0 - bucket.left) / self.rate).ceil().max(1.0) as u64);
        }
        bucket.left -= 1.0;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_burst_is_taken_then_the_rate_holds_for_each_alone() {
        let rates = Rates::new(2, 3);
        let start = Instant::now();
        let ann = |later| rates.take("ann", start + Duration::from_millis(later));
        assert_eq!([ann(0), ann(0), ann(0)], [Ok(()); 3]);
        assert_eq!(ann(0), Err(1));
        assert_eq!(rates.take("bob", start), Ok(()));
        assert_eq!(ann(500), Ok(()));
        assert_eq!(ann(500), Err(1));
    }
}
