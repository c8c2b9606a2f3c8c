//! `portcullis service`: the gate kept running by the system, for this user.

mod manager;

use std::process::ExitCode;

use portcullis_wire::api::Status as GateStatus;

use super::setup::file::{Audience, UserFile, Wrote};
use super::setup::place;
use super::{environment, lock, log_at, paths, say, status};
use crate::failure::Failure;
use manager::{Manager, Outcome, State};

/// Keep the gate running as a service of yours (systemd or launchd)
///
/// Without it a gate starts with the first session and leaves when idle. A service also takes events while no session
/// runs, and comes back after a restart of the machine.
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
    /// Settings belong into the configuration file: of the environment only the folders are taken over.
    Install {
        /// Replace a file of this name that was not written by portcullis
        #[arg(long)]
        force: bool,
    },
    /// Stop the service and remove its file
    Uninstall {
        /// Remove the file although it was not written by portcullis
        #[arg(long)]
        force: bool,
    },
    /// Show whether the service is installed and running. Exits with 1 when it is not running
    Status {
        /// Print one JSON object
        #[arg(long)]
        json: bool,
    },
}

impl Service {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let manager = Manager::of_this_system(&environment)?;
        match self.action {
            ServiceAction::Install { force } => install(&manager, force).await,
            ServiceAction::Uninstall { force } => uninstall(&manager, force).await,
            ServiceAction::Status { json } => show(&manager, json).await,
        }
    }
}

async fn install(manager: &Manager, force: bool) -> anyhow::Result<ExitCode> {
    let file = UserFile::read(&manager.file)?;
    refuse_foreign(&file, force)?;
    let place = place::choose(&place::this_program()?, &environment)?;
    if let Some(announcement) = place.announcement() {
        say(&announcement);
    }
    place.settle()?;
    let text = manager.text(place.path(), &environment);
    let is_there = file.text() == text;
    if is_there && manager.state().await == State::Running {
        say(&format!("{} is there already and the service runs: nothing to change.\n", file.in_words()));
        return Ok(ExitCode::SUCCESS);
    }
    if !is_there {
        let lines: String = text.lines().map(|line| format!("  {line}\n")).collect();
        say(&format!("{}:\n{lines}", file.in_words()));
        if file.write(&text, Audience::Everyone)? == Wrote::Overtaken {
            let what = format!("{} was changed while it was being written", manager.file.display());
            return Err(Failure::new(what, "run this again").into());
        }
    }
    // One that runs by the old file would go on as it is.
    if manager.state().await == State::Running {
        manager.run(&manager.stopping()).await?;
    }
    // A gate that a session started makes room by itself; one that a person started does not.
    let persons = lock::holder(&paths()?.lock_file).filter(|holder| !holder.auto_started);
    match manager.run(&manager.starting()).await? {
        Outcome::Done => say("The service runs.\n"),
        Outcome::NoAnswer => say(&by_hand("start it", manager, &manager.starting())),
    }
    if let Some(pid) = persons.map(|holder| holder.pid) {
        say(&format!(
            "Note: someone started a gate already (pid {pid}), and there is one for each home. To hand over to the service: \
             portcullis stop && {}\n",
            manager.restarting()
        ));
    }
    Ok(ExitCode::SUCCESS)
}

async fn uninstall(manager: &Manager, force: bool) -> anyhow::Result<ExitCode> {
    let file = UserFile::read(&manager.file)?;
    if file.text.is_none() {
        say(&format!("{} is not there: nothing to change.\n", file.in_words()));
        return Ok(ExitCode::SUCCESS);
    }
    refuse_foreign(&file, force)?;
    let stopped = manager.run(&manager.stopping()).await?;
    if file.remove()? == Wrote::Overtaken {
        let what = format!("{} was changed meanwhile, and is still there", manager.file.display());
        return Err(Failure::new(what, "look at it, then run this again").into());
    }
    match stopped {
        Outcome::Done => _ = manager.run(&manager.reloading()).await?,
        Outcome::NoAnswer => say(&by_hand("stop it, if it runs", manager, &manager.stopping())),
    }
    say(&format!("{} is removed.\n", file.path.display()));
    Ok(ExitCode::SUCCESS)
}

async fn show(manager: &Manager, json: bool) -> anyhow::Result<ExitCode> {
    let installed = manager.file.exists();
    let state = manager.state().await;
    let gate: Option<GateStatus> = status::ask(&paths()?).await.ok();
    let code = if state == State::Running { ExitCode::SUCCESS } else { ExitCode::FAILURE };
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
        Some(gate) => format!("runs, pid {}\n", gate.pid),
        None => "does not run\n".to_owned(),
    };
    say(&format!("service    {installed}state      {}\ngate       {gate}", state.name()));
    Ok(code)
}

fn refuse_foreign(file: &UserFile, force: bool) -> anyhow::Result<()> {
    if force || file.text.is_none() || file.text().contains(manager::MARK) {
        return Ok(());
    }
    let what = format!("{} was not written by portcullis", file.in_words());
    Err(Failure::new(what, "look at it, then move it away or add --force").into())
}

fn by_hand(what: &str, manager: &Manager, commands: &[Vec<String>]) -> String {
    let lines: String = commands.iter().map(|words| format!("  {}\n", words.join(" "))).collect();
    format!("{} does not answer here. To {what}, where it does:\n{lines}", manager.program())
}
