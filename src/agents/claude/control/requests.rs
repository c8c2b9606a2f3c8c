//! Our side of the control protocol: lines to the client in order, and requests of ours that wait for their answer.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use portcullis_core::{AskId, DeliveryWay, EventId, OrderId, OrderOutcome};
use portcullis_wire::control::{cancel_line, request_line};
use serde_json::{Map, Value};
use tokio::io::AsyncWriteExt as _;
use tokio::process::ChildStdin;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::agents::claude::hosted::SayToClient;
use crate::locks::locked;
use crate::session::link::SessionHandle;

/// Lines that wait for a client that does not read. With more it is taken for stuck.
const LINES: usize = 1024;

/// How long the client may take for what it does at once.
pub(super) const REQUEST_TIMEOUT: Duration = Duration::from_secs(30);

/// A line, and what the gate is told once it is written.
struct Outgoing {
    bytes: Vec<u8>,
    events: Vec<EventId>,
    verdicts: Vec<AskId>,
    order: Option<OrderId>,
}

/// Cheap to clone.
#[derive(Clone)]
pub(super) struct Control {
    shared: Arc<Shared>,
}

struct Shared {
    /// None once the client's input is closed.
    outgoing: Mutex<Option<mpsc::Sender<Outgoing>>>,
    /// Requests of ours without an answer. Each goes when it is answered, or when its time is over.
    waiting: Mutex<HashMap<String, oneshot::Sender<Result<Value, String>>>>,
    count: AtomicU64,
    stuck: CancellationToken,
}

/// Why a request of ours came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoAnswer {
    #[error("{0}")]
    Refused(String),
    #[error("Claude Code did not answer in time")]
    Late,
    #[error("Claude Code is gone")]
    Gone,
}

impl Control {
    pub(super) fn new(stdin: ChildStdin, gate: SessionHandle) -> Self {
        let (outgoing, lines) = mpsc::channel(LINES);
        tokio::spawn(write(stdin, lines, gate));
        let shared = Shared {
            outgoing: Mutex::new(Some(outgoing)),
            waiting: Mutex::default(),
            count: AtomicU64::new(0),
            stuck: CancellationToken::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Puts a line on its way. Never waits.
    pub(super) fn say(&self, bytes: Vec<u8>) {
        self.say_ordered(bytes, None);
    }

    /// The same for an order, which is done when the line is written whole.
    pub(super) fn say_ordered(&self, bytes: Vec<u8>, order: Option<OrderId>) {
        self.put(Outgoing { bytes, events: vec![], verdicts: vec![], order });
    }

    /// The same, and the gate is told of these when the line is written whole.
    pub(super) fn say_of(&self, bytes: Vec<u8>, events: Vec<EventId>, verdicts: Vec<AskId>) {
        self.put(Outgoing { bytes, events, verdicts, order: None });
    }

    fn put(&self, line: Outgoing) {
        let outgoing = locked(&self.shared.outgoing).clone();
        if let Some(outgoing) = outgoing
            && let Err(mpsc::error::TrySendError::Full(_)) = outgoing.try_send(line)
        {
            self.shared.stuck.cancel();
        }
    }

    /// Wants something of the client: said at once, in its place among all else that is said. What is returned waits for
    /// the answer, and no longer than this.
    pub(super) fn request(
        &self,
        subtype: &str,
        fields: Map<String, Value>,
        within: Duration,
    ) -> impl Future<Output = Result<Value, NoAnswer>> + Send + use<> {
        let id = format!("portcullis-{}", self.shared.count.fetch_add(1, Ordering::Relaxed) + 1);
        let (reply, answer) = oneshot::channel();
        locked(&self.shared.waiting).insert(id.clone(), reply);
        self.say(request_line(&id, subtype, fields));
        let control = self.clone();
        async move {
            match tokio::time::timeout(within, answer).await {
                Ok(Ok(answer)) => answer.map_err(NoAnswer::Refused),
                Ok(Err(_)) => Err(NoAnswer::Gone),
                Err(_) => {
                    locked(&control.shared.waiting).remove(&id);
                    control.say(cancel_line(&id));
                    Err(NoAnswer::Late)
                }
            }
        }
    }

    /// Brings the client what MCP servers inside our process say by themselves.
    pub(super) fn say_of_servers(&self) -> SayToClient {
        let control = self.clone();
        Box::new(move |server, message| {
            let fields = [("server_name".to_owned(), server.into()), ("message".to_owned(), message)];
            let taken = control.request("mcp_message", fields.into_iter().collect(), REQUEST_TIMEOUT);
            // One that does not know the request says so, and has the tools that it had.
            async move { drop(taken.await) }.boxed()
        })
    }

    /// The client has answered. Nobody may be waiting any more.
    pub(super) fn answered(&self, id: &str, answer: Result<Value, String>) {
        if let Some(reply) = locked(&self.shared.waiting).remove(id) {
            drop(reply.send(answer));
        }
    }

    /// Closes the client's input, after what is on its way.
    pub(super) fn close(&self) {
        locked(&self.shared.outgoing).take();
        locked(&self.shared.waiting).clear();
    }

    /// Returns when the client no longer reads what we say.
    pub(super) async fn stuck(&self) {
        self.shared.stuck.cancelled().await;
    }
}

/// Writes until there is nothing more to say, then closes the pipe by dropping it.
async fn write(mut stdin: ChildStdin, mut lines: mpsc::Receiver<Outgoing>, gate: SessionHandle) {
    while let Some(Outgoing { bytes, events, verdicts, order }) = lines.recv().await {
        if let Err(error) = stdin.write_all(&bytes).await {
            tracing::debug!(%error, "Claude Code does not read");
            return;
        }
        gate.wrote(&events, Some(DeliveryWay::Driven), &verdicts);
        // The client does not wait for a gate that is slow or away. There are no more of these than the gate has sent.
        if !events.is_empty() || !verdicts.is_empty() || order.is_some() {
            let gate = gate.clone();
            tokio::spawn(async move {
                gate.confirm().await;
                gate.ordered(order, OrderOutcome::Done).await;
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::link::{Connect, connect};
    use portcullis_core::{Label, Moment, SessionAbout, SessionId};
    use tokio::io::{AsyncBufReadExt as _, BufReader};

    #[tokio::test]
    async fn the_client_is_written_to_although_the_gate_takes_nothing() {
        let away: Connect = Arc::new(|| Box::pin(std::future::pending()));
        let about = SessionAbout::new(Label::new("api").unwrap(), "test");
        let (gate, _deliveries) = connect(SessionId::new(Moment(1), 1), about, "0.0.0", away);
        // Until nothing more is taken for the gate.
        while tokio::time::timeout(Duration::from_millis(50), gate.report_denied("x")).await.is_ok() {}
        let mut command = tokio::process::Command::new("cat");
        let mut cat = command
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let control = Control::new(cat.stdin.take().unwrap(), gate);
        control.say_of(b"one\n".to_vec(), vec![], vec![AskId::new(Moment(1), 1)]);
        control.say(b"two\n".to_vec());
        let mut lines = BufReader::new(cat.stdout.take().unwrap()).lines();
        let both = async { (lines.next_line().await.unwrap(), lines.next_line().await.unwrap()) };
        let both = tokio::time::timeout(Duration::from_secs(10), both).await.unwrap();
        assert_eq!(both, (Some("one".to_owned()), Some("two".to_owned())));
    }
}
