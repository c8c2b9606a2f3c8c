//! A look at a journal's first bytes: it opens nothing, locks nothing and changes nothing.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use super::version::{APPLICATION_ID, STEPS};
use crate::store::Glance;

/// As the SQLite file format has it.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

pub(in crate::store) fn glance(path: &Path) -> io::Result<Glance> {
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Glance::Missing),
        Err(error) => return Err(error),
    };
    let mut header = [0; 100];
    match file.read_exact(&mut header) {
        Ok(()) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof && file.metadata()?.len() == 0 => {
            return Ok(Glance::Unsettled);
        }
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(Glance::Foreign),
        Err(error) => return Err(error),
    }
    let number = |at: usize| i32::from_be_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
    let (version, application) = (number(60), number(68));
    Ok(match (&header[..16] == MAGIC, application) {
        (true, APPLICATION_ID) => Glance::Ours { version: version.cast_unsigned(), known: STEPS.len() as u32 },
        // What makes it ours may still stand in the log beside it.
        (true, 0) if version == 0 => Glance::Unsettled,
        _ => Glance::Foreign,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::store::{Durability, Store};

    #[test]
    fn a_glance_tells_what_a_file_is_and_leaves_it_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal.db");
        assert_eq!(glance(&path).unwrap(), Glance::Missing);
        fs::write(&path, "").unwrap();
        assert_eq!(glance(&path).unwrap(), Glance::Unsettled);
        fs::write(&path, "short").unwrap();
        assert_eq!(glance(&path).unwrap(), Glance::Foreign);
        fs::write(&path, [b'x'; 200]).unwrap();
        assert_eq!(glance(&path).unwrap(), Glance::Foreign);

        fs::remove_file(&path).unwrap();
        drop(Store::sqlite(&path, Durability::Process).unwrap());
        let (before, known) = (fs::read(&path).unwrap(), STEPS.len() as u32);
        assert_eq!(glance(&path).unwrap(), Glance::Ours { version: known, known });
        assert_eq!(fs::read(&path).unwrap(), before);
    }
}
