//! What can go wrong with a journal, in words for people, and what they can do about it.

use std::error::Error;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{Refused, Seq};

/// Whatever was underneath. Boxed, because no other room shall know what the journal is made of.
type Cause = Box<dyn Error + Send + Sync>;

/// The journal was open, and then did not let us do something.
#[derive(Debug, Error)]
#[error("{doing}")]
pub(crate) struct StoreError {
    doing: &'static str,
    source: Cause,
}

impl StoreError {
    /// For `map_err`: says what we were doing.
    pub(super) fn doing<E: Into<Cause>>(doing: &'static str) -> impl FnOnce(E) -> Self {
        move |source| Self { doing, source: source.into() }
    }
}

impl From<StoreError> for Refused {
    fn from(error: StoreError) -> Self {
        Self::Failed(format!("{}: {}", error.doing, error.source))
    }
}

/// The journal cannot be used at all.
#[derive(Debug, Error)]
pub(crate) enum OpenError {
    #[error("the journal {path} cannot be opened for reading and writing")]
    Unreadable { path: PathBuf, source: Cause },
    #[error("the journal {path} is damaged, or is not a journal")]
    Corrupt { path: PathBuf, backup: Option<PathBuf>, source: Cause },
    #[error("{path} is the database of another program, not a journal")]
    Foreign { path: PathBuf },
    #[error("the journal {path} is empty: what was in it is gone")]
    Emptied { path: PathBuf, backup: Option<PathBuf> },
    #[error("the journal {path} is held by another process")]
    Locked { path: PathBuf },
    #[error("the journal {path} has version {found}; this portcullis knows versions up to {known}")]
    Newer {
        path: PathBuf,
        found: u32,
        known: u32,
        /// The newest backup beside the journal that this binary can read.
        backup: Option<PathBuf>,
    },
    #[error("writing the backup {path}, without which the journal is not upgraded")]
    Backup { path: PathBuf, source: Cause },
    #[error("opening the journal {path}")]
    Failed { path: PathBuf, source: Cause },
}

impl OpenError {
    /// What the person in front of it can do.
    pub(crate) fn hint(&self) -> String {
        match self {
            Self::Unreadable { .. } => "the file and its folder must belong to the user who runs portcullis".to_owned(),
            Self::Emptied { path, backup } | Self::Corrupt { path, backup, .. } => aside(path, backup.as_deref()),
            Self::Foreign { .. } => "move it elsewhere, or name another place for the journal".to_owned(),
            Self::Locked { .. } => "stop the other process, or wait until it is done".to_owned(),
            Self::Newer { path, backup, .. } => {
                format!("install the newer portcullis again; or {}", aside(path, backup.as_deref()))
            }
            Self::Backup { .. } => "make room on the disk, and see that the folder can be written to".to_owned(),
            Self::Failed { .. } => "see that the disk is neither full nor failing".to_owned(),
        }
    }
}

/// The side files must go too: SQLite would play an old log into the new file.
fn aside(path: &Path, backup: Option<&Path>) -> String {
    let path = path.display();
    match backup {
        Some(backup) => {
            format!("move {path} aside with its -wal and -shm files, and copy {} to its place", backup.display())
        }
        None => format!("move {path} aside with its -wal and -shm files, to start a new journal"),
    }
}

/// The journal is not what was written.
#[derive(Debug, Error)]
pub(crate) enum VerifyError {
    #[error("record {}: {what}", seq.0)]
    Broken { seq: Seq, what: &'static str },
    #[error("{0:?} is not the head of a journal: a head is 64 hexadecimal digits")]
    NotAHead(String),
    #[error(transparent)]
    Store(#[from] StoreError),
}
