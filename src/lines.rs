//! Lines of bytes with a limit: a line that is too long is reported and skipped, and the next one is read as ever.

use std::io;

use bytes::{Buf, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt};

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line {
    /// Without its newline.
    Whole(Bytes),
    /// It was longer than the limit and has been passed over.
    TooLong,
    End,
}

/// A value as one line of JSON, behind what is in the buffer.
pub(crate) fn put_json(mut bytes: impl io::Write, value: &impl serde::Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut bytes, value)?;
    bytes.write_all(b"\n")
}

pub(crate) struct Lines<R> {
    reader: R,
    buffer: BytesMut,
    /// Bytes at the start of the buffer known to hold no newline.
    searched: usize,
    limit: usize,
    /// Inside a line that was already found too long.
    skipping: bool,
    /// How the last line that was too long began.
    passed_over: Bytes,
}

/// So much of a line that is too long is kept: as much as says what it was.
const KEPT_START: usize = 512;

impl<R: AsyncRead + Unpin> Lines<R> {
    pub(crate) fn new(reader: R, limit: usize) -> Self {
        Self { reader, buffer: BytesMut::new(), searched: 0, limit, skipping: false, passed_over: Bytes::new() }
    }

    /// Bytes that were read before this reader took over.
    pub(crate) fn starting_with(mut self, bytes: &[u8]) -> Self {
        self.buffer.extend_from_slice(bytes);
        self
    }

    /// The next line. May be dropped while waiting without losing anything.
    pub(crate) async fn next(&mut self) -> io::Result<Line> {
        loop {
            if let Some(line) = self.buffered() {
                return Ok(line);
            }
            // As much again as there is: a long line is not moved at every read.
            self.buffer.reserve(self.buffer.len().max(16 << 10));
            if self.reader.read_buf(&mut self.buffer).await? == 0 {
                return Ok(self.last());
            }
        }
    }

    /// How the last line that was too long began.
    pub(crate) fn passed_over(&self) -> &[u8] {
        &self.passed_over
    }

    /// The next line, where one that is too long ends the conversation; none at its end.
    pub(crate) async fn next_whole(&mut self) -> io::Result<Option<Bytes>> {
        match self.next().await? {
            Line::Whole(line) => Ok(Some(line)),
            Line::TooLong => Err(io::Error::new(io::ErrorKind::InvalidData, "a line is too long")),
            Line::End => Ok(None),
        }
    }

    /// A line that needs no reading, if there is one.
    pub(crate) fn buffered(&mut self) -> Option<Line> {
        loop {
            let found = memchr::memchr(b'\n', &self.buffer[self.searched..]);
            let Some(end) = found.map(|place| place + self.searched) else {
                self.searched = self.buffer.len();
                if self.buffer.len() <= self.limit {
                    return None;
                }
                let first_notice = !std::mem::replace(&mut self.skipping, true);
                if first_notice {
                    self.passed_over = start_of(&self.buffer);
                }
                // Nothing more of this line is wanted; its end is still to come.
                self.forget_all();
                return first_notice.then_some(Line::TooLong);
            };
            self.searched = 0;
            let line = self.buffer.split_to(end);
            self.buffer.advance(1);
            if std::mem::take(&mut self.skipping) {
                continue;
            }
            if line.len() > self.limit {
                self.passed_over = start_of(&line);
                return Some(Line::TooLong);
            }
            return Some(Line::Whole(line.freeze()));
        }
    }

    fn forget_all(&mut self) {
        self.buffer = BytesMut::new();
        self.searched = 0;
    }

    /// What stands before the end of the input without a newline counts as a line.
    fn last(&mut self) -> Line {
        if self.buffer.is_empty() || self.skipping {
            return Line::End;
        }
        let line = std::mem::take(&mut self.buffer).freeze();
        self.searched = 0;
        Line::Whole(line)
    }
}

fn start_of(line: &[u8]) -> Bytes {
    Bytes::copy_from_slice(&line[..line.len().min(KEPT_START)])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    async fn all(input: &[u8], limit: usize) -> Vec<Line> {
        let mut lines = Lines::new(input, limit);
        let mut found = vec![];
        loop {
            match lines.next().await.unwrap() {
                Line::End => return found,
                line => found.push(line),
            }
        }
    }

    fn run<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn a_line_too_long_is_passed_over_and_the_next_is_read() {
        let input = [b"one\n".as_slice(), &[b'x'; 100_000], b"\ntwo\nthree"].concat();
        let want =
            vec![Line::Whole("one".into()), Line::TooLong, Line::Whole("two".into()), Line::Whole("three".into())];
        assert_eq!(run(all(&input, 50)), want);
    }

    proptest! {
        #[test]
        fn any_bytes_come_out_as_lines(parts in proptest::collection::vec("[a-c]{0,12}", 0..20)) {
            let input = parts.join("\n");
            let got = run(all(input.as_bytes(), 8));
            let mut want: Vec<Line> = parts.iter().map(|part| {
                if part.len() > 8 { Line::TooLong } else { Line::Whole(part.clone().into()) }
            }).collect();
            // An empty last part is no line; nothing came after the newline.
            if parts.last().is_some_and(String::is_empty) {
                want.pop();
            }
            prop_assert_eq!(got, want);
        }
    }
}
