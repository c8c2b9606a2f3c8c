//! The journal's file, its side files and its backups: nobody else may read them.

use std::error::Error;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rusqlite::Connection;

const PRIVATE: u32 = 0o600;

/// Makes sure that there is a file, and that it is private. SQLite gives its side files the mode of the journal; those
/// that were copied here by hand may have another.
pub(super) fn make_private(path: &Path) -> io::Result<()> {
    match create_private(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    for file in [path.to_owned(), beside(path, "-wal"), beside(path, "-shm")] {
        let metadata = match fs::metadata(&file) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        if !metadata.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        if metadata.permissions().mode() & 0o777 != PRIVATE {
            fs::set_permissions(&file, Permissions::from_mode(PRIVATE))?;
        }
    }
    Ok(())
}

/// A new file. One that is there already is an error.
pub(super) fn create_private(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(PRIVATE).open(path)
}

/// Copies the journal to `backup`, replacing an older one. WrittenAppends under another name first: what is called a backup
/// is whole.
pub(super) fn back_up(connection: &Connection, backup: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let partial = beside(backup, ".partial");
    match fs::remove_file(&partial) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    create_private(&partial)?;
    let name = partial.to_str().ok_or("SQLite cannot write to a path that is not UTF-8")?;
    connection.execute("VACUUM INTO ?1", [name])?;
    File::open(&partial)?.sync_all()?;
    fs::rename(&partial, backup)?;
    File::open(folder_of(backup))?.sync_all()?;
    Ok(())
}

/// The newest backup beside the journal that is no newer than version `known`.
pub(super) fn newest_backup(path: &Path, known: u32) -> Option<PathBuf> {
    (1..=known).rev().map(|version| backup_path(path, version)).find(|backup| backup.exists())
}

/// Where the journal is kept as it was in that version.
pub(super) fn backup_path(path: &Path, version: u32) -> PathBuf {
    beside(path, &format!(".v{version}.backup"))
}

/// The file whose name is longer by `suffix`.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}
