//! What git and other programs that keep versions remove from the folders that they keep.

use crate::policy::commands::git_files::subcommand;
use crate::policy::shell::{Piece, ShellWord};
use crate::policy::words::options;

/// The words of a command that removes what its program does not know in the folder that it is in, but for that folder.
pub(super) fn cleaned(name: &str, rest: &[ShellWord]) -> Option<Vec<ShellWord>> {
    let says = |said: &[&str]| rest.iter().any(|word| said.contains(&word.text.as_str()));
    let cleans = match name {
        "git" => says(&["clean"]) || stashes_all(rest),
        "hg" => says(&["clean", "purge"]),
        "svn" => says(&["cleanup"]) && rest.iter().any(|word| word.text.starts_with("--rem")),
        _ => false,
    };
    let is_order = |text: &str| matches!(text, "clean" | "cleanup" | "purge" | "push" | "save" | "stash");
    let is_name = |word: &&ShellWord| !word.is_flag() && !is_order(&word.text) && !means_here(word);
    cleans.then(|| rest.iter().filter(is_name).cloned().collect())
}

/// Whether git puts away what it does not know, and so removes it.
fn stashes_all(rest: &[ShellWord]) -> bool {
    rest.iter().any(|word| word.text == "stash")
        && options::has(rest.iter().map(|word| word.text.as_str()), "au", &["--all", "--include-untracked"])
}

/// What `git rm` removes: whether all in the folder that it is in, and which other names. None where the files stay.
pub(super) fn removed_by_git(rest: &[ShellWord]) -> Option<(bool, Vec<ShellWord>)> {
    let ("rm", words) = subcommand(rest)? else { return None };
    if options::has(words.iter().map(|word| word.text.as_str()), "n", &["--cached", "--dry-run"]) {
        return None;
    }
    let is_list = |word: &ShellWord| word.text.starts_with("--pathspec-f");
    let names = words.iter().filter(|word| !word.is_flag());
    let (here, named): (Vec<&ShellWord>, Vec<&ShellWord>) = names.partition(|word| means_here(word));
    // Names that git itself prints are those of files in that folder.
    let is_gits = |word: &ShellWord| {
        let written = word.raw.trim_start_matches(['"', '$', '(', '`', ' ']);
        word.pieces.contains(&Piece::Unknown) && written.starts_with("git ")
    };
    let named = named.into_iter().filter(|word| !is_gits(word)).cloned().collect();
    Some((!here.is_empty() || words.iter().any(is_list), named))
}

/// Whether git takes a name for all that is in a folder: `.`, `*`, and `:/` for all that it keeps.
fn means_here(word: &ShellWord) -> bool {
    let name = word.text.strip_prefix(":/").or_else(|| word.text.strip_prefix(":(top)")).unwrap_or(&word.text);
    let is_here = name.chars().all(|c| matches!(c, '.' | '/' | '*')) && !name.contains("..") && !name.starts_with('/');
    is_here && word.is_known()
}

/// The working folders that git removes or moves.
pub(super) fn removed_worktrees(rest: &[ShellWord]) -> Option<Vec<ShellWord>> {
    let ("worktree", words) = subcommand(rest)? else { return None };
    let (sub, words) = words.split_first()?;
    let is_removed = matches!(sub.text.as_str(), "remove" | "move") || !sub.is_known();
    is_removed.then(|| words.iter().filter(|word| !word.is_flag()).cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::Script;

    #[test]
    fn git_removes_names_or_all_that_is_in_a_folder() {
        let of = |line: &str| {
            let words = Script::read(line).commands.last().unwrap().words.clone();
            let (here, named) = removed_by_git(&words[1..])?;
            Some((here, named.into_iter().map(|word| word.text).collect::<Vec<_>>().join(" ")))
        };
        for line in
            ["git rm -rf .", "git -C x rm -r ./", "git rm -r '*'", "git rm -r *", "git rm -rq :/", "git rm ':(top)'"]
        {
            assert_eq!(of(line), Some((true, String::new())), "{line}");
        }
        assert_eq!(of("git rm -r --pathspec-from-file=-"), Some((true, String::new())));
        assert_eq!(of("git rm -rf .. x"), Some((false, ".. x".to_owned())));
        assert_eq!(of("git rm $(git ls-files -d)"), Some((false, String::new())));
        for line in ["git rm -r --cached .", "git rm -rn .", "git rm --dry-run -r .", "git mv . x", "git status"] {
            assert_eq!(of(line), None, "{line}");
        }
    }
}
