//! Descriptors that wake their process for reading, and for writing only while they are full.
//!
//! A Unix socket or a pipe that is watched for writing wakes its process whenever the other end has read something:
//! for every event once more, and for nothing.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use rustix::io::Errno;
use tokio::io::AsyncWrite;
use tokio::net::UnixStream;
use tokio::net::unix::pipe;

/// tokio's ends of a pipe know one direction alone, and do not mind a socket.
pub(crate) type Reader = pipe::Receiver;

/// Reads a descriptor. It has to be non-blocking.
pub(crate) fn reader(descriptor: OwnedFd) -> io::Result<Reader> {
    pipe::Receiver::from_owned_fd_unchecked(descriptor)
}

/// Writes a descriptor. It has to be non-blocking.
pub(crate) struct Writer {
    descriptor: OwnedFd,
    /// The same descriptor, watched: only since a write found it full.
    full: Option<pipe::Sender>,
}

impl Writer {
    pub(crate) fn new(descriptor: OwnedFd) -> Self {
        Self { descriptor, full: None }
    }
}

impl AsyncWrite for Writer {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        loop {
            if let Some(full) = &mut self.full {
                let written = ready!(Pin::new(full).poll_write(context, bytes));
                self.full = None;
                return Poll::Ready(written);
            }
            match rustix::io::write(&self.descriptor, bytes) {
                Ok(count) => return Poll::Ready(Ok(count)),
                Err(Errno::AGAIN) => {
                    let watched = self.descriptor.try_clone()?;
                    self.full = Some(pipe::Sender::from_owned_fd_unchecked(watched)?);
                }
                Err(Errno::INTR) => {}
                Err(error) => return Poll::Ready(Err(error.into())),
            }
        }
    }

    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    /// The other end reads to the end of what was written. Pipes know no other end than being closed.
    fn poll_shutdown(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match rustix::net::shutdown(&self.descriptor, rustix::net::Shutdown::Write) {
            Ok(()) | Err(Errno::NOTSOCK | Errno::NOTCONN) => Poll::Ready(Ok(())),
            Err(error) => Poll::Ready(Err(error.into())),
        }
    }
}

/// Bytes that a socket takes before its writer has to wait: an event as large as most may be, in its quotes.
const SEND_BUFFER: usize = 2 << 20;

/// Gives a socket the room to take a large event at once. What the system does not grant is done without.
pub(crate) fn widen(descriptor: impl AsFd) {
    let widened = rustix::net::sockopt::set_socket_send_buffer_size(&descriptor, SEND_BUFFER);
    if let Err(error) = widened {
        tracing::debug!(%error, "a socket keeps the buffer it has");
    }
}

/// Both ends of one connected socket.
pub(crate) fn split(stream: UnixStream) -> io::Result<(Reader, Writer)> {
    let stream = OwnedFd::from(stream.into_std()?);
    widen(&stream);
    Ok((reader(stream.try_clone()?)?, Writer::new(stream)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn more_than_fits_arrives_whole_and_then_the_end() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (_, mut writer) = split(ours).unwrap();
        let (mut reader, _) = split(theirs).unwrap();
        let sent: Vec<u8> = (0..4_000_000_u32).map(|number| (number / 7) as u8).collect();
        let expected = sent.clone();
        let writing = tokio::spawn(async move {
            writer.write_all(&sent).await.unwrap();
            writer.shutdown().await.unwrap();
        });
        let mut received = vec![];
        reader.read_to_end(&mut received).await.unwrap();
        writing.await.unwrap();
        assert!(received == expected);
    }

    #[tokio::test]
    async fn an_end_that_comes_with_the_last_bytes_is_seen() {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (mut reader, _) = split(theirs).unwrap();
        ours.write_all(b"bye").await.unwrap();
        drop(ours);
        let mut buffer = [0; 64];
        assert_eq!(reader.read(&mut buffer).await.unwrap(), 3);
        assert_eq!(reader.read(&mut buffer).await.unwrap(), 0);
    }

    #[tokio::test]
    async fn writing_to_nobody_is_an_error() {
        let (ours, theirs) = UnixStream::pair().unwrap();
        let (_, mut writer) = split(ours).unwrap();
        drop(theirs);
        assert_eq!(writer.write_all(b"x").await.unwrap_err().kind(), io::ErrorKind::BrokenPipe);
    }
}
