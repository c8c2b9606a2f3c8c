//! What the model has seen of a file, beside what the editor and the disk hold of it now.

use std::time::SystemTime;

use sha2::{Digest as _, Sha256};

type TextDigest = [u8; 32];

/// A file when the model last saw it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnownFile {
    /// What the model saw.
    text: TextDigest,
    buffer: TextDigest,
    disk: Option<TextDigest>,
    /// It could not be told which of the two is newer.
    is_unclear: bool,
}

/// A file now, as the editor has it and as the disk has it.
pub(super) struct FileNow {
    pub(super) buffer: String,
    /// None where there is no such file, or none that can be read as text.
    pub(super) disk: Option<(String, Option<SystemTime>)>,
}

/// Which of the two counts.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Newest<'a> {
    /// Both are the same.
    Both(&'a str),
    /// The editor has changes that are not saved.
    Buffer(&'a str),
    /// The file was changed on the disk, and the editor has not taken that.
    Disk(&'a str),
    /// Each has changes that the other has not, or nobody knows. What is shown is the disk's.
    Unclear(&'a str),
}

impl<'a> Newest<'a> {
    pub(super) fn text(&self) -> &'a str {
        match self {
            Self::Both(text) | Self::Buffer(text) | Self::Disk(text) | Self::Unclear(text) => text,
        }
    }
}

impl FileNow {
    /// Which of the two counts, by what both held when the model last saw the file. `since` is when the session began: what
    /// was written to a disk before it, an editor has read.
    pub(super) fn newest(&self, known: Option<&KnownFile>, since: SystemTime) -> Newest<'_> {
        let Some((disk, changed)) = &self.disk else { return Newest::Buffer(&self.buffer) };
        let (of_buffer, of_disk) = (digest(&self.buffer), digest(disk));
        if of_buffer == of_disk {
            return Newest::Both(&self.buffer);
        }
        let Some(known) = known else {
            return match changed {
                Some(changed) if *changed < since => Newest::Buffer(&self.buffer),
                _ => Newest::Unclear(disk),
            };
        };
        match (of_buffer == known.buffer, Some(of_disk) == known.disk) {
            (true, true) if known.is_unclear => Newest::Unclear(disk),
            (true, true) if known.text == of_disk => Newest::Disk(disk),
            (_, true) => Newest::Buffer(&self.buffer),
            (true, false) => Newest::Disk(disk),
            (false, false) => Newest::Unclear(disk),
        }
    }

    /// The file as the model sees it now.
    pub(super) fn seen(&self, newest: &Newest<'_>) -> KnownFile {
        KnownFile {
            text: digest(newest.text()),
            buffer: digest(&self.buffer),
            disk: self.disk.as_ref().map(|(disk, _)| digest(disk)),
            is_unclear: matches!(newest, Newest::Unclear(_)),
        }
    }
}

impl KnownFile {
    /// Whether the model has seen this text.
    pub(super) fn is(&self, text: &str) -> bool {
        self.text == digest(text)
    }
}

/// Of the text without what editors do not keep of it: how its lines end, and a mark of its encoding.
fn digest(text: &str) -> TextDigest {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    match text.contains("\r\n") {
        true => Sha256::digest(text.replace("\r\n", "\n")).into(),
        false => Sha256::digest(text).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const SINCE: SystemTime = SystemTime::UNIX_EPOCH;

    fn now(buffer: &str, disk: &str, changed: u64) -> FileNow {
        let at = (SINCE - Duration::from_secs(100)) + Duration::from_secs(changed);
        FileNow { buffer: buffer.to_owned(), disk: Some((disk.to_owned(), Some(at))) }
    }

    #[test]
    fn what_was_changed_last_counts_and_two_changes_are_unclear() {
        let first = now("a\n", "a\r\n", 0);
        let newest = first.newest(None, SINCE);
        assert_eq!(newest, Newest::Both("a\n"));
        let known = first.seen(&newest);
        assert_eq!(now("b\n", "a\r\n", 0).newest(Some(&known), SINCE), Newest::Buffer("b\n"));
        assert_eq!(now("a\n", "c\n", 200).newest(Some(&known), SINCE), Newest::Disk("c\n"));
        assert_eq!(now("b\n", "c\n", 200).newest(Some(&known), SINCE), Newest::Unclear("c\n"));
    }

    #[test]
    fn an_editor_that_does_not_take_a_change_of_the_disk_does_not_win_the_next_time() {
        let known = now("a", "a", 0).seen(&Newest::Both("a"));
        let changed = now("a", "c", 200);
        let newest = changed.newest(Some(&known), SINCE);
        let known = changed.seen(&newest);
        assert!(known.is("c"));
        assert_eq!(changed.newest(Some(&known), SINCE), Newest::Disk("c"));
    }

    #[test]
    fn a_file_never_seen_is_the_editors_unless_the_disk_was_written_since() {
        assert_eq!(now("b", "a", 0).newest(None, SINCE), Newest::Buffer("b"));
        let unclear = now("b", "a", 200);
        let newest = unclear.newest(None, SINCE);
        assert_eq!(newest, Newest::Unclear("a"));
        let known = unclear.seen(&newest);
        assert_eq!(unclear.newest(Some(&known), SINCE), Newest::Unclear("a"), "reading it again tells no more");
        assert_eq!(now("a", "a", 200).newest(Some(&known), SINCE), Newest::Both("a"), "the user has reloaded it");
    }
}
