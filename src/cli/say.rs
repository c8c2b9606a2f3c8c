//! `portcullis say`: send an event from the command line.

use std::io::Read as _;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::{Record, SessionId, visible};
use portcullis_wire::api::{Accepted, AskView, NewEvent, ReplyView, SessionView};
use portcullis_wire::questions::how_to_allow;
use portcullis_wire::text::one_line;
use serde_json::Value;
use tokio::time::Instant;

use super::client::{Client, segment};
use super::feed::{Entry, Feed, News, Only, known_session};
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
    /// Further replies are printed as well, until none has come for two seconds. Exits with 1 when there is none in time, or
    /// when the turn that read the text has ended without one.
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
            Some(patience) => Some((Feed::from_now(paths()?, Only::default()).await?.in_detail(), patience)),
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
                    let mut awaited = AwaitedReply::new(&gate, &accepted, patience, self.json);
                    awaited.note_open_prompts().await;
                    awaited.replies(feed).await?;
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
    let take_back = format!("`portcullis events drop {}` takes it back", accepted.id);
    let Some(label) = label else { return format!("waits for a session: none is connected; {take_back}") };
    let known: Vec<SessionView> = gate.get("/api/v1/sessions").await.unwrap_or_default();
    let known: Vec<&str> = known.iter().map(|session| session.label.as_str()).collect();
    let connected =
        if known.is_empty() { "none is connected".to_owned() } else { format!("there are {}", known.join(", ")) };
    format!("waits for a session called {label}: {connected}; {take_back}")
}

/// After the first reply, and after a turn that ended without one, so long is waited for another one.
const QUIET: Duration = Duration::from_secs(2);

/// What is known of an event whose reply is waited for.
struct AwaitedReply<'a> {
    gate: &'a Client,
    accepted: &'a Accepted,
    patience: Duration,
    json: bool,
    give_up: Instant,
    is_answered: bool,
    is_read: bool,
    /// The codes of the prompts that were open when the event was sent, and that are named already.
    named: Vec<String>,
    /// As its session last told.
    is_working: Option<bool>,
    /// The turn that read it ended without a reply: when that was seen to be long enough.
    over: Option<Instant>,
}

impl<'a> AwaitedReply<'a> {
    fn new(gate: &'a Client, accepted: &'a Accepted, patience: Duration, json: bool) -> Self {
        let give_up = Instant::now() + patience;
        Self {
            gate,
            accepted,
            patience,
            json,
            give_up,
            is_answered: false,
            is_read: false,
            named: vec![],
            is_working: None,
            over: None,
        }
    }

    /// Names on standard error the prompts of its session that hold up the reply already.
    async fn note_open_prompts(&mut self) {
        let Some(session) = &self.accepted.session else { return };
        let path = format!("/api/v1/asks?state=open&session={}", segment(session));
        // Who may not see prompts waits for the reply all the same.
        let mut asks: Vec<AskView> = self.gate.get(&path).await.unwrap_or_default();
        asks.retain(AskView::is_open);
        for ask in asks {
            let words = visible(&one_line(&ask.in_words()));
            note(&format!("open already: {words}; {}", ask.how_to_allow()));
            self.named.push(ask.code);
        }
    }

    /// Prints the replies to the event, and on standard error what holds them up.
    async fn replies(mut self, mut feed: Feed) -> anyhow::Result<()> {
        loop {
            let until = self.over.map_or(self.give_up, |over| over.min(self.give_up));
            let entries = match tokio::time::timeout_at(until, feed.next()).await {
                Ok(news) => match news? {
                    News::Entries(entries) => entries,
                    News::Away | News::Back => continue,
                },
                Err(_) if self.is_answered => return Ok(()),
                Err(_) => return Err(self.no_reply().await.into()),
            };
            for entry in entries {
                self.note(&entry)?;
            }
            let is_over = self.is_read && self.is_working == Some(false) && !self.is_answered;
            let quiet = Instant::now() + fixed::wait("REPLY_QUIET", QUIET);
            self.over = is_over.then(|| self.over.unwrap_or(quiet));
        }
    }

    fn note(&mut self, entry: &Entry) -> anyhow::Result<()> {
        let is_its = |session: &SessionId| Some(session.to_string()) == self.accepted.session;
        match &entry.record {
            Record::Replied { reply } if reply.chat.as_str() == self.accepted.chat_id => {
                self.is_answered = true;
                self.give_up = Instant::now() + fixed::wait("REPLY_QUIET", QUIET);
                match self.json {
                    true => say(&format!("{}\n", serde_json::to_string(&ReplyView::from(reply))?)),
                    false => say(&format!("{}\n", portcullis_wire::text::reply(reply, None))),
                }
            }
            Record::Seen { event } if event.to_string() == self.accepted.id => self.is_read = true,
            Record::Described { session, about, .. } if is_its(session) => self.is_working = about.is_working,
            Record::Asked { ask }
                if is_its(&ask.session) && !self.is_answered && !self.named.contains(&ask.code.to_string()) =>
            {
                let how = how_to_allow(&ask.details, &ask.code.to_string());
                note(&format!("{}; {how}", entry.sentence.words));
            }
            Record::Ended { session, .. } if is_its(session) && !self.is_answered => {
                let what = format!("{} before it replied", entry.sentence.words);
                return Err(Failure::new(what, "`portcullis log` says what happened").into());
            }
            _ => {}
        }
        Ok(())
    }

    async fn no_reply(&self) -> Failure {
        let event = &self.accepted.id;
        if self.over.is_none() {
            let what = format!("no reply to event {event} within {} s", self.patience.as_secs());
            return Failure::new(what, format!("`portcullis events show {event}` says how far it has come"));
        }
        let session = known_session(self.gate, self.accepted.session.as_deref().unwrap_or_default()).await;
        let hint = match session.ok().and_then(|session| session.last_words) {
            Some(words) => format!("it said where it runs: {}", visible(&words)),
            None => "its terminal and `portcullis page` show what it said".to_owned(),
        };
        Failure::new(format!("the turn that read event {event} ended without a reply"), hint)
    }
}
