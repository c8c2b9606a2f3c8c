//! A process that needs a gate tries for as long as it lives; but what keeps a gate from starting will keep it again.
//!
//! It looks for a gate at every attempt, since someone else may have started one. It starts one itself only when enough
//! time has passed since that failed, or when the configuration has changed in the meantime.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime};

use super::client;
use super::reach::{Handed, reach};
use crate::config::Paths;
use crate::failure::{Exit, Failure};
use crate::locks::locked;
use crate::session::link;

const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(60);

/// How an attached process comes to its gate, again and again.
pub(crate) fn connect(paths: Paths, handed: Handed) -> link::Connect {
    let failed: Arc<Mutex<Option<Failed>>> = Arc::default();
    Arc::new(move || {
        let (paths, failed) = (paths.clone(), Arc::clone(&failed));
        Box::pin(async move {
            if client::believe_socket(&paths).is_ok()
                && let Ok(stream) = tokio::net::UnixStream::connect(client::socket_of(&paths)).await
            {
                return link::upgrade(stream).await;
            }
            let before = locked(&failed).clone();
            let file = written(&paths);
            if let Some(before) = before.as_ref().filter(|before| !before.may_try_again(Instant::now(), file)) {
                return Err(before.again());
            }
            let reached = reach(&paths, handed).await;
            let now = match &reached {
                Ok(_) => None,
                Err(error) => Some(Failed::with(error, Instant::now(), file, before.as_ref())),
            };
            let told = now.as_ref().map(Failed::again);
            *locked(&failed) = now;
            link::upgrade(reached.map_err(|error| told.unwrap_or(error))?).await
        })
    })
}

/// When the configuration was last written, and its length; none when there is no such file.
type ConfigStamp = Option<(SystemTime, u64)>;

fn written(paths: &Paths) -> ConfigStamp {
    let about = std::fs::metadata(&paths.config_file).ok()?;
    Some((about.modified().ok()?, about.len()))
}

/// A gate that could not be started.
#[derive(Clone, Debug)]
struct Failed {
    /// In the same words each time, so that they are said once.
    why: String,
    /// A file of the owner's is broken: until it is repaired, trying again does not help.
    is_broken: bool,
    at: Instant,
    pause: Duration,
    file: ConfigStamp,
}

impl Failed {
    /// The pause grows while it is the same configuration that fails.
    fn with(error: &anyhow::Error, at: Instant, file: ConfigStamp, before: Option<&Self>) -> Self {
        let pause = match before.filter(|before| before.file == file) {
            Some(before) => (before.pause * 2).min(LONGEST_PAUSE),
            None => FIRST_PAUSE,
        };
        let is_broken = error.downcast_ref::<Failure>().is_some_and(|failure| failure.exit() == Exit::Configuration);
        Self { why: format!("{error:#}"), is_broken, at, pause, file }
    }

    fn may_try_again(&self, now: Instant, file: ConfigStamp) -> bool {
        self.file != file || now.duration_since(self.at) >= self.pause
    }

    fn again(&self) -> anyhow::Error {
        match self.is_broken {
            true => link::NoGate(self.why.clone()).into(),
            false => Failure::new(self.why.clone(), "`portcullis doctor` says what to do").into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_that_fails_is_tried_ever_less_often_and_at_once_with_another_configuration() {
        let file = |seconds| Some((SystemTime::UNIX_EPOCH + Duration::from_secs(seconds), 7));
        let start = Instant::now();
        let error = anyhow::anyhow!("x");
        let mut failed = Failed::with(&error, start, file(1), None);
        let mut pauses = vec![failed.pause];
        for _ in 0..12 {
            let later = failed.at + failed.pause;
            assert!(!failed.may_try_again(later - Duration::from_millis(1), file(1)));
            assert!(failed.may_try_again(later, file(1)));
            failed = Failed::with(&error, later, file(1), Some(&failed));
            pauses.push(failed.pause);
        }
        assert!(pauses.is_sorted() && pauses[1] == pauses[0] * 2, "{pauses:?}");
        assert_eq!(pauses.last(), Some(&LONGEST_PAUSE));
        for changed in [file(2), None] {
            assert!(failed.may_try_again(failed.at, changed));
            assert_eq!(Failed::with(&error, failed.at, changed, Some(&failed)).pause, FIRST_PAUSE);
        }
    }
}
