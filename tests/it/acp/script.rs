//! One conversation of an editor with an agent, the same for every agent, and what the editor saw of it.

use super::agent::Agent;
use super::editor::Editor;
use super::observed::Observed;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::home::Home;
use serde_json::{Value, json};
use std::fs;

/// What the editor of the script can do: it shows forms, and leaves files and terminals to the agent.
fn capabilities() -> Value {
    json!({"fs": {"readTextFile": false, "writeTextFile": false}, "terminal": false, "elicitation": {"form": {}}})
}

/// The latches that hold the model in the steps that need time.
pub(super) struct Held {
    /// Never opened.
    cancelled: Latch,
    first: Latch,
    second: Latch,
}

/// A model for the script, with files of this home.
pub(super) fn model(home: &Home) -> (Model, Held) {
    let held = Held { cancelled: Latch::new(), first: Latch::new(), second: Latch::new() };
    let notes = home.project().join("notes.txt");
    let bash = |command: &str| json!({"command": command, "description": "Do it"});
    let edit = json!({"file_path": notes, "old_string": "two", "new_string": "three"});
    let question = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [
        {"label": "Red", "description": "Like fire"}, {"label": "Blue", "description": "Like water"}]}]});
    let todos = json!({"todos": [{"content": "Look", "status": "in_progress", "activeForm": "Looking"},
                                 {"content": "Act", "status": "pending", "activeForm": "Acting"}]});
    let model = Model::start(vec![
        Rule::on_text("edit it").call("Read", json!({"file_path": notes})).once(),
        Rule::on_result("one\n").call("Edit", edit).once(),
        Rule::on_text("run it").call("Bash", bash("echo said; touch made.txt")).once(),
        Rule::on_text("refuse it").call("Bash", bash("touch refused.txt")).once(),
        Rule::on_text("always").call("Bash", bash("git init -q always")),
        Rule::on_text("hold it").say("never").held_by(&held.cancelled).once(),
        Rule::on_text("stop it").call("Bash", bash("touch stopped.txt")).once(),
        Rule::on_text("write it")
            .call("Write", json!({"file_path": home.project().join("new.txt"), "content": "new\n"}))
            .once(),
        Rule::on_text("plan it")
            .call("Write", json!({"file_path": "$PLAN_FILE", "content": "# Plan\n\nDo it."}))
            .once(),
        Rule::on_result("/.claude/plans/").call("ExitPlanMode", json!({})).once(),
        Rule::on_text("ask me").call("AskUserQuestion", question).once(),
        Rule::on_text("list it").call("TodoWrite", todos).once(),
        Rule::on_text("first session").say("the first").held_by(&held.first).once(),
        Rule::on_text("second session").say("the second").held_by(&held.second).once(),
        Rule::on_any_result().say("done"),
    ]);
    (model, held)
}

/// Walks through every step, and returns what was seen.
pub(super) fn walk(home: &Home, agent: &Agent<'_>, held: &Held) -> Observed {
    fs::write(home.project().join("notes.txt"), "one\ntwo\n").unwrap();
    block_a_prompt(home);
    let mut seen = Observed::new(home);
    let editor = Editor::connect(home, agent);
    let about = json!({"name": "test-editor", "version": "1.0.0"});
    let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities(), "clientInfo": about});
    seen.initialized(&editor.call("initialize", &hello));
    let created = editor.call("session/new", &json!({"cwd": home.project(), "mcpServers": []}));
    seen.created(&created);
    let session = created["sessionId"].as_str().unwrap().to_owned();

    let stop = editor.prompt_to_end(&session, "hello");
    seen.step("prompt", &editor, &session, &stop);

    turn(&mut seen, "edit", &editor, &session, "edit it", "allow_once");
    assert_eq!(fs::read_to_string(home.project().join("notes.txt")).unwrap(), "one\nthree\n");
    turn(&mut seen, "bash", &editor, &session, "run it", "allow_once");
    assert!(home.project().join("made.txt").exists());
    turn(&mut seen, "reject", &editor, &session, "refuse it", "reject_once");
    assert!(!home.project().join("refused.txt").exists());
    turn(&mut seen, "always", &editor, &session, "always", "allow_always");
    turn(&mut seen, "once more", &editor, &session, "always, once more", "allow_once");

    let prompt = editor.prompt(&session, "hold it");
    agent.model().wait_for_turn("hold it");
    editor.notify("session/cancel", &json!({"sessionId": session}));
    seen.cancelled("cancel while the model thinks", &editor, &session, &editor.stop_reason(prompt));

    let prompt = editor.prompt(&session, "stop it");
    let request = editor.permission();
    editor.notify("session/cancel", &json!({"sessionId": session}));
    editor.answer(&request, &json!({"outcome": {"outcome": "cancelled"}}));
    seen.cancelled("cancel while it asks", &editor, &session, &editor.stop_reason(prompt));
    let stop = editor.prompt_to_end(&session, "are you there");
    seen.step("prompt after a cancel", &editor, &session, &stop);

    seen.result("mode", &editor.call("session/set_mode", &json!({"sessionId": session, "modeId": "acceptEdits"})));
    turn(&mut seen, "mode", &editor, &session, "write it", "allow_once");
    assert_eq!(fs::read_to_string(home.project().join("new.txt")).unwrap(), "new\n");

    editor.call("session/set_mode", &json!({"sessionId": session, "modeId": "plan"}));
    turn(&mut seen, "plan", &editor, &session, "plan it", "allow_once");
    turn(&mut seen, "question", &editor, &session, "ask me", "allow_once");
    turn(&mut seen, "to-do list", &editor, &session, "list it", "allow_once");

    two_sessions(home, &editor, held, &session, &mut seen);
    seen.whole(&editor);
    editor.child.close_stdin();
    drop(editor);

    let editor = Editor::start(home, agent, &capabilities());
    let loaded = editor.call("session/load", &json!({"sessionId": session, "cwd": home.project(), "mcpServers": []}));
    seen.result("load", &loaded);
    seen.replayed("load", &editor.updates(&session));
    seen.skip(&editor, &session);
    let stop = editor.prompt_to_end(&session, "go on");
    seen.step("prompt after a load", &editor, &session, &stop);
    let stop = editor.prompt_to_end(&session, "block it");
    seen.step("prompt that a hook blocks", &editor, &session, &stop);
    let stop = editor.prompt_to_end(&session, "/context");
    seen.step("command", &editor, &session, &stop);
    let stop = editor.prompt_to_end(&session, "/compact");
    seen.step("compaction", &editor, &session, &stop);
    let listed = editor.call("session/list", &json!({"cwd": home.project()}));
    seen.listed("list", &listed);
    seen.result("close", &editor.call("session/close", &json!({"sessionId": session})));
    seen
}

/// A hook of the project's own keeps one prompt from the model.
fn block_a_prompt(home: &Home) {
    let block = r#"grep -q 'block it' && echo '{"decision":"block","reason":"not this"}'; true"#;
    let hook = json!([{"hooks": [{"type": "command", "command": block}]}]);
    let settings = json!({"hooks": {"UserPromptSubmit": hook}});
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    fs::write(home.project().join(".claude/settings.json"), settings.to_string()).unwrap();
}

/// Two sessions work at the same time; the one that began later ends first.
fn two_sessions(home: &Home, editor: &Editor, held: &Held, first: &str, seen: &mut Observed) {
    let second = editor.new_session(home);
    let (in_first, in_second) = (editor.prompt(first, "first session"), editor.prompt(&second, "second session"));
    held.second.open();
    let stop = editor.stop_reason(in_second);
    seen.step("second of two sessions", editor, &second, &stop);
    held.first.open();
    let stop = editor.stop_reason(in_first);
    seen.step("first of two sessions", editor, first, &stop);
}

/// Prompts, answers everything that is asked with an option of this kind, and waits for the end.
fn turn(seen: &mut Observed, step: &str, editor: &Editor, session: &str, text: &str, kind: &str) {
    let prompt = editor.prompt(session, text);
    let stop = loop {
        let frame = editor.request_or_end(prompt);
        match frame["method"].as_str() {
            Some("session/request_permission") => {
                seen.request(step, editor, &frame);
                editor.answer(&frame, &json!({"outcome": {"outcome": "selected", "optionId": option(&frame, kind)}}));
            }
            Some("elicitation/create") => {
                seen.form(step, &frame);
                editor.answer(&frame, &json!({"action": "accept", "content": {first_field(&frame): "Blue"}}));
            }
            Some(method) => panic!("the agent asked for {method}"),
            None => break frame["result"]["stopReason"].as_str().unwrap_or("an error").to_owned(),
        }
    };
    seen.step(step, editor, session, &stop);
}

/// The first option of this kind, or else the first one that is offered.
fn option(request: &Value, kind: &str) -> Value {
    let options = request["params"]["options"].as_array().unwrap();
    options.iter().find(|option| option["kind"] == kind).unwrap_or(&options[0])["optionId"].clone()
}

/// The name of the form's first field.
fn first_field(request: &Value) -> String {
    let fields = request["params"]["requestedSchema"]["properties"].as_object().unwrap();
    fields.keys().next().unwrap().clone()
}
