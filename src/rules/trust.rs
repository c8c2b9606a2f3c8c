//! Which rules files and servers of projects a person has trusted: the path, and the hash of what was there then.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::disk::resolved;
use crate::failure::Failure;

/// As read from our own folder, which no project holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Trusted {
    /// Path and hash.
    files: Vec<(String, String)>,
}

impl Trusted {
    /// A list that cannot be read trusts nothing.
    pub(crate) fn read(list: &Path) -> Self {
        let text = fs::read_to_string(list).unwrap_or_default();
        let file = |line: &str| line.split_once(' ').map(|(hash, path)| (path.to_owned(), hash.to_owned()));
        Self { files: text.lines().filter_map(file).collect() }
    }

    /// Whether this very text was trusted for this very file.
    pub(crate) fn holds(&self, file: &Path, text: &str) -> bool {
        self.files.contains(&entry(file, text))
    }

    /// The same for one named part of a file.
    pub(crate) fn holds_part(&self, file: &Path, part: &str, text: &str) -> bool {
        // Most lists are empty: then no links are followed.
        !self.files.is_empty() && self.files.contains(&part_entry(file, part, text))
    }

    /// Trusts a file as it is now, and no longer as it was.
    pub(crate) fn add(&mut self, file: &Path, text: &str) {
        self.put(entry(file, text));
    }

    /// Trusts one named part of a file as it is now, and no longer as it was.
    pub(crate) fn add_part(&mut self, file: &Path, part: &str, text: &str) {
        self.put(part_entry(file, part, text));
    }

    /// Takes one named part off the list; false where it was not on it.
    pub(crate) fn remove_part(&mut self, file: &Path, part: &str) -> bool {
        let (gone, _) = part_entry(file, part, "");
        let before = self.files.len();
        self.files.retain(|(path, _)| *path != gone);
        self.files.len() < before
    }

    /// The parts of a file that are on the list, by name.
    pub(crate) fn parts(&self, file: &Path) -> Vec<&str> {
        let (start, _) = part_entry(file, "", "");
        self.files.iter().filter_map(|(path, _)| path.strip_prefix(&start)).collect()
    }

    fn put(&mut self, new: (String, String)) {
        self.files.retain(|(path, _)| *path != new.0);
        self.files.push(new);
    }

    pub(crate) fn write(&self, list: &Path) -> Result<(), Failure> {
        let text: String = self.files.iter().map(|(path, hash)| format!("{hash} {path}\n")).collect();
        let draft = list.with_extension(format!("{}.tmp", std::process::id()));
        let written = || -> io::Result<()> {
            let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            fs::rename(&draft, list)
        };
        written().map_err(|error| Failure::configuration(format!("writing {}", list.display())).because(error))
    }
}

/// A path with a line break in it could pass for two, so it is written with its breaks spelled out.
fn entry(file: &Path, text: &str) -> (String, String) {
    let path = resolved(file).display().to_string().escape_default().to_string();
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    (path, hash)
}

/// The name is part of what is hashed, so that no path with a `#` in it passes for another file's part.
fn part_entry(file: &Path, part: &str, text: &str) -> (String, String) {
    let (path, hash) = entry(file, &format!("{part}\n{text}"));
    (format!("{path}#{}", part.escape_default()), hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_trusted_as_it_was_and_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("trusted");
        let file = folder.path().join("rules\nx.toml");
        let mut trusted = Trusted::read(&list);
        trusted.add(&file, "one");
        trusted.write(&list).unwrap();
        let trusted = Trusted::read(&list);
        assert!(trusted.holds(&file, "one"));
        assert!(!trusted.holds(&file, "two") && !trusted.holds(&folder.path().join("other"), "one"));
        let mut changed = Trusted::read(&list);
        changed.add(&file, "two");
        assert!(changed.holds(&file, "two") && !changed.holds(&file, "one"));
    }

    #[test]
    fn a_damaged_list_trusts_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("trusted");
        fs::write(&list, b"\xff\xfe nonsense\n\n x").unwrap();
        assert!(!Trusted::read(&list).holds(Path::new("/x"), ""));
    }
}
