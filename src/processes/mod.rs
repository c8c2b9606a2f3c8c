//! What the system tells about processes: who holds a port, and whose child someone is.

mod ancestry;
mod editors;
mod own_program;
mod peer;
mod server_of_agent;
mod sockets;
mod started_with;
mod stat;

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) use ancestry::{AgentAbove, Ancestry, AncestryGap};
pub(crate) use editors::{EditorProcess, serving_editors, wait_for_end_of_editor_agent};
pub(crate) use own_program::{has_our_bytes, own_file};
pub(crate) use peer::PeerProcess;
pub(crate) use server_of_agent::is_server_of_agent;
pub(crate) use sockets::{TcpConnection, holder_of_port};
pub(crate) use started_with::{StartedWith, started_with};
use stat::{StatLine, read_of};

/// The process itself and those it descends from, nearest first, each looked up when it is asked for. As far as this system
/// tells.
pub(crate) fn lineage(pid: u32) -> impl Iterator<Item = u32> {
    ancestry::line_from(pid)
}

/// Whether a process can be seen from here.
pub(crate) fn is_there(pid: u32) -> bool {
    !Path::new("/proc/self").exists() || Path::new("/proc").join(pid.to_string()).exists()
}

/// Everything that descends from a process, as far as this system tells; but for gates and what descends from those: they
/// serve others than whoever happened to start them.
pub(crate) fn descendants_but_gates(pid: u32) -> Vec<u32> {
    descendants(pid, is_gate)
}

fn descendants(pid: u32, is_left_out: impl Fn(u32) -> bool) -> Vec<u32> {
    let all = everyone();
    let mut found = vec![];
    let mut parents = vec![pid];
    while let Some(parent) = parents.pop() {
        let children: Vec<u32> = all.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child).collect();
        let children: Vec<u32> = children.into_iter().filter(|child| !is_left_out(*child)).collect();
        parents.extend(&children);
        found.extend(children);
    }
    found
}

/// Every process with its parent.
#[cfg(target_os = "linux")]
fn everyone() -> Vec<(u32, u32)> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(|pid: u32| Some((pid, StatLine::of(pid)?.parent))).collect()
}

#[cfg(not(target_os = "linux"))]
fn everyone() -> Vec<(u32, u32)> {
    let Ok(output) = std::process::Command::new("ps").args(["-axo", "pid=,ppid="]).output() else { return vec![] };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let read = |line: &str| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    };
    text.lines().filter_map(read).collect()
}

/// Whether a process is a gate of ours.
fn is_gate(pid: u32) -> bool {
    runs_our_command(pid, "serve")
}

/// Whether this process was started by this gate itself, which does so for people who came through its doors. A gate takes
/// nobody else's children, so that no agent's process is one, unless it is the first process of a container.
pub(crate) fn is_started_by_gate(gate: u32) -> bool {
    std::os::unix::process::parent_id() == gate && (is_gate(gate) || runs_our_command(gate, "up"))
}

/// Whether a process is this program with one of its commands for MCP. Where the system does not say which program a
/// process is, the mode of the socket has to do.
pub(crate) fn runs_gateway(pid: u32) -> bool {
    !Path::new("/proc/self/exe").exists() || runs_our_command(pid, "mcp")
}

/// Whether a process is a `portcullis run`, which holds an agent and is no agent itself.
fn is_holder(pid: u32) -> bool {
    runs_our_command(pid, "run")
}

fn runs_our_command(pid: u32, command: &str) -> bool {
    // Asked first: whether another file is a copy of ours takes reading all of it.
    arguments_of(pid).is_some_and(|words| words.get(1).is_some_and(|word| word == command))
        && own_program::runs_ours(pid)
}

/// The process that the session of an agent is known by: the guard of one that is driven by us, else the agent itself.
pub(crate) fn known_as(agent: u32) -> u32 {
    // A program of any other name for itself would switch the hooks off.
    let guard = lineage(agent).nth(1).filter(|parent| runs_our_command(*parent, "__guard"));
    guard.unwrap_or(agent)
}

/// The process above an agent that says it is a guard, and the one above that, which would be its holder. Whoever asks makes
/// sure that it is: any program can say so.
pub(crate) fn guard_of(agent: u32) -> Option<(u32, u32)> {
    let mut above = lineage(agent).skip(1);
    let guard = above.next().filter(|guard| is_guard(*guard))?;
    Some((guard, above.next()?))
}

/// Whether a process is one of ours that looks at MCP servers or uses them, or holds one for that: no agent.
pub(crate) fn uses_servers(pid: u32) -> bool {
    runs_our_command(pid, "mcp") || runs_our_command(pid, "__guard")
}

/// Whether a process says that it is a guard, under which an agent runs. Who asks takes more processes for inside, not
/// fewer.
pub(crate) fn is_guard(pid: u32) -> bool {
    arguments_of(pid).is_some_and(|words| words.get(1).is_some_and(|word| word == "__guard"))
}

/// The agent behind a process it started: its parent, or what is above a `sh -c` between them.
///
/// A shell that someone types into is no go-between: above it is a terminal, with all that runs in it.
pub(crate) fn agent_above(parent: u32) -> u32 {
    lineage(parent).find(|pid| !is_go_between(*pid)).unwrap_or(parent)
}

fn is_go_between(pid: u32) -> bool {
    let is_shell = matches!(name_of(pid).as_str(), "sh" | "bash" | "dash" | "zsh" | "fish");
    // Asked only of a shell.
    let arguments = || read_of(pid, "cmdline").unwrap_or_default();
    is_shell && arguments().split(|byte| *byte == 0).skip(1).any(|argument| argument == b"-c")
}

/// Whether a process takes over those whose parents are gone. Linux gives them to the first process of the system, or to
/// the one of the user's own services.
fn is_reaper(pid: u32) -> bool {
    pid == 1 || matches!(name_of(pid).as_str(), "systemd" | "init" | "launchd")
}

/// Whether there is such a process, of whichever user, and it has not ended. One that has ended keeps its number until its
/// parent asks how: where that is the first process of a container, for seconds or for ever.
pub(crate) fn is_alive(pid: u32) -> bool {
    let Some(number) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    // Systems without `/proc` have a first process that asks at once.
    let has_ended = StatLine::of(pid).is_some_and(|line| line.has_ended);
    !matches!(rustix::process::test_kill_process(number), Err(rustix::io::Errno::SRCH)) && !has_ended
}

/// Whether a process is Claude Code, by what it was started as.
pub(crate) fn is_claude_code(pid: u32) -> bool {
    let arguments = arguments_of(pid).unwrap_or_default();
    let mut program = arguments.iter().take(2);
    // Where the system tells no name (macOS), the first word is one.
    name_of(pid) == "claude"
        || arguments.first().is_some_and(|word| word == "claude")
        || program.any(|part| part.ends_with("/claude") || part.contains("/claude-code/"))
}

/// The `portcullis channel` that a Claude Code has started, as its command line.
pub(crate) fn channel_of(agent: u32) -> Option<Vec<String>> {
    let is_channel = |words: &Vec<String>| {
        words.first().is_some_and(|word| word.ends_with("portcullis"))
            && words.get(1).is_some_and(|word| word == "channel")
    };
    descendants(agent, |_| false).into_iter().filter_map(arguments_of).find(is_channel)
}

/// Every Claude Code of this machine that works in the folder or below it; without a folder every one.
pub(crate) fn claude_codes_in(folder: Option<&Path>) -> Vec<u32> {
    let all = everyone().into_iter().map(|(pid, _)| pid).filter(|pid| is_claude_code(*pid));
    all.filter(|pid| folder.is_none_or(|folder| folder_of(*pid).is_some_and(|there| there.starts_with(folder))))
        .collect()
}

fn folder_of(pid: u32) -> Option<PathBuf> {
    if let Ok(folder) = fs::read_link(format!("/proc/{pid}/cwd")) {
        return Some(folder);
    }
    let pid = pid.to_string();
    let output = std::process::Command::new("lsof").args(["-a", "-p", &pid, "-d", "cwd", "-Fn"]).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().find_map(|line| line.strip_prefix('n')).map(PathBuf::from)
}

/// The words a process was started with, as far as this user may see them.
pub(crate) fn arguments_of(pid: u32) -> Option<Vec<String>> {
    if let Some(line) = read_of(pid, "cmdline") {
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        return Some(words.filter(|word| !word.is_empty()).collect());
    }
    let output = std::process::Command::new("ps").args(["-ww", "-o", "args=", "-p", &pid.to_string()]).output().ok()?;
    Some(String::from_utf8(output.stdout).ok()?.split_whitespace().map(str::to_owned).collect())
}

fn name_of(pid: u32) -> String {
    String::from_utf8(read_of(pid, "comm").unwrap_or_default()).unwrap_or_default().trim().to_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    #[test]
    fn a_process_that_has_ended_is_not_alive_although_nobody_has_asked_how() {
        use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
        let mut child = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
        assert!(super::is_alive(child.id()));
        drop(child.stdin.take());
        waitid(WaitId::Pid(Pid::from_child(&child)), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT).unwrap();
        assert!(!super::is_alive(child.id()), "it is a zombie");
        child.wait().unwrap();
        assert!(!super::is_alive(child.id()));
    }
}
