//! Files that come with events and go with replies: kept in the state folder, readable by the owner alone, for as long as
//! their text is.
//!
//! A file is staged first, by whoever sends it, and belongs to an event once the event is accepted. The names of folders
//! are our own ids; the name that a sender gave is cleaned, and only ever the end of a path.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};

/// Files of one event, and of one reply.
pub(crate) const MOST_FILES: usize = 10;
/// Bytes of one file.
pub(crate) const LARGEST_FILE: usize = 20 << 20;
/// Bytes of all files together. What does not fit is refused.
const MOST_BYTES: u64 = 1 << 30;
/// A file that belongs to no event by then is forgotten.
const STAGED_TIME: Duration = Duration::from_secs(3600);
/// Bytes of a name.
const LONGEST_NAME: usize = 64;
const STAGED: &str = "staged";

/// The folder of the files. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct FileStore {
    folder: PathBuf,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredFile {
    /// As its sender called it, cleaned.
    pub(crate) name: String,
    pub(crate) size: u64,
    pub(crate) path: PathBuf,
}

impl FileStore {
    pub(crate) fn new(state_folder: &Path) -> Self {
        Self { folder: state_folder.join("files") }
    }

    /// Keeps a file of this sender until it belongs to an event. The error says that there is no room.
    pub(crate) fn stage(&self, id: &str, sender: &str, name: &str, bytes: &[u8]) -> io::Result<StoredFile> {
        self.forget_staged();
        if bytes.len() > LARGEST_FILE || size_of(&self.folder) + bytes.len() as u64 > MOST_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let folder = self.folder.join(STAGED).join(staged_name(id, sender)?);
        write(&folder, &format!("0-{}", clean(name)), bytes)
    }

    /// The file that this sender has staged.
    pub(crate) fn staged(&self, id: &str, sender: &str) -> Option<StoredFile> {
        self.of(&Path::new(STAGED).join(staged_name(id, sender).ok()?)).pop()
    }

    /// Puts staged files to an event, in their order. They stay staged until [`FileStore::unstage`].
    pub(crate) fn give(&self, event: &str, staged: &[StoredFile]) -> io::Result<Vec<StoredFile>> {
        let folder = self.folder.join(checked(event)?);
        make(&folder)?;
        let given = staged.iter().enumerate().map(|(number, file)| {
            let path = folder.join(format!("{number}-{}", file.name));
            fs::hard_link(&file.path, &path)?;
            Ok(StoredFile { path, ..file.clone() })
        });
        given.collect()
    }

    pub(crate) fn unstage(&self, staged: &[StoredFile]) {
        for folder in staged.iter().filter_map(|file| file.path.parent()) {
            forget(folder);
        }
    }

    /// Copies a file that goes with a reply.
    pub(crate) fn copy(&self, session: &str, reply: &str, number: usize, from: &Path) -> io::Result<StoredFile> {
        let folder = self.folder.join(reply_folder(session, reply)?);
        let mut bytes = vec![];
        File::open(from)?.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
        if bytes.len() > LARGEST_FILE || size_of(&self.folder) + bytes.len() as u64 > MOST_BYTES {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let name = from.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        write(&folder, &format!("{number}-{}", clean(&name)), &bytes)
    }

    pub(crate) fn of_event(&self, event: &str) -> Vec<StoredFile> {
        checked(event).map(|event| self.of(Path::new(event))).unwrap_or_default()
    }

    pub(crate) fn of_reply(&self, session: &str, reply: &str) -> Vec<StoredFile> {
        reply_folder(session, reply).map(|folder| self.of(&folder)).unwrap_or_default()
    }

    /// By their numbers.
    fn of(&self, folder: &Path) -> Vec<StoredFile> {
        let entries = fs::read_dir(self.folder.join(folder)).into_iter().flatten().filter_map(Result::ok);
        let mut files: Vec<(usize, StoredFile)> = entries
            .filter_map(|entry| {
                let about = entry.metadata().ok().filter(fs::Metadata::is_file)?;
                let whole = entry.file_name().into_string().ok()?;
                let (number, name) = whole.split_once('-').unwrap_or(("0", &whole));
                let number = number.parse().unwrap_or_default();
                Some((number, StoredFile { name: name.to_owned(), size: about.len(), path: entry.path() }))
            })
            .collect();
        files.sort_by_key(|(number, _)| *number);
        files.into_iter().map(|(_, file)| file).collect()
    }

    /// The text of this event, or of the replies of this session, is erased.
    pub(crate) fn erase(&self, owner: &str) {
        if let Ok(owner) = checked(owner) {
            forget(&self.folder.join(owner));
        }
    }

    /// Erases what is older than texts are kept.
    pub(crate) fn forget_older(&self, than: SystemTime) {
        self.forget_staged();
        forget_older(&self.folder, than);
    }

    fn forget_staged(&self) {
        if let Some(than) = SystemTime::now().checked_sub(STAGED_TIME) {
            forget_older(&self.folder.join(STAGED), than);
        }
    }
}

/// Folders in this one that nothing was put into since.
fn forget_older(folder: &Path, than: SystemTime) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let is_old = entry.metadata().and_then(|about| about.modified()).is_ok_and(|at| at < than);
        if is_old && entry.file_name() != STAGED {
            forget(&entry.path());
        }
    }
}

fn forget(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "files could not be erased: {}", folder.display());
    }
}

fn make(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<StoredFile> {
    make(folder)?;
    let path = folder.join(name);
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    file.write_all(bytes)?;
    let name = name.split_once('-').map_or(name, |(_, name)| name).to_owned();
    Ok(StoredFile { name, size: bytes.len() as u64, path })
}

fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok);
    let sizes = entries.filter_map(|entry| match entry.metadata() {
        Ok(about) if about.is_dir() => Some(size_of(&entry.path())),
        Ok(about) => Some(about.len()),
        Err(_) => None,
    });
    sizes.sum()
}

/// An id of ours as the name of a folder.
fn checked(id: &str) -> io::Result<&str> {
    let is_id = !id.is_empty() && id.len() <= 64 && id.bytes().all(|letter| letter.is_ascii_alphanumeric());
    is_id.then_some(id).filter(|id| *id != STAGED).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Only who staged a file can name it.
fn staged_name(id: &str, sender: &str) -> io::Result<String> {
    let hash = Sha256::digest(sender);
    let whose: String = hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    Ok(format!("{}{whose}", checked(id)?))
}

fn reply_folder(session: &str, reply: &str) -> io::Result<PathBuf> {
    Ok(Path::new(checked(session)?).join(checked(reply)?))
}

/// The name as the end of a path, and as a header can hold it: no separators, nothing invisible, and not too long.
fn clean(name: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || " ._-+()".contains(letter);
    let plain: String = name.chars().map(|letter| if is_plain(letter) { letter } else { '_' }).collect();
    let plain = plain.trim_start_matches(['.', ' ']).trim_end();
    // The ending says what it is, so that the beginning is what is left off.
    let kept = &plain[plain.ceil_char_boundary(plain.len().saturating_sub(LONGEST_NAME))..];
    if kept.is_empty() { "file".to_owned() } else { kept.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn names_are_the_end_of_a_path_and_nothing_else() {
        for (name, want) in [
            ("shot.png", "shot.png"),
            ("../../etc/passwd", "_.._etc_passwd"),
            (".bashrc", "bashrc"),
            ("a\r\nb\"c", "a__b_c"),
            ("", "file"),
            ("..", "file"),
            ("\u{202e}gnp.exe", "_gnp.exe"),
        ] {
            assert_eq!(clean(name), want, "{name:?}");
        }
        let long = clean(&format!("{}.tar.gz", "ü".repeat(200)));
        assert!(long.len() <= LONGEST_NAME && long.ends_with("ü.tar.gz"), "{long}");
    }

    #[test]
    fn a_file_belongs_to_its_sender_then_to_its_event_and_goes_with_it() {
        let home = tempfile::tempdir().unwrap();
        let store = FileStore::new(home.path());
        for (id, name) in [("f1", "a-1.txt"), ("f2", "b.txt")] {
            assert_eq!(store.stage(id, "ann", name, b"abc").unwrap().name, name);
        }
        assert!(store.staged("f1", "bob").is_none() && store.staged("../f1", "ann").is_none());
        let staged: Vec<_> = ["f2", "f1"].iter().map(|id| store.staged(id, "ann").unwrap()).collect();
        let given = store.give("e1", &staged).unwrap();
        store.unstage(&staged);
        assert!(store.staged("f1", "ann").is_none());
        assert_eq!(store.of_event("e1"), given);
        assert_eq!(given.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["b.txt", "a-1.txt"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&given[0].path), mode(given[0].path.parent().unwrap())), (0o600, 0o700));
        store.erase("../..");
        store.erase("e1");
        assert_eq!(store.of_event("e1"), []);
        assert!(home.path().exists());
    }

    #[test]
    fn copies_of_a_session_go_with_it_and_what_is_old_goes_by_itself() {
        let home = tempfile::tempdir().unwrap();
        let store = FileStore::new(home.path());
        fs::write(home.path().join("made.txt"), "v1").unwrap();
        store.copy("s1", "r1", 0, &home.path().join("made.txt")).unwrap();
        fs::write(home.path().join("made.txt"), "v2").unwrap();
        assert_eq!(fs::read(&store.of_reply("s1", "r1")[0].path).unwrap(), b"v1");
        fs::write(home.path().join("large"), vec![0; LARGEST_FILE + 1]).unwrap();
        assert!(store.copy("s1", "r1", 1, &home.path().join("large")).is_err());
        store.forget_older(SystemTime::now() - Duration::from_secs(3600));
        assert_eq!(store.of_reply("s1", "r1").len(), 1);
        store.forget_older(SystemTime::now() + Duration::from_secs(1));
        assert_eq!(store.of_reply("s1", "r1"), []);
    }
}
