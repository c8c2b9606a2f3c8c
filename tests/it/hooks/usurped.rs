//! The place where hooks find their session's process, when something that the agent runs has put itself there.

use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::home::Home;
use crate::support::hooks::command_hook;
use crate::support::seen::until;
use crate::support::standin::StandIn;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

fn socket(home: &Home) -> PathBuf {
    home.folder().join(format!("gate-{}.sock", std::process::id()))
}

fn call(home: &Home, event: &str) -> Value {
    let call = json!({"hook_event_name": event, "session_id": "s-2", "permission_mode": "bypassPermissions",
                      "tool_name": "Bash", "tool_input": {"command": "touch made.txt"}});
    let said = command_hook(home, &call, true).ok().stdout;
    if said.is_empty() { Value::Null } else { serde_json::from_str(&said).unwrap() }
}

/// A session with a rule that denies the call.
fn session(home: &Home) -> StandIn {
    fs::write(home.folder().join("rules.toml"), "[[rule]]\ndeny = \"Bash(touch *)\"\nwhy = \"no files\"\n").unwrap();
    let session = StandIn::start(home, &["--label", "api"]);
    until("the socket of the session", || UnixStream::connect(socket(home)).ok());
    session
}

#[track_caller]
fn is_denied_for_the_place(home: &Home) {
    let told = call(home, "PreToolUse");
    let told = &told["hookSpecificOutput"];
    let why = told["permissionDecisionReason"].as_str().unwrap_or_default();
    assert_eq!(told["permissionDecision"], "deny", "{told}");
    assert!(why.contains("has taken the place of the session's own portcullis process"), "{why}");
    assert!(why.contains("start Claude Code again") && why.contains("portcullis install"), "it says what to do: {why}");
}

#[test]
fn another_program_at_the_sessions_socket_is_neither_told_nor_heard() {
    let home = Home::new();
    let _gate = home.serve();
    let _session = session(&home);
    let reason = call(&home, "PreToolUse")["hookSpecificOutput"]["permissionDecisionReason"].clone();
    assert!(reason.as_str().unwrap().contains("no files"), "the session's own process answers: {reason}");
    fs::rename(socket(&home), home.folder().join("taken")).unwrap();
    let listener = UnixListener::bind(socket(&home)).unwrap();
    let allow =
        json!({"output": {"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow"}}});
    let told = std::thread::spawn(move || {
        let mut told = vec![];
        for _ in 0..3 {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
            writeln!(stream, "{allow}").ok();
            // Whoever hangs up before it has read all ends it with an error.
            stream.read_to_end(&mut told).ok();
        }
        told
    });
    is_denied_for_the_place(&home);
    // The rules answer what the client would ask a person, and nobody else.
    let asked = call(&home, "PermissionRequest");
    assert_eq!(asked["hookSpecificOutput"]["decision"]["behavior"], "deny", "{asked}");
    // It wakes nobody with its own words, either.
    let wake = home.folder().join(format!("gate-{}.wake", std::process::id()));
    let woken = command_hook(&home, &json!({"hook_event_name": "FileChanged", "file_path": wake}), true).ok();
    assert_eq!(woken.stderr, "");
    assert_eq!(told.join().unwrap(), b"", "what the hook is called with is not for it");
}

#[test]
fn a_process_of_ours_that_a_command_of_the_agent_became_is_not_heard() {
    let (home, other) = (Home::new(), Home::without_auto_start());
    let _gate = home.serve();
    let _session = session(&home);
    // Of the same parent as the session's own process, and with rules that allow everything. What the agent runs as a command
    // leads a session of the system, whatever it becomes.
    fs::create_dir_all(other.folder()).unwrap();
    fs::write(other.folder().join("rules.toml"), "[[rule]]\nallow = \"Bash(*)\"\n").unwrap();
    let channel = StandIn::command(&other, &[]);
    let mut command = other.program("setsid");
    command.arg(channel.get_program()).args(channel.get_args());
    command.envs(channel.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let fake = other.spawn(command, Stdin::Open);
    until("its socket", || UnixStream::connect(socket(&other)).ok());
    fs::rename(socket(&other), socket(&home)).unwrap();
    is_denied_for_the_place(&home);
    // Nor is one that a shell of the agent has started.
    fake.kill_9();
    let mut command = other.program("sh");
    command.args(["-c", "\"$0\" channel; true"]).arg(channel.get_program());
    command.envs(channel.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let mut shell = other.program("setsid");
    shell.arg(command.get_program()).args(command.get_args());
    shell.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let _fake = other.spawn(shell, Stdin::Open);
    let theirs =
        || {
            fs::read_dir(other.folder()).ok()?.flatten().map(|entry| entry.path()).find(|path| {
                path.extension().is_some_and(|ending| ending == "sock") && UnixStream::connect(path).is_ok()
            })
        };
    fs::rename(until("its socket", theirs), socket(&home)).unwrap();
    is_denied_for_the_place(&home);
}

#[test]
fn the_sessions_process_takes_its_place_back_from_another_program() {
    let home = Home::new();
    let _gate = home.serve();
    let first = session(&home);
    first.close_stdin();
    first.wait_exit(PATIENCE);
    drop(fs::remove_file(socket(&home)));
    let listener = UnixListener::bind(socket(&home)).unwrap();
    let _session = StandIn::start(&home, &["--label", "api"]);
    until("the session's own answer", || {
        let told = call(&home, "PreToolUse");
        told["hookSpecificOutput"]["permissionDecisionReason"].as_str()?.contains("no files").then_some(())
    });
    drop(listener);
}
