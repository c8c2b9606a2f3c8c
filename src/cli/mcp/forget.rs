//! `portcullis mcp forget`: tools that are no longer always allowed.

use std::process::ExitCode;

use serde_json::json;

use super::super::paths;
use super::change::told;
use super::serve::always_allowed;
use crate::failure::Failure;
use crate::rules::Trusted;
use crate::setup::lock::ChangeLock;

#[derive(clap::Args)]
pub(super) struct Forget {
    /// As rules name them: mcp__github__create_issue
    #[arg(required = true, value_name = "TOOL")]
    tools: Vec<String>,
    /// Print a JSON array of those that are forgotten
    #[arg(long)]
    json: bool,
}

impl Forget {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let paths = paths()?;
        let list = always_allowed(&paths);
        let _lock = ChangeLock::take(&paths)?;
        let mut allowed = Trusted::read(&list);
        let (known, unknown): (Vec<_>, Vec<_>) =
            self.tools.into_iter().partition(|tool| allowed.remove_part(&list, tool));
        if !known.is_empty() {
            allowed.write(&list)?;
        }
        if !known.is_empty() {
            let words: Vec<String> = known.iter().map(|tool| format!("{tool} is asked for again.")).collect();
            told(self.json, &json!(known), &words.join("\n"));
        }
        if !unknown.is_empty() {
            let hint = "rules are another list: `portcullis rules list` shows them";
            return Err(Failure::new(format!("not always allowed: {}", unknown.join(", ")), hint).into());
        }
        Ok(ExitCode::SUCCESS)
    }
}
