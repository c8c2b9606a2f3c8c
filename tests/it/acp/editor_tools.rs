//! Tools that go through the editor: its buffers, its terminals, and the rules of the tools that they stand for.

use super::agent::Agent;
use super::desk::Desk;
use super::editor::Editor;
use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::home::Home;
use crate::support::until;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::time::SystemTime;

fn desk(home: &Home, agent: &Agent<'_>) -> (Desk, String) {
    let editor = Editor::start(home, agent, &Desk::capabilities());
    let session = editor.new_session(home);
    (Desk::new(home, editor), session)
}

fn bash(command: &str) -> Value {
    json!({"command": command, "description": "Do it"})
}

#[test]
fn unsaved_text_is_read_from_the_editor_and_edited_there() {
    let home = Home::new();
    let notes = home.project().join("notes.txt");
    fs::write(&notes, "one\n").unwrap();
    // Saved before the session began: what the editor has besides is newer.
    File::open(&notes).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
    let edit = json!({"file_path": notes, "old_string": "one", "new_string": "two"});
    let model = Model::start(vec![
        Rule::on_text("edit it").call("Read", json!({"file_path": notes})).once(),
        Rule::on_result("Use the tool mcp__acp__Read").call("mcp__acp__Read", json!({"file_path": notes})).once(),
        Rule::on_result("typed").call("mcp__acp__Edit", edit).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    desk.type_into(&notes, "one\ntyped\n");
    let asked = desk.turn(&session, "edit it", "allow_once");
    assert_eq!(asked.len(), 1, "reading in the folder asks nobody: {asked:?}");
    let call = &asked[0]["params"]["toolCall"];
    assert_eq!((&call["title"], &call["kind"]), (&json!("Edit notes.txt"), &json!("edit")));
    assert_eq!(call["content"][0], json!({"type": "diff", "path": notes, "oldText": "one", "newText": "two"}));
    assert_eq!(fs::read_to_string(&notes).unwrap(), "two\ntyped\n", "nothing that was typed is lost");
    assert_eq!((desk.used("fs/read_text_file"), desk.used("fs/write_text_file")), (2, 1));
    let lines = desk.editor.update(&session, "where it was changed", |update| update["locations"][0]["line"] == 1);
    assert_eq!(lines["toolCallId"], call["toolCallId"]);
    let log = home.run(&["log"]).ok().stdout;
    assert!(log.contains("Edit") && !log.contains("mcp__acp"), "{log}");
}

#[test]
fn a_mode_lets_pass_through_the_editor_what_it_lets_pass_elsewhere() {
    let home = Home::new();
    let write = |name: &str| json!({"file_path": home.project().join(name), "content": "new\n"});
    fs::create_dir(home.project().join(".git")).unwrap();
    let model = Model::start(vec![
        Rule::on_text("by default").call("mcp__acp__Write", write("default.txt")).once(),
        Rule::on_text("accept it").call("mcp__acp__Write", write("new/accepted.txt")).once(),
        Rule::on_text("protected").call("mcp__acp__Write", write(".git/config")).once(),
        Rule::on_text("plan it").call("mcp__acp__Write", write("planned.txt")).once(),
        Rule::on_text("look at it")
            .call("mcp__acp__Read", json!({"file_path": home.project().join("default.txt")}))
            .once(),
        Rule::on_text("dare not").call("mcp__acp__Write", write("dared.txt")).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    let set = |mode: &str| desk.editor.call("session/set_mode", &json!({"sessionId": session, "modeId": mode}));
    assert_eq!(desk.turn(&session, "by default", "allow_once").len(), 1);
    assert_eq!(fs::read_to_string(home.project().join("default.txt")).unwrap(), "new\n");
    set("acceptEdits");
    assert_eq!(desk.turn(&session, "accept it", "reject_once").len(), 0);
    assert!(home.project().join("new/accepted.txt").exists());
    assert_eq!(desk.turn(&session, "protected", "reject_once").len(), 1);
    assert!(!home.project().join(".git/config").exists());
    set("plan");
    assert_eq!(desk.turn(&session, "look at it", "reject_once").len(), 0, "reading is no change");
    model.wait_for_turn("1\tnew");
    assert_eq!(desk.turn(&session, "plan it", "reject_once").len(), 1);
    assert!(!home.project().join("planned.txt").exists());
    set("dontAsk");
    assert_eq!(desk.turn(&session, "dare not", "allow_once").len(), 0);
    assert!(!home.project().join("dared.txt").exists());
}

#[test]
fn rules_of_ours_and_of_claude_code_hold_through_the_editor() {
    let home = Home::new();
    let rules = "[[rule]]\ndeny = \"Edit(/secret/**)\"\n[[rule]]\nask = \"Read(/asked.txt)\"\n[[rule]]\nallow = \"Bash(touch ours)\"\n";
    fs::write(home.folder().join("rules.toml"), rules.replace("(/", &format!("(/{}/", home.project().display())))
        .unwrap();
    let settings =
        json!({"permissions": {"deny": ["Read(./private/**)", "Bash(curl *)"], "ask": ["Edit(/careful.txt)"]}});
    fs::create_dir(home.project().join(".claude")).unwrap();
    fs::write(home.project().join(".claude/settings.json"), settings.to_string()).unwrap();
    fs::create_dir(home.project().join("private")).unwrap();
    for name in ["private/key.txt", "asked.txt"] {
        fs::write(home.project().join(name), "hidden words\n").unwrap();
    }
    let file = |name: &str| json!({"file_path": home.project().join(name), "content": "new\n"});
    let read = |name: &str| json!({"file_path": home.project().join(name)});
    let model = Model::start(vec![
        Rule::on_text("denied by us").call("mcp__acp__Write", file("secret/a.txt")).once(),
        Rule::on_text("denied by it").call("mcp__acp__Read", read("private/key.txt")).once(),
        Rule::on_text("asked by us").call("mcp__acp__Read", read("asked.txt")).once(),
        Rule::on_text("asked by it").call("mcp__acp__Write", file("careful.txt")).once(),
        Rule::on_text("a line denied").call("mcp__acp__Bash", bash("curl http://127.0.0.1:1/")).once(),
        Rule::on_text("a line allowed").call("mcp__acp__Bash", bash("touch ours")).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::Ours { model: &model, args: &["--permission-mode", "acceptEdits"] });
    assert_eq!(desk.turn(&session, "denied by us", "allow_once").len(), 0);
    assert!(!home.project().join("secret").exists());
    assert_eq!(desk.turn(&session, "denied by it", "allow_once").len(), 0);
    assert_eq!(desk.turn(&session, "asked by us", "reject_once").len(), 1);
    assert_eq!(desk.turn(&session, "asked by it", "reject_once").len(), 1);
    assert!(!home.project().join("careful.txt").exists());
    assert_eq!(desk.turn(&session, "a line denied", "allow_once").len(), 0);
    assert_eq!(desk.used("terminal/create") + desk.used("fs/read_text_file"), 0, "the editor is asked for nothing");
    assert_eq!(desk.turn(&session, "a line allowed", "reject_once").len(), 0);
    assert!(home.project().join("ours").exists());
    let seen = model.turns().iter().any(|turn| turn.body["messages"].to_string().contains("hidden words"));
    assert!(!seen, "nobody has shown it to the model");
}

#[test]
fn commands_run_in_a_terminal_of_the_editor_and_are_known_as_the_agents() {
    let home = Home::new();
    let gate = home.serve();
    let portcullis = home.command(&[]).get_program().display().to_string();
    let model = Model::start(vec![
        Rule::on_text("run it").call("mcp__acp__Bash", bash("echo out; echo err >&2; touch made.txt; exit 3")).once(),
        Rule::on_text("cheat")
            .call("mcp__acp__Bash", bash(&format!("setsid {portcullis} token add eve --role admin")))
            .once(),
        Rule::on_text("serve it")
            .call("mcp__acp__Bash", json!({"command": "echo begun; exec sleep 600", "run_in_background": true}))
            .once(),
        Rule::on_result("with ID: shell-1").call("mcp__acp__BashOutput", json!({"id": "shell-1"})).once(),
        Rule::on_result("[running]").call("mcp__acp__KillShell", json!({"id": "shell-1"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    let asked = desk.turn(&session, "run it", "allow_once");
    assert_eq!(asked[0]["params"]["toolCall"]["kind"], "execute");
    let call = &asked[0]["params"]["toolCall"]["toolCallId"];
    desk.editor.update(&session, "the terminal", |update| {
        update["toolCallId"] == *call && update["content"][0]["type"] == "terminal"
    });
    let ended =
        desk.editor.update(&session, "its end", |update| update["toolCallId"] == *call && update["status"] == "failed");
    assert_eq!(ended.get("content"), None, "the terminal stays");
    let told = model.wait_for_turn("Exit code 3").body["messages"].to_string();
    assert!(told.contains("out\\\\nerr") || told.contains("out\\nerr"), "{told}");
    assert!(home.project().join("made.txt").exists());
    desk.turn(&session, "cheat", "allow_once");
    model.wait_for_turn("this runs inside a session that Portcullis drives");
    assert!(!home.run(&["token", "list"]).ok().stdout.contains("eve"));
    let asked = desk.turn(&session, "serve it", "allow_once");
    assert_eq!(asked.len(), 1, "looking at it and ending it ask nobody: {asked:?}");
    model.wait_for_turn("was ended");
    assert_eq!(desk.used("terminal/create"), desk.used("terminal/release"));
    drop(gate);
}

#[test]
fn a_call_that_is_left_to_the_editors_tool_is_no_failure() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("look").call("Bash", bash("echo seen")).once(),
        Rule::on_result("Use the tool mcp__acp__Bash").call("mcp__acp__Bash", bash("echo seen")).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    desk.turn(&session, "look", "allow_once");
    let left = desk.editor.update(&session, "the call that was left", |update| {
        update["status"] == "completed" && update.to_string().contains("works through the editor")
    });
    assert!(!left.to_string().contains("hook error"), "{left}");
    let updates = desk.editor.updates(&session);
    assert!(!updates.iter().any(|update| update["status"] == "failed"), "{updates:?}");
    assert_eq!(updates.iter().filter(|update| update["sessionUpdate"] == "tool_call").count(), 2);
}

#[test]
fn a_change_that_is_left_to_the_editors_tool_is_shown_once() {
    let home = Home::new();
    let file = json!({"file_path": home.project().join("new.txt"), "content": "new\n"});
    let model = Model::start(vec![
        Rule::on_text("write it").call("Write", file.clone()).once(),
        Rule::on_result("Use the tool mcp__acp__Write").call("mcp__acp__Write", file).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    desk.turn(&session, "write it", "allow_once");
    assert!(home.project().join("new.txt").exists());
    // What each call shows in the end.
    let shows_one_change = |editor: &Editor| {
        let mut shown = std::collections::BTreeMap::new();
        for update in editor.updates(&session) {
            assert_ne!(update["status"], "failed", "{update}");
            if let (Some(call), Some(content)) = (update["toolCallId"].as_str(), update.get("content")) {
                shown.insert(call.to_owned(), content.to_string());
            }
        }
        let with = |text: &str| shown.values().filter(|content| content.contains(text)).count();
        assert_eq!((shown.len(), with("\"diff\""), with("works through the editor")), (2, 1, 1), "{shown:?}");
    };
    shows_one_change(&desk.editor);
    desk.editor.child.close_stdin();
    let later = Editor::start(&home, &Agent::ours(&model), &json!({}));
    later.call("session/load", &json!({"sessionId": session, "cwd": home.project(), "mcpServers": []}));
    shows_one_change(&later);
}

#[test]
fn always_holds_for_the_next_command_of_the_same_kind() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("first").call("mcp__acp__Bash", bash("git init -q one")).once(),
        Rule::on_text("second").call("mcp__acp__Bash", bash("git init -q two")).once(),
        Rule::on_text("another").call("mcp__acp__Bash", bash("git -C one tag x")).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    let asked = desk.turn(&session, "first", "allow_always");
    assert!(asked[0]["params"]["options"].to_string().contains("Bash(git init *)"), "{asked:?}");
    assert_eq!(desk.turn(&session, "second", "reject_once").len(), 0);
    assert!(home.project().join("two/.git").exists());
    assert_eq!(desk.turn(&session, "another", "reject_once").len(), 1, "only what was said");
}

#[test]
fn a_command_in_the_background_that_ends_is_told_to_the_model_and_shown() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("begin it")
            .call(
                "mcp__acp__Bash",
                json!({"command": "until test -e go; do sleep 0.01; done; exit 3", "run_in_background": true}),
            )
            .once(),
        Rule::on_text("Background command").say("I have seen it end").once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    desk.turn(&session, "begin it", "allow_once");
    fs::write(home.project().join("go"), "").unwrap();
    desk.serve_until("terminal/output");
    let told = desk.editor.update(&session, "that it ended", |update| {
        update["sessionUpdate"] == "user_message_chunk" && update.to_string().contains("ended: Exit code 3")
    });
    assert!(told["content"]["text"].as_str().unwrap().contains("**Portcullis:**"), "{told}");
    desk.editor.hears(&session, "I have seen it end");
    let seen = model.wait_for_turn("Background command").body["messages"].to_string();
    assert!(seen.contains("<task-id>shell-1</task-id>"), "{seen}");
}

#[test]
fn a_call_that_is_not_what_was_shown_is_not_made() {
    let home = Home::new();
    let (link, one, other) =
        (home.project().join("link.txt"), home.project().join("one.txt"), home.project().join("other.txt"));
    for file in [&one, &other] {
        fs::write(file, "old\n").unwrap();
    }
    std::os::unix::fs::symlink(&one, &link).unwrap();
    // A hook of the user's own changes what the model wants to run.
    let changed = json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "touch changed.txt"}}});
    let hook = json!({"type": "command", "command": format!("echo '{changed}'")});
    let settings = json!({"hooks": {"PreToolUse": [{"matcher": "mcp__acp__Bash", "hooks": [hook]}]}});
    fs::create_dir_all(home.user().join(".claude")).unwrap();
    fs::write(home.user().join(".claude/settings.json"), settings.to_string()).unwrap();
    let model = Model::start(vec![
        Rule::on_text("write it").call("mcp__acp__Write", json!({"file_path": link, "content": "new\n"})).once(),
        Rule::on_text("run it").call("mcp__acp__Bash", bash("touch shown.txt")).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    let prompt = desk.editor.prompt(&session, "write it");
    let asked = desk.editor.permission();
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(&other, &link).unwrap();
    desk.editor.choose(&asked, "allow_once");
    assert_eq!(desk.editor.stop_reason(prompt), "end_turn");
    model.wait_for_turn("its path leads to another file");
    for file in [&one, &other] {
        assert_eq!(fs::read_to_string(file).unwrap(), "old\n");
    }

    // The person is shown what the hook made of it, and that is what runs.
    let asked = desk.turn(&session, "run it", "allow_once");
    assert_eq!(asked[0]["params"]["toolCall"]["title"], "`touch changed.txt`", "{asked:?}");
    assert!(!home.project().join("shown.txt").exists());
    assert_eq!((desk.used("fs/write_text_file"), desk.used("terminal/create")), (0, 1));
}

#[test]
fn subagents_keep_the_tools_of_claude_code() {
    let home = Home::new();
    let file = |name: &str| json!({"file_path": home.project().join(name), "content": "new\n"});
    let agent = json!({"description": "Do it", "prompt": "write below", "subagent_type": "general-purpose"});
    let model = Model::start(vec![
        Rule::on_text("write below").call("mcp__acp__Write", file("sub.txt")).once(),
        Rule::on_result("use the tool Write").call("Write", file("sub.txt")).once(),
        Rule::on_text("delegate").call("Agent", agent).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    let prompt = desk.editor.prompt(&session, "delegate");
    let asked = desk.editor.permission();
    assert_eq!(asked["params"]["toolCall"]["content"][0]["type"], "diff", "{asked}");
    desk.editor.choose(&asked, "allow_once");
    desk.editor.stop_reason(prompt);
    until("the file of the subagent", || home.project().join("sub.txt").exists().then_some(()));
    assert_eq!(desk.used("fs/write_text_file"), 0);
}

#[test]
fn subagents_have_the_editors_files_where_that_is_wanted() {
    let home = Home::new();
    let file = json!({"file_path": home.project().join("sub.txt"), "content": "new\n"});
    let agent = json!({"description": "Do it", "prompt": "write below", "subagent_type": "general-purpose"});
    let model = Model::start(vec![
        Rule::on_text("write below").call("mcp__acp__Write", file).once(),
        Rule::on_text("delegate").call("Agent", agent).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let args = ["--client-fs", "on", "--permission-mode", "acceptEdits"];
    let (desk, session) = desk(&home, &Agent::Ours { model: &model, args: &args });
    desk.editor.prompt(&session, "delegate");
    desk.serve_until("fs/write_text_file");
    assert!(home.project().join("sub.txt").exists());
}

#[test]
fn a_command_that_is_cancelled_ends_in_its_terminal() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("take long").call("mcp__acp__Bash", bash("touch begun; sleep 600; touch ended")).once(),
        Rule::on_any_result().say("done"),
    ]);
    let (desk, session) = desk(&home, &Agent::ours(&model));
    let prompt = desk.editor.prompt(&session, "take long");
    desk.editor.choose(&desk.editor.permission(), "allow_once");
    desk.serve(&desk.editor.request("terminal/create"));
    desk.editor.request("terminal/wait_for_exit");
    until("the command", || home.project().join("begun").exists().then_some(()));
    desk.editor.notify("session/cancel", &json!({"sessionId": session}));
    desk.serve(&desk.editor.request("terminal/release"));
    assert_eq!(desk.editor.stop_reason(prompt), "cancelled");
    assert!(!home.project().join("ended").exists());
}

#[test]
fn an_editor_without_files_and_terminals_is_left_alone_or_refused() {
    let home = Home::new();
    let file = json!({"file_path": home.project().join("new.txt"), "content": "new\n"});
    let model = Model::start(vec![Rule::on_text("go").call("Write", file).once(), Rule::on_any_result().say("done")]);
    for args in [&["--client-fs", "off", "--client-terminal", "off"] as &[&str], &[]] {
        let capabilities = if args.is_empty() { json!({}) } else { Desk::capabilities() };
        let editor = Editor::start(&home, &Agent::Ours { model: &model, args }, &capabilities);
        let session = editor.new_session(&home);
        assert_eq!(editor.prompt_to_end(&session, "hello"), "end_turn");
        let turn = model.wait_for_turn("hello");
        assert!(!turn.offers("mcp__acp__Read") && turn.offers("Read"), "{:?}", turn.tools());
    }
    let editor = Editor::start(&home, &Agent::Ours { model: &model, args: &["--client-fs", "on"] }, &json!({}));
    let refused = editor.response(editor.send("session/new", &json!({"cwd": home.project(), "mcpServers": []})));
    assert!(refused["error"]["message"].as_str().unwrap().contains("--client-fs on"), "{refused}");
}
