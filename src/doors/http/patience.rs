//! A connection that may be idle for a while, but not take its time with the head of a request.
//!
//! hyper has one clock for both. Its clock is set to the idle time, and this one watches the head: it starts with the
//! first byte and stops when a request is there to be answered.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Set while a request is being answered: what is read then is its body.
#[derive(Clone, Default)]
pub(super) struct Answering(Arc<AtomicBool>);

impl Answering {
    pub(super) fn begins(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    pub(super) fn ends(&self) {
        self.0.store(false, Ordering::Relaxed);
    }
}

pub(super) struct Patience<S> {
    stream: S,
    answering: Answering,
    head_time: Duration,
    /// When the head being read has to be there.
    head_until: Option<Instant>,
    /// Made only when a head does not come in one piece.
    alarm: Option<Pin<Box<Sleep>>>,
}

impl<S> Patience<S> {
    pub(super) fn new(stream: S, answering: Answering, head_time: Duration) -> Self {
        Self { stream, answering, head_time, head_until: None, alarm: None }
    }

    /// Whether the head has taken too long. Otherwise we are woken when it has.
    fn is_out_of_time(&mut self, context: &mut Context<'_>) -> bool {
        if self.answering.0.load(Ordering::Relaxed) {
            (self.head_until, self.alarm) = (None, None);
            return false;
        }
        let Some(until) = self.head_until else { return false };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        alarm.as_mut().poll(context).is_ready()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Patience<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        match Pin::new(&mut self.stream).poll_read(context, buffer) {
            Poll::Pending if self.is_out_of_time(context) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                let is_head = buffer.filled().len() > before && !self.answering.0.load(Ordering::Relaxed);
                if is_head && self.head_until.is_none() {
                    self.head_until = Some(Instant::now() + self.head_time);
                }
                Poll::Ready(result)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Patience<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test(start_paused = true)]
    async fn a_head_must_come_in_time_and_an_idle_connection_need_not() {
        let (mut client, server) = tokio::io::duplex(64);
        let answering = Answering::default();
        let mut patience = Patience::new(server, answering.clone(), Duration::from_secs(10));
        let mut buffer = [0; 8];

        let idle = tokio::time::timeout(Duration::from_secs(60), patience.read(&mut buffer)).await;
        assert!(idle.is_err(), "an idle connection is let be");

        client.write_all(b"POST").await.unwrap();
        assert_eq!(patience.read(&mut buffer).await.unwrap(), 4);
        answering.begins();
        let slow_body = tokio::time::timeout(Duration::from_secs(60), patience.read(&mut buffer)).await;
        assert!(slow_body.is_err(), "a body has a time of its own");
        answering.ends();

        client.write_all(b"GET").await.unwrap();
        assert_eq!(patience.read(&mut buffer).await.unwrap(), 3);
        let slow_head = tokio::time::timeout(Duration::from_secs(11), patience.read(&mut buffer)).await;
        assert_eq!(slow_head.expect("in time").unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
