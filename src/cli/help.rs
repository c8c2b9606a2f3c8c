//! `portcullis help`: the commands by what people want, with examples that are tested, and the settings.

mod examples;
mod settings;

use std::process::ExitCode;

use clap::{Command, CommandFactory as _};

use super::Cli;
use crate::config::nearest;
use crate::failure::Failure;

/// The commands for people, by what they are for.
const GROUPS: [(&str, &[&str]); 7] = [
    ("Get started", &["demo", "install", "doctor"]),
    ("Sessions", &["run", "attach", "acp", "session", "say", "watch"]),
    ("Prompts and events", &["page", "ask", "events"]),
    ("Rules and log", &["rules", "log", "mcp"]),
    ("People and devices", &["people", "device", "token"]),
    ("The gate", &["up", "stop", "status", "service", "serve"]),
    ("Setup", &["uninstall", "plugin", "completions", "man", "help"]),
];

const TOPICS: &str =
    "`portcullis help COMMAND` explains a command, `portcullis help settings` shows the settings and their values.";

/// Explain a command, or show the settings with their values
#[derive(clap::Args)]
pub(super) struct Help {
    /// A command, such as `rules add`; or `settings`
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
}

impl Help {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let words: Vec<&str> = self.words.iter().map(String::as_str).collect();
        if words == ["settings"] {
            settings::print()?;
            return Ok(ExitCode::SUCCESS);
        }
        let mut command = command();
        command.build();
        let mut shown = &mut command;
        for word in words {
            let known: Vec<String> = shown.get_subcommands().map(|known| known.get_name().to_owned()).collect();
            shown = shown.find_subcommand_mut(word).ok_or_else(|| unknown(word, &known))?;
        }
        // The reader may have gone away; that is no error of ours.
        drop(shown.print_long_help());
        Ok(ExitCode::SUCCESS)
    }
}

fn unknown(word: &str, known: &[String]) -> Failure {
    let topics = known.iter().map(String::as_str).chain(["settings"]);
    let hint = match nearest(word, topics) {
        Some(near) => format!("did you mean {near}?"),
        None => "`portcullis help` lists the commands".to_owned(),
    };
    Failure::usage(format!("there is no command {}", crate::config::quoted(word)), hint)
}

/// The whole command line: what clap derives, with the commands in groups and with examples.
pub(super) fn command() -> Command {
    let mut command = Cli::command();
    for (path, lines) in examples::EXAMPLES {
        command = with_examples(command, &path.split(' ').collect::<Vec<_>>(), lines);
    }
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{}\nOptions:\n{{options}}{{after-help}}",
        grouped(&command)
    );
    command.help_template(template).after_help(TOPICS)
}

fn grouped(command: &Command) -> String {
    let mut text = String::new();
    for (title, names) in GROUPS {
        text.push_str(&format!("\n{title}:\n"));
        for known in names.iter().filter_map(|name| command.find_subcommand(name)) {
            let about = known.get_about().map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {:<12} {about}\n", known.get_name()));
        }
    }
    text
}

fn with_examples(command: Command, path: &[&str], lines: &[&str]) -> Command {
    let Some((first, rest)) = path.split_first().filter(|(first, _)| !first.is_empty()) else {
        let before = command.get_after_help().map(|text| format!("\n\n{text}")).unwrap_or_default();
        let long = command.get_after_long_help().map(ToString::to_string);
        let examples = format!("Examples:\n  {}", lines.join("\n  "));
        let command = command.after_help(format!("{examples}{before}"));
        return match long {
            Some(long) => command.after_long_help(format!("{examples}\n\n{long}")),
            None => command,
        };
    };
    let first = (*first).to_owned();
    if command.find_subcommand(&first).is_none() {
        return command;
    }
    command.mut_subcommand(first, |command| with_examples(command, rest, lines))
}

/// The same without what is not for people: completions and man pages are made from this.
pub(super) fn for_people(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned();
    let commands = command.get_subcommands().filter(|command| !command.is_hide_set()).map(for_people);
    let mut shown = Command::new(command.get_name().to_owned()).args(arguments).subcommands(commands);
    if let Some(about) = command.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(about) = command.get_long_about() {
        shown = shown.long_about(about.clone());
    }
    if let Some(after) = command.get_after_long_help().or(command.get_after_help()) {
        shown = shown.after_help(after.clone());
    }
    if let Some(version) = command.get_version() {
        shown = shown.version(version.to_owned());
    }
    // Each has its own list of commands, and a `help` command in it would be one more page.
    shown.disable_help_subcommand(true)
}

/// What someone sees who starts with an empty home and no command.
pub(super) const FIRST_STEPS: &str = "\
Portcullis brings events into a running Claude Code session and its permission prompts to you.
Nothing is set up here yet.

  portcullis demo --once --say \"what is here?\"   see it work, without Claude Code
  portcullis install --hooks                     connect Claude Code, in the folder of a project
  portcullis doctor                              find out what works for you

`portcullis help` lists all commands.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_for_people_is_in_one_group() {
        let command = Cli::command();
        let shown: Vec<&str> =
            command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name).collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        grouped.retain(|name| command.find_subcommand(name).is_some());
        let (mut shown, mut sorted) = (shown, grouped);
        shown.sort_unstable();
        sorted.sort_unstable();
        assert_eq!(sorted, shown);
        let hidden = ["channel", "hook", "__candidates"];
        assert!(hidden.iter().all(|name| command.find_subcommand(name).is_some_and(Command::is_hide_set)));
    }

    #[test]
    fn a_row_of_the_list_fits_an_ordinary_terminal() {
        let text = grouped(&Cli::command());
        let long: Vec<&str> = text.lines().filter(|line| line.chars().count() > 90).collect();
        assert!(long.is_empty(), "{long:#?}");
    }

    #[test]
    fn what_is_not_for_people_is_not_completed() {
        let shown = for_people(&command());
        assert!(shown.find_subcommand("channel").is_none() && shown.find_subcommand("run").is_some());
        let run = shown.find_subcommand("run").unwrap();
        assert!(run.get_arguments().all(|argument| argument.get_id() != "held"));
    }
}
