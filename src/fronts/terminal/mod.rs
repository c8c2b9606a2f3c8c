//! The person at the terminal of a session: sees what it does, answers its prompts, talks to it, and may end it.

mod output;
mod question;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::{AskId, Behavior};
use portcullis_wire::api::AskView;
use serde_json::json;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

use output::Printer;
pub(crate) use output::{Output, print_line};
use question::{Question, Typed};

use crate::agents::claude::control::{Command, Told};
use crate::gate::client::Client;
use crate::session::gatekeeper::Settled;

/// How long someone may take to press Ctrl-C a second time.
const AGAIN: Duration = Duration::from_secs(2);

pub(crate) struct Front {
    printer: Printer,
    /// Someone is at the terminal.
    at_terminal: bool,
    /// They talk line by line, instead of having said all at the start.
    talks: bool,
    held: bool,
    command: mpsc::Sender<Command>,
    /// Prompts that nobody has answered; the first is shown.
    questions: VecDeque<Question>,
    /// Answered at this terminal, and not yet told that it counts.
    answered: HashSet<AskId>,
    /// When Ctrl-C was last pressed.
    pressed: Option<Instant>,
    ended_by_person: bool,
}

impl Front {
    pub(crate) fn new(
        output: Output,
        at_terminal: bool,
        talks: bool,
        held: bool,
        command: mpsc::Sender<Command>,
    ) -> Self {
        Self {
            printer: Printer::new(output),
            at_terminal,
            talks,
            held,
            command,
            questions: VecDeque::new(),
            answered: HashSet::new(),
            pressed: None,
            ended_by_person: false,
        }
    }

    /// Until the session has ended. Says whether someone here ended it.
    pub(crate) async fn run(mut self, mut told: mpsc::Receiver<Told>) -> anyhow::Result<bool> {
        let listen = |kind| signal(kind).context("listening for signals");
        let mut interrupts = listen(SignalKind::interrupt())?;
        let (mut terminations, mut hangups) = (listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
        let mut typed = if self.at_terminal { Some(lines()) } else { None };
        if self.talks {
            self.printer.ask("> ").await;
        }
        loop {
            tokio::select! {
                told = told.recv() => match told {
                    Some(told) => self.told(told).await,
                    None => return Ok(self.ended_by_person),
                },
                line = next_line(&mut typed) => match line {
                    Some(line) => self.typed(&line).await,
                    None => {
                        typed = None;
                        if self.talks {
                            self.want(Command::Finish).await;
                        }
                    }
                },
                () = received(&mut interrupts) => self.interrupt().await,
                () = received(&mut terminations) => self.end().await,
                () = received(&mut hangups) => self.end().await,
            }
        }
    }

    async fn want(&self, command: Command) {
        // The session may have ended meanwhile; then there is nothing to want.
        drop(self.command.send(command).await);
    }

    async fn interrupt(&mut self) {
        if self.held || self.pressed.is_some_and(|pressed| pressed.elapsed() < AGAIN) {
            return self.end().await;
        }
        self.pressed = Some(Instant::now());
        self.printer.note("interrupted; Ctrl-C again ends the session").await;
        self.want(Command::Interrupt).await;
    }

    async fn end(&mut self) {
        self.ended_by_person = true;
        self.want(Command::End).await;
    }

    async fn told(&mut self, told: Told) {
        match told {
            Told::Message { line, message } => self.printer.message(&line, &message).await,
            Told::Asked { ask, code } => {
                let input: serde_json::Value =
                    ask.details.input.as_ref().map_or_else(Default::default, |input| {
                        serde_json::from_str(input.as_str()).unwrap_or_default()
                    });
                let shown = json!({"type": "portcullis", "subtype": "asked", "id": ask.id.to_string(),
                    "code": code.map(|code| code.to_string()), "toolName": ask.tool, "input": input,
                    "tool_use_id": ask.details.tool_use_id});
                self.printer.ours(&shown).await;
                if !self.at_terminal {
                    let code =
                        code.map(|code| format!("; `portcullis ask allow {code}` allows it")).unwrap_or_default();
                    let words = format!("waiting for permission: {}{code}", portcullis_core::visible(&ask.tool));
                    return self.printer.note(&words).await;
                }
                self.questions.push_back(Question::new(*ask, code));
                if self.questions.len() == 1 {
                    self.show().await;
                }
            }
            Told::Settled { ask, how } => self.settled(ask, how).await,
            Told::NotTaken { ask, fault } => {
                self.answered.remove(&ask);
                self.printer.note(&format!("not taken: {}", portcullis_core::visible(&fault.message))).await;
                if let Some(question) = self.questions.front().filter(|question| question.ask.id == ask) {
                    let words = question.asks_for();
                    self.printer.ask(&words).await;
                }
            }
            Told::Idle if self.talks && self.questions.is_empty() => self.printer.ask("> ").await,
            Told::Idle => {}
            Told::Notice(text) => self.printer.note(&format!("note: {}", portcullis_core::visible(&text))).await,
        }
    }

    /// A prompt is settled: here, elsewhere, or because nobody can answer it any more.
    async fn settled(&mut self, ask: AskId, how: Settled) {
        let was_shown = self.questions.front().is_some_and(|question| question.ask.id == ask);
        let here = self.answered.remove(&ask);
        let name = self
            .questions
            .iter()
            .find(|question| question.ask.id == ask)
            .map(|question| question.code.map_or_else(|| question.ask.tool.clone(), |code| code.to_string()));
        self.questions.retain(|question| question.ask.id != ask);
        let (behavior, words) = match &how {
            Settled::Ruled(ruling) => {
                let said = if ruling.behavior == Behavior::Allow { "allowed" } else { "denied" };
                let who = if here || !self.at_terminal { String::new() } else { who_answered(ask).await };
                (Some(ruling.behavior.name()), format!("{said}{who}"))
            }
            Settled::Withdrawn(why) => (None, format!("no longer asked: {}", portcullis_core::visible(why))),
        };
        let shown = json!({"type": "portcullis", "subtype": "settled", "id": ask.to_string(), "behavior": behavior});
        self.printer.ours(&shown).await;
        if !here && (self.at_terminal || behavior.is_none()) {
            let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
            self.printer.note(&format!("\n{name}{words}")).await;
        }
        if was_shown {
            self.show().await;
        }
    }

    async fn show(&mut self) {
        if let Some(question) = self.questions.front() {
            let words = question.in_words();
            self.printer.note("").await;
            self.printer.ask(&words).await;
        }
    }

    async fn typed(&mut self, line: &str) {
        let Some(question) = self.questions.front_mut() else {
            return self.said(line).await;
        };
        let ask = question.ask.id;
        match question.read(line) {
            Typed::Ruling(ruling) => {
                self.answered.insert(ask);
                self.want(Command::Answer { ask, ruling: *ruling }).await;
            }
            Typed::More => {
                let words = question.asks_for();
                self.printer.ask(&words).await;
            }
            Typed::Unclear(why) => {
                let words = format!("  {why}\n{}", question.asks_for());
                self.printer.ask(&words).await;
            }
        }
    }

    async fn said(&mut self, line: &str) {
        if !self.talks {
            return;
        }
        match line.trim() {
            "" => self.printer.ask("> ").await,
            "/exit" | "/quit" => self.want(Command::Finish).await,
            text => self.want(Command::Prompt(text.to_owned())).await,
        }
    }
}

async fn received(signals: &mut Signal) {
    if signals.recv().await.is_none() {
        std::future::pending::<()>().await;
    }
}

/// ` by ann over http`, as the gate tells; nothing where it does not.
async fn who_answered(ask: AskId) -> String {
    const PATIENCE: Duration = Duration::from_secs(1);
    let look = async {
        let gate = Client::of_the_gate().ok()?;
        let view: AskView = gate.get(&format!("/api/v1/asks/{ask}")).await.ok()?;
        view.verdict.map(|verdict| format!(" by {} over {}", verdict.by, verdict.via))
    };
    let who = tokio::time::timeout(PATIENCE, look).await.ok().flatten();
    portcullis_core::visible(&who.unwrap_or_default())
}

/// What is typed, line by line. The thread that reads ends with the process.
fn lines() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        let mut line = String::new();
        while let Ok(1..) = std::io::stdin().read_line(&mut line) {
            if send.blocking_send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });
    lines
}

async fn next_line(typed: &mut Option<mpsc::Receiver<String>>) -> Option<String> {
    match typed {
        Some(lines) => lines.recv().await,
        None => std::future::pending().await,
    }
}
