//! A process the test started: its output is read at once, its end is waited for, and it never outlives the test.

use super::seen::{OrFail, PATIENCE, Seen};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub(crate) struct Child {
    /// The command as typed, for failure messages.
    command: String,
    handle: Handle,
    input: Input,
    stdout: Seen<Vec<u8>>,
    stderr: Seen<Vec<u8>>,
}

/// Enough to signal and await a process; the home keeps one of each, so that nothing outlives it.
#[derive(Clone)]
pub(crate) struct Handle {
    pid: Pid,
    /// Set by the reaper thread under the same lock that signals are sent under: a reaped pid is never signalled.
    exit: Arc<(Mutex<Option<ExitStatus>>, Condvar)>,
}

/// Stdin goes through a thread of its own, so that a peer which stops reading cannot hang the test.
/// `None` once closed, or when the child never had one.
#[derive(Clone)]
pub(crate) struct Input(Arc<Mutex<Option<Sender<Vec<u8>>>>>);

#[derive(Clone, Copy)]
pub(crate) enum Stdin {
    Nothing,
    Open,
}

impl Child {
    #[track_caller]
    pub(crate) fn spawn(command: Command, stdin: Stdin) -> Self {
        Self::spawn_reading(command, stdin, |_, _| {})
    }

    /// Hands each line of stdout to `on_line` as it comes, and `None` at the end.
    #[track_caller]
    pub(crate) fn spawn_reading(
        mut command: Command,
        stdin: Stdin,
        mut on_line: impl FnMut(Option<&[u8]>, &Input) + Send + 'static,
    ) -> Self {
        command.stdin(match stdin {
            Stdin::Nothing => Stdio::null(),
            Stdin::Open => Stdio::piped(),
        });
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let typed = typed(&command);
        let mut child = command.spawn().or_fail(|error| format!("starting {typed}: {error}"));

        let input = Input::to(child.stdin.take());
        let (stdout, stderr) = (Seen::new(), Seen::new());
        let (lines, answers) = (stdout.clone(), input.clone());
        read_lines(child.stdout.take().unwrap(), move |line| {
            match line {
                Some(line) => lines.push(line.to_vec()),
                None => lines.end(),
            }
            on_line(line, &answers);
        });
        let lines = stderr.clone();
        read_lines(child.stderr.take().unwrap(), move |line| match line {
            Some(line) => lines.push(line.to_vec()),
            None => lines.end(),
        });
        Self { command: typed, handle: Handle::reaping(child), input, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.handle.pid()
    }

    pub(crate) fn handle(&self) -> Handle {
        self.handle.clone()
    }

    #[track_caller]
    pub(crate) fn write(&self, bytes: impl Into<Vec<u8>>) {
        assert!(self.input.write(bytes.into()), "its stdin is not open\n{}", self.story());
    }

    /// Closes stdin after everything written so far has gone out.
    pub(crate) fn close_stdin(&self) {
        self.input.close();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.handle.signal(signal);
    }

    /// Kills it the hard way and waits until it is gone.
    #[track_caller]
    pub(crate) fn kill_9(&self) -> ExitStatus {
        self.handle.signal(Signal::KILL);
        self.wait_exit(PATIENCE)
    }

    #[track_caller]
    pub(crate) fn wait_exit(&self, within: Duration) -> ExitStatus {
        match self.handle.wait(within) {
            Some(status) => status,
            None => panic!("it did not exit within {within:?}\n{}", self.story()),
        }
    }

    pub(crate) fn has_exited(&self) -> bool {
        self.handle.wait(Duration::ZERO).is_some()
    }

    /// Waits for a whole line of stdout that fits, without its line end.
    #[track_caller]
    pub(crate) fn line(&self, within: Duration, mut wanted: impl FnMut(&str) -> bool) -> String {
        let line = self.stdout.take(within, |line| wanted(text(line).trim_end_matches(['\r', '\n'])));
        let line = line.or_fail(|missed| format!("waiting for a line on stdout: {missed}\n{}", self.story()));
        text(&line).trim_end_matches(['\r', '\n']).to_owned()
    }

    /// Waits for a line of stderr with this in it.
    #[track_caller]
    pub(crate) fn complaint(&self, about: &str) -> String {
        let line = self.stderr.take(PATIENCE, |line| text(line).contains(about));
        text(&line.or_fail(|missed| format!("waiting for {about:?} on stderr: {missed}\n{}", self.story())))
    }

    /// Waits until both outputs are closed. A process left behind that still holds them is a defect of its own:
    /// whoever reads the pipe, as Claude Code does, would wait for ever.
    #[track_caller]
    pub(crate) fn wait_output(&self, within: Duration) {
        if !self.stdout.ends(within) || !self.stderr.ends(within) {
            panic!("something still holds its output open\n{}", self.story());
        }
    }

    pub(crate) fn stdout(&self) -> String {
        text(&self.stdout.all().concat())
    }

    pub(crate) fn stderr(&self) -> String {
        text(&self.stderr.all().concat())
    }

    /// What this process did so far, for a failure message.
    pub(crate) fn story(&self) -> String {
        let mut story = format!("$ {} (pid {}, ", self.command, self.pid());
        // One that has closed its output is about to end, and how it ends is the best part of the story.
        let ending = if self.stdout.ends(Duration::ZERO) { Duration::from_secs(1) } else { Duration::ZERO };
        self.stderr.ends(ending);
        match self.handle.wait(ending) {
            Some(status) => _ = writeln!(story, "ended with {status})"),
            None => story.push_str("running)\n"),
        }
        tell(&mut story, "stdout", &self.stdout);
        tell(&mut story, "stderr", &self.stderr);
        story
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        self.handle.end();
    }
}

impl Handle {
    fn reaping(mut child: std::process::Child) -> Self {
        let pid = Pid::from_child(&child);
        let handle = Self { pid, exit: Arc::new((Mutex::new(None), Condvar::new())) };
        let reaper = handle.clone();
        std::thread::spawn(move || {
            // Look first and reap under the lock: between the two the pid is a zombie and still ours to signal.
            let ended = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            while waitid(WaitId::Pid(pid), ended).is_err_and(|error| error == rustix::io::Errno::INTR) {}
            let mut exit = reaper.lock();
            *exit = child.wait().ok();
            reaper.exit.1.notify_all();
        });
        handle
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().unsigned_abs()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let exit = self.lock();
        if exit.is_none() {
            // It may be ending this very moment; that is no failure of the test.
            kill_process(self.pid, signal).ok();
        }
    }

    pub(crate) fn wait(&self, within: Duration) -> Option<ExitStatus> {
        let deadline = Instant::now() + within;
        let mut exit = self.lock();
        while exit.is_none() {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            exit = self.exit.1.wait_timeout(exit, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        *exit
    }

    /// Makes sure it is gone, whatever it was doing. Safe to call twice, and while panicking.
    pub(crate) fn end(&self) {
        self.signal(Signal::KILL);
        if self.wait(PATIENCE).is_none() {
            eprintln!("pid {} did not die of SIGKILL", self.pid());
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<ExitStatus>> {
        self.exit.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Input {
    fn to(stdin: Option<std::process::ChildStdin>) -> Self {
        let Some(mut stdin) = stdin else { return Self(Arc::default()) };
        let (sender, receiver) = channel::<Vec<u8>>();
        std::thread::spawn(move || {
            while let Ok(bytes) = receiver.recv() {
                // A peer that is gone shows in its exit status; there is nobody else to tell.
                if stdin.write_all(&bytes).and_then(|()| stdin.flush()).is_err() {
                    return;
                }
            }
        });
        Self(Arc::new(Mutex::new(Some(sender))))
    }

    /// `false` when stdin was closed by the test or never open. That nobody reads it is no failure here.
    pub(crate) fn write(&self, bytes: Vec<u8>) -> bool {
        let sender = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        sender.as_ref().map(|sender| sender.send(bytes)).is_some()
    }

    fn close(&self) {
        drop(self.0.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}

fn read_lines(from: impl Read + Send + 'static, mut on_line: impl FnMut(Option<&[u8]>) + Send + 'static) {
    std::thread::spawn(move || {
        let mut reader = BufReader::new(from);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(read) if read > 0) {
            on_line(Some(&line));
            line.clear();
        }
        on_line(None);
    });
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn typed(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

/// The last lines of one output, long ones cut: a failure message is for reading.
fn tell(story: &mut String, name: &str, lines: &Seen<Vec<u8>>) {
    let all = lines.all();
    let skipped = all.len().saturating_sub(60);
    _ = writeln!(story, "--- {name}: {} lines, the first {skipped} left out", all.len());
    for line in &all[skipped..] {
        let line = text(line);
        let shown: String = line.trim_end().chars().take(600).collect();
        _ = writeln!(story, "{shown}");
    }
}
