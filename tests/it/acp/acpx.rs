//! Sessions of acpx: begun, prompted, cancelled, switched to another mode, listed and closed, each by a command of its own. A
//! process of acpx's holds the agent between them.

use super::agent::Agent;
use super::frames::{Frame, Recorded};
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::child::{Child, Stdin};
use crate::support::claude::peer;
use crate::support::home::{Home, Ran};
use crate::support::running::{self, Running};
use crate::support::until;
use crate::support::{PATIENCE, Signal};
use serde_json::{Value, json};

/// acpx with one agent, whose sessions outlive its commands.
struct Acpx<'a> {
    home: &'a Home,
    agent: Recorded,
}

impl<'a> Acpx<'a> {
    fn new(home: &'a Home, model: &Model) -> Self {
        Self { home, agent: Recorded::new(home, &Agent::ours(model)) }
    }

    fn start(&self, words: &[&str]) -> Child {
        let mut command = self.home.program(peer("PORTCULLIS_TEST_NODE24"));
        command.arg(peer("PORTCULLIS_TEST_ACPX")).arg("--agent").arg(&self.agent.script);
        command.args(["--format", "json", "--approve-all", "--no-fs", "--no-terminal"]).args(words);
        self.home.spawn(command, Stdin::Nothing)
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> Ran {
        Ran::of(&self.start(words), PATIENCE * 3)
    }

    /// Closes the session, and returns all that both sides have said in it.
    #[track_caller]
    fn close(self, session: &str) -> Vec<Frame> {
        self.run(&["sessions", "close", session]).ok();
        until("the end of the agent", || Some(()).filter(|()| self.home.status()["sessions"] == 0));
        self.agent.check()
    }
}

fn count(frames: &[Frame], method: &str) -> usize {
    frames.iter().filter(|frame| frame.value["method"] == method).count()
}

#[test]
fn a_session_of_acpx_is_cancelled_switched_to_another_mode_and_goes_on() {
    let (home, latch) = (Home::new(), Latch::new());
    let _gate = home.serve();
    let new = home.project().join("new.txt");
    let model = Model::start(vec![
        Rule::on_text("hold it").say("never").held_by(&latch).once(),
        Rule::on_text("write it").call("Write", json!({"file_path": new, "content": "new\n"})).once(),
        Rule::on_any_result().say("written"),
    ]);
    let acpx = Acpx::new(&home, &model);
    acpx.run(&["sessions", "new", "--name", "work"]).ok();
    let held = acpx.start(&["prompt", "-s", "work", "hold it"]);
    model.wait_for_turn("hold it");
    acpx.run(&["cancel", "-s", "work"]).ok();
    let held = Ran::of(&held, PATIENCE);
    assert!(held.stdout.contains(r#""stopReason":"cancelled""#), "{held:?}");

    acpx.run(&["set-mode", "-s", "work", "plan"]).ok();
    until("the mode", || Some(()).filter(|()| home.attached(1)[0]["mode"] == "plan"));
    acpx.run(&["set-mode", "-s", "work", "acceptEdits"]).ok();
    let ran = acpx.run(&["prompt", "-s", "work", "write it"]).ok();
    assert!(ran.stdout.contains("written") && ran.stdout.contains("end_turn"), "{ran:?}");
    assert!(new.exists());
    let seen = model.wait_for_turn("write it").body["messages"].to_string();
    assert!(seen.contains("hold it"), "it is the same conversation: {seen}");

    let listed = acpx.run(&["sessions", "list"]).ok().stdout;
    let kept = home.attached(1)[0]["agent_session"].as_str().unwrap().to_owned();
    assert!(listed.contains(&kept), "{listed}");
    let frames = acpx.close("work");
    for method in ["session/cancel", "session/set_mode", "session/list"] {
        assert!(count(&frames, method) > 0, "{method}");
    }
    let asked = count(&frames, "session/request_permission");
    assert_eq!(asked, 0, "edits are accepted in that mode");
}

#[test]
fn two_sessions_of_acpx_work_at_once_take_events_and_leave_no_process_when_it_is_killed() {
    let (home, latch) = (Home::new(), Latch::new());
    let gate = home.serve();
    let model = Model::start(vec![Rule::on_text("hold it").say("the first").held_by(&latch).once()]);
    let acpx = Acpx::new(&home, &model);
    acpx.run(&["sessions", "new", "--name", "one"]).ok();
    acpx.run(&["prompt", "-s", "one", "hello"]).ok();
    home.attached(1);
    gate.send_event("main is red");
    model.wait_for_turn("main is red");
    let held = acpx.start(&["prompt", "-s", "one", "hold it"]);
    model.wait_for_turn("hold it");
    let event = gate.send_event("main is green");
    gate.wait_for_event(&event, "delivered");
    acpx.run(&["sessions", "new", "--name", "two"]).ok();
    let second = acpx.run(&["prompt", "-s", "two", "hello"]).ok();
    assert!(second.stdout.contains("end_turn"), "{second:?}");
    latch.open();
    assert!(Ran::of(&held, PATIENCE).ok().stdout.contains("end_turn"));
    model.wait_for_turn("main is green");

    // Those that hold the agents between two commands are killed.
    let is = |process: &Running, word: &str| process.args.get(1).is_some_and(|second| second == word);
    let mut agents = running::portcullis_of(&home.folder());
    agents.retain(|process| is(process, "acp"));
    assert_eq!(agents.len(), 2, "{agents:?}");
    let mut left: Vec<Running> = agents.iter().flat_map(|agent| running::children_of(agent.pid)).collect();
    left.retain(|process| !is(process, "serve"));
    assert!(left.len() >= 4, "a guard and a Claude Code of each: {left:?}");
    for agent in &agents {
        running::signal(&running::parent_of(&running::parent_of(agent)), Signal::KILL);
    }
    running::wait_gone(&[agents, left].concat(), PATIENCE);
    let frames = acpx.agent.check();
    let shows = |text: &str| {
        frames.iter().any(|frame| {
            let update = &frame.value["params"]["update"];
            update["sessionUpdate"] == "user_message_chunk" && update.to_string().contains(text)
        })
    };
    assert!(shows("main is red") && shows("main is green"), "each event is a message of its sender");
}

#[test]
fn a_session_of_acpx_is_opened_again_by_its_id() {
    let home = Home::new();
    let _gate = home.serve();
    let model = Model::start(Vec::new());
    let acpx = Acpx::new(&home, &model);
    acpx.run(&["sessions", "new", "--name", "first"]).ok();
    acpx.run(&["prompt", "-s", "first", "remember the milk"]).ok();
    let kept = home.attached(1)[0]["agent_session"].as_str().unwrap().to_owned();
    acpx.close("first");

    let acpx = Acpx::new(&home, &model);
    acpx.run(&["sessions", "new", "--name", "again", "--resume-session", &kept]).ok();
    let ran = acpx.run(&["prompt", "-s", "again", "go on"]).ok();
    assert!(ran.stdout.contains("end_turn"), "{ran:?}");
    let seen = model.wait_for_turn("go on").body["messages"].to_string();
    assert!(seen.contains("remember the milk"), "{seen}");
    let frames = acpx.close("again");
    let opened = |frame: &Frame| {
        let is_it = |method: &Value| *method == "session/load" || *method == "session/resume";
        is_it(&frame.value["method"]) && frame.value["params"]["sessionId"] == json!(kept)
    };
    assert!(frames.iter().any(opened));
}
