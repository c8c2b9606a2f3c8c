//! The scenarios that matter most, with the real Claude Code behind a scripted model: `claude -p` with hooks, driven, and in an
//! editor.

use super::table::Connection::{self, Acp, Control, HooksHeadless};
use crate::acp::agent::Agent;
use crate::acp::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::claude::Claude;
use crate::support::driven::Driven;
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran};
use crate::support::seen::until;
use crate::support::tmux::install;
use serde_json::{Value, json};

/// One call of the real CLI, and the file by which its effect is seen.
struct Call {
    rules: &'static str,
    mode: &'static str,
    tool: &'static str,
    input: fn(&Home) -> Value,
    file: &'static str,
}

const TOUCH: Call = Call {
    rules: "[[rule]]\nask = \"Bash(touch *)\"\n",
    mode: "bypassPermissions",
    tool: "Bash",
    input: |_| json!({"command": "touch made.txt", "description": "Make a file"}),
    file: "made.txt",
};

/// Whether the call took effect, after people did what `act` does, over both connections alike.
#[track_caller]
fn check(call: &Call, has_effect: bool, act: impl Fn(&Home, &mut Gate)) {
    check_then(call, has_effect, act, |_| {});
}

/// The same, and then a look at what is left.
#[track_caller]
fn check_then(call: &Call, has_effect: bool, act: impl Fn(&Home, &mut Gate), then: impl Fn(&Home)) {
    for connection in [HooksHeadless, Control, Acp] {
        // A session of a killed gate would start the next one by itself.
        let home = Home::without_auto_start();
        home.write_config("allow_bypass = true\n");
        if connection == HooksHeadless {
            install(&home, &[]);
        }
        std::fs::write(home.folder().join("rules.toml"), call.rules).unwrap();
        std::fs::create_dir_all(home.project().join(".git")).unwrap();
        let mut gate = home.serve();
        let model = Model::start(vec![
            Rule::on_text("make it").call(call.tool, (call.input)(&home)).once(),
            Rule::on_any_result().say("all done"),
        ]);
        if connection == Acp {
            let editor = in_editor(&home, &model, call.mode);
            act(&home, &mut gate);
            editor.is_done();
        } else {
            let client = start(&home, &model, call.mode, connection);
            act(&home, &mut gate);
            let ran = Ran::of(&client, PATIENCE * 3);
            assert!(ran.stdout.contains("all done"), "{connection:?}: {ran:?}");
        }
        assert_eq!(home.project().join(call.file).exists(), has_effect, "{connection:?}");
        then(&home);
    }
}

/// An editor in which someone has prompted, and looks on.
struct LookingEditor {
    editor: Editor,
    session: String,
    prompt: u64,
}

impl LookingEditor {
    #[track_caller]
    fn is_done(&self) {
        let ended = self.editor.response(self.prompt);
        assert_eq!(ended["result"]["stopReason"], "end_turn", "{ended}");
        self.editor.hears(&self.session, "all done");
    }
}

fn in_editor(home: &Home, model: &Model, mode: &str) -> LookingEditor {
    let agent = Agent::Ours { model, args: &["--permission-mode", mode] };
    let editor = Editor::start(home, &agent, &json!({}));
    let session = editor.new_session(home);
    let prompt = editor.prompt(&session, "make it");
    LookingEditor { editor, session, prompt }
}

fn start(home: &Home, model: &Model, mode: &str, connection: Connection) -> Child {
    let mut command = match connection {
        Control => Driven::command(home, model, &["make it", "--permission-mode", mode]),
        _ => {
            let mut command = Claude::command(home, model);
            command.args(["-p", "make it", "--permission-mode", mode]);
            command
        }
    };
    // As root it refuses this mode otherwise.
    command.env("IS_SANDBOX", "1");
    home.spawn(command, Stdin::Nothing)
}

#[test]
fn a_deny_rule_holds_in_bypass_mode() {
    let call = Call { rules: "[[rule]]\ndeny = \"Bash(touch *)\"\n", ..TOUCH };
    check(&call, false, |_, gate| assert!(gate.asks().is_empty()));
}

#[test]
fn an_ask_rule_is_decided_by_people_in_bypass_mode() {
    check(&TOUCH, true, |_, gate| gate.answer(&gate.only_ask(), &json!({"behavior": "allow"})));
    check(&TOUCH, false, |_, gate| gate.answer(&gate.only_ask(), &json!({"behavior": "deny"})));
}

#[test]
fn an_ask_rule_is_decided_by_people_in_the_other_modes_of_a_script() {
    for mode in ["default", "acceptEdits"] {
        let call = Call { mode, ..TOUCH };
        check(&call, true, |_, gate| gate.answer(&gate.only_ask(), &json!({"behavior": "allow"})));
    }
}

#[test]
fn a_call_refused_by_a_rule_or_a_stop_is_on_the_record_with_its_reason() {
    let refused_by = |home: &Home, by: &str| {
        let refused = |call: &Value| call["decided_by"] == by && call["outcome"] == "denied";
        until("the refused call on the record", || home.records("called").iter().any(refused).then_some(()));
        let log = home.run(&["log"]).ok().stdout;
        assert!(log.contains(by) && log.contains("touch made.txt"), "{log}");
    };
    for mode in ["default", "bypassPermissions"] {
        let call = Call { rules: "[[rule]]\ndeny = \"Bash(touch *)\"\n", mode, ..TOUCH };
        check_then(&call, false, |_, _| {}, |home| refused_by(home, "rule Bash(touch *)"));
    }
    let stop = |home: &Home, gate: &mut Gate| {
        gate.only_ask();
        let session = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
        gate.post(&format!("/api/v1/sessions/{session}/stop"), &json!({})).expect(200);
    };
    for mode in ["default", "bypassPermissions"] {
        check_then(&Call { mode, ..TOUCH }, false, stop, |home| refused_by(home, "stop"));
    }
}

#[test]
fn a_protected_file_is_asked_for_in_accept_edits_and_in_bypass_mode() {
    for mode in ["acceptEdits", "bypassPermissions"] {
        let call = Call {
            rules: "",
            mode,
            tool: "Write",
            input: |home| json!({"file_path": home.project().join(".git/made"), "content": "x"}),
            file: ".git/made",
        };
        check(&call, false, |_, gate| gate.answer(&gate.only_ask(), &json!({"behavior": "deny"})));
    }
}

#[test]
fn an_edited_input_runs_in_place_of_the_one_asked_about() {
    let call = Call { rules: "", mode: "default", file: "other.txt", ..TOUCH };
    let edited = json!({"behavior": "allow", "input": {"command": "touch other.txt"}});
    check(&call, true, |_, gate| gate.answer(&gate.only_ask(), &edited));
}

#[test]
fn a_stop_denies_what_people_are_asked_about() {
    check(&TOUCH, false, |home, gate| {
        gate.only_ask();
        let session = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
        gate.post(&format!("/api/v1/sessions/{session}/stop"), &json!({})).expect(200);
    });
}

#[test]
fn an_ask_outlives_a_gate_that_is_killed() {
    check(&TOUCH, true, |home, gate| {
        gate.only_ask();
        *gate = home.restart(gate);
        gate.answer(&gate.only_ask(), &json!({"behavior": "allow"}));
    });
}
