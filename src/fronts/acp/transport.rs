//! Lines between the editor and the SDK, bounded in both directions.

use std::future::ready;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agent_client_protocol::{Agent, ConnectTo, Lines as LineTransport};
use futures_util::{StreamExt as _, sink, stream};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::lines::{Line, Lines};

/// A line of the editor is at most this long: a prompt may hold images.
const LONGEST_LINE: usize = 64 << 20;
/// Updates that wait for an editor that does not read. With more the session waits, and the agent with it.
const MOST_WAITING: usize = 256;

/// An editor that has closed its end may take so long to read what was still to be told.
const LAST_LINES_TIMEOUT: Duration = Duration::from_secs(2);

/// How far the editor is behind what it is told.
#[derive(Clone, Default)]
pub(super) struct Backlog(Arc<Counted>);

#[derive(Default)]
struct Counted {
    waiting: AtomicUsize,
    written: Notify,
    /// The editor is gone: nobody waits for it.
    is_closed: AtomicBool,
    /// The editor says nothing more.
    input_ended: CancellationToken,
}

impl Backlog {
    /// Waits until the editor has room for one more line, and counts it.
    pub(super) async fn add(&self) {
        loop {
            let written = self.0.written.notified();
            let is_closed = self.0.is_closed.load(Ordering::Relaxed);
            if is_closed || self.0.waiting.load(Ordering::Relaxed) < MOST_WAITING {
                self.0.waiting.fetch_add(1, Ordering::Relaxed);
                return;
            }
            written.await;
        }
    }

    /// Returns when the editor has closed its end, and had time to read what was still to be told.
    pub(super) async fn left(&self) {
        self.0.input_ended.cancelled().await;
        tokio::time::sleep(LAST_LINES_TIMEOUT).await;
    }

    /// Whoever waits for the editor goes on without it.
    pub(super) fn close(&self) {
        self.0.is_closed.store(true, Ordering::Relaxed);
        self.0.written.notify_waiters();
    }

    /// A line was written. Answers are not counted when they are sent: they are as few as what the editor wants.
    fn wrote(&self) {
        let less = |waiting: usize| Some(waiting.saturating_sub(1));
        let _ = self.0.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
        self.0.written.notify_waiters();
    }
}

/// The editor's two streams as the SDK takes them.
pub(super) fn lines(
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> (impl ConnectTo<Agent>, Backlog) {
    let backlog = Backlog::default();
    let ended = backlog.0.input_ended.clone();
    let incoming = stream::unfold((Lines::new(input, LONGEST_LINE), ended), |(mut lines, ended)| async move {
        let next = match lines.next().await {
            Ok(Line::Whole(line)) => Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            Ok(Line::TooLong) => {
                tracing::warn!("a message of the editor is longer than {LONGEST_LINE} bytes, and was not read");
                Ok(None)
            }
            Ok(Line::End) => {
                ended.cancel();
                return None;
            }
            Err(error) => Err(error),
        };
        Some((next, (lines, ended)))
    });
    let incoming = incoming.filter_map(|line| ready(line.transpose()));
    let counted = backlog.clone();
    let outgoing = sink::unfold((output, counted), |(mut output, counted), line: String| async move {
        let mut bytes = line.into_bytes();
        bytes.push(b'\n');
        output.write_all(&bytes).await?;
        output.flush().await?;
        counted.wrote();
        Ok::<_, io::Error>((output, counted))
    });
    (LineTransport::new(Box::pin(outgoing), Box::pin(incoming)), backlog)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_session_waits_for_an_editor_that_does_not_read_but_not_for_one_that_is_gone() {
        let backlog = Backlog::default();
        for _ in 0..MOST_WAITING {
            backlog.add().await;
        }
        let waiting = backlog.clone();
        let mut waits = tokio::spawn(async move { waiting.add().await });
        tokio::task::yield_now().await;
        assert!(!waits.is_finished());
        backlog.wrote();
        (&mut waits).await.unwrap();
        let waiting = backlog.clone();
        let waits = tokio::spawn(async move { waiting.add().await });
        tokio::task::yield_now().await;
        backlog.close();
        waits.await.unwrap();
    }
}
