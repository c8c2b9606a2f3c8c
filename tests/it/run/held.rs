//! Calls of a driven session that the client would let pass: people decide, and the rules see them as they are made.

use crate::fakes::model::Model;
use crate::support::child::Stdin;
use crate::support::driven::{Driven, shell};
use crate::support::gate::Gate;
use crate::support::home::Home;
use serde_json::json;
use std::fs;

fn home_with(rules: &str) -> (Home, Gate) {
    let home = Home::new();
    home.write_config("allow_bypass = true\n");
    let gate = home.serve();
    fs::write(home.folder().join("rules.toml"), rules).unwrap();
    (home, gate)
}

fn start(home: &Home, model: &Model) -> Driven {
    let mut command = Driven::command(home, model, &["go", "--permission-mode", "bypassPermissions"]);
    command.env("IS_SANDBOX", "1");
    Driven { child: home.spawn(command, Stdin::Nothing) }
}

#[test]
fn a_call_for_which_the_client_swallows_an_ask_waits_for_two_people() {
    let (home, gate) = home_with("[[rule]]\nask = \"Bash(touch *)\"\nquorum = 2\n");
    fs::create_dir_all(home.project().join(".git")).unwrap();
    let model = shell(&["touch a .git/z"]);
    let run = start(&home, &model);
    let ask = gate.only_ask();
    assert_eq!((&ask["held"], &ask["quorum"]), (&json!(true), &json!(2)), "{ask}");
    gate.allow(&ask);
    assert!(!home.project().join("a").exists(), "one is not enough");
    let rae = home.token_for("rae", "reviewer");
    let code = ask["code"].as_str().unwrap();
    gate.verdict_as(&rae, code, &json!({"behavior": "deny", "why": "not today"})).expect(200);
    let said = run.wait().ok().stdout;
    assert!(said.contains("not today"), "{said}");
    assert!(!home.project().join("a").exists() && !home.project().join(".git/z").exists());
}

#[test]
fn a_line_that_is_too_long_to_read_is_held() {
    let (home, gate) = home_with("[[rule]]\ndeny = \"Bash(touch *)\"\n");
    let line = format!(": {}; touch made.txt", "a".repeat(10_000));
    let model = shell(&[&line]);
    let run = start(&home, &model);
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny", "why": "too long for me"}));
    let said = run.wait().ok().stdout;
    assert!(said.contains("too long for me") && !home.project().join("made.txt").exists(), "{said}");
}

#[test]
fn a_hook_that_answers_in_a_persons_place_answers_no_mandatory_ask() {
    let (home, gate) = home_with("[[rule]]\nask = \"Bash(touch *)\"\n");
    let answer =
        json!({"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}});
    let command = format!("echo '{answer}'");
    let hooks = json!({"PermissionRequest": [{"matcher": "*", "hooks": [{"type": "command", "command": command}]}]});
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    fs::write(home.project().join(".claude/settings.json"), json!({"hooks": hooks}).to_string()).unwrap();
    for (file, behavior) in [("denied.txt", "deny"), ("allowed.txt", "allow")] {
        let model = shell(&[&format!("touch {file}")]);
        let run = Driven::start(&home, &model, &["go"]);
        let ask = gate.only_ask();
        assert_eq!(ask["held"], json!(true), "{ask}");
        assert!(!home.project().join(file).exists());
        gate.answer(&ask, &json!({"behavior": behavior}));
        run.wait().ok();
        assert_eq!(home.project().join(file).exists(), behavior == "allow");
    }
    assert!(!home.run(&["log"]).ok().stdout.contains("ALARM"));
}
