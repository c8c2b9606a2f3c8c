//! The wake file: the client watches it, and calls a hook of ours when it is touched. So an idle session hears of events.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::time::sleep_until;

use super::HookSession;
use crate::processes;

/// A touch that nobody came for is made again after so long.
const AGAIN: Duration = Duration::from_secs(20);

/// A turn in which no hook calls for so long may have been interrupted. If it was not, what a wake brings is read with
/// its next tool result.
const QUIET: Duration = Duration::from_secs(60);

/// A session whose hooks are installed, as the hook that ran at its start tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    /// The client watches the file. Otherwise nobody attends to the session, and nothing wakes it.
    pub(crate) is_watched: bool,
    /// The conversation is a copy of another one. The hook may run before the session's process listens to it.
    pub(crate) is_forked: bool,
}

impl Announced {
    const FORKED: &str = "forked";

    fn word(self) -> &'static str {
        if self.is_watched { "watched" } else { "alone" }
    }
}

/// Makes the file, for the client to watch and for the session's process to know that hooks are installed. It names the
/// agent's session, so that a file left behind by a dead process with the same number is not taken for the living one's.
pub(crate) fn announce(file: &Path, agent_session: &str, announced: Announced) -> io::Result<()> {
    // Whoever reads it meanwhile finds it whole: the old one, or this one.
    let fresh = file.with_extension(format!("new-{}", std::process::id()));
    let options = &mut OpenOptions::new();
    let mut made = options.create(true).write(true).truncate(true).mode(0o600).open(&fresh)?;
    writeln!(made, "{agent_session}\n{}", announced.word())?;
    if announced.is_forked {
        writeln!(made, "{}", Announced::FORKED)?;
    }
    fs::rename(fresh, file)
}

/// The client is told that the file has changed; what it says stays.
fn touch(file: &Path) {
    let touched = OpenOptions::new().write(true).open(file).and_then(|file| file.set_modified(SystemTime::now()));
    if let Err(error) = touched {
        tracing::debug!(%error, "the wake file is gone");
    }
}

/// What the file says of this session of the agent; none when it is not there, or another's.
pub(crate) fn announcement_of(file: &Path, agent_session: &str) -> Option<Announced> {
    let text = fs::read_to_string(file).ok()?;
    let mut lines = text.lines();
    let is_it = lines.next() == Some(agent_session) && !agent_session.is_empty();
    let word = lines.next().filter(|_| is_it)?;
    let is_forked = lines.next() == Some(Announced::FORKED);
    let known = [true, false].map(|is_watched| Announced { is_watched, is_forked });
    known.into_iter().find(|announced| announced.word() == word)
}

/// The session is over.
pub(crate) fn forget(file: &Path) {
    drop(fs::remove_file(file));
}

/// Removes what sessions have left behind whose agents were killed. Each file comes with the process of its agent.
pub(crate) fn forget_ended(files: Vec<(PathBuf, u32)>) {
    for (file, agent) in files {
        if !processes::is_alive(agent) {
            forget(&file);
        }
    }
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

impl HookSession {
    /// Whether the client is to call a hook although nothing waits. It costs nothing: without an event no turn begins.
    fn take_wanted_call(&self) -> bool {
        let mut state = self.state();
        state.is_watched && std::mem::take(&mut state.wants_call)
    }

    /// When the session is to be woken, as things are.
    fn next_wake(&self) -> Option<Instant> {
        let state = self.state();
        let earliest = state.inbox.queue.next_wake(Instant::now()).filter(|_| state.is_watched)?;
        Some(if state.inbox.is_idle() { earliest } else { earliest.max(state.last_call + QUIET) })
    }

    /// Whether it still has to be.
    fn spend_wake(&self) -> bool {
        let mut state = self.state();
        let is_quiet = state.inbox.is_idle() || state.last_call.elapsed() >= QUIET;
        if !(state.is_watched && is_quiet && state.inbox.queue.has_waiting()) {
            return false;
        }
        state.inbox.queue.spend_wake(Instant::now());
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::MetadataExt as _;

    #[test]
    fn a_wake_changes_the_time_of_the_file_and_nothing_in_it() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("7.wake");
        let watched = Announced { is_watched: true, is_forked: true };
        announce(&file, "s-1", watched).unwrap();
        let opened = fs::File::open(&file).unwrap();
        opened.set_modified(SystemTime::UNIX_EPOCH).unwrap();
        touch(&file);
        let about = opened.metadata().unwrap();
        assert!(about.modified().unwrap() > SystemTime::UNIX_EPOCH && about.ino() == file.metadata().unwrap().ino());
        assert_eq!(announcement_of(&file, "s-1"), Some(watched));
        announce(&file, "s-2", Announced { is_watched: false, is_forked: false }).unwrap();
        assert_eq!(about.len(), opened.metadata().unwrap().len(), "whoever has it open reads it whole");
        assert_ne!(about.ino(), file.metadata().unwrap().ino());
        touch(&folder.path().join("none"));
        assert!(!folder.path().join("none").exists(), "a file that is gone is not made again");
    }
}
