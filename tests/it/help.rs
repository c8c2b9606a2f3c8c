//! Every `--help` is the reference, and the reference is every `--help`. `UPDATE_EXPECT=1` writes it anew.

use std::process::Command;

use expect_test::expect_file;

use crate::support::home::Home;

fn help(words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_portcullis")).args(words).arg("--help").output().unwrap();
    assert!(output.status.success(), "{words:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// The names of the commands: under `Commands:`, and for the program itself under the titles of its groups.
fn subcommands(help: &str, is_program: bool) -> Vec<String> {
    let is_title = |line: &str| line.ends_with(':') && !line.starts_with(' ');
    let mut names = vec![];
    let mut is_list = false;
    for line in help.lines() {
        if is_title(line) {
            is_list = line == "Commands:" || is_program && line != "Options:";
        } else if line.is_empty() {
            is_list = false;
        }
        if is_list && line.starts_with("  ") && !line.starts_with("   ") {
            names.extend(line.split_whitespace().next().map(str::to_owned));
        }
    }
    names.retain(|name| name != "help");
    names
}

fn chapter(words: &[&str], page: &mut String) {
    let text = help(words);
    let title = [&["portcullis"], words].concat().join(" ");
    let text: Vec<&str> = text.lines().map(str::trim_end).collect();
    page.push_str(&format!("## {title}\n```text\n{}\n```\n\n", text.join("\n").trim_end()));
    for name in subcommands(&text.join("\n"), words.is_empty()) {
        chapter(&[words, &[name.as_str()]].concat(), page);
    }
}

#[test]
fn every_help_is_in_the_reference() {
    let mut page = String::from("# The command line\n\nMade from `--help`; do not edit.\n\n");
    chapter(&[], &mut page);
    page.push_str("# Commands that other programs run\n\n");
    chapter(&["channel"], &mut page);
    chapter(&["hook"], &mut page);
    assert!(page.matches("\n## ").count() > 4, "{page}");
    expect_file!["../../docs/reference/cli.md"].assert_eq(&format!("{}\n", page.trim_end()));
}

#[test]
fn the_list_of_commands_is_grouped_and_leaves_out_what_is_not_for_people() {
    let text = help(&[]);
    let groups = [
        "Get started:",
        "Sessions:",
        "Prompts and events:",
        "Rules and log:",
        "People and devices:",
        "The gate:",
        "Setup:",
    ];
    let at: Vec<usize> = groups.iter().map(|title| text.find(&format!("\n{title}\n")).unwrap()).collect();
    assert!(at.is_sorted(), "{text}");
    let named = |text: &str, name: &str| text.lines().any(|line| line.trim_start().starts_with(&format!("{name} ")));
    assert!(named(&text, "rules") && !named(&text, "channel") && !named(&text, "hook"), "{text}");
    let home = Home::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = home.run(&["completions", shell]).ok().stdout;
        assert!(script.contains("rules") && script.contains("remove"), "{shell}");
        for hidden in ["__guard", "--held", "auto-started"] {
            assert!(!script.contains(hidden), "{shell} completes {hidden}");
        }
    }
}

#[test]
fn help_explains_a_command_and_names_the_one_that_was_meant() {
    let home = Home::new();
    let shown = home.run(&["help", "rules", "add"]).ok().stdout;
    assert_eq!(shown, home.run(&["rules", "add", "--help"]).ok().stdout);
    assert!(shown.contains("Examples:\n  portcullis rules add allow 'Bash(npm test *)'\n"), "{shown}");
    assert_eq!(home.run(&["help"]).ok().stdout, help(&[]));
    home.run(&["help", "rulse"]).refused(2, "did you mean rules?");
    home.run(&["help", "rules", "ad"]).refused(2, "did you mean add?");
    home.run(&["help", "setings"]).refused(2, "did you mean settings?");
}

#[test]
fn help_settings_names_the_file_the_values_and_where_each_comes_from() {
    let home = Home::new();
    let file = home.folder().join("config.toml").display().to_string();
    let settings = || home.run(&["help", "settings"]).ok().stdout;
    let shown = settings();
    assert!(shown.contains(&format!("{file}\n  does not exist")), "{shown}");
    assert!(shown.contains("limits.rate = 50   (default)\n"), "{shown}");
    home.write_config("approvals = \"device\"\n\n[limits]\nrate = 7\n");
    let shown = settings();
    assert!(shown.contains(&format!("limits.rate = 7   ({file} line 4)\n")), "{shown}");
    assert!(shown.contains(&format!("approvals = \"device\"   ({file} line 1)\n")), "{shown}");
    let mut command = home.command(&["help", "settings"]);
    command.env("PORTCULLIS_MAX_CONTEXT", "77");
    let shown = String::from_utf8(command.output().unwrap().stdout).unwrap();
    assert!(shown.contains("max_context = 77   (from PORTCULLIS_MAX_CONTEXT; "), "{shown}");
    home.write_config("aprovals = 1\n");
    let shown = settings();
    assert!(shown.contains("did you mean approvals?") && shown.contains("limits.rate = 50"), "{shown}");
}

#[test]
fn without_a_command_a_fresh_home_is_told_the_first_step() {
    let home = Home::new();
    let fresh = home.user().join("fresh");
    let run = |home: &Home| {
        let mut command = home.command(&[]);
        command.env("PORTCULLIS_HOME", &fresh);
        command.output().unwrap()
    };
    let output = run(&home);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(2));
    for words in ["Nothing is set up here yet", "portcullis demo", "portcullis install --hooks", "portcullis doctor"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    std::fs::create_dir(&fresh).unwrap();
    std::fs::write(fresh.join("rules.toml"), "").unwrap();
    let output = run(&home);
    assert!(String::from_utf8(output.stderr).unwrap().contains("Get started:"));
}

/// The page as `man` shows it; none where this machine has no `man`.
fn shown_by_man(page: &std::path::Path) -> Option<String> {
    let shown = Command::new("man").args(["--warnings", "-l"]).arg(page).env("MANWIDTH", "100").output().ok()?;
    assert!(shown.status.success(), "{shown:?}");
    assert_eq!(String::from_utf8_lossy(&shown.stderr), "", "the formatter has nothing to complain about");
    Some(String::from_utf8_lossy(&shown.stdout).into_owned())
}

#[test]
fn every_command_has_a_manual_page_that_man_can_show() {
    let home = Home::new();
    let folder = home.user().join("man1");
    home.run(&["man", "--folder", folder.to_str().unwrap()]).ok();
    let pages: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert!(pages.len() > 40, "{pages:?}");
    let text = std::fs::read_to_string(folder.join("portcullis-rules-add.1")).unwrap();
    assert_eq!(text, home.run(&["man", "rules", "add"]).ok().stdout);
    assert!(text.contains(".SH NAME") && text.contains(".SH \"EXIT STATUS\"") && text.contains(".SH FILES"), "{text}");
    assert!(!folder.join("portcullis-channel.1").exists());
    for name in ["portcullis.1", "portcullis-run.1", "portcullis-rules-check.1"] {
        if let Some(shown) = shown_by_man(&folder.join(name)) {
            assert!(shown.contains("SYNOPSIS") && shown.contains("EXIT STATUS"), "{shown}");
        }
    }
    home.run(&["man", "nothing"]).refused(2, "there is no command");
}

#[test]
fn what_was_mistyped_is_answered_with_what_was_meant() {
    let home = Home::new();
    for (words, meant) in [
        (&["sya", "hello"][..], "did you mean `portcullis say`?"),
        (&["ask", "lst"], "'list'"),
        (&["people", "add", "rita"], "`portcullis token add NAME --role ROLE` lets someone in"),
        (&["people", "admit", "abcdefgh"], "did you mean `portcullis people pair`?"),
        (&["rules", "add", "aks", "Bash"], "did you mean ask?"),
        (&["log", "-n", "abc"], "a whole number, such as 20"),
        (&["demo", "--timeout", "abc"], "a whole number, such as 20"),
        (&["say"], "`portcullis say -` reads the text from standard input"),
        (&["say", "hello", "--wait", "4"], "did you mean --wait=4?"),
        (&["run", "--json", "hello"], "did you mean --output=json?"),
        (&["say", "hello", "--wait=soon"], "a number of seconds, or such as 90s or 5m"),
    ] {
        let ran = home.run(words);
        assert!(ran.status.code() == Some(2) && ran.stderr.contains(meant), "{words:?}: {ran:?}");
    }
    let nothing = home.run(&["xylophone"]);
    assert!(nothing.status.code() == Some(2) && !nothing.stderr.contains("hint"), "{nothing:?}");
}
