//! A conversation belongs to one process at a time: whoever opens it holds a lock until its Claude Code has ended. Of two
//! that open one at the same moment only one gets it, also before the gate knows of either, and without a gate.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use crate::agents::claude::transcript::is_conversation;
use crate::files::make_folder;

/// The conversations that are held, each by the lock on its file.
pub(super) struct HeldConversations {
    folder: PathBuf,
}

/// A conversation that is this process's own as long as this is there.
#[derive(Debug)]
pub(super) struct HeldConversation {
    path: PathBuf,
    /// Locked as long as it is open.
    _file: File,
}

impl HeldConversations {
    pub(super) fn new(state_dir: &Path) -> Self {
        // Releases in which editors alone held conversations have it under this name, and may run beside this one.
        Self { folder: state_dir.join("acp-open") }
    }

    /// None while another holds it, in this process or in another one.
    pub(super) fn take(&self, conversation: &str) -> io::Result<Option<HeldConversation>> {
        if !is_conversation(conversation) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is the id of no conversation"));
        }
        make_folder(&self.folder)?;
        hold(self.folder.join(conversation))
    }

    /// Removes what those who were killed have left.
    pub(super) fn forget_older(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok) {
            // Nobody holds one that is to be had, and it goes when it is let go of.
            drop(hold(entry.path()));
        }
    }
}

fn hold(path: PathBuf) -> io::Result<Option<HeldConversation>> {
    loop {
        let mut options = File::options();
        let file = options.read(true).write(true).create(true).truncate(false).mode(0o600).open(&path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Ok(None),
            Err(TryLockError::Error(error)) => return Err(error),
        }
        // Whoever had it last has removed the file: another one may be there by now.
        let is_same = path.metadata().is_ok_and(|there| file.metadata().is_ok_and(|ours| there.ino() == ours.ino()));
        if is_same {
            return Ok(Some(HeldConversation { path, _file: file }));
        }
    }
}

impl Drop for HeldConversation {
    fn drop(&mut self) {
        // It is still locked: nobody else has this file, and whoever waits for it finds that it is gone.
        drop(fs::remove_file(&self.path));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn one_holds_a_conversation_and_nothing_is_left_of_it() {
        let folder = tempfile::tempdir().unwrap();
        let held = HeldConversations::new(folder.path());
        let [one, other] = ["1", "2"].map(|digit| format!("{}-{}", digit.repeat(8), "0".repeat(27)));
        let first = held.take(&one).unwrap().expect("free");
        assert!(held.take(&one).unwrap().is_none() && held.take(&other).unwrap().is_some());
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&held.folder), mode(&first.path)), (0o700, 0o600));
        held.forget_older();
        assert!(held.take(&one).unwrap().is_none(), "it is held");
        drop(first);
        assert!(held.take(&one).unwrap().is_some());
        // What someone who was killed has left holds nothing.
        fs::write(held.folder.join(&other), "").unwrap();
        assert!(held.take(&other).unwrap().is_some());
        fs::write(held.folder.join(&other), "").unwrap();
        held.forget_older();
        assert_eq!(fs::read_dir(&held.folder).unwrap().count(), 0);
        assert!(held.take("../x").is_err());
    }

    #[test]
    fn of_many_who_want_it_at_once_one_has_it_at_any_time() {
        let folder = tempfile::tempdir().unwrap();
        let held = HeldConversations::new(folder.path());
        let id = format!("{}-{}", "1".repeat(8), "0".repeat(27));
        let having = std::sync::atomic::AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    let mut times = 0;
                    while times < 200 {
                        let Some(one) = held.take(&id).unwrap() else { continue };
                        assert_eq!(having.fetch_add(1, std::sync::atomic::Ordering::SeqCst), 0);
                        having.fetch_sub(1, std::sync::atomic::Ordering::SeqCst);
                        times += 1;
                        drop(one);
                    }
                });
            }
        });
    }
}
