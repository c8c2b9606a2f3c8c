//! Standard input and output without a thread between: pipes and sockets are polled, anything else is read by threads.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::fs::FileType;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::unix::pipe;

use crate::stream::{Writer, reader};

pub(crate) type ClientReader = Box<dyn AsyncRead + Send + Unpin>;
pub(crate) type ClientWriter = Box<dyn AsyncWrite + Send + Unpin>;

pub(crate) fn open() -> io::Result<(ClientReader, ClientWriter)> {
    Ok((input()?, output()?))
}

fn kind(descriptor: impl AsFd) -> io::Result<FileType> {
    Ok(FileType::from_raw_mode(rustix::fs::fstat(descriptor)?.st_mode))
}

fn input() -> io::Result<ClientReader> {
    let stdin = io::stdin();
    Ok(match kind(&stdin)? {
        FileType::Fifo => match reopened("/proc/self/fd/0", |path| pipe::OpenOptions::new().open_receiver(path)) {
            Some(receiver) => Box::new(receiver),
            None => Box::new(tokio::io::stdin()),
        },
        FileType::Socket => Box::new(reader(socket(stdin.as_fd().try_clone_to_owned()?)?)?),
        _ => Box::new(tokio::io::stdin()),
    })
}

fn output() -> io::Result<ClientWriter> {
    let stdout = io::stdout();
    Ok(match kind(&stdout)? {
        FileType::Fifo => match reopened("/proc/self/fd/1", |path| pipe::OpenOptions::new().open_sender(path)) {
            Some(sender) => Box::new(Writer::new(sender.into_nonblocking_fd()?)),
            None => Box::new(tokio::io::stdout()),
        },
        FileType::Socket => Box::new(Writer::new(socket(stdout.as_fd().try_clone_to_owned()?)?)),
        _ => Box::new(tokio::io::stdout()),
    })
}

/// Opening the pipe anew gives it a mode of its own: whoever else holds the old end still finds it blocking.
fn reopened<T>(path: &str, open: impl FnOnce(&str) -> io::Result<T>) -> Option<T> {
    open(path).inspect_err(|error| tracing::debug!(%error, path, "the pipe is read by a thread")).ok()
}

/// Node gives its children sockets. Ours is ours alone: the other end belongs to the client.
fn socket(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    let stream = UnixStream::from(descriptor);
    stream.set_nonblocking(true)?;
    Ok(stream.into())
}
