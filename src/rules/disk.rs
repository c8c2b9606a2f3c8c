//! What only a disk can tell: where links lead, where a project begins, and whether a file has changed.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustix::fs::OFlags;
use rustix::io::Errno;

use crate::config::Problem;
use crate::failure::Failure;

/// Larger files are no rules.
const LARGEST: u64 = 1 << 20;

/// Tells one version of a file from another.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Stamp(Option<(u64, u64, u64, i64, i64, i64, i64)>);

impl Stamp {
    pub(super) fn of(path: &Path) -> Self {
        Self(fs::metadata(path).ok().map(|about| {
            // The time of change as well: an editor can set the other, and not this.
            (
                about.dev(),
                about.ino(),
                about.size(),
                about.mtime(),
                about.mtime_nsec(),
                about.ctime(),
                about.ctime_nsec(),
            )
        }))
    }

    /// Whether a change since then would surely show: a disk's clock ticks slower than a file can be written twice.
    pub(super) fn is_settled(&self) -> bool {
        const TICK: Duration = Duration::from_millis(100);
        let Some((.., seconds, nanoseconds)) = self.0 else { return true };
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else { return false };
        let changed = UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        SystemTime::now().duration_since(changed).is_ok_and(|ago| ago > TICK)
    }
}

/// The text of a file, or none where there is no file.
pub(super) fn text_of(path: &Path) -> Result<Option<String>, Failure> {
    let doing = || format!("reading rules from {}", path.display());
    // A pipe of that name must not make us wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match rustix::fs::open(path, flags, rustix::fs::Mode::empty()).map_err(io::Error::from) {
        Ok(file) => File::from(file),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(None);
        }
        Err(error) => return Err(Failure::configuration(doing()).because(error)),
    };
    let failed = |error: io::Error| Failure::configuration(doing()).because(error);
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(Problem::new("it is not a file", "put a file there, or nothing").while_doing(doing()));
    }
    let mut bytes = vec![];
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LARGEST {
        return Err(Problem::new("it is larger than 1 MiB", "keep fewer rules").while_doing(doing()));
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|_| Problem::new("it is not UTF-8", "save the file as UTF-8").while_doing(doing()))
}

/// What is in a file, unless it is none, or larger than that. A pipe of that name must not make us wait.
pub(super) fn bytes_of(path: &Path, largest: u64) -> Option<Vec<u8>> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, rustix::fs::Mode::empty()).ok()?);
    if !file.metadata().is_ok_and(|about| about.is_file() && about.len() <= largest) {
        return None;
    }
    let mut bytes = vec![];
    file.take(largest).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The folder that holds `.git`, here or above, else the folder itself. The home of the user is no project because of
/// a `.git` in it, unless one works right there.
pub(crate) fn project_root(folder: &Path, home: Option<&Path>) -> PathBuf {
    let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
    let home = home.map(resolved);
    let root = folder.ancestors().take_while(|above| home.as_deref() != Some(resolved(above).as_path()));
    let root = root.into_iter().find(|above| above.join(".git").exists());
    root.unwrap_or(&folder).to_owned()
}

/// The path without links, also where its end does not exist yet.
pub(super) fn resolved(path: &Path) -> PathBuf {
    path.to_str().and_then(follow).map_or_else(|| path.to_owned(), PathBuf::from)
}

/// What was read of links while several paths are followed: most lie below the same folders, and each is looked at once.
#[derive(Default)]
pub(super) struct ReadLinks(HashMap<PathBuf, Option<PathBuf>>);

impl ReadLinks {
    /// The path, and each that it is on the way to where its links lead: who takes one of the links away takes what it leads
    /// to.
    pub(super) fn names_of(&mut self, path: &Path) -> Vec<PathBuf> {
        let mut names = vec![path.to_owned()];
        while let Some(next) =
            names.last().filter(|_| names.len() <= MOST_LINKS).and_then(|name| self.through_first_link(name))
        {
            names.push(next);
        }
        if let [_] = names.as_slice()
            && is_plain(path)
        {
            return names;
        }
        let real = resolved(path);
        if !names.contains(&real) {
            names.push(real);
        }
        names
    }

    /// Where a path leads. See [`resolved`].
    pub(super) fn resolved(&mut self, path: &Path) -> PathBuf {
        if is_plain(path) && self.through_first_link(path).is_none() {
            return path.components().collect();
        }
        resolved(path)
    }

    /// The path with the first link on it followed, if there is one.
    fn through_first_link(&mut self, path: &Path) -> Option<PathBuf> {
        let above: Vec<&Path> = path.ancestors().collect();
        let (link, to) = above.into_iter().rev().find_map(|part| Some((part, self.link(part)?)))?;
        let whole = link.parent()?.join(to).join(path.strip_prefix(link).ok()?);
        let mut plain = PathBuf::new();
        for part in whole.components() {
            match part {
                // The folder before it is no link: the first one was followed.
                Component::ParentDir => drop(plain.pop()),
                Component::CurDir => {}
                part => plain.push(part),
            }
        }
        Some(plain)
    }

    /// Where this leads, if it is a link.
    fn link(&mut self, path: &Path) -> Option<PathBuf> {
        // The root is none.
        path.parent()?;
        if let Some(known) = self.0.get(path) {
            return known.clone();
        }
        let to = fs::read_link(path).ok();
        self.0.insert(path.to_owned(), to.clone());
        to
    }
}

/// Whether a path without a link on it is itself where it leads.
fn is_plain(path: &Path) -> bool {
    path.is_absolute() && !path.components().any(|part| part == Component::ParentDir)
}

/// More links one behind another than this are read in the plain way.
const MOST_LINKS: usize = 16;

/// Where a path leads, by one who knows where its folder does. See [`follow`].
pub(super) fn follow_in(path: &str, real_folder: &impl Fn(&Path) -> Option<PathBuf>) -> Option<String> {
    let mut next = PathBuf::from(path);
    for _ in 0..MOST_LINKS {
        let goes_up = next.components().any(|part| part == Component::ParentDir);
        let (Some(folder), Some(name), false) = (next.parent(), next.file_name(), goes_up) else { break };
        let Some(real) = real_folder(folder) else { break };
        let whole = real.join(name);
        match rustix::fs::readlink(&whole, []) {
            Ok(to) => next = real.join(OsStr::from_bytes(to.as_bytes())),
            // No link, or nothing at all: then its end stands as it is.
            Err(Errno::INVAL | Errno::NOENT) => return whole.to_str().map(str::to_owned),
            Err(_) => break,
        }
    }
    follow(path)
}

/// Where a path leads: links followed as far as it exists, the rest as it stands. None when that cannot be told, as
/// with links in a circle or folders nobody may look into.
pub(super) fn follow(path: &str) -> Option<String> {
    let path = Path::new(path);
    if path.components().any(|part| part == Component::ParentDir) {
        return follow(&dangling(path, 0)?);
    }
    for above in path.ancestors() {
        match above.canonicalize() {
            Ok(real) => {
                let rest = path.strip_prefix(above).ok()?;
                let whole = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
                return whole.to_str().map(str::to_owned);
            }
            // A link that leads to nothing will be written through, so it has to be read by hand.
            Err(error) if error.kind() == io::ErrorKind::NotFound => match fs::read_link(above) {
                Ok(to) => {
                    let next = above.parent()?.join(to).join(path.strip_prefix(above).ok()?);
                    return dangling(&next, 0);
                }
                Err(_) => continue,
            },
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => continue,
            Err(_) => return None,
        }
    }
    None
}

fn dangling(path: &Path, depth: usize) -> Option<String> {
    const DEEPEST: usize = 16;
    if depth > DEEPEST {
        return None;
    }
    // Dots are taken away after links, from the front.
    let mut real = PathBuf::from("/");
    let parts: Vec<_> = path.components().collect();
    for (at, part) in parts.iter().enumerate() {
        match part {
            Component::ParentDir => drop(real.pop()),
            Component::Normal(name) => {
                real.push(name);
                if let Ok(to) = fs::read_link(&real) {
                    let rest: PathBuf = parts[at + 1..].iter().collect();
                    return dangling(&real.parent()?.join(to).join(rest), depth + 1);
                }
            }
            _ => {}
        }
    }
    real.to_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_path_has_a_name_at_each_link_on_its_way() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["a", "deep/b", "c"] {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        symlink("../deep/b", root.join("a/one")).unwrap();
        symlink(root.join("c"), root.join("deep/b/two")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let names = |path: &str| {
            let names = ReadLinks::default().names_of(&root.join(path));
            let below = |name: &PathBuf| name.strip_prefix(&root).unwrap().display().to_string();
            names.iter().map(below).collect::<Vec<_>>()
        };
        assert_eq!(names("a/one/two/rules"), ["a/one/two/rules", "deep/b/two/rules", "c/rules"]);
        assert_eq!(names("a/rules"), ["a/rules"]);
        assert!(names("round/x").len() <= MOST_LINKS + 2);
        let mut links = ReadLinks::default();
        symlink("one/../far", root.join("a/up")).unwrap();
        for path in [
            "a",
            "a/one",
            "a/one/two",
            "a/one/two/rules",
            "a/up/x",
            "a/../c",
            "a/one/../x",
            "c//x/./y",
            "no/x",
            "round/x",
        ] {
            let path = root.join(path);
            assert_eq!(links.resolved(&path), resolved(&path), "{}", path.display());
            assert!(links.names_of(&path).contains(&resolved(&path)), "{}", path.display());
        }
    }

    #[test]
    fn links_are_followed_also_where_they_lead_to_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("in")).unwrap();
        symlink("../out/new", root.join("in/link")).unwrap();
        symlink(root.join("in"), root.join("again")).unwrap();
        symlink("round", root.join("round")).unwrap();
        symlink("again/link", root.join("over")).unwrap();
        let follow = |path: &str| follow(root.join(path).to_str().unwrap());
        let is = |path: &str| root.join(path).to_str().map(str::to_owned);
        assert_eq!(follow("in/new/file"), is("in/new/file"));
        assert_eq!(follow("in/link"), is("out/new"));
        assert_eq!(follow("in/link/below"), is("out/new/below"));
        assert_eq!(follow("again/link"), is("out/new"));
        assert_eq!(follow("again/x"), is("in/x"));
        assert_eq!(follow("round"), None);
        // What is above a link is above where it leads.
        fs::create_dir_all(root.join("far/away")).unwrap();
        symlink(root.join("far/away"), root.join("in/there")).unwrap();
        assert_eq!(follow("in/there/../x"), is("far/x"));
        assert_eq!(follow("in/../x"), is("x"));
        for path in
            ["in", "in/link", "in/link/below", "again", "again/link", "again/x", "round", "round/x", "a/b/c", "over"]
        {
            let whole = root.join(path);
            let known = follow_in(whole.to_str().unwrap(), &|folder: &Path| folder.canonicalize().ok());
            assert_eq!(known, follow(path), "{path}");
        }
        for path in ["in/there/../x", "in/../x", "in/.", "in//x", "in/there/"] {
            let whole = format!("{}/{path}", root.display());
            let known = follow_in(&whole, &|folder: &Path| folder.canonicalize().ok());
            assert_eq!(known, super::follow(&whole), "{path}");
        }
        assert_eq!(follow_in("/", &|folder: &Path| folder.canonicalize().ok()).as_deref(), Some("/"));
        assert_eq!(follow("round/../x"), None);
    }

    #[test]
    fn a_project_begins_at_its_git_folder_and_never_at_the_home() {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path();
        fs::create_dir_all(home.join("p/.git")).unwrap();
        fs::create_dir_all(home.join("p/src/deep")).unwrap();
        fs::create_dir_all(home.join("q")).unwrap();
        fs::create_dir(home.join(".git")).unwrap();
        assert_eq!(project_root(&home.join("p/src/deep"), Some(home)), home.join("p"));
        assert_eq!(project_root(&home.join("q"), Some(home)), home.join("q"));
        assert_eq!(project_root(home, Some(home)), home);
    }
}
