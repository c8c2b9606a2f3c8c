//! A stream with timeouts: the connection may be idle for a while, but the head of a request must arrive in time, and the
//! client must read the response.
//!
//! hyper has one timer for an idle connection and a slow head. It is set to the idle time, and [`TimedStream`] times the
//! head: from its first byte until the request is complete. A connection that has become a link has no timeouts.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep};

/// Counts the beginnings and ends of requests: odd while one is being answered, and what is read then is its body.
#[derive(Clone, Default)]
pub(super) struct RequestCount(Arc<AtomicU64>);

impl RequestCount {
    pub(super) fn begin(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn end(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// The turn in which a head may be read; none while a request is answered.
    fn head_turn(&self) -> Option<u64> {
        Some(self.0.load(Ordering::Relaxed)).filter(|turn| turn % 2 == 0)
    }
}

pub(super) struct TimedStream<S> {
    stream: S,
    /// What was read of it before: it comes first.
    unread: BytesMut,
    requests: RequestCount,
    /// How long a head may take from its first byte.
    head_time: Duration,
    /// The turn of the head being read, and when it has to be there.
    head: Option<(u64, Instant)>,
    /// Made only when a head does not come in one piece.
    alarm: Option<Pin<Box<Sleep>>>,
    /// How long the other end may leave unread what is written to it.
    stall_time: Duration,
    /// Made only when it leaves something unread.
    stalled: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedStream<S> {
    pub(super) fn new(stream: S, requests: RequestCount, head_time: Duration, stall_time: Duration) -> Self {
        let unread = BytesMut::new();
        Self { stream, unread, requests, head_time, head: None, alarm: None, stall_time, stalled: None }
    }

    /// These bytes of the stream were read already.
    pub(super) fn starting_with(self, unread: BytesMut) -> Self {
        Self { unread, ..self }
    }

    /// The stream itself, once it is a link.
    pub(super) fn into_inner(self) -> S {
        self.stream
    }

    /// Passes on what became of a write, and gives up one that has waited too long. A link waits as long as it must.
    fn in_time<T>(&mut self, context: &mut Context<'_>, written: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if written.is_ready() || self.requests.head_turn().is_none() {
            self.stalled = None;
            return written;
        }
        let stall_time = self.stall_time;
        let stalled = self.stalled.get_or_insert_with(|| Box::pin(tokio::time::sleep(stall_time)));
        match stalled.as_mut().poll(context) {
            Poll::Ready(()) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
        }
    }

    /// Whether the head has taken too long. Otherwise we are woken when it has.
    fn is_out_of_time(&mut self, context: &mut Context<'_>) -> bool {
        let turn = self.requests.head_turn();
        let Some((_, until)) = self.head.filter(|(begun_in, _)| Some(*begun_in) == turn) else {
            // No head has begun, or the one that had is there by now.
            (self.head, self.alarm) = (None, None);
            return false;
        };
        let alarm = self.alarm.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(until)));
        alarm.as_mut().poll(context).is_ready()
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = if self.unread.is_empty() {
            Pin::new(&mut self.stream).poll_read(context, buffer)
        } else {
            let count = self.unread.len().min(buffer.remaining());
            buffer.put_slice(&self.unread.split_to(count));
            Poll::Ready(Ok(()))
        };
        match read {
            Poll::Pending if self.is_out_of_time(context) => Poll::Ready(Err(io::ErrorKind::TimedOut.into())),
            Poll::Pending => Poll::Pending,
            Poll::Ready(result) => {
                let turn = self.requests.head_turn().filter(|_| buffer.filled().len() > before);
                if let Some(turn) = turn.filter(|turn| self.head.is_none_or(|(begun_in, _)| begun_in != *turn)) {
                    (self.head, self.alarm) = (Some((turn, Instant::now() + self.head_time)), None);
                }
                Poll::Ready(result)
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.in_time(context, written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.in_time(context, written)
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
        let requests = RequestCount::default();
        let (ten, never) = (Duration::from_secs(10), Duration::MAX);
        let mut stream = TimedStream::new(server, requests.clone(), ten, never);
        let mut buffer = [0; 8];

        let idle = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut buffer)).await;
        assert!(idle.is_err(), "an idle connection is let be");

        client.write_all(b"POST").await.unwrap();
        assert_eq!(stream.read(&mut buffer).await.unwrap(), 4);
        requests.begin();
        let slow_body = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut buffer)).await;
        assert!(slow_body.is_err(), "a body has a time of its own");
        requests.end();

        client.write_all(b"GET").await.unwrap();
        assert_eq!(stream.read(&mut buffer).await.unwrap(), 3);
        // Answered at once, before anything more is read: its clock stops all the same.
        requests.begin();
        requests.end();
        let idle = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut buffer)).await;
        assert!(idle.is_err(), "a connection that has been used may be idle, too");

        client.write_all(b"GET").await.unwrap();
        assert_eq!(stream.read(&mut buffer).await.unwrap(), 3);
        let slow_head = tokio::time::timeout(Duration::from_secs(11), stream.read(&mut buffer)).await;
        assert_eq!(slow_head.expect("in time").unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_left_unread_is_given_up_but_not_on_a_link() {
        let (mut client, server) = tokio::io::duplex(4);
        let requests = RequestCount::default();
        let (never, ten) = (Duration::MAX, Duration::from_secs(10));
        let mut stream = TimedStream::new(server, requests.clone(), never, ten);
        let mut buffer = [0; 4];
        stream.write_all(b"full").await.unwrap();
        client.read_exact(&mut buffer).await.unwrap();
        stream.write_all(b"full").await.unwrap();

        requests.begin();
        let link = tokio::time::timeout(Duration::from_secs(60), stream.write(b"x")).await;
        assert!(link.is_err(), "a link waits");
        requests.end();
        let unread = tokio::time::timeout(Duration::from_secs(11), stream.write(b"x")).await;
        assert_eq!(unread.expect("in time").unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
