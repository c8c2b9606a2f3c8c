//! A Claude Code that is older, newer or broken: nothing is lost, nothing unknown is answered wrongly, nothing hangs.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::child::Stdin;
use crate::support::driven::{Driven, shell};
use crate::support::home::Home;
use serde_json::{Value, json};
use std::path::PathBuf;

const PLAYED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/claude.sh");

/// `run` with a client that plays this, and what it was told.
fn play(home: &Home, play: &str, supported: &str) -> (Driven, PathBuf) {
    let heard = home.user().join("heard");
    let mut command = home.command(&["run", "go", "--output", "stream-json", "--claude", PLAYED]);
    command.env("PLAY", play).env("HEARD", &heard).env("SUPPORTED", supported);
    (Driven { child: home.spawn(command, Stdin::Nothing) }, heard)
}

fn told(heard: &PathBuf, id: &str) -> Value {
    let text = std::fs::read_to_string(heard).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.into_iter().find(|line| line["response"]["request_id"] == id).unwrap_or_default()["response"].clone()
}

#[test]
fn a_prompt_in_an_unreadable_line_is_recovered_by_initializing_again() {
    let home = Home::new();
    let gate = home.serve();
    let (run, heard) = play(&home, "lost", "\"hook_on_failure_supported\":true,");
    gate.allow(&gate.only_ask());
    run.wait().ok();
    let answer = told(&heard, "lost");
    assert_eq!((&answer["subtype"], &answer["response"]["behavior"]), (&json!("success"), &json!("allow")), "{answer}");
}

#[test]
fn unknown_requests_get_an_error_and_unknown_messages_are_passed_on() {
    let home = Home::new();
    home.serve();
    let (run, heard) = play(&home, "odd", "");
    let ran = run.wait().ok();
    for (id, words) in [
        ("o1", "Unsupported control request subtype: make_coffee"),
        ("o2", "no MCP server \"nobody\" is registered here"),
        ("o3", "the request does not fit"),
        ("o4", "no hook \"nobody\" is registered here"),
    ] {
        let answer = told(&heard, id);
        assert_eq!(answer["subtype"], "error", "{id}");
        assert!(answer["error"].as_str().unwrap().starts_with(words), "{answer}");
    }
    assert!(ran.stdout.contains("something_new") && !ran.stdout.contains("SandboxDebug"), "{}", ran.stdout);
    assert!(ran.stderr.contains("lets a call through when a hook fails"), "{}", ran.stderr);
}

#[test]
fn a_client_that_exits_at_once_is_an_error_that_shows_its_stderr() {
    let home = Home::new();
    home.serve();
    let program = home.user().join("broken");
    std::fs::write(&program, "#!/bin/sh\necho 'no licence' >&2\nexit 7\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let ran = home.run(&["run", "go", "--claude", program.to_str().unwrap()]);
    assert!(ran.status.code() == Some(1) && ran.stderr.contains("no licence"), "{ran:#?}");
}

#[test]
fn a_driven_session_has_one_channel_although_another_is_configured() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch x"]);
    let servers = home.mcp_config("portcullis", &[]).to_string();
    let run = Driven::start(&home, &model, &["go", "--mcp-config", &servers]);
    let ask = gate.only_ask();
    assert_eq!(gate.get("/api/v1/sessions?all=true").json().as_array().unwrap().len(), 1);
    gate.answer(&ask, &json!({"behavior": "deny"}));
    run.wait().ok();
    let first = &model.turns()[0];
    assert!(first.offers("mcp__gate__reply") && !first.offers("mcp__portcullis__reply"), "{:?}", first.tools());
}

#[test]
fn an_mcp_server_that_fails_to_start_is_named() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![Rule::on_text("go").say("said")]);
    let servers = json!({"mcpServers": {"absent": {"command": "/nowhere/server"}}}).to_string();
    let ran = Driven::start(&home, &model, &["go", "--mcp-config", &servers]).wait().ok();
    assert!(ran.stderr.contains("the MCP server absent is not there: failed"), "{}", ran.stderr);
    assert!(!ran.stderr.contains("gate"), "{}", ran.stderr);
}
