//! What a person must decide about is asked for in every mode of the real interactive CLI.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::home::Home;
use crate::support::tmux::Interactive;
use serde_json::json;

/// A protected file and a critical removal are asked for, and neither happens when people say no.
#[track_caller]
fn check(mode: &str) {
    let home = Home::new();
    let gate = home.serve();
    std::fs::create_dir_all(home.project().join(".git")).unwrap();
    let file = home.project().join(".git/made");
    let model = Model::start(vec![
        Rule::on_text("write it").call("Write", json!({"file_path": file, "content": "x"})).once(),
        // The home of this test, should it ever run.
        Rule::on_text("remove it").call("Bash", json!({"command": "rm -rf ~", "description": "Tidy up"})).once(),
        Rule::on_result("not that file").say("kept the file"),
        Rule::on_result("not that folder").say("kept the folder"),
    ]);
    let claude = Interactive::start(&home, &model, &["--permission-mode", mode]);
    claude.say("write it");
    let ask = gate.open_ask();
    assert_eq!((&ask["tool"], &ask["source"]), (&json!("Write"), &json!("hook")), "{mode}: {ask:#}");
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not that file"}));
    claude.until("kept the file");
    gate.ask_when(&ask, |ask| ask["verdict"]["confirmation"] == "confirmed");
    claude.say("remove it");
    let ask = gate.open_ask();
    assert_eq!((&ask["tool"], &ask["preview"]), (&json!("Bash"), &json!("rm -rf ~")), "{mode}: {ask:#}");
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not that folder"}));
    claude.until("kept the folder");
    assert!(!file.exists() && home.user().exists(), "{mode}");
}

#[test]
fn a_protected_file_and_a_critical_removal_are_asked_for_in_accept_edits() {
    check("acceptEdits");
}

#[test]
fn a_protected_file_and_a_critical_removal_are_asked_for_in_auto_mode() {
    check("auto");
}

#[test]
fn a_protected_file_and_a_critical_removal_are_asked_for_in_bypass_mode() {
    check("bypassPermissions");
}
