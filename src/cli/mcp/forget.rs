//! `portcullis mcp forget`: the tools that are always allowed, and those that no longer are.

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
    /// As rules name them: mcp__github__create_issue; none to see those that are always allowed
    #[arg(value_name = "TOOL")]
    tools: Vec<String>,
    /// Print a JSON array of those that are forgotten, or always allowed
    #[arg(long)]
    json: bool,
}

impl Forget {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let paths = paths()?;
        let list = always_allowed(&paths);
        if self.tools.is_empty() {
            let allowed = Trusted::read(&list);
            let tools = allowed.parts(&list);
            let words = match tools.is_empty() {
                true => "No tool is always allowed. Rules are another list: portcullis rules list".to_owned(),
                false => format!("{}\nAsk for one again: portcullis mcp forget TOOL", tools.join("\n")),
            };
            told(self.json, &json!(tools), &words);
            return Ok(ExitCode::SUCCESS);
        }
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
