//! What the product decides about a line: the real command, with the disk, in every mode.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use super::world::World;

pub(crate) const MODES: [&str; 6] = ["default", "acceptEdits", "plan", "dontAsk", "auto", "bypassPermissions"];

/// Rules under which a kind of line is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Ruleset {
    pub(crate) name: &'static str,
    pub(crate) allow: &'static [&'static str],
    pub(crate) ask: &'static [&'static str],
    pub(crate) deny: &'static [&'static str],
}

pub(crate) const PROGRAM: Ruleset =
    Ruleset { name: "allow Bash, deny danger", allow: &["Bash"], ask: &[], deny: &["Bash(danger)", "Bash(danger *)"] };

pub(crate) const SUBCOMMAND: Ruleset = Ruleset {
    name: "allow git *, ask git push *",
    allow: &["Bash(git *)", "Bash(npm *)", "Bash(kubectl *)", "Bash(docker *)"],
    ask: SUBCOMMANDS,
    deny: &[],
};

pub(crate) const SUBCOMMAND_OF_ALL: Ruleset =
    Ruleset { name: "allow Bash, ask git push *", allow: &["Bash"], ask: SUBCOMMANDS, deny: &[] };

const SUBCOMMANDS: &[&str] = &[
    "Bash(git push)",
    "Bash(git push *)",
    "Bash(npm publish)",
    "Bash(npm publish *)",
    "Bash(kubectl delete)",
    "Bash(kubectl delete *)",
    "Bash(docker run)",
    "Bash(docker run *)",
];

pub(crate) const READING: Ruleset = Ruleset {
    name: "allow Bash, deny Read",
    allow: &["Bash"],
    ask: &[],
    deny: &["Read(secrets/**)", "Read(~/.ssh/**)"],
};

/// The same file by its whole path: what stands before its name in a line has to be known.
pub(crate) const READING_BY_PLACE: Ruleset = Ruleset {
    name: "allow Bash, deny Read by place",
    allow: &["Bash"],
    ask: &[],
    deny: &["Read(~/project/secrets/**)", "Read(~/.ssh/**)"],
};

pub(crate) const CHANGING: Ruleset =
    Ruleset { name: "allow Bash, deny Edit", allow: &["Bash"], ask: &[], deny: &["Edit(made/gen/**)"] };

pub(crate) const CHANGING_ASKED: Ruleset =
    Ruleset { name: "allow Bash, ask Edit", allow: &["Bash"], ask: &["Edit(made/gen/**)"], deny: &[] };

pub(crate) const ANYTHING: Ruleset = Ruleset { name: "allow Bash", allow: &["Bash"], ask: &[], deny: &[] };

/// Whether a call would pass unasked, in each of the [`MODES`].
pub(crate) type Allowed = [bool; MODES.len()];

pub(crate) struct Judge {
    program: PathBuf,
    /// A release that answers for one line or one mode alone is started once for every line and mode.
    one_by_one: bool,
    /// The shell that a session has. A release that knows none takes bash for it.
    shell: Option<&'static str>,
}

impl Judge {
    /// The program that decides: this one's own, or another that the environment names.
    pub(crate) fn new(shell: &'static str) -> Self {
        let named = std::env::var_os("PORTCULLIS_TEST_JUDGE").map(PathBuf::from);
        let program = named.unwrap_or_else(|| env!("CARGO_BIN_EXE_portcullis").into());
        let help = Command::new(&program).args(["rules", "check", "--help"]).output().expect("starting the judge");
        let help = String::from_utf8_lossy(&help.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        let one_by_one = !help.contains("--lines") || !help.contains("for an answer in each");
        let shell = help.contains("--shell").then_some(shell);
        Self { program, one_by_one, shell }
    }

    /// Whether each call would pass unasked.
    pub(crate) fn allows(&self, world: &World, rules: Ruleset, tool: &str, inputs: &[String]) -> Vec<Allowed> {
        let inputs: Vec<String> = inputs.iter().map(|input| whole(tool, input)).collect();
        if self.one_by_one {
            let in_each = |input: &String| MODES.map(|mode| self.one(world, mode, rules, tool, input));
            return inputs.iter().map(in_each).collect();
        }
        let mut command = self.command(world, &MODES, rules);
        let mut child = command
            .args(["--lines", "-", tool])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("starting the judge");
        let mut input = child.stdin.take().expect("stdin is piped");
        let lines = inputs.join("\n") + "\n";
        let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
        let output = child.wait_with_output().expect("reading what the judge says");
        writer.join().expect("writing does not panic").expect("the judge reads all lines");
        assert!(output.status.success(), "the judge failed under {}", rules.name);
        let answers: Vec<bool> = String::from_utf8_lossy(&output.stdout).lines().map(is_allowed).collect();
        let answers: Vec<Allowed> = answers.as_chunks().0.to_vec();
        assert_eq!(answers.len(), inputs.len(), "the judge answers every line in every mode");
        answers
    }

    fn one(&self, world: &World, mode: &str, rules: Ruleset, tool: &str, input: &str) -> bool {
        let output = self.command(world, &[mode], rules).args([tool, input]).output().expect("starting the judge");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "the judge failed at {input}: {}", String::from_utf8_lossy(&output.stderr));
        is_allowed(&text)
    }

    fn command(&self, world: &World, modes: &[&str], rules: Ruleset) -> Command {
        let mut command = Command::new(&self.program);
        command.env_clear().env("HOME", world.home()).env("PATH", world.search_path()).current_dir(world.project());
        command.args(["rules", "check", "--json", "--cwd"]).arg(world.project());
        command.args(self.shell.iter().flat_map(|shell| ["--shell", shell]));
        command.args(modes.iter().flat_map(|mode| ["--mode", mode]));
        for (flag, list) in [("--allow", rules.allow), ("--ask", rules.ask), ("--deny", rules.deny)] {
            command.args(list.iter().flat_map(|rule| [flag, rule]));
        }
        command
    }
}

fn is_allowed(answer: &str) -> bool {
    let answer: serde_json::Value = serde_json::from_str(answer).expect("the judge answers in JSON");
    answer["decision"] == "allow"
}

/// The whole input of the tool: text alone would be taken for JSON where it begins with a brace.
fn whole(tool: &str, input: &str) -> String {
    if tool == "Bash" { serde_json::json!({ "command": input }).to_string() } else { input.to_owned() }
}
