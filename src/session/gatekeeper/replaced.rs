//! What a call would replace: the file that is there now, for whoever decides about the call.

use std::fs::{self, File, Metadata};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::Path;

use portcullis_core::{Replaced, SentFile, Text};

use crate::session::leaving::open_in;

/// What is longer, in bytes, is counted and not shown: nobody compares it on a card.
const LONGEST_SHOWN: usize = 128 << 10;

/// A file that a call would replace, opened before anybody judges it: a link that is changed meanwhile leads to no other.
pub(super) struct OpenedFile {
    size: u64,
    /// The file that its links lead to, where its text might leave with a reply.
    shown: Option<(SentFile, File)>,
}

impl OpenedFile {
    /// None where there is no file.
    pub(super) fn at(folder: &Path, path: &Path) -> Option<Self> {
        let about = fs::metadata(path).ok().filter(Metadata::is_file)?;
        Some(Self { size: about.len(), shown: open_in(folder, path).ok() })
    }

    /// Where it really lies, if anything of it might be shown.
    pub(super) fn path(&self) -> Option<&str> {
        self.shown.as_ref().map(|(sent, _)| sent.path.as_str())
    }

    /// What is told of it; its text only where no rule is against that.
    pub(super) fn told(self, may_be_read: bool) -> Replaced {
        let unseen = Replaced { size: self.size, lines: None, text: None };
        let shown = self.shown.filter(|_| may_be_read);
        shown.and_then(|(_, file)| looked_into(file).ok().flatten()).unwrap_or(unseen)
    }
}

/// None where it is no text.
fn looked_into(file: File) -> io::Result<Option<Replaced>> {
    let size = file.metadata()?.len();
    let mut reader = BufReader::new(file);
    let mut start = vec![];
    reader.by_ref().take(LONGEST_SHOWN as u64).read_to_end(&mut start)?;
    let mut is_shown = true;
    let mut ends = start.iter().filter(|byte| **byte == b'\n').count();
    let mut last = start.last().copied();
    loop {
        let more = reader.fill_buf()?;
        if more.is_empty() {
            break;
        }
        is_shown = false;
        ends += more.iter().filter(|byte| **byte == b'\n').count();
        last = more.last().copied();
        let read = more.len();
        reader.consume(read);
    }
    // A last line need not have an end.
    let lines = ends + usize::from(last.is_some_and(|byte| byte != b'\n'));
    let text = match String::from_utf8(start) {
        Ok(text) if is_shown => Some(Text::new(text)),
        Ok(_) => None,
        // It may have been cut in the midst of a letter.
        Err(error) if !is_shown && error.utf8_error().error_len().is_none() => None,
        Err(_) => return Ok(None),
    };
    Ok(Some(Replaced { size, lines: Some(lines as u64), text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_of_the_folder_is_told_and_others_only_by_their_size() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let here = |name: &str| folder.path().join(name);
        fs::write(here("a.txt"), "one\ntwo").unwrap();
        fs::write(here(".env"), "TOKEN=x\n").unwrap();
        fs::write(here("picture"), [0xff, 0xd8, 0xff]).unwrap();
        fs::write(here("long"), "ä\n".repeat(LONGEST_SHOWN)).unwrap();
        fs::write(here("empty"), "").unwrap();
        fs::write(outside.path().join("b.txt"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path().join("b.txt"), here("link")).unwrap();
        let told = |path: &Path| OpenedFile::at(folder.path(), path).map(|opened| opened.told(true));
        let shown = |name: &str| told(&here(name)).map(|found| (found.size, found.lines, found.text));
        assert_eq!(shown("a.txt"), Some((7, Some(2), Some(Text::new("one\ntwo")))));
        assert_eq!(shown("empty"), Some((0, Some(0), Some(Text::new("")))));
        assert_eq!(shown("long"), Some((3 * LONGEST_SHOWN as u64, Some(LONGEST_SHOWN as u64), None)));
        assert_eq!(shown(".env"), Some((8, None, None)), "it may hold a secret");
        assert_eq!(shown("picture"), Some((3, None, None)));
        assert_eq!(shown("link"), Some((6, None, None)), "it leads out of the folder");
        assert_eq!(shown("missing"), None);
        assert_eq!(told(folder.path()), None, "a folder is not replaced");
        let kept_back = OpenedFile::at(folder.path(), &here("a.txt")).unwrap().told(false);
        assert_eq!((kept_back.lines, kept_back.text), (None, None), "a rule is against it");
        // What is judged is the file that was opened, wherever a link leads by then.
        std::os::unix::fs::symlink(here("a.txt"), here("moving")).unwrap();
        let opened = OpenedFile::at(folder.path(), &here("moving")).unwrap();
        fs::remove_file(here("moving")).unwrap();
        std::os::unix::fs::symlink(here("long"), here("moving")).unwrap();
        assert_eq!(opened.path(), here("a.txt").canonicalize().unwrap().to_str());
        assert_eq!(opened.told(true).text, Some(Text::new("one\ntwo")));
    }
}
