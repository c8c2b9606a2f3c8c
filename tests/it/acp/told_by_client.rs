//! What Claude Code itself tells the person: it reaches the editor, a terminal that is attached, and those who look at the
//! session's stream.

use super::agent::Agent;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::home::Home;
use crate::support::stream::Stream;
use crate::support::terminal::Terminal;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// Hooks of the project's own: one keeps a prompt from the model, others have something to say.
fn hooks(home: &Home) {
    let command = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
    let block = r#"grep -q 'block it' && echo '{"decision":"block","reason":"BLOCKED BY HOOK"}'; true"#;
    let says = r#"echo '{"systemMessage":"WELL DONE"}'"#;
    let settings = json!({"hooks": {"UserPromptSubmit": command(block), "PostToolUse": command(says)}});
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    fs::write(home.project().join(".claude/settings.json"), settings.to_string()).unwrap();
}

fn attached(home: &Home) -> (String, Terminal) {
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let terminal = Terminal::start_wide(home.command(&["attach", &id]), 200);
    terminal.until("Attached to");
    (id, terminal)
}

fn is_notice(entry: &Value, text: &str) -> bool {
    entry["notice"]["text"].as_str().is_some_and(|notice| notice.contains(text))
}

#[test]
fn a_prompt_that_a_hook_blocks_is_told_in_the_editor_at_a_terminal_and_in_the_stream() {
    let home = Home::new();
    hooks(&home);
    let gate = home.serve();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let (id, terminal) = attached(&home);
    assert_eq!(editor.prompt_to_end(&session, "block it"), "end_turn");
    let told = editor.update(&session, "that it was blocked", |update| update.to_string().contains("BLOCKED BY HOOK"));
    let text = told["content"]["text"].as_str().unwrap();
    assert_eq!(told["sessionUpdate"], "user_message_chunk", "{told}");
    assert!(text.contains("**Claude Code:**") && text.contains("> UserPromptSubmit operation blocked"), "{text}");
    terminal.until("BLOCKED BY HOOK");
    let mut stream = Stream::open(&gate, home.token(), &id, 0);
    stream.until(|entry| is_notice(entry, "Claude Code: UserPromptSubmit operation blocked by hook"));
    assert!(!model.turns().iter().any(|turn| turn.shows("block it")), "the model was not asked");
}

#[test]
fn an_editor_that_shows_notices_is_told_by_them_what_hooks_say() {
    let home = Home::new();
    hooks(&home);
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": "ls", "description": "Look"})).once(),
        Rule::on_any_result().say("done"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({"session": {"notices": {}}}));
    let session = editor.new_session(&home);
    let notice = |severity: &str, title: &str| {
        editor.update(&session, title, |update| {
            let is_it = update["title"].as_str().is_some_and(|shown| shown.starts_with(title));
            update["sessionUpdate"] == "notice" && update["severity"] == severity && is_it
        })
    };
    assert_eq!(editor.prompt_to_end(&session, "block it"), "end_turn");
    let blocked = notice("warning", "UserPromptSubmit operation blocked by hook:");
    assert!(blocked["description"].as_str().unwrap().contains("BLOCKED BY HOOK"), "{blocked}");
    assert_eq!(editor.prompt_to_end(&session, "go"), "end_turn");
    notice("info", "PostToolUse:Bash says: WELL DONE");
}

#[test]
fn a_compaction_is_told_with_its_sizes_and_nothing_old_is_said_again() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let (id, terminal) = attached(&home);
    for prompt in ["one", "two", "/context"] {
        assert_eq!(editor.prompt_to_end(&session, prompt), "end_turn");
    }
    let before = editor.updates(&session);
    let said = |updates: &[Value], kind: &str| -> String {
        let of_kind = updates.iter().filter(|update| update["sessionUpdate"] == kind);
        of_kind.filter_map(|update| update["content"]["text"].as_str()).collect()
    };
    assert!(said(&before, "agent_message_chunk").contains("## Context Usage"));
    let used = before.iter().rev().find(|update| update["sessionUpdate"] == "usage_update").unwrap()["used"].clone();
    assert_ne!(used, 0, "what the client says itself has used nothing, and frees nothing");

    assert_eq!(editor.prompt_to_end(&session, "/compact"), "end_turn");
    let after = editor.updates(&session).split_off(before.len());
    assert_eq!(said(&after, "agent_message_chunk"), "", "{after:#?}");
    let told = said(&after, "user_message_chunk");
    let sizes = told.split_once("was compacted: ").map(|(_, sizes)| sizes).unwrap_or_else(|| panic!("{told}"));
    let numbers: Vec<u64> = sizes.split(' ').filter_map(|word| word.parse().ok()).collect();
    let usage: Vec<&Value> = after.iter().filter(|update| update["sessionUpdate"] == "usage_update").collect();
    assert!(!usage.is_empty() && usage.iter().all(|update| update["used"] == numbers[1]), "{told}: {usage:#?}");
    terminal.until("Claude Code: The conversation was compacted: ");

    assert_eq!(editor.prompt_to_end(&session, "three"), "end_turn");
    let mut stream = Stream::open(&gate, home.token(), &id, 0);
    stream.until(|entry| is_notice(entry, "Claude Code: The conversation was compacted: "));
    stream.until(|entry| entry["user"]["text"] == "three");
    assert_eq!(stream.text().matches("## Context Usage").count(), 1, "{}", stream.text());

    let live = editor.updates(&session).len();
    editor.call("session/load", &json!({"sessionId": session, "cwd": home.project(), "mcpServers": []}));
    let again = said(&editor.updates(&session).split_off(live), "user_message_chunk");
    assert!(again.contains("The conversation was compacted: "), "{again}");
    assert!(!again.contains("This session is being continued"), "nobody said that: {again}");
}

#[test]
fn a_model_that_is_chosen_by_a_command_shows_in_the_same_turn() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    assert_eq!(editor.prompt_to_end(&session, "/model haiku"), "end_turn");
    let updates = editor.updates(&session);
    let options = updates.iter().rev().find(|update| update["sessionUpdate"] == "config_option_update").unwrap();
    assert_eq!(options["configOptions"][1]["currentValue"], "haiku", "{options}");
}

#[test]
fn a_call_that_takes_a_while_and_asks_nobody_is_shown_as_running() {
    let home = Home::new();
    let pipe = home.project().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": "cat pipe", "description": "Wait"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let prompt = editor.prompt(&session, "go");
    let is_running = |update: &Value| update["status"] == "in_progress";
    let running = editor.update(&session, "the call that runs", is_running);
    let asked = editor.frames().iter().any(|frame| frame.value["method"] == "session/request_permission");
    assert!(!asked, "nobody is asked");
    fs::write(&pipe, "the end\n").unwrap();
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    editor.update(&session, "its end", |update| {
        update["toolCallId"] == running["toolCallId"] && update["status"] == "completed"
    });
}
