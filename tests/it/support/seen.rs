//! Everything a reader thread has seen, in order, and a patient wait for the next of it.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// How long a wait lasts before it fails the test: generous, because a loaded CI machine is slow and a passing
/// test never waits that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Looks again and again until there is something to see: for what tells nobody of its coming, such as a process that
/// somebody else starts.
#[track_caller]
pub(crate) fn until<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "there was never {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Filled by one thread, read by the test. Nothing is forgotten: what was taken stays in `all` for the failure
/// message.
pub(crate) struct Seen<T> {
    shared: Arc<Shared<T>>,
}

struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
}

struct State<T> {
    all: Vec<T>,
    /// Places in `all` that nobody has taken yet, oldest first.
    untaken: VecDeque<usize>,
    ended: bool,
}

/// Fails a test at the line of the test, with the whole story.
pub(crate) trait OrFail<T, E> {
    fn or_fail(self, story: impl FnOnce(E) -> String) -> T;
}

impl<T, E> OrFail<T, E> for Result<T, E> {
    #[track_caller]
    fn or_fail(self, story: impl FnOnce(E) -> String) -> T {
        match self {
            Ok(value) => value,
            Err(error) => panic!("{}", story(error)),
        }
    }
}

/// Why a wait came back without the thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Missed {
    TimedOut(Duration),
    Ended,
}

impl<T: Clone> Seen<T> {
    pub(crate) fn new() -> Self {
        let state = State { all: Vec::new(), untaken: VecDeque::new(), ended: false };
        Self { shared: Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new() }) }
    }

    pub(crate) fn push(&self, item: T) {
        let mut state = self.lock();
        let place = state.all.len();
        state.all.push(item);
        state.untaken.push_back(place);
        self.shared.changed.notify_all();
    }

    /// Nothing more will come: whoever waits is told at once.
    pub(crate) fn end(&self) {
        self.lock().ended = true;
        self.shared.changed.notify_all();
    }

    pub(crate) fn all(&self) -> Vec<T> {
        self.lock().all.clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.lock().all.len()
    }

    pub(crate) fn taken_count(&self) -> usize {
        let state = self.lock();
        state.all.len() - state.untaken.len()
    }

    /// Takes the oldest untaken item that fits; the others stay for later.
    pub(crate) fn take(&self, within: Duration, mut wanted: impl FnMut(&T) -> bool) -> Result<T, Missed> {
        self.wait(within, |state| {
            let at = state.untaken.iter().position(|place| wanted(&state.all[*place]))?;
            let place = state.untaken.remove(at)?;
            Some(state.all[place].clone())
        })
    }

    /// Finds the oldest item that fits, taken or not, and leaves it where it is.
    pub(crate) fn find(&self, within: Duration, mut wanted: impl FnMut(&T) -> bool) -> Result<T, Missed> {
        self.wait(within, |state| state.all.iter().find(|item| wanted(item)).cloned())
    }

    /// Waits to see that nothing comes from one who still could send; otherwise says what happened.
    pub(crate) fn stays_silent(&self, quiet: Duration) -> Result<(), String>
    where
        T: fmt::Debug,
    {
        match self.take(quiet, |_| true) {
            Ok(item) => Err(format!("nothing should come, but this did: {item:?}")),
            Err(Missed::Ended) => Err("it is silent, but only because it ended".to_owned()),
            Err(Missed::TimedOut(_)) => Ok(()),
        }
    }

    /// Waits until nothing more can come.
    pub(crate) fn ends(&self, within: Duration) -> bool {
        self.wait(within, |state| state.ended.then_some(())).is_ok()
    }

    fn wait<R>(&self, within: Duration, mut look: impl FnMut(&mut State<T>) -> Option<R>) -> Result<R, Missed> {
        let deadline = Instant::now() + within;
        let mut state = self.lock();
        loop {
            if let Some(found) = look(&mut state) {
                return Ok(found);
            }
            if state.ended {
                return Err(Missed::Ended);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(Missed::TimedOut(within));
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// A test that panics while it looks must not hide its own message behind a poisoned lock.
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Clone for Seen<T> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl fmt::Display for Missed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TimedOut(within) => write!(out, "it did not come within {within:?}"),
            Self::Ended => out.write_str("the stream ended before it came"),
        }
    }
}
