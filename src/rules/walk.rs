//! The disk as the rules see it: where links lead, what patterns stand for, and what lies in a folder.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::OsString;
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use portcullis_core::policy::{Disk, is_any_depth, is_literal, is_part};

use super::disk;

/// What one judgement looks at, at most. Beyond that it is not certain, and asked for.
const MOST_ENTRIES: usize = 40_000;
/// The files that one pattern may stand for.
const MOST_MADE: usize = 1_000;

/// A longer file is no list of names that is read.
const LARGEST_LIST: u64 = 1 << 20;
/// A longer index of git is not read.
const LARGEST_INDEX: u64 = 32 << 20;
/// The lines of a list that are read.
const MOST_LINES: usize = 20_000;

/// For one judgement: however many folders and patterns a line names, all of them together cost no more than one. What was
/// looked at is as it was then, for all that follows: a line names many files in few folders.
pub(crate) struct RealDisk {
    left: Cell<usize>,
    /// Folders whose links were followed, and where they lead.
    folders: RefCell<HashMap<PathBuf, Option<PathBuf>>>,
    /// Where paths lead.
    followed: RefCell<HashMap<String, Option<String>>>,
    /// What lies in folders.
    listed: RefCell<HashMap<PathBuf, Rc<[Entry]>>>,
    /// Whether paths are folders.
    kinds: RefCell<HashMap<String, bool>>,
}

/// A disk that nobody looks at. It knows whether somebody wanted to.
#[derive(Default)]
pub(super) struct UnseenDisk(Cell<bool>);

impl UnseenDisk {
    pub(super) fn was_needed(&self) -> bool {
        self.0.get()
    }

    fn wanted<T>(&self, answer: T) -> T {
        self.0.set(true);
        answer
    }
}

impl Disk for UnseenDisk {
    fn follow(&self, _: &str) -> Option<String> {
        self.wanted(None)
    }

    fn expand(&self, _: &str) -> Option<Vec<String>> {
        self.wanted(None)
    }

    fn lines(&self, _: &str) -> Option<Vec<String>> {
        self.wanted(None)
    }

    fn is_folder(&self, _: &str) -> bool {
        self.wanted(true)
    }

    fn is_tracked(&self, _: &str) -> bool {
        self.wanted(false)
    }

    fn walk(&self, _: &str, _: &mut dyn FnMut(&str)) -> bool {
        self.wanted(false)
    }
}

/// What lies in a folder, as the folder says it.
struct Entry {
    name: OsString,
    path: PathBuf,
    kind: Option<FileType>,
}

impl RealDisk {
    pub(crate) fn new() -> Self {
        Self {
            left: Cell::new(MOST_ENTRIES),
            folders: RefCell::default(),
            followed: RefCell::default(),
            listed: RefCell::default(),
            kinds: RefCell::default(),
        }
    }

    /// For one more judgement, which may cost as much again, with all that was seen.
    pub(super) fn again(&self) -> &Self {
        self.left.set(MOST_ENTRIES);
        self
    }

    /// What lies in a folder; nothing where it cannot be read.
    fn entries(&self, folder: &Path) -> Rc<[Entry]> {
        if let Some(entries) = self.listed.borrow().get(folder) {
            return Rc::clone(entries);
        }
        let mut entries = vec![];
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Of a folder with more than are looked at, no more are read.
            if entries.len() > MOST_ENTRIES {
                break;
            }
            entries.push(Entry { name: entry.file_name(), path: entry.path(), kind: entry.file_type().ok() });
        }
        let entries: Rc<[Entry]> = entries.into();
        self.listed.borrow_mut().insert(folder.to_owned(), Rc::clone(&entries));
        entries
    }

    /// The files below a folder that are what a pattern says in which a part stands for folders at any depth, as it does
    /// in some shells, and in bash where it is told to.
    fn expand_deep(&self, folder: &Path, pattern: &str) -> Option<Vec<String>> {
        // Such a part may stand for no folder.
        let parts: Vec<&str> = pattern.split('/').collect();
        let mut whole = String::new();
        for part in &parts[1..] {
            let follows_deep = whole.ends_with(|c: char| is_any_depth(&format!("{c}{c}")));
            whole += if follows_deep { "" } else { "/" };
            whole += part;
        }
        let mut made = vec![];
        let complete = self.walk(folder.to_str()?, &mut |path| {
            if made.len() <= MOST_MADE && is_part(&whole, path) {
                made.push(path.to_owned());
            }
        });
        (complete && made.len() <= MOST_MADE).then_some(made)
    }

    /// Where a folder that is there leads.
    fn real_folder(&self, folder: &Path) -> Option<PathBuf> {
        let mut folders = self.folders.borrow_mut();
        folders.entry(folder.to_owned()).or_insert_with(|| folder.canonicalize().ok()).clone()
    }

    fn follow_link(&self, name: &str, each: &mut dyn FnMut(&str), todo: &mut VecDeque<(PathBuf, PathBuf)>) {
        if let Some(target) = self.follow(name) {
            each(&target);
            // Both ways: by where it leads, a rule may know what lies there.
            if self.is_folder(&target) {
                todo.push_back((PathBuf::from(&target), PathBuf::from(target)));
            }
        }
    }

    /// Whether one more entry may be looked at.
    fn may_look(&self) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0
    }
}

impl Disk for RealDisk {
    fn follow(&self, path: &str) -> Option<String> {
        if let Some(known) = self.followed.borrow().get(path) {
            return known.clone();
        }
        let target = disk::follow_in(path, &|folder: &Path| self.real_folder(folder));
        self.followed.borrow_mut().insert(path.to_owned(), target.clone());
        target
    }

    fn expand(&self, pattern: &str) -> Option<Vec<String>> {
        let mut made = vec![PathBuf::from("/")];
        for part in pattern.split('/').filter(|part| !part.is_empty()) {
            if is_any_depth(part) {
                let below = made.iter().map(|folder| self.expand_deep(folder, pattern));
                return below.collect::<Option<Vec<_>>>().map(|made| made.concat());
            }
            let mut next = vec![];
            for folder in made {
                if is_literal(part) {
                    next.push(folder.join(part));
                    continue;
                }
                for entry in &*self.entries(&folder) {
                    if entry.name.to_str().is_some_and(|name| is_part(part, name)) {
                        next.push(entry.path.clone());
                    }
                    if !self.may_look() {
                        return None;
                    }
                }
            }
            if next.len() > MOST_MADE {
                return None;
            }
            made = next;
        }
        // What stands behind the last pattern need not be there: in `for d in x*; do … $d/new` it is put there.
        made.into_iter().map(|path| path.to_str().map(str::to_owned)).collect()
    }

    fn lines(&self, path: &str) -> Option<Vec<String>> {
        let text = String::from_utf8(disk::bytes_of(Path::new(path), LARGEST_LIST)?).ok()?;
        let lines: Vec<String> = text.split(['\n', '\0']).take(MOST_LINES + 1).map(str::to_owned).collect();
        (lines.len() <= MOST_LINES).then_some(lines)
    }

    fn is_folder(&self, path: &str) -> bool {
        if let Some(known) = self.kinds.borrow().get(path) {
            return *known;
        }
        let is_folder = Path::new(path).is_dir();
        self.kinds.borrow_mut().insert(path.to_owned(), is_folder);
        is_folder
    }

    fn is_tracked(&self, path: &str) -> bool {
        let path = Path::new(path);
        let root = path.ancestors().skip(1).find(|folder| folder.join(".git").exists());
        let Some((root, name)) = root.and_then(|root| Some((root, path.strip_prefix(root).ok()?.to_str()?))) else {
            return false;
        };
        // In a further working folder of a repository it is a file that says where the rest is.
        let own = root.join(".git");
        let index = match self.lines(&own.to_string_lossy()) {
            Some(lines) => lines.first().and_then(|line| line.strip_prefix("gitdir: ")).map(|place| root.join(place)),
            None => Some(own),
        };
        let bytes = index.and_then(|folder| disk::bytes_of(&folder.join("index"), LARGEST_INDEX)).unwrap_or_default();
        // A name stands there behind its length, and ends with a zero.
        let entry = [&[u8::try_from(name.len() % 256).unwrap_or_default()], name.as_bytes(), &[0]].concat();
        bytes.windows(entry.len()).any(|window| window == entry)
    }

    /// Breadth first, so that what lies near is found before there is too much. Both names of a link are given.
    fn walk(&self, folder: &str, each: &mut dyn FnMut(&str)) -> bool {
        let Some(real) = self.real_folder(Path::new(folder)) else { return self.may_look() };
        // Each as it is called, and where it really is: asked of the system once, for links alone lead elsewhere.
        let mut todo = VecDeque::from([(PathBuf::from(folder), real)]);
        let mut entered = BTreeSet::new();
        while let Some((folder, real)) = todo.pop_front() {
            if !self.may_look() {
                return false;
            }
            // A folder that links lead to in a circle is entered once.
            if !entered.insert(real.clone()) {
                continue;
            }
            for entry in &*self.entries(&folder) {
                if !self.may_look() {
                    return false;
                }
                let Some(name) = entry.path.to_str() else { continue };
                each(name);
                if entry.kind.is_some_and(|kind| kind.is_dir()) {
                    todo.push_back((entry.path.clone(), real.join(&entry.name)));
                } else if entry.kind.is_some_and(|kind| kind.is_symlink()) {
                    self.follow_link(name, each, &mut todo);
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_pipe_in_the_place_of_a_list_keeps_nobody_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("list");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert_eq!(RealDisk::new().lines(pipe.to_str().unwrap()), None);
    }

    #[test]
    fn a_folder_is_walked_through_its_links_and_in_no_circle() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        fs::create_dir_all(root.join("far")).unwrap();
        fs::write(root.join("far/key"), "").unwrap();
        symlink(root.join("far"), root.join("a/link")).unwrap();
        symlink(root.join("a"), root.join("a/b/round")).unwrap();
        let mut seen = vec![];
        assert!(RealDisk::new().walk(root.join("a").to_str().unwrap(), &mut |path| seen.push(path.to_owned())));
        let has = |path: &str| seen.contains(&root.join(path).display().to_string());
        assert!(has("a/link") && has("far/key") && has("a/b/round"), "{seen:?}");
        // By whatever name one begins, each folder is entered once.
        seen.clear();
        assert!(RealDisk::new().walk(root.join("a/b/round").to_str().unwrap(), &mut |path| seen.push(path.to_owned())));
        assert_eq!(seen.iter().filter(|path| path.ends_with("/key")).count(), 1, "{seen:?}");
        assert_eq!(seen.iter().filter(|path| path.ends_with("/b")).count(), 1, "{seen:?}");
    }
}
