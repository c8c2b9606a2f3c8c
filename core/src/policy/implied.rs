//! Files that commands write without a word that names them: settings, and what a variable of theirs names.

use super::command::name_of;
use super::git::names_code;
use super::git_files::subcommand;
use super::inert::started;
use super::shell::{ShellWord, assignment};
use super::suspects::Found;

/// The protected files that a command writes by what it is.
pub(super) fn written(words: &[ShellWord]) -> Option<&'static str> {
    let (first, rest) = started(words).split_first()?;
    match name_of(&first.text) {
        "git" => written_by_git(rest),
        "npm" | "pnpm" | "yarn" => {
            let mut words = rest.iter().filter(|word| !word.is_flag()).map(|word| word.text.as_str());
            let (sub, what) = (words.next()?, words.next());
            let sets = sub == "set" || matches!(sub, "config" | "c") && matches!(what, Some("set" | "edit"));
            sets.then_some("~/.npmrc")
        }
        _ => None,
    }
}

fn written_by_git(rest: &[ShellWord]) -> Option<&'static str> {
    let (sub, words) = subcommand(rest)?;
    let has = |begin: &str| words.iter().any(|word| word.text.starts_with(begin));
    match sub {
        "config" => sets_code(words).then_some(".git/config"),
        "init" | "clone" | "init-db" => has("--te").then_some(".git/hooks"),
        "submodule" => words.iter().any(|word| word.text == "add").then_some(".gitmodules"),
        _ => None,
    }
}

/// Whether `git config` may set something that names a program. What only says how something looks or is stored does not.
fn sets_code(words: &[ShellWord]) -> bool {
    let has = |begins: &[&str]| words.iter().any(|word| begins.iter().any(|begin| word.text.starts_with(begin)));
    let is_value = |at: usize| at.checked_sub(1).is_some_and(|at| takes_a_value(&words[at].text));
    let names: Vec<&ShellWord> =
        words.iter().enumerate().filter(|(at, word)| !word.is_flag() && !is_value(*at)).map(|(_, word)| word).collect();
    let (reads, names) = match names.as_slice() {
        [sub, names @ ..] if matches!(sub.text.as_str(), "get" | "list" | "get-all" | "get-regexp") => (true, names),
        [sub, names @ ..] if matches!(sub.text.as_str(), "set" | "unset" | "edit") => (false, names),
        names => (has(&["--get", "--li", "-l"]) || names.len() == 1 && !has(&["--un", "--add", "--rep"]), names),
    };
    let edits = has(&["-e", "--ed", "--rename", "--remove"]) || words.iter().any(|word| word.text == "edit");
    edits || !reads && names.first().is_some_and(|key| !key.is_known() || names_code(&key.text))
}

fn takes_a_value(flag: &str) -> bool {
    matches!(flag, "-f" | "--file" | "--blob" | "--type" | "-t" | "--default" | "--comment" | "--value" | "--url")
}

/// What variables of a command's own name: a file that it may write.
pub(super) fn in_environment(command: &Found) -> Vec<ShellWord> {
    let exports = command.words.first().is_some_and(|word| matches!(word.text.as_str(), "export" | "env" | "declare"));
    let counts = |name: &str| match command.words.is_empty() {
        // The shell itself, and what it starts, know these already.
        true => matches!(name, "TMPDIR" | "TMP" | "TEMP" | "HISTFILE" | "LESSHISTFILE"),
        false => !is_only_read(name),
    };
    let words = command.words.iter().filter(|_| exports).filter_map(assignment);
    let set = command.assignments.iter().cloned().chain(words);
    set.filter(|(name, _)| counts(name)).map(|(_, value)| value).collect()
}

/// Variables with folders that a program has for itself, and what is only read.
fn is_only_read(name: &str) -> bool {
    ["HOME", "PATH", "CONFIG", "_DIR", "_ROOT", "PREFIX"].iter().any(|end| name.ends_with(end)) && name != "TMPDIR"
        || matches!(name, "GIT_WORK_TREE" | "PWD" | "VIRTUAL_ENV")
}
