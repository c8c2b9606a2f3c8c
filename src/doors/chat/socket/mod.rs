//! The socket connector: a program of the owner's own carries everything to wherever its people are. It listens on a Unix
//! socket, the gate connects, and both speak JSON lines.

mod talk;

use std::path::PathBuf;
use std::time::Duration;

use portcullis_core::ConnectorName;
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

use super::Connector;
use crate::hub::outbox::Outbox;
use crate::hub::{Hub, Peer, PeerProcess, Trouble};

/// How long the connector waits before it tries again, at first and at most.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

#[derive(Clone, Debug)]
pub(crate) struct SocketConfig {
    pub(crate) name: ConnectorName,
    /// Where the program listens.
    pub(crate) address: PathBuf,
    /// Longer texts are cut; none for no limit.
    pub(crate) max_text: Option<usize>,
    /// Whether verdicts count that come from this program.
    pub(crate) answers: bool,
    /// The version of this gate, for the program to know.
    pub(crate) version: &'static str,
}

/// Carries replies and prompts to the program and what its people say back, until `stop`. A program that is away or slow
/// is waited for.
pub(crate) async fn run(config: SocketConfig, hub: Hub, stop: CancellationToken) -> anyhow::Result<()> {
    let connector = Connector::new(config.name.clone(), hub.clone(), config.answers);
    let mut outbox = connector.outbox().await?;
    let mut pause = PAUSE;
    let mut told = String::new();
    while !stop.is_cancelled() {
        let ended = match connect(&config, &hub).await {
            Ok(stream) => {
                tracing::info!(connector = %config.name, "connected to its program");
                pause = PAUSE;
                told.clear();
                talk::talk(&connector, &config, stream, &mut outbox, &stop).await
            }
            Err(error) => Err(error),
        };
        outbox.rewind();
        match ended {
            Err(Ended::Hub(Trouble::Stopping)) => return Ok(()),
            Ok(()) => {}
            // Said once, and not with every attempt.
            Err(why) if told != why.to_string() => {
                told = why.to_string();
                if let Ended::Inside(tried) = &why {
                    hub.record_denied(config.name.to_string(), tried.clone()).await?;
                }
                tracing::warn!(connector = %config.name, address = %config.address.display(), "{why}; trying again");
            }
            Err(_) => {}
        }
        tokio::select! {
            () = tokio::time::sleep(pause) => pause = (pause * 2).min(LONGEST_PAUSE),
            () = stop.cancelled() => {}
        }
    }
    write_last_cursor(&mut outbox).await;
    Ok(())
}

/// What the program took last would only come again, so it does not matter when the hub is faster gone.
async fn write_last_cursor(outbox: &mut Outbox) {
    if let Err(trouble) = outbox.write_cursor().await {
        tracing::debug!("the cursor could not be written: {trouble}");
    }
}

/// Why a connection is over.
#[derive(Debug, thiserror::Error)]
enum Ended {
    #[error("the program is not there: {0}")]
    NotThere(std::io::Error),
    #[error("the program belongs to another user")]
    OtherUser,
    #[error("{0}")]
    Inside(String),
    #[error("the connection broke: {0}")]
    Broke(#[from] std::io::Error),
    #[error("the program closed the connection")]
    Closed,
    #[error("{0}")]
    Hub(#[from] Trouble),
}

/// Connects to the program, if it is the owner's and not one that an agent has started: that could speak for anybody.
async fn connect(config: &SocketConfig, hub: &Hub) -> Result<UnixStream, Ended> {
    let stream = UnixStream::connect(&config.address).await.map_err(Ended::NotThere)?;
    let peer = stream.peer_cred()?;
    if peer.uid() != rustix::process::geteuid().as_raw() {
        return Err(Ended::OtherUser);
    }
    let process = PeerProcess::connected(peer.pid());
    match hub.inside(Peer::Service { process }).await? {
        Some(inside) => Err(Ended::Inside(inside.note(&format!("speaking for connector {}", config.name)))),
        None => Ok(stream),
    }
}
