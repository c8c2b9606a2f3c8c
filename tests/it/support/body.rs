//! The body of an HTTP answer as its plain bytes, whatever its framing.

use super::connection::Head;
use std::io::{self, BufRead, ErrorKind, Read};

pub(crate) struct Body<R> {
    from: R,
    framing: Framing,
}

enum Framing {
    Length(u64),
    /// What is left of the current chunk; `None` after the last one.
    Chunked(Option<u64>),
    UntilTheEnd,
}

impl<R: BufRead> Body<R> {
    pub(crate) fn after(from: R, method: &str, head: &Head) -> io::Result<Self> {
        let header = |wanted: &str| {
            let found = head.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(wanted));
            found.map(|(_, value)| value.to_ascii_lowercase())
        };
        let framing = if method == "HEAD" || matches!(head.status, 101 | 204 | 304) {
            Framing::Length(0)
        } else if header("transfer-encoding").is_some_and(|value| value.contains("chunked")) {
            Framing::Chunked(Some(0))
        } else if let Some(length) = header("content-length") {
            Framing::Length(length.parse().map_err(|_| broken(format!("content-length {length:?}")))?)
        } else {
            Framing::UntilTheEnd
        };
        Ok(Self { from, framing })
    }

    fn next_chunk(&mut self) -> io::Result<Option<u64>> {
        let line = read_line(&mut self.from)?;
        let digits = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(digits, 16).map_err(|_| broken(format!("chunk size {line:?}")))?;
        if size > 0 {
            return Ok(Some(size));
        }
        // Trailers, then the empty line.
        while !read_line(&mut self.from)?.is_empty() {}
        Ok(None)
    }
}

impl<R: BufRead> Read for Body<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if let Framing::Chunked(Some(0)) = self.framing {
            self.framing = Framing::Chunked(self.next_chunk()?);
        }
        let left = match self.framing {
            Framing::UntilTheEnd => return self.from.read(into),
            // Asking the socket for no bytes would still wait for some.
            Framing::Chunked(None) | Framing::Length(0) => return Ok(0),
            Framing::Chunked(Some(left)) | Framing::Length(left) => left,
        };
        let most = usize::try_from(left).unwrap_or(usize::MAX).min(into.len());
        let read = self.from.read(&mut into[..most])?;
        if read == 0 && most > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let left = left - read as u64;
        match &mut self.framing {
            Framing::Length(length) => *length = left,
            Framing::Chunked(chunk) => {
                if left == 0 && !read_line(&mut self.from)?.is_empty() {
                    return Err(broken("a chunk is longer than it said".to_owned()));
                }
                *chunk = Some(left);
            }
            Framing::UntilTheEnd => {}
        }
        Ok(read)
    }
}

pub(crate) fn read_line(from: &mut impl BufRead) -> io::Result<String> {
    let mut line = Vec::new();
    from.read_until(b'\n', &mut line)?;
    if line.pop() != Some(b'\n') {
        return Err(ErrorKind::UnexpectedEof.into());
    }
    if line.last() == Some(&b'\r') {
        line.pop();
    }
    String::from_utf8(line).map_err(|error| broken(error.to_string()))
}

pub(crate) fn broken(what: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, what)
}
