//! What git does with files, as far as its subcommand and its options say so.

use super::git::GitLine;
use super::reading::Descent;
use crate::policy::shell::ShellWord;

/// The subcommand with the words behind it. The options before it are git's own.
pub(crate) fn subcommand(rest: &[ShellWord]) -> Option<(&str, &[ShellWord])> {
    let words = GitLine::read(rest)?.words;
    words.split_first().map(|(sub, words)| (sub.text.as_str(), words))
}

/// The name of a reference that git makes right where it keeps its own files, as no ordinary one is called: `git symbolic-ref
/// config refs/heads/x` makes `.git/config`. What names its input holds nobody looks at: they may be any.
pub(crate) fn odd_reference(rest: &[ShellWord]) -> Option<ShellWord> {
    let Some(("symbolic-ref" | "update-ref", words)) = subcommand(rest) else { return None };
    if words.iter().any(|word| word.text.starts_with("--std")) {
        return Some(ShellWord::plain("config"));
    }
    let is_reason = |at: usize| at > 0 && words[at - 1].text == "-m";
    let name = (0..words.len()).find(|at| !words[*at].is_flag() && !is_reason(*at)).map(|at| &words[at])?;
    let is_head = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_uppercase() || c == '_');
    (!name.text.starts_with("refs/") && !is_head(&name.text)).then(|| name.clone())
}

/// Whether settings in the line itself may make another subcommand of this one.
pub(crate) fn is_renamed(rest: &[ShellWord]) -> bool {
    GitLine::read(rest).is_none_or(|line| line.code().next().is_some() && !line.is_own())
}

/// Whether the words behind a subcommand may name files, rather than versions, branches or machines alone.
pub(crate) fn handles_files(words: &[ShellWord]) -> bool {
    let sub = words.get(1..).and_then(subcommand).map_or("", |(sub, _)| sub);
    !matches!(
        sub,
        "tag"
            | "branch"
            | "remote"
            | "fetch"
            | "pull"
            | "push"
            | "rebase"
            | "merge"
            | "cherry-pick"
            | "rev-parse"
            | "rev-list"
            | "describe"
            | "switch"
            | "merge-base"
            | "show-ref"
            | "for-each-ref"
            | "revert"
            | "shortlog"
    )
}

/// How far git goes into the folders that its words name. What it takes in from the folder it is in, it keeps for itself.
pub(crate) fn descent(rest: &[ShellWord]) -> Descent {
    let Some((sub, words)) = subcommand(rest) else { return Descent::Named };
    if is_renamed(rest) {
        return Descent::All;
    }
    let has = |flag: &str| words.iter().any(|word| word.text == flag);
    match sub {
        "grep" => Descent::All,
        "diff" | "difftool" if has("--no-index") => Descent::All,
        // What these do with a folder shows nothing of what is in it.
        "rm" | "clean" | "restore" | "checkout" => Descent::Changed,
        "status" | "ls-files" | "ls-tree" | "check-ignore" | "switch" | "branch" | "push" | "pull" | "fetch"
        | "remote" | "tag" | "rev-parse" | "rev-list" | "clone" | "init" | "worktree" | "submodule" | "config"
        | "merge" | "rebase" | "reset" | "describe" | "shortlog" | "reflog" | "sparse-checkout" | "update-index"
        | "gc" | "fsck" => Descent::No,
        _ => Descent::Named,
    }
}
