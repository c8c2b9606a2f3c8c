//! Whether a path of ours may be believed: nobody else could have put there what it leads to.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::{Component, Path, PathBuf};

use portcullis_core::shell_words;

use super::error::Problem;

/// More links in a row than this lead nowhere.
const MOST_LINKS: usize = 40;

/// Follows a path, links and all, and looks at everything on the way. Returns where it ends: what is missing there is
/// taken as written, since it would be made in a folder that was looked at.
pub(super) fn believed(path: &Path) -> Result<PathBuf, Problem> {
    let us = rustix::process::geteuid().as_raw();
    let absolute = std::path::absolute(path).map_err(|error| unreadable(path, &error))?;
    let mut ahead: Vec<Component<'_>> = absolute.components().collect();
    ahead.reverse();
    let mut ahead: Vec<PathBuf> = ahead.into_iter().map(|part| PathBuf::from(part.as_os_str())).collect();
    let mut here = PathBuf::from("/");
    let mut links = 0;
    while let Some(next) = ahead.pop() {
        match next.components().next() {
            Some(Component::ParentDir) => {
                here.pop();
                continue;
            }
            Some(Component::RootDir) => {
                here = PathBuf::from("/");
                continue;
            }
            Some(Component::Normal(_)) => {}
            _ => continue,
        }
        let there = here.join(&next);
        let about = match fs::symlink_metadata(&there) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                ahead.reverse();
                return Ok(ahead.iter().fold(there, |path, part| path.join(part)));
            }
            about => about.map_err(|error| unreadable(&there, &error))?,
        };
        if let Some(problem) = others_could_change(&there, &about, us) {
            return Err(problem);
        }
        if !about.is_symlink() {
            here = there;
            continue;
        }
        links += 1;
        if links > MOST_LINKS {
            return Err(Problem::new(format!("{} leads through too many links", path.display()), "remove the links"));
        }
        let target = fs::read_link(&there).map_err(|error| unreadable(&there, &error))?;
        let mut parts: Vec<PathBuf> = target.components().map(|part| PathBuf::from(part.as_os_str())).collect();
        parts.reverse();
        ahead.extend(parts);
    }
    Ok(here)
}

fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(format!("{} cannot be looked at: {error}", path.display()), "make it readable for you, or remove it")
}

fn others_could_change(path: &Path, about: &Metadata, us: u32) -> Option<Problem> {
    let owner = about.uid();
    if owner != us && owner != 0 {
        let what = format!("{} belongs to user {owner}, and you are user {us}", path.display());
        return Some(Problem::new(what, "use a folder that belongs to you, below folders of yours or of root"));
    }
    // Nobody writes through a link, and who may write to a socket is asked for by the gate.
    if about.is_symlink() || about.file_type().is_socket() {
        return None;
    }
    let (by_group, by_all, sticky) = (about.mode() & 0o020 != 0, about.mode() & 0o002 != 0, about.mode() & 0o1000 != 0);
    // Many systems give each user a group of their own, with the same number; the group of root is root's.
    let is_private_group = about.gid() == owner;
    let is_shared_by_root = sticky && owner == 0 && about.is_dir();
    let is_open = by_all || (by_group && !is_private_group);
    (is_open && !is_shared_by_root).then(|| {
        let what = format!("others may write to {} (mode {:03o})", path.display(), about.mode() & 0o777);
        Problem::new(what, format!("run: chmod go-w {}", shell_words(&[path.to_string_lossy()])))
    })
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn links_are_followed_and_everything_on_the_way_counts() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let (store, home) = (root.join("store"), root.join("home"));
        fs::create_dir_all(&store).unwrap();
        fs::create_dir_all(&home).unwrap();
        fs::write(store.join("rules.toml"), "").unwrap();
        symlink("../store", home.join("config")).unwrap();
        symlink("config/rules.toml", home.join("rules.toml")).unwrap();
        assert_eq!(believed(&home.join("rules.toml")).unwrap(), store.join("rules.toml"));
        assert_eq!(believed(&home.join("config/new/file")).unwrap(), store.join("new/file"));
        for (path, open, shut) in [(store.clone(), 0o777, 0o755), (store.join("rules.toml"), 0o666, 0o644)] {
            mode(&path, open);
            let problem = believed(&home.join("rules.toml")).unwrap_err();
            assert!(problem.what.contains("others may write to"), "{}", problem.what);
            assert_eq!(problem.hint, format!("run: chmod go-w {}", path.display()));
            mode(&path, shut);
        }
        assert!(believed(&home.join("rules.toml")).is_ok());
    }

    #[test]
    fn a_folder_that_only_its_owner_shares_is_no_sticky_folder_of_root() {
        let folder = tempfile::tempdir().unwrap();
        let shared = folder.path().join("shared");
        fs::create_dir(&shared).unwrap();
        mode(&shared, 0o1777);
        let is_root = fs::metadata(&shared).unwrap().uid() == 0;
        assert_eq!(believed(&shared.join("x")).is_ok(), is_root);
        assert!(believed(Path::new("/tmp/x-that-is-not-there")).is_ok());
    }

    #[test]
    fn links_in_a_circle_end() {
        let folder = tempfile::tempdir().unwrap();
        symlink("b", folder.path().join("a")).unwrap();
        symlink("a", folder.path().join("b")).unwrap();
        assert!(believed(&folder.path().join("a")).unwrap_err().what.contains("too many links"));
    }
}
