//! The folders in which sessions may be started over the API.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use super::daemon::Started;
use crate::config::{Config, Paths};

/// Where the folder is kept in which a person last started a gate.
const REMEMBERED: &str = "start-folder";

/// Those of the configuration. Without any, whoever starts a gate in a project means that project; and so does the session
/// that starts one again in its place.
pub(super) fn start_folders(paths: &Paths, config: &Config, started: Started) -> Vec<PathBuf> {
    let configured = &config.start.folders;
    if !configured.is_empty() {
        return configured.iter().map(|folder| folder.at_home(paths)).collect();
    }
    let file = paths.state_dir.join(REMEMBERED);
    // A home, or the root, is where services are started.
    let is_project = |folder: &PathBuf| folder.parent().is_some() && Some(folder.as_path()) != paths.user_home();
    match started {
        // Whoever it was that started this one, they say nothing of where people work.
        Started::ForSession | Started::ByUnknown => read(&file).filter(is_project).into_iter().collect(),
        Started::ByPerson => {
            let here = std::env::current_dir().ok().filter(is_project);
            if let Err(error) = remember(&file, here.as_deref()) {
                tracing::debug!(%error, "the folder of this gate could not be written down");
            }
            here.into_iter().collect()
        }
    }
}

fn read(file: &Path) -> Option<PathBuf> {
    let bytes = fs::read(file).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(&bytes))).filter(|folder| folder.is_absolute())
}

fn remember(file: &Path, folder: Option<&Path>) -> io::Result<()> {
    let Some(folder) = folder else {
        return fs::remove_file(file).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
    };
    let mut open = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(file)?;
    open.write_all(folder.as_os_str().as_bytes())
}
