//! A server on a stream of lines, one JSON message a line: a program that we start, or one that is shared with others.

use std::io;
use std::path::Path;
use std::sync::Arc;

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _};
use tokio::net::UnixStream;

use super::process::{ServerProcess, StartedServer, StderrRing};
use super::{largest, mend};
use crate::lines::{Line, Lines};
use crate::upstream::config::Endpoint;

/// Lines of a server that are no messages; after so many it is not one of ours.
pub(crate) const MOST_GARBAGE: usize = 1000;

/// So many of them are shown when it fails, and so much of each: a banner is the usual mistake of a new server.
const SHOWN_GARBAGE: usize = 2;
const LONGEST_SHOWN: usize = 200;

type ServerLines = Box<dyn AsyncRead + Send + Unpin>;
type ServerInput = Box<dyn AsyncWrite + Send + Unpin>;

/// Our end of a server's streams.
pub(crate) struct StdioTransport {
    /// None once it was closed. Messages are written whole, one after another.
    output: Arc<tokio::sync::Mutex<Option<ServerInput>>>,
    lines: Lines<ServerLines>,
    /// None where the server is not ours to end.
    process: Option<Arc<tokio::sync::Mutex<ServerProcess>>>,
    garbage: usize,
    ring: StderrRing,
}

/// What is left of a server that we started, when its streams are gone before it is connected.
pub(crate) struct KeptServer {
    pub(crate) process: Arc<tokio::sync::Mutex<ServerProcess>>,
    pub(crate) stderr: StderrRing,
}

impl StdioTransport {
    /// Starts the server; under `guard`, which is this program, where it has to go even when we are killed.
    pub(crate) fn start(endpoint: &Endpoint, folder: &Path, guard: Option<&Path>) -> io::Result<(Self, KeptServer)> {
        let StartedServer { stdin, stdout, process, stderr } = StartedServer::start(endpoint, folder, guard)?;
        let lines = Lines::new(Box::new(stdout) as ServerLines, largest());
        let process = Arc::new(tokio::sync::Mutex::new(process));
        let transport = Self::new(Box::new(stdin), lines, Some(Arc::clone(&process)), stderr.clone());
        Ok((transport, KeptServer { process, stderr }))
    }

    /// A server that others use as well, behind this stream.
    pub(crate) fn shared(stream: UnixStream) -> Self {
        let (input, output) = stream.into_split();
        Self::new(Box::new(output), Lines::new(Box::new(input), largest()), None, StderrRing::default())
    }

    fn new(
        output: ServerInput,
        lines: Lines<ServerLines>,
        process: Option<Arc<tokio::sync::Mutex<ServerProcess>>>,
        ring: StderrRing,
    ) -> Self {
        Self { output: Arc::new(tokio::sync::Mutex::new(Some(output))), lines, process, garbage: 0, ring }
    }
}

impl Transport<RoleClient> for StdioTransport {
    type Error = io::Error;

    fn send(&mut self, message: ClientJsonRpcMessage) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = Arc::clone(&self.output);
        async move {
            let mut line = vec![];
            crate::lines::put_json(&mut line, &message)?;
            let mut output = output.lock().await;
            let Some(output) = output.as_mut() else { return Err(io::ErrorKind::BrokenPipe.into()) };
            output.write_all(&line).await?;
            output.flush().await
        }
    }

    /// May be dropped while waiting without losing anything.
    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        loop {
            match self.lines.next().await {
                Ok(Line::Whole(line)) => match mend::message(&line) {
                    Some(message) => return Some(message),
                    None if line.trim_ascii().is_empty() => {}
                    None => {
                        if self.garbage < SHOWN_GARBAGE {
                            let start: String = String::from_utf8_lossy(&line).chars().take(LONGEST_SHOWN).collect();
                            self.ring.add(format!("[no MCP message, on standard output] {start}\n").as_bytes());
                        }
                        self.garbage += 1;
                        tracing::debug!(bytes = line.len(), "a server wrote a line that is no message");
                        if self.garbage >= MOST_GARBAGE {
                            self.ring
                                .end_with(&format!("[ended: it wrote {MOST_GARBAGE} lines that are no MCP messages]"));
                            return None;
                        }
                    }
                },
                // Nobody knows which call it was the answer to: so none of them waits for it in vain.
                Ok(Line::TooLong) => {
                    self.ring.end_with(&format!("[ended: it wrote a message of more than {} bytes]", largest()));
                    return None;
                }
                Ok(Line::End) | Err(_) => return None,
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // A send that waits for a server that does not read holds it: then the signals have to do.
        if let Ok(mut output) = self.output.try_lock() {
            drop(output.take());
        }
        if let Some(process) = &self.process {
            process.lock().await.end().await;
        }
        Ok(())
    }
}
