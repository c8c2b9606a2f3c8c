//! One gate for each home: whoever holds the lock is it. Taken before the socket is touched.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use serde::{Deserialize, Serialize};

/// What the holder wrote about itself.
#[derive(Debug, Clone, Serialize, Deserialize, PartialEq, Eq)]
pub(crate) struct About {
    pub(crate) pid: u32,
    pub(crate) version: String,
    /// Where it listens. A client whose environment gives another path finds it here.
    pub(crate) socket: PathBuf,
    /// Started because a session needed a gate: it stops when a person starts one.
    #[serde(default)]
    pub(crate) auto_started: bool,
}

pub(crate) struct Lock {
    /// Locked as long as it is open.
    file: File,
}

/// How often a lock that only lookers hold is tried again.
const TRIES: u32 = 1000;

impl Lock {
    /// None when another process holds it.
    pub(crate) fn take(path: &Path) -> anyhow::Result<Option<Self>> {
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(path).with_context(|| format!("opening the lock {}", path.display()))?;
        let locked = |taken: Result<(), TryLockError>| match taken {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error).with_context(|| format!("locking {}", path.display())),
        };
        for _ in 0..TRIES {
            if locked(file.try_lock())? {
                return Ok(Some(Self { file }));
            }
            // A gate shares its lock with nobody. Those who only look do, and are gone in a moment.
            if !locked(file.try_lock_shared())? {
                return Ok(None);
            }
            file.unlock()?;
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(None)
    }

    pub(crate) fn write(&mut self, about: &About) -> anyhow::Result<()> {
        self.file.set_len(0)?;
        self.file.rewind()?;
        self.file.write_all(&serde_json::to_vec(about)?)?;
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // An empty file tells the next reader that nobody is there; the lock itself goes with the file handle.
        drop(self.file.set_len(0));
    }
}

/// What the holder says about itself, if there is one. The lock alone proves that it lives.
pub(crate) fn holder(path: &Path) -> Option<About> {
    let mut file = File::open(path).ok()?;
    // A lock that we get is held by nobody, whatever the file says.
    if file.try_lock_shared().is_ok() {
        return None;
    }
    let mut text = String::new();
    file.read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_the_lock_and_a_dead_holder_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("gate.lock");
        let about = About { pid: 7, version: "1".into(), socket: "/x".into(), auto_started: false };
        let mut first = Lock::take(&path).unwrap().expect("free");
        first.write(&about).unwrap();
        assert!(Lock::take(&path).unwrap().is_none());
        assert_eq!(holder(&path), Some(about.clone()));
        drop(first);
        assert_eq!(holder(&path), None);
        // What a gate that was killed left behind does not count.
        std::fs::write(&path, serde_json::to_vec(&about).unwrap()).unwrap();
        assert_eq!(holder(&path), None);
        assert!(Lock::take(&path).unwrap().is_some());
    }
}
