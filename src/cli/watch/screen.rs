//! `watch` on a terminal: lines that scroll, and below them the sessions and the oldest open prompt.

use std::collections::VecDeque;

use anyhow::Context as _;
use portcullis_core::{AskId, Behavior, NewAsk, visible};
use portcullis_wire::api::{AskView, NewVerdict, Recorded, SessionView};
use tokio::signal::unix::{SignalKind, signal};

use super::super::client::{Client, segment};
use super::super::feed::{Feed, News};
use super::super::layout::{Colour, Layout, columns};
use super::super::{configuration, try_say};
use super::card::Card;
use super::servers::ServersLook;
use super::{has_allowed, in_words, open_asks, sessions, standing};
use crate::config::{Approvals, Paths, environment};
use crate::fronts::terminal::{Question, Typed, TypedLines};
use crate::gate::inside::agent_of;
use crate::processes::PeerProcess;
use crate::report;

/// What can be typed at any time.
const HELP: &str = "What answers a prompt stands below it. ? shows this, /mcp shows MCP servers, Ctrl-C leaves.\n";

pub(super) struct Screen {
    paths: Paths,
    feed: Feed,
    sessions: Vec<SessionView>,
    /// Open prompts, in the order in which they are shown.
    asks: VecDeque<AskView>,
    /// Prompts that someone did not want to answer now: they come last, in this order.
    passed: Vec<String>,
    /// The first of them, as it is shown.
    question: Option<Question>,
    typed: TypedLines,
    /// The prompt on the screen, to which a line that is typed belongs.
    shown: Option<AskId>,
    /// The prompt whose whole input was printed last.
    whole: Option<String>,
    /// Why nobody answers here.
    no_answers: Option<String>,
    /// The MCP servers of the sessions' folders, for whoever types `/mcp`.
    servers: ServersLook,
    /// The width of each row of the part below, so that it can be drawn anew.
    rows: Vec<usize>,
}

impl Screen {
    pub(super) async fn open(paths: Paths, feed: Feed) -> anyhow::Result<Self> {
        let no_answers = no_answers(&paths).await?;
        let (sessions, asks) = (vec![], VecDeque::new());
        let (typed, question, shown, whole) = (TypedLines::of_stdin(), None, None, None);
        let (passed, rows) = (vec![], vec![]);
        let servers = ServersLook::new(paths.clone());
        let mut screen =
            Self { paths, feed, sessions, asks, passed, question, typed, shown, whole, no_answers, servers, rows };
        screen.refresh().await;
        Ok(screen)
    }

    /// Until Ctrl-C.
    pub(super) async fn run(mut self) -> anyhow::Result<()> {
        let listen = |kind| signal(kind).context("listening for signals");
        let (mut interrupts, mut resizes) = (listen(SignalKind::interrupt())?, listen(SignalKind::window_change())?);
        let mut terminations = listen(SignalKind::terminate())?;
        self.print("Watching. /mcp shows MCP servers, ? helps, Ctrl-C leaves.\n")?;
        loop {
            tokio::select! {
                news = self.feed.next() => {
                    let news = news?;
                    let text = in_words(&news, Layout::of_stdout());
                    if !matches!(news, News::Away) {
                        self.refresh().await;
                    }
                    self.print(&text)?;
                }
                line = self.typed.next() => match line {
                    Some(line) => {
                        // What was typed stands on the screen and has begun a new row.
                        self.rows.push(0);
                        let text = self.typed(line.trim_end_matches('\n')).await;
                        self.refresh().await;
                        self.print(&text)?;
                    }
                    None => break,
                },
                told = self.servers.told() => self.print(&told)?,
                // Terminals put what no longer fits into further rows.
                _ = resizes.recv() => {
                    let rows = std::mem::take(&mut self.rows);
                    self.rows = rows.into_iter().flat_map(|row| Layout::of_stdout().rows_of(row)).collect();
                    self.print("")?;
                }
                _ = interrupts.recv() => break,
                _ = terminations.recv() => break,
            }
        }
        let end = self.erase();
        try_say(&end)?;
        Ok(())
    }

    /// Prints lines above, and draws the part below anew.
    fn print(&mut self, text: &str) -> anyhow::Result<()> {
        let shown = self.question.as_ref().map(|question| question.ask.id);
        if shown != self.shown {
            // A `y` for the prompt that was here must not allow the one that is here now.
            self.typed.forget();
            self.shown = shown;
        }
        let (erased, below) = (self.erase(), self.below(Layout::of_stdout()));
        self.rows = below.lines().map(columns).collect();
        self.rows.extend(below.ends_with('\n').then_some(0));
        try_say(&format!("{erased}{text}{below}"))?;
        Ok(())
    }

    /// What takes the part below off the screen.
    fn erase(&mut self) -> String {
        match std::mem::take(&mut self.rows).len() {
            0 => String::new(),
            1 => "\r\u{1b}[J".to_owned(),
            rows => format!("\u{1b}[{}A\r\u{1b}[J", rows - 1),
        }
    }

    fn below(&self, layout: Layout) -> String {
        let shown = |session: &SessionView| format!("{}: {}", session.label, standing(session));
        let sessions = match self.sessions.as_slice() {
            [] => "no session is connected: `portcullis install --hooks` in a project, then `claude` there".to_owned(),
            sessions => sessions.iter().map(shown).collect::<Vec<_>>().join(" · "),
        };
        let mut text = layout.painted(Colour::Quiet, &layout.wrapped(&format!("── {}", visible(&sessions)), 3));
        if let (Some(question), Some(ask)) = (&self.question, self.asks.front()) {
            let label = self.feed.label(&ask.session).unwrap_or("?").to_owned();
            let more = match self.asks.len() {
                1 => String::new(),
                several => format!(", and {} more wait", several - 1),
            };
            let asks = if has_allowed(ask) { "waits for others" } else { "asks" };
            text.push_str(&format!("\n{}", layout.painted(Colour::Attention, &format!("{label} {asks}{more}:"))));
            text.push_str(&Card::new(&question.in_words(), layout).text);
            match &self.no_answers {
                None => {
                    let next = if self.asks.len() > 1 { " · > shows the next prompt" } else { "" };
                    let choices = format!("w shows the whole input{next}\n{}", asks_for(question, ask));
                    let choices: Vec<String> = choices.lines().map(|line| layout.wrapped(line, 2)).collect();
                    text.push_str(&format!("\n  {} ", choices.join("\n")));
                }
                Some(why) => {
                    text.push_str(&format!("\n{}\n", layout.wrapped(&format!("  not answered here: {why}"), 2)));
                }
            }
        } else if let Some(why) =
            self.no_answers.as_ref().filter(|_| self.sessions.iter().any(|session| session.asks > 0))
        {
            // The prompt could not be read; the lines above tell of it.
            text.push_str(&format!("\n{}\n", layout.wrapped(&format!("  not answered here: {why}"), 2)));
        } else {
            text.push('\n');
        }
        text
    }

    /// Looks at how things are now. Where the gate does not say, they stay as they were.
    async fn refresh(&mut self) {
        let gate = Client::new(&self.paths);
        if let Ok(sessions) = sessions(&gate, &self.feed).await {
            self.sessions = sessions;
        }
        if let Ok(asks) = open_asks(&gate, &self.feed).await {
            self.passed.retain(|passed| asks.iter().any(|ask| ask.id == *passed));
            self.asks = asks.into();
        }
        let passed = |ask: &AskView| self.passed.iter().position(|passed| *passed == ask.id);
        self.asks.make_contiguous().sort_by_key(passed);
        let first = self.asks.front().and_then(|ask| NewAsk::try_from(ask).ok());
        let is_same = |question: &Question| first.as_ref().is_some_and(|first| first.id == question.ask.id);
        if !self.question.as_ref().is_some_and(is_same) {
            let code = self.asks.front().and_then(|ask| portcullis_core::Code::parse(&ask.code));
            self.question = first.map(|first| Question::new(first, code));
        }
    }

    /// Understands a line, and says what came of it where the log will not.
    async fn typed(&mut self, line: &str) -> String {
        let folders = self.sessions.iter().filter_map(|session| session.folder.clone()).collect();
        if let Some(said) = self.servers.takes(line, folders) {
            return said;
        }
        if matches!(line.trim(), "?" | "/help") {
            return HELP.to_owned();
        }
        let (Some(question), Some(ask)) = (&mut self.question, self.asks.front()) else {
            let is_empty = line.trim().is_empty();
            return if is_empty {
                String::new()
            } else {
                format!("No prompt is open, so nothing was answered. {HELP}")
            };
        };
        if let Some(why) = &self.no_answers {
            return format!("Not answered here: {why}\n");
        }
        if matches!(line.trim(), "w" | "whole") {
            self.whole = Some(ask.id.clone());
            return whole(ask);
        }
        if line.trim() == ">" {
            self.passed.retain(|passed| *passed != ask.id);
            self.passed.push(ask.id.clone());
            return String::new();
        }
        match question.read(line) {
            Typed::More => String::new(),
            Typed::Unclear(why) => format!("{why}\n"),
            Typed::Ruling(ruling) if ruling.behavior == Behavior::Allow && has_allowed(ask) => {
                format!("{}\n", allowed_by_me(ask))
            }
            // Nobody allows what they could not see. An input of their own they have seen.
            Typed::Ruling(ruling)
                if ruling.behavior == Behavior::Allow
                    && ruling.input.is_none()
                    && self.whole.as_ref() != Some(&ask.id)
                    && Card::new(&question.in_words(), Layout::of_stdout()).is_cut =>
            {
                self.whole = Some(ask.id.clone());
                format!(
                    "{}Not allowed yet: the card does not show all of it. This is the whole input; the same answer again allows it.\n",
                    whole(ask)
                )
            }
            Typed::Ruling(ruling) => {
                let path = format!("/api/v1/asks/{}/verdict", segment(&ask.id));
                let verdict = NewVerdict::from(&*ruling);
                let answered: anyhow::Result<Recorded> = Client::new(&self.paths).post(&path, &verdict).await;
                match answered {
                    Ok(recorded) if recorded.missing > 0 => {
                        format!("{}: recorded; {} more must allow it\n", recorded.code, recorded.missing)
                    }
                    Ok(_) => String::new(),
                    // What was begun, such as the answers to questions, is begun again.
                    Err(error) => {
                        self.question = None;
                        visible(&report::in_words(&error))
                    }
                }
            }
        }
    }
}

/// What can be typed now.
fn asks_for(question: &Question, ask: &AskView) -> String {
    match has_allowed(ask) {
        true => format!("  {}\n  n denies it after all: ", allowed_by_me(ask)),
        false => question.asks_for(),
    }
}

/// `you have allowed it; 1 more must allow it`.
fn allowed_by_me(ask: &AskView) -> String {
    let missing = usize::from(ask.quorum.unwrap_or(1)).saturating_sub(ask.allowed_by.len());
    format!("you have allowed it; {missing} more must allow it")
}

/// The whole input, for people.
fn whole(ask: &AskView) -> String {
    let whole = ask.input.as_ref().map_or_else(|| ask.preview.clone(), |input| format!("{input:#}"));
    format!("{}\n", visible(&format!("{} {}\n{whole}", ask.code, ask.tool)))
}

/// Why the person at this terminal cannot answer; none where they can.
async fn no_answers(paths: &Paths) -> anyhow::Result<Option<String>> {
    if let Some(agent) = agent_of(paths, PeerProcess::ours()).await {
        return Ok(Some(format!("this runs inside {agent}, and agents do not answer prompts")));
    }
    if environment("CLAUDECODE").is_some() {
        return Ok(Some("this runs inside Claude Code; watch in a terminal of your own".to_owned()));
    }
    let for_devices = configuration(paths, None)?.approvals == Approvals::Device;
    Ok(for_devices.then(|| {
        "prompts are answered on devices only (approvals = \"device\" in the configuration), or with a reviewer's token"
            .to_owned()
    }))
}
