//! `portcullis hook`: what Claude Code runs when a session starts, ends or is woken, and in a project whose hooks are
//! shared also for everything else.

use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use portcullis_core::visible;
use portcullis_wire::hooks::{HOOKS_VERSION, HookCall, HookEvent, watch};
use serde_json::{Value, json};

use super::broken::broken_files;
use super::channel::working_folder;
use super::setup::installed::has_hooks_of_own;
use super::{environment, log_at, paths, say};
use crate::agents::claude::hooks::{self, Announced, HookOutput, HookWait};
use crate::config::Paths;
use crate::processes;

/// What Claude Code's hooks run when a session starts, ends or is woken
///
/// Hooks that a project shares (`portcullis install --hooks --scope project`) run it at every moment.
///
/// Reads one hook call as JSON on standard input. `portcullis install --hooks` registers it. Whatever goes wrong, it
/// says nothing and exits with 0, so that Claude Code goes on by itself.
#[derive(clap::Args)]
pub(super) struct Hook {}

/// The longest a call may be.
const LONGEST: u64 = 16 << 20;
/// Claude Code shows the model what a hook says on standard error when it exits so.
const FOR_THE_MODEL: u8 = 2;

impl Hook {
    pub(super) async fn run(self) -> ExitCode {
        log_at("error");
        match answer().await {
            Ok(code) => code,
            Err(error) => {
                tracing::debug!("{error:#}");
                ExitCode::SUCCESS
            }
        }
    }
}

async fn answer() -> anyhow::Result<ExitCode> {
    let mut text = Vec::new();
    std::io::stdin().lock().take(LONGEST).read_to_end(&mut text)?;
    let mut arguments: Value = serde_json::from_slice(&text)?;
    let call = HookCall::read(&arguments)?;
    // A session that `portcullis run` holds is served by its holder.
    let agent = number("CLAUDE_PID").filter(|agent| !processes::is_driven(*agent));
    let Some(agent) = agent else { return Ok(ExitCode::SUCCESS) };
    let paths = paths()?;
    let (socket, file) = (paths.session_socket(agent), paths.wake_file(agent));
    let mut code = ExitCode::SUCCESS;
    match call.event {
        HookEvent::SessionStart => {
            let announced = Announced { is_watched: is_attended(), is_forked: call.is_fork() };
            let is_there = announce(&paths, &file, &call, announced).is_ok();
            let watched = is_there && announced.is_watched;
            let mut told = if watched { watch(&[file.display().to_string()]) } else { json!({}) };
            let broken = broken_files(&paths, [working_folder()?.as_path()]);
            if !broken.is_empty() && announced.is_watched {
                told["systemMessage"] = visible(&format!("portcullis: {}", broken.join("; "))).into();
            }
            if told != json!({}) {
                say(&format!("{told}\n"));
            }
            arguments["watched"] = Value::Bool(watched);
            hooks::call_session(&socket, &arguments, HookWait::Short, |_| {}).await?;
        }
        HookEvent::SessionEnd => {
            if call.reason.as_deref() != Some("clear") {
                hooks::forget(&file);
            }
            hooks::call_session(&socket, &arguments, HookWait::Short, |_| {}).await?;
        }
        HookEvent::FileChanged if arguments["file_path"].as_str() == file.to_str() => {
            let show = |told: &HookOutput| {
                if let Some(text) = told.output.as_str() {
                    let mut stderr = std::io::stderr().lock();
                    // Claude Code may be gone; then so is the session, and the event goes to the next.
                    if stderr.write_all(text.as_bytes()).and_then(|()| stderr.flush()).is_ok() {
                        code = ExitCode::from(FOR_THE_MODEL);
                    }
                }
            };
            hooks::call_session(&socket, &arguments, HookWait::Short, show).await?;
        }
        HookEvent::FileChanged => {}
        _ if has_hooks_of_own(&working_folder()?, &environment) => {}
        event => {
            // Hooks of this form came with this version.
            arguments["hooks_version"] = HOOKS_VERSION.to_string().into();
            let decides = matches!(event, HookEvent::PermissionRequest | HookEvent::PreToolUse);
            let wait = if decides { HookWait::ForPeople } else { HookWait::Short };
            let show = |told: &HookOutput| {
                if !told.output.is_null() {
                    say(&format!("{}\n", told.output));
                }
            };
            hooks::call_session(&socket, &arguments, wait, show).await?;
        }
    }
    Ok(code)
}

fn announce(paths: &Paths, file: &Path, call: &HookCall, announced: Announced) -> anyhow::Result<()> {
    paths.prepare()?;
    Ok(hooks::announce(file, call.session_id.as_deref().unwrap_or_default(), announced)?)
}

/// Nobody waits at a terminal where Claude Code runs for a script: there a wake would hold it up.
fn is_attended() -> bool {
    environment("CLAUDE_CODE_SESSION_ATTENDED").is_some_and(|value| value == "1")
}

fn number(variable: &str) -> Option<u32> {
    environment(variable)?.to_str()?.parse().ok()
}
