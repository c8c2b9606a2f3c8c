//! Files that come with events and go with replies: kept in the state folder, readable by the owner alone, for as long as
//! their text is.
//!
//! A file is staged first, by whoever sends it, and belongs to an event once the event is accepted. The names of folders
//! are our own ids; the name that a sender gave is cleaned, and only ever the end of a path.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{Mode, OFlags};
use sha2::{Digest as _, Sha256};

use crate::fixed;

/// Files of one event, and of one reply.
pub(crate) const MOST_FILES: usize = 10;
/// Bytes of one file.
pub(crate) const LARGEST_FILE: usize = 20 << 20;
/// Bytes of all files together. What does not fit is refused.
const MOST_BYTES: u64 = 1 << 30;
/// Bytes of the files of one sender, or of one session's replies: nobody fills the folder alone.
const MOST_BYTES_OF_ONE: u64 = 256 << 20;
/// Files of one sender, or of one session's replies.
const MOST_FILES_OF_ONE: usize = 2000;
/// Files of one sender that wait for their event. Each upload looks at them all.
const MOST_STAGED_OF_ONE: usize = 100;
/// As much of the disk is taken by a file at least, also by an empty one.
const BLOCK: u64 = 4096;
/// A file that belongs to no event by then is forgotten.
const STAGED_TIME: Duration = Duration::from_secs(3600);
/// Bytes of a name.
const LONGEST_NAME: usize = 64;
const STAGED: &str = "staged";
/// How the name of the mark begins that says who sent the files of an event.
const SENDER_MARK: &str = "by-";

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

    /// Keeps a file of this sender until it belongs to an event. The error says that there is no room, or none for them.
    pub(crate) fn stage(&self, id: &str, sender: &str, name: &str, bytes: &[u8]) -> io::Result<StoredFile> {
        self.forget_staged();
        let mark = hash_of(sender);
        if self.staged_by(&mark).count() >= fixed::limit("FILES_STAGED", MOST_STAGED_OF_ONE) {
            return Err(quota("so many of this sender already wait for their event"));
        }
        self.check_room(bytes.len(), &self.of_sender(&mark))?;
        let folder = self.folder.join(STAGED).join(staged_name(id, sender)?);
        write(&folder, &format!("0-{}", clean(name)), bytes)
    }

    /// The file that this sender has staged.
    pub(crate) fn staged(&self, id: &str, sender: &str) -> Option<StoredFile> {
        self.of(&Path::new(STAGED).join(staged_name(id, sender).ok()?)).pop()
    }

    /// Puts staged files of a sender to an event, in their order, all or none. They stay staged until
    /// [`FileStore::unstage`].
    pub(crate) fn give(&self, event: &str, sender: &str, staged: &[StoredFile]) -> io::Result<Vec<StoredFile>> {
        let folder = self.folder.join(checked(event)?);
        Self::link_into(&folder, sender, staged).inspect_err(|_| forget(&folder))
    }

    fn link_into(folder: &Path, sender: &str, staged: &[StoredFile]) -> io::Result<Vec<StoredFile>> {
        make_folder(folder)?;
        create(&folder.join(format!("{SENDER_MARK}{}", hash_of(sender))))?;
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

    /// Copies an open file, called `name`, that goes with a reply.
    pub(crate) fn copy(
        &self,
        (session, reply): (&str, &str),
        number: usize,
        name: &str,
        from: File,
    ) -> io::Result<StoredFile> {
        let folder = self.folder.join(reply_folder(session, reply)?);
        let mut bytes = vec![];
        from.take(LARGEST_FILE as u64 + 1).read_to_end(&mut bytes)?;
        self.check_room(bytes.len(), &SpaceTaken::by(&self.folder.join(checked(session)?)))?;
        write(&folder, &format!("{number}-{}", clean(name)), &bytes)
    }

    /// Whether a file of this size still fits, also among those that its owner has.
    fn check_room(&self, size: usize, of_one: &SpaceTaken) -> io::Result<()> {
        let size = in_blocks(size as u64);
        if size > in_blocks(LARGEST_FILE as u64) || SpaceTaken::by(&self.folder).bytes + size > MOST_BYTES {
            return Err(io::Error::new(io::ErrorKind::StorageFull, "all files together would be too large"));
        }
        let most = fixed::limit("FILES_OF_ONE", MOST_FILES_OF_ONE);
        match of_one.files >= most || of_one.bytes + size > MOST_BYTES_OF_ONE {
            false => Ok(()),
            true => Err(quota("this sender or session has as many, or as much, as one may have")),
        }
    }

    /// What this sender has: files that are staged, and those of their events.
    fn of_sender(&self, sender: &str) -> SpaceTaken {
        let staged = self.staged_by(sender);
        let mark = format!("{SENDER_MARK}{sender}");
        let given = entries(&self.folder).filter(|folder| folder.join(&mark).exists());
        staged.chain(given).map(|folder| SpaceTaken::by(&folder)).fold(SpaceTaken::default(), SpaceTaken::and)
    }

    fn staged_by(&self, sender: &str) -> impl Iterator<Item = PathBuf> {
        entries(&self.folder.join(STAGED)).filter(move |path| name_of(path).ends_with(sender))
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
                // What has no number is no file of theirs.
                let (number, name) = whole.split_once('-')?;
                let number = number.parse().ok()?;
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

/// Folders in this one that nothing was put into since. A session's has one for each reply, and each is as old as its text.
fn forget_older(folder: &Path, than: SystemTime) {
    for path in entries(folder).filter(|path| name_of(path) != STAGED) {
        if entries(&path).any(|inner| inner.is_dir()) {
            forget_older(&path, than);
            // Fails while there are others in it.
            fs::remove_dir(&path).ok();
        } else if fs::metadata(&path).and_then(|about| about.modified()).is_ok_and(|at| at < than) {
            forget(&path);
        }
    }
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok).map(|entry| entry.path())
}

fn name_of(path: &Path) -> &str {
    path.file_name().and_then(|name| name.to_str()).unwrap_or_default()
}

fn quota(why: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::QuotaExceeded, why)
}

fn forget(folder: &Path) {
    if let Err(error) = fs::remove_dir_all(folder)
        && error.kind() != io::ErrorKind::NotFound
    {
        tracing::warn!(%error, "files could not be erased: {}", folder.display());
    }
}

/// Makes a folder for its owner alone, and those above it, where they are missing.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

fn write(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<StoredFile> {
    make_folder(folder)?;
    let path = folder.join(name);
    let mut file = create(&path)?;
    // Half a file is nobody's.
    file.write_all(bytes).inspect_err(|_| drop(fs::remove_file(&path)))?;
    let name = name.split_once('-').map_or(name, |(_, name)| name).to_owned();
    Ok(StoredFile { name, size: bytes.len() as u64, path })
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)
}

/// Opens a regular file, and only if it is the one that the path leads to. A link at its end is not followed, and a pipe
/// makes nobody wait.
pub(crate) fn open_plain(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let (opened, there) = (file.metadata()?, fs::symlink_metadata(path.canonicalize()?)?);
    // A folder on the way that was replaced meanwhile by a link has led elsewhere.
    let is_same = (opened.dev(), opened.ino()) == (there.dev(), there.ino()) && path.canonicalize()? == path;
    match (opened.is_file(), is_same) {
        (true, true) => Ok(file),
        (false, _) => Err(io::Error::other("it is not a file")),
        (_, false) => Err(io::Error::other("it is a link, or was replaced while it was opened")),
    }
}

/// How much of the disk files take.
#[derive(Clone, Copy, Debug, Default)]
struct SpaceTaken {
    files: usize,
    bytes: u64,
}

impl SpaceTaken {
    fn by(folder: &Path) -> Self {
        let each = entries(folder).filter_map(|path| match fs::symlink_metadata(&path).ok()? {
            about if about.is_dir() => Some(Self::by(&path)),
            about if name_of(&path).starts_with(SENDER_MARK) => Some(Self { files: 0, bytes: in_blocks(about.len()) }),
            about => Some(Self { files: 1, bytes: in_blocks(about.len()) }),
        });
        each.fold(Self::default(), Self::and)
    }

    fn and(self, other: Self) -> Self {
        Self { files: self.files + other.files, bytes: self.bytes + other.bytes }
    }
}

fn in_blocks(size: u64) -> u64 {
    size.max(1).next_multiple_of(BLOCK)
}

/// An id of ours as the name of a folder.
fn checked(id: &str) -> io::Result<&str> {
    let is_id = !id.is_empty() && id.len() <= 64 && id.bytes().all(|letter| letter.is_ascii_alphanumeric());
    is_id.then_some(id).filter(|id| *id != STAGED).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

/// Only who staged a file can name it.
fn staged_name(id: &str, sender: &str) -> io::Result<String> {
    Ok(format!("{}{}", checked(id)?, hash_of(sender)))
}

fn hash_of(sender: &str) -> String {
    Sha256::digest(sender).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
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
        let given = store.give("e1", "ann", &staged).unwrap();
        store.unstage(&staged);
        assert!(store.staged("f1", "ann").is_none());
        assert_eq!(store.of_event("e1"), given);
        assert_eq!(given.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["b.txt", "a-1.txt"]);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&given[0].path), mode(given[0].path.parent().unwrap())), (0o600, 0o700));
        let missing = StoredFile { path: home.path().join("missing"), ..given[0].clone() };
        assert!(store.give("e2", "ann", &[given[0].clone(), missing]).is_err());
        assert!(!home.path().join("files/e2").exists(), "nothing of it is left");
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
        let copy = |reply: &str, number: usize, name: &str| {
            store.copy(("s1", reply), number, name, File::open(home.path().join(name))?)
        };
        copy("r1", 0, "made.txt").unwrap();
        fs::write(home.path().join("made.txt"), "v2").unwrap();
        assert_eq!(fs::read(&store.of_reply("s1", "r1")[0].path).unwrap(), b"v1");
        fs::write(home.path().join("large"), vec![0; LARGEST_FILE + 1]).unwrap();
        assert!(copy("r1", 1, "large").is_err());
        store.forget_older(SystemTime::now() - Duration::from_secs(3600));
        assert_eq!(store.of_reply("s1", "r1").len(), 1);
        // The session goes on, and its first reply is old.
        let reply = File::open(home.path().join("files/s1/r1")).unwrap();
        reply.set_modified(SystemTime::now() - Duration::from_secs(7200)).unwrap();
        copy("r2", 0, "made.txt").unwrap();
        store.forget_older(SystemTime::now() - Duration::from_secs(3600));
        assert_eq!((store.of_reply("s1", "r1").len(), store.of_reply("s1", "r2").len()), (0, 1));
        store.forget_older(SystemTime::now() + Duration::from_secs(1));
        assert_eq!(store.of_reply("s1", "r2"), []);
        assert!(!home.path().join("files/s1").exists(), "nothing of it is left");
    }

    #[test]
    fn only_a_plain_file_that_the_path_leads_to_is_opened() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path().canonicalize().unwrap();
        fs::create_dir_all(home.join("inner")).unwrap();
        fs::write(home.join("inner/a.txt"), "a").unwrap();
        std::os::unix::fs::symlink(home.join("inner/a.txt"), home.join("link.txt")).unwrap();
        std::os::unix::fs::symlink(home.join("inner"), home.join("folder")).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(home.join("pipe")).status().unwrap().success());
        assert!(open_plain(&home.join("inner/a.txt")).is_ok());
        for wrong in ["link.txt", "folder/a.txt", "pipe", "inner", "missing"] {
            assert!(open_plain(&home.join(wrong)).is_err(), "{wrong}");
        }
    }
}
