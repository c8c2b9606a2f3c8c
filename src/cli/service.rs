//! `portcullis service`: the gate kept running by the system, for this user.

use std::process::ExitCode;

use portcullis_wire::api::Status as GateStatus;

use super::client::Client;
use super::inside::{InsideAnAgent, refused_here};
use super::setup::place;
use super::setup::service::{Manager, ServiceOutcome, ServiceState};
use super::{environment, lock, log_at, paths, say};

/// Keep the gate running as a user service (systemd or launchd)
///
/// Without it a gate starts with the first session and stops when idle. A service also accepts events while no session
/// runs, and starts again with the machine.
#[derive(clap::Args)]
pub(super) struct Service {
    #[command(subcommand)]
    action: ServiceAction,
}

#[derive(clap::Subcommand)]
enum ServiceAction {
    /// Write the service's file and start it
    ///
    /// Shows the file. Where the service manager does not answer, the commands to start it are printed instead.
    /// Settings belong in the configuration file: of the environment only the folders are copied.
    Install {
        /// Replace a file of this name that was not written by portcullis
        #[arg(long)]
        force: bool,
        /// For scripts: nothing is asked, with it or without
        #[arg(long)]
        yes: bool,
    },
    /// Stop the service and remove its file
    Uninstall {
        /// Remove the file although it was not written by portcullis
        #[arg(long)]
        force: bool,
        /// For scripts: nothing is asked, with it or without
        #[arg(long)]
        yes: bool,
    },
    /// Show whether the service is installed and running. Exits with 1 when it is not running
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

impl Service {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match self.action {
            ServiceAction::Install { .. } => refused_here("install the service"),
            ServiceAction::Uninstall { .. } => refused_here("remove the service"),
            ServiceAction::Status { .. } => InsideAnAgent::Allowed,
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let manager = Manager::of_this_system(&environment)?;
        match self.action {
            ServiceAction::Install { force, .. } => install(&manager, force).await,
            ServiceAction::Uninstall { force, .. } => uninstall(&manager, force).await,
            ServiceAction::Status { json } => show(&manager, json).await,
        }
    }
}

async fn install(manager: &Manager, force: bool) -> anyhow::Result<ExitCode> {
    let file = manager.read(force)?;
    let place = place::choose(&place::this_program()?, &environment)?;
    if let Some(announcement) = place.announcement() {
        say(&announcement);
    }
    place.settle()?;
    let text = manager.text(place.path(), &environment);
    let is_there = file.text() == text;
    if is_there && manager.state().await == ServiceState::Running {
        say(&format!("{} is up to date and the service is running: nothing to change.\n", file.in_words()));
        return Ok(ExitCode::SUCCESS);
    }
    if !is_there {
        let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
        say(&format!("{}:\n{lines}", file.in_words()));
        manager.write(&file, &text)?;
    }
    // One that runs by the old file would go on as it is.
    if manager.state().await == ServiceState::Running {
        manager.run(&manager.stopping()).await?;
    }
    // A gate that a session started stops for the service; one that a person started does not.
    let persons = lock::holder(&paths()?.lock_file).filter(|holder| !holder.auto_started);
    match manager.run(&manager.starting()).await? {
        ServiceOutcome::Done => say("The service is running.\n"),
        ServiceOutcome::NoAnswer => say(&by_hand("start it", manager, &manager.starting())),
    }
    if let Some(pid) = persons.map(|holder| holder.pid) {
        say(&format!(
            "Note: a gate that was started by hand is still running (pid {pid}). To replace it by the service: \
             portcullis stop && {}\n",
            manager.restarting()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn uninstall(manager: &Manager, force: bool) -> anyhow::Result<ExitCode> {
    let file = manager.read(force)?;
    if file.text.is_none() {
        say(&format!("{} does not exist: nothing to change.\n", file.in_words()));
        return Ok(ExitCode::SUCCESS);
    }
    let stopped = manager.run(&manager.stopping()).await?;
    manager.remove(&file)?;
    match stopped {
        ServiceOutcome::Done => _ = manager.run(&manager.reloading()).await?,
        ServiceOutcome::NoAnswer => say(&by_hand("stop it, if it runs", manager, &manager.stopping())),
    }
    say(&format!("Removed {}.\n", file.path.display()));
    Ok(ExitCode::SUCCESS)
}

async fn show(manager: &Manager, json: bool) -> anyhow::Result<ExitCode> {
    let installed = manager.file.exists();
    let state = manager.state().await;
    let gate: Option<GateStatus> = Client::new(&paths()?).status().await.ok();
    let code = if state == ServiceState::Running { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if json {
        let pid = gate.as_ref().map(|gate| gate.pid);
        let shown = serde_json::json!({
            "installed": installed, "file": manager.file, "state": state.name(), "gate_pid": pid,
        });
        say(&format!("{shown}\n"));
        return Ok(code);
    }
    let file = manager.file.display();
    let installed =
        if installed { format!("{file}\n") } else { "not installed (portcullis service install)\n".to_owned() };
    let gate = match gate {
        Some(gate) => format!("running, pid {}\n", gate.pid),
        None => "not running\n".to_owned(),
    };
    say(&format!("service    {installed}state      {}\ngate       {gate}", state.name()));
    Ok(code)
}

fn by_hand(what: &str, manager: &Manager, commands: &[Vec<String>]) -> String {
    let lines: String = commands.iter().map(|words| format!("  {}\n", words.join(" "))).collect();
    format!("{} does not answer here. To {what}, where it does:\n{lines}", manager.program())
}
