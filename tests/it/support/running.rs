//! What runs on this machine: the descendants of a process, and the processes of one home.

use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) args: Vec<String>,
}

/// Every live descendant, children first. A zombie is not alive.
pub(crate) fn children_of(pid: u32) -> Vec<Running> {
    let all = everything();
    let mut family = vec![pid];
    let mut found: Vec<Running> = Vec::new();
    while let Some(parent) = family.pop() {
        for child in all.iter().filter(|process| process.parent == parent) {
            family.push(child.pid);
            found.push(child.clone());
        }
    }
    found
}

/// Every live `portcullis` process that was given this home, by its environment or its arguments,
/// or has a file open in it.
/// The home is a fresh folder, so that nobody else's process can be among them.
pub(crate) fn portcullis_of(home: &Path) -> Vec<Running> {
    let mut all = everything();
    all.retain(|process| is_portcullis(process) && knows(process, home));
    all
}

/// Those of `portcullis_of` that run `portcullis channel`: none may be left once their Claude Code is gone.
pub(crate) fn channels_of(home: &Path) -> Vec<Running> {
    let mut found = portcullis_of(home);
    found.retain(|process| process.args.get(1).is_some_and(|word| word == "channel"));
    found
}

/// The process that has started this one.
#[track_caller]
pub(crate) fn parent_of(process: &Running) -> Running {
    let all = everything();
    let parent = all.into_iter().find(|other| other.pid == process.parent);
    parent.unwrap_or_else(|| panic!("nobody is above {process:?}"))
}

pub(crate) fn is_alive(pid: u32) -> bool {
    everything().iter().any(|process| process.pid == pid)
}

/// Waits until all of these are gone, and fails naming those that are not.
#[track_caller]
pub(crate) fn wait_gone(processes: &[Running], within: Duration) {
    let left = gone_within(processes, within);
    assert!(left.is_empty(), "still running after {within:?}: {left:?}");
}

/// Waits until no `portcullis channel` of this home is left.
#[track_caller]
pub(crate) fn no_channels_left(home: &Path, within: Duration) {
    wait_gone(&channels_of(home), within);
    let left = channels_of(home);
    assert!(left.is_empty(), "came up meanwhile: {left:?}");
}

pub(crate) fn signal(process: &Running, signal: Signal) {
    if let Some(pid) = Pid::from_raw(process.pid.cast_signed()) {
        // It may be ending this very moment; that is no failure of the test.
        kill_process(pid, signal).ok();
    }
}

/// Kills these and waits until they are gone; silent, because it cleans up after a test that may be failing.
pub(crate) fn end(processes: &[Running]) {
    processes.iter().for_each(|process| signal(process, Signal::KILL));
    for left in gone_within(processes, Duration::from_secs(5)) {
        eprintln!("could not end {left:?}");
    }
}

/// Nobody but its parent hears of a process's end, so this looks again and again: the only wait here that polls.
fn gone_within(processes: &[Running], within: Duration) -> Vec<Running> {
    let deadline = Instant::now() + within;
    loop {
        let now = everything();
        let same = |process: &&Running| now.iter().any(|other| other.pid == process.pid && other.args == process.args);
        let left: Vec<Running> = processes.iter().filter(same).cloned().collect();
        if left.is_empty() || Instant::now() >= deadline {
            return left;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn is_portcullis(process: &Running) -> bool {
    let program = process.args.first().map(Path::new).and_then(Path::file_name);
    program.is_some_and(|name| name.to_string_lossy().starts_with("portcullis"))
}

fn knows(process: &Running, home: &Path) -> bool {
    let home = home.to_string_lossy();
    process.args.iter().any(|word| word.contains(&*home))
        || environment(process.pid).contains(&*home)
        || has_open(process.pid, &home)
}

/// A gate that was given its home in some other way still holds its journal and lock open. Linux only.
fn has_open(pid: u32, home: &str) -> bool {
    let Ok(files) = fs::read_dir(format!("/proc/{pid}/fd")) else { return false };
    let mut places = files.filter_map(|file| fs::read_link(file.ok()?.path()).ok());
    places.any(|place| place.starts_with(home))
}

fn everything() -> Vec<Running> {
    if cfg!(target_os = "linux") { from_proc() } else { from_ps() }
}

fn from_proc() -> Vec<Running> {
    let entries = fs::read_dir("/proc").expect("reading /proc");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    // A process may end between two reads; then it is simply not there.
    pids.filter_map(|pid: u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name in brackets may itself hold spaces and brackets.
        let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
        let (state, parent) = (fields.next()?, fields.next()?.parse().ok()?);
        if matches!(state, "Z" | "X") {
            return None;
        }
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        let mut args: Vec<String> = words.collect();
        args.pop();
        Some(Running { pid, parent, args })
    })
    .collect()
}

/// On macOS arguments with spaces fall apart, which no caller minds.
fn from_ps() -> Vec<Running> {
    let lines = ps(&["-axww", "-o", "pid=,ppid=,state=,command="]);
    let parse = |line: &str| {
        let mut words = line.split_whitespace();
        let (pid, parent) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
        let alive = !words.next()?.starts_with('Z');
        alive.then(|| Running { pid, parent, args: words.map(str::to_owned).collect() })
    };
    lines.lines().filter_map(parse).collect()
}

/// The environment a process was started with, as text.
pub(crate) fn environment(pid: u32) -> String {
    if cfg!(target_os = "linux") {
        let bytes = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        return String::from_utf8_lossy(&bytes).into_owned();
    }
    ps(&["-Eww", "-o", "command=", "-p", &pid.to_string()])
}

fn ps(args: &[&str]) -> String {
    let output = Command::new("ps").args(args).output().expect("running ps");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
