//! `portcullis watch`: what happens, as it happens, and the prompts answered where they are seen.

mod card;
mod screen;
mod servers;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use portcullis_core::OWNER;
use portcullis_wire::api::{AskView, SessionView};

use super::client::Client;
use super::feed::{AWAY, BACK, Feed, News, Only};
use super::layout::Layout;
use super::{log_at, paths, say, try_say};
use crate::config::Paths;
use screen::Screen;

/// See what happens, and answer prompts where you see them
///
/// On a terminal: a line for each thing that happens, the sessions with their state, and the oldest open prompt, to be
/// answered in place. In a pipe: one line each, in local time, without colours. It goes on when the gate is restarted.
#[derive(clap::Args)]
pub(super) struct Watch {
    #[command(flatten)]
    only: Only,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

impl Watch {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        // Says how to start a gate where none runs.
        Client::of_the_gate()?;
        let paths = paths()?;
        let mut feed = Feed::from_now(paths.clone(), self.only).await?;
        if self.json {
            print_json(&mut feed).await?;
        } else if std::io::stdout().is_terminal() && std::io::stdin().is_terminal() {
            Screen::open(paths, feed).await?.run().await?;
        } else {
            say(&state(&Client::new(&paths), &feed).await?);
            print_lines(&mut feed).await?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

async fn print_json(feed: &mut Feed) -> anyhow::Result<()> {
    loop {
        let News::Entries(entries) = feed.next().await? else { continue };
        for entry in entries {
            if try_say(&format!("{}\n", entry.json()?)).is_err() {
                return Ok(());
            }
        }
    }
}

/// Prints what a feed tells, one line each, while someone reads.
async fn print_lines(feed: &mut Feed) -> anyhow::Result<()> {
    loop {
        let text = in_words(&feed.next().await?, Layout::of_stdout());
        if try_say(&text).is_err() {
            return Ok(());
        }
    }
}

/// Prints what happens in the gate of this process, until it stops.
pub(super) async fn print_own(paths: Paths) {
    let printed = async { print_lines(&mut Feed::from_now(paths, Only::default()).await?).await };
    if let Err(error) = printed.await {
        tracing::warn!("what happens is no longer printed: {error:#}");
    }
}

fn in_words(news: &News, layout: Layout) -> String {
    match news {
        News::Entries(entries) => entries.iter().map(|entry| layout.sentence(entry.line.at, &entry.sentence)).collect(),
        News::Away => AWAY.to_owned(),
        News::Back => BACK.to_owned(),
    }
}

/// How things are, before anything happens.
async fn state(gate: &Client, feed: &Feed) -> anyhow::Result<String> {
    let sessions = sessions(gate, feed).await?;
    let asks = open_asks(gate, feed).await.unwrap_or_default();
    let mut text = String::new();
    for session in &sessions {
        text.push_str(&format!("session {}: {}\n", session.label, standing(session)));
    }
    if sessions.is_empty() {
        text.push_str(
            "No session is connected: `portcullis install --hooks` in a project, then start `claude` there.\n",
        );
    }
    for ask in asks {
        let label = feed.label(&ask.session).unwrap_or(&ask.session);
        text.push_str(&format!("open prompt {} of {label}: {}; `portcullis ask show {0}`\n", ask.code, ask.tool));
    }
    Ok(portcullis_core::visible(&text))
}

/// The sessions that are there, of those that are wanted.
async fn sessions(gate: &Client, feed: &Feed) -> anyhow::Result<Vec<SessionView>> {
    let mut sessions: Vec<SessionView> = gate.get("/api/v1/sessions").await?;
    sessions.retain(|session| session.state != "ended" && feed.only().takes(Some(&session.id), Some(&session.label)));
    Ok(sessions)
}

/// The open prompts of those sessions, oldest first; last those that wait for no answer of the owner: what is answered and
/// not confirmed, and what the owner has allowed and others must allow as well.
async fn open_asks(gate: &Client, feed: &Feed) -> anyhow::Result<Vec<AskView>> {
    let mut asks: Vec<AskView> = gate.get("/api/v1/asks?state=open").await?;
    asks.retain(|ask| feed.only().takes(Some(&ask.session), feed.label(&ask.session)));
    let is_answered = |ask: &AskView| ask.state == "unconfirmed" || has_allowed(ask);
    asks.sort_by_key(|ask| (is_answered(ask), ask.at));
    Ok(asks)
}

/// Whether the owner has allowed what others must allow as well.
fn has_allowed(ask: &AskView) -> bool {
    ask.allowed_by.iter().any(|name| name == OWNER)
}

/// `auto, waiting for you`.
fn standing(session: &SessionView) -> String {
    let state = match (session.state.as_str(), session.asks, session.stop_in_words(), session.activity.as_deref()) {
        ("attached", 1.., ..) => "waiting for you".to_owned(),
        ("attached", 0, Some(stop), _) => stop,
        ("attached", 0, None, Some(_)) if session.is_at_dialog() => "waiting at its terminal".to_owned(),
        ("attached", 0, None, Some(activity)) => activity.to_owned(),
        ("attached", 0, None, None) => "connected".to_owned(),
        (state, ..) => state.to_owned(),
    };
    match &session.mode {
        Some(mode) => format!("{mode}, {state}"),
        None => state,
    }
}
