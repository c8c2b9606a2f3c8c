//! `portcullis mcp serve`: the gateway for one client.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use portcullis_core::{GATEWAY, Label, SessionAbout, SessionId};

use super::super::signals::stop_on_signals;
use super::super::{VERSION, log_at, paths, starting};
use super::call::ready;
use super::{configuration, upstreams};
use crate::agents::gateway::{self, AlwaysAllowed, AttachClient, AttachedClient, Gateway};
use crate::config::{Config, Outside, Paths};
use crate::gate::reach::Handed;
use crate::gate::sessions;
use crate::mint::mint;
use crate::processes;
use crate::rules::Trusted;
use crate::session::gatekeeper::GatekeeperSettings;
use crate::session::link;
use crate::setup::lock::ChangeLock;
use crate::upstream::config::Configuration;

/// Tried as often as Claude Code does when it starts.
const TRIES: u32 = 3;
/// How much of what a client calls itself is part of its label.
const LONGEST_NAME: usize = 32;

#[derive(clap::Args)]
pub(super) struct McpServe {
    /// Only this server; its tools keep their own names
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
}

impl McpServe {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        // Standard output belongs to the client.
        log_at("warn");
        let stop = stop_on_signals()?;
        let paths = paths()?;
        let folder = std::env::current_dir()?;
        let (_, configuration) = configuration()?;
        for problem in &configuration.problems {
            tracing::warn!("{problem}");
        }
        let servers = self.servers(&configuration)?;
        let upstreams = Arc::new(upstreams(&configuration, TRIES).await?);
        let gateway = Gateway { upstreams, servers, is_bare: self.server.is_some(), attach: attach(paths, &folder) };
        gateway::run(gateway, stop).await?;
        Ok(ExitCode::SUCCESS)
    }

    /// The names of those that are offered. This program is not offered by itself.
    fn servers(&self, configuration: &Configuration) -> anyhow::Result<Vec<String>> {
        if let Some(name) = &self.server {
            return Ok(vec![ready(configuration, name)?.name.clone()]);
        }
        let others = configuration.upstreams().filter(|upstream| !upstream.entry.endpoint.starts_this_program());
        Ok(others.map(|upstream| upstream.name.clone()).collect())
    }
}

/// How a client in this folder comes to be a session.
fn attach(paths: Paths, folder: &Path) -> AttachClient {
    // The gate may have read the file before it was broken: what cannot be read here is as strict as can be.
    let config = super::super::configuration(&paths, None)
        .unwrap_or_else(|_| Config { outside: Outside::All, ..Config::default() });
    let folder = folder.to_owned();
    let agent = processes::agent_above(std::os::unix::process::parent_id());
    Box::new(move |client: &str| {
        let about = SessionAbout {
            pid: Some(agent),
            // What a client starts answers none of its prompts, whatever client it is.
            runs_commands: true,
            folder: Some(folder.display().to_string()),
            ..SessionAbout::new(label(client, &folder), GATEWAY)
        };
        let judge = sessions::judge(&paths, &about, vec![]);
        let settings = GatekeeperSettings { outside: sessions::outside(&config), ..GatekeeperSettings::default() };
        let (handle, deliveries) =
            link::connect(mint(SessionId::new), about, VERSION, starting::connect(paths.clone(), Handed::Little));
        AttachedClient { handle, deliveries, judge, settings, always: always(&paths) }
    })
}

/// The list of tools that are always allowed, in our own folder.
fn always(paths: &Paths) -> AlwaysAllowed {
    let list = paths.state_dir.join("always-allowed-tools");
    let (paths, read_from) = (paths.clone(), list.clone());
    AlwaysAllowed {
        holds: Box::new(move |tool, identity| Trusted::read(&read_from).holds_part(&read_from, tool, identity)),
        add: Box::new(move |tool, identity| {
            let _lock = ChangeLock::take(&paths)?;
            let mut trusted = Trusted::read(&list);
            trusted.add_part(&list, tool, identity);
            Ok(trusted.write(&list)?)
        }),
    }
}

/// `claude-code@api`: what calls, and where.
fn label(client: &str, folder: &Path) -> Label {
    let of_folder = Label::of_folder(folder);
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let client: String = client.chars().filter(fits).take(LONGEST_NAME).collect();
    let left = 64 - client.len() - 1;
    let start: String = of_folder
        .as_str()
        .chars()
        .scan(0, |length, letter| {
            *length += letter.len_utf8();
            (*length <= left).then_some(letter)
        })
        .collect();
    Label::new(&format!("{client}@{start}")).unwrap_or(of_folder)
}
