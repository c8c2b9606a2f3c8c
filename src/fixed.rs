//! Waits and limits that are no settings. A test may change one by `PORTCULLIS_TEST_…`, in a build with debug assertions.
//!
//! A release build does not look: nothing in the environment of a gate or a session can loosen what is fixed.

use std::time::Duration;

/// The wait as it is, or the milliseconds that a test wants.
pub(crate) fn wait(name: &str, usual: Duration) -> Duration {
    of_test(name).map_or(usual, Duration::from_millis)
}

/// A number of milliseconds, where the core counts time so.
pub(crate) fn number(name: &str, usual: u64) -> u64 {
    of_test(name).unwrap_or(usual)
}

/// The limit as it is, or the one that a test wants.
pub(crate) fn limit(name: &str, usual: usize) -> usize {
    of_test(name).and_then(|number| usize::try_from(number).ok()).unwrap_or(usual)
}

fn of_test(name: &str) -> Option<u64> {
    if !cfg!(debug_assertions) {
        return None;
    }
    std::env::var(format!("PORTCULLIS_TEST_{name}")).ok()?.parse().ok()
}
