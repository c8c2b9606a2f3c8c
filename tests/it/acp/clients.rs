//! Clients that others wrote: acpx, and an editor on the official TypeScript SDK.

use super::agent::Agent;
use super::frames::{Frame, Recorded};
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::claude::peer;
use crate::support::home::{Home, Ran};
use crate::support::seen::OrFail;
use serde_json::{Value, json};
use std::cell::Cell;
use std::path::Path;

/// A model that writes a file and runs a command, and says what came of it.
fn writes_and_runs(home: &Home, prefix: &str) -> Model {
    let file = home.project().join("new.txt");
    let (write, bash) = (json!({"file_path": file, "content": "new\n"}), "touch made.txt");
    Model::start(vec![
        Rule::on_text("go").call(&format!("{prefix}Write"), write).once(),
        Rule::on_any_result().call(&format!("{prefix}Bash"), json!({"command": bash, "description": "Make it"})).once(),
        Rule::on_any_result().say("all done"),
    ])
}

/// The tools that work through the editor: acpx has files and terminals.
const THROUGH_EDITOR: &str = "mcp__acp__";

/// `acpx exec go` with these options.
fn acpx(home: &Home, agent: &Agent<'_>, options: &[&str]) -> Ran {
    acpx_with_frames(home, agent, options).0
}

/// The same, and all that both sides have said.
fn acpx_with_frames(home: &Home, agent: &Agent<'_>, options: &[&str]) -> (Ran, Vec<Frame>) {
    let agent = Recorded::new(home, agent);
    let mut command = home.program(peer("PORTCULLIS_TEST_NODE24"));
    command.arg(peer("PORTCULLIS_TEST_ACPX")).arg("--agent").arg(&agent.script);
    command.args(["--format", "json"]).args(options).args(["exec", "go"]);
    let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3);
    let frames = agent.check();
    (ran, frames)
}

fn has(home: &Home, file: &str) -> bool {
    home.project().join(file).exists()
}

#[test]
fn acpx_that_approves_all_has_the_file_written_and_the_command_run() {
    let home = Home::new();
    let model = writes_and_runs(&home, THROUGH_EDITOR);
    let (ran, frames) = acpx_with_frames(&home, &Agent::ours(&model), &["--approve-all"]);
    let ran = ran.ok();
    assert!(ran.stdout.contains("all done") && ran.stdout.contains("end_turn"), "{ran:#?}");
    assert!(has(&home, "new.txt") && has(&home, "made.txt"));
    for method in ["fs/write_text_file", "terminal/create", "terminal/release"] {
        assert!(frames.iter().any(|frame| frame.value["method"] == method), "{method}");
    }
}

#[test]
fn acpx_without_files_and_terminals_has_both_done_by_claude_code() {
    let home = Home::new();
    let model = writes_and_runs(&home, "");
    let options = ["--approve-all", "--no-fs", "--no-terminal"];
    let (ran, frames) = acpx_with_frames(&home, &Agent::ours(&model), &options);
    assert!(ran.ok().stdout.contains("all done"));
    assert!(has(&home, "new.txt") && has(&home, "made.txt"));
    let is_of_editor = |method: &str| method.starts_with("fs/") || method.starts_with("terminal/");
    assert!(!frames.iter().any(|frame| frame.value["method"].as_str().is_some_and(is_of_editor)));
}

#[test]
fn acpx_that_denies_all_has_nothing_done_and_the_turn_goes_on() {
    let home = Home::new();
    let model = writes_and_runs(&home, THROUGH_EDITOR);
    let ran = acpx(&home, &Agent::ours(&model), &["--deny-all"]);
    assert!(ran.stdout.contains("all done") && ran.stdout.contains("end_turn"), "{ran:#?}");
    assert!(!has(&home, "new.txt") && !has(&home, "made.txt"));
}

#[test]
fn acpx_with_a_policy_has_the_file_written_and_the_command_refused() {
    let home = Home::new();
    // What goes through it, acpx asks about a second time, past its policy.
    let model = writes_and_runs(&home, "");
    let policy = json!({"autoApprove": ["edit"], "autoDeny": ["execute"]}).to_string();
    let ran = acpx(&home, &Agent::ours(&model), &["--permission-policy", &policy, "--no-fs", "--no-terminal"]);
    assert!(ran.stdout.contains("all done"), "{ran:#?}");
    assert!(has(&home, "new.txt") && !has(&home, "made.txt"), "{ran:#?}");
}

#[test]
fn acpx_leaves_a_plan_and_answers_a_question() {
    let home = Home::new();
    let question = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [
        {"label": "Red", "description": "Like fire"}, {"label": "Blue", "description": "Like water"}]}]});
    let plan = json!({"file_path": "$PLAN_FILE", "content": "# Plan\n\nDo it."});
    let model = Model::start(vec![
        Rule::on_text("go").call("Write", plan).once(),
        Rule::on_result("/.claude/plans/").call("ExitPlanMode", json!({})).once(),
        Rule::on_any_result().call("AskUserQuestion", question).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let agent = Agent::Ours { model: &model, args: &["--permission-mode", "plan"] };
    let (ran, frames) = acpx_with_frames(&home, &agent, &["--approve-all"]);
    assert!(ran.ok().stdout.contains("all done"));
    model.wait_for_turn("Red");
    let is_left = |frame: &Frame| {
        let update = &frame.value["params"]["update"];
        update["sessionUpdate"] == "current_mode_update" && update["currentModeId"] == "default"
    };
    assert!(frames.iter().any(is_left), "the mode that was chosen with the plan");
}

/// An editor on the SDK, told what to do line by line.
pub(super) struct SdkEditor {
    pub(super) child: Child,
    agent: Recorded,
    next_id: Cell<u64>,
}

impl SdkEditor {
    #[track_caller]
    pub(super) fn start(home: &Home, agent: &Agent<'_>) -> Self {
        Self::start_with(home, agent, &[])
    }

    /// One that has files and terminals.
    #[track_caller]
    pub(super) fn with_desk(home: &Home, agent: &Agent<'_>) -> Self {
        Self::start_with(home, agent, &[("ACP_DESK", "1")])
    }

    #[track_caller]
    fn start_with(home: &Home, agent: &Agent<'_>, environment: &[(&str, &str)]) -> Self {
        let agent = Recorded::new(home, agent);
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/acp/sdk-client.mjs");
        let mut command = home.program(peer("PORTCULLIS_TEST_NODE24"));
        command.arg(script).arg(&agent.script).arg(home.project()).env("ACP_SDK", peer("PORTCULLIS_TEST_ACP_SDK"));
        command.envs(environment.iter().copied());
        let editor = Self { child: home.spawn(command, Stdin::Open), agent, next_id: Cell::new(1) };
        editor.told("initialized", |value| value.get("initialized").is_some());
        editor
    }

    /// Waits for something that the editor saw.
    #[track_caller]
    pub(super) fn told(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Value {
        let parsed = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
        let line = self.child.line(PATIENCE * 3, |line| wanted(&parsed(line)));
        let value = parsed(&line);
        (!value.is_null()).then_some(value).ok_or(()).or_fail(|()| format!("no JSON for {what}: {line}"))
    }

    pub(super) fn tell(&self, line: &Value) {
        self.child.write(format!("{line}\n"));
    }

    pub(super) fn send(&self, method: &str, params: &Value) -> u64 {
        let id = self.next_id.replace(self.next_id.get() + 1);
        self.tell(&json!({"id": id, "method": method, "params": params}));
        id
    }

    #[track_caller]
    pub(super) fn result(&self, id: u64) -> Value {
        let told = self.told("a result", |value| value["id"] == id);
        assert!(told.get("error").is_none(), "{told}");
        told["result"].clone()
    }

    #[track_caller]
    pub(super) fn new_session(&self) -> String {
        self.result(self.send("session/new", &json!({})))["sessionId"].as_str().unwrap().to_owned()
    }

    pub(super) fn prompt(&self, session: &str, text: &str) -> u64 {
        self.send("session/prompt", &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    #[track_caller]
    pub(super) fn asked(&self, kind: &str) -> Value {
        self.told("a request of the agent", |value| value["kind"] == kind)
    }

    /// Answers a request for permission with the first option of this kind.
    #[track_caller]
    pub(super) fn choose(&self, asked: &Value, kind: &str) {
        let options = asked["params"]["options"].as_array().unwrap();
        let option = &options.iter().find(|option| option["kind"] == kind).unwrap()["optionId"];
        let result = json!({"outcome": {"outcome": "selected", "optionId": option}});
        self.tell(&json!({"answer": asked["asked"], "result": result}));
    }

    #[track_caller]
    pub(super) fn end(&self) {
        self.child.close_stdin();
        self.child.wait_exit(PATIENCE);
        self.agent.check();
    }
}

#[test]
fn an_editor_on_the_official_sdk_edits_runs_cancels_and_asks() {
    let (home, latch) = (Home::new(), Latch::new());
    let notes = home.project().join("notes.txt");
    std::fs::write(&notes, "one\ntwo\n").unwrap();
    let question = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [
        {"label": "Red", "description": "Like fire"}, {"label": "Blue", "description": "Like water"}]}]});
    let model = Model::start(vec![
        Rule::on_text("edit it").call("Read", json!({"file_path": notes})).once(),
        Rule::on_result("one\n")
            .call("Edit", json!({"file_path": notes, "old_string": "two", "new_string": "three"}))
            .once(),
        Rule::on_text("run it")
            .call("Bash", json!({"command": "touch made.txt; echo said by the command", "description": "Make it"}))
            .once(),
        Rule::on_text("hold it").say("never").held_by(&latch).once(),
        Rule::on_text("ask me").call("AskUserQuestion", question).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let editor = SdkEditor::start(&home, &Agent::ours(&model));
    let session = editor.new_session();

    let prompt = editor.prompt(&session, "edit it");
    let diff = editor.told("a diff", |value| value.to_string().contains(r#""type":"diff""#));
    assert!(diff.to_string().contains("three"), "{diff}");
    editor.choose(&editor.asked("permission"), "allow_once");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert_eq!(std::fs::read_to_string(&notes).unwrap(), "one\nthree\n");

    let prompt = editor.prompt(&session, "run it");
    editor.choose(&editor.asked("permission"), "allow_once");
    editor.told("what the command printed", |value| {
        let update = &value["update"]["update"];
        let is_ended = update["sessionUpdate"] == "tool_call_update" && update["status"] == "completed";
        is_ended && update["content"].to_string().contains("said by the command")
    });
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert!(has(&home, "made.txt"));

    let prompt = editor.prompt(&session, "hold it");
    model.wait_for_turn("hold it");
    editor.tell(&json!({"notify": "session/cancel", "params": {"sessionId": session}}));
    assert_eq!(editor.result(prompt)["stopReason"], "cancelled");

    let prompt = editor.prompt(&session, "ask me");
    let form = editor.asked("form");
    let fields = form["params"]["requestedSchema"]["properties"].as_object().unwrap();
    let content = json!({fields.keys().next().unwrap(): "Blue"});
    editor.tell(&json!({"answer": form["asked"], "result": {"action": "accept", "content": content}}));
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    model.wait_for_turn("Blue");
    editor.end();
}
