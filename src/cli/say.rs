//! `portcullis say`: send an event from the command line.

use std::io::Read as _;
use std::process::ExitCode;

use anyhow::Context as _;
use portcullis_wire::api::{Accepted, NewEvent};
use serde_json::Value;

use super::client::Client;
use super::{log_at, say};

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
    /// Print a JSON object
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
        let event = NewEvent { text, session: self.session, label: self.label, chat: self.chat };
        let answer: Value = Client::of_the_gate()?.post("/api/v1/events", &event).await?;
        if self.json {
            say(&format!("{answer}\n"));
            return Ok(ExitCode::SUCCESS);
        }
        match serde_json::from_value::<Accepted>(answer) {
            Ok(accepted) => {
                let to =
                    accepted.session.map_or("waits for a session".to_owned(), |to| format!("goes to session {to}"));
                say(&format!("Event {} in chat {} {to}.\n", accepted.id, accepted.chat_id));
                if let Some(note) = accepted.note {
                    say(&format!("{note}\n"));
                }
            }
            Err(_) => say("verdict recorded\n"),
        }
        Ok(ExitCode::SUCCESS)
    }
}
