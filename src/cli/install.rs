//! `portcullis install`: register the channel and the hooks with Claude Code.

use std::ffi::OsStr;
use std::process::ExitCode;

use portcullis_core::visible;
use serde_json::json;

use super::channel::working_folder;
use super::setup::change;
use super::setup::consent;
use super::setup::git::home_of_project;
use super::setup::install::{InstallOptions, InstallPlan};
use super::setup::installed::{settings_files, without_hooks};
use super::setup::target::{SettingsScope, Target};
use super::{log_at, paths, say};
use crate::config::environment;
use crate::processes::{channel_of, claude_codes_in, started_with};

/// Register `portcullis channel` with Claude Code, and with --hooks its hooks
///
/// Says which files of Claude Code change, asks, and changes them. Other entries and the way the files are written stay
/// as they are, and doing it twice changes nothing. `portcullis uninstall` takes it back.
///
/// With --hooks permission prompts are answered from anywhere and events reach the session, also where the account does
/// not have the channel preview. Run it again after an upgrade: hooks of an older release are renewed.
///
/// What is registered is a path that stays: a program in a build or temporary folder is first copied to
/// ~/.local/bin (or $XDG_BIN_HOME). It is never written into a file that others pull.
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
    #[command(flatten)]
    shown: Shown,
}

/// Which server in which scope.
#[derive(clap::Args)]
pub(super) struct At {
    /// For whom: you in this project (~/.claude.json and .claude/settings.local.json), you in every folder
    /// (~/.claude.json and ~/.claude/settings.json), or all who work in the project (.claude/settings.json: hooks that
    /// name no path and do nothing where Portcullis is not installed; server and rules for you alone)
    #[arg(long, value_name = "SCOPE", value_parser = SettingsScope::NAMES, default_value = "local")]
    scope: String,
    /// The name of the server in Claude Code
    #[arg(long, value_name = "NAME", default_value = "portcullis")]
    pub(super) name: String,
}

/// How a change is shown before it is made.
#[derive(clap::Args)]
pub(super) struct Shown {
    /// Show every line that changes, not only which files
    #[arg(long)]
    pub(super) diff: bool,
    /// Print one JSON object: the files, what changes in each, and the diff. Changes nothing without --yes
    #[arg(long)]
    pub(super) json: bool,
}

impl At {
    pub(super) fn scope(&self) -> SettingsScope {
        SettingsScope::named(&self.scope).unwrap_or(SettingsScope::Local)
    }

    pub(super) fn target(&self) -> anyhow::Result<Target> {
        Ok(Target::new(self.scope(), self.name.clone(), working_folder()?)?)
    }
}

impl Install {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        log_at("error");
        let (hooks, label, force) = (self.hooks, self.label.clone(), self.force);
        let plan = InstallPlan::make(InstallOptions { target: self.at.target()?, hooks, label, force }, &paths()?)?;
        if self.shown.json {
            return self.as_json(&plan);
        }
        if plan.is_done() {
            let files = plan.files();
            let are = if files.len() == 1 { "is" } else { "are" };
            say(&format!("{} {are} up to date: nothing to change.\n", files.join(" and ")));
            say(&unreadable(&plan).unwrap_or_default());
            say(&self.switched_off()?.unwrap_or_default());
            return Ok(ExitCode::SUCCESS);
        }
        say(&plan.place.announcement().unwrap_or_default());
        say(&change::summary(plan.changes(), ""));
        if plan.moves() {
            say(
                "What an earlier release wrote into the files of the project is moved: it names a path of this machine.\n",
            );
        }
        say(&self.of_subfolder()?.unwrap_or_default());
        say(&match self.shown.diff {
            true => change::diffs(plan.changes()),
            false => "--diff shows every line.\n".to_owned(),
        });
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        plan.carry_out()?;
        say(&self.summary(&plan)?);
        Ok(ExitCode::SUCCESS)
    }

    fn as_json(&self, plan: &InstallPlan) -> anyhow::Result<ExitCode> {
        if self.yes {
            plan.carry_out()?;
        }
        let shown = json!({
            "scope": self.at.scope().name(), "program": plan.place.path(), "made": self.yes && !plan.is_done(),
            "files": change::as_json(plan.changes()), "running": self.running(plan)?,
        });
        say(&format!("{shown}\n"));
        Ok(ExitCode::SUCCESS)
    }

    /// Sessions of Claude Code that have read this configuration already, and do not have the server as it is now.
    fn running(&self, plan: &InstallPlan) -> anyhow::Result<Vec<u32>> {
        let target = self.at.target()?;
        let folder = match target.scope {
            SettingsScope::User => None,
            SettingsScope::Project | SettingsScope::Local => Some(home_of_project(&target.folder)),
        };
        // One that has kept the server over an `uninstall` has what is registered now.
        let is_settled =
            |pid: &u32| channel_of(*pid).is_some_and(|words| !plan.changes_server() || plan.starts_server_as(&words));
        Ok(claude_codes_in(folder.as_deref())
            .into_iter()
            .filter(reads_our_files)
            .filter(|pid| !is_settled(pid))
            .collect())
    }

    /// What keeps Claude Code from calling the hooks that were written.
    fn switched_off(&self) -> anyhow::Result<Option<String>> {
        let settings = settings_files(&working_folder()?, &environment);
        let file = without_hooks(&settings).filter(|_| self.hooks).map(|settings| settings.file.display());
        Ok(file.map(|file| {
            format!("It does NOT work yet: disableAllHooks is true in {file}, so that no hook is called. Remove that line.\n")
        }))
    }

    /// The shared settings, as they are called in the repository.
    fn shared_settings(&self) -> anyhow::Result<String> {
        let target = self.at.target()?;
        let (file, root) = (target.shared_settings(), home_of_project(&target.folder));
        Ok(visible(&file.strip_prefix(root).unwrap_or(&file).display().to_string()))
    }

    /// Which sessions read hooks that a subfolder shares. Claude Code reads shared settings in the folder where it is started
    /// and in none above it, and servers and a user's own settings of the whole repository (seen with 2.1.325).
    fn of_subfolder(&self) -> anyhow::Result<Option<String>> {
        let target = self.at.target()?;
        let root = home_of_project(&target.folder);
        let is_below =
            target.scope == SettingsScope::Project && target.folder != root && target.folder.starts_with(&root);
        Ok(is_below.then(|| {
            visible(&format!(
                "Claude Code reads {} only where it is started in {}. For sessions that start in {} run this there.\n",
                self.shared_settings().unwrap_or_default(),
                target.folder.display(),
                root.display()
            ))
        }))
    }

    fn summary(&self, plan: &InstallPlan) -> anyhow::Result<String> {
        let name = &self.at.name;
        let from = match plan.changes_server() {
            true => "from the next session on",
            false => "within seconds in sessions that have the server",
        };
        let mut text = match self.at.scope() {
            SettingsScope::Project => format!(
                "Registered as {name:?} for you in this project. Commit {}: others who pull it get the hooks once they have \
                 run `portcullis install`, and nothing before.\n",
                self.shared_settings()?
            ),
            SettingsScope::Local => format!("Registered as {name:?} for you in this project, {from}.\n"),
            SettingsScope::User => format!("Registered as {name:?} for you, in every folder, {from}.\n"),
        };
        let running = self.running(plan)?;
        if !running.is_empty() {
            let pids: Vec<String> = running.iter().map(u32::to_string).collect();
            text.push_str(&format!(
                "Claude Code runs here already (pid {}). Start it again: a running session does not start the server.\n",
                pids.join(", ")
            ));
        }
        if let Some(warning) = unreadable(plan) {
            text.push_str(&warning);
        } else if let Some(warning) = self.switched_off()? {
            text.push_str(&warning);
        } else if self.hooks {
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
        if let Some(folder) = plan.folder_off_path() {
            text.push_str(&format!("Note: {} is not on your PATH.\n", folder.display()));
        }
        Ok(text)
    }
}

/// Whether a Claude Code has the configuration of this user, and not one in another home.
fn reads_our_files(pid: &u32) -> bool {
    let Some(theirs) = started_with(*pid) else { return true };
    ["HOME", "CLAUDE_CONFIG_DIR"].into_iter().all(|name| theirs.get(OsStr::new(name)) == environment(name).as_ref())
}

/// What keeps Claude Code from reading what was written.
fn unreadable(plan: &InstallPlan) -> Option<String> {
    let files = plan.unreadable_files();
    (!files.is_empty()).then(|| {
        format!(
            "It does NOT work yet: Claude Code reads plain JSON only and ignores a file with comments or trailing commas. \
             Remove them from {}.\n",
            files.join(" and ")
        )
    })
}
