//! One change of Claude Code's files at a time: the files, and what the receipts say of them, belong together.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt as _;
use std::time::{Duration, Instant};

use anyhow::Context as _;

use crate::config::Paths;
use crate::failure::Failure;
use crate::report::note;

/// A change takes moments, a copy of the program a second.
const LONGEST_WAIT: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// Held while files are changed; it goes with its process.
pub(crate) struct ChangeLock {
    /// Locked as long as it is open.
    _file: File,
}

impl ChangeLock {
    /// Waits for another change to end, and says so.
    pub(crate) fn take(paths: &Paths) -> anyhow::Result<Self> {
        paths.prepare()?;
        let path = paths.state_dir.join("install.lock");
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let file = options.open(&path).with_context(|| format!("opening the lock {}", path.display()))?;
        let (begun, mut is_told) = (Instant::now(), false);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::Error(error)) => {
                    return Err(error).with_context(|| format!("locking {}", path.display()));
                }
                Err(TryLockError::WouldBlock) if begun.elapsed() > LONGEST_WAIT => {
                    let what = "another `portcullis install` or `uninstall` still changes the same files";
                    return Err(
                        Failure::new(what, "nothing was changed: run this again when that one has ended").into()
                    );
                }
                Err(TryLockError::WouldBlock) => {
                    if !std::mem::replace(&mut is_told, true) {
                        note("waiting for another `portcullis install` or `uninstall` to end");
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
    }
}
