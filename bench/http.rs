//! As much of HTTP as a client needs that posts events and listens: the same bytes to every contender.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use anyhow::{Context as _, ensure};

use crate::contenders::TOKEN;
use crate::session::PATIENCE;

/// A request that posts an event to `path`.
pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nX-Sender: dev\r\n\
         Content-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A request that listens to replies and prompts.
pub(crate) fn listen(address: SocketAddr) -> Vec<u8> {
    format!("GET /events HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n").into_bytes()
}

/// The length of the first whole answer in `bytes`, if it is there. Anything but a 200 with a length is an error.
pub(crate) fn answer_length(bytes: &[u8]) -> anyhow::Result<Option<usize>> {
    let Some(head) = find(bytes, b"\r\n\r\n").map(|end| &bytes[..end + 4]) else { return Ok(None) };
    ensure!(head.starts_with(b"HTTP/1.1 200 "), "the server answered {}", String::from_utf8_lossy(bytes));
    let mut lines = head.split(|byte| *byte == b'\n');
    let length = lines.find_map(|line| {
        let (name, value) = line.split_at_checked(b"content-length:".len())?;
        let value = std::str::from_utf8(value).ok()?.trim();
        name.eq_ignore_ascii_case(b"content-length:").then(|| value.parse::<usize>().ok())?
    });
    let whole = head.len() + length.context("the answer has no length")?;
    Ok((bytes.len() >= whole).then_some(whole))
}

pub(crate) fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// A connection that is used by one caller, one request at a time.
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> anyhow::Result<Self> {
        let stream = TcpStream::connect(address).with_context(|| format!("connecting to {address}"))?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { stream, buffer: vec![] })
    }

    pub(crate) fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(request).context("writing a request")
    }

    /// Waits for the whole answer, and forgets it.
    pub(crate) fn answered(&mut self) -> anyhow::Result<()> {
        self.answer().map(drop)
    }

    /// Waits for the whole answer. Returns its body.
    pub(crate) fn answer(&mut self) -> anyhow::Result<Vec<u8>> {
        loop {
            if let Some(length) = answer_length(&self.buffer)? {
                let head = find(&self.buffer, b"\r\n\r\n").context("the end of the head")? + 4;
                return Ok(self.buffer.drain(..length).skip(head).collect());
            }
            self.more()?;
        }
    }

    /// Reads until `wanted` is there, and forgets everything up to its end.
    pub(crate) fn until(&mut self, wanted: &[u8]) -> anyhow::Result<()> {
        loop {
            if let Some(place) = find(&self.buffer, wanted) {
                self.buffer.drain(..place + wanted.len());
                return Ok(());
            }
            self.more()?;
        }
    }

    fn more(&mut self) -> anyhow::Result<()> {
        let mut chunk = [0; 16 << 10];
        let count = self.stream.read(&mut chunk).context("waiting for the server")?;
        ensure!(count > 0, "the server closed the connection");
        self.buffer.extend_from_slice(&chunk[..count]);
        Ok(())
    }
}
