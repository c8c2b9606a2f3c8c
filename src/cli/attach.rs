//! `portcullis attach`: a terminal on a session that Portcullis drives, and away from it again.

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::ValueEnum as _;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use portcullis_core::{shell_words, visible};

use super::inside::confirm;
use super::{log_at, paths};
use crate::failure::Failure;
use crate::fronts::terminal::{FrontEnd, FrontPlace, Output, Setup, TerminalFront};
use crate::fronts::{Attached, Ending, find};

/// Open a terminal on a session that Portcullis drives, and leave it again
///
/// Shows what the session said last and what it does now, also of a session that was started over the API. You talk to it,
/// and answer its prompts, as you would where it was started; whoever answers first counts. Several terminals may be
/// attached at once.
///
/// Without a terminal it prints what the session says, and takes no input.
#[derive(clap::Args)]
#[command(after_help = "At the terminal:
  /detach     leave; the session goes on (also Ctrl-D, or Ctrl-C twice)
  /interrupt  end the turn
  /end        end the session

Exit codes:
  0  the session has ended, or you have left it
  1  an error, also when the connection to the session broke
  4  refused: this runs inside Claude Code")]
pub(super) struct Attach {
    /// The session's label, its id, or the beginning of one
    session: String,
    /// What is printed: text as it is said, or every message as a line of JSON
    #[arg(long, value_parser = outputs(), default_value = "text")]
    output: Output,
}

impl Attach {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let at_terminal = std::io::stdin().is_terminal();
        if at_terminal {
            confirm(&format!("attach to session {}", self.session)).await?;
        }
        let found = find(&paths()?, &self.session).await?;
        let label = visible(found.welcome.label.as_str());
        let greeting = format!("Attached to {label} ({}) in {}.\n", found.welcome.session, found.welcome.folder);
        let Attached { standing, told, command, ending } = found.join().await?;
        if at_terminal {
            print(&visible(&greeting));
            match &standing.no_orders {
                None => print("/detach, Ctrl-D or Ctrl-C twice leaves, and the session goes on; /end ends it.\n"),
                Some(why) => print(&visible(&format!("You can only look: {why}. Ctrl-D leaves.\n"))),
            }
        }
        let setup = Setup {
            output: self.output,
            place: FrontPlace::Attached,
            at_terminal,
            talks: at_terminal && standing.no_orders.is_none(),
            no_answers: standing.no_answers,
        };
        let done = TerminalFront::new(setup, command).run(told).await?;
        let again = format!("`portcullis attach {}` comes back", shell_words(&[&label]));
        match done {
            FrontEnd::Detached => {
                print(&format!("Left {label}; the session goes on. {again}.\n"));
                return Ok(ExitCode::SUCCESS);
            }
            FrontEnd::Told => {}
        }
        let (what, hint) = match ending.await.unwrap_or(Ending::Lost) {
            Ending::SessionEnded => {
                print(&format!("Session {label} has ended.\n"));
                return Ok(ExitCode::SUCCESS);
            }
            Ending::CutOff => ("this terminal did not read what the session said, and was left behind", again),
            Ending::Lost => {
                let hint = format!("{again} if the session goes on; `portcullis session list` shows it");
                ("the connection to the session broke", hint)
            }
        };
        Err(Failure::new(what, hint).into())
    }
}

/// A session that goes on has no final result to print.
fn outputs() -> impl TypedValueParser<Value = Output> {
    let values = [Output::Text, Output::StreamJson].iter().filter_map(Output::to_possible_value);
    PossibleValuesParser::new(values).try_map(|name| Output::from_str(&name, false))
}

/// Standard output belongs to what the model says.
fn print(text: &str) {
    use std::io::Write as _;
    // If standard error is closed there is nobody left to tell.
    drop(std::io::stderr().write_all(text.as_bytes()));
}
