//! The gate's side in the editor: events from outside, and prompts that are answered elsewhere.

use super::agent::Agent;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::browser::{Browser, DESKTOP};
use crate::support::control::ControlClient;
use crate::support::home::Home;
use crate::support::stream::Stream;
use serde_json::{Value, json};

fn touches() -> Model {
    let touch = json!({"command": "touch made.txt", "description": "Make it"});
    Model::start(vec![Rule::on_text("go").call("Bash", touch).once(), Rule::on_any_result().say("done: $RESULT")])
}

/// An editor that shows a request for permission: its prompt waits.
struct Asked {
    editor: Editor,
    session: String,
    prompt: u64,
    request: Value,
}

impl Asked {
    fn in_new_session(home: &Home, model: &Model) -> Self {
        let editor = Editor::start(home, &Agent::ours(model), &json!({}));
        let session = editor.new_session(home);
        let prompt = editor.prompt(&session, "go");
        let request = editor.permission();
        Self { editor, session, prompt, request }
    }
}

#[test]
fn an_event_into_an_idle_session_begins_a_turn_and_is_shown_with_its_sender() {
    let home = Home::new();
    let (gate, model) = (home.serve(), Model::start(Vec::new()));
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    home.attached(1);
    gate.send_event("main is red");
    let shown = editor.update(&session, "the event", |update| {
        update["sessionUpdate"] == "user_message_chunk" && update.to_string().contains("main is red")
    });
    assert!(shown.to_string().contains("owner"), "it names the sender: {shown}");
    editor.hears(&session, "echo: ");
    model.wait_for_turn("main is red");
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
}

#[test]
fn who_looks_at_an_editors_session_sees_its_prompts_words_calls_and_results() {
    let home = Home::new();
    let (gate, model) = (home.serve(), touches());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let ours = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let mut stream = Stream::open(&gate, home.token(), &ours, 0);
    let prompt = editor.prompt(&session, "go");
    editor.choose(&editor.permission(), "allow_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    stream.until(|entry| entry["turn"].is_object());
    assert_eq!(stream.one("user")["text"], "go");
    assert_eq!(stream.one("call")["input"]["command"], "touch made.txt");
    assert_eq!(stream.one("result")["call"], stream.one("call")["call"]);
    assert!(stream.text().starts_with("done: "), "{:#?}", stream.entries);
}

#[test]
fn an_event_into_a_busy_session_is_folded_into_the_turn_and_shown() {
    let home = Home::new();
    let (gate, model) = (home.serve(), touches());
    let Asked { editor, session, prompt, request } = Asked::in_new_session(&home, &model);
    let event = gate.send_event("main is red");
    gate.wait_for_event(&event, "delivered");
    editor.choose(&request, "allow_once");
    editor.update(&session, "the event", |update| {
        update["sessionUpdate"] == "user_message_chunk" && update.to_string().contains("main is red")
    });
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    model.wait_for_turn("main is red");
}

#[test]
fn a_prompt_answered_at_the_gate_is_withdrawn_in_the_editor_whose_late_answer_is_ignored() {
    let home = Home::new();
    let (gate, model) = (home.serve(), touches());
    let Asked { editor, session, prompt, request } = Asked::in_new_session(&home, &model);
    gate.allow(&gate.only_ask());
    editor.withdrawn(&request);
    editor.choose(&request, "reject_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(home.project().join("made.txt").exists(), "the gate's answer was first");
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
}

#[test]
fn a_prompt_answered_on_the_page_is_withdrawn_in_the_editor() {
    let home = Home::new();
    let (gate, model) = (home.serve(), touches());
    let browser = Browser::start(&home);
    let page = browser.linked("a", &gate, &[], DESKTOP);
    let Asked { editor, prompt, request, .. } = Asked::in_new_session(&home, &model);
    page.see_text(".prompt .code", "touch made.txt");
    page.click("[data-action=allowOnce]");
    editor.withdrawn(&request);
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(home.project().join("made.txt").exists());
}

#[test]
fn a_prompt_answered_in_the_editor_is_settled_at_the_gate() {
    let home = Home::new();
    let (gate, model) = (home.serve(), touches());
    let Asked { editor, prompt, request, .. } = Asked::in_new_session(&home, &model);
    let ask = gate.only_ask();
    editor.choose(&request, "reject_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    gate.ask_when(&ask, |ask| ask["state"] != "open");
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn a_prompt_sent_during_a_turn_waits_for_it_and_gets_an_answer_of_its_own() {
    let home = Home::new();
    let model = touches();
    let Asked { editor, session, prompt: first, request } = Asked::in_new_session(&home, &model);
    let second = editor.prompt(&session, "and then this");
    editor.choose(&request, "allow_once");
    assert_eq!((editor.stop_reason(first), editor.stop_reason(second)), ("end_turn".to_owned(), "end_turn".to_owned()));
    assert!(home.project().join("made.txt").exists(), "the first turn was not cancelled");
    model.wait_for_turn("and then this");
}

#[test]
fn a_prompt_outlives_a_gate_that_is_killed() {
    let home = Home::without_auto_start();
    let (mut gate, model) = (home.serve(), touches());
    let Asked { editor, prompt, request, .. } = Asked::in_new_session(&home, &model);
    gate.only_ask();
    gate = home.restart(&gate);
    home.attached(1);
    gate.allow(&gate.only_ask());
    editor.withdrawn(&request);
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(home.project().join("made.txt").exists());
}

#[test]
fn a_turn_that_claude_code_has_scheduled_says_why() {
    let home = Home::new();
    let client = ControlClient::start_acp(&home, "default", &json!({}));
    // As Claude Code 2.1.325 tells it, which schedules nothing within a minute.
    client.says(json!({"type": "command_lifecycle", "command_uuid": "67e55044-10b1-426f-9247-bb680e5fe0c8",
        "state": "started", "wakeup_source": "loop_wakeup", "session_id": "s"}));
    let told = client.shows("what it had scheduled is due");
    let update = &told["params"]["update"];
    assert_eq!(update["sessionUpdate"], "user_message_chunk", "{told}");
    assert!(update["content"]["text"].as_str().unwrap().contains("**Claude Code:**"), "{told}");
}
