//! Calls that once got past the rules, made by the real CLI in the modes in which they did: with hooks, and in a driven
//! session.

use super::unreadable::{post_hooks, posting};
use crate::fakes::model::Model;
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::claude::Claude;
use crate::support::driven::{Driven, calls, shell};
use crate::support::gate::Gate;
use crate::support::home::{Home, Ran};
use crate::support::hooks::{attend, headless, home_with_rules, hooked};
use crate::support::tmux::Interactive;
use serde_json::{Value, json};
use std::fs;
use std::process::Command;

/// How the rules reach a session.
#[derive(Clone, Copy, Debug)]
enum Road {
    Hooks,
    Driven,
}

const ROADS: [Road; 2] = [Road::Hooks, Road::Driven];
/// Those in which a command may pass that a rule allows.
pub(super) const MODES: [&str; 4] = ["default", "acceptEdits", "auto", "bypassPermissions"];

impl Road {
    fn home(self, rules: &str) -> (Home, Gate) {
        if matches!(self, Self::Hooks) {
            return home_with_rules(rules);
        }
        let home = Home::new();
        home.write_config("allow_bypass = true\n");
        let gate = home.serve();
        fs::write(home.folder().join("rules.toml"), rules).unwrap();
        (home, gate)
    }

    /// What the session says at its end.
    fn run(self, home: &Home, model: &Model, mode: &str, meanwhile: impl FnOnce()) -> String {
        if matches!(self, Self::Hooks) {
            return headless(home, model, mode, meanwhile);
        }
        let mut command = Driven::command(home, model, &["go", "--permission-mode", mode]);
        command.env("IS_SANDBOX", "1");
        let run = Driven { child: home.spawn(command, Stdin::Nothing) };
        meanwhile();
        run.wait().ok().stdout
    }

    /// People are asked about the one call that the model makes, and say no.
    #[track_caller]
    fn is_asked_for(self, rules: &str, prepare: fn(&Home), mode: &str, model: &Model) -> Home {
        let (home, gate) = self.home(rules);
        prepare(&home);
        let said = self.run(&home, model, mode, || {
            let ask = gate.open_ask();
            gate.answer(&ask, &json!({"behavior": "deny", "why": "not for an adversary"}));
        });
        assert!(said.contains("not for an adversary"), "{self:?} {mode}: {said}");
        assert_eq!(gate.asks().len(), 1, "{self:?} {mode}: one call, one prompt");
        home
    }

    /// A rule denies the last call that the model makes, and nobody is asked.
    #[track_caller]
    fn is_denied(self, rules: &str, prepare: fn(&Home), mode: &str, model: &Model, by: &str) -> Home {
        let (home, gate) = self.home(rules);
        prepare(&home);
        let said = self.run(&home, model, mode, || {});
        assert!(gate.asks().is_empty(), "{self:?} {mode}: {said}");
        let denied = home.records("called").into_iter().find(|call| call["outcome"] == "denied");
        assert_eq!(denied.unwrap_or_default()["decided_by"], by, "{self:?} {mode}: {said}");
        assert!(!said.contains("PRIVATE"), "{self:?} {mode}: {said}");
        home
    }
}

fn as_it_is(_: &Home) {}

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
    for road in ROADS {
        for mode in MODES {
            let model = shell(&["git log --format='[core] fsmonitor = x' --output=.git/config"]);
            let home = road.is_asked_for("[[rule]]\nallow = \"Bash(git log *)\"\n", repository, mode, &model);
            let config = fs::read_to_string(home.project().join(".git/config")).unwrap();
            assert!(config.contains("bare = false") && !config.contains("fsmonitor"), "{road:?} {mode}: {config}");
        }
    }
}

#[test]
fn an_option_before_the_subcommand_hides_nothing_from_an_ask_rule() {
    let programs = [("git", "push"), ("npm", "publish"), ("kubectl", "delete"), ("docker", "run")];
    let rules = programs.map(|(program, sub)| {
        format!("[[rule]]\nallow = \"Bash({program} *)\"\n[[rule]]\nask = \"Bash({program} {sub} *)\"\n")
    });
    let lines = [
        "git -C . push x main",
        "git --no-pager push x main",
        "echo push x main | xargs git",
        "npm --silent publish",
        "kubectl -n x delete pod y",
        "docker --context x run y",
    ];
    for (at, line) in lines.into_iter().enumerate() {
        // Each line once, and each mode by both roads.
        let (road, mode) = (ROADS[at % 2], MODES[at % 4]);
        let home = road.is_asked_for(&rules.concat(), with_remote, mode, &shell(&[line]));
        assert!(!home.project().join("../elsewhere/refs/heads/main").exists(), "{road:?} {mode}: {line}");
    }
    for (road, mode) in [(Road::Driven, "default"), (Road::Hooks, "acceptEdits"), (Road::Driven, "auto")] {
        road.is_asked_for(&rules.concat(), with_remote, mode, &shell(&[lines[0]]));
    }
}

#[test]
fn a_folder_with_a_denied_file_is_neither_moved_nor_copied_nor_removed() {
    let rules = "[[rule]]\nallow = \"Bash\"\n[[rule]]\ndeny = \"Read(secrets/**)\"\n";
    let lines = ["mv secrets s2", "cp -r secrets s2", "rm -r secrets", "mv secrets s2"];
    for road in ROADS {
        for (mode, line) in MODES.into_iter().zip(lines) {
            let home = road.is_asked_for(rules, with_secret, mode, &shell(&[line]));
            let (secret, copy) = (home.project().join("secrets/key.pem"), home.project().join("s2"));
            assert!(secret.exists() && !copy.exists(), "{road:?} {mode} {line}");
        }
    }
}

#[test]
fn a_search_in_a_folder_with_a_denied_file_does_not_show_it() {
    let rules = "[[rule]]\ndeny = \"Read(secrets/**)\"\n";
    // The release that is pinned searches by commands, which it runs unasked in every mode.
    for road in ROADS {
        for mode in MODES.into_iter().chain(["plan"]) {
            road.is_asked_for(rules, with_secret, mode, &shell(&["grep -r PRIV secrets"]));
        }
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
    let rules = "[[rule]]\nallow = \"Monitor\"\n[[rule]]\ndeny = \"Bash(touch *)\"\n";
    for road in ROADS {
        for mode in MODES {
            let home = road.is_denied(rules, as_it_is, mode, &calls("Monitor", &input), "rule Bash(touch *)");
            assert!(!home.project().join("made.txt").exists(), "{road:?} {mode}");
        }
    }
}

#[test]
fn a_call_is_judged_from_the_folder_that_the_session_is_in() {
    let rules = "[[rule]]\ndeny = \"Read(secrets/**)\"\n";
    for road in ROADS {
        for mode in MODES.into_iter().chain(["plan"]) {
            let model = shell(&["cd secrets", "cat key.pem"]);
            road.is_denied(rules, with_secret, mode, &model, "rule Read(secrets/**)");
        }
    }
}

#[test]
fn a_line_that_is_too_long_to_read_is_asked_for() {
    let rules = "[[rule]]\nallow = \"Bash\"\n[[rule]]\ndeny = \"Bash(touch *)\"\n";
    let line = format!(": {}; touch made.txt", "a".repeat(10_000));
    for road in ROADS {
        for mode in MODES {
            let home = road.is_asked_for(rules, as_it_is, mode, &shell(&[&line]));
            assert!(!home.project().join("made.txt").exists(), "{road:?} {mode}");
        }
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
    for road in ROADS {
        for mode in MODES {
            let line = format!("touch made.txt {}", "a".repeat(2_000));
            let home = road.is_asked_for("", with_large_rules, mode, &shell(&[&line]));
            assert!(!home.project().join("made.txt").exists(), "{road:?} {mode}");
        }
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

#[test]
fn a_project_that_sets_our_home_and_our_token_is_judged_by_the_users_rules() {
    for mode in MODES {
        let (home, _gate) = home_with_rules("[[rule]]\ndeny = \"Bash(touch *)\"\n");
        let evil = home.project().join("home");
        fs::create_dir(&evil).unwrap();
        fs::write(evil.join("rules.toml"), "[[rule]]\nallow = \"Bash\"\n").unwrap();
        let env = json!({"env": {"PORTCULLIS_HOME": evil, "PORTCULLIS_TOKEN": "chosen-by-the-project"}});
        fs::write(home.project().join(".claude/settings.json"), env.to_string()).unwrap();
        let said = headless(&home, &shell(&["touch made.txt"]), mode, || {});
        assert!(said.contains("Bash(touch *)"), "{mode}: {said}");
        assert!(!home.project().join("made.txt").exists() && !evil.join("journal.db").exists(), "{mode}");
    }
}

/// Claude Code without anybody at it, in a mode in which nothing asks.
fn unattended(home: &Home, model: &Model) -> Command {
    let mut command = Claude::command(home, model);
    command.env("IS_SANDBOX", "1").args(["-p", "go", "--permission-mode", "bypassPermissions"]);
    command
}

/// The same command by another program.
fn by(mut program: Command, command: &Command) -> Command {
    program.args(command.get_args());
    program.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
    program
}

#[test]
fn a_guard_that_anyone_may_start_switches_no_hook_off() {
    let (home, _gate) = home_with_rules("[[rule]]\ndeny = \"Bash(touch *)\"\n");
    let model = shell(&["touch made.txt"]);
    let command = unattended(&home, &model);
    let mut guard = home.command(&["__guard", "--"]);
    guard.arg(command.get_program());
    Ran::of(&home.spawn(by(guard, &command), Stdin::Nothing), PATIENCE * 3).ok();
    assert!(model.turns().iter().any(|request| request.shows("Bash(touch *)")));
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn a_claude_code_of_another_name_is_an_agent_whose_project_moves_nothing_of_ours() {
    let (home, _gate) = home_with_rules("[[rule]]\ndeny = \"Bash(touch *)\"\n");
    let model = shell(&["touch made.txt"]);
    let command = unattended(&home, &model);
    let (program, empty) = (home.user().join("cc-work"), home.user().join("empty"));
    fs::hard_link(command.get_program(), &program)
        .or_else(|_| fs::copy(command.get_program(), &program).map(drop))
        .unwrap();
    fs::create_dir(&empty).unwrap();
    let env = json!({"env": {"PORTCULLIS_HOME": empty, "XDG_STATE_HOME": empty, "XDG_CONFIG_HOME": empty}});
    fs::write(home.project().join(".claude/settings.json"), env.to_string()).unwrap();
    Ran::of(&home.spawn(by(home.program(program), &command), Stdin::Nothing), PATIENCE * 3).ok();
    assert!(model.turns().iter().any(|request| request.shows("Bash(touch *)")));
    assert!(!home.project().join("made.txt").exists());
}

#[test]
fn what_the_clients_own_check_would_decide_in_auto_mode_waits_for_a_person() {
    let rules = "[[rule]]\nask = \"Bash(touch *)\"\n";
    // Of these its check of rules makes nothing, and then it heeds no `ask` of a hook.
    let long = format!("touch made.txt {}", "a".repeat(256));
    for road in ROADS {
        for line in [long.as_str(), "touch made.txt //x/y"] {
            let home = road.is_asked_for(rules, as_it_is, "auto", &shell(&[line]));
            assert!(!home.project().join("made.txt").exists(), "{road:?} {line}");
        }
    }
    let (home, gate) = home_with_rules(rules);
    let model = shell(&[&long]);
    let claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "auto"]);
    claude.say("go");
    gate.answer(&gate.open_ask(), &json!({"behavior": "deny", "why": "not today"}));
    claude.until("A person denied this: not today");
}
