//! `portcullis mcp serve`: the gateway for one client.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use portcullis_core::{GATEWAY, Label, SessionAbout, SessionId};

use super::super::hook::is_held;
use super::super::signals::stop_on_signals;
use super::super::{VERSION, log_at, paths, starting};
use super::call::ready;
use super::new_upstreams;
use crate::agents::gateway::{
    self, AlwaysAllowed, AttachClient, AttachedClient, Gateway, OfferedServers, ReadServers, WantedOffer,
};
use crate::config::{Config, Outside, Paths, users_texts};
use crate::failure::Failure;
use crate::gate::reach::Handed;
use crate::gate::sessions;
use crate::mint::mint;
use crate::processes;
use crate::rules::Trusted;
use crate::session::gatekeeper::{GatekeeperSettings, Judge};
use crate::session::link;
use crate::setup::lock::ChangeLock;
use crate::upstream::config::{Configuration, KeptFiles, ServerFiles, ServerLayer, ServerStanding, Upstream};

/// Tried as often as Claude Code does when it starts.
const TRIES: u32 = 3;
/// How much of what a client calls itself is part of its label.
const LONGEST_NAME: usize = 32;

#[derive(clap::Args)]
pub(super) struct McpServe {
    /// Only this server; its tools keep their own names
    #[arg(long, value_name = "NAME")]
    server: Option<String>,
    /// Three tools in place of all, by which the others are found, described and called
    #[arg(long)]
    search: bool,
    /// For `portcullis acp`: the file in our state folder with the servers of an editor, of which this is one
    #[arg(long, hide = true, requires = "server", value_name = "FILE")]
    editor_servers: Option<String>,
}

/// The only server that is offered, where it is not all of them.
#[derive(Clone, Debug, Default)]
pub(super) struct OnlyServer {
    name: Option<String>,
    /// The servers of an editor, among which it is.
    editor: Option<PathBuf>,
}

impl OnlyServer {
    pub(super) fn named(name: &str) -> Self {
        Self { name: Some(name.to_owned()), editor: None }
    }
}

impl McpServe {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        // Standard output belongs to the client.
        log_at("warn");
        if std::io::stdin().is_terminal() {
            let hint = "name it in the settings of your client: `portcullis mcp serve --help` shows how; \
                        `portcullis mcp tools` and `portcullis mcp call` are for a terminal";
            return Err(
                Failure::usage("`portcullis mcp serve` is started by an MCP client, and talks to it", hint).into()
            );
        }
        let stop = stop_on_signals()?;
        let paths = paths()?;
        let folder = std::env::current_dir()?;
        // A name and no path: whoever starts this names no file of a project's.
        if self.editor_servers.as_ref().is_some_and(|file| file.contains('/')) {
            let hint = "`portcullis acp` names a file of the state folder there";
            return Err(Failure::usage("--editor-servers takes a name and no path", hint).into());
        }
        let editor = self.editor_servers.map(|file| paths.state_dir.join(file));
        if let Some(name) = &self.server {
            let files = ServerFiles::find(&folder, &paths)?.with_editor(editor.clone());
            ready(&Configuration::read(&files, &users_texts()), name)?;
        }
        let upstreams = Arc::new(new_upstreams(TRIES)?);
        let only = self.server.clone();
        let only_one = OnlyServer { name: only.clone(), editor };
        let read = of_files(folder.clone(), paths.clone(), KeptFiles::default(), only_one, |_| true);
        let gateway = Gateway {
            servers: OfferedServers::following(&upstreams, read),
            upstreams,
            offer: WantedOffer { server: self.server, has_search: self.search },
            lends_model: settings_of(&paths).mcp.sampling,
            attach: attach(paths, &folder, only).await,
        };
        gateway::run(gateway, stop).await?;
        Ok(ExitCode::SUCCESS)
    }
}

/// Reads the servers that are offered in this folder: those of the layers that count, or only the one of this name.
pub(super) fn of_files(
    folder: PathBuf,
    paths: Paths,
    kept: KeptFiles,
    only: OnlyServer,
    counts: impl Fn(ServerLayer) -> bool + Send + 'static,
) -> ReadServers {
    let (mut stamp, mut last, mut settings) = (None, None, None);
    let written = move |paths: &Paths| std::fs::metadata(&paths.config_file).and_then(|about| about.modified()).ok();
    let OnlyServer { name: only, editor } = only;
    let is_offered = move |upstream: &Upstream| match &only {
        Some(name) => upstream.name == *name,
        // This program is not offered by itself.
        None => !upstream.entry.endpoint.starts_this_program(),
    };
    Box::new(move || {
        let found = ServerFiles::find(&folder, &paths);
        let files = found.inspect_err(|error| tracing::warn!("no MCP server can be used: {error:#}")).ok()?;
        let files = files.with_editor(editor.clone());
        let now = (files.stamp(), written(&paths));
        if stamp.as_ref() == Some(&now) {
            return None;
        }
        stamp = Some(now);
        // As our own settings were when they could be read: a mistake in them moves no server either.
        if let Ok(read) = super::super::configuration(&paths, None) {
            settings = Some(read.mcp);
        }
        let settings = settings.clone().unwrap_or_default();
        let configuration = Configuration::read_again(&files, &kept, &users_texts());
        for problem in &configuration.problems {
            tracing::warn!("{problem}");
        }
        let ready = configuration.servers.into_iter().filter(|server| counts(server.layer));
        let upstreams = ready.filter_map(|server| match server.standing {
            ServerStanding::Ready(mut upstream) => {
                let is_shared = settings.is_shared(&upstream.name) && upstream.entry.endpoint.is_local();
                upstream.shared = (is_shared && is_everywhere(server.layer)).then(|| paths.shared_servers_socket());
                Some(upstream)
            }
            _ => None,
        });
        let upstreams: Vec<Upstream> = upstreams.filter(&is_offered).collect();
        // Claude Code writes its file all the time.
        (last.as_ref() != Some(&upstreams)).then(|| {
            last = Some(upstreams.clone());
            upstreams
        })
    })
}

/// Whether servers of a layer are the same in every folder.
pub(super) fn is_everywhere(layer: ServerLayer) -> bool {
    !matches!(layer, ServerLayer::Editor | ServerLayer::Local | ServerLayer::Project)
}

/// The owner's settings. The gate may have read the file before it was broken: what cannot be read is as strict as can be.
pub(super) fn settings_of(paths: &Paths) -> Config {
    super::super::configuration(paths, None).unwrap_or_else(|_| Config { outside: Outside::All, ..Config::default() })
}

/// How a client in this folder comes to be a session. One for which there is a gateway for each server has a session for each.
async fn attach(paths: Paths, folder: &Path, only: Option<String>) -> AttachClient {
    let folder = folder.to_owned();
    let above = processes::agent_above(std::os::unix::process::parent_id());
    // A session that is driven is known by its guard, whichever file or version of this program holds it.
    let agent = match processes::guard_of(above) {
        Some((guard, _)) if is_held(&paths, above).await => guard,
        _ => processes::known_as(above),
    };
    Box::new(move |client: &str| {
        let about = SessionAbout {
            pid: Some(agent),
            // What a client starts answers none of its prompts, whatever client it is.
            runs_commands: true,
            folder: Some(folder.display().to_string()),
            ..SessionAbout::new(label(client, &folder, only.as_deref()), GATEWAY)
        };
        let judge = sessions::judge(&paths, &about, vec![]);
        attached(&paths, about, judge)
    })
}

/// A client's place at the gate. Its calls are judged so.
pub(super) fn attached(paths: &Paths, about: SessionAbout, judge: Judge) -> AttachedClient {
    let outside = sessions::outside(&settings_of(paths));
    let settings = GatekeeperSettings { outside, ..GatekeeperSettings::default() };
    let (handle, deliveries) =
        link::connect(mint(SessionId::new), about, VERSION, starting::connect(paths.clone(), Handed::Little));
    AttachedClient { handle, deliveries, judge, settings, always: always(paths) }
}

/// The list of tools that are always allowed, in our own folder.
pub(super) fn always_allowed(paths: &Paths) -> PathBuf {
    paths.state_dir.join("always-allowed-tools")
}

fn always(paths: &Paths) -> AlwaysAllowed {
    let list = always_allowed(paths);
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

/// `claude-code@api`: what calls, and where; `claude-code:github@api` where it is about one server.
fn label(client: &str, folder: &Path, only: Option<&str>) -> Label {
    let of_folder = Label::of_folder(folder);
    let fits = |letter: &char| letter.is_ascii_alphanumeric() || "-_.".contains(*letter);
    let plain = |name: &str, longest: usize| name.chars().filter(fits).take(longest).collect::<String>();
    let client = match only {
        Some(server) => format!("{}:{}", plain(client, LONGEST_NAME / 2), plain(server, LONGEST_NAME / 2)),
        None => plain(client, LONGEST_NAME),
    };
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
