//! Finding the gate, and starting one where none runs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::net::UnixStream;

use super::{client, lock};
use crate::config::Paths;
use crate::config::{TOKEN, configuration, project, runs_inside_an_agent, variables};
use crate::failure::Failure;
use crate::fixed;

/// How long a gate may take to come up: a large journal is read first.
const START_TIMEOUT: Duration = Duration::from_secs(30);
/// A gate that was started for a session leaves after so long without work.
const IDLE_SECONDS: u64 = 600;

/// What a gate gets of the environment of the process that starts it. Sessions that are started on the page get the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Handed {
    /// All that the user has at their terminal: keys, proxies, what else Claude Code needs.
    All,
    /// [`KEPT`] alone.
    Little,
}

/// The only variables a gate gets that an agent's process starts. What an agent hands its children holds secrets of others,
/// and what a project sets.
pub(super) const KEPT: [&str; 12] = [
    "HOME",
    "USER",
    "LOGNAME",
    "PATH",
    "LANG",
    "LC_ALL",
    "TZ",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "XDG_RUNTIME_DIR",
    "RUST_BACKTRACE",
];

/// Connects to the gate, starting one if none runs.
pub(crate) async fn reach(paths: &Paths, handed: Handed) -> anyhow::Result<UnixStream> {
    // A project could otherwise bring its own gate, with its own idea of who may answer.
    paths.believe_all(project().as_deref())?;
    if let Ok(stream) = UnixStream::connect(client::socket_of(paths)).await {
        return Ok(stream);
    }
    if fixed::number("NO_AUTO_START", 0) > 0 {
        return Err(Failure::new("no gate is running", "start one with `portcullis up`").into());
    }
    // A gate would read the same and leave; here the error reaches whoever needed it, in its own words.
    configuration(paths, None)?;
    let arguments = ["serve", "--auto-started", "--leave-when-idle"].map(str::to_owned);
    let arguments = [&arguments[..], &[IDLE_SECONDS.to_string()]].concat();
    start_and_wait(paths, &arguments, handed).await
}

/// Starts a gate in the background and waits until it, or one that was faster, answers.
async fn start_and_wait(paths: &Paths, arguments: &[String], handed: Handed) -> anyhow::Result<UnixStream> {
    let logged = length(&paths.log_file);
    let mut gate = spawn(paths, arguments, handed)?;
    let give_up = Instant::now() + START_TIMEOUT;
    let mut pause = Duration::from_millis(2);
    loop {
        if let Ok(stream) = UnixStream::connect(client::socket_of(paths)).await {
            return Ok(stream);
        }
        if let Some(status) = gate.try_wait()? {
            if !status.success() {
                return Err(did_not_start(paths, logged).into());
            }
            // One that leaves without an error lost the race for the lock, and the winner will answer: unless it was a
            // gate on its way out that held it.
            if lock::holder(&paths.lock_file).is_none() {
                gate = spawn(paths, arguments, handed)?;
            }
        }
        if Instant::now() > give_up {
            return Err(does_not_answer(paths).into());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(50));
    }
}

/// Starts a gate that stays behind. Returns when it is the one that answers; false when another keeps its place.
pub(crate) async fn leave_behind(paths: &Paths, arguments: &[String]) -> anyhow::Result<bool> {
    let logged = length(&paths.log_file);
    let mut gate = spawn(paths, arguments, Handed::All)?;
    let give_up = Instant::now() + START_TIMEOUT;
    loop {
        let is_it = lock::holder(&paths.lock_file).is_some_and(|holder| Some(holder.pid) == gate.id());
        if is_it && UnixStream::connect(client::socket_of(paths)).await.is_ok() {
            return Ok(true);
        }
        match gate.try_wait()? {
            Some(status) if status.success() => return Ok(false),
            Some(_) => return Err(did_not_start(paths, logged).into()),
            None if Instant::now() > give_up => return Err(does_not_answer(paths).into()),
            None => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}

fn did_not_start(paths: &Paths, logged: u64) -> Failure {
    let what = format!("the gate could not be started:\n{}", last_words(&paths.log_file, logged));
    Failure::new(what, format!("the whole log is in {}", paths.log_file.display()))
}

fn does_not_answer(paths: &Paths) -> Failure {
    let what = format!("no gate answers on {} after {} s", client::socket_of(paths).display(), START_TIMEOUT.as_secs());
    Failure::new(what, format!("look into {}", paths.log_file.display()))
}

fn spawn(paths: &Paths, arguments: &[String], handed: Handed) -> anyhow::Result<tokio::process::Child> {
    paths.prepare()?;
    let log = std::fs::OpenOptions::new();
    let log = open_log(log, &paths.log_file).with_context(|| format!("opening {}", paths.log_file.display()))?;
    let mut command = tokio::process::Command::new(this_program()?);
    command.args(arguments).env_clear().envs(handed_on(handed));
    command.current_dir("/").stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    command.spawn().context("starting the gate")
}

/// What a process of ours gets of this one's environment that goes on without whoever started this one: a gate, and what a
/// gate starts for people.
pub(super) fn handed_on(handed: Handed) -> impl Iterator<Item = (OsString, OsString)> {
    let started_by_an_agent = runs_inside_an_agent();
    let is_all = handed == Handed::All && !started_by_an_agent;
    variables().filter(move |(name, _)| {
        // A gate is nobody's: the mark of a driven session is not for it. An agent chooses nobody's token.
        let is_mark = name == crate::agents::claude::process::MARK || (started_by_an_agent && name == TOKEN);
        let is_kept =
            is_all || name.to_str().is_some_and(|name| name.starts_with("PORTCULLIS_") || KEPT.contains(&name));
        is_kept && !is_mark
    })
}

/// The log starts anew when it has grown large.
fn open_log(mut options: std::fs::OpenOptions, path: &Path) -> std::io::Result<std::fs::File> {
    use std::os::unix::fs::OpenOptionsExt as _;
    const LARGEST: u64 = 4 << 20;
    let is_large = std::fs::metadata(path).is_ok_and(|about| about.len() > LARGEST);
    options.create(true).mode(0o600);
    if is_large { options.write(true).truncate(true).open(path) } else { options.append(true).open(path) }
}

/// This same file; after an upgrade, the one that took its place.
pub(crate) fn this_program() -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe().context("finding this program's own file")?;
    let text = program.to_string_lossy();
    Ok(text.strip_suffix(" (deleted)").map_or_else(|| program.clone(), PathBuf::from))
}

fn length(log: &Path) -> u64 {
    std::fs::metadata(log).map_or(0, |about| about.len())
}

/// What was logged since it had this length: an earlier failure is not this one's.
fn last_words(log: &Path, since: u64) -> String {
    let bytes = std::fs::read(log).unwrap_or_default();
    let fresh = usize::try_from(since).ok().and_then(|since| bytes.get(since..)).unwrap_or(&bytes);
    let text = String::from_utf8_lossy(fresh);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(6)..].join("\n")
}
