//! `portcullis say`: send an event from the command line.

use std::io::Read as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::{Record, visible};
use portcullis_wire::api::{Accepted, NewEvent, ReplyView, SessionView};
use portcullis_wire::questions::how_to_allow;
use serde_json::Value;
use tokio::time::Instant;

use super::client::Client;
use super::feed::{Feed, News, Only, known_session};
use super::{log_at, note, paths, say};
use crate::failure::Failure;
use crate::fixed;

/// Send text to a session, as `POST /` does
#[derive(clap::Args)]
pub(super) struct Say {
    /// The text; `-` reads it from standard input
    text: String,
    /// For the session with this label
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// For this session: its label, its id, or the beginning of one
    #[arg(long, value_name = "SESSION", conflicts_with = "label")]
    session: Option<String>,
    /// In this conversation
    #[arg(long, value_name = "NAME")]
    chat: Option<String>,
    /// Wait for the reply and print it; at most so long, such as 30, 90s or 5m [default: 300 seconds]
    ///
    /// Further replies are printed as well, until none has come for two seconds. Exits with 1 when there is none in time.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "300", value_parser = time)]
    wait: Option<Duration>,
    /// Print a JSON object; with --wait, one a line for each reply
    #[arg(long)]
    json: bool,
}

impl Say {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let text = match self.text.as_str() {
            "-" => {
                let mut text = String::new();
                std::io::stdin().read_to_string(&mut text).context("reading the text from standard input")?;
                text
            }
            _ => self.text,
        };
        if text.is_empty() {
            return Err(Failure::usage(
                "there is no text to send",
                "`portcullis say 'the build is red'`, or `-` to read it",
            )
            .into());
        }
        let label = self.label.clone();
        let event = NewEvent { text, session: self.session, label: self.label, chat: self.chat, ..NewEvent::default() };
        let gate = Client::of_the_gate()?;
        // Followed from before the event is sent: no reply comes too early.
        let feed = match self.wait {
            Some(patience) => Some((Feed::from_now(paths()?, Only::default()).await?, patience)),
            None => None,
        };
        let answer: Value = gate.post("/api/v1/events", &event).await?;
        if self.json {
            say(&format!("{answer}\n"));
        }
        match serde_json::from_value::<Accepted>(answer) {
            Ok(accepted) if feed.is_some() => {
                if let Some(text) = &accepted.note {
                    note(text);
                }
                if accepted.session.is_none() {
                    note(&format!("it {}", destination(&gate, &accepted, label.as_deref()).await));
                }
                if let Some((feed, patience)) = feed {
                    replies(feed, &accepted, patience, self.json).await?;
                }
            }
            _ if self.json => {}
            Ok(accepted) => {
                let to = destination(&gate, &accepted, label.as_deref()).await;
                say(&visible(&format!("Event {} in chat {} {to}.\n", accepted.id, accepted.chat_id)));
                if let Some(note) = accepted.note {
                    say(&format!("{note}\n"));
                }
            }
            Err(_) => say("verdict recorded\n"),
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// A number without a unit is in seconds.
fn time(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().map(Duration::from_secs);
    let parsed = seconds.or_else(|| humantime::parse_duration(text).ok());
    parsed.ok_or_else(|| "a time is a number of seconds, or such as 90s or 5m".to_owned())
}

/// `goes to api`, or for which session it waits and which there are: a label may be mistyped.
async fn destination(gate: &Client, accepted: &Accepted, label: Option<&str>) -> String {
    if let Some(id) = &accepted.session {
        let known = known_session(gate, id).await;
        return known.map_or_else(|_| format!("goes to session {id}"), |session| format!("goes to {}", session.label));
    }
    let Some(label) = label else { return "waits for a session: none is connected".to_owned() };
    let known: Vec<SessionView> = gate.get("/api/v1/sessions").await.unwrap_or_default();
    let known: Vec<&str> = known.iter().map(|session| session.label.as_str()).collect();
    let connected =
        if known.is_empty() { "none is connected".to_owned() } else { format!("there are {}", known.join(", ")) };
    format!("waits for a session called {label}: {connected}")
}

/// After the first reply, so long is waited for another one.
const QUIET: Duration = Duration::from_secs(2);

/// Prints the replies to an event, and on standard error what holds them up.
async fn replies(mut feed: Feed, accepted: &Accepted, patience: Duration, json: bool) -> anyhow::Result<()> {
    let mut give_up = Instant::now() + patience;
    let mut is_answered = false;
    loop {
        let entries = match tokio::time::timeout_at(give_up, feed.next()).await {
            Ok(news) => match news? {
                News::Entries(entries) => entries,
                News::Away | News::Back => continue,
            },
            Err(_) if is_answered => return Ok(()),
            Err(_) => {
                let what = format!("no reply to event {} within {} s", accepted.id, patience.as_secs());
                let hint = format!("`portcullis events show {}` says how far it has come", accepted.id);
                return Err(Failure::new(what, hint).into());
            }
        };
        for entry in entries {
            match &entry.record {
                Record::Replied { reply } if reply.chat.as_str() == accepted.chat_id => {
                    is_answered = true;
                    give_up = Instant::now() + fixed::wait("REPLY_QUIET", QUIET);
                    match json {
                        true => say(&format!("{}\n", serde_json::to_string(&ReplyView::from(reply))?)),
                        false => say(&format!("{}\n", portcullis_wire::text::reply(reply, None))),
                    }
                }
                Record::Asked { ask } if Some(ask.session.to_string()) == accepted.session && !is_answered => {
                    let how = how_to_allow(&ask.details, &ask.code.to_string());
                    note(&format!("{}; {how}", entry.sentence.words));
                }
                Record::Ended { session, .. } if Some(session.to_string()) == accepted.session && !is_answered => {
                    let what = format!("{} before it replied", entry.sentence.words);
                    return Err(Failure::new(what, "`portcullis log` says what happened").into());
                }
                _ => {}
            }
        }
    }
}
