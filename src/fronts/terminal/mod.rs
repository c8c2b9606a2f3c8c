//! The person at a terminal: sees what a session does, answers its prompts, talks to it, and may end it or leave it.

mod input;
mod output;
mod prompts;
mod question;

use std::collections::{HashSet, VecDeque};
use std::time::Duration;

use anyhow::Context as _;
use portcullis_core::AskId;
use portcullis_wire::front::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) use input::TypedLines;
use input::{next_line, received};
use output::Printer;
pub(crate) use output::{Output, print_line};
pub(crate) use question::{Question, Typed};

use super::Told;

/// How long someone may take to press Ctrl-C a second time.
const AGAIN: Duration = Duration::from_secs(2);

/// How a front is set up.
pub(crate) struct Setup {
    pub(crate) output: Output,
    pub(crate) place: FrontPlace,
    /// Someone is at the terminal.
    pub(crate) at_terminal: bool,
    /// They talk line by line, instead of having said all at the start.
    pub(crate) talks: bool,
    /// Why they cannot answer prompts.
    pub(crate) no_answers: Option<String>,
}

/// Whose terminal this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontPlace {
    /// The session was started here, and ends with it.
    Own,
    /// The gate started the session: there is no terminal.
    Held,
    /// The session goes on when this terminal leaves it.
    Attached,
}

/// Why a front is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FrontEnd {
    /// Nothing more is told.
    Told,
    /// The person left, and the session goes on.
    Detached,
}

pub(crate) struct TerminalFront {
    setup: Setup,
    printer: Printer,
    /// None where nobody types.
    typed: Option<TypedLines>,
    command: mpsc::Sender<Command>,
    /// Prompts that nobody has answered; the first is shown.
    questions: VecDeque<Question>,
    /// Answered at this terminal, and not yet told that it counts.
    answered: HashSet<AskId>,
    /// When Ctrl-C was last pressed.
    pressed: Option<Instant>,
    is_detached: bool,
    /// No turn runs, as far as was told.
    is_idle: bool,
}

impl TerminalFront {
    pub(crate) fn new(setup: Setup, command: mpsc::Sender<Command>) -> Self {
        Self {
            printer: Printer::new(setup.output),
            typed: None,
            command,
            questions: VecDeque::new(),
            answered: HashSet::new(),
            pressed: None,
            is_detached: false,
            is_idle: setup.talks,
            setup,
        }
    }

    /// Until the session has ended, or the person has left it.
    pub(crate) async fn run(mut self, mut told: mpsc::Receiver<Told>) -> anyhow::Result<FrontEnd> {
        let listen = |kind| signal(kind).context("listening for signals");
        let mut interrupts = listen(SignalKind::interrupt())?;
        let (mut terminations, mut hangups) = (listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
        self.typed = if self.setup.at_terminal { Some(TypedLines::of_stdin()) } else { None };
        if self.setup.talks && self.setup.place == FrontPlace::Own {
            self.printer.ask("> ").await;
        }
        while !self.is_detached {
            tokio::select! {
                told = told.recv() => match told {
                    Some(told) => self.told(told).await,
                    None => {
                        self.printer.end_line().await;
                        return Ok(FrontEnd::Told);
                    }
                },
                line = next_line(&mut self.typed) => match line {
                    Some(line) => self.typed(&line).await,
                    None => {
                        self.typed = None;
                        self.typed_all().await;
                    }
                },
                () = received(&mut interrupts) => self.interrupt().await,
                () = received(&mut terminations) => self.end().await,
                () = received(&mut hangups) => self.end().await,
            }
        }
        self.printer.end_line().await;
        Ok(FrontEnd::Detached)
    }

    async fn want(&self, command: Command) {
        // The session may have ended meanwhile; then there is nothing to want.
        drop(self.command.send(command).await);
    }

    /// Ctrl-C: once it interrupts the turn of the own session, and twice it leaves or ends.
    async fn interrupt(&mut self) {
        let again = self.pressed.is_some_and(|pressed| pressed.elapsed() < AGAIN);
        if again
            || self.setup.place == FrontPlace::Held
            || !self.setup.at_terminal && self.setup.place == FrontPlace::Attached
        {
            return self.end().await;
        }
        self.pressed = Some(Instant::now());
        if self.setup.place == FrontPlace::Attached {
            return self.printer.note("\nCtrl-C again leaves the session; /interrupt ends its turn").await;
        }
        if self.is_idle {
            return self.printer.note("\nno turn runs; Ctrl-C again ends the session").await;
        }
        let words = match self.setup.talks {
            true => "interrupted: the turn ends, and the session goes on; Ctrl-C again ends it",
            false => "interrupted: the turn ends, and this run with it; Ctrl-C again ends it at once",
        };
        self.printer.note(words).await;
        self.want(Command::Interrupt).await;
    }

    /// This front goes, and the session with it where that is its own.
    async fn end(&mut self) {
        match self.setup.place {
            FrontPlace::Own | FrontPlace::Held => self.want(Command::End).await,
            FrontPlace::Attached => self.is_detached = true,
        }
    }

    /// Ctrl-D: nothing more will be typed.
    async fn typed_all(&mut self) {
        match self.setup.place {
            FrontPlace::Attached => self.is_detached = true,
            FrontPlace::Own | FrontPlace::Held if self.setup.talks => self.want(Command::Finish).await,
            FrontPlace::Own | FrontPlace::Held => {}
        }
    }

    async fn told(&mut self, told: Told) {
        match &told {
            Told::Idle => self.is_idle = true,
            Told::Message { .. } | Told::Prompt(_) => self.is_idle = false,
            Told::Notice(_) | Told::Said { .. } | Told::Client { .. } | Told::Ready(_) | Told::Answered { .. } => {}
        }
        match told {
            Told::Message { line, message } => self.printer.message(&line, &message).await,
            Told::Prompt(news) => self.prompt(news).await,
            Told::Idle if self.setup.talks && self.questions.is_empty() => self.printer.ask("> ").await,
            Told::Idle => {}
            Told::Ready(_) | Told::Answered { .. } => {}
            Told::Notice(text) | Told::Said { note: text, .. } | Told::Client { note: text, .. } => {
                self.printer.note(&format!("note: {}", portcullis_core::visible(&text))).await;
            }
        }
    }

    async fn typed(&mut self, line: &str) {
        if self.setup.place == FrontPlace::Attached && self.ordered(line.trim()).await {
            return;
        }
        let Some(question) = self.questions.front_mut() else {
            return self.said(line).await;
        };
        let ask = question.ask.id;
        match question.read(line) {
            Typed::Ruling(ruling) => {
                self.answered.insert(ask);
                self.want(Command::Answer { ask, ruling }).await;
            }
            Typed::More => {
                let words = question.asks_for();
                self.printer.ask(&words).await;
            }
            // Whoever cannot answer may still talk.
            Typed::Unclear(_) if self.setup.no_answers.is_some() => self.said(line).await,
            Typed::Unclear(why) => {
                let words = format!("  {why}\n{}", question.asks_for());
                self.printer.ask(&words).await;
            }
        }
    }

    /// Whether the line is meant for this front and not for the session.
    async fn ordered(&mut self, line: &str) -> bool {
        match line {
            "/detach" | "/exit" | "/quit" => self.is_detached = true,
            "/interrupt" => self.want(Command::Interrupt).await,
            "/end" => self.want(Command::End).await,
            _ => return false,
        }
        true
    }

    async fn said(&mut self, line: &str) {
        if !self.setup.talks {
            return;
        }
        match line.trim() {
            "" => self.printer.ask("> ").await,
            "/exit" | "/quit" => self.want(Command::Finish).await,
            text => {
                self.is_idle = false;
                self.want(Command::Prompt(text.to_owned().into())).await;
            }
        }
    }
}
