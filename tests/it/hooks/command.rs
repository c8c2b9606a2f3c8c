//! `portcullis hook`, as Claude Code runs it: who is given a wake file, who is woken, and what is handed out.

use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::home::{Home, Ran};
use crate::support::hooks::{by_tool_call, command_hook, context, hooked, take_and_die};
use crate::support::seen::until;
use crate::support::standin::StandIn;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

fn wake_file(home: &Home) -> PathBuf {
    home.folder().join(format!("gate-{}.wake", std::process::id()))
}

fn start() -> Value {
    json!({"hook_event_name": "SessionStart", "session_id": "s-2", "source": "startup"})
}

#[test]
fn a_starting_session_gets_a_wake_file_only_when_it_is_attended() {
    let home = Home::new();
    let alone = command_hook(&home, &start(), false).ok();
    assert_eq!((alone.stdout.as_str(), alone.stderr.as_str()), ("", ""));
    let attended = command_hook(&home, &start(), true).ok();
    let watched = attended.json()["hookSpecificOutput"]["watchPaths"][0].clone();
    assert_eq!(watched, wake_file(&home).to_str().unwrap());
    assert!(wake_file(&home).exists(), "without a channel, and without a gate");
    command_hook(&home, &json!({"hook_event_name": "SessionEnd", "reason": "other"}), true).ok();
    assert!(!wake_file(&home).exists());
}

#[test]
fn hooks_that_decide_nothing_and_those_of_others_are_ignored_without_output() {
    let home = Home::new();
    for input in [json!({"hook_event_name": "PostToolUse"}), json!({"hook_event_name": "MessageDisplay", "x": []})] {
        let ran = command_hook(&home, &input, true).ok();
        assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", ""), "{input}");
    }
    let changed = json!({"hook_event_name": "FileChanged", "file_path": wake_file(&home), "event": "change"});
    assert_eq!(command_hook(&home, &changed, true).ok().stderr, "", "there is no session");
}

#[test]
fn a_call_that_cannot_be_judged_is_denied() {
    let home = Home::new();
    std::fs::create_dir_all(home.folder()).unwrap();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\ndeny = \"Bash(touch *)\"\n").unwrap();
    let call = json!({"hook_event_name": "PreToolUse", "session_id": "s-2", "permission_mode": "bypassPermissions",
                      "tool_name": "Bash", "tool_input": {"command": "touch made.txt"}});
    let decided = |input: &str, set: &[(&str, &str)], unset: &[&str]| {
        let mut command = home.command(&["hook"]);
        for name in unset {
            command.env_remove(name);
        }
        command.envs(set.iter().copied());
        let child = home.spawn(command, Stdin::Open);
        child.write(input.to_owned());
        child.close_stdin();
        let ran = Ran::of(&child, PATIENCE).ok();
        ran.json()["hookSpecificOutput"]["permissionDecision"].as_str().map(str::to_owned)
    };
    let deny = Some("deny".to_owned());
    // Who runs the hook is found out where nobody says it, or not rightly.
    assert_eq!(decided(&call.to_string(), &[("CLAUDE_PID", "x")], &[]), deny);
    assert_eq!(decided(&call.to_string(), &[], &["CLAUDE_PID"]), deny);
    assert_eq!(decided(&call.to_string()[..100], &[], &[]), deny, "cut off");
    let long =
        json!({"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": "x".repeat(17 << 20)}});
    assert_eq!(decided(&long.to_string(), &[], &[]), deny, "too long");
}

#[test]
fn an_idle_session_is_woken_and_its_hook_delivers_the_event_once() {
    let home = Home::new();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    command_hook(&home, &start(), true).ok();
    let before = std::fs::metadata(wake_file(&home)).unwrap().modified().unwrap();
    let event = gate.send_event("main is red");
    until("a touch of the wake file", || {
        (std::fs::metadata(wake_file(&home)).ok()?.modified().ok()? != before).then_some(())
    });
    let changed = json!({"hook_event_name": "FileChanged", "file_path": wake_file(&home), "event": "change"});
    let woken = command_hook(&home, &changed, true);
    assert_eq!(woken.status.code(), Some(2));
    assert!(woken.stderr.contains("main is red") && woken.stderr.contains("may direct this session"), "{woken:?}");
    gate.wait_for_event(&event, "delivered");
    let shown = home.run(&["events", "show", &event]).ok().stdout;
    assert!(shown.contains(", by a hook that woke the session"), "{shown}");
    assert!(shown.contains("Claude Code took it from a hook") && !shown.contains("channels"), "{shown}");
    let again = command_hook(&home, &changed, true).ok();
    assert_eq!(again.stderr, "");
    let other = json!({"hook_event_name": "FileChanged", "file_path": "/tmp/other", "event": "change"});
    gate.send_event("main is green");
    assert_eq!(command_hook(&home, &other, true).ok().stderr, "", "that is somebody else's file");
    assert_eq!(session.event_count(), 0, "nothing went by the channel");
}

#[test]
fn an_event_that_came_with_a_tool_call_says_so_and_has_its_reply() {
    let (home, gate, session) = hooked();
    let event = gate.say("/?chat=ci", "main is red").expect(200).event_id();
    by_tool_call(&session);
    gate.wait_for_event(&event, "delivered");
    let shown = || home.run(&["events", "show", &event]).ok().stdout;
    assert!(shown().contains(", by a hook, with a tool call\n"), "{}", shown());
    assert!(!shown().contains("channels are not switched on"), "{}", shown());
    session.call("reply", &json!({"chat_id": "ci", "text": "I look", "reply_to": event}));
    assert!(shown().contains(": I look\n"), "{}", shown());
}

#[test]
fn an_event_a_hook_took_and_did_not_confirm_is_redelivered() {
    let (home, gate, session) = hooked();
    let event = gate.send_event("main is red");
    take_and_die(&home, "main is red");
    gate.wait_for_event(&event, "waiting");
    let output = by_tool_call(&session);
    assert!(context(&output).contains("redelivered=\"true\""), "{output}");
    gate.wait_for_event(&event, "delivered");
}

#[cfg(target_os = "linux")]
#[test]
fn a_session_out_of_file_descriptors_accepts_hooks_again_later() {
    use rustix::process::{Pid, Resource, Rlimit, prlimit};
    let (home, _gate, session) = hooked();
    let socket = home.folder().join(format!("gate-{}.sock", std::process::id()));
    until("the socket of the session", || UnixStream::connect(&socket).ok());
    let pid = Pid::from_raw(i32::try_from(session.pid()).unwrap());
    let none = Rlimit { current: Some(0), ..rustix::process::getrlimit(Resource::Nofile) };
    let before = prlimit(pid, Resource::Nofile, none).unwrap();
    let mut stream = UnixStream::connect(&socket).unwrap();
    session.complaint("a hook could not be let in");
    prlimit(pid, Resource::Nofile, before).unwrap();
    writeln!(stream, "{}", json!({"hook_event_name": "FileChanged"})).unwrap();
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line).unwrap();
    assert_eq!(line, "{\"output\":null}\n");
}

#[test]
fn an_event_waiting_for_a_hook_goes_to_the_next_session() {
    let (home, gate, session) = hooked();
    let event = gate.send_event("main is red");
    session.close_stdin();
    session.wait_exit(Duration::from_secs(5));
    let next = StandIn::start(&home, &["--label", "api"]);
    assert!(next.event_containing("main is red").meta("event_id") == event);
    assert!(!wake_file(&home).exists());
}

#[test]
fn events_from_before_the_session_wait_for_hooks_that_were_announced() {
    for attended in [true, false] {
        let home = Home::new();
        let gate = home.serve();
        let event = gate.send_event("main is red");
        let command = StandIn::command_of(&home, &["--label", "api"], "s-2");
        command_hook(&home, &start(), attended).ok();
        let session = StandIn::start_command(&home, command);
        assert_eq!(home.attached(1)[0]["connected_by"], "hooks");
        let output = by_tool_call(&session);
        assert!(context(&output).contains("main is red"), "{output}");
        gate.wait_for_event(&event, "delivered");
        assert_eq!(session.event_count(), 0);
    }
}

#[test]
fn a_process_that_replaces_another_still_wakes_the_session() {
    let home = Home::new();
    let gate = home.serve();
    let begin = || StandIn::start_command(&home, StandIn::command_of(&home, &["--label", "api"], "s-2"));
    let dead = home.folder().join("gate-4194303.wake");
    std::fs::write(&dead, "s-0\nwatched\n").unwrap();
    command_hook(&home, &start(), true).ok();
    let first = begin();
    home.attached(1);
    until("the end of what a dead session left", || (!dead.exists()).then_some(()));
    first.close_stdin();
    first.wait_exit(Duration::from_secs(5));
    let before = std::fs::metadata(wake_file(&home)).unwrap().modified().unwrap();
    let _second = begin();
    gate.send_event("main is red");
    until("a touch of the wake file", || {
        (std::fs::metadata(wake_file(&home)).ok()?.modified().ok()? != before).then_some(())
    });
}

#[test]
fn a_process_that_starts_before_another_has_gone_takes_over_its_hooks() {
    let home = Home::new();
    let gate = home.serve();
    let begin = || StandIn::start_command(&home, StandIn::command_of(&home, &["--label", "api"], "s-2"));
    command_hook(&home, &start(), true).ok();
    let first = begin();
    let second = begin();
    home.attached(2);
    first.close_stdin();
    first.wait_exit(Duration::from_secs(5));
    let event = gate.send_event("main is red");
    let changed = json!({"hook_event_name": "FileChanged", "file_path": wake_file(&home), "event": "change"});
    let woken = until("a hook that reaches the second", || {
        let woken = command_hook(&home, &changed, true);
        (woken.status.code() == Some(2)).then_some(woken)
    });
    assert!(woken.stderr.contains("main is red"), "{woken:?}");
    gate.wait_for_event(&event, "delivered");
    assert_eq!(second.event_count(), 0, "it came by the hook");
}

#[test]
fn calls_that_wait_for_people_keep_no_other_hook_from_its_answer() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_HELD", 20);
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    let socket = home.folder().join(format!("gate-{}.sock", std::process::id()));
    let before = |number: usize| {
        let mut stream = until("the socket of the session", || UnixStream::connect(&socket).ok());
        let call = json!({"hook_event_name": "PreToolUse", "session_id": "s-1", "tool_use_id": number.to_string(),
                          "permission_mode": "bypassPermissions", "hooks_version": "3",
                          "tool_name": "Bash", "tool_input": {"command": format!("touch {number}")}});
        writeln!(stream, "{call}").unwrap();
        BufReader::new(stream)
    };
    let mut held: Vec<BufReader<UnixStream>> = (0..20).map(before).collect();
    let asks = gate.open_asks(20);
    let answer = |stream: &mut BufReader<UnixStream>| {
        let mut line = String::new();
        stream.read_line(&mut line).unwrap();
        line
    };
    assert!(answer(&mut before(20)).contains("Too many calls"), "one that nobody answers would run");
    assert_eq!(session.event_count(), 0);
    let event = gate.send_event("main is red");
    take_and_die(&home, "main is red");
    gate.wait_for_event(&event, "waiting");
    gate.answer(&asks[0], &json!({"behavior": "deny", "why": "keep it"}));
    let input = asks[0]["input"]["command"].as_str().unwrap();
    let number: usize = input.strip_prefix("touch ").unwrap().parse().unwrap();
    assert!(answer(&mut held[number]).contains("keep it"));
}

#[test]
fn a_session_that_is_there_and_gives_no_answer_lets_no_call_run() {
    let home = Home::new();
    let gate = home.serve();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    command_hook(&home, &start(), true).ok();
    let call = |command: &str| {
        let call = json!({"hook_event_name": "PreToolUse", "session_id": "s-2", "permission_mode": "bypassPermissions",
                          "tool_name": "Bash", "tool_input": {"command": command}});
        command_hook(&home, &call, true).ok().stdout
    };
    let printed = std::thread::scope(|scope| {
        let hook = scope.spawn(|| call("touch made.txt"));
        gate.open_ask();
        session.kill_9();
        hook.join().unwrap()
    });
    assert!(printed.contains("\"deny\"") && printed.contains("gave no answer: try again"), "{printed}");
    assert_eq!(call("ls"), "", "nobody is there, and no rule denies it");
}

#[test]
fn where_the_owner_allows_no_wakes_an_event_waits_for_the_next_tool_call() {
    let home = Home::new();
    home.write_config("[hooks]\nwakes = 0\n");
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    home.attached(1);
    command_hook(&home, &start(), true).ok();
    let touched = || std::fs::metadata(wake_file(&home)).unwrap().modified().unwrap();
    let before = touched();
    let event = gate.send_event("main is red");
    by_tool_call(&session);
    gate.wait_for_event(&event, "delivered");
    assert_eq!(touched(), before, "nobody was woken for it");
}
