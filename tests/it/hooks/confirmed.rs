//! A verdict counts as taken when the client shows it; until then it is listed and marked. It is replaced only while it waits for a process that is away.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::hooks::{attend, bash, command_hook, hooked, with};
use crate::support::link::{Link, new_id};
use crate::support::seen::until;
use crate::support::standin::StandIn;
use crate::support::tmux::Interactive;
use serde_json::{Value, json};

/// A gate and a session that shows soon what it did with a verdict.
fn hooked_and_quick() -> (Home, Gate, StandIn) {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_CONFIRM", 300);
    let gate = home.serve();
    let session = StandIn::start(&home, &["--label", "api"]);
    session.hook("Notification", &json!({}));
    home.attached(1);
    (home, gate, session)
}

fn plan() -> Value {
    json!({"tool_name": "ExitPlanMode", "tool_input": {"plan": "1. Read\n2. Write"}, "tool_use_id": "toolu_plan"})
}

#[test]
fn a_verdict_that_the_client_did_not_take_stays_in_the_list_and_is_not_replaced() {
    let (home, gate, session) = hooked_and_quick();
    let command = session.hook_later("PermissionRequest", &with(bash("sleep 60"), "tool_use_id", "toolu_run"));
    let running = gate.open_ask();
    gate.answer(&running, &json!({"behavior": "allow"}));
    session.hook_answer(&command);
    let asked = session.hook_later("PermissionRequest", &plan());
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "allow"}));
    let received = session.hook_answer(&asked)["hookSpecificOutput"]["decision"]["behavior"].clone();
    assert_eq!(received, "allow");

    let shown = gate.ask_when(&ask, |ask| ask["state"] == "unconfirmed");
    assert_eq!(shown["verdict"]["confirmation"], "not_confirmed", "{shown:#}");
    let open = gate.get("/api/v1/asks?state=open").json();
    assert_eq!(
        (open.as_array().unwrap().len(), &open[0]["id"]),
        (1, &ask["id"]),
        "the command may still run: {open:#}"
    );
    let pending = gate.get("/api/pending").json();
    assert_eq!(pending["pending"][0]["state"], "unconfirmed", "{pending:#}");
    let code = ask["code"].as_str().unwrap();
    let listed = home.run(&["ask", "list"]).ok().stdout;
    assert!(listed.contains(code) && listed.contains("not confirmed"), "{listed}");
    let words = home.run(&["ask", "show", code]).ok().stdout;
    assert!(words.contains("NOT CONFIRMED") && words.contains("look at its terminal"), "{words}");
    assert!(!words.contains("answer again"), "{words}");
    let offered = home.run(&["__candidates", "ask", "deny", ""]).ok().stdout;
    assert!(!offered.contains(code), "{offered}");
    assert_eq!(home.records("not_confirmed").len(), 1);

    let late = gate.verdict(code, &json!({"behavior": "deny", "why": "on second thoughts"})).expect(409).json();
    let (message, hint) = (late["message"].as_str().unwrap(), late["hint"].as_str().unwrap());
    assert!(message.contains("allowed by owner") && message.contains("cannot be taken back"), "{late}");
    assert!(hint.contains("takes one answer"), "{late}");
    session.hook("PostToolBatch", &json!({}));
    let shown = gate.ask_when(&ask, |ask| ask["verdict"]["confirmation"] == "confirmed");
    assert_eq!((&shown["state"], &shown["verdict"]["behavior"]), (&json!("answered"), &json!("allow")), "{shown:#}");
    gate.verdict(code, &json!({"behavior": "allow"})).expect(409);
    let shown = gate.ask_when(&running, |ask| !ask["verdict"]["outcome"].is_null());
    assert_eq!(shown["verdict"]["outcome"], "denied", "its turn went on without it: {shown:#}");
}

#[test]
fn a_verdict_is_replaced_while_its_process_is_away_and_a_late_word_of_the_first_marks_nothing() {
    let home = Home::new();
    let gate = home.serve();
    let (session, id) = (new_id(), new_id());
    let mut link = Link::welcomed(&home);
    link.attach(&session, &[], &[]);
    let asked = json!({"id": id, "source": "hook", "origin": id, "tool": "Write", "description": "", "preview": "x",
        "details": {"confirm_within": 300}});
    link.tell(2, &json!({"asked": asked}));
    let code = link.answer(2)["asked"]["code"].as_str().unwrap().to_owned();
    gate.kill_9();
    drop(link);
    let gate = home.serve();
    let ask = gate.get(&format!("/api/v1/asks/{code}")).json();
    gate.answer(&ask, &json!({"behavior": "allow"}));
    let shown = gate.ask_when(&ask, |ask| ask["state"] == "unconfirmed");
    assert_eq!(shown["answerable"], true, "{shown:#}");
    assert!(home.run(&["ask", "show", &code]).ok().stdout.contains("until it is back, answer again"));
    assert!(home.run(&["__candidates", "ask", "deny", ""]).ok().stdout.contains(&code));
    gate.answer(&ask, &json!({"behavior": "deny"}));

    let mut link = Link::welcomed(&home);
    link.attach(&session, &[], &[]);
    let carried = link.hear()["verdict"].clone();
    assert_eq!((&carried["ruling"]["behavior"], &carried["ask"]), (&json!("deny"), &json!(id)), "{carried}");
    link.tell(2, &json!({"carried": {"ask": id, "verdict_at": shown["verdict"]["at"]}}));
    assert_eq!(link.answer(2), "ok");
    let shown = gate.get(&format!("/api/v1/asks/{code}")).json();
    assert!(shown["verdict"]["carried_at"].is_null(), "that was the first: {shown:#}");
    link.tell(3, &json!({"carried": {"ask": id, "verdict_at": carried["at"]}}));
    assert_eq!(link.answer(3), "ok");
    let shown = gate.get(&format!("/api/v1/asks/{code}")).json();
    assert_eq!((&shown["verdict"]["behavior"], shown["verdict"]["carried_at"].is_null()), (&json!("deny"), false));
    let late = gate.verdict(&code, &json!({"behavior": "allow"})).expect(409).json();
    assert!(late["message"].as_str().unwrap().contains("denied by owner"), "{late}");
}

#[test]
fn a_denial_is_confirmed_by_what_the_client_does_next() {
    for next in ["PostToolBatch", "Stop", "PreToolUse", "UserPromptSubmit"] {
        let (home, gate, session) = hooked();
        let asked = session.hook_later("PermissionRequest", &with(bash("git push"), "tool_use_id", "toolu_1"));
        let ask = gate.open_ask();
        gate.answer(&ask, &json!({"behavior": "deny"}));
        session.hook_answer(&asked);
        let handed = gate.ask_when(&ask, |ask| !ask["verdict"]["carried_at"].is_null());
        assert_eq!(handed["verdict"]["confirmation"], "handed_over", "{handed:#}");
        session.hook(next, &with(bash("ls"), "tool_use_id", "toolu_2"));
        let shown = gate.ask_when(&ask, |ask| ask["verdict"]["confirmation"] == "confirmed");
        assert_eq!(shown["verdict"]["outcome"], "denied", "{next}: {shown:#}");
        let calls = home.records("called");
        assert!(calls.iter().any(|call| call["decided_by"] == "person" && call["outcome"] == "denied"), "{calls:#?}");
    }
}

#[test]
fn with_hooks_that_tell_nothing_more_a_verdict_is_done_when_it_is_handed_over() {
    let (_home, gate, session) = hooked_and_quick();
    let asked = session.hook_later("PermissionRequest", &with(plan(), "hooks_version", "2"));
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "allow"}));
    session.hook_answer(&asked);
    gate.ask_when(&ask, |ask| ask["verdict"]["confirmation"] == "done");
    gate.verdict(ask["code"].as_str().unwrap(), &json!({"behavior": "deny"})).expect(409);
}

#[test]
fn a_plan_allowed_from_afar_goes_on_in_the_mode_that_was_chosen() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("plan it")
            .call("Write", json!({"file_path": "$PLAN_FILE", "content": "# Plan\n1. touch made.txt\n"}))
            .once(),
        Rule::on_result("created").call("ExitPlanMode", json!({})).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &["--permission-mode", "plan"]);
    claude.say("plan it");
    claude.until("Would you like to proceed?");
    let ask = gate.open_ask();
    assert_eq!((&ask["kind"], &ask["modes"]), (&json!("plan"), &json!(["default", "acceptEdits", "auto"])), "{ask:#}");
    let code = ask["code"].as_str().unwrap();
    gate.verdict(code, &json!({"behavior": "allow", "mode": "bypassPermissions"})).expect(422);
    assert!(home.run(&["ask", "show", code]).ok().stdout.contains("--mode default|acceptEdits|auto"));
    home.run(&["ask", "allow", code, "--mode", "acceptEdits"]).ok();
    claude.until("all done");
    claude.until("accept edits on");
    let shown = gate.ask_when(&ask, |ask| ask["verdict"]["confirmation"] == "confirmed");
    let verdict = &shown["verdict"];
    assert_eq!((&verdict["outcome"], &verdict["mode"]), (&json!("ran"), &json!("acceptEdits")), "{shown:#}");
    assert!(verdict["differs"].is_null(), "what was approved is what was shown: {shown:#}");
}

#[test]
fn an_event_wakes_a_session_whose_held_call_was_interrupted() {
    let home = Home::new();
    let gate = home.serve();
    std::fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    let model = Model::start(vec![
        Rule::on_text("make it")
            .call("Bash", json!({"command": "touch made.txt", "description": "Make a file"}))
            .once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &["--permission-mode", "dontAsk"]);
    claude.say("make it");
    let ask = gate.open_ask();
    assert_eq!(ask["held"], true, "{ask:#}");
    claude.press_until("Escape", "Interrupted");
    gate.ask_when(&ask, |ask| ask["state"] == "withdrawn");
    gate.say("/", "main is red").expect(200);
    model.wait_for_turn("main is red");
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn of_a_command_that_was_interrupted_at_the_terminal_as_it_ran_nothing_says_that_it_did_not_run() {
    let home = Home::new();
    let gate = home.serve();
    let started = home.project().join("started");
    std::fs::write(home.project().join("nap.sh"), "touch started\nexec sleep 60\n").unwrap();
    let nap = json!({"command": "sh nap.sh", "description": "Nap"});
    let model = Model::start(vec![
        Rule::on_text("be busy").call("Bash", nap).once(),
        Rule::on_text("look again").call("Bash", json!({"command": "ls", "description": "Look"})).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);
    claude.say("be busy");
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "allow"}));
    until("the command runs", || started.exists().then_some(()));
    claude.press_until("Escape", "Interrupted");
    // What comes next tells of its own calls alone.
    claude.say("look again");
    claude.until("all done");
    let shown = gate.ask_when(&ask, |ask| !ask["verdict"]["outcome"].is_null());
    assert_eq!(shown["verdict"]["outcome"], "unknown", "{shown:#}");
}

#[test]
fn a_stop_is_confirmed_by_a_hook_that_calls_after_it() {
    let (home, gate, session) = hooked();
    let id = home.attached(1)[0]["id"].as_str().unwrap().to_owned();
    let order = || gate.get(&format!("/api/v1/sessions/{id}")).json()["orders"][0].clone();
    let wake_file = home.folder().join(format!("gate-{}.wake", std::process::id()));
    attend(&home);
    let touched = || std::fs::metadata(&wake_file).unwrap().modified().unwrap();
    let before = touched();
    gate.post(&format!("/api/v1/sessions/{id}/stop"), &json!({})).expect(200);
    until("the client is made to call a hook", || (touched() != before).then_some(()));
    assert_eq!(order()["state"], "recorded", "no hook has called since");
    let changed = json!({"hook_event_name": "FileChanged", "file_path": wake_file, "event": "change"});
    assert_eq!(command_hook(&home, &changed, true).ok().stderr, "", "and no turn begins by it");
    until("the order is done", || (order()["state"] == "done").then_some(()));
    drop(session);
}

#[test]
fn a_stop_is_not_confirmed_once_the_hooks_are_gone() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![Rule::on_text("hello").say("said")]);
    let claude = Interactive::start(&home, &model, &[]);
    claude.say("hello");
    claude.until("said");
    let stop = || home.run(&["session", "stop", "real"]).ok().stdout;
    assert!(stop().contains("is stopped"), "the wake file has the client call a hook");
    home.run(&["session", "resume", "real"]).ok();
    home.run(&["uninstall", "--yes"]).ok();
    until("a stop that nobody confirms", || stop().starts_with("Recorded").then_some(()));
}
