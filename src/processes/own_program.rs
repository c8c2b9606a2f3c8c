//! The file that this program was started from, and copies of it.

use std::fs::File;
use std::io;
use std::path::Path;

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
