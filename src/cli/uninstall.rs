//! `portcullis uninstall`: take back what `install` wrote.

use std::path::Path;
use std::process::ExitCode;

use portcullis_core::{shell_word, visible};
use portcullis_wire::api::SessionView;
use serde_json::json;

use super::channel::working_folder;
use super::client::Client;
use super::install::{At, Shown};
use super::setup::change;
use super::setup::consent;
use super::setup::git::home_of_project;
use super::setup::installed::files_with_hooks;
use super::setup::target::{SettingsScope, Target};
use super::setup::uninstall::{UninstallPlan, other_names};
use super::{environment, log_at, paths, say};

/// Take the registration with Claude Code back, and the hooks
///
/// Removes what `install` added, by its receipt, and leaves the rest of the files as it is: a permission rule that was
/// there before stays, also one that says the same. A file that `install` made and that holds nothing else is removed.
/// An installation under another name stays whole. The journal, the token and the program itself stay.
#[derive(clap::Args)]
pub(super) struct Uninstall {
    #[command(flatten)]
    at: At,
    /// Make the change without asking
    #[arg(long)]
    yes: bool,
    /// Remove a server of this name although it starts something else
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    shown: Shown,
}

impl Uninstall {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("warn");
        let name = &self.at.name;
        let plan = UninstallPlan::make(&self.at.target()?, self.force, &paths()?)?;
        if self.shown.json {
            if self.yes {
                plan.carry_out()?;
            }
            let made = self.yes && !plan.is_done();
            let scope = self.at.scope().name();
            say(&format!("{}\n", json!({"scope": scope, "made": made, "files": change::as_json(plan.changes())})));
            return Ok(ExitCode::SUCCESS);
        }
        if plan.is_done() {
            let whose = match self.at.scope() {
                SettingsScope::Local => "for you in this project",
                SettingsScope::User => "for you in every folder",
                SettingsScope::Project => "for all who work in this project",
            };
            let files = plan.files().join(", ");
            say(&format!("Nothing of {name:?} {whose} is in {files}: nothing to change.\n"));
            for scope in self.at.other_scopes_with_it()? {
                say(&format!("It is installed with --scope {0}: `portcullis uninstall --scope {0}`\n", scope.name()));
            }
            say(&self.at.under_other_names("It is installed")?);
            return Ok(ExitCode::SUCCESS);
        }
        say(&change::summary(plan.changes(), " taken out"));
        say(&match self.shown.diff {
            true => change::diffs(plan.changes()),
            false => "--diff shows every line.\n".to_owned(),
        });
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        let copy = plan.carry_out()?;
        say(&format!("{name:?} is no longer registered.\n"));
        say(&self.at.under_other_names("Portcullis is still installed")?);
        say(&running(&self.at).await);
        if let Some(copy) = copy {
            say(&format!("The program itself stays in {}.\n", copy.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}

impl At {
    /// How to take back what is installed in this scope under another name.
    fn under_other_names(&self, is_installed: &str) -> anyhow::Result<String> {
        let scope = match self.scope() {
            SettingsScope::User => " --scope user",
            // What a project shares has no name. Server and rules are where those of this user alone are.
            SettingsScope::Local | SettingsScope::Project => "",
        };
        let words = |name: &String| {
            format!("{is_installed} as {name:?}: `portcullis uninstall --name {}{scope}`\n", shell_word(name))
        };
        Ok(other_names(&self.target()?)?.iter().map(words).collect())
    }

    /// The other scopes in whose files something of this server is.
    fn other_scopes_with_it(&self) -> anyhow::Result<Vec<SettingsScope>> {
        let (folder, paths) = (working_folder()?, paths()?);
        let others = SettingsScope::NAMES.into_iter().filter_map(SettingsScope::named);
        let has_it = |scope: &SettingsScope| {
            let target = Target::new(*scope, self.name.clone(), folder.clone());
            // A file that cannot be read is not this command's to report: it is no file of the scope that was named.
            target.is_ok_and(|target| UninstallPlan::make(&target, false, &paths).is_ok_and(|plan| !plan.is_done()))
        };
        Ok(others.filter(|scope| *scope != self.scope()).filter(has_it).collect())
    }
}

/// The sessions that had what was taken away, and those that have it by another scope or name. Claude Code drops hooks of a
/// running session when it sees that the file has changed; its MCP server stays until the session ends (both seen with
/// 2.1.325).
async fn running(at: &At) -> String {
    let Ok(gate) = Client::of_the_gate() else { return String::new() };
    let mut sessions: Vec<SessionView> = gate.get("/api/v1/sessions").await.unwrap_or_default();
    let here = working_folder().ok().map(|folder| home_of_project(&folder));
    let is_here = |session: &SessionView| {
        let project = session.folder.as_ref().map(|folder| home_of_project(Path::new(folder)));
        at.scope() == SettingsScope::User || project == here
    };
    sessions.retain(|session| session.state == "attached" && !session.driven && is_here(session));
    let files = |session: &SessionView| match &session.folder {
        Some(folder) => files_with_hooks(Path::new(folder), &environment),
        None => vec![],
    };
    let (lost, kept): (Vec<_>, Vec<_>) =
        sessions.iter().map(|session| (&session.label, files(session))).partition(|(_, files)| files.is_empty());
    let mut text = String::new();
    if !lost.is_empty() {
        let labels: Vec<&str> = lost.iter().map(|(label, _)| label.as_str()).collect();
        text.push_str(&format!(
            "Still running: {}. Within seconds Claude Code drops the hooks there, and then no rule, prompt or stop holds; the \
             connection ends with the session.\n",
            labels.join(", ")
        ));
    }
    for (label, files) in kept {
        let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
        text.push_str(&format!(
            "Still running: {label}, which keeps its hooks: they are in {}.\n",
            files.join(" and ")
        ));
    }
    visible(&text)
}
