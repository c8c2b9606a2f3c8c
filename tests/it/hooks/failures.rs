//! What the real interactive CLI does when we are not there, and what its model can do with what we leave in its reach.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::gate::Gate;
use crate::support::home::Home;
use crate::support::running;
use crate::support::tmux::{Interactive, install};
use crate::support::{PATIENCE, Signal};
use serde_json::{Value, json};
use std::fs;

const DIALOG: &str = "Do you want to proceed?";

fn bash(command: &str) -> Value {
    json!({"command": command, "description": "Try"})
}

/// A rule of the owner's that was there when the hooks were installed.
fn with_a_denied_command(home: &Home) {
    fs::write(home.folder().join("rules.toml"), "[[rule]]\ndeny = \"Bash(touch denied*)\"\n").unwrap();
    install(home, &[]);
}

/// The gate, the session's own process and the program are gone.
fn take_everything_away(home: &Home) {
    fs::remove_file(home.user().join(".local/bin/portcullis")).unwrap();
    let ours = running::portcullis_of(&home.folder());
    for process in &ours {
        running::signal(process, Signal::KILL);
    }
    running::wait_gone(&ours, PATIENCE);
}

/// The client asks at its own terminal, and what is denied stays denied.
fn works_alone(home: &Home, model: &Model, claude: &Interactive) {
    claude.say("first");
    claude.until(DIALOG);
    claude.press_until_gone("1", DIALOG);
    claude.until("done with the first");
    assert!(home.project().join("allowed.txt").exists());
    claude.say("second");
    claude.until("done with the second");
    assert!(!home.project().join("denied.txt").exists());
    let refused = model.turns().into_iter().find(|request| request.turn.result().contains("denied")).unwrap();
    assert!(refused.turn.results[0].is_error, "{:?}", refused.turn);
}

fn script() -> Vec<Rule> {
    vec![
        Rule::on_text("first").call("Bash", bash("touch allowed.txt")).once(),
        Rule::on_text("second").call("Bash", bash("touch denied.txt")).once(),
        Rule::on_result("enied").say("done with the second"),
        Rule::on_any_result().say("done with the first"),
    ]
}

#[test]
fn a_session_continues_with_its_own_prompts_when_gate_and_program_disappear() {
    let home = Home::new();
    with_a_denied_command(&home);
    let _gate = home.serve();
    let model = Model::start(script());
    let claude = Interactive::start_as_it_is(&home, &model, &[]);
    home.attached(1);
    assert!(!running::channels_of(&home.folder()).is_empty());
    take_everything_away(&home);
    works_alone(&home, &model, &claude);
}

#[test]
fn a_session_started_without_the_program_uses_its_own_prompts() {
    let home = Home::new();
    with_a_denied_command(&home);
    take_everything_away(&home);
    let model = Model::start(script());
    let claude = Interactive::start_as_it_is(&home, &model, &[]);
    works_alone(&home, &model, &claude);
}

#[test]
fn while_the_gate_is_stopped_the_terminal_answers_and_rules_still_deny() {
    let home = Home::without_auto_start();
    install(&home, &[]);
    // Written since, so that the client's own settings do not have it.
    fs::write(home.folder().join("rules.toml"), "[[rule]]\ndeny = \"Bash(touch denied*)\"\n").unwrap();
    let gate = home.serve();
    let model = Model::start(script());
    let claude = Interactive::start_as_it_is(&home, &model, &[]);
    home.attached(1);
    gate.stop();
    works_alone(&home, &model, &claude);
}

#[test]
fn the_model_cannot_read_a_token_or_call_a_hook() {
    let home = Home::new();
    let mut command = home.command(&["serve"]);
    command.env_remove("PORTCULLIS_TOKEN");
    let gate = Gate::start_command(&home, command);
    let token = fs::read_to_string(home.folder().join("owner.token")).unwrap();
    let everything = "env; cat /proc/$PPID/environ | tr '\\0' '\\n'; cat ~/.claude.json .claude/*; echo the end";
    let forged = json!({"hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": "{}"});
    let model = Model::start(vec![
        Rule::on_text("look").call("Bash", bash(everything)).once(),
        Rule::on_result("the end").call("mcp__portcullis__hook", forged).once(),
        Rule::on_any_result().say("all done"),
    ]);
    install(&home, &[]);
    let claude = Interactive::start_as_it_is(&home, &model, &["--allowedTools", "Bash"]);
    claude.say("look");
    claude.until("all done");
    let said: Vec<String> = model.turns().iter().map(|request| request.turn.result()).collect();
    let seen = said.iter().find(|said| said.contains("the end")).unwrap();
    assert!(seen.contains("CLAUDECODE=1"), "{seen}");
    assert!(!seen.contains(token.trim()) && !seen.contains("ptc_") && !seen.contains("PORTCULLIS_TOKEN"), "{seen}");
    let last = model.turns().pop().unwrap();
    assert!(last.turn.results[0].is_error, "{:?}", last.turn);
    assert!(model.turns().iter().all(|turn| !turn.offers("mcp__portcullis__hook")), "it is not told of it");
    assert!(model.turns().iter().any(|turn| turn.offers("mcp__portcullis__reply")), "but of the others");
    drop(gate);
}
