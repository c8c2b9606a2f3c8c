//! The owner's rules and the real CLI's own, through hooks: the stricter of the two counts.

use crate::fakes::model::Model;
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::claude::Claude;
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran};
use crate::support::hooks::file_maker;
use crate::support::tmux::{Interactive, install};
use serde_json::{Value, json};
use std::fs;

/// A project with hooks and this rule, and a gate.
fn home_with(rule: &str) -> (Home, Gate) {
    let home = Home::new();
    install(&home, &[]);
    fs::write(home.folder().join("rules.toml"), format!("[[rule]]\n{rule}\nwhy = \"files are precious\"\n")).unwrap();
    let gate = home.serve();
    (home, gate)
}

/// `claude -p` with everything that is installed.
fn script(home: &Home, model: &Model, mode: &str) -> Child {
    let mut command = Claude::command(home, model);
    command.args(["-p", "make it", "--permission-mode", mode]);
    home.spawn(command, Stdin::Nothing)
}

fn is_made(home: &Home) -> bool {
    home.project().join("made.txt").exists()
}

#[test]
fn an_ask_rule_makes_a_prompt_of_a_call_that_the_mode_allows() {
    for mode in ["acceptEdits", "auto"] {
        let (home, gate) = home_with("ask = \"Bash(touch *)\"");
        let model = file_maker();
        let claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", mode]);
        claude.say("make it");
        let ask = gate.open_ask();
        assert!(ask["reason"].as_str().unwrap().contains("precious") && !is_made(&home), "{ask:#}");
        gate.answer(&ask, &json!({"behavior": "allow"}));
        claude.until("all done");
        assert!(is_made(&home), "{mode}");
    }
}

#[test]
fn a_hook_that_a_project_brings_answers_nothing_that_a_person_must_decide() {
    let allows =
        json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}});
    let hook = json!({"type": "command", "command": format!("echo '{allows}'")});
    let settings = json!({"hooks": {"PermissionRequest": [{"hooks": [hook]}]}});
    for (rule, is_allowed) in [("ask = \"Bash(touch *)\"", false), ("ask = \"Bash(rm *)\"", true)] {
        let (home, gate) = home_with(rule);
        fs::write(home.project().join(".claude/settings.json"), settings.to_string()).unwrap();
        let model = file_maker();
        let claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "default"]);
        claude.say("make it");
        if !is_allowed {
            let ask = gate.open_ask();
            assert!(!is_made(&home), "it is held until a person has answered: {ask:#}");
            gate.answer(&ask, &json!({"behavior": "allow"}));
        }
        claude.until("all done");
        // What nobody asked for is the client's own to ask about, and the hook's to answer.
        assert!(is_made(&home), "{rule}");
    }
}

#[test]
fn an_ask_rule_holds_a_call_of_claude_p_until_people_have_answered() {
    for (behavior, is_allowed) in [("deny", false), ("allow", true)] {
        let (home, gate) = home_with("ask = \"Bash(touch *)\"");
        let model = file_maker();
        let claude = script(&home, &model, "acceptEdits");
        let ask = gate.open_ask();
        assert!(!is_made(&home), "it is held before it runs");
        gate.answer(&ask, &json!({"behavior": behavior, "why": "files are precious"}));
        assert_eq!(Ran::of(&claude, PATIENCE * 3).ok().stdout, "all done\n");
        assert_eq!(is_made(&home), is_allowed);
    }
}

#[test]
fn an_allow_rule_answers_a_prompt_and_is_recorded() {
    let (home, gate) = home_with("allow = \"Bash(touch *)\"");
    let model = file_maker();
    assert_eq!(Ran::of(&script(&home, &model, "default"), PATIENCE * 3).ok().stdout, "all done\n");
    assert!(is_made(&home));
    assert!(gate.asks().is_empty(), "nobody was asked");
    let log = home.run(&["log", "--json"]).ok().stdout;
    assert!(log.contains("rule Bash(touch *)"), "{log}");
}

#[test]
fn an_allow_rule_does_not_answer_where_the_clients_own_rule_asks() {
    let (home, gate) = home_with("allow = \"Bash(touch *)\"");
    let file = home.project().join(".claude/settings.local.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    settings["permissions"]["ask"] = json!(["Bash(touch *)"]);
    fs::write(&file, settings.to_string()).unwrap();
    let model = file_maker();
    let claude = script(&home, &model, "default");
    let ask = gate.open_ask();
    assert!(!is_made(&home));
    gate.answer(&ask, &json!({"behavior": "allow"}));
    assert_eq!(Ran::of(&claude, PATIENCE * 3).ok().stdout, "all done\n");
    assert!(is_made(&home));
}
