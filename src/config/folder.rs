//! A folder of ours: made for its owner alone, and refused when somebody else could put things into it.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::Path;

use portcullis_core::shell_words;
use rustix::fs::{Access, access};

use super::error::Problem;
use crate::failure::Failure;

/// Whether the folder may be a link to the real one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// In the owner's own folders: people link their configuration to where they keep it.
    Followed,
    /// In a folder everybody writes to, where a link may be somebody's trap.
    Refused,
}

/// Makes the folder and those above it if they are missing, with mode 0700, and looks whether it is safe to use.
pub(super) fn prepare(folder: &Path, links: Links) -> Result<(), Failure> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|error| failed(folder, error))?;
    look(folder, links).map(drop)
}

/// Looks whether a folder is safe to use and makes nothing; whether it is there at all.
pub(super) fn look(folder: &Path, links: Links) -> Result<bool, Failure> {
    let metadata = match links {
        Links::Followed => fs::metadata(folder),
        Links::Refused => fs::symlink_metadata(folder),
    };
    let metadata = match metadata {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return can_be_made(folder).map(|()| false),
        metadata => metadata.map_err(|error| failed(folder, error))?,
    };
    let doing = || doing(folder);
    if !metadata.is_dir() && !metadata.is_symlink() {
        return Err(failed(folder, io::ErrorKind::NotADirectory.into()));
    }
    if metadata.is_symlink() {
        let hint = format!("remove {}: somebody may have put it there to mislead you", folder.display());
        return Err(Problem::new("it is a symbolic link", hint).while_doing(doing()));
    }
    match unsafe_because(folder, metadata.uid(), metadata.mode(), rustix::process::geteuid().as_raw()) {
        Some(problem) => Err(problem.while_doing(doing())),
        None => Ok(true),
    }
}

/// The nearest folder above it that is there lets it be made.
fn can_be_made(folder: &Path) -> Result<(), Failure> {
    let Some(above) = folder.ancestors().skip(1).find(|above| above.exists()) else { return Ok(()) };
    let looked = access(above, Access::WRITE_OK | Access::EXEC_OK).map_err(io::Error::from);
    looked.map_err(|error| failed(folder, io::Error::new(error.kind(), format!("{}: {error}", above.display()))))
}

fn doing(folder: &Path) -> String {
    format!("preparing the folder {}", folder.display())
}

fn failed(folder: &Path, error: io::Error) -> Failure {
    Failure::configuration(doing(folder))
        .because(error)
        .with_hint("set PORTCULLIS_HOME to a folder of yours, or look at HOME and the XDG variables")
}

fn unsafe_because(folder: &Path, owner: u32, mode: u32, us: u32) -> Option<Problem> {
    const STICKY: u32 = 0o1000;
    const WRITABLE_BY_OTHERS: u32 = 0o022;
    if owner != us {
        let hint =
            format!("start as the user who owns {}, or set PORTCULLIS_HOME to a folder of yours", folder.display());
        return Some(Problem::new(format!("it belongs to user {owner}, and you are user {us}"), hint));
    }
    if mode & WRITABLE_BY_OTHERS == 0 {
        return None;
    }
    // A sticky folder such as /tmp is shared on purpose: closing it would break what others do there.
    let hint = match mode & STICKY {
        0 => format!("run: chmod 700 {}", shell_words(&[folder.to_string_lossy()])),
        _ => "it is shared on purpose; set PORTCULLIS_HOME to a folder inside it".to_owned(),
    };
    Some(Problem::new(format!("others may write in it (mode {:03o})", mode & 0o777), hint))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;
    use crate::config::error::tests::report;

    #[test]
    fn a_missing_folder_is_made_for_its_owner_alone() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("state/portcullis");
        prepare(&folder, Links::Followed).unwrap();
        prepare(&folder, Links::Refused).unwrap();
        for made in [&folder, folder.parent().unwrap()] {
            assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
        }
    }

    #[test]
    fn a_missing_folder_that_cannot_be_made_is_told_before_it_is_needed() {
        let outside = tempfile::tempdir().unwrap();
        assert!(matches!(look(&outside.path().join("a/b"), Links::Followed), Ok(false)));
        // Not even an administrator makes a folder in it.
        let file = outside.path().join("file");
        fs::write(&file, "").unwrap();
        for folder in [file.join("b"), file.join("a/b")] {
            let shown = report(&look(&folder, Links::Followed).unwrap_err());
            assert!(shown.contains("set PORTCULLIS_HOME"), "{shown}");
        }
    }

    #[test]
    fn a_folder_others_may_write_in_is_refused_with_the_command_that_closes_it() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("portcullis");
        fs::create_dir(&folder).unwrap();
        for (mode, safe) in [(0o700, true), (0o755, true), (0o770, false), (0o707, false), (0o720, false)] {
            fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
            let prepared = prepare(&folder, Links::Followed);
            assert_eq!(prepared.is_ok(), safe, "{mode:o}");
            if let Err(error) = prepared {
                let shown = report(&error);
                assert!(shown.ends_with(&format!("hint: run: chmod 700 {}", folder.display())), "{shown}");
            }
        }
    }

    #[test]
    fn a_folder_of_someone_else_is_refused_and_a_shared_one_is_not_to_be_closed() {
        let tmp = Path::new("/tmp");
        let problem = unsafe_because(tmp, 0, 0o41777, 1000).unwrap();
        assert_eq!(problem.what, "it belongs to user 0, and you are user 1000");
        let problem = unsafe_because(tmp, 0, 0o41777, 0).unwrap();
        assert!(!problem.hint.contains("chmod"), "{}", problem.hint);
    }

    #[test]
    fn a_link_is_followed_at_home_and_refused_where_everybody_writes() {
        let outside = tempfile::tempdir().unwrap();
        let (real, link) = (outside.path().join("real"), outside.path().join("link"));
        prepare(&real, Links::Refused).unwrap();
        symlink(&real, &link).unwrap();
        prepare(&link, Links::Followed).unwrap();
        let shown = report(&prepare(&link, Links::Refused).unwrap_err());
        assert!(shown.contains("caused by: it is a symbolic link\n  hint: remove "), "{shown}");
    }

    #[test]
    fn a_file_in_the_way_is_an_error_with_a_hint() {
        let outside = tempfile::tempdir().unwrap();
        let file = outside.path().join("file");
        fs::write(&file, "").unwrap();
        assert!(prepare(&file, Links::Followed).unwrap_err().hint().is_some());
        assert!(prepare(&file.join("below"), Links::Followed).unwrap_err().hint().is_some());
    }
}
