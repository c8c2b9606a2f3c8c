//! A snapshot: what all records up to one of them come to, as bytes, in a file beside the journal. It holds nothing that
//! is not in the journal, may be deleted at any time, and is not looked at when it does not fit.
//!
//! ```text
//! file = form (8) · record (8) · its place in the chain (32) · SHA-256 of all the rest (32) · bytes
//! ```

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::Journal;
use super::files::{beside, create_private};
use super::index::fits;
use super::write::Tail;
use crate::store::chain::Hash;
use crate::store::{Seq, Snapshot};

/// The only form so far.
const FORM: [u8; 8] = *b"PortSn\0\x01";

pub(super) fn path_of(journal: &Path) -> PathBuf {
    beside(journal, ".snapshot")
}

/// Puts a snapshot in the place of the one before. It is not synced: one that a power cut has damaged is not read.
pub(super) fn write(path: &Path, tail: Tail, bytes: &[u8]) -> io::Result<()> {
    let draft = beside(path, ".new");
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create_private(&draft)?;
    for part in [&FORM[..], &tail.last.0.to_le_bytes(), &tail.chain, &digest(&tail, bytes), bytes] {
        file.write_all(part)?;
    }
    drop(file);
    fs::rename(&draft, path)
}

fn digest(tail: &Tail, bytes: &[u8]) -> Hash {
    let head = Sha256::new().chain_update(tail.last.0.to_le_bytes()).chain_update(tail.chain);
    head.chain_update(bytes).finalize().into()
}

/// None where the file is not one that was written whole.
fn read(mut file: &[u8]) -> Option<(Tail, &[u8])> {
    let form: [u8; 8] = take(&mut file)?;
    let tail = Tail { last: Seq(u64::from_le_bytes(take(&mut file)?)), chain: take(&mut file)? };
    let noted: Hash = take(&mut file)?;
    (form == FORM && noted == digest(&tail, file)).then_some((tail, file))
}

fn take<const N: usize>(from: &mut &[u8]) -> Option<[u8; N]> {
    let (taken, rest) = from.split_first_chunk()?;
    *from = rest;
    Some(*taken)
}

impl Journal {
    /// The snapshot, if there is one and the journal has the very record up to which it was made.
    pub(in crate::store) fn snapshot(&self) -> Option<Snapshot> {
        let file = match fs::read(&self.snapshot) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => {
                tracing::warn!(%error, path = %self.snapshot.display(), "the snapshot cannot be read");
                return None;
            }
        };
        let found = read(&file).filter(|(tail, _)| fits(&self.reader(), tail));
        if found.is_none() {
            tracing::info!(path = %self.snapshot.display(), "the snapshot is not of this journal, or damaged");
        }
        found.map(|(tail, bytes)| Snapshot { upto: tail.last, bytes: bytes.to_vec() })
    }

    /// Where the journal ends, if that is the record up to which a snapshot was made.
    pub(super) fn ends_at(&self, upto: Seq) -> Option<Tail> {
        let tail = self.tail.map_or_else(|| Tail::look_up(&self.connection).ok(), Some);
        tail.filter(|tail| tail.last == upto)
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::super::tests::{impatient, place};
    use super::*;
    use crate::store::story::appending;

    #[test]
    fn a_snapshot_is_read_where_it_fits_and_is_whole_and_else_not() {
        let (_folder, path) = place();
        let mut journal = impatient(&path);
        assert_eq!(journal.snapshot(), None);
        journal.append(&[appending("ask/1", None, &["asked", "allowed"])])[0].clone().unwrap();
        assert!(journal.ends_at(Seq(1)).is_none(), "there are later records");
        let tail = journal.ends_at(Seq(2)).unwrap();
        write(&journal.snapshot, tail, b"what two records come to").unwrap();
        let kept = Some(Snapshot { upto: Seq(2), bytes: b"what two records come to".to_vec() });
        assert_eq!(impatient(&path).snapshot(), kept);
        assert_eq!(fs::metadata(&journal.snapshot).unwrap().permissions().mode() & 0o777, 0o600);
        journal.append(&[appending("ask/1", Some(2), &["ran"])])[0].clone().unwrap();
        assert_eq!(journal.snapshot(), kept, "also when the journal has gone on");

        let whole = fs::read(&journal.snapshot).unwrap();
        for place in 0..whole.len() {
            let mut changed = whole.clone();
            changed[place] ^= 1;
            fs::write(&journal.snapshot, &changed).unwrap();
            assert_eq!(journal.snapshot(), None, "byte {place}");
            fs::write(&journal.snapshot, &whole[..place]).unwrap();
            assert_eq!(journal.snapshot(), None, "{place} bytes");
        }

        // Ahead of a journal, and of another one that has as many records.
        for texts in [&["asked"][..], &["asked", "denied"]] {
            let (_elsewhere, other) = place();
            let mut other = impatient(&other);
            other.append(&[appending("ask/1", None, texts)])[0].clone().unwrap();
            fs::write(&other.snapshot, &whole).unwrap();
            assert_eq!(other.snapshot(), None);
        }
    }
}
