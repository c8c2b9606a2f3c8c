//! `portcullis mcp host`: the gateway for clients over HTTP, and the servers that all clients share, in a process of its own.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use portcullis_core::{GATEWAY, Label, SessionAbout};
use portcullis_wire::routes::{MCP_CAN_WRITE, MCP_CLIENT, MCP_TOKEN, MCP_TOKEN_ENDED};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio_util::sync::CancellationToken;

use super::super::signals::stop_on_signals;
use super::super::{log_at, paths};
use super::serve::{OnlyServer, attached, is_everywhere, of_files, settings_of};
use crate::agents::gateway::http::{self, FromGate, HostedServers};
use crate::agents::gateway::{Gateway, OfferedServers, WantedOffer};
use crate::config::{Paths, users_texts};
use crate::gate::bind_socket;
use crate::processes;
use crate::rules::Rules;
use crate::session::gatekeeper::Judge;
use crate::upstream::auth::AuthFolder;
use crate::upstream::config::KeptFiles;
use crate::upstream::{SharedServers, SilentServers, Timeouts, Upstreams};

/// Tried as often as Claude Code does when it starts.
const TRIES: u32 = 3;

#[derive(clap::Args)]
pub(super) struct McpHost {}

impl McpHost {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("info");
        let stop = stop_on_signals()?;
        let paths = paths()?;
        paths.prepare()?;
        let listener = bind_socket(&paths.mcp_socket())?;
        let shared = bind_socket(&paths.shared_servers_socket())?;
        let kept = KeptFiles::default();
        tokio::spawn(shared_servers(&paths, kept.clone()).serve(shared, stop.clone()));
        tokio::spawn(end_with_input(stop.clone()));
        // Whoever started this may connect now.
        let mut output = tokio::io::stdout();
        output.write_all(b"\n").await?;
        output.flush().await?;
        let read = of_files(PathBuf::from("/"), paths.clone(), kept.clone(), OnlyServer::default(), is_everywhere);
        // One for all clients, so that there is one place to wait for what is being renewed.
        let auth = AuthFolder::new(&paths.state_dir);
        let renewals = auth.clone();
        // All clients are judged by the same rules, each under its label.
        let judge = Judge::new(Rules::open(&paths, Path::new("/")), PathBuf::from("/"), vec![], String::new());
        let looks = judge.clone();
        let look = Box::new(move || looks.look_early());
        let make = Box::new(move |person: &str, offer: WantedOffer| {
            gateway_of(&paths, kept.clone(), (auth.clone(), judge.clone()), (person, offer))
        });
        let from_gate =
            FromGate { client: MCP_CLIENT, token: MCP_TOKEN, can_write: MCP_CAN_WRITE, ended: MCP_TOKEN_ENDED };
        http::serve(listener, HostedServers { make, read, look }, from_gate, stop).await?;
        renewals.settled().await;
        Ok(ExitCode::SUCCESS)
    }
}

/// The gate holds the other end of our standard input, and nothing else closes it.
async fn end_with_input(stop: CancellationToken) {
    let (mut input, mut ignored) = (tokio::io::stdin(), [0; 64]);
    while !matches!(input.read(&mut ignored).await, Ok(0) | Err(_)) {}
    stop.cancel();
}

/// Those that the owner marked as shared, once for all clients.
fn shared_servers(paths: &Paths, kept: KeptFiles) -> SharedServers {
    let files = paths.clone();
    let find = move |name: &str| {
        let only = OnlyServer::named(name);
        let found =
            of_files(PathBuf::from("/"), files.clone(), kept.clone(), only, is_everywhere)().unwrap_or_default();
        let found = found.into_iter().find(|upstream| upstream.shared.is_some());
        found.ok_or_else(|| format!("no server called {name} is configured for all folders and shared"))
    };
    SharedServers {
        find: Box::new(find),
        may_join: processes::runs_gateway,
        folder: home(paths),
        guard: crate::gate::reach::this_program().ok(),
        lends_model: settings_of(paths).mcp.sampling,
        connect_timeout: Timeouts::read(&users_texts()).connect,
    }
}

fn home(paths: &Paths) -> PathBuf {
    paths.user_home().map_or_else(|| PathBuf::from("/"), Path::to_owned)
}

/// The servers of every folder: the user's, or those of the managed file.
fn gateway_of(
    paths: &Paths,
    kept: KeptFiles,
    (auth, judge): (AuthFolder, Judge),
    (person, offer): (&str, WantedOffer),
) -> Gateway {
    let upstreams = Upstreams::new(home(paths), Timeouts::read(&users_texts()), TRIES)
        .with_tokens(auth)
        .remembering(SilentServers::new(&paths.state_dir));
    let upstreams = match crate::gate::reach::this_program() {
        Ok(program) => upstreams.guarded_by(program),
        Err(_) => upstreams,
    };
    let only = offer.server.as_deref().map(OnlyServer::named).unwrap_or_default();
    let read = of_files(PathBuf::from("/"), paths.clone(), kept, only, is_everywhere);
    let servers = OfferedServers::following(&upstreams, read);
    let lends_model = settings_of(paths).mcp.sampling;
    let (paths, label, person) = (paths.clone(), Label::new(person), person.to_owned());
    let attach = move |client: &str| {
        let label = label.clone().or_else(|| Label::new(client));
        let label = label.unwrap_or_else(|| Label::of_folder(Path::new("client")));
        let judge = judge.beside(label.to_string());
        attached(&paths, SessionAbout { person: Some(person.clone()), ..SessionAbout::new(label, GATEWAY) }, judge)
    };
    Gateway { upstreams: Arc::new(upstreams), servers, offer, lends_model, attach: Box::new(attach) }
}
