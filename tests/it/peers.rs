//! The real Claude Code CLI with the scripted model, without the gate: what every journey with it rests on.

use crate::fakes::model::{Kind, Model};
use crate::fakes::script::{Latch, Rule};
use crate::fakes::small_server;
use crate::support::PATIENCE;
use crate::support::claude::Claude;
use crate::support::home::Home;
use crate::support::running;
use serde_json::{Value, json};

#[test]
fn the_real_cli_talks_to_the_scripted_model() {
    let (home, model) = (Home::new(), Model::start(Vec::new()));
    let ran = Claude::headless(&home, &model, "hello", &json!({"mcpServers": {}}), &[]).wait().ok();
    assert_eq!(ran.stdout, "echo: hello\n");
    assert_eq!(model.turns().len(), 1);
}

#[test]
fn the_real_cli_calls_the_tools_the_model_asks_for() {
    let home = Home::new();
    let model = Model::start(vec![
        Rule::on_text("say hi").call("mcp__small__say", json!({"text": "hi"})).once(),
        Rule::on_result("said hi").say("done: $RESULT"),
    ]);
    let claude = Claude::headless(&home, &model, "say hi", &small(), &["--allowedTools", "mcp__small__say"]);
    assert_eq!(claude.wait().ok().stdout, "done: said hi\n");
    assert!(model.turns()[0].offers("mcp__small__say"));
    assert!(model.turns()[0].shows("Say it."), "the server's instructions reach the model");
}

#[test]
fn processes_of_the_real_cli_end_when_it_is_killed() {
    let (home, latch) = (Home::new(), Latch::new());
    let model = Model::start(vec![Rule::on_text("think").say("never").held_by(&latch)]);
    let claude = Claude::headless(&home, &model, "think", &small(), &[]);
    model.wait_for(|request| request.kind == Kind::Main);
    let mut servers = claude.children();
    servers.retain(|process| process.args.iter().any(|word| word.ends_with("server.sh")));
    assert_eq!(servers.len(), 1, "{:?}", claude.children());
    claude.kill_9();
    running::wait_gone(&servers, PATIENCE);
}

fn small() -> Value {
    json!({"mcpServers": {"small": {"command": "sh", "args": [small_server()]}}})
}
