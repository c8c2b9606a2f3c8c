//! `portcullis events`: the state of every event, and the reason.

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::{EventLife, visible};
use portcullis_wire::api::{EventView, SessionView, ago};

use super::client::{Client, segment};
use super::layout::Colour;
use super::table::{Cell, Table};
use super::{log_at, say};
use crate::hub::now;

/// List events and what became of them; send one again, or drop it
#[derive(clap::Args)]
pub(super) struct Events {
    #[command(subcommand)]
    what: EventsCommand,
}

#[derive(Subcommand)]
enum EventsCommand {
    /// List the latest events, newest first
    List {
        /// Only those in this state
        #[arg(long, value_name = "STATE", value_parser = clap::builder::PossibleValuesParser::new(EventLife::NAMES))]
        state: Option<String>,
        /// At most so many
        #[arg(long, default_value_t = 50, value_name = "N")]
        limit: usize,
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Show one event with its text, its state and the reason for it
    Show {
        id: String,
        /// Print a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Deliver an event that was not read once more
    Retry { id: String },
    /// Drop a waiting event
    Drop { id: String },
}

impl Events {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let gate = Client::of_the_gate()?;
        match self.what {
            EventsCommand::List { state, limit, json } => {
                let state = state.map(|state| format!("&state={}", segment(&state))).unwrap_or_default();
                let events: Vec<EventView> = gate.get(&format!("/api/v1/events?limit={limit}{state}")).await?;
                let sessions: Vec<SessionView> = gate.get("/api/v1/sessions?all=true").await?;
                say(&if json { format!("{}\n", serde_json::to_string(&events)?) } else { list(&events, &sessions) });
            }
            EventsCommand::Show { id, json } => {
                let event: EventView = gate.get(&format!("/api/v1/events/{}", segment(&id))).await?;
                say(&if json { format!("{}\n", serde_json::to_string(&event)?) } else { whole(&event) });
            }
            EventsCommand::Retry { id } => {
                gate.command("POST", &format!("/api/v1/events/{}/retry", segment(&id))).await?;
                say(&format!("Event {id} is waiting again.\n"));
            }
            EventsCommand::Drop { id } => {
                gate.command("POST", &format!("/api/v1/events/{}/drop", segment(&id))).await?;
                say(&format!("Dropped event {id}.\n"));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn list(events: &[EventView], sessions: &[SessionView]) -> String {
    if events.is_empty() {
        return "No events.\n".to_owned();
    }
    let mut table = Table::new(&["ID", "STATE", "AGE", "FROM", "CHAT", "BYTES", "SESSION"]);
    for event in events {
        let session = sessions.iter().find(|session| Some(&session.id) == event.session.as_ref());
        let label = session.map_or(event.session.as_deref().unwrap_or("-"), |session| session.label.as_str());
        let state = match event.state.as_str() {
            state @ ("expired" | "dead") => Cell::painted(state, Colour::Attention),
            state => Cell::from(state),
        };
        table.row([
            Cell::painted(&event.id, Colour::Name),
            state,
            Cell::from(ago(now().since(portcullis_core::Moment(event.at)))),
            Cell::from(&event.sender),
            Cell::from(&event.chat_id),
            Cell::from(event.bytes.to_string()),
            Cell::from(label),
        ]);
    }
    table.print()
}

fn whole(event: &EventView) -> String {
    let session = event.session.as_deref().unwrap_or("none yet");
    let reply_to = event.reply_to.as_ref().map(|id| format!("answers  {id}\n")).unwrap_or_default();
    let given = event.attributes.iter().map(|(name, value)| format!("         {name}={value:?}\n"));
    let given = given.collect::<String>().replacen("         ", "with     ", 1);
    visible(&format!(
        "event    {}\nstate    {}: {}\nsender   {} via {}\nchat     {}\nsession  {session}\n{reply_to}{given}\n{}\n",
        event.id,
        event.state,
        event.why,
        event.sender,
        event.via,
        event.chat_id,
        event.text.as_deref().unwrap_or_default()
    ))
}
