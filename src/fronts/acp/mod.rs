//! An editor in front of driven sessions: the Agent Client Protocol on standard input and output.
//!
//! The editor is the person beside each session, as the terminal is in `run`. One process holds several sessions, each with
//! a Claude Code of its own: `agent` takes what the editor wants, a task for each session (`session`) tells it what happens.
//! What the client says becomes updates (`updates`, `tools`), its prompts become requests of ours (`permissions`).

mod agent;
mod auth;
mod capabilities;
mod cleared;
mod client_tools;
mod editor;
mod history;
mod permissions;
mod plan;
mod prompt;
mod questions;
mod servers;
mod session;
mod sessions;
mod settings;
mod spare;
mod tools;
mod transport;
mod turns;
mod updates;
mod usage;

use std::path::PathBuf;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use crate::agents::mcp_stdio;
use crate::config::{Config, Paths};
pub(crate) use auth::sign_in;
use sessions::Sessions;

/// What a person at the editor is called in the log.
pub(crate) const AT_THE_EDITOR: &str = "editor";

/// How the sessions of an editor are started.
#[derive(Clone, Debug, Default)]
pub(crate) struct AcpOptions {
    /// None: as configured.
    pub(crate) claude: Option<PathBuf>,
    /// None: as set or configured for the folder.
    pub(crate) mode: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) client_fs: ClientUse,
    pub(crate) client_terminal: ClientUse,
}

/// Whether tools go through the editor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ClientUse {
    /// Where the editor can, for the agent that the person talks to.
    #[default]
    Auto,
    /// Also for subagents. An editor that cannot is an error.
    On,
    Off,
}

/// Serves the editor until it is gone, or until `stop`. No session is left behind.
pub(crate) async fn run(
    paths: Paths,
    config: Config,
    options: AcpOptions,
    stop: CancellationToken,
) -> anyhow::Result<()> {
    let (stdin, stdout) = mcp_stdio::open()?;
    let (transport, backlog) = transport::lines(stdin, stdout);
    let sessions = Arc::new(Sessions::new(paths, config, options));
    let cleared = sessions.cleared();
    tokio::task::spawn_blocking(move || cleared.forget_gone(history::is_kept));
    let served = tokio::select! {
        served = agent::serve(Arc::clone(&sessions), transport, backlog.clone()) => served,
        () = stop.cancelled() => Ok(()),
        // One that never reads would keep us for ever.
        () = backlog.left() => Ok(()),
    };
    backlog.close();
    sessions.end_all().await;
    served.map_err(|error| {
        let why =
            error.data.map_or(error.message, |data| data.as_str().map_or_else(|| data.to_string(), str::to_owned));
        anyhow::anyhow!("the connection to the editor broke: {why}")
    })
}
