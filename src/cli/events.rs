//! `portcullis events`: the state of every event, and the reason.

use std::process::ExitCode;

use clap::Subcommand;
use portcullis_core::{DeliveryWay, EventLife, excerpt, visible};
use portcullis_wire::api::{EventView, ReplyView, SessionView, ago};

use super::client::{Client, segment};
use super::feed::known_session;
use super::layout::{Colour, date_and_time};
use super::table::{Cell, Table};
use super::{log_at, say};
use crate::hub::now;

/// So much of a reply is shown with the event that it answers.
const LONGEST_REPLY: usize = 200;

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
    Retry {
        id: String,
        /// Print a JSON object: the event as it is then
        #[arg(long)]
        json: bool,
    },
    /// Drop a waiting event
    Drop {
        id: String,
        /// Print a JSON object: the event as it is then
        #[arg(long)]
        json: bool,
    },
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
                if json {
                    say(&format!("{}\n", serde_json::to_string(&event)?));
                    return Ok(ExitCode::SUCCESS);
                }
                let path = format!("/api/v1/replies?chat={}&since={}", segment(&event.chat_id), event.at);
                let replies: Vec<ReplyView> = gate.get(&path).await?;
                let session = match &event.session {
                    Some(id) => known_session(&gate, id).await.map_or_else(|_| id.clone(), |it| it.label),
                    None => "none yet".to_owned(),
                };
                say(&whole(&event, &session, reply_to(&event, &replies)));
            }
            EventsCommand::Retry { id, json } => {
                gate.command("POST", &format!("/api/v1/events/{}/retry", segment(&id))).await?;
                say(&done(&gate, &id, format!("Event {id} is waiting again.\n"), json).await?);
            }
            EventsCommand::Drop { id, json } => {
                gate.command("POST", &format!("/api/v1/events/{}/drop", segment(&id))).await?;
                say(&done(&gate, &id, format!("Dropped event {id}.\n"), json).await?);
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// What is said of an event that was changed: in words, or as it is then.
async fn done(gate: &Client, id: &str, words: String, json: bool) -> anyhow::Result<String> {
    if !json {
        return Ok(words);
    }
    let event: EventView = gate.get(&format!("/api/v1/events/{}", segment(id))).await?;
    Ok(format!("{}\n", serde_json::to_string(&event)?))
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

/// The first reply that names the event, or else that answers its conversation after the model was given it.
fn reply_to<'a>(event: &EventView, replies: &'a [ReplyView]) -> Option<&'a ReplyView> {
    let names_it = |reply: &&ReplyView| reply.reply_to.as_ref() == Some(&event.id);
    let follows = |reply: &&ReplyView| reply.reply_to.is_none() && event.delivered_at.is_some_and(|at| reply.at >= at);
    replies.iter().find(names_it).or_else(|| replies.iter().find(follows))
}

/// The way to the agent, as it is said after `delivered`.
fn in_words(way: DeliveryWay) -> &'static str {
    match way {
        DeliveryWay::Channel => "by the channel",
        DeliveryWay::ToolCall => "by a hook, with a tool call",
        DeliveryWay::Prompt => "by a hook, with a prompt",
        DeliveryWay::Stop => "by a hook that kept the session from stopping",
        DeliveryWay::Wake => "by a hook that woke the session",
        DeliveryWay::Driven => "to a session that the gate drives",
    }
}

/// When the event came, was given to the agent and was read, and what was said to it.
fn times(event: &EventView, reply: Option<&ReplyView>) -> String {
    let way = event.way.as_deref().and_then(DeliveryWay::named).map(|way| format!(", {}", in_words(way)));
    let delivered = event.delivered_at.map(|at| format!("given    {}{}\n", date_and_time(at), way.unwrap_or_default()));
    let first = event.first_delivered_at.filter(|first| event.delivered_at.is_some_and(|last| last > *first));
    let first = first.map(|at| format!("given    {}, for the first time\n", date_and_time(at)));
    let seen = event.seen_at.map(|at| format!("seen     {}\n", date_and_time(at)));
    let reply = reply.map(|reply| {
        let line = reply.text.lines().next().unwrap_or_default();
        format!("reply    {}, {}: {}\n", date_and_time(reply.at), reply.id, excerpt(line, Some(LONGEST_REPLY)).0)
    });
    let came = format!("came     {}\n", date_and_time(event.at));
    [Some(came), first, delivered, seen, reply].into_iter().flatten().collect()
}

fn whole(event: &EventView, session: &str, reply: Option<&ReplyView>) -> String {
    let times = times(event, reply);
    let reply_to = event.reply_to.as_ref().map(|id| format!("answers  {id}\n")).unwrap_or_default();
    let given = event.attributes.iter().map(|(name, value)| format!("         {name}={value:?}\n"));
    let given = given.collect::<String>().replacen("         ", "with     ", 1);
    visible(&format!(
        "event    {}\nstate    {}: {}\nsender   {} via {}\nchat     {}\nsession  {session}\n{times}{reply_to}{given}\n{}\n",
        event.id,
        event.state,
        event.why,
        event.sender,
        event.via,
        event.chat_id,
        event.text.as_deref().unwrap_or_default()
    ))
}
