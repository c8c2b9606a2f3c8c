//! `portcullis man`: the manual page of each command, made from the command line itself.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context as _;
use clap::Command;
use clap_mangen::Man;

use super::help::{command, for_people};
use super::say;
use crate::failure::Failure;

/// Print a manual page, or write all of them into a folder
///
/// Read one with: portcullis man | man -l -
///
/// For `man portcullis`: portcullis man --folder ~/.local/share/man/man1
#[derive(clap::Args)]
pub(super) struct ManPage {
    /// The command; without one, the page of the program
    #[arg(value_name = "COMMAND")]
    words: Vec<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "words")]
    folder: Option<PathBuf>,
}

impl ManPage {
    pub(super) fn run(&self) -> anyhow::Result<ExitCode> {
        let mut whole = for_people(&command());
        whole.build();
        if let Some(folder) = &self.folder {
            std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
            let count = write_all(&whole, folder)?;
            say(&format!("Wrote {count} pages into {}. `man portcullis` shows the first.\n", folder.display()));
            return Ok(ExitCode::SUCCESS);
        }
        let mut found = &whole;
        for word in &self.words {
            found = found.find_subcommand(word).ok_or_else(|| {
                let what = format!("there is no command {}", crate::config::quoted(word));
                Failure::usage(what, "`portcullis help` lists the commands")
            })?;
        }
        say(&page(found)?);
        Ok(ExitCode::SUCCESS)
    }
}

fn write_all(command: &Command, folder: &std::path::Path) -> anyhow::Result<usize> {
    let file = folder.join(format!("{}.1", page_name(command)));
    std::fs::write(&file, page(command)?).with_context(|| format!("writing {}", file.display()))?;
    let mut count = 1;
    for command in command.get_subcommands() {
        count += write_all(command, folder)?;
    }
    Ok(count)
}

/// `portcullis-rules-add`.
fn page_name(command: &Command) -> String {
    command.get_bin_name().unwrap_or(command.get_name()).replace(' ', "-")
}

fn page(command: &Command) -> anyhow::Result<String> {
    let named = command.clone().name(page_name(command));
    let man =
        Man::new(named).title(page_name(command)).manual("Portcullis").source(format!("portcullis {}", super::VERSION));
    let mut text = Vec::new();
    man.render(&mut text).context("writing a manual page")?;
    Ok(String::from_utf8_lossy(&text).into_owned() + FILES)
}

/// Where things are, and what the exit codes mean: the same for all commands.
const FILES: &str = r#".SH "EXIT STATUS"
0 done, 1 an error, 2 wrong usage, 3 wrong configuration, 4 denied. \fBportcullis run\fR has more.
.SH FILES
.TP
\fI~/.config/portcullis/config.toml\fR, \fIrules.toml\fR
Settings (\fBportcullis help settings\fR) and rules.
.TP
\fI~/.local/state/portcullis/\fR
The journal, the owner's token and the log of the gate.
.PP
With \fBPORTCULLIS_HOME\fR all of them are in that folder.
"#;
