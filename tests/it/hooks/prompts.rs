//! Prompts of the real interactive CLI through hooks: answered from anywhere, and closed everywhere once answered.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::claude::{Claude, peer};
use crate::support::home::{Home, Ran};
use crate::support::hooks::file_maker;
use crate::support::seen::until;
use crate::support::tmux::{Interactive, install};
use serde_json::{Value, json};
use std::fs;

const DIALOG: &str = "Do you want to proceed?";

fn touch(file: &str) -> Value {
    json!({"command": format!("touch {file}"), "description": "Make a file"})
}

#[test]
fn a_prompt_answered_over_the_api_closes_the_dialog_and_the_tool_runs() {
    let home = Home::new();
    let gate = home.serve();
    let model = file_maker();
    let claude = Interactive::start(&home, &model, &[]);
    claude.say("make it");
    claude.until(DIALOG);
    let ask = gate.open_ask();
    assert_eq!(
        (&ask["tool"], &ask["preview"], &ask["source"]),
        (&json!("Bash"), &json!("touch made.txt"), &json!("hook"))
    );
    gate.answer(&ask, &json!({"behavior": "allow"}));
    claude.until("all done");
    claude.until_gone(DIALOG);
    assert!(home.project().join("made.txt").exists());
    let ask = gate.ask_when(&ask, |ask| !ask["verdict"]["outcome"].is_null());
    assert_eq!(ask["state"], "answered", "{ask:#}");
}

#[test]
fn a_prompt_answered_at_the_terminal_is_closed_at_the_api() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("first").call("Bash", touch("one.txt")).once(),
        Rule::on_text("second").call("Bash", touch("two.txt")).once(),
        Rule::on_text("third").call("Bash", touch("three.txt")).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);
    let withdrawn = |ask: &Value| gate.ask_when(ask, |ask| ask["state"] == "withdrawn")["withdrawn"].clone();

    claude.say("first");
    claude.until(DIALOG);
    let allowed = gate.open_ask();
    claude.press_until_gone("1", DIALOG);
    assert_eq!(withdrawn(&allowed), "allowed at its terminal");
    claude.until("all done");
    assert!(home.project().join("one.txt").exists());

    claude.say("second");
    claude.until(DIALOG);
    let denied = gate.open_ask();
    claude.press_until_gone("Escape", DIALOG);
    assert_eq!(withdrawn(&denied), "denied, interrupted or timed out at the terminal");
    assert!(!home.project().join("two.txt").exists());

    claude.say("third");
    claude.until(DIALOG);
    let denied = gate.open_ask();
    claude.press_until_gone("4", DIALOG);
    assert_eq!(withdrawn(&denied), "denied, interrupted or timed out at the terminal");
    assert!(!home.project().join("three.txt").exists());
    assert!(gate.asks().iter().all(|ask| ask["state"] != "open"), "no ghost prompts");
}

#[test]
fn denials_edited_commands_and_questions_are_answered_over_the_api() {
    let home = Home::new();
    let gate = home.serve();
    let question = json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": false, "options": [
        {"label": "Red", "description": "warm"}, {"label": "Blue", "description": "cold"},
    ]}]});
    let model = Model::start(vec![
        Rule::on_text("first").call("Bash", touch("one.txt")).once(),
        Rule::on_text("second").call("Bash", touch("two.txt")).once(),
        Rule::on_text("third").call("AskUserQuestion", question).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);

    claude.say("first");
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not on a Sunday"}));
    model.wait_for_turn("not on a Sunday");
    assert!(!home.project().join("one.txt").exists());
    claude.until_gone(DIALOG);

    claude.say("second");
    let ask = gate.open_ask();
    let edited = json!({"behavior": "allow", "input": {"command": "touch other.txt", "description": "Make another"}});
    gate.answer(&ask, &edited);
    let ask = gate.ask_when(&ask, |ask| !ask["verdict"]["outcome"].is_null());
    assert!(home.project().join("other.txt").exists() && !home.project().join("two.txt").exists(), "{ask:#}");

    claude.say("third");
    let ask = gate.open_ask();
    assert_eq!(
        (&ask["kind"], &ask["preview"]),
        (&json!("question"), &json!("Which colour?\n1. Red: warm\n2. Blue: cold"))
    );
    gate.answer(&ask, &json!({"behavior": "allow", "answers": {"Which colour?": "Blue"}}));
    let told = model.wait_for(|request| request.turn.result().contains("Which colour?"));
    assert!(told.turn.result().contains("Blue"), "{}", told.turn.result());
}

#[test]
fn three_prompts_at_once_are_answered_each_by_its_own_verdict() {
    let home = Home::new();
    let gate = home.serve();
    let fetch = |name: &str| json!({"command": format!("touch {name}"), "description": name});
    let model = Model::start(vec![
        Rule::on_text("all of them")
            .call("Bash", fetch("a.txt"))
            .call("Bash", fetch("b.txt"))
            .call("Bash", fetch("c.txt"))
            .once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);
    claude.say("all of them");
    for _ in 0..3 {
        let ask = gate.open_ask();
        let file = ask["description"].as_str().unwrap();
        let behavior = if file == "b.txt" { "deny" } else { "allow" };
        gate.answer(&ask, &json!({"behavior": behavior, "why": "not b"}));
        gate.ask_when(&ask, |ask| !ask["verdict"]["carried_at"].is_null());
    }
    claude.until("all done");
    let made = ["a.txt", "b.txt", "c.txt"].map(|file| home.project().join(file).exists());
    assert_eq!(made, [true, false, true]);
}

#[test]
fn the_plugin_installs_the_hooks() {
    let home = Home::new();
    let gate = home.serve();
    let folder = home.user().join("plugin").display().to_string();
    home.run(&["plugin", &folder]).ok();
    let model = file_maker();
    for words in [&["plugin", "marketplace", "add", &folder][..], &["plugin", "install", "portcullis@portcullis"]] {
        let mut command = Claude::command(&home, &model);
        command.args(words);
        Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok();
    }
    let claude = Interactive::start_as_it_is(&home, &model, &[]);
    claude.say("make it");
    let ask = gate.open_ask();
    assert_eq!(ask["source"], "hook");
    gate.say("/", "main is red").expect(200);
    gate.answer(&ask, &json!({"behavior": "allow"}));
    model.wait_for_turn("main is red");
    assert!(home.project().join("made.txt").exists());
    assert!(model.turns().iter().all(|turn| !turn.offers("mcp__plugin_portcullis_portcullis__hook")));
}

#[test]
fn claude_in_a_script_waits_for_an_answer_over_the_api() {
    let home = Home::new();
    let gate = home.serve();
    install(&home, &[]);
    let model = file_maker();
    let mut command = Claude::command(&home, &model);
    command.args(["-p", "make it", "--permission-mode", "default", "--setting-sources", "user,project,local"]);
    let claude = home.spawn(command, Stdin::Nothing);
    let ask = gate.open_ask();
    let left = ask["answer_by"].as_u64().unwrap() - ask["at"].as_u64().unwrap();
    assert!(left <= 600_000, "a script does not wait for a day: {left}");
    gate.answer(&ask, &json!({"behavior": "allow"}));
    assert_eq!(Ran::of(&claude, PATIENCE * 3).ok().stdout, "all done\n");
    assert!(home.project().join("made.txt").exists());
}

#[test]
fn always_allow_is_saved_by_the_client_and_the_next_call_is_not_asked() {
    let home = Home::new();
    let gate = home.serve();
    let fetch = json!({"command": "curl -s http://127.0.0.1:1/", "description": "Fetch"});
    let model = Model::start(vec![
        Rule::on_text("first").call("Bash", fetch.clone()).once(),
        Rule::on_text("second").call("Bash", fetch).once(),
        Rule::on_any_result().say("done with it"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);
    claude.say("first");
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "allow", "scope": "always"}));
    claude.until("done with it");
    let written = std::fs::read_to_string(home.project().join(".claude/settings.local.json")).unwrap();
    assert!(written.contains("Bash(curl"), "{written}");
    claude.say("second");
    until("the second result", || (model.turns().len() >= 4).then_some(()));
    assert_eq!(gate.asks().len(), 1, "nobody was asked again");
}

#[test]
fn a_denial_that_interrupts_ends_the_turn_and_the_session_can_still_be_woken() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![Rule::on_text("make it").call("Bash", touch("made.txt")).once()]);
    let claude = Interactive::start(&home, &model, &[]);
    claude.say("make it");
    claude.until(DIALOG);
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "deny", "interrupt": true}));
    claude.until("Interrupted");
    assert_eq!((model.turns().len(), home.project().join("made.txt").exists()), (1, false));
    gate.say("/", "main is red").expect(200);
    model.wait_for_turn("main is red");
}

#[test]
fn an_answer_to_a_hook_counts_once_for_the_same_call_at_the_gateway() {
    let home = Home::new();
    home.fix("PORTCULLIS_TEST_MCP_LIST", 60_000);
    let gate = home.serve();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/mcp-server.js");
    let heard = home.user().join("heard");
    let entry = json!({"command": peer("PORTCULLIS_TEST_NODE"), "args": [script, "none"], "env": {"HEARD": heard}});
    fs::write(home.user().join(".claude.json"), json!({"mcpServers": {"fake": entry}}).to_string()).unwrap();
    home.run(&["mcp", "adopt", "fake"]).ok();
    let model = Model::start(vec![
        Rule::on_text("first").call("mcp__fake__echo", json!({"n": 1})).once(),
        Rule::on_text("second").call("mcp__fake__echo", json!({"n": 1})).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);
    let called = || fs::read_to_string(&heard).unwrap().matches("\"tools/call\"").count();
    claude.say("first");
    let ask = gate.open_ask();
    assert_eq!((&ask["tool"], &ask["source"]), (&json!("mcp__fake__echo"), &json!("hook")), "{ask}");
    assert_eq!(called(), 0);
    gate.allow(&ask);
    model.wait_for_turn(r#"echo {"n":1}"#);
    assert_eq!(called(), 1);
    let of_gateway = || gate.asks().into_iter().filter(|ask| ask["source"] == "gateway").collect::<Vec<Value>>();
    assert!(of_gateway().iter().all(|ask| ask["state"] != "open"), "{:?}", of_gateway());
    // The same call another time is another.
    claude.say("second");
    let again = until("another prompt", || gate.asks().into_iter().find(|ask| ask["state"] == "open"));
    assert_eq!((&again["source"], again["id"] == ask["id"]), (&json!("hook"), false), "{again}");
    gate.answer(&again, &json!({"behavior": "deny", "why": "once is enough"}));
    model.wait_for_turn("once is enough");
    assert_eq!(called(), 1);
}
