//! `portcullis channel`: what Claude Code starts for a session.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use portcullis_core::{Label, SessionAbout, SessionId};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use super::gate::{self, Options, Started};
use super::{VERSION, beside, configuration, environment, lock, log_at, paths, reach, starting};
use crate::agents::claude::channel;
use crate::config::Paths;
use crate::failure::Failure;
use crate::hub::{link, mint};
use crate::processes;

/// The MCP server that Claude Code starts for a session: events in, replies and permission prompts out
///
/// Speaks MCP on standard input and output. Attaches to the gate, starting one where none runs, and attaches again by
/// itself whenever the gate goes away. `portcullis install` registers it with Claude Code.
#[derive(clap::Args)]
pub(super) struct Channel {
    /// What people call this session [default: the name of its folder]
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Be gate and channel in one process, for as long as the session lives
    #[arg(long)]
    standalone: bool,
    /// With --standalone: let `X-Sender: NAME` in as a reviewer, to walk through the channel documents
    #[arg(long, value_name = "NAME", requires = "standalone")]
    dev_sender: Option<String>,
}

impl Channel {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let stop = stop_on_signals()?;
        let folder = working_folder()?;
        let mut about = self.about(&folder)?;
        if about.pid.is_some_and(processes::is_driven) {
            let hint = "nothing has to be done; leave the server out of this session's configuration if it disturbs";
            return Err(Failure::new("this session is driven by `portcullis run`, which is its channel", hint).into());
        }
        let session = mint(SessionId::new);
        let paths = paths()?;
        if self.standalone {
            self.standalone(paths, session, about, folder, stop).await?;
            return Ok(ExitCode::SUCCESS);
        }
        let hooks = beside::Wiring::new(&paths, &mut about);
        let attachment = link::connect(session, about, VERSION, starting::connect(paths));
        let hooks = hooks.open(&attachment);
        channel::run(attachment, folder, hooks.clone(), stop).await?;
        hooks.close();
        Ok(ExitCode::SUCCESS)
    }

    fn about(&self, folder: &std::path::Path) -> anyhow::Result<SessionAbout> {
        let label = match &self.label {
            Some(label) => Label::new(label).ok_or_else(|| {
                Failure::new(format!("{label:?} is no label"), "a label has 1 to 64 bytes, all of them visible letters")
            })?,
            None => folder
                .file_name()
                .and_then(|name| Label::new(&name.to_string_lossy()))
                .or_else(|| Label::new("session"))
                .context("naming the session")?,
        };
        let agent = processes::agent_above(std::os::unix::process::parent_id());
        Ok(SessionAbout {
            label,
            connected_by: "channel".to_owned(),
            pid: Some(agent),
            // Claude Code marks what it starts; where it was told not to, it is known by its name.
            runs_commands: environment("CLAUDECODE").is_some() || processes::is_claude_code(agent),
            folder: Some(folder.display().to_string()),
            agent_session: environment("CLAUDE_CODE_SESSION_ID").map(|id| id.to_string_lossy().into_owned()),
            continues: None,
            mode: None,
            driven: false,
        })
    }

    async fn standalone(
        self,
        paths: Paths,
        session: SessionId,
        mut about: SessionAbout,
        folder: PathBuf,
        stop: CancellationToken,
    ) -> anyhow::Result<()> {
        reach::refuse_home_in_project(&paths)?;
        let config = configuration(&paths, None)?;
        let (lock_file, wired) = (paths.lock_file.clone(), paths.clone());
        let options = Options { dev_sender: self.dev_sender, started: Started::AsSession };
        let Some(gate) = gate::open(paths, &config, options).await? else {
            let pid = lock::holder(&lock_file).map_or(0, |holder| holder.pid);
            let what = format!("a gate is already running (pid {pid}), and there is one for each home");
            return Err(Failure::new(what, "leave --standalone off to use it, or end it with `portcullis stop`").into());
        };
        if let Some(problem) = &gate.status.listen_problem {
            tracing::warn!("{problem}; serving the Unix socket alone");
        }
        let wiring = beside::Wiring::new(&wired, &mut about);
        let attachment = link::attach_here(&gate.hub, session, about, config.max_context).await;
        let attachment = attachment.map_err(|fault| Failure::new(fault.message, fault.hint))?;
        let hooks = wiring.open(&attachment);
        let stopping = gate.stop.clone();
        let served = tokio::select! {
            served = channel::run(attachment, folder, hooks.clone(), stop) => served,
            () = stopping.cancelled() => Ok(()),
        };
        hooks.close();
        gate.stop.cancel();
        gate.wait().await;
        served
    }
}

/// Claude Code sends an interrupt, soon after a termination, and then has no patience left.
fn stop_on_signals() -> anyhow::Result<CancellationToken> {
    let stop = CancellationToken::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let mut signals = signal(kind).context("listening for signals")?;
        let stop = stop.clone();
        tokio::spawn(async move {
            signals.recv().await;
            stop.cancel();
        });
    }
    Ok(stop)
}

/// Of the project: as Claude Code says, else where we are.
pub(super) fn working_folder() -> anyhow::Result<PathBuf> {
    match environment("CLAUDE_PROJECT_DIR").filter(|folder| !folder.is_empty()) {
        Some(folder) => Ok(folder.into()),
        None => std::env::current_dir().context("finding the working folder"),
    }
}
