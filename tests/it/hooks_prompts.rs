//! Prompts of the real interactive CLI through hooks: answered from anywhere, and closed everywhere once answered.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::seen::until;
use crate::support::tmux::Interactive;
use serde_json::{Value, json};

const DIALOG: &str = "Do you want to proceed?";

fn touch(file: &str) -> Value {
    json!({"command": format!("touch {file}"), "description": "Make a file"})
}

/// The oldest prompt that is open at the API.
#[track_caller]
fn open_ask(gate: &Gate) -> Value {
    until("an open prompt", || asks(gate).into_iter().find(|ask| ask["state"] == "open"))
}

#[track_caller]
fn asks(gate: &Gate) -> Vec<Value> {
    gate.get("/api/v1/asks").expect(200).json().as_array().unwrap().clone()
}

#[track_caller]
fn ask_now(gate: &Gate, code: &str, is_it: impl Fn(&Value) -> bool) -> Value {
    let path = format!("/api/v1/asks/{code}");
    until("the prompt as it should be", || Some(gate.get(&path).json()).filter(&is_it))
}

#[track_caller]
fn verdict(gate: &Gate, home: &Home, code: &str, verdict: &Value) {
    gate.post_as(home.token(), &format!("/api/v1/asks/{code}/verdict"), verdict).expect(200);
}

fn code(ask: &Value) -> &str {
    ask["code"].as_str().unwrap()
}

#[test]
fn a_prompt_answered_over_the_api_closes_the_dialog_and_the_tool_runs() {
    let home = Home::new();
    let gate = home.serve();
    let model = Model::start(vec![
        Rule::on_text("make it").call("Bash", touch("made.txt")).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);
    claude.say("make it");
    claude.until(DIALOG);
    let ask = open_ask(&gate);
    assert_eq!(
        (&ask["tool"], &ask["preview"], &ask["mouth"]),
        (&json!("Bash"), &json!("touch made.txt"), &json!("hook"))
    );
    verdict(&gate, &home, code(&ask), &json!({"behavior": "allow"}));
    claude.until("all done");
    claude.until_gone(DIALOG);
    assert!(home.project().join("made.txt").exists());
    let ask = ask_now(&gate, code(&ask), |ask| !ask["effected"].is_null());
    assert_eq!(ask["state"], "answered", "{ask:#}");
}
