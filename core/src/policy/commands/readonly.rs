//! Commands that only read, as Claude Code documents them: they run unasked in every mode.
//!
//! A flag that is not known here makes a command one that is asked for. Programs take long flags shortened and short
//! ones run together, so knowing the bad ones would not do.

use super::command::Stripped;
use crate::policy::shell::ShellWord;

/// The words that may name files, if the command surely only reads.
pub(crate) fn reads<'command>(command: &Stripped<'command>) -> Option<Vec<&'command ShellWord>> {
    // Claude Code looks through fewer wrappers here than it does for rules.
    let before = &command.whole[..command.whole.len() - command.words.len()];
    let is_plain = match before {
        [] => true,
        [wrapper, _] => wrapper.text == "timeout",
        _ => false,
    };
    if command.takes_more || !is_plain {
        return None;
    }
    let arguments: Vec<&ShellWord> = command.arguments().collect();
    match command.name() {
        "echo" | "pwd" | "which" => Some(vec![]),
        "true" | "false" if arguments.is_empty() => Some(vec![]),
        "ls" | "cat" | "head" | "tail" | "wc" | "diff" | "stat" | "du" => Some(arguments),
        "grep" => Some(after_the_pattern(arguments)),
        "cd" => one_folder(arguments),
        "find" => find(arguments),
        "git" => git(arguments),
        _ => None,
    }
}

/// The first word of grep is no file, unless a flag gave the pattern already. Long flags may be shortened.
fn after_the_pattern(arguments: Vec<&ShellWord>) -> Vec<&ShellWord> {
    let gives_pattern = |word: &&ShellWord| match word.text.strip_prefix("--") {
        Some("") => false,
        Some(long) => {
            let name = long.split('=').next().unwrap_or_default();
            ["regexp", "file"].iter().any(|flag| flag.starts_with(name) || name.starts_with(flag))
        }
        None => word.text.starts_with('-') && word.text.contains(['e', 'f']),
    };
    if arguments.iter().any(gives_pattern) {
        return arguments;
    }
    // Behind `--` no word is a flag.
    let ended = arguments.iter().position(|word| word.text == "--").unwrap_or(arguments.len());
    let pattern = arguments[..ended].iter().position(|word| !word.is_flag()).unwrap_or(ended + 1);
    arguments.into_iter().enumerate().filter(|(at, _)| *at != pattern).map(|(_, word)| word).collect()
}

/// Without a folder `cd` goes home, and with `-` back.
fn one_folder(arguments: Vec<&ShellWord>) -> Option<Vec<&ShellWord>> {
    match arguments.as_slice() {
        [folder] if !folder.text.starts_with('-') && !folder.text.is_empty() => Some(arguments),
        _ => None,
    }
}

fn find(arguments: Vec<&ShellWord>) -> Option<Vec<&ShellWord>> {
    const ALONE: [&str; 12] =
        ["-print", "-print0", "-empty", "-prune", "-not", "-o", "-a", "-or", "-and", "-depth", "-readable", "-P"];
    const WITH_A_VALUE: [&str; 20] = [
        "-name",
        "-iname",
        "-path",
        "-ipath",
        "-wholename",
        "-type",
        "-maxdepth",
        "-mindepth",
        "-size",
        "-mtime",
        "-mmin",
        "-ctime",
        "-cmin",
        "-atime",
        "-amin",
        "-perm",
        "-user",
        "-group",
        "-regex",
        "-iregex",
    ];
    let mut files = vec![];
    let mut arguments = arguments.into_iter();
    while let Some(word) = arguments.next() {
        match word.text.as_str() {
            flag if ALONE.contains(&flag) => {}
            flag if WITH_A_VALUE.contains(&flag) => drop(arguments.next()?),
            "-newer" => files.push(arguments.next()?),
            "!" | "(" | ")" => {}
            flag if flag.starts_with('-') => return None,
            _ => files.push(word),
        }
    }
    Some(files)
}

fn git(arguments: Vec<&ShellWord>) -> Option<Vec<&ShellWord>> {
    let mut arguments = arguments.into_iter();
    let command = arguments.next()?;
    let rest: Vec<&ShellWord> = arguments.collect();
    let flags_are = |known: fn(&str) -> bool| rest.iter().filter(|word| word.is_flag()).all(|word| known(&word.text));
    let no_names = || rest.iter().all(|word| word.is_flag());
    let reads = match command.text.as_str() {
        "status" => flags_are(is_flag_of_status),
        "log" | "diff" | "show" | "shortlog" => flags_are(is_flag_of_log),
        "blame" => flags_are(|flag| matches!(flag, "-w" | "-e" | "-l" | "-s" | "-t" | "--")),
        "rev-parse" => flags_are(is_flag_of_rev_parse),
        "ls-files" => flags_are(is_flag_of_ls_files),
        "describe" => flags_are(|flag| matches!(flag, "--tags" | "--always" | "--all" | "--long" | "--dirty")),
        // With a name these make something.
        "branch" => no_names() && flags_are(is_flag_of_branch),
        "tag" => no_names() && flags_are(|flag| matches!(flag, "-l" | "--list")),
        "remote" => no_names() && flags_are(|flag| matches!(flag, "-v" | "--verbose")),
        "stash" => matches!(rest.as_slice(), [word] if word.text == "list"),
        _ => false,
    };
    reads.then_some(rest)
}

fn is_flag_of_status(flag: &str) -> bool {
    matches!(flag, "-s" | "--short" | "-b" | "--branch" | "--porcelain" | "--long" | "-sb" | "--")
}

fn is_flag_of_log(flag: &str) -> bool {
    const ALONE: [&str; 34] = [
        "--",
        "--abbrev-commit",
        "--all",
        "--cached",
        "--color",
        "--decorate",
        "--first-parent",
        "--follow",
        "--graph",
        "--ignore-all-space",
        "--ignore-space-change",
        "--merges",
        "--minimal",
        "--name-only",
        "--name-status",
        "--no-color",
        "--no-merges",
        "--no-patch",
        "--numstat",
        "--oneline",
        "--patch",
        "--raw",
        "--reverse",
        "--shortstat",
        "--staged",
        "--stat",
        "--summary",
        "--word-diff",
        "-b",
        "-n",
        "-p",
        "-s",
        "-u",
        "-w",
    ];
    const WITH_A_VALUE: [&str; 10] = [
        "--after=",
        "--author=",
        "--before=",
        "--date=",
        "--diff-filter=",
        "--format=",
        "--grep=",
        "--max-count=",
        "--pretty=",
        "--since=",
    ];
    let number = |digits: &str| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    ALONE.contains(&flag)
        || WITH_A_VALUE.iter().any(|known| flag.starts_with(known))
        || ["-n", "-U", "-"].iter().any(|known| flag.strip_prefix(known).is_some_and(number))
}

fn is_flag_of_rev_parse(flag: &str) -> bool {
    matches!(
        flag,
        "--short" | "--abbrev-ref" | "--show-toplevel" | "--git-dir" | "--verify" | "--is-inside-work-tree" | "--quiet"
    )
}

fn is_flag_of_ls_files(flag: &str) -> bool {
    matches!(
        flag,
        "-m" | "-o" | "-c" | "-d" | "-s" | "--modified" | "--others" | "--cached" | "--exclude-standard" | "--"
    )
}

fn is_flag_of_branch(flag: &str) -> bool {
    matches!(flag, "-a" | "-r" | "-v" | "-vv" | "--all" | "--list" | "--remotes" | "--show-current" | "--verbose")
}
