//! `portcullis install`: register the channel and the hooks with Claude Code.

use std::process::ExitCode;

use super::channel::working_folder;
use super::setup::consent;
use super::setup::install::{InstallOptions, InstallPlan};
use super::setup::target::{SettingsScope, Target};
use super::{log_at, paths, say};

/// Register `portcullis channel` with Claude Code, and with --hooks its hooks
///
/// Shows the change to Claude Code's own files, asks, and makes it. Other entries and the way the files are written stay
/// as they are, and doing it twice changes nothing. `portcullis uninstall` takes it back.
///
/// With --hooks permission prompts are answered from anywhere and events reach the session, also where the account does
/// not have the channel preview. Run it again after an upgrade: hooks of an older release are renewed.
///
/// What is registered is a path that stays: a program in a build or temporary folder is first copied to
/// ~/.local/bin (or $XDG_BIN_HOME).
#[derive(clap::Args)]
pub(super) struct Install {
    #[command(flatten)]
    at: At,
    /// Write hooks and the rules that go with them into the settings, too
    #[arg(long)]
    hooks: bool,
    /// The label of the sessions started so [default: the name of their folder]
    #[arg(long, value_name = "LABEL")]
    label: Option<String>,
    /// Make the change without asking
    #[arg(long)]
    yes: bool,
    /// Replace a server of this name that starts something else
    #[arg(long)]
    force: bool,
}

/// Which server in which scope.
#[derive(clap::Args)]
pub(super) struct At {
    /// For whom: all who work in the project of this folder (.mcp.json and .claude/settings.json), you in this project
    /// alone, or you in every folder (~/.claude.json and ~/.claude/settings.json)
    #[arg(long, value_name = "SCOPE", value_parser = SettingsScope::NAMES, default_value = "project")]
    scope: String,
    /// The name of the server in Claude Code
    #[arg(long, value_name = "NAME", default_value = "portcullis")]
    pub(super) name: String,
}

impl At {
    pub(super) fn scope(&self) -> SettingsScope {
        SettingsScope::named(&self.scope).unwrap_or(SettingsScope::Project)
    }

    pub(super) fn target(&self) -> anyhow::Result<Target> {
        Ok(Target::new(self.scope(), self.name.clone(), working_folder()?)?)
    }
}

impl Install {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let (hooks, label, force) = (self.hooks, self.label.clone(), self.force);
        let plan = InstallPlan::make(InstallOptions { target: self.at.target()?, hooks, label, force }, &paths()?)?;
        if plan.is_done() {
            let files = plan.files();
            let are = if files.len() == 1 { "is" } else { "are" };
            say(&format!("{} {are} up to date: nothing to change.\n", files.join(" and ")));
            return Ok(ExitCode::SUCCESS);
        }
        say(&plan.shown());
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        plan.carry_out()?;
        say(&self.summary(&plan));
        Ok(ExitCode::SUCCESS)
    }

    fn summary(&self, plan: &InstallPlan) -> String {
        let name = &self.at.name;
        let mut text = match self.at.scope() {
            SettingsScope::Project => format!(
                "Registered as {name:?} for this project. Start `claude` in this folder and approve the server when it \
                 asks.\n"
            ),
            SettingsScope::Local => {
                format!("Registered as {name:?} for you in this project, from the next session on.\n")
            }
            SettingsScope::User => {
                format!("Registered as {name:?} for you, in every folder, from the next session on.\n")
            }
        };
        if self.hooks {
            text.push_str(
                "Prompts can be answered from anywhere and events come in through hooks: see `portcullis ask list` and \
                 `portcullis say`.\n",
            );
        } else {
            text.push_str(&format!(
                "Events come in through the channel where your account has it: claude \
                 --dangerously-load-development-channels server:{name}\nWith --hooks they come in everywhere.\n"
            ));
        }
        text.push_str("`portcullis doctor` says what works for you.\n");
        if !plan.is_plain() {
            text.push_str(
                "Note: this file has comments or trailing commas. They were kept, but Claude Code reads plain JSON only \
                 and ignores the whole file.\n",
            );
        }
        if let Some(folder) = plan.folder_off_path() {
            text.push_str(&format!("Note: {} is not on your PATH.\n", folder.display()));
        }
        text
    }
}
