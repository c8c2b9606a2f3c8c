//! The owner's rules in a driven session, before and above what the client decides by itself.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::driven::{Driven, calls, shell};
use crate::support::gate::Gate;
use crate::support::home::Home;
use serde_json::json;

fn rules(home: &Home, text: &str) {
    std::fs::write(home.folder().join("rules.toml"), text).unwrap();
}

#[track_caller]
fn nobody_was_asked(gate: &Gate) {
    assert!(gate.asks().is_empty());
}

#[test]
fn a_deny_rule_denies_what_claude_code_would_allow() {
    let home = Home::new();
    let gate = home.serve();
    rules(&home, "[[rule]]\ndeny = \"Bash(ls *)\"\nwhy = \"nobody looks here\"\n");
    let model = shell(&["ls"]);
    let said = Driven::start(&home, &model, &["go", "--allow", "Bash"]).wait().ok().stdout;
    assert!(said.contains("nobody looks here"), "{said}");
    nobody_was_asked(&gate);
}

#[test]
fn an_allow_rule_answers_only_what_it_matches() {
    let home = Home::new();
    let gate = home.serve();
    rules(&home, "[[rule]]\nallow = \"Bash(touch made.txt)\"\n");
    Driven::start(&home, &shell(&["touch made.txt"]), &["go"]).wait().ok();
    assert!(home.project().join("made.txt").exists());
    nobody_was_asked(&gate);
    let model = shell(&["touch made.txt && touch other.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny"}));
    run.wait().ok();
    assert!(!home.project().join("other.txt").exists());
}

#[test]
fn an_allow_rule_does_not_answer_in_plan_mode() {
    let home = Home::new();
    let gate = home.serve();
    rules(&home, "[[rule]]\nallow = \"Edit(made.txt)\"\n");
    let file = home.project().join("made.txt");
    let write = || calls("Write", &json!({"file_path": file, "content": "x"}));
    let model = write();
    let run = Driven::start(&home, &model, &["go", "--permission-mode", "plan"]);
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny"}));
    run.wait().ok();
    assert!(!file.exists());
    Driven::start(&home, &write(), &["go"]).wait().ok();
    assert!(file.exists(), "elsewhere it does");
}

#[test]
fn an_ask_rule_asks_in_bypass_mode_and_can_require_two_people() {
    let home = Home::new();
    home.write_config("allow_bypass = true\n");
    let gate = home.serve();
    rules(&home, "[[rule]]\nask = \"Bash(touch *)\"\nquorum = 2\nwhy = \"two look at this\"\n");
    let model = shell(&["touch made.txt"]);
    let mut command = Driven::command(&home, &model, &["go", "--permission-mode", "bypassPermissions"]);
    command.env("IS_SANDBOX", "1");
    let run = Driven { child: home.spawn(command, crate::support::child::Stdin::Nothing) };
    let ask = gate.only_ask();
    assert_eq!((&ask["quorum"], &ask["reason"]), (&json!(2), &json!("two look at this")), "{ask}");
    gate.allow(&ask);
    assert!(!home.project().join("made.txt").exists(), "one is not enough");
    let rae = home.token_for("rae", "reviewer");
    gate.verdict_as(&rae, ask["id"].as_str().unwrap(), &json!({"behavior": "allow"})).expect(200);
    run.wait().ok();
    assert!(home.project().join("made.txt").exists());
}

#[test]
fn an_edited_input_is_checked_against_the_rules_again() {
    let home = Home::new();
    let gate = home.serve();
    for (rule, why) in [
        ("deny = \"Bash(touch secret.txt)\"\nwhy = \"never that one\"", "never that one"),
        ("ask = \"Bash(touch secret.txt)\"\nquorum = 2", "it wants 2 people"),
    ] {
        rules(&home, &format!("[[rule]]\n{rule}\n"));
        let model = shell(&["touch made.txt"]);
        let run = Driven::start(&home, &model, &["go"]);
        let input = json!({"command": "touch secret.txt", "description": "Do it"});
        gate.answer(&gate.only_ask(), &json!({"behavior": "allow", "input": input}));
        let said = run.wait().ok().stdout;
        assert!(said.contains(why) && !home.project().join("secret.txt").exists(), "{said}");
    }
}

#[test]
fn what_the_rules_say_when_a_call_is_allowed_counts_and_not_what_they_said_when_it_was_asked_for() {
    let home = Home::new();
    let gate = home.serve();
    let model = shell(&["touch made.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    let ask = gate.only_ask();
    home.run(&["rules", "add", "deny", "Bash(touch *)"]).ok();
    gate.allow(&ask);
    let said = run.wait().ok().stdout;
    assert!(
        said.contains("It was allowed, and is denied by now") && !home.project().join("made.txt").exists(),
        "{said}"
    );
    home.run(&["rules", "remove", "Bash(touch *)"]).ok();
    // A folder that leads elsewhere since it was asked for.
    let (secret, public) = (home.project().join("secret"), home.project().join("public"));
    [&secret, &public].into_iter().for_each(|folder| std::fs::create_dir(folder).unwrap());
    rules(&home, "[[rule]]\ndeny = \"Edit(secret/**)\"\n");
    let model = shell(&["touch public/made.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    let ask = gate.only_ask();
    std::fs::remove_dir(&public).unwrap();
    std::os::unix::fs::symlink(&secret, &public).unwrap();
    gate.allow(&ask);
    run.wait().ok();
    assert!(!secret.join("made.txt").exists());
}

#[test]
fn rules_files_are_never_edited_without_a_prompt() {
    let home = Home::new();
    let gate = home.serve();
    rules(&home, "");
    for file in [home.folder().join("rules.toml"), home.project().join(".portcullis/rules.toml")] {
        let model = calls("Write", &json!({"file_path": file, "content": "[[rule]]\nallow = \"Bash\"\n"}));
        let folder = home.folder();
        let run = Driven::start(
            &home,
            &model,
            &["go", "--permission-mode", "acceptEdits", "--add-dir", folder.to_str().unwrap()],
        );
        let ask = gate.only_ask();
        assert_eq!((&ask["tool"], &ask["risk"]["level"]), (&json!("Write"), &json!("high")), "{ask}");
        assert!(ask["offers"].as_array().is_none_or(Vec::is_empty), "nothing of it is remembered: {ask}");
        gate.answer(&ask, &json!({"behavior": "deny"}));
        run.wait().ok();
    }
    assert_eq!(std::fs::read_to_string(home.folder().join("rules.toml")).unwrap(), "");
}

#[test]
fn rules_written_by_the_model_allow_nothing() {
    let home = Home::new();
    let gate = home.serve();
    let file = home.project().join(".portcullis/rules.toml");
    let write = json!({"file_path": file, "content": "[[rule]]\nallow = \"Bash\"\n"});
    let model = Model::start(vec![
        Rule::on_text("go").call("Write", write).once(),
        Rule::on_any_result().call("Bash", json!({"command": "make install", "description": "Do it"})).once(),
        Rule::on_any_result().say("done: $RESULT"),
    ]);
    let run = Driven::start(&home, &model, &["go", "--permission-mode", "acceptEdits"]);
    let first = gate.only_ask();
    assert_eq!(first["tool"], "Write", "{first}");
    gate.allow(&first);
    let second = gate.only_ask();
    assert_eq!((&second["tool"], &second["input"]["command"]), (&json!("Bash"), &json!("make install")), "{second}");
    assert!(file.exists(), "the rules are there, and count for nothing until a person trusts them");
    gate.answer(&second, &json!({"behavior": "deny"}));
    run.wait().ok();
}

#[test]
fn rules_of_an_untrusted_project_allow_nothing() {
    let home = Home::new();
    let gate = home.serve();
    std::fs::create_dir_all(home.project().join(".portcullis")).unwrap();
    std::fs::write(home.project().join(".portcullis/rules.toml"), "[[rule]]\nallow = \"Bash\"\n").unwrap();
    let model = shell(&["touch made.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    gate.answer(&gate.only_ask(), &json!({"behavior": "deny"}));
    run.wait().ok();
    assert!(!home.project().join("made.txt").exists());
}
