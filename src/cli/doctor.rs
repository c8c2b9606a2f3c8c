//! `portcullis doctor`: what works, what does not, and what to do about it.

mod channel;
mod claude;
mod debug_log;
mod driven;
mod editor;
mod finding;
mod gate;
mod hooks;
mod mode;
mod rules;
mod servers;
mod works;

use std::process::ExitCode;

use portcullis_core::visible;
use serde_json::json;

use super::channel::working_folder;
use super::{configuration, environment, log_at, paths, say};
use finding::{Finding, Level};
use works::{Connection, Works};

/// Find out what works for you, with a remedy for each problem
///
/// Changes nothing: no gate is started, nothing is sent anywhere. `portcullis acp` and Claude Code are started for a moment,
/// the latter with a configuration that is empty and thrown away, to see what they do. Begins with what to look at first, and
/// ends with a table of what works for you, as it was found out. Exits with 1 when something is broken; warnings alone are no
/// failure.
#[derive(clap::Args)]
pub(super) struct Doctor {
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Doctor {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        log_at("error");
        let (project, paths) = (working_folder()?, paths()?);
        let gate = gate::look(&paths).await;
        // One that cannot be read is a finding already.
        let configured = configuration(&paths, None);
        let is_readable = configured.is_ok();
        let config = configured.unwrap_or_default();
        let claude = claude::look(&project, &config.claude).await;
        let mut findings = gate.findings;
        findings.extend(rules::look(&paths, &project));
        findings.extend(claude.findings);
        findings.extend(hooks::look(&project, &claude.names));
        findings.extend(servers::look(&paths, &project));
        findings.extend(hooks::old_in_sessions(&gate.sessions));
        let log = debug_log::look(&gate.sessions, &claude.names);
        findings.extend(channel::look(&claude.names, claude.has_login, &gate.sessions, &log));
        findings.extend(log.findings);
        findings.push(channel::sessions(&gate.sessions, gate.is_running));
        findings.extend(mode::look(&gate.sessions, &project));
        let editor =
            async { if is_readable { editor::look(&config.acp).await } else { editor::without_configuration() } };
        let (driven, editor) = tokio::join!(driven::look(&config), editor);
        findings.extend(driven);
        findings.push(editor);
        findings.extend(editor::running(&paths, config.approvals).await);
        let works = Works::new(&findings, log.channel_is_open);
        let failed = findings.iter().any(|finding| finding.level == Level::Fail);
        if self.json {
            let shown = json!({
                "failed": failed, "first": first(&findings), "findings": findings, "works": works.as_json(),
                "own": works.own().map(Connection::name),
            });
            say(&format!("{shown}\n"));
        } else {
            // Names of servers, folders and the like are what others have written.
            say(&visible(&in_words(&findings, &works)));
        }
        Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// Those to look at, what failed first, and then what keeps something from working.
fn first(findings: &[Finding]) -> Vec<&Finding> {
    let mut first: Vec<&Finding> = findings.iter().filter(|finding| finding.needs_a_look()).collect();
    first.sort_by_key(|finding| (finding.level != Level::Fail, finding.blocks.is_none()));
    first
}

fn in_words(findings: &[Finding], works: &Works<'_>) -> String {
    let first = first(findings);
    let mut text = String::new();
    if !first.is_empty() {
        text.push_str("Look at these first:\n");
        for (number, finding) in first.iter().enumerate() {
            let remedy = finding.remedy.as_deref().unwrap_or_default();
            text.push_str(&format!("  {}. {}: {}\n     → {remedy}\n", number + 1, finding.check, finding.what));
        }
        text.push('\n');
    }
    text.extend(findings.iter().map(Finding::in_words));
    text.push_str("\nWhat works for you:\n");
    text.push_str(&works.table());
    let count = |level| findings.iter().filter(|finding| finding.level == level).count();
    text.push_str(&match (count(Level::Fail), count(Level::Warn)) {
        (0, 0) => "\nNothing is wrong.\n".to_owned(),
        (failed, 1) => format!("\n{failed} failed, 1 warning.\n"),
        (failed, warned) => format!("\n{failed} failed, {warned} warnings.\n"),
    });
    text
}

/// Whether a variable is set to anything but nothing, 0 or false.
fn is_set(name: &str) -> bool {
    environment(name).is_some_and(|value| !value.is_empty() && value != "0" && value != "false")
}
