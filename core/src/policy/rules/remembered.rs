//! The rules that a person may be offered together with a command, so that they are not asked for its like again.
//!
//! They are those that Claude Code offers for its own Bash, for calls of which it does not know that they are commands: the
//! program with its subcommand (`git push *`), or the very command. A line whose words are not all written down has none.

use crate::policy::commands::command::Stripped;
use crate::policy::commands::readonly::reads;
use crate::policy::shell::{Script, ShellCommand, ShellWord, Way};

/// A longer command, or a line of more of them, is not offered to be allowed for ever.
const LONGEST: usize = 200;
const MOST_RULES: usize = 5;

/// Programs that start another one, or whose second word is no subcommand but what they do something to.
const WITHOUT_SUBCOMMANDS: [&str; 59] = [
    "awk", "bash", "builtin", "busybox", "chgrp", "chmod", "chown", "chroot", "command", "cp", "csh", "curl", "dash",
    "dd", "doas", "env", "eval", "exec", "find", "fish", "flock", "install", "kill", "killall", "ksh", "ln", "mkdir",
    "mv", "nice", "parallel", "perl", "pkexec", "pkill", "python", "python3", "rm", "rmdir", "rsync", "ruby", "scp",
    "script", "sed", "setsid", "sh", "shred", "source", "ssh", "su", "sudo", "tcsh", "tee", "touch", "truncate",
    "unlink", "unshare", "watch", "wget", "xargs", "zsh",
];

/// What stands in the brackets of `Bash(…)` for each command of the line that would be asked for; nothing where that does
/// not cover the line.
pub fn remembered(line: &str) -> Vec<String> {
    let script = Script::read(line);
    if script.issue.is_some() {
        return vec![];
    }
    let mut rules: Vec<String> = vec![];
    for command in script.commands.iter().filter(|command| !only_reads(command)) {
        match rule_for(command) {
            Some(rule) if rules.contains(&rule) => {}
            Some(rule) => rules.push(rule),
            None => return vec![],
        }
    }
    if rules.len() > MOST_RULES { vec![] } else { rules }
}

fn only_reads(command: &ShellCommand) -> bool {
    writes_nothing(command) && Stripped::of(command).is_some_and(|stripped| reads(&stripped).is_some())
}

/// Which file is written is asked for by itself.
fn writes_nothing(command: &ShellCommand) -> bool {
    command.redirects.iter().all(|redirect| redirect.way == Way::Copy)
}

fn rule_for(command: &ShellCommand) -> Option<String> {
    if !writes_nothing(command) || command.words.is_empty() || !command.words.iter().all(|word| word.is_literal) {
        return None;
    }
    with_subcommand(command).or_else(|| exactly(command))
}

/// `git push *`
fn with_subcommand(command: &ShellCommand) -> Option<String> {
    let stripped = Stripped::of(command).filter(|stripped| stripped.words.len() == stripped.whole.len())?;
    let [program, subcommand, ..] = stripped.words else { return None };
    let is_written = |word: &ShellWord| !word.is_quoted && word.raw == word.text;
    let name = program.text.rsplit('/').next().unwrap_or_default();
    let fits = is_written(program)
        && is_written(subcommand)
        && is_plain(&program.text)
        && is_subcommand(&subcommand.text)
        && !WITHOUT_SUBCOMMANDS.contains(&name);
    fits.then(|| format!("{} {} *", program.text, subcommand.text)).filter(|rule| rule.len() <= LONGEST)
}

/// Small letters and digits, with single dashes between.
fn is_subcommand(word: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
    word.starts_with(|c: char| c.is_ascii_lowercase()) && word.split('-').all(is_part)
}

/// The very command, where nothing in it stands for more than itself in a rule.
fn exactly(command: &ShellCommand) -> Option<String> {
    // As written, with its name.
    let set = command.assignments.iter().map(|(_, value)| value.raw.clone());
    let words = set.chain(command.words.iter().map(|word| word.raw.clone()));
    let text = words.collect::<Vec<_>>().join(" ");
    (is_plain(&text) && text.len() <= LONGEST).then_some(text)
}

fn is_plain(text: &str) -> bool {
    !text.contains(['*', '(', ')', '\\', '\n']) && !text.ends_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What Claude Code 2.1.325 offers for the same lines.
    #[test]
    fn what_is_offered_is_what_claude_code_offers() {
        for (line, rules) in [
            ("git push", &["git push *"] as &[&str]),
            ("git push origin main", &["git push *"]),
            ("git init -q x", &["git init *"]),
            ("npm run build:prod", &["npm run *"]),
            ("cargo test --all", &["cargo test *"]),
            ("NODE_ENV=test npm test", &["npm test *"]),
            ("FOO=1 npm test", &["FOO=1 npm test"]),
            ("cd sub && npm test", &["npm test *"]),
            ("npm test | tail -5", &["npm test *"]),
            ("git commit -m \"a b\"", &["git commit *"]),
            ("cargo build && cargo test", &["cargo build *", "cargo test *"]),
            ("git add .\ngit commit -m x", &["git add *", "git commit *"]),
            ("make", &["make"]),
            ("docker compose up -d", &["docker compose *"]),
            ("touch made.txt", &["touch made.txt"]),
            ("rm -rf build", &["rm -rf build"]),
            ("shred build", &["shred build"]),
            ("zsh build", &["zsh build"]),
            ("sudo apt install x", &["sudo apt install x"]),
            ("bash -c \"ls x\"", &["bash -c \"ls x\""]),
            ("env npm test", &["env npm test"]),
            ("timeout 5 npm test", &["timeout 5 npm test"]),
            ("nohup npm start", &["nohup npm start"]),
            ("git -C . push", &["git -C . push"]),
            ("npx prettier --write .", &["npx prettier *"]),
            ("./run.sh all", &["./run.sh all *"]),
            ("git commit -m \"$(cat x)\"", &[]),
            ("rm *", &[]),
            ("cat <<EOF > x.txt\nhi\nEOF", &[]),
            ("echo $(whoami) > x", &[]),
        ] {
            assert_eq!(remembered(line), rules, "{line}");
        }
    }

    #[test]
    fn nothing_is_offered_that_would_reach_further_than_the_command() {
        for line in ["", "x:", "npm test > out.txt", "a; b; c; d; e; f", &"x".repeat(201)] {
            assert_eq!(remembered(line), Vec::<String>::new(), "{line}");
        }
        // Claude Code would offer `rm build *`, which may be any file.
        assert_eq!(remembered("rm build"), ["rm build"]);
        assert_eq!(remembered("touch made"), ["touch made"]);
    }
}
