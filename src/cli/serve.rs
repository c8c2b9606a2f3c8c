//! `portcullis serve`: the gate, for services and for processes that need one.

use std::process::ExitCode;
use std::time::Duration;

use super::gate::lifetime::{stop_when_idle, until_stopped};
use super::gate::{self, GateOptions, Started};
use super::inside::{InsideAnAgent, refused_here};
use super::{configuration, log_at, paths, say};
use crate::config::{disregard_settings, runs_inside_an_agent};
use crate::failure::Failure;
use crate::fixed;
use crate::gate::inside::{AgentAround, agent_of};
use crate::processes::PeerProcess;

/// Run the gate in the foreground, for services; people use `up`
///
/// Prints one line when it is ready and logs to standard error. One gate runs for each home: if another already runs,
/// this one exits with code 0.
#[derive(clap::Args)]
#[command(after_help = "`portcullis help settings` shows the settings and their values.")]
pub(super) struct Serve {
    /// Let requests with the header `X-Sender: NAME` in as a reviewer, to walk through the channel documents
    ///
    /// Anyone who can reach the port can then send events and answer prompts. Not for daily use.
    #[arg(long, value_name = "NAME", value_parser = super::dev_name)]
    dev_sender: Option<String>,
    /// Where to listen: 127.0.0.1:PORT, or `off` for the Unix socket only
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<String>,
    /// Stop after so many seconds without sessions, listeners, open prompts and waiting events
    #[arg(long, value_name = "SECONDS")]
    leave_when_idle: Option<u64>,
    /// Started by another portcullis process, not by a person.
    #[arg(long, hide = true)]
    auto_started: bool,
    /// Left behind by `up --detach`.
    #[arg(long, hide = true)]
    detached: bool,
}

impl Serve {
    /// A gate that a session needs is started from inside of it, and takes nothing from whoever starts it. One that a
    /// supervisor starts again cannot be told from something that an agent has left behind: nobody's settings come with it.
    pub(super) fn inside(&self) -> InsideAnAgent {
        let what = "start the gate";
        match self.auto_started {
            true => InsideAnAgent::Allowed,
            false if self.dev_sender.is_none() && self.listen.is_none() => {
                InsideAnAgent::RefusedToAgents(what.to_owned())
            }
            false => refused_here(what),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("info");
        if self.auto_started && (self.dev_sender.is_some() || self.listen.is_some()) {
            let hint = "leave --auto-started off: it is for gates that sessions start";
            return Err(Failure::usage("a gate for a session takes no dev sender and no address", hint).into());
        }
        let paths = paths()?;
        // While it still has the terminal of whoever started it.
        let around = agent_of(&paths, PeerProcess::ours()).await;
        let is_of_unknown = matches!(around, Some(AgentAround::Unknown(_)));
        let disregarded = if is_of_unknown { disregard_settings() } else { vec![] };
        if !disregarded.is_empty() {
            tracing::warn!(
                "not taken: {}; nobody can tell who started this gate, so that its configuration file counts alone, and \
                 the token is in the file",
                disregarded.join(", ")
            );
        }
        if self.auto_started || self.detached {
            // Away from the terminal and the process group of whoever needed us.
            if let Err(error) = rustix::process::setsid() {
                tracing::debug!(%error, "staying in the session of the process that started us");
            }
        }
        let mut config = configuration(&paths, self.listen.as_deref())?;
        if self.auto_started && runs_inside_an_agent() {
            config.token = None;
        }
        let lock_file = paths.lock_file.clone();
        let options = GateOptions {
            dev_sender: self.dev_sender,
            started: match self.auto_started {
                true => Started::ForSession,
                false if is_of_unknown => Started::ByUnknown,
                false => Started::ByPerson,
            },
        };
        let opened = match options.started {
            Started::ByPerson | Started::ByUnknown => gate::open_in_place(&paths, &config, &options).await?,
            Started::ForSession => gate::open(paths, &config, options).await?,
        };
        let Some(gate) = opened else {
            tracing::info!(lock = %lock_file.display(), "another gate holds the lock; this one exits");
            return Ok(ExitCode::SUCCESS);
        };
        match &gate.status.listen {
            Some(address) => say(&format!("ready http://{address}\n")),
            None => say("ready socket-only\n"),
        }
        if let Some(problem) = &gate.status.listen_problem {
            tracing::warn!("{problem}; listening only on the Unix socket");
        }
        if let Some(seconds) = self.leave_when_idle {
            let idle_time = fixed::wait("IDLE_GATE", Duration::from_secs(seconds));
            tokio::spawn(stop_when_idle(gate.hub.clone(), idle_time, gate.stop.clone()));
        }
        until_stopped(gate).await?;
        Ok(ExitCode::SUCCESS)
    }
}
