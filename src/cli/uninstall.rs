//! `portcullis uninstall`: take back what `install` wrote.

use std::process::ExitCode;

use serde_json::json;

use super::install::{At, Shown};
use super::setup::change;
use super::setup::consent;
use super::setup::uninstall::UninstallPlan;
use super::{log_at, paths, say};

/// Take the registration with Claude Code back, and the hooks
///
/// Removes what `install` added, by its receipt, and leaves the rest of the files as it is: a permission rule that was
/// there before stays, also one that says the same. A file that `install` made and that holds nothing else is removed.
/// The journal, the token and the program itself stay.
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
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
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
            say(&format!(
                "Nothing of {name:?} is in {}: nothing to change. --scope user, local or project names other files.\n",
                plan.files().join(", ")
            ));
            return Ok(ExitCode::SUCCESS);
        }
        say(&change::summary(plan.changes()));
        say(&match self.shown.diff {
            true => change::diffs(plan.changes()),
            false => "--diff shows every line.\n".to_owned(),
        });
        if !consent::given("Make this change?", self.yes)? {
            say("Nothing was changed.\n");
            return Ok(ExitCode::FAILURE);
        }
        let copy = plan.carry_out()?;
        say(&format!(
            "{name:?} is no longer registered. Claude Code drops the hooks of running sessions at once: rules, prompts \
             and stops no longer hold there.\n"
        ));
        if let Some(copy) = copy {
            say(&format!("The program itself stays in {}.\n", copy.display()));
        }
        Ok(ExitCode::SUCCESS)
    }
}
