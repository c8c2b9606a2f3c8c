//! Channel servers that the process of a driven session runs itself: what they say becomes events of the session, its
//! prompts go to those that relay them, and the model has their tools.

mod hearing;
mod relay;
mod tools;

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures_util::future::BoxFuture;
use portcullis_core::{AskId, Code};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use self::tools::ToolChanges;
use crate::session::gatekeeper::Gatekeeper;
use crate::session::link::SessionHandle;
use crate::upstream::{FromChannel, UpstreamState, Upstreams};

/// What channel servers may say before it is handed on. Then they are not read until there is a place.
const MOST_HEARD: usize = 64;

/// One server that is a channel.
#[derive(Debug)]
struct HostedChannel {
    name: String,
    /// People behind it may answer prompts.
    relays_prompts: bool,
}

/// Why a server is no channel of a session.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoChannel {
    #[error("the MCP server {0:?} wants you to sign in")]
    NeedsAuth(String),
    #[error("the MCP server {name:?} did not start: {why}")]
    Failed { name: String, why: String },
    #[error("the MCP server {0:?} is no channel: it does not declare the capability \"claude/channel\"")]
    NotAChannel(String),
}

/// Channel servers that were started for a session which has not begun.
pub(crate) struct StartedChannels {
    upstreams: Arc<Upstreams>,
    channels: Vec<HostedChannel>,
    heard: mpsc::Receiver<FromChannel>,
    /// As much of each description is shown to the model.
    longest_description: usize,
}

impl StartedChannels {
    /// Connections on which channel servers are heard, and the end that hears them.
    pub(crate) fn hearing(upstreams: Upstreams) -> (Upstreams, mpsc::Receiver<FromChannel>) {
        let (hears, heard) = mpsc::channel(MOST_HEARD);
        (upstreams.heard_by(hears), heard)
    }

    /// Starts these servers, each once.
    pub(crate) async fn start(
        (upstreams, heard): (Upstreams, mpsc::Receiver<FromChannel>),
        names: Vec<String>,
        longest_description: usize,
    ) -> Result<Self, NoChannel> {
        let states = futures_util::future::join_all(names.iter().map(|name| upstreams.connect(name))).await;
        let of_state = |(name, state): (String, Option<UpstreamState>)| match state {
            Some(UpstreamState::Connected(about)) if about.is_channel => {
                Ok(HostedChannel { name, relays_prompts: about.relays_prompts })
            }
            Some(UpstreamState::Connected(_)) => Err(NoChannel::NotAChannel(name)),
            Some(UpstreamState::NeedsAuth) => Err(NoChannel::NeedsAuth(name)),
            Some(UpstreamState::Failed(why)) => Err(NoChannel::Failed { name, why }),
            Some(UpstreamState::Pending) | None => Err(NoChannel::Failed { name, why: "it is gone".to_owned() }),
        };
        match names.into_iter().zip(states).map(of_state).collect() {
            Ok(channels) => Ok(Self { upstreams: Arc::new(upstreams), channels, heard, longest_description }),
            Err(failure) => {
                upstreams.close().await;
                Err(failure)
            }
        }
    }

    /// What Claude Code is told of them with `--mcp-config`: they are here, so that it starts no copy of its own.
    pub(crate) fn client_config(&self) -> String {
        let entry = |channel: &HostedChannel| {
            let name = channel.name.clone();
            (name.clone(), json!({"type": "sdk", "name": name}))
        };
        let entries: Map<String, Value> = self.channels.iter().map(entry).collect();
        json!({"mcpServers": entries}).to_string()
    }

    /// The session begins. `answers` says whether prompts may be answered through channels at all.
    pub(in crate::agents::claude) fn host(
        self,
        gate: SessionHandle,
        gatekeeper: Arc<Gatekeeper>,
        answers: bool,
        client: HostedClient,
    ) -> ChannelHost {
        let Self { upstreams, mut channels, heard, longest_description } = self;
        channels.iter_mut().for_each(|channel| channel.relays_prompts &= answers);
        let HostedClient { note, say } = client;
        let shared = HostedState {
            upstreams,
            channels,
            gate,
            gatekeeper,
            open: Mutex::default(),
            calls: Mutex::default(),
            changed: ToolChanges::told_by(say),
            longest_description,
            note,
        };
        let host = ChannelHost(Some(Arc::new(shared)));
        tokio::spawn(host.clone().hear(heard));
        host
    }
}

/// The client of the session, as far as channel servers have to do with it.
pub(in crate::agents::claude) struct HostedClient {
    /// Tells the people at the session what they should know.
    pub(in crate::agents::claude) note: Box<dyn Fn(String) + Send + Sync>,
    pub(in crate::agents::claude) say: SayToClient,
}

/// Sends the client a message of the server of this name, and waits until it has taken it.
pub(in crate::agents::claude) type SayToClient = Box<dyn Fn(String, Value) -> BoxFuture<'static, ()> + Send + Sync>;

/// The channel servers of one session; often none. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::agents::claude) struct ChannelHost(Option<Arc<HostedState>>);

struct HostedState {
    upstreams: Arc<Upstreams>,
    channels: Vec<HostedChannel>,
    gate: SessionHandle,
    gatekeeper: Arc<Gatekeeper>,
    /// Prompts that nobody has answered, by the id that channels know. Changed by what fronts are told.
    open: Mutex<HashMap<Code, AskId>>,
    /// Calls of the client to servers, by server and the client's id. The client may take them back.
    calls: Mutex<HashMap<(String, String), CancellationToken>>,
    changed: ToolChanges,
    longest_description: usize,
    note: Box<dyn Fn(String) + Send + Sync>,
}

impl ChannelHost {
    /// The names of the servers, as the client knows them.
    pub(in crate::agents::claude) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().flat_map(|shared| &shared.channels).map(|channel| channel.name.as_str())
    }

    /// Ends the servers. Returns when they are gone.
    pub(in crate::agents::claude) async fn close(&self) {
        if let Some(shared) = &self.0 {
            shared.upstreams.close().await;
        }
    }
}

impl HostedState {
    fn channel(&self, name: &str) -> Option<&HostedChannel> {
        self.channels.iter().find(|channel| channel.name == name)
    }
}
