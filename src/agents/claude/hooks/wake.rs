//! The wake file: the client watches it, and calls a hook of ours when it is touched. So an idle session hears of events.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::time::sleep_until;

use super::HookSession;

/// A touch that nobody came for is made again after so long.
const AGAIN: Duration = Duration::from_secs(20);

/// A turn in which no hook calls for so long may have been interrupted. If it was not, what a wake brings is read with
/// its next tool result.
const QUIET: Duration = Duration::from_secs(60);

/// A session whose hooks are installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Announced {
    /// The client watches the file.
    Watched,
    /// Nobody attends to the session, and nothing wakes it.
    Alone,
}

impl Announced {
    fn word(self) -> &'static str {
        match self {
            Self::Watched => "watched",
            Self::Alone => "alone",
        }
    }
}

/// Makes the file, for the client to watch and for the session's process to know that hooks are installed. It names the
/// agent's session, so that a file left behind by a dead process with the same number is not taken for the living one's.
pub(crate) fn announce(file: &Path, agent_session: &str, announced: Announced) -> io::Result<()> {
    write(file, &format!("{agent_session}\n{}", announced.word()), OpenOptions::new().create(true))
}

/// What the file says of this session of the agent; none when it is not there, or another's.
pub(crate) fn announcement_of(file: &Path, agent_session: &str) -> Option<Announced> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines();
    let is_it = lines.next() == Some(agent_session) && !agent_session.is_empty();
    let word = lines.next().filter(|_| is_it)?;
    [Announced::Watched, Announced::Alone].into_iter().find(|announced| announced.word() == word)
}

/// The session is over.
pub(crate) fn forget(file: &Path) {
    drop(fs::remove_file(file));
}

fn write(file: &Path, text: &str, options: &mut OpenOptions) -> io::Result<()> {
    let mut file = options.write(true).truncate(true).mode(0o600).open(file)?;
    writeln!(file, "{text}")
}

/// Touches the file whenever something waits for an idle session, as often as the budget allows.
pub(super) async fn keep_awake(session: Arc<HookSession>, file: PathBuf) {
    loop {
        if session.take_wanted_call() {
            touch(&file);
        }
        let Some(at) = session.next_wake() else {
            session.changed.notified().await;
            continue;
        };
        tokio::select! {
            () = sleep_until(at.into()) => {}
            () = session.changed.notified() => continue,
        }
        if !session.spend_wake() {
            continue;
        }
        touch(&file);
        drop(tokio::time::timeout(AGAIN, session.changed.notified()).await);
    }
}

fn touch(file: &Path) {
    let text = fs::read_to_string(file).unwrap_or_default();
    if let Err(error) = write(file, text.trim_end(), &mut OpenOptions::new()) {
        tracing::debug!(%error, "the wake file is gone");
    }
}

impl HookSession {
    /// Whether the client is to call a hook although nothing waits. It costs nothing: without an event no turn begins.
    fn take_wanted_call(&self) -> bool {
        let mut state = self.state();
        state.is_watched && std::mem::take(&mut state.wants_call)
    }

    /// When the session is to be woken, as things are.
    fn next_wake(&self) -> Option<Instant> {
        let state = self.state();
        let earliest = state.inbox.next_wake(Instant::now()).filter(|_| state.is_watched)?;
        Some(if state.inbox.is_idle() { earliest } else { earliest.max(state.last_call + QUIET) })
    }

    /// Whether it still has to be.
    fn spend_wake(&self) -> bool {
        let mut state = self.state();
        let is_quiet = state.inbox.is_idle() || state.last_call.elapsed() >= QUIET;
        if !(state.is_watched && is_quiet && state.inbox.has_waiting()) {
            return false;
        }
        state.inbox.spend_wake(Instant::now());
        true
    }
}
