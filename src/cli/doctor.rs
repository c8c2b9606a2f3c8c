//! `portcullis doctor`: what works, what does not, and what to do about it.

mod channel;
mod claude;
mod finding;
mod gate;
mod hooks;
mod works;

use std::process::ExitCode;

use serde_json::json;

use super::channel::working_folder;
use super::{environment, log_at, paths, say};
use finding::{Finding, Level};

/// Find out what works for you, with a remedy for each problem
///
/// Changes nothing: no gate is started, nothing is sent anywhere. Ends with a table of what works for you. Exits with 1
/// when something is broken; warnings alone are no failure.
#[derive(clap::Args)]
pub(super) struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("error");
        let project = working_folder()?;
        let gate = gate::look(&paths()?).await;
        let claude = claude::look(&project).await;
        let mut findings = gate.findings;
        findings.extend(claude.findings);
        let hooks = hooks::look(&project, &claude.names);
        findings.extend(hooks.findings);
        findings.extend(hooks::old_in_sessions(&gate.sessions));
        findings.extend(channel::look(&claude.names, &gate.sessions));
        findings.push(channel::sessions(&gate.sessions, gate.is_running));
        let own = match (claude.is_registered, hooks.are_installed) {
            (true, true) => Some("hooks"),
            (true, false) => Some("channel"),
            (false, _) => None,
        };
        let failed = findings.iter().any(|finding| finding.level == Level::Fail);
        if self.json {
            let shown = json!({"failed": failed, "findings": findings, "works": works::as_json(), "own": own});
            say(&format!("{shown}\n"));
        } else {
            say(&in_words(&findings, own));
        }
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

fn in_words(findings: &[Finding], own: Option<&str>) -> String {
    let mut text: String = findings.iter().map(Finding::in_words).collect();
    text.push_str("\nWhat works for you:\n");
    text.push_str(&works::table(own));
    text.push_str(match own {
        Some("hooks") => "  [hooks] are installed here. Events while idle need a session at a terminal.\n",
        Some(_) => "  [channel] is registered here. It works where Claude Code enables it: see the lines above.\n",
        None => "",
    });
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    text.push_str(&match (count(Level::Fail), count(Level::Warn)) {
        (0, 0) => "\nNothing is wrong.\n".to_owned(),
        (failed, warned) => format!("\n{failed} failed, {warned} warnings.\n"),
    });
    text
}

/// Whether a variable is set to anything but nothing, 0 or false.
fn is_set(name: &str) -> bool {
    environment(name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}
