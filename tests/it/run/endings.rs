//! How a run ends: what it says, and with which exit code.

use std::fs;
use std::io::Write as _;

use serde_json::json;

use crate::fakes::model::Model;
use crate::fakes::script::{Latch, Rule};
use crate::support::driven::{Driven, shell};
use crate::support::home::Home;
use crate::support::terminal::Terminal;
use crate::support::tmux::install;

const GO_ON: &str = "To go on with this conversation: portcullis run --resume ";

fn resume_id(stderr: &str) -> &str {
    let last = stderr.lines().last().unwrap();
    last.strip_prefix(GO_ON).unwrap_or_else(|| panic!("{stderr}"))
}

#[test]
fn the_last_line_names_the_conversation_and_resume_takes_it() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![Rule::on_text("second").say("of course"), Rule::on_text("first").say("noted")]);
    let ran = Driven::start(&home, &model, &["first"]).wait().ok();
    assert_eq!(ran.stdout, "noted\n", "the model's words alone");
    let id = resume_id(&ran.stderr);
    assert_eq!(id.len(), 36, "{id}");
    let ran = Driven::start(&home, &model, &["--resume", id, "second"]).wait().ok();
    assert_eq!(ran.stdout, "of course\n");
    let turn = model.wait_for_turn("second").body["messages"].to_string();
    assert!(turn.contains("first") && turn.contains("noted"), "the conversation goes on: {turn}");
    let quiet = Driven::start(&home, &model, &["--output", "json", "first"]).wait().ok();
    assert!(!quiet.stderr.contains(GO_ON) && quiet.json()["session_id"].is_string(), "{quiet:#?}");
}

#[test]
fn a_prompt_that_a_hook_blocks_is_told_at_the_terminal() {
    let home = Home::new();
    home.serve();
    let block = r#"echo '{"decision":"block","reason":"BLOCKED BY HOOK"}'"#;
    let hook = json!([{"hooks": [{"type": "command", "command": block}]}]);
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    let settings = json!({"hooks": {"UserPromptSubmit": hook}});
    fs::write(home.project().join(".claude/settings.json"), settings.to_string()).unwrap();
    let model = Model::start(vec![]);
    let ran = Driven::start(&home, &model, &["hello"]).wait();
    let told = "note: Claude Code: UserPromptSubmit operation blocked by hook:\nBLOCKED BY HOOK\n";
    assert!(ran.stderr.contains(told) && ran.stdout.is_empty(), "{ran:#?}");
}

#[test]
fn a_conversation_that_is_not_there_is_one_error_and_is_not_offered_again() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![]);
    for id in ["00000000-0000-4000-8000-000000000000", "nosuch"] {
        let ran = Driven::start(&home, &model, &["--resume", id, "go on"]).wait();
        assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
        assert!(!ran.stderr.contains(GO_ON) && ran.stderr.contains("hint: `claude --resume`"), "{ran:#?}");
        let told = format!("{}{}", ran.stdout, ran.stderr);
        assert_eq!(told.matches(id).count(), 1, "{ran:#?}");
    }
}

#[test]
fn ctrl_c_says_what_becomes_of_a_run_with_one_prompt() {
    let (home, latch) = (Home::new(), Latch::new());
    home.serve();
    let model = Model::start(vec![Rule::on_text("think").say("never").held_by(&latch)]);
    let mut terminal = Terminal::controlling(&Driven::command(&home, &model, &["think"]));
    model.wait_for_turn("think");
    terminal.interrupt();
    let shown = terminal.until("the turn ends, and this run with it; Ctrl-C again ends it at once");
    assert!(!shown.contains("the session goes on"), "{shown}");
    assert_eq!(terminal.wait().code(), Some(130));
}

#[test]
fn whoever_talks_leaves_with_0_also_after_an_interrupted_turn() {
    let (home, latch) = (Home::new(), Latch::new());
    home.serve();
    let model = Model::start(vec![Rule::on_text("think").say("never").held_by(&latch)]);
    let mut terminal = Terminal::controlling(&Driven::command(&home, &model, &[]));
    terminal.until("> ");
    terminal.type_line("think");
    model.wait_for_turn("think");
    terminal.interrupt();
    terminal.until("the turn ends, and the session goes on; Ctrl-C again ends it");
    terminal.type_line("/exit");
    terminal.until(GO_ON);
    assert_eq!(terminal.wait().code(), Some(0));
}

#[test]
fn ctrl_c_between_turns_interrupts_nothing_and_says_so() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![]);
    let mut terminal = Terminal::controlling(&Driven::command(&home, &model, &[]));
    terminal.until("> ");
    terminal.interrupt();
    let shown = terminal.until("no turn runs; Ctrl-C again ends the session");
    assert!(!shown.contains("interrupted"), "{shown}");
    terminal.type_line("/exit");
    terminal.wait();
}

#[test]
fn an_error_of_claude_code_is_printed_once_and_exits_with_1() {
    let home = Home::new();
    home.serve();
    let model = Model::start(vec![Rule::on_text("go").refused(400)]);
    let ran = Driven::start(&home, &model, &["go"]).wait();
    assert_eq!(ran.status.code(), Some(1), "{ran:#?}");
    let whole = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(whole.matches("API Error").count(), 1, "{ran:#?}");
    assert!(ran.stderr.contains("error: ") && ran.stdout.is_empty(), "{ran:#?}");
}

#[test]
fn an_empty_prompt_is_wrong_usage() {
    let home = Home::new();
    for prompt in ["", "  \n"] {
        let ran = home.run(&["run", prompt]);
        assert!(ran.stderr.contains("hint: say what to do: portcullis run"), "{ran:#?}");
        ran.refused(2, "the prompt is empty");
    }
    home.run(&["run", "-"]).refused(2, "the prompt is empty");
    home.run(&["run"]).refused(2, "there is no prompt");
}

#[test]
fn a_warning_is_a_note_and_no_line_of_a_log() {
    let home = Home::new();
    let gate = home.serve();
    fs::create_dir_all(home.project().join(".portcullis")).unwrap();
    fs::write(home.project().join(".portcullis/rules.toml"), "broken = ").unwrap();
    let model = shell(&["touch made.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    gate.allow(&gate.only_ask());
    let ran = run.wait().ok();
    assert!(ran.stderr.contains("note: rules not taken: reading rules from "), "{ran:#?}");
    assert!(!ran.stderr.contains("WARN"), "{ran:#?}");
}

#[test]
fn a_folder_that_claude_code_does_not_trust_is_named_with_what_to_do() {
    let home = Home::new();
    let gate = home.serve();
    fs::create_dir_all(home.project().join(".claude")).unwrap();
    let settings = r#"{"permissions": {"allow": ["Bash(touch *)"]}}"#;
    fs::write(home.project().join(".claude/settings.json"), settings).unwrap();
    let model = shell(&["touch made.txt"]);
    let run = Driven::start(&home, &model, &["go"]);
    gate.allow(&gate.only_ask());
    let ran = run.wait().ok();
    assert!(ran.stderr.contains("note: Claude Code leaves out what .claude/settings.json"), "{ran:#?}");
    assert!(ran.stderr.contains("run `claude` here once"), "{ran:#?}");
}

#[test]
fn installed_hooks_leave_no_error_behind_in_a_run() {
    let home = Home::new();
    home.serve();
    install(&home, &[]);
    install(&home, &["--scope", "user"]);
    let model = shell(&["echo hello"]);
    let run = Driven::start(&home, &model, &["go", "--output", "stream-json", "--permission-mode", "acceptEdits"]);
    let ran = run.wait().ok();
    let left = |text: &str| text.contains("not connected") || text.contains("hook_non_blocking_error");
    assert!(!left(&ran.stdout) && !left(&ran.stderr), "{ran:#?}");
    let mut transcripts = 0;
    for project in fs::read_dir(home.user().join(".claude/projects")).unwrap() {
        for file in fs::read_dir(project.unwrap().path()).unwrap() {
            let path = file.unwrap().path();
            if path.extension().is_some_and(|kind| kind == "jsonl") {
                transcripts += 1;
                let text = fs::read_to_string(path).unwrap();
                assert!(!left(&text), "{text}");
            }
        }
    }
    assert_eq!(transcripts, 1);
}

/// A run in a home whose hooks and channel server are the copy that `install` made.
fn one_session_beside_a_copy(home: &Home) {
    let gate = home.serve();
    let model = shell(&["touch made.txt"]);
    let run = Driven::start(home, &model, &["go"]);
    gate.allow(&gate.only_ask());
    run.wait().ok();
    assert!(home.project().join("made.txt").exists());
    assert_eq!(home.records("asked").len(), 1, "one prompt");
    assert_eq!(home.records("attached").len(), 1, "of one session");
}

#[test]
fn hooks_of_a_copy_of_the_program_stay_out_of_a_run_by_the_first() {
    let home = Home::new();
    // A program in a build folder is copied, and the copy is what the hooks run.
    install(&home, &[]);
    assert!(home.user().join(".local/bin/portcullis").exists());
    one_session_beside_a_copy(&home);
}

#[test]
fn hooks_of_another_version_stay_out_of_a_run() {
    let home = Home::new();
    install(&home, &[]);
    // Bytes behind a program change nothing of what it does.
    let copy = fs::OpenOptions::new().append(true).open(home.user().join(".local/bin/portcullis"));
    copy.unwrap().write_all(b"another version").unwrap();
    one_session_beside_a_copy(&home);
}
