//! Calls that once got past the rules, made by the real CLI in the modes in which they did.

use super::unreadable::{post_hooks, posting};
use crate::fakes::model::Model;
use crate::support::driven::{calls, shell};
use crate::support::home::Home;
use crate::support::hooks::{attend, headless, home_with_rules, hooked};
use serde_json::{Value, json};
use std::fs;

/// People are asked about the one call that the model makes, and say no.
#[track_caller]
fn is_asked_for(rules: &str, prepare: fn(&Home), mode: &str, model: &Model) -> Home {
    let (home, gate) = home_with_rules(rules);
    prepare(&home);
    let said = headless(&home, model, mode, || {
        let ask = gate.open_ask();
        gate.answer(&ask, &json!({"behavior": "deny", "why": "not for an adversary"}));
    });
    assert!(said.contains("not for an adversary"), "{mode}: {said}");
    assert_eq!(gate.asks().len(), 1, "{mode}: one call, one prompt");
    home
}

/// A rule denies the one call that the model makes, and nobody is asked.
#[track_caller]
fn is_denied(rules: &str, mode: &str, model: &Model, by: &str) -> Home {
    let (home, gate) = home_with_rules(rules);
    let said = headless(&home, model, mode, || {});
    assert!(gate.asks().is_empty(), "{mode}: {said}");
    let denied = home.records("called").into_iter().find(|call| call["outcome"] == "denied");
    assert_eq!(denied.unwrap_or_default()["decided_by"], by, "{mode}: {said}");
    home
}

fn git(home: &Home, args: &[&str]) {
    let ran = home.program("git").args(["-c", "user.name=a", "-c", "user.email=a@b"]).args(args).output().unwrap();
    assert!(ran.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&ran.stderr));
}

fn repository(home: &Home) {
    git(home, &["init", "-q", "-b", "main"]);
    git(home, &["commit", "-q", "--allow-empty", "-m", "first"]);
}

fn with_remote(home: &Home) {
    repository(home);
    git(home, &["init", "-q", "--bare", "../elsewhere"]);
    git(home, &["remote", "add", "x", "../elsewhere"]);
}

fn with_secret(home: &Home) {
    fs::create_dir_all(home.project().join("secrets")).unwrap();
    fs::write(home.project().join("secrets/key.pem"), "PRIVATE").unwrap();
}

#[test]
fn an_allowed_command_that_can_write_does_not_write_a_protected_file() {
    for mode in ["default", "acceptEdits", "bypassPermissions"] {
        let model = shell(&["git log --format='[core] fsmonitor = x' --output=.git/config"]);
        let home = is_asked_for("[[rule]]\nallow = \"Bash(git log *)\"\n", repository, mode, &model);
        let config = fs::read_to_string(home.project().join(".git/config")).unwrap();
        assert!(config.contains("bare = false") && !config.contains("fsmonitor"), "{mode}: {config}");
    }
}

#[test]
fn an_option_before_the_subcommand_hides_nothing_from_an_ask_rule() {
    let rules = "[[rule]]\nallow = \"Bash(git *)\"\n[[rule]]\nask = \"Bash(git push *)\"\n";
    for (mode, line) in [
        ("default", "git -C . push x main"),
        ("acceptEdits", "git --no-pager push x main"),
        ("bypassPermissions", "echo push x main | xargs git"),
    ] {
        let home = is_asked_for(rules, with_remote, mode, &shell(&[line]));
        assert!(!home.project().join("../elsewhere/refs/heads/main").exists(), "{mode}: {line}");
    }
}

#[test]
fn a_folder_with_a_denied_file_is_neither_moved_nor_copied() {
    let rules = "[[rule]]\nallow = \"Bash\"\n[[rule]]\ndeny = \"Read(secrets/**)\"\n";
    for (mode, line) in
        [("default", "mv secrets s2"), ("acceptEdits", "mv secrets s2"), ("bypassPermissions", "cp -r secrets s2")]
    {
        let home = is_asked_for(rules, with_secret, mode, &shell(&[line]));
        assert!(home.project().join("secrets/key.pem").exists() && !home.project().join("s2").exists(), "{mode}");
    }
}

#[test]
fn a_search_in_a_folder_with_a_denied_file_does_not_show_it() {
    let rules = "[[rule]]\ndeny = \"Read(secrets/**)\"\n";
    // The release that is pinned searches by commands, which it runs unasked in every mode.
    for mode in ["default", "acceptEdits", "bypassPermissions"] {
        is_asked_for(rules, with_secret, mode, &shell(&["grep -r PRIV secrets"]));
    }
    // Others have a tool for it.
    let (home, _gate, session) = hooked();
    with_secret(&home);
    fs::write(home.folder().join("rules.toml"), rules).unwrap();
    attend(&home);
    let input = json!({"pattern": "PRIV", "path": "secrets", "output_mode": "content"});
    let call =
        json!({"tool_name": "Grep", "tool_input": input, "tool_use_id": "toolu_1", "permission_mode": "default"});
    let told = session.hook("PreToolUse", &call);
    assert_eq!(told["hookSpecificOutput"]["permissionDecision"], "ask", "{told:#}");
}

#[test]
fn a_command_that_another_tool_runs_is_held_against_the_rules_for_bash() {
    let input: Value = json!({"command": "touch made.txt", "description": "Look", "timeout_ms": 1000});
    for (mode, rules) in [
        ("default", "[[rule]]\nallow = \"Monitor\"\n[[rule]]\ndeny = \"Bash(touch *)\"\n"),
        ("acceptEdits", "[[rule]]\nallow = \"Monitor\"\n[[rule]]\ndeny = \"Bash(touch *)\"\n"),
        ("bypassPermissions", "[[rule]]\ndeny = \"Bash(touch *)\"\n"),
    ] {
        let home = is_denied(rules, mode, &calls("Monitor", &input), "rule Bash(touch *)");
        assert!(!home.project().join("made.txt").exists(), "{mode}");
    }
}

/// A file that once kept the judgement busy for most of a minute: many rules, and patterns that fit in many ways.
fn with_large_rules(home: &Home) {
    let folder = home.project().join(".portcullis");
    fs::create_dir_all(&folder).unwrap();
    let rule = format!("[[rule]]\ndeny = \"Bash({}b)\"\n", "*a".repeat(60));
    let text = rule.repeat(995_000 / rule.len());
    fs::write(folder.join("rules.toml"), text).unwrap();
}

#[test]
fn a_large_rules_file_of_a_project_does_not_outlast_the_hook() {
    for mode in ["default", "bypassPermissions"] {
        let line = format!("touch made.txt {}", "a".repeat(2_000));
        let home = is_asked_for("", with_large_rules, mode, &shell(&[&line]));
        assert!(!home.project().join("made.txt").exists(), "{mode}");
    }
}

#[test]
fn a_posted_call_that_waits_does_not_run_once_its_token_is_revoked() {
    let (home, gate, token) = posting("[[rule]]\nask = \"Bash(touch *)\"\n");
    post_hooks(&home, &gate, &token);
    headless(&home, &shell(&["touch made.txt"]), "bypassPermissions", || {
        gate.open_ask();
        home.run(&["people", "remove", "claude"]).ok();
    });
    assert!(!home.project().join("made.txt").exists());
}
