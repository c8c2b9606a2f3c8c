//! Lines between the editor and the SDK, bounded in both directions.

use std::future::ready;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use agent_client_protocol::{Agent, ConnectTo, Lines as LineTransport};
use futures_util::{StreamExt as _, sink, stream};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::sync::{Mutex, Notify};
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
    let output = Arc::new(Mutex::new(output));
    let answers = Arc::clone(&output);
    let reading = (Lines::new(input, LONGEST_LINE), ended, answers);
    let incoming = stream::unfold(reading, |(mut lines, ended, answers)| async move {
        let next = match lines.next().await {
            // No message, and no broken one either.
            Ok(Line::Whole(line)) if line.trim_ascii().is_empty() => Ok(None),
            Ok(Line::Whole(line)) => Ok(Some(String::from_utf8_lossy(&line).into_owned())),
            Ok(Line::TooLong) => {
                tracing::warn!("a message of the editor is longer than {LONGEST_LINE} bytes, and was not read");
                match refusal(lines.passed_over()) {
                    Some(LongMessageRefusal::OfRequest(line)) => write_line(&answers, line).await.map(|()| None),
                    Some(LongMessageRefusal::OfAnswer(line)) => Ok(Some(line)),
                    None => Ok(None),
                }
            }
            Ok(Line::End) => {
                ended.cancel();
                return None;
            }
            Err(error) => Err(error),
        };
        Some((next, (lines, ended, answers)))
    });
    let incoming = incoming.filter_map(|line| ready(line.transpose()));
    let counted = backlog.clone();
    let outgoing = sink::unfold((output, counted), |(output, counted), line: String| async move {
        write_line(&output, line).await?;
        counted.wrote();
        Ok::<_, io::Error>((output, counted))
    });
    (LineTransport::new(Box::pin(outgoing), Box::pin(incoming)), backlog)
}

async fn write_line(output: &Mutex<impl AsyncWrite + Unpin>, line: String) -> io::Result<()> {
    let mut bytes = line.into_bytes();
    bytes.push(b'\n');
    let mut output = output.lock().await;
    output.write_all(&bytes).await?;
    output.flush().await
}

/// What becomes of a message that is too long to be read.
#[derive(Debug, PartialEq, Eq)]
enum LongMessageRefusal {
    /// The editor wants something: it is told that it was not read.
    OfRequest(String),
    /// The editor has answered us: whoever waits for it is told.
    OfAnswer(String),
}

/// By how the message began. None where that does not tell what it was.
fn refusal(start: &[u8]) -> Option<LongMessageRefusal> {
    let start = String::from_utf8_lossy(start);
    let place = |name: &str| start.find(&format!("\"{name}\":"));
    let end = ["params", "result", "error"].into_iter().filter_map(place).min()?;
    let head = &start[..end];
    let (_, id) = head.split_once("\"id\":")?;
    let id = serde_json::Deserializer::from_str(id).into_iter::<Value>().next()?.ok()?;
    let message = format!("this message is longer than {} MiB and was not read; send less at once", LONGEST_LINE >> 20);
    let error = json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32600, "message": message}}).to_string();
    Some(if head.contains("\"method\"") {
        LongMessageRefusal::OfRequest(error)
    } else {
        LongMessageRefusal::OfAnswer(error)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_is_too_long_is_refused_by_its_id() {
        let kind = |start: &str| match refusal(start.as_bytes()) {
            Some(LongMessageRefusal::OfRequest(line)) => {
                format!("request {}", serde_json::from_str::<Value>(&line).unwrap()["id"])
            }
            Some(LongMessageRefusal::OfAnswer(line)) => {
                format!("answer {}", serde_json::from_str::<Value>(&line).unwrap()["id"])
            }
            None => "unknown".to_owned(),
        };
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":7,"method":"session/prompt","params":{"sess"#), "request 7");
        assert_eq!(kind(r#"{"method": "session/prompt", "id": "a", "params": {"id": 9"#), "request \"a\"");
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":8,"result":{"content":"xxx"#), "answer 8");
        for other in
            [r#"{"jsonrpc":"2.0","method":"session/cancel","params":{"id":1"#, "xxxx", r#"{"params":{"x":"#, ""]
        {
            assert_eq!(kind(other), "unknown", "{other}");
        }
    }

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
