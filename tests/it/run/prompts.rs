//! `portcullis run` with the real Claude Code: what it asks, who answers, and what reaches the model.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::driven::{Driven, shell};
use crate::support::home::{Home, Ran};
use crate::support::until;
use serde_json::{Value, json};

fn made(home: &Home, file: &str) -> bool {
    home.project().join(file).exists()
}

#[test]
fn a_call_waits_for_an_answer_over_the_api_and_then_runs() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch made.txt && echo made"]);
    let run = Driven::start(&home, &model, &["go", "--label", "headless"]);
    let ask = gate.only_ask();
    assert_eq!((&ask["tool"], &ask["preview"]), (&json!("Bash"), &json!("touch made.txt && echo made")), "{ask}");
    assert_eq!((&ask["description"], &ask["source"]), (&json!("Do it"), &json!("control")));
    let session = gate.get("/api/v1/sessions").json()[0].clone();
    assert_eq!((&session["label"], &session["connected_by"]), (&json!("headless"), &json!("run")));
    assert!(session["mode"] == "default" && session["driven"] == true, "{session}");
    assert!(!made(&home, "made.txt"));
    gate.allow(&ask);
    let ran = run.wait().ok();
    assert_eq!(ran.stdout, "done: made\n", "{ran:#?}");
    assert!(made(&home, "made.txt"));
    gate.ask_when(&ask, |ask| ask["verdict"]["outcome"] == "ran");
}

#[test]
fn a_denial_reaches_the_model_with_the_reviewers_reason() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch never.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny", "why": "not on a Friday"}));
    assert_eq!(run.wait().ok().stdout, "done: not on a Friday\n", "the turn went on");
    assert!(!made(&home, "never.txt"));
    assert!(model.turns()[1].turn.results[0].is_error);
}

#[test]
fn a_denial_may_end_the_turn() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch never.txt"]);
    let run = Driven::start(&home, &model, &["go", "--output", "json"]);
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny", "why": "stop", "interrupt": true}));
    let ran = run.wait();
    assert_eq!(ran.status.code(), Some(4), "{ran:#?}");
    assert_eq!(ran.json()["permission_denials"][0]["tool_name"], "Bash");
    assert!(ran.stderr.contains("denied by owner over http, and the turn ends: stop\n"), "{ran:#?}");
    assert_eq!(model.turns().len(), 1, "the model was not asked again");
    assert!(!made(&home, "never.txt"));
}

#[test]
fn an_edited_input_runs_instead_of_the_one_asked_about() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch first.txt && echo first"]);
    let run = Driven::start(&home, &model, &["go"]);
    let ask = gate.only_ask();
    let input = json!({"command": "touch second.txt && echo second", "description": "Do it"});
    gate.answer(&ask, &json!({"behavior": "allow", "input": input}));
    assert_eq!(run.wait().ok().stdout, "done: second\n");
    assert!(made(&home, "second.txt") && !made(&home, "first.txt"));
    let effect = gate.ask_when(&ask, |ask| ask["verdict"]["outcome"] == "ran")["verdict"].clone();
    assert_ne!(effect["differs"], true, "what ran is what was allowed: {effect}");
    let log = home.run(&["log"]).ok().stdout;
    assert!(log.contains("ran Bash: touch second.txt") && !log.contains("ran Bash: touch first.txt"), "{log}");
}

#[test]
fn always_allow_is_saved_by_the_client_and_not_asked_again() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["npm run one --silent; true", "npm run one --silent; true"]);
    let run = Driven::start(&home, &model, &["go"]);
    let ask = gate.only_ask();
    let offered = ask["offers"].as_array().unwrap().iter().find(|offer| offer["scope"] == "always").cloned();
    assert!(offered.is_some_and(|offer| offer["words"].as_str().unwrap().contains("local settings")), "{ask}");
    gate.answer(&ask, &json!({"behavior": "allow", "scope": "always"}));
    run.wait().ok();
    let settings = std::fs::read_to_string(home.project().join(".claude/settings.local.json")).unwrap();
    assert!(settings.contains("Bash(npm run"), "{settings}");
    assert_eq!(gate.asks().len(), 1, "the second call was not asked about");
    assert_eq!(model.turns().len(), 3);
}

#[test]
fn allow_for_the_session_is_not_written_to_the_settings() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["npm run one --silent; true", "npm run one --silent; true"]);
    let run = Driven::start(&home, &model, &["go"]);
    gate.answer(&gate.only_ask(), &json!({"behavior": "allow", "scope": "session"}));
    run.wait().ok();
    assert_eq!((gate.asks().len(), model.turns().len()), (1, 3), "the second call was not asked about");
    assert!(!home.project().join(".claude/settings.local.json").exists());
}

#[test]
fn prompts_open_at_the_same_time_are_answered_in_any_order() {
    let home = Home::new();
    let gate = home.serve();
    let mut fetch = Rule::on_text("go");
    for name in ["a", "b", "c"] {
        fetch = fetch.call("WebFetch", json!({"url": format!("http://127.0.0.1:1/{name}"), "prompt": "what"}));
    }
    let model = Model::start(vec![fetch.once(), Rule::on_any_result().say("done")]);
    let run = Driven::start(&home, &model, &["go"]);
    let asks = gate.open_asks(3);
    let codes: std::collections::HashSet<&str> = asks.iter().map(|ask| ask["code"].as_str().unwrap()).collect();
    assert_eq!(codes.len(), 3);
    for (ask, why) in asks.iter().rev().zip(["one", "two", "three"]) {
        gate.answer(
            ask,
            &json!({"behavior": "deny", "why": format!("{why} for {}", ask["preview"].as_str().unwrap())}),
        );
    }
    assert_eq!(run.wait().ok().stdout, "done\n");
    let turn = &model.turns()[1].body["messages"];
    let blocks: Vec<Value> = turn
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|message| message["content"].as_array().cloned().unwrap_or_default())
        .collect();
    let calls: Vec<&Value> = blocks.iter().filter(|block| block["type"] == "tool_use").collect();
    assert_eq!(calls.len(), 3);
    for call in calls {
        let result = blocks.iter().find(|block| block["tool_use_id"] == call["id"]).unwrap();
        let url = call["input"]["url"].as_str().unwrap();
        assert!(result["content"].to_string().contains(url), "each answer went to its own call: {call} {result}");
    }
}

#[test]
fn an_interrupt_withdraws_the_open_prompt() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch never.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    let ask = gate.only_ask();
    let session = ask["session"].as_str().unwrap();
    gate.post(&format!("/api/v1/sessions/{session}/interrupt"), &json!({})).expect(200);
    assert_eq!(run.wait().status.code(), Some(130));
    let ask = gate.ask(ask["id"].as_str().unwrap());
    assert_eq!(ask["state"], "withdrawn", "{ask}");
    assert_eq!(model.turns().len(), 1);
}

#[test]
fn of_a_command_that_was_interrupted_as_it_ran_nothing_says_that_it_did_not_run() {
    let home = Home::new();
    let gate = home.serve();
    let started = home.project().join("started");
    std::fs::write(home.project().join("nap.sh"), "touch started\nexec sleep 60\n").unwrap();
    let model = shell(&["sh nap.sh"]);
    let run = Driven::start(&home, &model, &["go"]);
    let ask = gate.only_ask();
    let session = ask["session"].as_str().unwrap();
    gate.answer(&ask, &json!({"behavior": "allow"}));
    until("the command runs", || started.exists().then_some(()));
    gate.post(&format!("/api/v1/sessions/{session}/interrupt"), &json!({})).expect(200);
    assert_eq!(run.wait().status.code(), Some(130));
    let shown = gate.ask_when(&ask, |ask| !ask["verdict"]["outcome"].is_null());
    assert_eq!(
        (&shown["verdict"]["outcome"], &shown["verdict"]["differs"]),
        (&json!("unknown"), &json!(null)),
        "{shown:#}"
    );
    let called = &home.records("called")[0];
    assert_eq!((&called["outcome"], &called["decided_by"]), (&json!("unknown"), &json!("person")), "{called:#}");
    let log = home.run(&["log"]).ok().stdout;
    assert!(log.contains("begun, and nobody knows how far it ran: Bash: sh nap.sh (decided by person)"), "{log}");
}

#[test]
fn questions_are_answered_over_the_api() {
    let home = Home::new();
    let gate = home.serve();
    let question = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false,
        "options": [{"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"}]}]});
    let model = Model::start(vec![
        Rule::on_text("go").call("AskUserQuestion", question).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let run = Driven::start(&home, &model, &["go"]);
    let ask = gate.only_ask();
    assert_eq!(
        (&ask["kind"], &ask["preview"]),
        (&json!("question"), &json!("Which colour?\n1. Red: warm\n2. Blue: cold"))
    );
    gate.answer(&ask, &json!({"behavior": "allow", "answers": {"Which colour?": "Blue"}}));
    let said = run.wait().ok().stdout;
    assert!(said.contains("\"Which colour?\"=\"Blue\""), "{said}");
}

#[test]
fn a_plan_is_shown_and_approved_over_the_api() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("go").call("ExitPlanMode", json!({"plan": "1. build\n2. ship"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let run = Driven::start(&home, &model, &["go", "--permission-mode", "plan"]);
    let ask = gate.only_ask();
    assert_eq!((&ask["kind"], &ask["tool"]), (&json!("plan"), &json!("ExitPlanMode")), "{ask}");
    assert_eq!(ask["preview"], "1. build\n2. ship", "there is no file of it, and everybody sees the same");
    gate.allow(&ask);
    assert!(run.wait().ok().stdout.contains("approved exiting plan mode"));
}

#[test]
fn every_tool_call_is_logged_also_without_a_prompt() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["ls", "touch made.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    gate.allow(&gate.only_ask());
    run.wait().ok();
    let calls = until("both calls", || {
        let calls = home.records("called");
        (calls.len() == 2).then_some(calls)
    });
    assert_eq!((&calls[0]["outcome"], &calls[0]["ask"]), (&json!("ran"), &Value::Null), "{calls:#?}");
    assert!(calls[0]["decided_by"].as_str().unwrap().starts_with("config"), "{calls:#?}");
    assert_eq!(
        (&calls[1]["outcome"], &calls[1]["decided_by"]),
        (&json!("ran"), &json!("user_temporary")),
        "{calls:#?}"
    );
}

#[test]
fn output_json_is_one_object_and_stream_json_is_every_message() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![Rule::on_text("go").say("said")]);
    let json = Driven::start(&home, &model, &["go", "--output", "json"]).wait().ok().json();
    assert_eq!((&json["type"], &json["result"]), (&json!("result"), &json!("said")));
    let stream = Driven::start(&home, &model, &["go", "--output", "stream-json"]).wait().ok().stdout;
    let kinds: Vec<String> = stream
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["type"].as_str().unwrap().to_owned())
        .collect();
    assert!(["system", "assistant", "result"].iter().all(|kind| kinds.iter().any(|other| other == kind)), "{kinds:?}");
}

#[test]
fn exit_codes_tell_success_error_usage_configuration_and_denial() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![Rule::on_text("go").say("said")]);
    let run = |args: &[&str]| Driven::start(&home, &model, args).wait();
    let check = |ran: Ran, code: i32, words: &str| {
        assert!(ran.status.code() == Some(code) && ran.stderr.contains(words), "{code} {words}: {ran:#?}");
    };
    check(run(&["go"]), 0, "");
    check(run(&["go", "--claude", "/nowhere/claude"]), 1, "hint: install it with");
    check(run(&["go", "--resume", "00000000-0000-4000-8000-000000000000"]), 1, "");
    check(run(&[]), 2, "hint: give it as an argument");
    check(run(&["go", "--no-such-flag"]), 2, "unexpected argument");
    check(run(&["go", "--permission-mode", "bypassPermissions"]), 4, "hint: add `allow_bypass = true`");
    home.write_config("allow_bypass = 7\n");
    check(run(&["go"]), 3, "hint: allow_bypass is true or false");
}
