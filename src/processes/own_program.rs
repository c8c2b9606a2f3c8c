//! The file that this program was started from, and copies of it.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// Whether a process runs this program, as far as the system tells.
pub(super) fn runs_ours(pid: u32) -> bool {
    let (theirs, ours) = (Program::of(&pid.to_string()), Program::of("self"));
    // `install` copies a program that will not stay: the copy runs in hooks, and the first one drives sessions.
    theirs.zip(ours).is_some_and(|(theirs, ours)| theirs.is(&ours) || has_our_bytes(&file_of(&pid.to_string())))
}

/// The file that a process was started from.
struct Program {
    /// Its name, or the one that it had.
    name: PathBuf,
    is_gone: bool,
    /// The device and the number by which the system knows the file.
    file: (u64, u64),
}

impl Program {
    fn of(process: &str) -> Option<Self> {
        let file = file_of(process);
        let (name, kept) = (fs::read_link(&file).ok()?, fs::metadata(&file).ok()?);
        // Behind the name of a file that is gone the system says so. Anyone may call a file so that is there.
        let without_mark = name.to_str().and_then(|name| name.strip_suffix(" (deleted)")).map(PathBuf::from);
        let gone = without_mark.filter(|_| !name.exists());
        Some(Self { is_gone: gone.is_some(), name: gone.unwrap_or(name), file: (kept.dev(), kept.ino()) })
    }

    /// One that was replaced since is another file of the same name: the program of either side may be the new one.
    fn is(&self, other: &Self) -> bool {
        self.file == other.file || (self.is_gone || other.is_gone) && self.name == other.name
    }
}

fn file_of(process: &str) -> PathBuf {
    Path::new("/proc").join(process).join("exe")
}

/// Whether a file is this program, byte for byte, whatever its name.
pub(crate) fn has_our_bytes(path: &Path) -> bool {
    let same = || -> io::Result<bool> {
        let (mut theirs, mut ours) = (File::open(path)?, own_file()?);
        if theirs.metadata()?.len() != ours.metadata()?.len() {
            return Ok(false);
        }
        let (mut one, mut other) = (vec![0; 1 << 16], vec![0; 1 << 16]);
        loop {
            let (read, wanted) = (fill(&mut theirs, &mut one)?, fill(&mut ours, &mut other)?);
            if one[..read] != other[..wanted] {
                return Ok(false);
            }
            if read == 0 {
                return Ok(true);
            }
        }
    };
    same().unwrap_or(false)
}

/// Fills the buffer; less is read only at the end of the file.
fn fill(from: &mut impl io::Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..])? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Linux still gives us our own bytes when the file has another name by now, or none.
pub(crate) fn own_file() -> io::Result<File> {
    File::open("/proc/self/exe").or_else(|_| File::open(std::env::current_exe()?))
}
