//! One run of the owner's command: no shell, JSON on its standard input, a plain environment, and an end in any case.

use std::process::Stdio;
use std::time::Duration;

use portcullis_core::{excerpt, mask, visible};
use portcullis_wire::notify::Alert;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::process::{Child, ChildStderr, Command};

use super::super::reach::KEPT;
use crate::fixed;

/// How long one run may take.
const TIME: Duration = Duration::from_secs(20);
/// Bytes kept of what it says on standard error.
const ERRORS: usize = 400;
/// What a child of the command still writes when the command is gone is not waited for.
const AFTERWARDS: Duration = Duration::from_millis(200);

/// Runs the command. The error says what went wrong, for people.
pub(super) async fn run(command: &[String], alert: &Alert) -> Result<(), String> {
    let Some((program, arguments)) = command.split_first() else { return Ok(()) };
    let mut prepared = Command::new(program);
    prepared.args(arguments).env_clear().current_dir("/").process_group(0).kill_on_drop(true);
    // Nothing of ours goes along: no token, and no variable that would lead to this gate.
    prepared.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(|name| KEPT.contains(&name))));
    prepared.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = prepared.spawn().map_err(|error| format!("{program} cannot be started: {error}"))?;
    let group = Group(child.id());
    let input = serde_json::to_vec(alert).map_err(|error| error.to_string())?;
    let (mut said, stderr) = (Vec::new(), child.stderr.take());
    let time = fixed::wait("NOTIFY_TIME", TIME);
    let talking = talk(&mut child, &input, stderr, &mut said);
    let status = match tokio::time::timeout(time, talking).await {
        Ok(status) => status.map_err(|error| format!("{program}: {error}"))?,
        Err(_) => return Err(format!("{program} took longer than {} s and was killed", time.as_secs_f32())),
    };
    drop(group);
    if status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&said).into_owned();
    let said = mask(said.trim()).0.into_owned();
    Err(visible(&format!("{program}: {status}: {}", excerpt(&said, Some(ERRORS)).0)).replace('\n', " "))
}

async fn talk(
    child: &mut Child,
    input: &[u8],
    stderr: Option<ChildStderr>,
    said: &mut Vec<u8>,
) -> std::io::Result<std::process::ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        // A command that reads nothing is fine.
        drop(stdin.write_all(input).await);
    }
    let Some(mut stderr) = stderr else { return child.wait().await };
    let reading = async {
        let mut buffer = [0; 4096];
        // All of it is read, so that nobody waits for a full pipe; only the start is kept.
        while let Ok(count @ 1..) = stderr.read(&mut buffer).await {
            let space = (2 * ERRORS).saturating_sub(said.len()).min(count);
            said.extend_from_slice(&buffer[..space]);
        }
    };
    let mut reading = std::pin::pin!(reading);
    let status = tokio::select! {
        status = child.wait() => status?,
        () = &mut reading => return child.wait().await,
    };
    drop(tokio::time::timeout(AFTERWARDS, reading).await);
    Ok(status)
}

/// The process group of a command. Whatever of it is left is killed when this goes.
struct Group(Option<u32>);

impl Drop for Group {
    fn drop(&mut self) {
        let leader = self.0.and_then(|pid| i32::try_from(pid).ok()).and_then(Pid::from_raw);
        if let Some(leader) = leader {
            // Nobody may be left.
            kill_process_group(leader, Signal::KILL).ok();
        }
    }
}
