//! What git does with files, as far as its subcommand and its options say so.

use super::reading::Descent;
use super::shell::ShellWord;

/// The subcommand with the words behind it. The options before it are git's own.
pub(crate) fn subcommand(rest: &[ShellWord]) -> Option<(&str, &[ShellWord])> {
    const WITH_A_VALUE: [&str; 7] =
        ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--config-env"];
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.is_flag()) {
        at += if WITH_A_VALUE.contains(&word.text.as_str()) { 2 } else { 1 };
    }
    rest.get(at).map(|sub| (sub.text.as_str(), &rest[at + 1..]))
}

/// git reads files, and writes what is its own; with these it writes nothing else.
pub(super) fn only_reads(rest: &[ShellWord]) -> bool {
    let Some((sub, words)) = rest.split_first() else { return true };
    let handles = matches!(
        sub.text.as_str(),
        "add"
            | "blame"
            | "branch"
            | "commit"
            | "describe"
            | "diff"
            | "grep"
            | "log"
            | "ls-files"
            | "ls-tree"
            | "push"
            | "remote"
            | "rev-list"
            | "rev-parse"
            | "shortlog"
            | "show"
            | "show-ref"
            | "status"
            | "tag"
            | "check-ignore"
            | "cat-file"
            | "reflog"
    );
    let is_odd = |word: &ShellWord| {
        let text = word.text.as_str();
        sub.text == "grep" && text.starts_with("-O")
            || text.starts_with("--o")
            || text.starts_with("--ext")
            || text.starts_with("--textconv")
            || text.starts_with("--exec")
            || text.starts_with("--receive")
    };
    handles && !words.iter().any(is_odd)
}

/// How far git goes into the folders that its words name. What it takes in from the folder it is in, it keeps for itself.
pub(super) fn descent(rest: &[ShellWord]) -> Descent {
    let Some((sub, words)) = subcommand(rest) else { return Descent::No };
    let has = |flag: &str| words.iter().any(|word| word.text == flag);
    match sub {
        "grep" => Descent::All,
        "diff" | "difftool" if has("--no-index") => Descent::All,
        // What these do with a folder shows nothing of what is in it.
        "status" | "ls-files" | "ls-tree" | "rm" | "clean" | "check-ignore" | "restore" | "checkout" | "switch"
        | "branch" | "push" | "pull" | "fetch" | "remote" | "tag" | "rev-parse" | "rev-list" | "clone" | "init"
        | "worktree" | "submodule" | "config" | "merge" | "rebase" | "reset" | "describe" | "shortlog" | "reflog"
        | "sparse-checkout" | "update-index" | "gc" | "fsck" => Descent::No,
        _ => Descent::Named,
    }
}
