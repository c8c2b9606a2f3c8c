//! Calls that the real CLI would let pass: they are held until people have answered, and one that ran all the same raises
//! an alarm.

use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::driven::shell;
use crate::support::home::Home;
use crate::support::hooks::{attend, bash, headless, home_with_rules, hooked, with};
use crate::support::seen::until;
use crate::support::standin::StandIn;
use crate::support::tmux::Interactive;
use serde_json::{Value, json};
use std::fs;

#[test]
fn a_call_for_which_the_client_swallows_an_ask_is_held_and_the_terminal_says_so() {
    let (home, gate) = home_with_rules("[[rule]]\nask = \"Bash(touch *)\"\nquorum = 2\n");
    fs::create_dir_all(home.project().join(".git")).unwrap();
    let model = shell(&["touch a .git/z"]);
    let claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "bypassPermissions"]);
    claude.say("go");
    let ask = gate.open_ask();
    assert_eq!((&ask["held"], &ask["quorum"]), (&json!(true), &json!(2)), "{ask:#}");
    claude.until("a person is asked, `portcullis watch` shows and answers it");
    gate.answer(&ask, &json!({"behavior": "allow"}));
    let rae = home.token_for("rae", "reviewer");
    let code = ask["code"].as_str().unwrap();
    gate.verdict_as(&rae, code, &json!({"behavior": "deny", "why": "not today"})).expect(200);
    claude.until("A person denied this: not today");
    assert!(!home.project().join("a").exists() && !home.project().join(".git/z").exists());
}

#[test]
fn a_prompt_that_is_typed_meanwhile_leaves_a_held_call_to_the_people_who_are_asked() {
    let (home, gate, session) = hooked();
    fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    attend(&home);
    let held = session.hook_later("PreToolUse", &with(bash("touch a"), "permission_mode", "bypassPermissions"));
    let ask = gate.open_ask();
    assert_eq!(ask["held"], true, "{ask:#}");
    let more = gate.verdict(ask["code"].as_str().unwrap(), &json!({"behavior": "deny", "interrupt": true})).expect(422);
    assert_eq!(more.json()["message"], "this call is held before it runs: it can be allowed or denied once, as it is");
    session.hook("UserPromptSubmit", &json!({"prompt": "what takes so long?"}));
    session.hook("UserPromptSubmit", &json!({"prompt": "hello?"}));
    gate.answer(&ask, &json!({"behavior": "deny", "why": "not today"}));
    let told = session.hook_answer(&held);
    assert_eq!(told["hookSpecificOutput"]["permissionDecisionReason"], "A person denied this: not today", "{told}");
}

#[test]
fn with_a_broken_configuration_a_held_call_is_denied_without_a_wait_and_says_why() {
    let home = Home::new();
    home.write_config("retention_days = \"many\"\n");
    fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    let session = StandIn::start(&home, &["--label", "api"]);
    attend(&home);
    let told = session.hook("PreToolUse", &with(bash("touch a"), "permission_mode", "bypassPermissions"));
    let told = &told["hookSpecificOutput"];
    assert_eq!(told["permissionDecision"], "deny", "{told}");
    let why = told["permissionDecisionReason"].as_str().unwrap();
    assert!(why.contains("no gate can be started") && why.contains("config.toml"), "{why}");
}

#[test]
fn a_line_that_is_too_long_to_read_is_held() {
    let (home, gate) = home_with_rules("[[rule]]\ndeny = \"Bash(touch *)\"\n");
    let line = format!(": {}; touch made.txt", "a".repeat(10_000));
    let said = headless(&home, &shell(&[&line]), "bypassPermissions", || {
        let ask = gate.open_ask();
        assert_eq!(ask["held"], true, "{ask:#}");
        gate.answer(&ask, &json!({"behavior": "deny", "why": "too long for me"}));
    });
    assert!(said.contains("too long for me") && !home.project().join("made.txt").exists(), "{said}");
}

#[test]
fn a_call_that_the_clients_own_rule_refuses_after_an_allow_is_said_to_be_so() {
    let (home, gate) = home_with_rules("[[rule]]\nask = \"Bash(touch *)\"\n");
    let file = home.project().join(".claude/settings.local.json");
    let mut settings: Value = serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    settings["permissions"]["deny"].as_array_mut().unwrap().push(json!("Bash(touch *)"));
    fs::write(&file, settings.to_string()).unwrap();
    headless(&home, &shell(&["touch made.txt"]), "bypassPermissions", || {
        gate.answer(&gate.open_ask(), &json!({"behavior": "allow"}));
    });
    assert!(!home.project().join("made.txt").exists());
    let denied = home.records("called").into_iter().find(|call| call["outcome"] == "denied").unwrap();
    assert_eq!(denied["decided_by"], "client, after the allow", "{denied:#}");
}

#[test]
fn a_call_that_ran_although_the_client_was_told_to_ask_raises_an_alarm() {
    let (home, _gate, session) = hooked();
    fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    attend(&home);
    let watch = home.spawn(home.command(&["watch"]), Stdin::Nothing);
    watch.line(PATIENCE, |line| line == "session api: connected");
    let call = |id: &str| with(with(bash("touch made.txt"), "tool_use_id", id), "permission_mode", "default");
    let told = |id: &str| session.hook("PreToolUse", &call(id))["hookSpecificOutput"]["permissionDecision"].clone();
    // A dialog at the terminal was answered there.
    assert_eq!(told("toolu_1"), "ask");
    let asked = session.hook_later("PermissionRequest", &bash("touch made.txt"));
    until("the prompt", || (!home.records("asked").is_empty()).then_some(()));
    session.hook("PostToolUse", &call("toolu_1"));
    session.hook_answer(&asked);
    let calls = || home.records("called");
    until("the first call", || (calls().len() == 1).then_some(()));
    assert!(calls()[0]["unasked"].is_null(), "{:#?}", calls());
    assert!(!home.run(&["status"]).ok().stdout.contains("ALARM"));

    assert_eq!(told("toolu_2"), "ask");
    let shown = session.hook("PostToolUse", &call("toolu_2"));
    let at_the_terminal = shown["systemMessage"].as_str().unwrap_or_default();
    assert!(at_the_terminal.starts_with("Portcullis ALARM: Bash ran although a person had to be asked"), "{shown}");
    until("the second call", || (calls().len() == 2).then_some(()));
    assert_eq!(calls()[1]["unasked"], true, "{:#?}", calls());
    let status = home.run(&["status"]).ok().stdout;
    assert!(status.contains("ALARM") && status.contains("api ran Bash although a person had to be asked"), "{status}");
    assert_eq!(home.status()["unasked_calls"][0]["label"], "api");
    let log = home.run(&["log"]).ok().stdout;
    assert!(log.contains("ALARM: ran Bash: touch made.txt"), "{log}");
    watch.line(PATIENCE, |line| line.contains("api       ALARM: ran Bash: touch made.txt"));
}
