//! Nothing is left behind, whoever dies: `run`, its guard, Claude Code, or the gate.

use crate::fakes::model::{Kind, Model};
use crate::fakes::script::{Latch, Rule};
use crate::support::driven::{Driven, shell};
use crate::support::home::Home;
use crate::support::running::{self, Running};
use crate::support::{PATIENCE, Signal, until};
use serde_json::json;

/// A session in the middle of a call of the shell that would go on for ever, in a group of its own and out of it.
struct Busy {
    home: Home,
    model: Model,
    run: Driven,
    all: Vec<Running>,
}

impl Busy {
    fn start() -> Self {
        let home = Home::new();
        home.fix("PORTCULLIS_TEST_GRACE", 300);
        let gate = home.serve();
        let command = "echo x > begun; setsid sleep 1000 & sleep 1001";
        let model = shell(&[command]);
        let run = Driven::start(&home, &model, &["go", "--permission-mode", "default"]);
        gate.allow(&gate.only_ask());
        let all = until("both sleepers", || {
            let below = run.below();
            let sleeps = |seconds: &str| {
                let wanted = ["sleep".to_owned(), seconds.to_owned()];
                below.iter().any(|process| process.args == wanted)
            };
            (sleeps("1000") && sleeps("1001")).then(|| below.clone())
        });
        assert!(all.len() >= 4, "the guard, Claude Code, and two sleepers at least: {all:#?}");
        Self { home, model, run, all }
    }

    #[track_caller]
    fn nothing_is_left(&self) {
        running::wait_gone(&self.all, PATIENCE);
        assert_eq!(self.model.turns().len(), 1);
        assert!(self.home.project().join("begun").exists());
    }
}

#[test]
fn no_process_is_left_when_run_is_killed() {
    let busy = Busy::start();
    busy.run.child.kill_9();
    busy.nothing_is_left();
}

#[test]
fn no_process_is_left_when_the_guard_is_killed() {
    let busy = Busy::start();
    let (guard, _) = busy.run.guard_and_claude();
    running::signal(&guard, Signal::KILL);
    let ran = busy.run.wait();
    assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
    busy.nothing_is_left();
}

#[test]
fn no_process_is_left_when_claude_code_is_killed() {
    let busy = Busy::start();
    let (_, claude) = busy.run.guard_and_claude();
    running::signal(&claude, Signal::KILL);
    let ran = busy.run.wait();
    assert!(ran.status.code() == Some(1) && ran.stderr.contains("ended without a result"), "{ran:#?}");
    busy.nothing_is_left();
}

#[test]
fn no_process_is_left_when_run_is_terminated() {
    let busy = Busy::start();
    busy.run.child.signal(Signal::TERM);
    assert_eq!(busy.run.wait().status.code(), Some(130));
    busy.nothing_is_left();
}

#[test]
fn a_prompt_survives_a_killed_gate_and_is_answered_once() {
    let home = Home::without_auto_start();
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": "echo x >> count.txt", "description": "Count"})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let run = Driven::start(&home, &model, &["go"]);
    let before = gate.only_ask();
    let gate = home.restart(&gate);
    home.attached(1);
    let after = gate.only_ask();
    assert_eq!(
        (&before["id"], &before["code"]),
        (&after["id"], &after["code"]),
        "the same prompt, under the same code"
    );
    gate.allow(&after);
    assert_eq!(run.wait().ok().stdout, "done\n");
    assert_eq!(std::fs::read_to_string(home.project().join("count.txt")).unwrap(), "x\n");
    assert_eq!(gate.asks().len(), 1, "it was asked once");
}

#[test]
fn a_prompt_opened_without_a_gate_is_shown_by_the_next_gate() {
    let (home, latch) = (Home::without_auto_start(), Latch::new());
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("go")
            .call("Bash", json!({"command": "touch made.txt", "description": "Make"}))
            .held_by(&latch)
            .once(),
        Rule::on_any_result().say("done"),
    ]);
    let run = Driven::start(&home, &model, &["go"]);
    home.attached(1);
    model.wait_for(|request| request.kind == Kind::Main);
    gate.kill_9();
    latch.open();
    let gate = home.serve();
    gate.allow(&gate.only_ask());
    run.wait().ok();
    assert!(home.project().join("made.txt").exists());
}

#[test]
fn the_gate_marks_the_session_as_ended_when_run_exits() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![Rule::on_text("go").say("said")]);
    let run = Driven::start(&home, &model, &["go"]);
    run.wait().ok();
    let session = until("an ended session", || {
        let session = gate.get("/api/v1/sessions?all=true").json()[0].clone();
        (session["state"] == "ended").then_some(session)
    });
    assert_eq!(session["agent_session"].as_str().map(str::len), Some(36));
    assert!(run.below().is_empty());
}

/// A guard over a shell, at the end of a socket that does not wait for reads: as its child may set it at any time.
fn guarded(home: &Home, script: &str) -> (std::process::Child, std::os::unix::net::UnixStream) {
    use std::os::unix::process::CommandExt as _;
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    theirs.set_nonblocking(true).unwrap();
    let mut command = home.command(&["__guard", "--", "sh", "-c", script]);
    command.stdin(std::process::Stdio::null()).stdout(std::process::Stdio::piped());
    command.stderr(std::os::fd::OwnedFd::from(theirs)).process_group(0);
    (command.spawn().unwrap(), ours)
}

#[test]
fn the_guard_kills_its_child_only_when_its_parent_is_gone() {
    let home = Home::new();
    let (guard, ours) = guarded(&home, "sleep 0.3; echo alive; exit 7");
    let output = guard.wait_with_output().unwrap();
    assert_eq!((output.status.code(), &*output.stdout), (Some(7), &b"alive\n"[..]), "{output:?}");
    drop(ours);

    let (mut guard, ours) = guarded(&home, "setsid sleep 1002 & sleep 1003");
    let below = until("both sleepers", || {
        let below = running::children_of(guard.id());
        (below.iter().filter(|process| process.args.first().is_some_and(|word| word == "sleep")).count() == 2)
            .then_some(below)
    });
    drop(ours);
    guard.wait().unwrap();
    running::wait_gone(&below, PATIENCE);
}
