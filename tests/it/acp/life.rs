//! How sessions of an editor begin, go on and end: with what is handed in, and without leaving a process.

use super::agent::Agent;
use super::clients::SdkEditor;
use super::editor::Editor;
use super::frames::Frames;
use super::schema::Side;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::fakes::small_server;
use crate::support::driven::Driven;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::running::{self, Running};
use crate::support::{PATIENCE, until};
use serde_json::json;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

/// Everything below a process but the gate that it may have started.
fn below(pid: u32) -> Vec<Running> {
    let mut below = running::children_of(pid);
    below.retain(|process| process.args.get(1).is_none_or(|word| word != "serve"));
    below
}

fn guards(pid: u32) -> Vec<Running> {
    let mut guards = below(pid);
    guards.retain(|process| process.args.get(1).is_some_and(|word| word == "__guard"));
    guards
}

/// The Claude Code under the only guard.
pub(super) fn claude(pid: u32) -> Running {
    until("a guard with its Claude Code", || {
        let guard = guards(pid).first()?.clone();
        below(pid).into_iter().find(|process| process.parent == guard.pid)
    })
}

#[test]
fn an_editor_killed_with_sigkill_leaves_no_process() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![Rule::on_text("hold it").say("never").held_by(&latch)]);
    let editor = SdkEditor::start(&home, &Agent::ours(&model));
    let sessions = [editor.new_session(), editor.new_session()];
    editor.prompt(&sessions[0], "hold it");
    model.wait_for_turn("hold it");
    let processes = below(editor.child.pid());
    assert_eq!(guards(editor.child.pid()).len(), 2, "{processes:?}");
    editor.child.kill_9();
    running::wait_gone(&processes, PATIENCE);
}

#[test]
fn an_agent_killed_with_sigkill_leaves_no_process() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![Rule::on_text("hold it").say("never").held_by(&latch)]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    editor.prompt(&session, "hold it");
    model.wait_for_turn("hold it");
    let processes = below(editor.child.pid());
    assert!(processes.len() >= 2, "{processes:?}");
    editor.child.kill_9();
    running::wait_gone(&processes, PATIENCE);
}

#[test]
fn loading_a_session_that_lives_starts_no_second_claude_code() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    let before = claude(editor.child.pid());
    editor.call("session/load", &json!({"sessionId": session, "cwd": home.project(), "mcpServers": []}));
    let replayed = editor.update(&session, "the conversation again", |update| {
        update["sessionUpdate"] == "user_message_chunk" && update.to_string().contains("hello")
    });
    assert!(replayed["content"]["text"].is_string(), "{replayed}");
    assert_eq!(guards(editor.child.pid()).len(), 1);
    assert_eq!(claude(editor.child.pid()), before);
    assert_eq!(editor.prompt_to_end(&session, "still there"), "end_turn");
}

#[test]
fn a_conversation_that_is_open_in_another_process_is_not_opened_twice() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let first = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = first.new_session(&home);
    assert_eq!(first.prompt_to_end(&session, "hello"), "end_turn");
    let second = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let place = json!({"sessionId": session, "cwd": home.project(), "mcpServers": []});
    for method in ["session/load", "session/resume"] {
        let refused = second.response(second.send(method, &place));
        let why = refused["error"]["message"].as_str().unwrap_or_default();
        let guard = guards(first.child.pid())[0].pid;
        assert!(
            why.contains("project") && why.contains(&format!("pid {guard}")) && why.contains("attach"),
            "{refused}"
        );
    }
    // What is wanted of it while it is being refused has an answer of its own, and the same.
    let opening = ["session/load", "session/resume"].map(|method| second.send(method, &place));
    let deleting = second.send("session/delete", &json!({"sessionId": session}));
    for id in [opening[0], opening[1], deleting] {
        let refused = second.response(id);
        assert!(refused["error"]["message"].to_string().contains("is open in session"), "{refused}");
    }
    assert_eq!(guards(second.child.pid()).len(), 0);
    assert_eq!(first.prompt_to_end(&session, "still there"), "end_turn");
    first.child.close_stdin();
    // It may still be ending.
    second.call("session/load", &place);
    assert_eq!(second.prompt_to_end(&session, "go on"), "end_turn");
    let seen = model.wait_for_turn("go on").body["messages"].to_string();
    assert!(seen.contains("still there"), "{seen}");
}

#[test]
fn a_conversation_that_is_open_in_an_editor_is_not_gone_on_with_by_run_or_over_the_api() {
    let home = Home::new();
    home.write_config(&format!("[start]\nfolders = [{:?}]\n", home.project()));
    let model = Model::start(Vec::new());
    let mut serve = home.command(&["serve"]);
    Driven::confine(&mut serve, &home, &model);
    let gate = Gate::start_command(&home, serve);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    for args in [&["and now", "--resume", &session][..], &["and now", "--continue"]] {
        let refused = Driven::start(&home, &model, args).wait();
        assert_eq!(refused.status.code(), Some(1), "{refused:#?}");
        let parts = ["is open in session project", "(acp, pid ", "portcullis attach project"];
        assert!(parts.iter().all(|part| refused.stderr.contains(part)), "{refused:#?}");
    }
    let refused = gate.post("/api/v1/sessions", &json!({"resume": session})).expect(502).json().to_string();
    assert!(refused.contains("is open in session project") && refused.contains("attach project"), "{refused}");
    assert!(!model.turns().iter().any(|turn| turn.shows("and now")), "nobody wrote into it");
    assert_eq!(editor.prompt_to_end(&session, "still there"), "end_turn");
    editor.child.close_stdin();
    // It may still be ending.
    Driven::start(&home, &model, &["go on", "--resume", &session]).wait().ok();
    let seen = model.wait_for_turn("go on").body["messages"].to_string();
    assert!(seen.contains("still there"), "{seen}");
}

#[test]
fn a_session_that_was_cleared_goes_on_with_what_came_after() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    for words in ["remember the milk", "/clear", "remember the bread"] {
        assert_eq!(editor.prompt_to_end(&session, words), "end_turn");
    }
    editor.child.close_stdin();
    drop(editor);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    editor.call("session/load", &json!({"sessionId": session, "cwd": home.project(), "mcpServers": []}));
    for words in ["the milk", "the bread"] {
        editor.update(&session, words, |update| {
            update["sessionUpdate"] == "user_message_chunk" && update.to_string().contains(words)
        });
    }
    assert_eq!(editor.prompt_to_end(&session, "what was it"), "end_turn");
    let seen = model.wait_for_turn("what was it").body["messages"].to_string();
    assert!(seen.contains("the bread") && !seen.contains("the milk"), "{seen}");
    let listed = || {
        let listed = editor.call("session/list", &json!({"cwd": home.project()}))["sessions"].clone();
        let id = |session: &serde_json::Value| session["sessionId"].as_str().unwrap().to_owned();
        listed.as_array().unwrap().iter().map(id).collect::<Vec<_>>()
    };
    // What came after is a session of its own, and the one that is open.
    let later: Vec<String> = listed().into_iter().filter(|id| *id != session).collect();
    assert_eq!(later.len(), 1, "{later:?}");
    let refused = editor.response(editor.send("session/delete", &json!({"sessionId": later[0]})));
    assert!(refused["error"]["message"].as_str().unwrap().contains("is open in session"), "{refused}");
    editor.call("session/delete", &json!({"sessionId": session}));
    assert_eq!(listed(), later, "only what the person deletes is gone");
    editor.call("session/delete", &json!({"sessionId": later[0]}));
    assert!(listed().is_empty());
}

#[test]
fn a_turn_that_claude_code_begins_by_itself_says_why() {
    let home = Home::new();
    let command = "until test -e go; do sleep 0.01; done";
    let model = Model::start(vec![
        Rule::on_text("begin it")
            .call("Bash", json!({"command": command, "description": "Wait", "run_in_background": true}))
            .once(),
        Rule::on_any_result().say("begun"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "begin it"), "end_turn");
    std::fs::write(home.project().join("go"), "").unwrap();
    let told = editor.update(&session, "why it goes on", |update| {
        update["sessionUpdate"] == "user_message_chunk" && update.to_string().contains("**Claude Code:**")
    });
    assert!(told.to_string().contains("Background command"), "{told}");
    editor.update(&session, "what it says", |update| {
        update["sessionUpdate"] == "agent_message_chunk" && !update.to_string().contains("begun")
    });
    let kinds: Vec<String> =
        editor.updates(&session).iter().map(|update| update["sessionUpdate"].to_string()).collect();
    let place = |kind: &str| kinds.iter().rposition(|of| of.contains(kind)).unwrap();
    assert!(place("user_message_chunk") < place("agent_message_chunk"), "{kinds:?}");
}

#[test]
fn mcp_servers_of_the_editor_are_offered_to_the_model() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("say hi").call("mcp__small__say", json!({"text": "hi"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let server = json!({"name": "small", "command": "sh", "args": [small_server()], "env": []});
    let created = editor.call("session/new", &json!({"cwd": home.project(), "mcpServers": [server]}));
    let session = created["sessionId"].as_str().unwrap();
    let prompt = editor.prompt(session, "say hi");
    editor.choose(&editor.permission(), "allow_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    editor.hears(session, "said hi");
}

#[test]
fn an_mcp_server_of_the_editor_that_does_not_come_up_is_named_in_the_thread() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let servers = json!([
        {"name": "gone", "command": "no-such-program", "args": [], "env": []},
        {"type": "http", "name": "odd", "url": "no address", "headers": []},
    ]);
    let created = editor.call("session/new", &json!({"cwd": home.project(), "mcpServers": servers}));
    let session = created["sessionId"].as_str().unwrap();
    assert_eq!(editor.prompt_to_end(session, "hello"), "end_turn");
    for name in ["gone", "odd"] {
        let words = format!("the MCP server {name} is not there");
        editor.update(session, &words, |update| update.to_string().contains(&words));
    }
}

#[test]
fn mcp_servers_of_the_editor_are_behind_the_gateway_where_that_is_wanted() {
    let home = Home::new();
    home.write_config("[acp]\ngateway = true\n");
    let model = Model::start(vec![
        Rule::on_text("say hi").call("mcp__small__say", json!({"text": "hi"})).once(),
        Rule::on_text("say more").call("mcp__small__say", json!({"text": "more"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let server = json!({"name": "small", "command": "sh", "args": [small_server()], "env": []});
    let created = editor.call("session/new", &json!({"cwd": home.project(), "mcpServers": [server]}));
    let session = created["sessionId"].as_str().unwrap();
    let prompt = editor.prompt(session, "say hi");
    let asked = editor.permission();
    assert!(asked.to_string().contains("small: say"), "{asked}");
    editor.choose(&asked, "allow_always");
    assert_eq!(editor.stop_reason(prompt), "end_turn", "nobody is asked a second time");
    editor.hears(session, "said hi");
    assert_eq!(editor.prompt_to_end(session, "say more"), "end_turn", "it was allowed for the session");
    editor.hears(session, "said more");
    let is_gateway = |process: &Running| process.args.iter().any(|word| word == "--editor-servers");
    assert!(below(editor.child.pid()).iter().any(is_gateway));
    let by_gateway = home.run(&["session", "list", "--json"]).ok().stdout;
    assert!(by_gateway.contains("gateway"), "{by_gateway}");
    editor.call("session/close", &json!({"sessionId": session}));
    let is_left = |name: &String| name.contains("acp-servers-");
    assert!(!home.files().keys().any(is_left), "the servers of the editor may hold secrets");
}

#[test]
fn a_claude_code_kept_for_the_next_session_is_no_session_before_it_is_taken() {
    let home = Home::new();
    home.write_config("[acp]\nprewarm = true\n");
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let agent = editor.child.pid();
    let first = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&first, "hello"), "end_turn");
    let two = until("a second guard", || Some(guards(agent)).filter(|guards| guards.len() == 2));
    assert_eq!(home.attached(1).len(), 1, "the gate knows of one session");
    let second = editor.new_session(&home);
    until("a third guard", || Some(guards(agent)).filter(|guards| guards.len() == 3));
    assert!(two.iter().all(|guard| guards(agent).contains(guard)), "the spare one was taken");
    assert_eq!(editor.prompt_to_end(&second, "and here"), "end_turn");
    home.attached(2);
    let processes = below(agent);
    editor.child.close_stdin();
    running::wait_gone(&processes, PATIENCE);
}

#[test]
fn images_and_embedded_files_of_a_prompt_reach_the_model() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    // One red pixel.
    let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";
    let prompt = json!([
        {"type": "text", "text": "look"},
        {"type": "image", "mimeType": "image/png", "data": pixel},
        {"type": "resource", "resource": {"uri": "file:///notes.md", "mimeType": "text/markdown", "text": "embedded words"}},
        {"type": "resource_link", "uri": "file:///linked.md", "name": "linked.md"},
    ]);
    let prompt = editor.send("session/prompt", &json!({"sessionId": session, "prompt": prompt}));
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    let seen = model.wait_for_turn("look").body["messages"].to_string();
    assert!(seen.contains(r#""type":"image""#), "{seen}");
    assert!(seen.contains("embedded words") && seen.contains("linked.md"), "{seen}");
}

#[test]
fn loading_a_session_that_waits_for_an_answer_leaves_its_call_waiting() {
    let home = Home::new();
    let touch = json!({"command": "touch made.txt", "description": "Make it"});
    let model = Model::start(vec![Rule::on_text("go").call("Bash", touch).once(), Rule::on_any_result().say("done")]);
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({}));
    let session = editor.new_session(&home);
    let prompt = editor.prompt(&session, "go");
    let asked = editor.permission();
    editor.call("session/load", &json!({"sessionId": session, "cwd": home.project(), "mcpServers": []}));
    let failed = |update: &serde_json::Value| update["status"] == "failed";
    assert!(!editor.updates(&session).iter().any(failed), "{:?}", editor.updates(&session));
    editor.choose(&asked, "allow_once");
    assert_eq!(editor.stop_reason(prompt), "end_turn");
    assert!(home.project().join("made.txt").exists());
}

#[test]
fn an_editor_that_leaves_without_reading_leaves_no_process() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("talk").say(&"words ".repeat(400_000))]);
    let frames = Frames::of(&Agent::ours(&model));
    let mut command = Agent::ours(&model).command(&home);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut agent = command.spawn().unwrap();
    let (mut input, mut output) = (agent.stdin.take().unwrap(), BufReader::new(agent.stdout.take().unwrap()));
    let mut call = |id: u32, method: &str, params: serde_json::Value| {
        let frame = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        frames.note(Side::Client, &frame);
        writeln!(input, "{frame}").unwrap();
    };
    let mut answer = |id: u32| loop {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let frame: serde_json::Value = serde_json::from_str(&line).unwrap();
        frames.note(Side::Agent, &frame);
        if frame["id"] == id {
            break frame["result"].clone();
        }
    };
    call(1, "initialize", json!({"protocolVersion": 1}));
    answer(1);
    call(2, "session/new", json!({"cwd": home.project(), "mcpServers": []}));
    let session = answer(2)["sessionId"].clone();
    call(3, "session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "talk"}]}));
    model.wait_for_turn("talk");
    let processes = below(agent.id());
    assert!(processes.len() >= 2, "{processes:?}");
    // Its end is closed, and what it is told is never read.
    drop(input);
    running::wait_gone(&processes, PATIENCE);
    agent.wait().unwrap();
    drop(output);
    frames.check();
}

#[test]
fn an_editor_that_shows_compactions_is_told_of_them() {
    let home = Home::new();
    let model = Model::start(Vec::new());
    let editor = Editor::start(&home, &Agent::ours(&model), &json!({"session": {"compaction": {}}}));
    let session = editor.new_session(&home);
    assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
    let prompt = editor.prompt(&session, "/compact");
    let status = |status: &str| {
        editor.update(&session, status, |update| {
            update["sessionUpdate"] == "compaction_update" && update["status"] == status
        })
    };
    let (begun, ended) = (status("in_progress"), status("completed"));
    assert_eq!(begun["compactionId"], ended["compactionId"]);
    editor.stop_reason(prompt);
}
