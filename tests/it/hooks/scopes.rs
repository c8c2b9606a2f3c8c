//! What is installed in each scope works with the real CLI, and disturbs nobody who does not have it.

use crate::fakes::model::Model;
use crate::support::PATIENCE;
use crate::support::child::Stdin;
use crate::support::claude::Claude;
use crate::support::home::{Home, Ran};
use crate::support::hooks::file_maker;
use crate::support::tmux::{Interactive, install};
use serde_json::json;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

#[test]
fn prompts_and_events_work_in_every_scope() {
    for scope in ["local", "user", "project"] {
        let home = Home::new();
        let gate = home.serve();
        fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
        install(&home, &["--scope", scope]);
        let model = file_maker();
        let claude = Interactive::start_as_it_is(&home, &model, &["--permission-mode", "auto"]);
        claude.say("make it");
        let ask = gate.open_ask();
        assert_eq!(ask["source"], "hook", "{scope}");
        assert!(!home.project().join("made.txt").exists(), "{scope}");
        gate.answer(&ask, &json!({"behavior": "allow"}));
        claude.until("all done");
        assert!(home.project().join("made.txt").exists(), "{scope}");
        gate.say("/", "main is red").expect(200);
        model.wait_for_turn("main is red");
        assert!(!home.run(&["status"]).ok().stdout.contains("older release"), "{scope}");
    }
}

#[test]
fn shared_hooks_leave_the_calls_to_those_of_the_user() {
    let home = Home::new();
    let gate = home.serve();
    fs::write(home.folder().join("rules.toml"), "[[rule]]\nask = \"Bash(touch *)\"\n").unwrap();
    install(&home, &["--scope", "project"]);
    install(&home, &["--scope", "user"]);
    let claude = home.user().join(".claude.json");
    assert!(fs::read_to_string(&claude).unwrap().contains("portcullis"));
    home.run(&["uninstall", "--yes", "--scope", "project", "--name", "other"]).ok();
    let model = file_maker();
    let mut command = Claude::command(&home, &model);
    command.args(["-p", "make it", "--permission-mode", "acceptEdits"]);
    let claude = home.spawn(command, Stdin::Nothing);
    let ask = gate.open_ask();
    gate.answer(&ask, &json!({"behavior": "allow"}));
    assert_eq!(Ran::of(&claude, PATIENCE * 3).ok().stdout, "all done\n");
    assert_eq!(home.records("asked").len(), 1, "one prompt, not two");
}

/// What the real CLI wrote down about hooks that went wrong.
fn hook_errors(home: &Home, model: &Model) -> Vec<String> {
    let log = home.user().join("debug.log");
    let mut command = Claude::command(home, model);
    command.args(["-p", "make it", "--permission-mode", "acceptEdits", "--debug-file"]).arg(&log);
    let ran = Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok();
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("all done\n", ""));
    let text = fs::read_to_string(&log).unwrap();
    assert!(text.contains("PreToolUse"), "{text}");
    let is_error = |line: &&str| {
        let line = line.to_lowercase();
        line.contains("hook") && ["error", "not found", "failed", "enoent"].iter().any(|word| line.contains(word))
    };
    text.lines().filter(is_error).map(str::to_owned).collect()
}

#[test]
fn a_colleague_without_the_program_gets_no_errors() {
    let home = Home::new();
    install(&home, &["--scope", "project"]);
    let shared = fs::read_to_string(home.project().join(".claude/settings.json")).unwrap();

    let colleague = Home::new();
    let file = colleague.project().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, &shared).unwrap();
    assert_eq!(hook_errors(&colleague, &file_maker()), [""; 0]);
    assert!(colleague.project().join("made.txt").exists());

    // What is looked for is there where a path leads nowhere.
    let mut broken: serde_json::Value = serde_json::from_str(&shared).unwrap();
    broken["hooks"]["PreToolUse"][0]["hooks"][0]["command"] = json!("/nowhere/portcullis hook");
    fs::write(&file, broken.to_string()).unwrap();
    assert_ne!(hook_errors(&colleague, &file_maker()), [""; 0]);
}

/// The program that the hook before a call runs, as the settings of this user in this project say.
fn program_of_hooks(home: &Home) -> PathBuf {
    let text = fs::read_to_string(home.project().join(".claude/settings.local.json")).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    let args = settings["hooks"]["PreToolUse"][0]["hooks"][0]["args"].as_array().unwrap();
    let at = args.iter().position(|arg| arg == "hook").unwrap();
    PathBuf::from(args[at - 1].as_str().unwrap())
}

/// A session in which nothing but our hook could hold the call; false where it did not run.
fn made_by_a_session(home: &Home) -> bool {
    let model = file_maker();
    let mut command = Claude::command(home, &model);
    command.args(["-p", "make it", "--permission-mode", "acceptEdits"]);
    Ran::of(&home.spawn(command, Stdin::Nothing), PATIENCE * 3).ok();
    home.project().join("made.txt").exists()
}

/// Memory that is denied to it, or a kill, end a hook before it could say anything.
#[test]
fn a_call_whose_hook_was_ended_does_not_run() {
    for end in ["kill -9 $$", "exit 1"] {
        let home = Home::new();
        install(&home, &[]);
        let program = program_of_hooks(&home);
        let real = program.with_extension("real");
        fs::rename(&program, &real).unwrap();
        // Every other hook, and the server, go on as they do.
        let line = format!(
            "#!/bin/sh\n[ \"$1\" = hook ] || exec {real} \"$@\"\ninput=$(cat)\ncase $input in *PreToolUse*) {end};; esac\n\
             printf %s \"$input\" | exec {real} \"$@\"\n",
            real = real.display()
        );
        fs::write(&program, line).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(!made_by_a_session(&home), "{end}");
    }
}

#[test]
fn a_call_goes_on_without_us_once_the_program_was_deleted() {
    let home = Home::new();
    install(&home, &[]);
    assert!(made_by_a_session(&home), "the hook lets it pass");
    fs::remove_file(home.project().join("made.txt")).unwrap();
    fs::remove_file(program_of_hooks(&home)).unwrap();
    assert!(made_by_a_session(&home), "there is no hook any more");
}
