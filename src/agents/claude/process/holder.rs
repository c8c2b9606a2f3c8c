//! Holds a Claude Code that we started: under a guard, in a process group of its own, and gone without a rest when it
//! ends, when we do, or when anybody kills one of the three.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Context as _;
use rustix::process::{Pid, Signal};
use tokio::io::AsyncReadExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::task::JoinHandle;

use crate::locks::locked;
use crate::processes;

/// How long it may take to end by itself after its input has: it writes its session down then.
const EXIT_TIMEOUT: Duration = Duration::from_secs(5);
/// The guard asks, waits and kills; this is longer.
const END: Duration = Duration::from_secs(8);
/// As much of what it said on standard error is kept.
const STDERR_TAIL: usize = 16 << 10;

/// Marks everything the held process starts, so that it can be found when the guard is no more.
pub(crate) const MARK: &str = "PORTCULLIS_DRIVEN";

/// A process that was started, and its two pipes.
pub(crate) struct HeldProcess {
    pub(crate) holder: Holder,
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

pub(crate) struct Holder {
    guard: Child,
    /// The guard's own id, and that of its process group.
    pid: u32,
    mark: String,
    stderr_tail: Arc<Mutex<VecDeque<u8>>>,
    /// Reads standard error. It holds our end of the socket, whose end the guard waits for.
    listening: JoinHandle<()>,
}

/// The end of what it said on standard error.
pub(crate) type StderrTail = String;

impl Drop for Holder {
    fn drop(&mut self) {
        // The guard sees that nobody is there any more.
        self.listening.abort();
    }
}

impl Holder {
    /// Starts a command under a guard, which is `portcullis __guard` of this same program. `mark` is fresh.
    pub(crate) fn start(program: &Path, mut command: Command, mark: &str) -> anyhow::Result<HeldProcess> {
        // What the guard leaves behind when it is killed becomes ours. Linux alone knows this.
        #[cfg(target_os = "linux")]
        rustix::process::set_child_subreaper(Pid::from_raw(1)).ok();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().context("making a socket for the guard")?;
        ours.set_nonblocking(true)?;
        let ours = UnixStream::from_std(ours)?;
        command.env(MARK, mark).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::from(OwnedFd::from(theirs)));
        let mut guard = command.process_group(0).spawn().with_context(|| format!("starting {}", program.display()))?;
        // It holds the other end of the socket: only the guard and its child may.
        drop(command);
        let (Some(stdin), Some(stdout), Some(pid)) = (guard.stdin.take(), guard.stdout.take(), guard.id()) else {
            anyhow::bail!("the guard has no pipes");
        };
        let stderr_tail = Arc::<Mutex<VecDeque<u8>>>::default();
        let listening = tokio::spawn(listen(ours, Arc::clone(&stderr_tail)));
        let holder = Self { guard, pid, mark: format!("{MARK}={mark}"), stderr_tail, listening };
        Ok(HeldProcess { holder, stdin, stdout })
    }

    /// The guard, from which everything the agent runs descends.
    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Returns when the guard has ended, by itself or not. May be dropped while waiting.
    pub(crate) async fn gone(&mut self) {
        self.guard.wait().await.ok();
    }

    /// Its input has been closed: waits until it has written down its session, and no longer.
    pub(crate) async fn close(mut self) -> StderrTail {
        match tokio::time::timeout(EXIT_TIMEOUT, self.guard.wait()).await {
            Ok(_) => self.reap().await,
            Err(_) => self.end().await,
        }
    }

    /// Ends it now.
    pub(crate) async fn end(mut self) -> StderrTail {
        // The guard sees that nobody is there any more.
        self.listening.abort();
        drop(tokio::time::timeout(END, self.guard.wait()).await);
        self.reap().await
    }

    /// After the guard: nothing is left if it did its work, and all of it if it was killed.
    async fn reap(&mut self) -> StderrTail {
        // The last it said may still be on its way.
        drop(tokio::time::timeout(Duration::from_millis(200), &mut self.listening).await);
        if let Some(group) = Pid::from_raw(self.pid.cast_signed()) {
            rustix::process::kill_process_group(group, Signal::KILL).ok();
        }
        let mark = self.mark.split_once('=').unwrap_or((MARK, ""));
        let is_marked = |pid| {
            let started_with = processes::started_with(pid).unwrap_or_default();
            started_with.get(OsStr::new(mark.0)).is_some_and(|value| value == mark.1)
        };
        for _ in 0..500 {
            let mut left = processes::descendants_but_gates(std::process::id());
            left.retain(|pid| is_marked(*pid));
            if left.is_empty() {
                break;
            }
            for pid in left.into_iter().filter_map(|pid| Pid::from_raw(pid.cast_signed())) {
                rustix::process::kill_process(pid, Signal::KILL).ok();
                rustix::process::waitpid(Some(pid), rustix::process::WaitOptions::NOHANG).ok();
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        self.stderr_tail()
    }

    /// The end of what it has said on standard error so far.
    pub(crate) fn stderr_tail(&self) -> StderrTail {
        String::from_utf8_lossy(locked(&self.stderr_tail).make_contiguous()).trim().to_owned()
    }
}

async fn listen(mut socket: UnixStream, stderr_tail: Arc<Mutex<VecDeque<u8>>>) {
    let mut piece = [0; 4096];
    while let Ok(read @ 1..) = socket.read(&mut piece).await {
        let mut kept = locked(&stderr_tail);
        kept.extend(&piece[..read]);
        let surplus = kept.len().saturating_sub(STDERR_TAIL);
        kept.drain(..surplus);
    }
}
