//! The commands with the real CLI in a terminal: what a person sees of its prompts and replies, and of broken rules.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::child::Stdin;
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran};
use crate::support::terminal::Terminal;
use crate::support::tmux::{Interactive, install};
use crate::support::{PATIENCE, running, until};
use serde_json::{Value, json};
use std::fs;

fn touch(file: &str) -> Value {
    json!({"command": format!("touch {file}"), "description": "Make a file"})
}

fn home_that_asks_for_touch() -> (Home, Gate) {
    let home = Home::new();
    let gate = home.serve();
    home.run(&["rules", "add", "ask", "Bash(touch *)"]).ok();
    (home, gate)
}

#[test]
fn prompts_of_the_real_cli_are_answered_in_watch() {
    let (home, _gate) = home_that_asks_for_touch();
    let model = Model::start(vec![
        Rule::on_text("first").call("Bash", touch("one")).once(),
        Rule::on_text("second").call("Bash", touch("two")).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &["--permission-mode", "auto"]);
    home.attached(1);
    let mut watch = Terminal::controlling(&home.command(&["watch", "--session", "real"]));
    watch.until("── real: ");
    claude.say("first");
    let shown = watch.until("Allow?");
    assert!(shown.contains("real asks:") && shown.contains("│ touch one"), "{shown}");
    watch.type_line("y");
    watch.until(" allowed by owner");
    model.wait_for_turn("first");
    until("the file", || home.project().join("one").exists().then_some(()));
    watch.until("ran Bash: touch one (decided by person)");
    claude.until("all done");
    claude.say("second");
    watch.until("│ touch two");
    watch.type_line("d not on a Friday");
    watch.until("denied by owner: not on a Friday");
    model.wait_for_turn("not on a Friday");
    assert!(!home.project().join("two").exists());
}

#[test]
fn say_waits_for_the_reply_of_the_real_cli() {
    let home = Home::new();
    let _gate = home.serve();
    let reply = json!({"chat_id": "$CHAT_ID", "text": "all is well"});
    let model = Model::start(vec![
        Rule::on_reminder("how is it going").call("mcp__portcullis__reply", reply).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let claude = Interactive::start(&home, &model, &[]);
    home.attached(1);
    let say = home.spawn(home.command(&["say", "how is it going", "--label", "real", "--wait=2m"]), Stdin::Nothing);
    let ran = Ran::of(&say, PATIENCE * 3).ok();
    assert_eq!(ran.stdout, "all is well\n");
    claude.until("owner: how is it going");
}

#[test]
fn broken_rules_are_shown_where_a_session_starts_and_wherever_someone_looks() {
    let home = Home::new();
    let gate = home.serve();
    install(&home, &[]);
    fs::write(home.folder().join("rules.toml"), "[[rule]]\nmaybe = \"Bash\"\n").unwrap();
    let says_it = |shown: &str| shown.contains("rules.toml") && shown.contains("maybe") && shown.contains("repaired");
    let model = Model::start(vec![]);
    let claude = Interactive::start_as_it_is(&home, &model, &[]);
    // Wrapped at the width of the terminal.
    let start = claude.until("portcullis: reading rules from").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(start.contains("maybe"), "{start}");
    let status = home.run(&["status"]).ok();
    assert!(status.stdout.contains("\nbroken     ") && says_it(&status.stdout), "{status:?}");
    assert_eq!(status.stderr, "", "it is said once");
    assert_eq!(home.status()["broken"].as_array().unwrap().len(), 1, "of the session and of this folder");
    drop(claude);
    // A session that goes on for a moment would start a gate of its own.
    running::no_channels_left(&home.folder(), PATIENCE);
    gate.stop();
    let up = home.run(&["up", "--detach"]).ok();
    assert!(says_it(&up.stderr) && up.stderr.starts_with("warning: ") && up.stderr.lines().count() == 1, "{up:?}");
    // This waits until it has gone.
    home.run(&["stop"]).ok();
    home.write_config("approvals = 7\n");
    let status = home.run(&["status"]);
    assert!(status.stdout.contains("No gate is running") && status.stdout.contains("approvals"), "{status:?}");
}
