//! Opening the journal: nothing is changed before it is known to be ours and of our time.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, MAIN_DB, OpenFlags};

use super::Journal;
use super::files::{back_up, backup_path, make_private, newest_backup};
use super::index::Index;
use super::snapshot;
use super::version::{STEPS, UpgradeStep, recognise, upgrade};
use super::write::Salts;
use crate::store::{Durability, OpenError};

/// How long another process may hold the file before we give up: a commit on a slow disk, not a person at a prompt.
const PATIENCE: Duration = Duration::from_secs(5);

/// In pages, 128 MiB. Under a load that never pauses the checkpointer never quite catches up; then the append that finds
/// the log this long does the rest itself.
const LONGEST_LOG: u32 = 32_768;

impl Journal {
    pub(super) fn open(path: &Path, durability: Durability) -> Result<Self, OpenError> {
        Self::open_with(path, durability, STEPS, PATIENCE)
    }

    pub(super) fn open_with(
        path: &Path,
        durability: Durability,
        steps: &[UpgradeStep],
        patience: Duration,
    ) -> Result<Self, OpenError> {
        let known = steps.len() as u32;
        let failed = |error| explain(error, path, known);
        let unreadable = |error: io::Error| OpenError::Unreadable { path: path.to_owned(), source: error.into() };

        if !path.try_exists().map_err(unreadable)? {
            start_new(path, steps)?;
        }
        make_private(path).map_err(unreadable)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(failed)?;
        connection.busy_timeout(patience).map_err(failed)?;
        // SQLite is content with reading when it may not write, and would tell us only at the first append.
        if connection.is_readonly(MAIN_DB).map_err(failed)? {
            return Err(unreadable(io::ErrorKind::ReadOnlyFilesystem.into()));
        }

        let Some(found) = recognise(&connection).map_err(failed)? else {
            return Err(OpenError::Foreign { path: path.to_owned() });
        };
        // Ours is never seen empty: it is made whole, and then put in its place.
        if found == 0 {
            return Err(OpenError::Emptied { path: path.to_owned(), backup: newest_backup(path, known) });
        }
        if found > known {
            let backup = newest_backup(path, known);
            return Err(OpenError::Newer { path: path.to_owned(), found, known, backup });
        }
        let has_log = set_up(&connection, durability).map_err(failed)?;
        if found < known {
            let backup = backup_path(path, found);
            back_up(&connection, &backup).map_err(|source| OpenError::Backup { path: backup, source })?;
            tracing::info!(path = %path.display(), from = found, to = known, "upgrading the journal");
            upgrade(&mut connection, steps).map_err(failed)?;
        }
        let writer = connection
            .query_row("SELECT value FROM meta WHERE name = 'writer'", [], |row| row.get(0))
            .map_err(failed)?;
        Ok(Self {
            connection,
            patience,
            writer,
            salts: Salts::default(),
            tail: None,
            known: RefCell::default(),
            row: Vec::new(),
            index: Index::of(path),
            snapshot: snapshot::path_of(path),
            has_log,
        })
    }
}

/// Makes a new journal under another name and puts it in its place whole. Whoever was faster has made as good a one.
fn start_new(path: &Path, steps: &[UpgradeStep]) -> Result<(), OpenError> {
    let failed = |error| explain(error, path, steps.len() as u32);
    let unreadable = |error: io::Error| OpenError::Unreadable { path: path.to_owned(), source: error.into() };
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.new", std::process::id()));
    let draft = PathBuf::from(draft);
    // Of a process of the same number that was killed.
    drop(fs::remove_file(&draft));
    make_private(&draft).map_err(unreadable)?;
    let made = Connection::open_with_flags(&draft, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .and_then(|mut connection| upgrade(&mut connection, steps));
    let placed = made.map_err(failed).and_then(|()| match fs::hard_link(&draft, path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(unreadable(error)),
        _ => Ok(()),
    });
    let removed = fs::remove_file(&draft).map_err(unreadable);
    placed.and(removed)
}

/// Whether the journal has a write-ahead log by now.
fn set_up(connection: &Connection, durability: Durability) -> rusqlite::Result<bool> {
    let mode: String = connection.pragma_update_and_check(None, "journal_mode", "WAL", |row| row.get(0))?;
    let has_log = mode == "wal";
    if !has_log {
        tracing::warn!(mode, "the journal's file system allows no write-ahead log: appends will be slow");
    }
    connection.pragma_update(None, "wal_autocheckpoint", LONGEST_LOG)?;
    // What is erased is overwritten, not only forgotten.
    connection.pragma_update(None, "secure_delete", "ON")?;
    // Else SQLite plans a statement anew for each value bound to it, which takes longer than running it.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // The log is synced by a thread of ours; SQLite does it for checkpoints, and in place of a log.
    let synchronous = if durability == Durability::Power && !has_log { "FULL" } else { "NORMAL" };
    connection.pragma_update(None, "synchronous", synchronous)?;
    if durability == Durability::Power {
        // On macOS a plain fsync ends in the drive's cache; elsewhere this changes nothing.
        connection.pragma_update(None, "fullfsync", "ON")?;
        connection.pragma_update(None, "checkpoint_fullfsync", "ON")?;
    }
    Ok(has_log)
}

/// Sorts what SQLite says by what a person can do about it.
fn explain(error: rusqlite::Error, path: &Path, known: u32) -> OpenError {
    let path = path.to_owned();
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::ReadOnly) => {
            OpenError::Unreadable { path, source: error.into() }
        }
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => {
            OpenError::Corrupt { backup: newest_backup(&path, known), path, source: error.into() }
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => OpenError::Locked { path },
        _ => OpenError::Failed { path, source: error.into() },
    }
}
