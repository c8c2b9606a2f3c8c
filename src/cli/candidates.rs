//! `portcullis __candidates`: what could stand where a shell wants a word completed: labels, codes and ids that the gate
//! knows now. It starts no gate, and is silent where none runs.

use std::process::ExitCode;
use std::time::Duration;

use clap::{Arg, ArgAction, Command};
use portcullis_core::{EventLife, visible};
use portcullis_wire::api::{AskView, EventView, PeopleView, SessionView, TokenView};

use super::client::Client;
use super::{paths, say};
use crate::rules::Rules;

/// A person waits at the keyboard.
const LONGEST: Duration = Duration::from_millis(700);

/// Print what may complete the last of these words
#[derive(clap::Args)]
pub(super) struct Candidates {
    /// The words of the command line after the program's name, the last of them unfinished
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateKind {
    Sessions,
    Labels,
    OpenAsks,
    Asks,
    Events,
    EventStates,
    People,
    Tokens,
    /// As they are written.
    Rules,
}

impl Candidates {
    pub(super) async fn run(self, command: Command) -> ExitCode {
        let Some((names, begun)) = wanted(&command, &self.words) else { return ExitCode::SUCCESS };
        let found = tokio::time::timeout(LONGEST, names.known()).await;
        let known = found.ok().and_then(Result::ok).unwrap_or_default();
        let fitting = known.iter().filter(|name| name.starts_with(&begun) && !name.contains('\n'));
        say(&fitting.map(|name| format!("{}\n", visible(name))).collect::<String>());
        ExitCode::SUCCESS
    }
}

/// What the last word names, and how it begins.
fn wanted(command: &Command, words: &[String]) -> Option<(CandidateKind, String)> {
    let (begun, before) = words.split_last()?;
    let (mut at, mut path, mut positionals, mut open) = (command, vec![], 0, None);
    for word in before {
        if open.take().is_some() {
            continue;
        }
        if let Some(flag) = word.strip_prefix("--").filter(|flag| !flag.contains('=')) {
            open = option(at, flag).filter(|arg| takes_value(arg));
        } else if let Some(next) = at.find_subcommand(word) {
            (at, positionals) = (next, 0);
            path.push(word.as_str());
        } else if !word.starts_with('-') {
            positionals += 1;
        }
    }
    if let Some(arg) = open {
        return Some((named(&path, arg)?, begun.clone()));
    }
    if let Some((flag, begun)) = begun.strip_prefix("--").and_then(|flag| flag.split_once('=')) {
        return Some((named(&path, option(at, flag)?)?, begun.to_owned()));
    }
    if begun.starts_with('-') {
        return None;
    }
    let arg = at.get_positionals().nth(positionals)?;
    Some((named(&path, arg)?, begun.clone()))
}

fn option<'a>(command: &'a Command, flag: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|arg| arg.get_long() == Some(flag))
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// By the name of the argument, which is the same wherever the same is meant.
fn named(path: &[&str], arg: &Arg) -> Option<CandidateKind> {
    match (path, arg.get_id().as_str()) {
        (["rules", "remove"], "rule") => Some(CandidateKind::Rules),
        (["rules" | "channel" | "run" | "mcp" | "install" | "uninstall", ..], _) => None,
        (_, "session") => Some(CandidateKind::Sessions),
        (_, "label" | "labels") => Some(CandidateKind::Labels),
        (["ask", "allow" | "deny"], "ask") => Some(CandidateKind::OpenAsks),
        (_, "ask") => Some(CandidateKind::Asks),
        (["events", ..], "id") => Some(CandidateKind::Events),
        (["events", ..], "state") => Some(CandidateKind::EventStates),
        (["token", "revoke"], "id") => Some(CandidateKind::Tokens),
        (["people", "role" | "remove"] | ["token", "add"], "name") => Some(CandidateKind::People),
        _ => None,
    }
}

impl CandidateKind {
    async fn known(self) -> anyhow::Result<Vec<String>> {
        if self == Self::EventStates {
            return Ok(EventLife::NAMES.map(str::to_owned).to_vec());
        }
        if self == Self::Rules {
            let files = Rules::open(&paths()?, &std::env::current_dir()?).files();
            let rules = files.iter().flat_map(|file| &file.rules);
            return Ok(rules.map(|written| written.rule.pattern.to_string()).collect());
        }
        let gate = Client::of_the_gate()?;
        Ok(match self {
            Self::Sessions | Self::Labels => {
                let sessions: Vec<SessionView> = gate.get("/api/v1/sessions").await?;
                sessions.into_iter().map(|session| session.label).collect()
            }
            Self::OpenAsks | Self::Asks => {
                let asks: Vec<AskView> = gate.get("/api/v1/asks").await?;
                let fitting = asks.into_iter().filter(|ask| self == Self::Asks || ask.answerable);
                fitting.map(|ask| ask.code).collect()
            }
            Self::Events => {
                let events: Vec<EventView> = gate.get("/api/v1/events?limit=100").await?;
                events.into_iter().map(|event| event.id).collect()
            }
            Self::People => {
                let view: PeopleView = gate.get("/api/v1/people").await?;
                view.people.into_iter().map(|person| person.name).collect()
            }
            Self::Tokens => {
                let tokens: Vec<TokenView> = gate.get("/api/v1/tokens").await?;
                tokens.into_iter().map(|token| token.id).collect()
            }
            Self::EventStates | Self::Rules => vec![],
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_word_names_is_known_by_its_place() {
        let command = crate::cli::help::command();
        let names = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            wanted(&command, &words)
        };
        let some = |names, begun: &str| Some((names, begun.to_owned()));
        assert_eq!(names("ask allow ab"), some(CandidateKind::OpenAsks, "ab"));
        assert_eq!(names("ask show "), some(CandidateKind::Asks, ""));
        assert_eq!(names("ask allow abcde --why "), None);
        assert_eq!(names("ask allow --why because ab"), some(CandidateKind::OpenAsks, "ab"));
        assert_eq!(names("say hello --label a"), some(CandidateKind::Labels, "a"));
        assert_eq!(names("say hello --label=a"), some(CandidateKind::Labels, "a"));
        assert_eq!(names("session stop "), some(CandidateKind::Sessions, ""));
        assert_eq!(names("session prompt api "), None);
        assert_eq!(names("attach "), some(CandidateKind::Sessions, ""));
        assert_eq!(names("events list --state w"), some(CandidateKind::EventStates, "w"));
        assert_eq!(names("rules remove "), some(CandidateKind::Rules, ""));
        assert_eq!(names("rules check Ba"), None);
        assert_eq!(names("as"), None);
        assert_eq!(names("run --label "), None);
    }
}
