//! What Claude Code itself wrote down about our server, where a session keeps a debug log.

use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};

use portcullis_core::visible;
use portcullis_wire::api::SessionView;

use super::finding::{Blocks, Finding};
use crate::cli::environment;
use crate::cli::setup::claude::ClaudeFiles;
use crate::processes::arguments_of;

const CHECK: &str = "debug log";
/// The end of a log is enough, and a log may be long.
const READ: u64 = 1 << 20;
/// Lines shown of each log.
const LINES: usize = 3;
const WIDEST: usize = 200;
/// What Claude Code writes where it does not take a channel (seen with 2.1.325), and where it does.
const SKIPPED: &str = "Channel notifications skipped: ";
const REGISTERED: &str = "Channel notifications registered";

#[derive(Default)]
pub(super) struct DebugLogs {
    pub(super) findings: Vec<Finding>,
    /// A session says that it reads the channel.
    pub(super) channel_is_open: bool,
    /// Why one says that it does not.
    pub(super) channel_is_skipped: Option<String>,
}

pub(super) fn look(sessions: &[SessionView], names: &[String]) -> DebugLogs {
    let mut logs = DebugLogs::default();
    let servers: Vec<&str> = names.iter().filter_map(|name| name.strip_prefix("server:")).collect();
    for session in sessions.iter().filter(|session| session.state == "attached" && !session.driven) {
        let Some(file) = log_of(session) else { continue };
        let text = end_of(&file).unwrap_or_default();
        let is_about_us = |line: &&str| {
            line.contains("Channel notifications")
                || servers.iter().any(|server| line.contains(&format!("MCP server \"{server}\"")))
        };
        let lines: Vec<&str> = text.lines().filter(is_about_us).collect();
        logs.channel_is_open |= lines.iter().any(|line| line.contains(REGISTERED));
        let skipped = lines.iter().rev().find_map(|line| line.split_once(SKIPPED));
        logs.channel_is_skipped = logs.channel_is_skipped.take().or(skipped.map(|(_, why)| visible(why)));
        let last: Vec<String> = lines.iter().rev().take(LINES).rev().map(|line| cut(line)).collect();
        let what = match last.as_slice() {
            [] => format!("of session {}: {} says nothing about the server", session.label, file.display()),
            last => format!(
                "of session {}: {}:{}",
                session.label,
                file.display(),
                last.iter().map(|line| format!("\n{:<24}{line}", "")).collect::<String>()
            ),
        };
        logs.findings.push(Finding::note(CHECK, what));
    }
    if logs.findings.is_empty() && !sessions.is_empty() {
        let what = "no session keeps one";
        logs.findings.push(Finding::note(CHECK, what).with("`claude --debug` writes down what becomes of the server"));
    }
    logs
}

impl DebugLogs {
    /// The client's own words on whether the channel is switched on.
    pub(super) fn rollout(&self) -> Option<Finding> {
        const CHECK: &str = "channel: rollout";
        match &self.channel_is_skipped {
            _ if self.channel_is_open => Some(Finding::ok(CHECK, "a session of yours takes events from the channel")),
            Some(why) => {
                let what = format!("Claude Code says: {why}");
                Some(
                    Finding::note(CHECK, what)
                        .with("hooks need no channel: `portcullis install --hooks`")
                        .blocking(Blocks::Channel),
                )
            }
            None => None,
        }
    }
}

/// The file that the session was told, or else the one that Claude Code keeps for it.
fn log_of(session: &SessionView) -> Option<PathBuf> {
    let arguments = session.pid.and_then(arguments_of).unwrap_or_default();
    let told = arguments.iter().enumerate().find_map(|(at, word)| match word.split_once('=') {
        Some(("--debug-file", file)) => Some(file.to_owned()),
        None if word == "--debug-file" => arguments.get(at + 1).cloned(),
        _ => None,
    });
    let folder = session.folder.as_ref().map(Path::new);
    let told = told.map(|file| folder.map_or_else(|| PathBuf::from(&file), |folder| folder.join(&file)));
    let usual = || {
        let files = ClaudeFiles::find(&environment).ok()?;
        Some(files.folder.join("debug").join(format!("{}.txt", session.agent_session.as_deref()?)))
    };
    told.or_else(usual).filter(|file| file.is_file())
}

fn end_of(file: &Path) -> std::io::Result<String> {
    let mut file = std::fs::File::open(file)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(READ)))?;
    let mut bytes = vec![];
    file.take(READ).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn cut(line: &str) -> String {
    visible(line.trim_end()).chars().take(WIDEST).collect()
}
