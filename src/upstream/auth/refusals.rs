//! What a server said when it refused us, kept for a while: nobody is asked again by every command, and whoever signs in
//! knows what for.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

use super::tokens::replace;

/// As long as Claude Code remembers it.
const REMEMBERED: Duration = Duration::from_secs(15 * 60);

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct KeptRefusal {
    /// Seconds since 1970.
    at: u64,
    /// The header `WWW-Authenticate`, where there was one.
    pub(super) challenge: String,
    /// There was not even a connection; else only some calls need more.
    pub(super) is_whole: bool,
}

#[derive(Clone, Debug)]
pub(super) struct RefusalFile(PathBuf);

impl RefusalFile {
    pub(super) fn new(folder: &Path, hash: &str) -> Self {
        Self(folder.join(format!("{hash}.refused")))
    }

    fn read(&self) -> Option<KeptRefusal> {
        serde_json::from_slice(&fs::read(&self.0).ok()?).ok()
    }

    /// Whether nobody was let in the last time, however long ago that was. It is forgotten when someone is.
    pub(super) fn kept_out(&self) -> bool {
        self.read().is_some_and(|refusal| refusal.is_whole)
    }

    /// The last refusal, if it is not too old.
    pub(super) fn last(&self) -> Option<KeptRefusal> {
        let refusal = self.read()?;
        let age = now().checked_sub(refusal.at)?;
        (age < REMEMBERED.as_secs()).then_some(refusal)
    }

    /// Remembers a refusal. What cannot be written is only asked for once more.
    pub(super) fn keep(&self, challenge: String, is_whole: bool) {
        let refusal = KeptRefusal { at: now(), challenge, is_whole };
        let written = serde_json::to_vec(&refusal).map_err(Into::into).and_then(|bytes| replace(&self.0, &bytes));
        if let Err(error) = written {
            tracing::debug!(%error, "a refusal was not remembered");
        }
    }

    pub(super) fn remove(&self) {
        drop(fs::remove_file(&self.0));
    }
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_remembered_for_a_quarter_of_an_hour() {
        let folder = tempfile::tempdir().unwrap();
        let file = RefusalFile::new(folder.path(), "abc");
        assert!(file.last().is_none());
        file.keep("Bearer scope=\"x\"".to_owned(), true);
        assert_eq!(file.last().unwrap().challenge, "Bearer scope=\"x\"");
        let old = KeptRefusal { at: now() - REMEMBERED.as_secs(), ..KeptRefusal::default() };
        fs::write(&file.0, serde_json::to_vec(&old).unwrap()).unwrap();
        assert!(file.last().is_none());
        let later = KeptRefusal { at: now() + 60, ..KeptRefusal::default() };
        fs::write(&file.0, serde_json::to_vec(&later).unwrap()).unwrap();
        assert!(file.last().is_none(), "a clock that was wrong keeps nobody out");
    }
}
