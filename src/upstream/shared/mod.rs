//! Servers that clients share: each runs once, in the process that the gate starts for it, for all clients of the gateway.
//!
//! Whoever uses one connects to that process's socket and says its name in a line; after the answer the stream is MCP. To the
//! client it is a server like any other; [`routing`] says whose message is whose.

mod routing;
mod server;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{UnixListener, UnixStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::config::Upstream;
use super::failure::ConnectFailure;
use super::transport::stdio::StdioTransport;
use crate::lines::{Lines, put_json};
use crate::locks::locked;
use server::SharedServer;

/// The gate starts the process of the shared servers by itself; so long it is waited for.
const THERE_SOON: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);
/// The line in which a client says what it wants, and the one in which it is answered.
const LONGEST_LINE: usize = 64 << 10;
/// A client has to say what it wants.
const HELLO: Duration = Duration::from_secs(10);

#[derive(Serialize, Deserialize)]
struct JoinRequest {
    server: String,
}

#[derive(Serialize, Deserialize)]
struct JoinAnswer {
    /// Why not.
    error: Option<String>,
}

/// Connects to a server that is shared, behind this socket.
pub(super) async fn join(socket: &Path, name: &str) -> Result<StdioTransport, ConnectFailure> {
    let until = Instant::now() + THERE_SOON;
    let mut stream = loop {
        match UnixStream::connect(socket).await {
            Ok(stream) => break stream,
            Err(_) if Instant::now() < until => tokio::time::sleep(LOOK).await,
            Err(error) => {
                let why = "it is shared, and the process that the gate starts for shared servers is not there";
                return Err(ConnectFailure::new(format!("{why} ({error}); `portcullis status` tells of the gate")));
            }
        }
    };
    let joined = async {
        let mut line = vec![];
        put_json(&mut line, &JoinRequest { server: name.to_owned() })?;
        stream.write_all(&line).await?;
        // Nothing follows it before we say something.
        let answer = Lines::new(&mut stream, LONGEST_LINE).next_whole().await?.unwrap_or_default();
        Ok::<JoinAnswer, std::io::Error>(serde_json::from_slice(&answer)?)
    };
    match joined.await {
        Ok(JoinAnswer { error: None }) => Ok(StdioTransport::shared(stream)),
        Ok(JoinAnswer { error: Some(why) }) => Err(ConnectFailure::new(why)),
        Err(error) => Err(ConnectFailure::new(format!("the process of the shared servers: {error}"))),
    }
}

/// What is configured under a name now, if it is shared; else why it cannot be used.
pub(crate) type FindShared = Box<dyn Fn(&str) -> Result<Upstream, String> + Send + Sync>;

/// Whether a process may use shared servers: its calls have to be judged before they come here.
pub(crate) type MayJoin = fn(u32) -> bool;

/// The shared servers of one process.
pub(crate) struct SharedServers {
    pub(crate) find: FindShared,
    pub(crate) may_join: MayJoin,
    /// In which they are started.
    pub(crate) folder: PathBuf,
    /// The program that takes them along when we are killed.
    pub(crate) guard: Option<PathBuf>,
    /// Servers may use the model of the client that waits for them.
    pub(crate) lends_model: bool,
    pub(crate) connect_timeout: Duration,
}

/// By name. Each is held while it is started: all who need it wait for the same one.
type StartedServers = Mutex<HashMap<String, Arc<tokio::sync::Mutex<Option<Arc<SharedServer>>>>>>;

impl SharedServers {
    /// Serves whoever connects, until `stop`.
    pub(crate) async fn serve(self, listener: UnixListener, stop: CancellationToken) {
        let (shared, running) = (Arc::new(self), Arc::new(StartedServers::default()));
        loop {
            let accepted = tokio::select! {
                accepted = listener.accept() => accepted,
                () = stop.cancelled() => return,
            };
            let Ok((stream, _)) = accepted else { continue };
            let peer = stream.peer_cred().ok().and_then(|peer| peer.pid()?.try_into().ok());
            if !peer.is_some_and(shared.may_join) {
                tracing::warn!(?peer, "another program than the gateway tried the socket of shared MCP servers");
                continue;
            }
            let (shared, running) = (Arc::clone(&shared), Arc::clone(&running));
            tokio::spawn(async move {
                if let Err(error) = shared.client(stream, &running).await {
                    tracing::debug!(%error, "a client of shared MCP servers");
                }
            });
        }
    }

    async fn client(&self, mut stream: UnixStream, running: &StartedServers) -> std::io::Result<()> {
        static NUMBER: AtomicU64 = AtomicU64::new(1);
        let mut lines = Lines::new(&mut stream, LONGEST_LINE);
        let hello = tokio::time::timeout(HELLO, lines.next_whole()).await;
        let hello = hello.map_err(|_| std::io::ErrorKind::TimedOut)??.unwrap_or_default();
        let JoinRequest { server: name } = serde_json::from_slice(&hello)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let place = {
            let mut running = locked(running);
            running.retain(|other, place| *other == name || Arc::strong_count(place) > 1 || !is_free(place));
            Arc::clone(running.entry(name.clone()).or_default())
        };
        let joined = {
            let mut current = place.lock().await;
            let started = self.current(&name, &mut current).await;
            started.map(|server| (server.join(number), server))
        };
        let answer = JoinAnswer { error: joined.as_ref().err().cloned() };
        let mut line = vec![];
        put_json(&mut line, &answer)?;
        let told = stream.write_all(&line).await;
        let Ok((joined, server)) = joined else { return told };
        if told.is_ok() {
            server.serve(number, joined, stream).await;
        }
        // Under the same lock as those who join: nobody joins a server that ends.
        let mut current = place.lock().await;
        server.leave(number);
        if server.ended.is_cancelled() && current.as_ref().is_some_and(|current| Arc::ptr_eq(current, &server)) {
            *current = None;
        }
        Ok(())
    }

    /// The server as it is configured now, started where it does not run. One of an older configuration goes on for those
    /// that have it.
    async fn current(&self, name: &str, current: &mut Option<Arc<SharedServer>>) -> Result<Arc<SharedServer>, String> {
        let upstream = (self.find)(name)?;
        if let Some(server) = current
            && !server.ended.is_cancelled()
            && server.hash == upstream.hash
        {
            return Ok(Arc::clone(server));
        }
        let places = (self.folder.as_path(), self.guard.as_deref());
        let server = SharedServer::start(&upstream, places, self.lends_model, self.connect_timeout).await?;
        *current = Some(Arc::clone(&server));
        Ok(server)
    }
}

fn is_free(place: &Arc<tokio::sync::Mutex<Option<Arc<SharedServer>>>>) -> bool {
    place.try_lock().is_ok_and(|current| current.is_none())
}
