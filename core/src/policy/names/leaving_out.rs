//! What programs are told to leave out: the values of such options are patterns, and no files that anything is done to.

use crate::policy::commands::command::{is_the_systems, name_of};
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::ShellWord;
use crate::policy::words::options::VALUED_OF_TAR;

/// A value of an option that leaves something out.
pub(crate) struct LeftOut<'line> {
    /// The place of its word among those of the command.
    pub(crate) at: usize,
    pub(crate) option: &'static str,
    pub(crate) value: &'line str,
}

/// Programs with their options of this kind, and the letters of those that surely have no value.
const PROGRAMS: [(&str, &str, &[&str]); 30] = [
    ("ack", "ilnrw", &["--ignore-dir"]),
    ("ag", "ilnw", &["--ignore", "--ignore-dir"]),
    ("black", "qv", &["--exclude", "--extend-exclude", "--force-exclude"]),
    ("bsdtar", "cxtzjJvp", &["--exclude"]),
    ("cloc", "", &["--exclude-dir"]),
    ("codespell", "", &["--skip"]),
    ("diff", "abBiNqrsuwy", &["--exclude"]),
    ("du", "abchkmsx", &["--exclude"]),
    ("egrep", "HILachilnoqrsvw", &["--exclude", "--exclude-dir", "--include"]),
    ("eslint", "", &["--ignore-pattern"]),
    ("fd", "HIaips", &["--exclude"]),
    ("fgrep", "HILachilnoqrsvw", &["--exclude", "--exclude-dir", "--include"]),
    ("flake8", "qv", &["--exclude", "--extend-exclude"]),
    ("git", "dfqxX", &["--exclude", "-e"]),
    ("grep", "EFGHILPachilnoqrsvw", &["--exclude", "--exclude-dir", "--include"]),
    ("gtar", "cxtzjJvp", &["--exclude"]),
    ("isort", "qv", &["--skip", "--skip-glob"]),
    ("mypy", "v", &["--exclude"]),
    ("pylint", "", &["--ignore"]),
    ("pytest", "qsvx", &["--ignore", "--ignore-glob"]),
    ("restic", "qv", &["--exclude"]),
    ("rg", "FHILNPSUacilnopqsvwxz0", &["--glob", "-g"]),
    ("rgrep", "EFGHILPachilnoqrsvw", &["--exclude", "--exclude-dir", "--include"]),
    ("rsync", "ACDHPSWXacghilnopqrtuvxz", &["--exclude"]),
    ("ruff", "qv", &["--exclude", "--extend-exclude"]),
    ("scc", "", &["--exclude-dir"]),
    ("tar", "cxtzjJvp", &["--exclude"]),
    ("tokei", "", &["--exclude"]),
    ("watchexec", "", &["--ignore"]),
    ("zip", "qrv", &["--exclude", "-x"]),
];

/// Options without a value, in all of these that know them.
const LONE: [&str; 16] = [
    "--archive",
    "--check",
    "--compress",
    "--create",
    "--delete",
    "--dry-run",
    "--gzip",
    "--human-readable",
    "--no-fix",
    "--partial",
    "--progress",
    "--quiet",
    "--recursive",
    "--stats",
    "--verbose",
    "--xz",
];

/// What a command leaves out, where that is certain: behind `=`, or in the word behind an option that no other one can
/// have for its value. Where options end early, only what stands behind `=` is certain.
pub(crate) fn left_out(words: &[ShellWord], stops_early: impl Fn() -> bool) -> Vec<LeftOut<'_>> {
    let Some((first, rest)) = started(words).split_first() else { return vec![] };
    let name = name_of(&first.text);
    let Ok(row) = PROGRAMS.binary_search_by(|(program, ..)| program.cmp(&name)) else { return vec![] };
    if !first.is_literal || !is_the_systems(&first.text) {
        return vec![];
    }
    // Of git it is an option of one subcommand alone.
    if name == "git" && rest.first().is_none_or(|word| word.text != "clean") {
        return vec![];
    }
    let (_, letters, options) = PROGRAMS[row];
    let before = words.len() - rest.len();
    let rest = &rest[..rest.iter().position(|word| word.text == "--").unwrap_or(rest.len())];
    let stops_early = stops_early();
    let mut left_out = vec![];
    let mut at = 0;
    while at < rest.len() {
        let word = &rest[at];
        let anew = || begins_anew(name, rest, at, letters, &left_out, before);
        let is_value = match name {
            "rg" => !anew(),
            "grep" | "egrep" | "fgrep" | "rgrep" => at > 0 && takes_the_next(&rest[at - 1].text),
            _ => false,
        };
        let glued = word.text.split_once('=').filter(|_| word.is_known() && !is_value);
        let option = options.iter().find(|option| word.text == **option && !stops_early);
        // `-g*.c`
        let behind = word.text.strip_prefix("-g").filter(|value| name == "rg" && word.is_known() && !value.is_empty());
        let behind = behind.filter(|_| anew());
        if let Some((option, value)) =
            glued.and_then(|(name, value)| Some((options.iter().find(|option| **option == name)?, value)))
        {
            left_out.push(LeftOut { at: before + at, option, value });
        } else if let Some(value) = behind {
            left_out.push(LeftOut { at: before + at, option: "-g", value });
        } else if let Some(option) = option.filter(|_| anew()) {
            // zip takes all words up to the next option, or a lone @.
            let most = if name == "zip" { rest.len() } else { 1 };
            let is_value = |word: &&ShellWord| word.is_known() && !word.is_flag() && word.text != "@";
            let values = rest[at + 1..].iter().take(most).take_while(is_value);
            let values = values.enumerate().map(|(next, word)| (before + at + 1 + next, word.text.as_str()));
            let values: Vec<(usize, &str)> = values.collect();
            at += values.len();
            left_out.extend(values.into_iter().map(|(at, value)| LeftOut { at, option, value }));
        }
        at += 1;
    }
    left_out
}

/// Whether programs may be told by a variable that no option stands behind the first word that is none.
pub(crate) fn stops_early(command: &Found, suspects: &Suspects) -> bool {
    let says = |word: &ShellWord| word.text.contains("POSIXLY") || word.text == "posix";
    !command.assignments.is_empty()
        || suspects.variables.sets("POSIXLY_CORRECT")
        || suspects.found.iter().any(|command| command.words.iter().any(says))
}

/// Whether the last letter of some has the next word for its value: `grep -re x`.
fn takes_the_next(word: &str) -> bool {
    word.starts_with('-') && !word.starts_with("--") && word.ends_with(['A', 'B', 'C', 'D', 'd', 'e', 'f', 'm'])
}

/// Whether the word there is an option, and no value of the one before it.
fn begins_anew(
    name: &str,
    rest: &[ShellWord],
    at: usize,
    letters: &str,
    left_out: &[LeftOut<'_>],
    before: usize,
) -> bool {
    let Some(previous) = at.checked_sub(1).map(|at| &rest[at]) else { return true };
    let is_tar = matches!(name, "tar" | "gtar" | "bsdtar");
    // Without a dash they stand in its first word.
    let values = rest[0].text.chars().filter(|letter| VALUED_OF_TAR.contains(*letter)).count();
    if is_tar && !rest[0].is_flag() && at <= values || !previous.is_known() {
        return false;
    }
    let is_value = left_out.last().is_some_and(|last| last.at + 1 == before + at);
    let is_lone = |text: &str| match text.strip_prefix('-').filter(|bundle| !bundle.starts_with('-')) {
        Some(bundle) => bundle.chars().all(|letter| letters.contains(letter)),
        None => text.contains('=') || LONE.contains(&text),
    };
    is_value || !previous.is_flag() && previous.text != "-" || is_lone(&previous.text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::Script;

    fn values(line: &str) -> Vec<String> {
        let suspects = Suspects::of(&Script::read(line));
        let command = &suspects.found[suspects.found.len() - 1];
        left_out(&command.words, || stops_early(command, &suspects))
            .into_iter()
            .map(|left| left.value.to_owned())
            .collect()
    }

    #[test]
    fn a_value_is_left_out_where_its_option_is_surely_one() {
        assert!(PROGRAMS.is_sorted());
        for (line, left) in [
            ("tar czf a.tgz --exclude=.git .", vec![".git"]),
            ("tar czf a.tgz --exclude .git --exclude node_modules .", vec![".git", "node_modules"]),
            ("tar --exclude .git -czf a.tgz .", vec![".git"]),
            ("tar cz --exclude .git .", vec![".git"]),
            ("timeout 5 rsync -av --delete --exclude .git --exclude='.env' a b", vec![".git", ".env"]),
            ("grep -rn --exclude-dir .git x", vec![".git"]),
            ("zip -r a.zip . -x '.git/*' 'b/*'", vec![".git/*", "b/*"]),
            ("git clean -fdx -e .claude", vec![".claude"]),
            ("zip -r a.zip -x b @ secrets/key", vec!["b"]),
            ("flake8 --exclude=.git,x .", vec![".git,x"]),
            ("rg -n -g '*.c' main -g!x --glob=y", vec!["*.c", "!x", "y"]),
        ] {
            assert_eq!(values(line), left, "{line}");
        }
        for line in [
            "tar cf --exclude .git/config a",
            "tar cbf --exclude .git/config a",
            "tar cbff 20 --exclude .git/config a",
            "tar c -f --exclude .git/config a",
            "tar cf a -- --exclude .git",
            "rsync a --log-file --exclude .git/config",
            "rsync -e --exclude .git/config",
            "rsync -av --exclude --exclude .git/config",
            "rsync $X --exclude .git a b",
            "rsync --exclude \"$X\" a",
            "zip -b -x .git/config a",
            "tar --exclude-from .git/x -cf a .",
            "./tar --exclude .git",
            "POSIXLY_CORRECT=1 rsync a --exclude .git/config",
            "export POSIXLY_CORRECT=1; rsync a --exclude .git/config",
            "set -o posix; rsync a --exclude .git/config",
            "cp --exclude .git a",
            "git commit -e .git/x",
            "rg -e -g main",
            "rg -e --glob=main",
            "grep -r -e --include=x .",
            "rg -ig main",
            "rg main -- -g x",
        ] {
            assert!(values(line).is_empty() || values(line) == ["--exclude"], "{line}: {:?}", values(line));
        }
    }
}
