//! The quick start of the README, as it is printed, with the real CLI. What it shows is the walk-through of the guide.

use crate::fakes::model::Model;
use crate::fakes::script::Rule;
use crate::support::child::{Child, Stdin};
use crate::support::connection::Target;
use crate::support::home::{Home, Ran};
use crate::support::terminal::Terminal;
use crate::support::tmux::Interactive;
use crate::support::{PATIENCE, until};
use expect_test::expect_file;
use serde_json::json;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::symlink;
use std::process::Command;

/// The commands of the quick start, in their order.
fn commands(readme: &str) -> Vec<String> {
    let section = readme.split("\n## Quick start\n").nth(1).unwrap().split("\n## ").next().unwrap();
    let blocks = section.split("```sh\n").skip(1).map(|block| block.split("```").next().unwrap());
    let line = |line: &str| line.split("  #").next().unwrap().trim().to_owned();
    blocks.flat_map(str::lines).map(line).filter(|line| !line.is_empty()).collect()
}

/// A shell in the project, as the reader has it.
fn shell(home: &Home, line: &str) -> Command {
    let mut command = home.program("sh");
    let bin = home.user().join("bin");
    let path = std::env::var("PATH").unwrap();
    command.args(["-c", line]).env("PATH", format!("{}:{path}", bin.display())).env_remove("PORTCULLIS_TOKEN");
    command
}

struct Walk {
    home: Home,
    page: String,
    /// `T=…`, which the reader has typed.
    variable: String,
    listening: Option<Child>,
    claude: Option<Interactive>,
    code: String,
}

impl Walk {
    fn note(&mut self, command: &str, shown: &str) {
        // Where the program lies, and what is on the PATH, is not the same everywhere.
        let is_same = |line: &&str| !line.starts_with("This program ") && !line.starts_with("Note: ");
        let shown: String = shown.lines().filter(is_same).map(|line| format!("{line}\n")).collect();
        _ = write!(self.page, "```\n$ {command}\n{}\n```\n\n", shown.trim_end());
    }

    fn run(&mut self, command: &str, model: &Model) {
        match command {
            "claude" => {
                self.claude = Some(Interactive::start_as_it_is(&self.home, model, &["--permission-mode", "auto"]));
                self.home.wait_for_gate();
                self.home.attached(1);
            }
            _ if command.starts_with("portcullis install") => {
                let mut terminal = Terminal::start(shell(&self.home, command));
                terminal.until("[y/N] ");
                terminal.type_line("y");
                let shown = terminal.until("`portcullis doctor` says").replace('\r', "");
                assert_eq!(terminal.wait().code(), Some(0));
                self.note(command, &shown);
            }
            _ if command.starts_with("T=") => self.variable = command.to_owned(),
            _ if command.starts_with("curl -N") => {
                let Target::Tcp(address) = self.home.listening() else { panic!("the gate has no port") };
                let here = command.replace("8788", &address.port().to_string());
                let line = format!("{}\nexec {here}", self.variable);
                let listening = self.home.spawn(shell(&self.home, &line), Stdin::Nothing);
                listening.line(PATIENCE, |line| line == ": connected");
                self.listening = Some(listening);
            }
            _ => {
                let line = command.replace("abcde", &self.code);
                let ran = Ran::of(&self.home.spawn(shell(&self.home, &line), Stdin::Nothing), PATIENCE).ok();
                self.note(command, &ran.stdout);
            }
        }
    }

    /// What differs from one run to the next is written as in the README.
    fn settled(&self) -> String {
        let mut page = self.page.clone();
        if !self.code.is_empty() {
            page = page.replace(&self.code, "abcde");
        }
        for (folder, name) in [
            (self.home.project(), "/home/ann/project"),
            (self.home.user(), "/home/ann"),
            (self.home.folder(), "/home/ann/.local/state/portcullis"),
        ] {
            page = page.replace(folder.to_str().unwrap(), name);
        }
        let is_id = |word: &str| word.len() == 26 && word.chars().all(|letter| letter.is_ascii_alphanumeric());
        let mut settled = String::new();
        for piece in page.split_inclusive(|letter: char| !letter.is_ascii_alphanumeric()) {
            let word = piece.trim_end_matches(|letter: char| !letter.is_ascii_alphanumeric());
            settled.push_str(&if is_id(word) {
                piece.replace(word, "01m7fbcgnce21azt5900000000")
            } else {
                piece.to_owned()
            });
        }
        // In a home of its own all is in one folder; in the owner's, rules are beside the configuration. A prompt waits a day.
        same_moments(&settled)
            .replace("/.local/state/portcullis/rules.toml", "/.config/portcullis/rules.toml")
            .replace("until    2026-11-15", "until    2026-11-16")
    }
}

/// Every `2026-11-15 15:16:07` is the same one.
fn same_moments(page: &str) -> String {
    const MOMENT: &str = "2026-11-15 15:16:07";
    let is_moment = |text: &str| {
        let fits = |(letter, like): (char, char)| {
            if like.is_ascii_digit() { letter.is_ascii_digit() } else { letter == like }
        };
        text.chars().count() == MOMENT.len() && text.chars().zip(MOMENT.chars()).all(fits)
    };
    let (mut rest, mut same) = (page, String::new());
    while let Some(letter) = rest.chars().next() {
        if rest.get(..MOMENT.len()).is_some_and(is_moment) {
            same.push_str(MOMENT);
            rest = &rest[MOMENT.len()..];
        } else {
            same.push(letter);
            rest = &rest[letter.len_utf8()..];
        }
    }
    same
}

#[test]
fn the_quick_start_of_the_readme_works_as_it_is_printed() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/README.md")).unwrap();
    let home = Home::new();
    fs::create_dir_all(home.user().join("bin")).unwrap();
    symlink(env!("CARGO_BIN_EXE_portcullis"), home.user().join("bin/portcullis")).unwrap();
    fs::create_dir_all(home.user().join(".local/state")).unwrap();
    symlink(home.folder(), home.user().join(".local/state/portcullis")).unwrap();
    let touch = json!({"command": "touch hello.txt", "description": "Create an empty file"});
    let reply = json!({"chat_id": "1", "text": "hello.txt is there."});
    let model = Model::start(vec![
        Rule::on_reminder("Create an empty file").call("Bash", touch).once(),
        Rule::on_any_result().call("mcp__portcullis__reply", reply).once(),
        Rule::on_any_result().say("all done"),
    ]);
    let page = "# Walk-through: the quick start, with everything it shows\n\nA test runs the commands of the \
                [README](../../README.md#quick-start) with the real Claude Code in mode `auto` and a scripted model, and \
                writes this page. Your ids and codes differ.\n\n";
    let mut walk = Walk {
        home,
        page: page.to_owned(),
        variable: String::new(),
        listening: None,
        claude: None,
        code: String::new(),
    };
    for command in commands(&readme) {
        walk.run(&command, &model);
        if command.starts_with("portcullis say") {
            let listening = walk.listening.as_ref().unwrap();
            let line = listening.line(PATIENCE * 3, |line| line.contains("\"yes "));
            walk.code = line.split("\"yes ").nth(1).unwrap().split('"').next().unwrap().to_owned();
            walk.claude.as_ref().unwrap().until("touch hello.txt");
            assert!(!walk.home.project().join("hello.txt").exists(), "people are asked first");
            walk.page.push_str("The session wakes, and wants to run `touch hello.txt`. Terminal 2 shows the prompt, and Claude Code its own dialog.\n\n");
        }
    }
    let listening = walk.listening.take().unwrap();
    listening.line(PATIENCE * 3, |line| line.contains("hello.txt is there."));
    until("the file", || walk.home.project().join("hello.txt").exists().then_some(()));
    walk.claude.as_ref().unwrap().until("all done");
    let shown: String =
        listening.stdout().lines().filter(|line| line.starts_with("data:")).map(|line| format!("{line}\n")).collect();
    walk.page.push_str("The dialog closes, and the command runs. By now terminal 2 has shown:\n\n");
    walk.note("curl -N -H \"$T\" localhost:8788/events", &shown);
    let settled = format!("{}\n", walk.settled().trim_end());
    expect_file![concat!(env!("CARGO_MANIFEST_DIR"), "/docs/guide/walk-through.md")].assert_eq(&settled);
}
