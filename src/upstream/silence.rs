//! Servers that leave `server/discover` unanswered, remembered for the next process: it does not wait for them once more.

use std::fs;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server may learn to answer, under the same configuration.
const REMEMBERED: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// An empty file for each, named by the hash of its configuration. What cannot be written is only asked for once more.
#[derive(Clone, Debug)]
pub(crate) struct SilentServers(PathBuf);

impl SilentServers {
    pub(crate) fn new(state: &Path) -> Self {
        Self(state.join("mcp-silent"))
    }

    pub(super) fn has(&self, hash: &str) -> bool {
        is_young(&self.0.join(hash))
    }

    pub(super) fn keep(&self, hash: &str) {
        let folder = fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0);
        let mut options = fs::OpenOptions::new();
        options.write(true).create(true).truncate(true).mode(0o600);
        let kept = folder.and_then(|()| options.open(self.0.join(hash)));
        if let Err(error) = kept {
            tracing::debug!(%error, "that a server is silent was not remembered");
        }
        // Configurations that are gone leave nothing behind.
        for file in fs::read_dir(&self.0).into_iter().flatten().flatten().filter(|file| !is_young(&file.path())) {
            drop(fs::remove_file(file.path()));
        }
    }

    pub(super) fn forget(&self, hash: &str) {
        drop(fs::remove_file(self.0.join(hash)));
    }
}

/// A time that is yet to come is of a clock that was wrong.
fn is_young(file: &Path) -> bool {
    let age = fs::metadata(file).and_then(|about| about.modified()).map(|written| written.elapsed());
    age.is_ok_and(|age| age.is_ok_and(|age| age < REMEMBERED))
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::SystemTime;

    use super::*;

    #[test]
    fn a_silent_server_is_remembered_for_a_week() {
        let state = tempfile::tempdir().unwrap();
        let silent = SilentServers::new(state.path());
        assert!(!silent.has("a"));
        silent.keep("a");
        assert!(silent.has("a") && !silent.has("b"));
        assert_eq!(fs::metadata(silent.0.join("a")).unwrap().permissions().mode() & 0o777, 0o600);
        File::open(silent.0.join("a")).unwrap().set_modified(SystemTime::now() - REMEMBERED).unwrap();
        assert!(!silent.has("a"));
        silent.keep("b");
        assert!(!silent.0.join("a").exists(), "it is swept away");
        silent.forget("b");
        assert!(!silent.has("b"));
    }
}
