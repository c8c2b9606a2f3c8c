//! `portcullis attach`: terminals that come to a driven session and leave it again, with the real Claude Code behind it.

use super::api::serve;
use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::child::Stdin;
use crate::support::driven::{Driven, inside_an_agent, shell};
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran};
use crate::support::http::Request;
use crate::support::standin::StandIn;
use crate::support::terminal::Terminal;
use crate::support::{PATIENCE, until};
use serde_json::{Value, json};
use std::path::PathBuf;

/// A session that was started over the API, labelled `held`.
fn start(gate: &Gate, prompt: &str) -> String {
    let session = gate.post("/api/v1/sessions", &json!({"prompt": prompt, "label": "held"})).expect(201).json();
    session["id"].as_str().unwrap().to_owned()
}

fn attach(home: &Home, session: &str) -> Terminal {
    let terminal = Terminal::start(home.command(&["attach", session]));
    terminal.until("Attached to held");
    terminal
}

fn sockets(home: &Home) -> Vec<PathBuf> {
    let files = std::fs::read_dir(home.folder()).unwrap().map(|file| file.unwrap().path());
    files.filter(|file| file.extension().is_some_and(|ending| ending == "front")).collect()
}

#[test]
fn a_session_started_over_the_api_is_seen_answered_left_and_ended_at_an_attached_terminal() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    // What a process that was killed has left behind.
    let dead = home.folder().join(format!("gate-{}.front", "0".repeat(26)));
    drop(std::os::unix::net::UnixListener::bind(&dead).unwrap());
    let session = start(&gate, "go");
    let mut terminal = attach(&home, "held");
    let ask = gate.only_ask();
    let shown = terminal.until("Allow?");
    for part in ["/detach", "it was started with: go", "touch made.txt && echo made", ask["code"].as_str().unwrap()] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    terminal.type_line("y");
    terminal.until("done: made");
    let verdict = gate.ask(ask["id"].as_str().unwrap())["verdict"].clone();
    assert_eq!((&verdict["via"], &verdict["by"]), (&json!("terminal"), &json!("owner")), "{verdict}");
    terminal.type_line("/detach");
    terminal.until("the session goes on");
    assert!(terminal.wait().success());

    assert_eq!(home.attached(1)[0]["id"], session.as_str(), "it goes on");
    let mut again = attach(&home, &session[..20]);
    again.until("done: made");
    again.until("> ");
    again.type_line("and more");
    model.wait_for_turn("and more");
    again.end_of_input();
    assert!(again.wait().success());
    let mut last = attach(&home, &session);
    last.until("another terminal says: and more");
    last.type_line("/end");
    last.until("Session held has ended.");
    assert!(last.wait().success());
    home.attached(0);
    assert_eq!(until("no socket", || Some(sockets(&home)).filter(Vec::is_empty)), [] as [PathBuf; 0]);
}

#[test]
fn sessions_are_attached_to_by_the_labels_that_the_list_shows() {
    let home = Home::new();
    let model = Model::start(vec![Rule::on_text("go").say("here")]);
    let gate = serve(&home, &model, "");
    for _ in 0..3 {
        start(&gate, "go");
    }
    home.attached(3);
    gate.post("/api/v1/sessions/held/end", &json!({}));
    home.attached(2);
    let unclear = home.run(&["attach", "held"]);
    unclear.refused(1, "held may mean several sessions: held-2");
    let mut one = Terminal::start(home.command(&["attach", "held-2"]));
    one.until("Attached to held-2");
    one.type_line("/detach");
    one.until("`portcullis attach held-2` comes back");
}

#[test]
fn what_was_typed_for_a_prompt_that_is_settled_elsewhere_does_not_answer_the_next_one() {
    let (home, model) = (Home::new(), shell(&["touch one.txt", "touch two.txt"]));
    let gate = serve(&home, &model, "");
    let token = home.token_for("rae", "reviewer");
    start(&gate, "go");
    let mut terminal = attach(&home, "held");
    terminal.until("touch one.txt");
    terminal.until("Allow? ");
    terminal.type_keys("y");
    terminal.until("Allow? y");
    let first = gate.only_ask();
    gate.verdict_as(&token, first["id"].as_str().unwrap(), &json!({"behavior": "deny"})).expect(200);
    terminal.until("denied by rae over http");
    terminal.until("│ touch two.txt");
    terminal.type_line("");
    terminal.until("that was not understood");
    assert_eq!(gate.only_ask()["state"], "open");
    assert!(!home.user().join("two.txt").exists());
}

#[test]
fn an_answer_from_elsewhere_closes_the_prompt_at_every_terminal_and_a_killed_one_harms_nobody() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![
        Rule::on_text("go").call("Bash", json!({"command": "touch never.txt", "description": "Do it"})).once(),
        Rule::on_any_result().say("done: $RESULT").once(),
        Rule::on_text("and more").say("still here").held_by(&latch),
    ]);
    let gate = serve(&home, &model, "");
    let token = home.token_for("rae", "reviewer");
    let session = start(&gate, "go");
    let mut one = attach(&home, "held");
    let mut two = Terminal::controlling(&home.command(&["attach", "held"]));
    for terminal in [&one, &two] {
        terminal.until("Allow?");
    }
    let ask = gate.only_ask();
    gate.verdict_as(&token, ask["id"].as_str().unwrap(), &json!({"behavior": "deny", "why": "no"})).expect(200);
    for terminal in [&one, &two] {
        terminal.until("denied by rae over http");
        terminal.until("done: no");
    }
    one.type_line("and more");
    two.until("another terminal says: and more");
    // Dropped, it is killed.
    drop(one);
    latch.open();
    two.until("still here");
    two.interrupt();
    two.until("Ctrl-C again leaves");
    two.interrupt();
    two.until("the session goes on");
    assert!(two.wait().success());
    let three = attach(&home, "held");
    gate.post(&format!("/api/v1/sessions/{session}/end"), &json!({})).expect(200);
    three.until("Session held has ended.");
    assert!(three.wait().success());
}

#[test]
fn without_a_terminal_it_prints_and_takes_no_input() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![Rule::on_text("go").say("said").held_by(&latch)]);
    let gate = serve(&home, &model, "");
    let session = start(&gate, "go");
    let text = home.spawn(home.command(&["attach", "held"]), Stdin::Open);
    let lines = home.spawn(home.command(&["attach", "held", "--output", "stream-json"]), Stdin::Nothing);
    text.write("/end\n");
    text.close_stdin();
    latch.open();
    text.line(PATIENCE, |line| line == "said");
    lines.line(PATIENCE, |line| {
        let message: Value = serde_json::from_str(line).unwrap();
        message["type"] == "result" && message["result"] == "said"
    });
    gate.post(&format!("/api/v1/sessions/{session}/end"), &json!({})).expect(200);
    let ran = Ran::of(&text, PATIENCE).ok();
    assert!(ran.stdout == "said\n" && ran.stderr.contains("Session held has ended."), "{ran:#?}");
    Ran::of(&lines, PATIENCE).ok();
    home.attached(0);
    let ended = home.run(&["attach", "held"]);
    assert!(ended.status.code() == Some(1) && ended.stderr.contains("session held has ended"), "{ended:#?}");
    assert!(ended.stderr.contains("hint: `portcullis run --resume "), "{ended:#?}");
}

#[test]
fn inside_an_agent_an_attached_terminal_only_looks_and_what_it_tries_is_logged() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "");
    start(&gate, "go");
    let command = home.command(&["attach", "held"]);
    let mut terminal = Terminal::start(inside_an_agent(&home, &command));
    let shown = terminal.until("not answered here: this runs inside Claude Code");
    assert!(
        shown.contains("You can only look") && shown.contains("touch made.txt") && !shown.contains("Allow?"),
        "{shown}"
    );
    terminal.type_line("y");
    terminal.until("not taken: this runs inside Claude Code");
    terminal.type_line("/end");
    terminal.until("refused: this runs inside Claude Code");
    let barred = until("both attempts", || Some(home.records("access_denied")).filter(|barred| barred.len() == 2));
    for (record, what) in barred.iter().zip(["answering a prompt at a terminal", "telling a session what to do"]) {
        assert!(record["what"].as_str().unwrap().starts_with(what), "{record}");
    }
    gate.allow(&gate.only_ask());
    terminal.until("done: made");
    terminal.end_of_input();
    assert!(terminal.wait().success());
}

#[test]
fn a_run_inside_an_agent_asks_people_and_not_its_starter() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = home.serve();
    let command = Driven::command(&home, &model, &["go"]);
    let mut terminal = Terminal::start(inside_an_agent(&home, &command));
    terminal.until("not answered here: this runs inside Claude Code");
    terminal.type_line("y");
    terminal.until("not taken: this runs inside Claude Code");
    assert_eq!(home.records("access_denied").len(), 1);
    gate.allow(&gate.only_ask());
    terminal.until("done: made");
    assert!(terminal.wait().success());
    // Nor does it say what needs no asking.
    for loose in [["--allow", "Bash"], ["--permission-mode", "acceptEdits"], ["--mcp-config", "{}"]] {
        let command = home.command(&["run", loose[0], loose[1], "go"]);
        let refused = Ran::of(&home.spawn(inside_an_agent(&home, &command), Stdin::Nothing), PATIENCE);
        refused.refused(4, &format!("refused to start a session with {}", loose[0]));
    }
}

#[test]
fn a_terminal_answers_a_session_of_a_gate_that_an_agent_happened_to_start() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    // The gate gets nothing of the agent's environment, and so neither does what it starts.
    let (claude, mut command) = (home.user().join("to-the-model"), home.program("true"));
    Driven::confine(&mut command, &home, &model);
    let variables = command.get_envs().filter_map(|(name, value)| Some((name.to_str()?, value?.to_str()?)));
    let exports: String = variables.map(|(name, value)| format!("export {name}='{value}'\n")).collect();
    let program = crate::support::claude::program();
    std::fs::write(&claude, format!("#!/bin/sh\n{exports}exec '{}' \"$@\"\n", program.display())).unwrap();
    std::fs::set_permissions(&claude, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    home.write_config(&format!("claude = {claude:?}\n[start]\nfolders = [{:?}]\n", home.project()));
    let _agent = StandIn::start_under_an_agent(&home, &["--label", "other"]);
    home.attached(1);
    let start = Request::post("/api/v1/sessions").token(home.token()).json(&json!({"prompt": "go", "label": "held"}));
    start.send(&home.listening()).expect(201);
    let mut terminal = attach(&home, "held");
    terminal.until("Allow?");
    terminal.type_line("y");
    terminal.until("done: made");
    terminal.type_line("/end");
    assert!(terminal.wait().success());
}

#[test]
fn where_devices_answer_terminals_show_prompts_and_say_why_they_cannot() {
    let home = Home::new();
    let model = shell(&["touch made.txt && echo made"]);
    let gate = serve(&home, &model, "approvals = \"device\"");
    let token = home.token_for("rae", "reviewer");
    let own = Terminal::start(Driven::command(&home, &model, &["go", "--label", "held"]));
    let mut attached = attach_when_there(&home);
    for terminal in [&own, &attached] {
        let shown = terminal.until("not answered here: prompts are not answered by the owner of this machine");
        assert!(shown.contains("touch made.txt") && !shown.contains("Allow?"), "{shown}");
    }
    attached.type_line("y");
    attached.until("not taken: prompts are not answered by the owner of this machine");
    let ask = gate.get_as(&token, "/api/v1/asks?state=open").expect(200).json()[0].clone();
    gate.verdict_as(&token, ask["id"].as_str().unwrap(), &json!({"behavior": "allow"})).expect(200);
    for terminal in [&own, &attached] {
        terminal.until("done: made");
    }
    assert!(own.wait().success());
    attached.until("Session held has ended.");
    assert!(attached.wait().success());
    assert!(home.records("access_denied").is_empty(), "no agent was in it");
}

/// A `run` of its own takes a moment until it listens.
fn attach_when_there(home: &Home) -> Terminal {
    until("a session that listens", || (!sockets(home).is_empty()).then_some(()));
    attach(home, "held")
}

#[test]
fn a_session_that_cannot_be_attached_to_is_an_error_that_says_what_to_do() {
    let home = Home::new();
    let refused = |wanted: &str, words: &str, hint: &str| {
        let ran = home.run(&["attach", wanted]);
        assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
        assert!(ran.stderr.contains(words) && ran.stderr.contains(&format!("hint: {hint}")), "{ran:#?}");
    };
    refused("nobody", "no gate is running", "start a session with `portcullis run`");
    let _gate = home.serve();
    refused("nobody", "no session nobody", "`portcullis session list` lists them");
    let _standin = StandIn::start(&home, &["--label", "interactive"]);
    home.attached(1);
    refused("interactive", "session interactive has a terminal of its own", "use that terminal");
}
