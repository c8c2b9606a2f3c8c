//! One process of a shared server, and the streams of those that use it.

use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rmcp::model::ProtocolVersion;
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::process::{ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::routing::{ClientNumber, Routed, Routing};
use crate::fixed;
use crate::lines::{Line, Lines, put_json};
use crate::locks::locked;
use crate::upstream::config::Upstream;
use crate::upstream::connection::STDERR_LINES;
use crate::upstream::pacing::ReadingTurns;
use crate::upstream::transport::largest;
use crate::upstream::transport::process::{ServerProcess, StartedServer};
use crate::upstream::transport::stdio::MOST_GARBAGE;

/// Messages on their way to the server; a client that sends more waits.
const TO_SERVER: usize = 256;
/// Messages, and bytes, that a client has not taken; one that leaves more is cut off. A single message may be larger.
const TO_CLIENT: usize = 1024;
const TO_CLIENT_BYTES: usize = 32 << 20;
/// A question of the server that could be for two clients waits so long for one of them to be done.
const HELD: Duration = Duration::from_secs(30);
/// What a server said before it ended still reaches a client that reads.
const LAST_ANSWERS: Duration = Duration::from_millis(300);

pub(super) struct SharedServer {
    /// Of the configuration that it was started with.
    pub(super) hash: String,
    /// Locked for a moment, by every message.
    routing: Mutex<Routing>,
    /// Changed by those who join and leave.
    outputs: Mutex<HashMap<ClientNumber, ClientOutput>>,
    to_server: mpsc::Sender<Value>,
    /// Cancelled when the server has ended, or has to.
    pub(super) ended: CancellationToken,
}

struct ClientOutput {
    messages: mpsc::Sender<Vec<u8>>,
    /// Bytes that were not taken yet.
    waiting: Arc<AtomicUsize>,
    cut_off: CancellationToken,
}

impl SharedServer {
    /// Starts the server and has it introduce itself.
    pub(super) async fn start(
        upstream: &Upstream,
        (folder, guard): (&Path, Option<&Path>),
        lends_model: bool,
        limit: Duration,
    ) -> Result<Arc<Self>, String> {
        let endpoint = &upstream.entry.endpoint;
        let failed = |error: io::Error| format!("starting {}: {error}", endpoint.program());
        let StartedServer { mut stdin, stdout, mut process, stderr } =
            StartedServer::start(endpoint, folder, guard).map_err(failed)?;
        let mut lines = Lines::new(stdout, largest());
        let introduced = tokio::time::timeout(limit, introduce(&mut stdin, &mut lines, lends_model)).await;
        let initialized = match introduced.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
            Ok(initialized) => initialized,
            Err(error) => {
                process.end().await;
                let said = stderr.all_said().await.last_lines(STDERR_LINES);
                return Err(format!("{error}{}{said}", if said.is_empty() { "" } else { "; it said: " }));
            }
        };
        let (to_server, messages) = mpsc::channel(TO_SERVER);
        let server = Arc::new(Self {
            hash: upstream.hash.clone(),
            routing: Mutex::new(Routing::new(initialized)),
            outputs: Mutex::default(),
            to_server,
            ended: CancellationToken::new(),
        });
        tokio::spawn(write_to(stdin, messages, server.ended.clone()));
        tokio::spawn(Arc::clone(&server).read(lines, process));
        Ok(server)
    }

    /// Everything that the server says, until it ends or has to.
    async fn read(self: Arc<Self>, mut lines: Lines<ChildStdout>, mut process: ServerProcess) {
        let (mut garbage, mut turns) = (0, ReadingTurns::default());
        loop {
            turns.give_way().await;
            let line = tokio::select! {
                line = lines.next() => line,
                () = self.ended.cancelled() => break,
            };
            // Nobody knows which call a message that is too long answers: so none of them waits for it in vain.
            let Ok(Line::Whole(line)) = line else { break };
            match serde_json::from_slice::<Value>(&line) {
                Ok(message) if message.is_object() => {
                    let routed = locked(&self.routing).route_server(message);
                    self.say_soon(routed);
                }
                _ if line.trim_ascii().is_empty() => {}
                _ => garbage += 1,
            }
            if garbage >= MOST_GARBAGE {
                break;
            }
        }
        self.ended.cancel();
        process.end().await;
    }

    /// For whoever must not wait. A server that reads nothing misses what we say to it.
    fn say_soon(self: &Arc<Self>, routed: Vec<Routed>) {
        for message in self.hand_out(routed) {
            if self.to_server.try_send(message).is_err() {
                tracing::warn!("a shared MCP server does not read what it is told");
            }
        }
    }

    /// Hands clients what is theirs. What is for the server is returned.
    fn hand_out(self: &Arc<Self>, routed: Vec<Routed>) -> Vec<Value> {
        let mut to_server = vec![];
        for message in routed {
            match message {
                Routed::ToServer(message) => to_server.push(message),
                Routed::ToClient(client, message) => {
                    if let Some(output) = locked(&self.outputs).get(&client) {
                        output.put(&message);
                    }
                }
                Routed::Held(message) => {
                    let server = Arc::downgrade(self);
                    tokio::spawn(async move {
                        tokio::time::sleep(fixed::wait("MCP_HELD", HELD)).await;
                        let Some(server) = server.upgrade() else { return };
                        let routed = locked(&server.routing).give_up(&message["id"]);
                        server.say_soon(routed);
                    });
                }
            }
        }
        to_server
    }

    /// Takes a client in; what it is told comes from what is returned.
    pub(super) fn join(&self, client: ClientNumber) -> JoinedClient {
        let (messages, output) = mpsc::channel(TO_CLIENT);
        let (waiting, cut_off) = (Arc::new(AtomicUsize::new(0)), self.ended.child_token());
        let joined = JoinedClient { output, waiting: Arc::clone(&waiting), cut_off: cut_off.clone() };
        locked(&self.outputs).insert(client, ClientOutput { messages, waiting, cut_off });
        locked(&self.routing).join(client);
        joined
    }

    /// Serves a client that has joined, until it leaves, is too slow, or the server ends.
    pub(super) async fn serve(self: &Arc<Self>, client: ClientNumber, joined: JoinedClient, stream: UnixStream) {
        let (input, output) = stream.into_split();
        let cut_off = joined.cut_off.clone();
        let writing = tokio::spawn(joined.write(output));
        let mut lines = Lines::new(input, largest());
        loop {
            let line = tokio::select! {
                line = lines.next_whole() => line,
                () = cut_off.cancelled() => break,
            };
            let Ok(Some(line)) = line else { break };
            let Ok(message @ Value::Object(_)) = serde_json::from_slice(&line) else { break };
            let routed = locked(&self.routing).route_client(client, message);
            for message in self.hand_out(routed) {
                tokio::select! {
                    sent = self.to_server.send(message) => drop(sent),
                    () = cut_off.cancelled() => break,
                }
            }
        }
        cut_off.cancel();
        drop(writing.await);
    }

    /// The client is gone. The server ends with its last one.
    pub(super) fn leave(self: &Arc<Self>, client: ClientNumber) {
        locked(&self.outputs).remove(&client);
        let (routed, is_empty) = {
            let mut routing = locked(&self.routing);
            (routing.leave(client), routing.is_empty())
        };
        if is_empty {
            self.ended.cancel();
        } else {
            self.say_soon(routed);
        }
    }
}

impl ClientOutput {
    fn put(&self, message: &Value) {
        // Half of the place is for answers and questions: what a server tells without end pushes nobody out.
        let is_half_full =
            || self.messages.capacity() < TO_CLIENT / 2 || self.waiting.load(Ordering::Relaxed) > TO_CLIENT_BYTES / 2;
        if message.get("id").is_none() && is_half_full() {
            return;
        }
        let mut line = vec![];
        // A value can always be written.
        drop(put_json(&mut line, message));
        let length = line.len();
        let before = self.waiting.fetch_add(length, Ordering::Relaxed);
        if (before > 0 && before + length > TO_CLIENT_BYTES) || self.messages.try_send(line).is_err() {
            tracing::warn!("a client of a shared MCP server does not read, and is cut off");
            self.cut_off.cancel();
        }
    }
}

pub(super) struct JoinedClient {
    output: mpsc::Receiver<Vec<u8>>,
    waiting: Arc<AtomicUsize>,
    cut_off: CancellationToken,
}

impl JoinedClient {
    async fn write(mut self, mut stream: impl AsyncWrite + Unpin) {
        let writing = async {
            while let Some(line) = self.output.recv().await {
                if stream.write_all(&line).await.is_err() {
                    break;
                }
                self.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            }
        };
        let mut writing = std::pin::pin!(writing);
        tokio::select! {
            () = &mut writing => {}
            () = self.cut_off.cancelled() => drop(tokio::time::timeout(LAST_ANSWERS, writing).await),
        }
        self.cut_off.cancel();
    }
}

async fn write_to(mut stdin: ChildStdin, mut messages: mpsc::Receiver<Value>, ended: CancellationToken) {
    let writing = async {
        while let Some(message) = messages.recv().await {
            write(&mut stdin, &message).await?;
        }
        io::Result::Ok(())
    };
    tokio::select! {
        written = writing => drop(written),
        () = ended.cancelled() => {}
    }
    ended.cancel();
}

async fn write(stdin: &mut ChildStdin, message: &Value) -> io::Result<()> {
    let mut line = vec![];
    put_json(&mut line, message)?;
    stdin.write_all(&line).await?;
    stdin.flush().await
}

/// What the server says of itself. Which client can be asked is found out when the server asks.
async fn introduce(stdin: &mut ChildStdin, lines: &mut Lines<ChildStdout>, lends_model: bool) -> io::Result<Value> {
    let mut capabilities = json!({"elicitation": {"form": {}, "url": {}}});
    if lends_model {
        capabilities["sampling"] = json!({});
    }
    let params = json!({
        "protocolVersion": ProtocolVersion::LATEST_WITH_INITIALIZE, "capabilities": capabilities,
        "clientInfo": {"name": "portcullis", "version": env!("CARGO_PKG_VERSION")},
    });
    write(stdin, &json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})).await?;
    let mut answer = loop {
        let line = lines.next_whole().await?.ok_or_else(|| io::Error::other("the server ended"))?;
        match serde_json::from_slice::<Value>(&line) {
            Ok(message) if message["id"] == 0 && message.get("method").is_none() => break message,
            _ => {}
        }
    };
    let result = answer["result"].take();
    if !result.is_object() {
        return Err(io::Error::other(format!("the server refuses to be initialized: {}", answer["error"])));
    }
    write(stdin, &json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await?;
    Ok(result)
}
