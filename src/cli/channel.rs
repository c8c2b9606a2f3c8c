//! `portcullis channel`: what Claude Code starts for a session.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::Context as _;
use portcullis_core::{ConversationOrigin, SessionAbout, SessionId};

use super::hook::is_held;
use super::reach::Handed;
use super::signals::stop_on_signals;
use super::{VERSION, configuration, environment, log_at, paths, starting};
use crate::agents::claude::channel;
use crate::agents::claude::hooks::{self, HookFiles, Listening};
use crate::config::{Approvals, Config, Outside, Paths};
use crate::files::FileStore;
use crate::fronts::label;
use crate::mint::mint;
use crate::processes;
use crate::session::gatekeeper::Judge;
use crate::session::link::{self, SessionHandle};
use crate::session::tools::Briefing;

/// The MCP server that Claude Code starts for a session: events in, replies and permission prompts out
///
/// Speaks MCP on standard input and output. Attaches to the gate, starting one where none runs, and attaches again by
/// itself whenever the gate goes away. `portcullis install` registers it with Claude Code.
#[derive(clap::Args)]
pub(super) struct Channel {
    /// What people call this session [default: the name of its folder]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Declare no tools and relay no prompts: events come in, and nothing goes out
    #[arg(long)]
    one_way: bool,
}

impl Channel {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        // Claude Code sends an interrupt, soon after a termination, and then has no patience left.
        let stop = stop_on_signals()?;
        let folder = working_folder()?;
        let mut about = self.about(&folder)?;
        let paths = paths()?;
        let agent = about.pid.unwrap_or_default();
        if processes::uses_servers(agent) || is_held(&paths, agent).await {
            // Who looks at the servers of a folder is no session; and the holder is its agent's channel.
            channel::run_idle(stop).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let session = mint(SessionId::new);
        let wiring = HookWiring::new(&paths, &mut about);
        let briefing = Briefing::new(&wiring.settings.instructions);
        let briefing = if self.one_way { briefing.one_way() } else { briefing };
        let files = FileStore::new(&paths.state_dir);
        let (handle, deliveries) =
            link::connect_for_lines(session, about, VERSION, starting::connect(paths, Handed::Little));
        let handle = handle.keeping_files(files);
        let listening = wiring.start(handle.clone());
        channel::run(handle, deliveries, folder, Arc::clone(&listening.hooks), briefing, stop).await?;
        listening.close();
        Ok(ExitCode::SUCCESS)
    }

    fn about(&self, folder: &std::path::Path) -> anyhow::Result<SessionAbout> {
        let agent = processes::agent_above(std::os::unix::process::parent_id());
        Ok(SessionAbout {
            label_chosen: self.label.is_some(),
            pid: Some(agent),
            // Claude Code marks what it starts; where it was told not to, it is known by its name.
            runs_commands: environment("CLAUDECODE").is_some() || processes::is_claude_code(agent),
            folder: Some(folder.display().to_string()),
            agent_session: environment("CLAUDE_CODE_SESSION_ID").map(|id| id.to_string_lossy().into_owned()),
            ..SessionAbout::new(label(self.label.as_deref(), folder)?, "channel")
        })
    }
}

/// What the hooks of the session need, before it is attached.
struct HookWiring {
    files: HookFiles,
    settings: hooks::HookSettings,
    judge: Judge,
}

impl HookWiring {
    /// Says in `about` by what the session is connected.
    fn new(paths: &Paths, about: &mut SessionAbout) -> Self {
        // The gate may have read the file before it was broken: what cannot be read here is as strict as can be.
        let config = configuration(paths, None).unwrap_or_else(|error| {
            // The gate says so, or `doctor`.
            tracing::debug!("the configuration cannot be read, so the strictest settings count: {error:#}");
            Config { outside: Outside::All, approvals: Approvals::Device, ..Config::default() }
        });
        let agent = about.pid.unwrap_or_default();
        let files = HookFiles { socket: paths.session_socket(agent), wake: paths.wake_file(agent) };
        if let Err(error) = paths.prepare() {
            tracing::debug!("no hooks by the socket: {error:#}");
        }
        hooks::forget_ended(paths.of_sessions());
        if let Some(announced) = files.announced(about) {
            about.connected_by = "hooks".to_owned();
            about.wakes = Some(announced.is_watched);
            about.origin = announced.is_forked.then_some(ConversationOrigin::Forked);
        }
        Self {
            files,
            settings: crate::gate::sessions::hook_settings(&config),
            judge: crate::gate::sessions::judge(paths, about, vec![]),
        }
    }

    fn start(self, session: SessionHandle) -> Listening {
        Listening::start(self.files, session, self.settings, self.judge)
    }
}

/// Of the project: as Claude Code says, else where we are.
pub(super) fn working_folder() -> anyhow::Result<PathBuf> {
    match environment("CLAUDE_PROJECT_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => std::env::current_dir().context("finding the working folder"),
    }
}
