//! `portcullis plugin`: a folder that Claude Code can install Portcullis from.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use portcullis_core::shell_word;

use super::setup::lock::ChangeLock;
use super::setup::place;
use super::setup::plugin::{self, NAME};
use super::{environment, log_at, paths, say};

/// Write a plugin for Claude Code into a folder
///
/// The folder is a marketplace with one plugin: the MCP server, the hooks, and a skill that explains the commands. Claude Code
/// installs it from there; the commands for that are printed. Written again, it is brought up to date.
///
/// The plugin does the same as `portcullis install --hooks`, for all of your projects: use one of the two. It brings
/// no rules: Claude Code asks before `reply`, `edit_message` and `inbox` are used, and only Portcullis enforces your deny rules.
#[derive(clap::Args)]
pub(super) struct Plugin {
    /// The folder to write: a new one, an empty one, or one that this command wrote
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

impl Plugin {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let folder = std::path::absolute(&self.folder).context("finding the folder")?;
        plugin::check_folder(&folder)?;
        let place = place::choose(&place::this_program()?, &environment)?;
        if let Some(announcement) = place.announcement() {
            say(&announcement);
        }
        let _lock = ChangeLock::take(&paths()?)?;
        place.settle()?;
        plugin::write(&folder, place.path())?;
        say(&summary(&folder));
        Ok(ExitCode::SUCCESS)
    }
}

fn summary(folder: &Path) -> String {
    let folder = shell_word(&folder.display().to_string());
    format!(
        "Wrote the plugin to {folder}. Leave the folder where it is, and tell Claude Code about it:
  claude plugin marketplace add {folder}
  claude plugin install {NAME}@{NAME}
Prompts can be answered from anywhere and events come in through hooks. Where your account has the channel, too:
  claude --dangerously-load-development-channels plugin:{NAME}@{NAME}
If you used `portcullis install` before, take that back with `portcullis uninstall`: one of the two is enough.
"
    )
}
