//! `portcullis session`: list sessions, stop them, and give orders to those that Portcullis drives.

mod default_mode;

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::{StopState, visible};
use portcullis_wire::api::{NewMode, NewModel, NewPrompt, OrderView, SessionView, ago};

use super::client::{Client, segment};
use super::feed::known_session;
use super::inside::{InsideAnAgent, refused};
use super::layout::Colour;
use super::table::{Cell, Table};
use super::{log_at, say};
use crate::failure::Failure;
use crate::hub::now;
use default_mode::DefaultModeArgs;

/// List, stop and resume sessions; give orders to those that Portcullis drives
#[derive(clap::Args)]
pub(super) struct Session {
    #[command(subcommand)]
    what: SessionCommand,
}

#[derive(Subcommand)]
enum SessionCommand {
    /// List the sessions
    List {
        /// Also those that ended recently
        #[arg(long)]
        all: bool,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Stop a session: no tool of it runs until it is resumed
    ///
    /// Its tool calls are refused from the next one on, and its turn ends; the process stays, and so does what waits for it.
    /// Works for sessions with hooks and for those that Portcullis drives, not for those that have the channel alone. A
    /// session that is away stays stopped. `portcullis session end` ends a session for good.
    Stop(Which),
    /// Let a stopped session go on: its tools run again, and it is not given a prompt
    Resume(Which),
    /// End the turn of a session that Portcullis drives
    Interrupt(Which),
    /// Give a session that Portcullis drives its next prompt
    Prompt {
        #[command(flatten)]
        which: Which,
        /// What to do
        prompt: String,
    },
    /// Change the permission mode of a session that Portcullis drives
    Mode {
        #[command(flatten)]
        which: Which,
        /// default, acceptEdits, plan, dontAsk, auto or bypassPermissions
        mode: String,
    },
    /// Show or change the mode in which sessions start in a folder when none is named
    ///
    /// It counts for `portcullis run` and for sessions started over the API or on the page, in that folder and below. The
    /// nearest folder counts; for the same folder, what is set here counts before `projects."FOLDER".mode` in the
    /// configuration. bypassPermissions cannot be set here.
    DefaultMode(DefaultModeArgs),
    /// Change the model of a session that Portcullis drives
    Model {
        #[command(flatten)]
        which: Which,
        /// The name of the model; without one, the agent's default
        model: Option<String>,
    },
    /// End a session that Portcullis drives
    End(Which),
}

#[derive(clap::Args)]
struct Which {
    /// The session's label, its id, or the beginning of one
    session: String,
    /// Print a JSON object: the order and what became of it
    #[arg(long)]
    json: bool,
}

impl Which {
    async fn find(&self, gate: &Client) -> anyhow::Result<SessionView> {
        known_session(gate, &self.session).await
    }
}

impl Session {
    pub(super) fn inside(&self) -> InsideAnAgent {
        let order = |order: &str, which: &Which| refused(format!("{order} session {}", which.session));
        match &self.what {
            SessionCommand::List { .. } => InsideAnAgent::Allowed,
            SessionCommand::Stop(which) => order("stop", which),
            SessionCommand::Resume(which) => order("resume", which),
            SessionCommand::Interrupt(which) => order("interrupt", which),
            SessionCommand::End(which) => order("end", which),
            SessionCommand::Prompt { which, .. } => order("prompt", which),
            SessionCommand::Mode { which, .. } => order("mode", which),
            SessionCommand::DefaultMode(mode) => mode.inside(),
            SessionCommand::Model { which, .. } => order("model", which),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            SessionCommand::List { all, json } => {
                let sessions: Vec<SessionView> = gate.get(&format!("/api/v1/sessions?words=true&all={all}")).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&sessions)?) } else { list(&sessions) });
            }
            SessionCommand::Stop(which) => {
                let done = |label: &str| format!("Session {label} is stopped: no tool runs until it is resumed.");
                return order(&gate, &which, "stop", &(), done).await;
            }
            SessionCommand::Resume(which) => {
                let done = |label: &str| format!("Session {label} goes on.");
                return order(&gate, &which, "resume", &(), done).await;
            }
            SessionCommand::Interrupt(which) => {
                let done = |label: &str| format!("Session {label} has ended its turn.");
                return order(&gate, &which, "interrupt", &(), done).await;
            }
            SessionCommand::End(which) => {
                let done = |label: &str| format!("Session {label} has ended.");
                return order(&gate, &which, "end", &(), done).await;
            }
            SessionCommand::Prompt { which, prompt } => {
                let done = |label: &str| format!("Session {label} has its prompt.");
                return order(&gate, &which, "prompt", &NewPrompt { prompt }, done).await;
            }
            SessionCommand::Mode { which, mode } => {
                let done = format!("Mode is now {mode}.");
                return order(&gate, &which, "mode", &NewMode { mode }, |_| done).await;
            }
            SessionCommand::DefaultMode(mode) => mode.run(&gate).await?,
            SessionCommand::Model { which, model } => {
                let name = model.as_deref().unwrap_or("the agent's own choice");
                let done = format!("Model is now {name}.");
                return order(&gate, &which, "model", &NewModel { model }, |_| done).await;
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// How long the session has to confirm an order before we say that it has not, in seconds.
const CONFIRM_WITHIN: u64 = 5;

/// Gives the order, waits a little for the session, and says what happened. `done` is what the user then reads.
async fn order(
    gate: &Client,
    which: &Which,
    order: &str,
    body: &impl serde::Serialize,
    done: impl FnOnce(&str) -> String,
) -> anyhow::Result<ExitCode> {
    let session = which.find(gate).await?;
    let done = done(&session.label);
    let path = format!("/api/v1/sessions/{}/{order}?wait={CONFIRM_WITHIN}", segment(&session.id));
    let given: OrderView = gate.post(&path, body).await?;
    if which.json {
        say(&format!("{}\n", serde_json::to_string(&given)?));
        // What went wrong is in it.
        return Ok(if given.state == "failed" { ExitCode::FAILURE } else { ExitCode::SUCCESS });
    }
    let OrderView { state, why, .. } = given;
    let said = match state.as_str() {
        "done" => done,
        "failed" => {
            let what = format!("the session refused: {}", visible(&why.unwrap_or_default()));
            return Err(Failure::new(what, "`portcullis session list` shows how it is now").into());
        }
        _ if order == "stop" && is_unenforced(&which.find(gate).await?) => {
            "Recorded, but nothing enforces it: the session is connected by the channel alone. `portcullis install --hooks` \
             in its folder lets it be stopped."
                .to_owned()
        }
        _ => "Recorded; the session has not confirmed it yet.".to_owned(),
    };
    say(&visible(&format!("{said}\n")));
    Ok(ExitCode::SUCCESS)
}

fn is_unenforced(session: &SessionView) -> bool {
    session.stop.as_deref() == Some(StopState::Unenforced.name())
}

fn list(sessions: &[SessionView]) -> String {
    if sessions.is_empty() {
        return "No sessions. `portcullis install --hooks` tells Claude Code about the gate; `portcullis run` starts a session.\n"
            .to_owned();
    }
    let mut table = Table::new(&["SESSION", "STATE", "MODE", "BY", "AGE", "PROMPTS", "WAITING", "ABOUT", "ID"]);
    for session in sessions {
        table.row([
            Cell::painted(&session.label, Colour::Name),
            state(session),
            Cell::from(session.mode.as_deref().unwrap_or("-")),
            Cell::from(&session.connected_by),
            Cell::from(ago(now().since(portcullis_core::Moment(session.since)))),
            count(session.asks),
            count(session.waiting),
            Cell::from(session.title.as_deref().unwrap_or("-")),
            Cell::from(&session.id),
        ]);
    }
    table.print()
}

/// Whether its process is there, and whether someone has stopped it.
pub(super) fn state(session: &SessionView) -> Cell {
    match session.stop_in_words() {
        Some(stop) if session.state == "attached" => Cell::painted(stop, Colour::Danger),
        Some(stop) => Cell::painted(format!("{}, {stop}", session.state), Colour::Danger),
        None if session.state == "lost" => Cell::painted("lost", Colour::Attention),
        None => Cell::from(&session.state),
    }
}

fn count(number: usize) -> Cell {
    match number {
        0 => Cell::painted("0", Colour::Quiet),
        number => Cell::painted(number.to_string(), Colour::Attention),
    }
}
