//! The guard: leads the process group of one child, and takes all of it along when whoever wanted it is gone.
//!
//! Its standard error is a socket to that process. The child writes its own errors there; the guard reads from it, and
//! the end of it means that the other side is gone, however it went. Nothing here is unsafe, and nothing polls.

use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus};

use crate::fixed;
use crate::processes;

/// How long the child may take to write what it has to, once nobody wants it any more.
const GRACE: Duration = Duration::from_secs(2);
/// What was killed is gone within this, unless the system keeps it.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

enum ChildChange {
    /// The child has ended.
    Ended(Option<WaitStatus>),
    /// Whoever wanted the child is gone.
    Abandoned,
    /// The process at the other end of the socket asks the guard to end. If it asks again, it does not want to wait.
    AskedToEnd,
}

/// Who wants the child of a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WantedBy {
    /// A process of ours, at the other end of a socket.
    Socket,
    /// A terminal that an editor has opened for this `portcullis acp`. The child gets none of its input, and no token of ours.
    Terminal { agent: u32 },
}

impl WantedBy {
    fn is_terminal(self) -> bool {
        matches!(self, Self::Terminal { .. })
    }
}

/// Runs the command to its end, or to ours. Returns what to exit with.
pub(crate) fn run(program: &str, arguments: &[String], wanted_by: WantedBy) -> anyhow::Result<u8> {
    // What the child leaves behind becomes ours, so that it can be found. Linux alone knows this.
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Pid::from_raw(1)).ok();
    let mut command = Command::new(program);
    command.args(arguments);
    if wanted_by.is_terminal() {
        command.stdin(Stdio::null()).env_remove("PORTCULLIS_TOKEN");
    }
    let child = command.spawn().with_context(|| format!("starting {program}"))?;
    let changes = watch(child.id(), wanted_by);
    let status = match changes.recv() {
        Ok(ChildChange::Ended(status)) => status,
        Ok(ChildChange::Abandoned) | Err(_) => end(child.id(), &changes, 0),
        Ok(ChildChange::AskedToEnd) => end(child.id(), &changes, 1),
    };
    clear();
    Ok(exit_code(status))
}

fn watch(child: u32, wanted_by: WantedBy) -> Receiver<ChildChange> {
    let (tell, changes) = channel();
    let ended = tell.clone();
    // All that end are buried here: the child, and what it left behind.
    thread::spawn(move || {
        loop {
            match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) if pid.as_raw_nonzero().get().cast_unsigned() == child => {
                    drop(ended.send(ChildChange::Ended(Some(status))));
                }
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => return ended.send(ChildChange::Ended(None)),
            }
        }
    });
    let asked_to_end = tell.clone();
    thread::spawn(move || {
        // Closing a terminal may bring several.
        let change = || if wanted_by.is_terminal() { ChildChange::Abandoned } else { ChildChange::AskedToEnd };
        wait_for_signals(wanted_by, || drop(asked_to_end.send(change())));
    });
    if let WantedBy::Terminal { agent } = wanted_by {
        let agent_ended = tell.clone();
        // An editor may keep the terminal of an agent that is gone, or have it write to a file.
        thread::spawn(move || match processes::wait_for_end_of_editor_agent(agent) {
            true => agent_ended.send(ChildChange::Abandoned),
            false => Ok(()),
        });
    }
    thread::spawn(move || {
        while is_wanted(wanted_by) {}
        tell.send(ChildChange::Abandoned)
    });
    changes
}

/// Tells each time when somebody wants the guard to end: an editor may know no other process of its terminal. No signal ends
/// the guard before its child, or nobody would bury that, or find what it leaves behind. An interrupt is for the whole group
/// of a server, which may do as it likes about it.
fn wait_for_signals(wanted_by: WantedBy, tell: impl Fn()) {
    use tokio::signal::unix::{SignalKind, signal};
    let waiting = async {
        let [Ok(mut hangup), Ok(mut interrupt), Ok(mut terminate)] =
            [SignalKind::hangup(), SignalKind::interrupt(), SignalKind::terminate()].map(signal)
        else {
            return std::future::pending().await;
        };
        loop {
            tokio::select! {
                _hangup = hangup.recv() => {}
                _interrupt = interrupt.recv(), if wanted_by.is_terminal() => {}
                _terminate = terminate.recv() => {}
            }
            tell();
        }
    };
    match tokio::runtime::Builder::new_current_thread().enable_io().build() {
        Ok(runtime) => runtime.block_on(waiting),
        Err(_) => loop {
            thread::park();
        },
    }
}

/// Waits for a word of whoever wanted the child; false when there will be none. The child shares the socket with us, and
/// may have it not wait for reads: so that is done by asking, and not by reading.
fn is_wanted(wanted_by: WantedBy) -> bool {
    let socket = std::io::stderr();
    if wanted_by.is_terminal() {
        // An editor may use a terminal, a pipe or a socket. All that tells the same of each is that its other end is gone.
        let mut waiting = [PollFd::new(&socket, PollFlags::empty())];
        return matches!(rustix::event::poll(&mut waiting, None), Err(Errno::INTR));
    }
    let mut waiting = [PollFd::new(&socket, PollFlags::IN)];
    let mut nothing = [0; 64];
    match rustix::event::poll(&mut waiting, None) {
        Ok(_) => matches!(rustix::io::read(&socket, &mut nothing), Ok(1..) | Err(Errno::INTR | Errno::AGAIN)),
        Err(error) => error == Errno::INTR,
    }
}

/// Asks the child to go, and gives it a moment. `asked` is how often the guard was asked to end.
fn end(child: u32, changes: &Receiver<ChildChange>, mut asked: u32) -> Option<WaitStatus> {
    signal(child, Signal::TERM);
    let until = Instant::now() + fixed::wait("GRACE", GRACE);
    loop {
        match changes.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(ChildChange::Ended(status)) => return status,
            Ok(ChildChange::AskedToEnd) if asked > 0 => return None,
            Ok(ChildChange::AskedToEnd) => asked += 1,
            Ok(ChildChange::Abandoned) => {}
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return None,
        }
    }
}

/// Kills everything that descends from us, and then the group, where something may hide that we cannot see.
fn clear() {
    let until = Instant::now() + KILL_TIMEOUT;
    while Instant::now() < until {
        let left = processes::descendants_but_gates(std::process::id());
        if left.is_empty() {
            break;
        }
        for pid in left {
            signal(pid, Signal::KILL);
        }
        thread::sleep(Duration::from_millis(2));
    }
    // Elsewhere than on Linux this is all there is. We are in the group ourselves, so it comes last.
    if !cfg!(target_os = "linux") {
        rustix::process::kill_current_process_group(Signal::KILL).ok();
    }
}

fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid.cast_signed()) {
        // It may have ended by itself this very moment.
        rustix::process::kill_process(pid, signal).ok();
    }
}

/// As a shell would say it.
fn exit_code(status: Option<WaitStatus>) -> u8 {
    let code = status
        .and_then(|status| status.exit_status().or_else(|| status.terminating_signal().map(|signal| 128 + signal)));
    code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
}
