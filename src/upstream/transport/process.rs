//! A program that we start as a server: its streams, what it says on standard error, and its whole process group gone with it.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use portcullis_core::mask;
use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio_util::sync::CancellationToken;

use crate::config::{users_variable, users_variables};
use crate::locks::locked;
use crate::upstream::config::Endpoint;

/// As much of what it said on standard error is kept, for errors.
const STDERR_KEPT: usize = 64 << 10;
/// Lines in which a program shows where it failed, behind the line that says why.
const TRACE: usize = 40;
/// What a server said last may still be on its way when its end is seen.
const LAST_STDERR: Duration = Duration::from_millis(300);
/// What a server has to end by itself, after its input was closed and it was interrupted.
const AFTER_INT: Duration = Duration::from_millis(100);
/// And after it was asked once more.
const AFTER_TERM: Duration = Duration::from_millis(400);
/// What was killed is gone by now; no later.
const AFTER_KILL: Duration = Duration::from_millis(100);
/// How often it is looked whether the group is gone.
const LOOK: Duration = Duration::from_millis(10);

/// Names that are handed to a server where the user wants no more: `CLAUDE_CODE_MCP_ALLOWLIST_ENV=1`.
const BASELINE: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// The end of what a server said on standard error. Filled by a task of its own, read by errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct StderrRing {
    kept: Arc<Mutex<VecDeque<u8>>>,
    /// Cancelled when there is no more to come.
    ended: CancellationToken,
}

impl StderrRing {
    /// Waits a moment for the last words of a server that has ended.
    pub(crate) async fn all_said(self) -> Self {
        drop(tokio::time::timeout(LAST_STDERR, self.ended.cancelled()).await);
        self
    }

    /// The last lines, behind the line that says what went wrong where it came before them. For people and for clients, and
    /// thus without secrets, also such as began in a line before.
    pub(crate) fn last_lines(&self, most: usize) -> String {
        let text = String::from_utf8_lossy(locked(&self.kept).make_contiguous()).trim_end().to_owned();
        let masked = mask(&text).0;
        let lines: Vec<&str> = masked.lines().collect();
        let (before, last) = lines.split_at(lines.len().saturating_sub(most));
        let mut told: Vec<&str> = vec![];
        if !last.iter().any(|line| names_error(line))
            && let Some(error) = before.iter().rev().take(TRACE).position(|line| names_error(line))
        {
            told.push(before[before.len() - 1 - error]);
            told.extend((error > 0).then_some("…"));
        }
        told.extend(last);
        told.join("\n")
    }

    /// Keeps why the server is ended by us, and nothing of what it says of that.
    pub(super) fn end_with(&self, why: &str) {
        self.add(format!("{why}\n").as_bytes());
        self.ended.cancel();
    }

    async fn fill(self, mut stderr: UnixStream) {
        let mut piece = [0; 4096];
        while let Ok(read @ 1..) = stderr.read(&mut piece).await {
            if !self.ended.is_cancelled() {
                self.add(&piece[..read]);
            }
        }
        self.ended.cancel();
    }

    pub(super) fn add(&self, piece: &[u8]) {
        let mut kept = locked(&self.kept);
        kept.extend(piece);
        let surplus = kept.len().saturating_sub(STDERR_KEPT);
        kept.drain(..surplus);
    }
}

/// Whether a line says what went wrong, and is no place in a program.
fn names_error(line: &str) -> bool {
    let line = line.trim_start();
    let words = ["error", "exception", "panicked", "fatal", "cannot", "not found"];
    !line.starts_with("at ") && words.iter().any(|word| line.to_ascii_lowercase().contains(word))
}

/// A server that runs, and our ends of its streams.
pub(crate) struct StartedServer {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
    pub(crate) process: ServerProcess,
    pub(crate) stderr: StderrRing,
}

impl StartedServer {
    /// Starts the server; under `guard`, which is this program, where it has to go even when we are killed.
    pub(crate) fn start(endpoint: &Endpoint, folder: &Path, guard: Option<&Path>) -> io::Result<Self> {
        let Endpoint::Stdio { command, args, env } = endpoint else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the server is no program"));
        };
        if !is_there(command, env.get("PATH").map(String::as_str), folder) {
            let why = if command.contains('/') { "there is no such file" } else { "it is not on the PATH" };
            return Err(io::Error::new(io::ErrorKind::NotFound, why));
        }
        let mut starting = match guard {
            Some(guard) => {
                let mut guarded = Command::new(guard);
                guarded.args(["__guard", "--"]).arg(command);
                guarded
            }
            None => Command::new(command),
        };
        starting
            .args(args)
            .current_dir(folder)
            .env_clear()
            .envs(handed_down())
            .env("CLAUDE_PROJECT_DIR", folder)
            .envs(env);
        // The guard reads from it, and its end means that we are gone.
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let stderr = UnixStream::from_std(ours)?;
        starting.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(OwnedFd::from(theirs)).process_group(0);
        let mut child = starting.spawn()?;
        // It holds the other end of the socket: only the server may.
        drop(starting);
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let ring = StderrRing::default();
        tokio::spawn(ring.clone().fill(stderr));
        let process = ServerProcess::leading(child, guard.is_some());
        Ok(Self { stdin, stdout, process, stderr: ring })
    }
}

/// Whether there is a program to start. Under a guard nobody else would say so before the server is waited for.
fn is_there(command: &str, path: Option<&str>, folder: &Path) -> bool {
    if command.contains('/') {
        return folder.join(command).exists();
    }
    let path = path.map(Into::into).or_else(|| users_variable("PATH"));
    // Where there is none, the system has a place of its own to look.
    path.is_none_or(|path| std::env::split_paths(&path).any(|place| folder.join(place).join(command).is_file()))
}

/// What a server, or a helper of one, finds in its environment: the user's, without what is meant for the gate.
pub(crate) fn handed_down() -> impl Iterator<Item = (std::ffi::OsString, std::ffi::OsString)> {
    let all = users_variables();
    let only_baseline = all.iter().any(|(name, value)| name == "CLAUDE_CODE_MCP_ALLOWLIST_ENV" && value == "1");
    all.into_iter().filter(move |(name, _)| {
        let name = name.to_string_lossy();
        !name.starts_with("PORTCULLIS_") && (!only_baseline || BASELINE.contains(&name.as_ref()))
    })
}

/// The server and everything that it started and did not take out of its group.
pub(crate) struct ServerProcess {
    child: Child,
    group: Option<Pid>,
    /// A guard leads the group. It alone finds what the server has taken out of the group, so it is never killed.
    is_guarded: bool,
}

impl ServerProcess {
    /// A program that leads a group of its own.
    pub(crate) fn new(child: Child) -> Self {
        Self::leading(child, false)
    }

    fn leading(child: Child, is_guarded: bool) -> Self {
        Self { group: child.id().and_then(|pid| Pid::from_raw(pid.cast_signed())), child, is_guarded }
    }

    /// Waits until the program itself has ended.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.child.wait().await
    }

    /// Interrupts it, asks it, and kills it; 600 ms at most.
    pub(crate) async fn end(&mut self) {
        for (signal, time) in [(Signal::INT, AFTER_INT), (Signal::TERM, AFTER_TERM), (Signal::KILL, AFTER_KILL)] {
            if self.is_gone() {
                break;
            }
            match signal {
                Signal::KILL => self.kill(),
                signal => self.signal(signal),
            }
            let until = Instant::now() + time;
            while !self.is_gone() && Instant::now() < until {
                tokio::time::sleep(LOOK).await;
            }
        }
        if self.is_gone() {
            self.group = None;
        }
    }

    /// Whether nobody of the group is left. The server itself is reaped by this look.
    fn is_gone(&mut self) -> bool {
        let Some(group) = self.group else { return true };
        let has_ended = !matches!(self.child.try_wait(), Ok(None));
        has_ended && rustix::process::test_kill_process_group(group).is_err()
    }

    /// A guard that has been asked before kills all that it holds at once, and after a moment otherwise.
    fn kill(&self) {
        match self.group.filter(|_| self.is_guarded) {
            Some(guard) => drop(rustix::process::kill_process(guard, Signal::TERM)),
            None => self.signal(Signal::KILL),
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // It may have ended by itself this very moment.
            rustix::process::kill_process_group(group, signal).ok();
        }
    }
}

impl Drop for ServerProcess {
    /// Whoever did not close it has no time to wait for it.
    fn drop(&mut self) {
        self.kill();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_that_says_what_went_wrong_is_told_with_the_last_ones() {
        let told = |text: &str| {
            let ring = StderrRing::default();
            ring.add(text.as_bytes());
            ring.last_lines(3)
        };
        let node = "node:internal/modules/cjs/loader:1\n  throw err;\n  ^\n\nError: Cannot find module '/x'\n    at \
                    Function._load (node:1)\n    at node:internal/main:2 {\n  code: 'MODULE_NOT_FOUND'\n}\n\nNode.js v22\n";
        assert_eq!(told(node), "Error: Cannot find module '/x'\n…\n}\n\nNode.js v22");
        assert_eq!(told("Error: x\na\nb\nc"), "Error: x\na\nb\nc");
        assert_eq!(told("Error: x\na\nError: y\nb"), "a\nError: y\nb", "the last lines say it");
        assert_eq!(told(&format!("Error: x\n{}", "a\n".repeat(100))), "a\na\na", "it is long ago");
    }

    #[test]
    fn the_last_lines_hold_no_secret_that_began_before_them() {
        let ring = StderrRing::default();
        let key = ["MIIEowIBAAKCAQEA0123456789", "abcdefghijklmnopqrstuvwxyz", "ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
        ring.add(format!("-----BEGIN PRIVATE KEY-----\n{}\nfailed\n", key.join("\n")).as_bytes());
        assert_eq!(ring.last_lines(2), "ABCD***\nfailed");
    }
}
