//! The methods of the protocol that no other journey walks through.

use super::agent::Agent;
use super::clients::SdkEditor;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::browser::{Browser, DESKTOP};
use crate::support::home::Home;
use crate::support::terminal::Terminal;
use crate::support::until;
use serde_json::{Value, json};
use std::fs;

fn touch() -> Value {
    json!({"command": "touch made.txt", "description": "Make it"})
}

#[test]
fn a_conversation_is_resumed_without_its_history_listed_and_deleted() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "remember the milk"), "end_turn");
    editor.child.close_stdin();
    drop(editor);

    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let place = json!({"sessionId": session, "cwd": home.project(), "mcpServers": []});
    let resumed = editor.call("session/resume", &place);
    assert_eq!(resumed["modes"]["currentModeId"], "default", "{resumed}");
    let is_said = |update: &Value| update["sessionUpdate"] == "user_message_chunk";
    assert!(!editor.updates(&session).iter().any(is_said), "nothing is told again");
    assert_eq!(editor.prompt_to_end(&session, "go on"), "end_turn");
    assert!(model.wait_for_turn("go on").body["messages"].to_string().contains("remember the milk"));

    let listed = || editor.call("session/list", &json!({"cwd": home.project()}))["sessions"].to_string();
    assert!(listed().contains(&session));
    editor.call("session/delete", &json!({"sessionId": session}));
    assert!(!listed().contains(&session), "also while it was open");
    let gone = editor.response(editor.send("session/load", &place));
    assert_eq!(gone["error"]["code"], -32002, "{gone}");
}

#[test]
fn the_mode_and_the_model_are_set_as_options() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let offered = editor.update(&session, "the models", |update| {
        update["sessionUpdate"] == "config_option_update" && update["configOptions"][1]["id"] == "model"
    });
    let set = |option: &str, value: &Value| {
        let wanted = json!({"sessionId": session, "configId": option, "value": value});
        editor.response(editor.send("session/set_config_option", &wanted))
    };
    assert_eq!(set("mode", &json!("plan"))["result"]["configOptions"][0]["currentValue"], "plan");
    editor.update(&session, "the mode", |update| {
        update["sessionUpdate"] == "current_mode_update" && update["currentModeId"] == "plan"
    });
    let models = offered["configOptions"][1]["options"].as_array().unwrap();
    let current = &offered["configOptions"][1]["currentValue"];
    let other = models.iter().map(|model| &model["value"]).find(|model| *model != current).unwrap();
    assert_eq!(set("model", other)["result"]["configOptions"][1]["currentValue"], *other);
    assert_eq!(set("mode", &json!("bypassPermissions"))["error"]["code"], -32602, "nobody has allowed it");
    assert_eq!(set("model", &json!("a-model-of-nobody"))["error"]["code"], -32602);
    assert_eq!(set("colour", &json!("red"))["error"]["code"], -32602);
}

#[test]
fn one_request_of_several_prompts_is_cancelled() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![Rule::on_text("hold it").say("never").held_by(&latch).once()]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let first = editor.prompt(&session, "hold it");
    model.wait_for_turn("hold it");
    let second = editor.prompt(&session, "not this");
    editor.notify("$/cancel_request", &json!({"requestId": second}));
    assert_eq!(editor.stop_reason(second), "cancelled");
    editor.notify("$/cancel_request", &json!({"requestId": first}));
    assert_eq!(editor.stop_reason(first), "cancelled");
    assert_eq!(editor.prompt_to_end(&session, "are you there"), "end_turn");
    let seen = model.wait_for_turn("are you there").body["messages"].to_string();
    assert!(!seen.contains("not this"), "it was taken back: {seen}");
}

#[test]
fn a_question_is_asked_with_its_options_in_an_editor_without_forms() {
    let home = Home::new();
    let questions = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]});
    let model = Model::start(vec![
        Rule::on_text("ask me").call("AskUserQuestion", questions).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let prompt = editor.prompt(&session, "ask me");
    let asked = editor.permission();
    let names: Vec<&Value> =
        asked["params"]["options"].as_array().unwrap().iter().map(|option| &option["name"]).collect();
    assert_eq!(names[..3], ["Red", "Blue", "Reject"], "{asked}");
    assert!(asked["params"]["toolCall"]["content"].to_string().contains("cold"), "{asked}");
    editor.answer(&asked, &json!({"outcome": {"outcome": "selected", "optionId": "answer:2"}}));
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    model.wait_for_turn("Blue");
}

#[test]
fn a_new_session_begins_in_the_mode_of_its_folder_or_else_in_default() {
    let home = Home::new();
    fs::create_dir_all(home.user().join(".claude")).unwrap();
    let settings = json!({"permissions": {"defaultMode": "acceptEdits"}});
    fs::write(home.user().join(".claude/settings.json"), settings.to_string()).unwrap();
    let model = Model::start(Vec::new());
    let begins_in = |mode: &str| {
        let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
        let created = editor.call("session/new", &json!({"cwd": home.project(), "mcpServers": []}));
        assert_eq!(created["modes"]["currentModeId"], mode);
        let session = created["sessionId"].as_str().unwrap();
        assert_eq!(editor.prompt_to_end(session, "hello"), "end_turn");
        let is_told = |update: &Value| update["sessionUpdate"] == "current_mode_update";
        assert!(!editor.updates(session).iter().any(is_told), "Claude Code is in the same");
    };
    begins_in("default");
    home.write_config(&format!("[projects.\"{}\"]\nmode = \"plan\"\n", home.project().display()));
    begins_in("plan");
}

#[test]
fn an_editor_asks_whether_someone_is_signed_in_and_signs_them_out() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    editor.call("authenticate", &json!({"methodId": "claude-login-elsewhere"}));
    let unknown = editor.response(editor.send("authenticate", &json!({"methodId": "by-magic"})));
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    editor.call("logout", &json!({}));
    let none = home.user().join("no-claude");
    let editor =
        Editor::start(&home, &Agent::Ours { model: &model, args: &["--claude", none.to_str().unwrap()] }, &json!({}));
    let refused = editor.response(editor.send("authenticate", &json!({"methodId": "claude-login-elsewhere"})));
    assert!(refused["error"]["message"].as_str().unwrap().contains("Claude Code was not found"), "{refused}");
}

#[test]
fn what_is_wrong_with_a_request_is_said_and_leaves_no_noise() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let nowhere = home.user().join("nowhere");
    let text = |method: &str, params: Value| {
        let error = editor.response(editor.send(method, &params))["error"].clone();
        (error["code"].clone(), error["message"].as_str().unwrap().to_owned())
    };
    let (code, said) = text("session/new", json!({"cwd": nowhere, "mcpServers": []}));
    assert_eq!((code, said), (json!(-32602), format!("there is no folder {}", nowhere.display())));
    let elsewhere = json!({"cwd": home.project(), "additionalDirectories": ["elsewhere"], "mcpServers": []});
    let (code, said) = text("session/new", elsewhere);
    assert_eq!((code, said.as_str()), (json!(-32602), "additionalDirectories must be absolute paths: elsewhere"));
    let (_, said) = text("session/load", json!({"sessionId": "nope", "cwd": home.project(), "mcpServers": []}));
    assert_eq!(said, "Claude Code has kept no conversation nope");
    let prompt = json!([{"type": "text", "text": "hello"}]);
    for (method, params) in [
        ("session/prompt", json!({"sessionId": "nope", "prompt": prompt})),
        ("session/set_mode", json!({"sessionId": "nope", "modeId": "plan"})),
        ("session/set_config_option", json!({"sessionId": "nope", "configId": "mode", "value": "plan"})),
    ] {
        assert_eq!(text(method, params), (json!(-32002), "no session nope is open".to_owned()), "{method}");
    }
    let log = editor.child.stderr();
    assert!(!log.contains("WARN"), "{log}");
}

#[test]
fn blank_lines_between_messages_are_no_messages() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    editor.child.write("\n\r\n  \n");
    editor.call("session/list", &json!({"cwd": home.project()}));
    let errors: Vec<Value> =
        editor.frames().into_iter().map(|frame| frame.value).filter(|frame| frame.get("error").is_some()).collect();
    assert!(errors.is_empty(), "{errors:?}");
}

#[test]
fn a_prompt_that_is_too_long_to_be_read_is_refused_and_the_next_is_taken() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let refused = editor.response(editor.prompt(&session, &"x".repeat(65 << 20)));
    assert!(refused["error"]["message"].as_str().unwrap().contains("send less at once"), "{refused}");
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
}

#[test]
fn more_folders_of_a_session_are_read_without_a_prompt() {
    let home = Home::new();
    let other = home.user().join("other");
    fs::create_dir_all(&other).unwrap();
    fs::write(other.join("notes.txt"), "from elsewhere\n").unwrap();
    let model = Model::start(vec![
        Rule::on_text("read it").call("Read", json!({"file_path": other.join("notes.txt")})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let place = json!({"cwd": home.project(), "additionalDirectories": [other], "mcpServers": []});
    let created = editor.call("session/new", &place);
    assert_eq!(editor.prompt_to_end(created["sessionId"].as_str().unwrap(), "read it"), "end_turn");
    model.wait_for_turn("from elsewhere");
}

#[test]
fn a_subagent_that_asks_after_the_turn_has_ended_is_answered() {
    let (home, latch) = (Home::new(), Latch::new());
    let agent = json!({"description": "Do it", "prompt": "work below", "subagent_type": "general-purpose",
        "run_in_background": true});
    let model = Model::start(vec![
        Rule::on_text("work below").call("Bash", touch()).held_by(&latch).once(),
        Rule::on_text("delegate").call("Agent", agent).once(),
        Rule::on_any_result().say("done"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "delegate"), "end_turn");
    latch.open();
    editor.choose(&editor.permission(), "allow_once");
    until("the file of the subagent", || home.project().join("made.txt").exists().then_some(()));
    assert_eq!(editor.prompt_to_end(&session, "are you there"), "end_turn");
}

#[test]
fn a_session_of_an_editor_is_answered_at_a_terminal_that_attached_to_it() {
    let home = Home::new();
    let _gate = home.serve();
    let model = Model::start(vec![Rule::on_text("go").call("Bash", touch()).once(), Rule::on_any_result().say("done")]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let mut terminal = Terminal::start(home.command(&["attach", &id]));
    terminal.until("Attached to");
    let prompt = editor.prompt(&session, "go");
    let asked = editor.permission();
    terminal.until("Allow?");
    terminal.type_line("y");
    editor.withdrawn(&asked);
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(home.project().join("made.txt").exists());
    terminal.type_line("/detach");
    assert!(terminal.wait().success());
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn", "it goes on");
}

#[test]
fn two_sessions_of_the_sdk_work_at_once_and_one_is_answered_on_the_page() {
    let (home, latch) = (Home::new(), Latch::new());
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("hold it").say("the first").held_by(&latch).once(),
        Rule::on_text("go").call("Bash", touch()).once(),
        Rule::on_any_result().say("done"),
    ]);
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    let editor = SdkEditor::start(&home, &Agent::ours(&model));
    let (first, second) = (editor.new_session(), editor.new_session());
    let held = editor.prompt(&first, "hold it");
    model.wait_for_turn("hold it");
    let prompt = editor.prompt(&second, "go");
    editor.asked("permission");
    page.see_text(".prompt .code", "touch made.txt");
    page.click("[data-action=allowOnce]");
    assert_eq!(editor.result(prompt)["stopReason"], "end_turn");
    assert!(home.project().join("made.txt").exists());
    latch.open();
    assert_eq!(editor.result(held)["stopReason"], "end_turn");
    editor.end();
}
