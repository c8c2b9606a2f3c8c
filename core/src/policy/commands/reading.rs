//! Commands that change no file by any of their words. Where an option is not known, the command is none of them.

use super::awk;
use super::command::{is_the_systems, name_of};
use super::git_files;
use super::inert::started;
use super::sed;
use crate::policy::shell::{Piece, ShellWord};
use crate::policy::words::options;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reading {
    /// Its words are no files.
    Nothing,
    /// It surely only reads what its words name.
    Only,
    /// What it does nobody knows.
    Perhaps,
}

/// What a command does with the files that its words name.
pub(crate) fn reading(words: &[ShellWord]) -> Reading {
    let words = started(words);
    let Some((first, rest)) = words.split_first() else { return Reading::Nothing };
    let flags = || rest.iter().filter(|word| word.is_flag()).map(|word| word.text.as_str());
    let files = || rest.iter().filter(|word| !word.is_flag()).count();
    let short = |letters: &[char]| flags().any(|flag| !flag.starts_with("--") && flag.contains(letters));
    let long = |names: &[&str]| {
        flags().any(|flag| {
            names.iter().any(|name| {
                flag.starts_with("--")
                    && (flag.starts_with(name) || name.starts_with(flag.split('=').next().unwrap_or(flag)))
            })
        })
    };
    let only = |surely: bool| if surely { Reading::Only } else { Reading::Perhaps };
    if !first.is_known() || !is_the_systems(&first.text) {
        return Reading::Perhaps;
    }
    match name_of(&first.text) {
        "echo" | "true" | "false" | "sleep" | "seq" | "pwd" | "which" | "type" | "basename" | "dirname" | "whoami"
        | ":" | "for" | "select" | "case" | "in" | "uname" | "kill" => Reading::Nothing,
        // What is put into a name is a file where the name is used.
        "export" | "local" | "readonly" | "declare" | "typeset" => Reading::Nothing,
        "printf" => {
            if short(&['v']) {
                Reading::Perhaps
            } else {
                Reading::Nothing
            }
        }
        "ls" | "cat" | "head" | "tail" | "wc" | "stat" | "du" | "df" | "cd" | "grep" | "egrep" | "fgrep" | "rgrep"
        | "zgrep" | "realpath" | "readlink" | "cut" | "tr" | "nl" | "tac" | "rev" | "fold" | "paste" | "comm"
        | "md5sum" | "sha1sum" | "sha256sum" | "sha512sum" | "shasum" | "b2sum" | "cksum" | "test" | "[" | "[["
        | "cmp" | "diff" | "od" | "hexdump" | "strings" | "jq" | "column" | "expand" | "source" | "." | "lsof"
        | "date" | "pushd" | "popd" | "zcat" => Reading::Only,
        "base64" | "base32" => only(!short(&['o']) && !long(&["--output"])),
        "sort" => only(!short(&['o']) && !long(&["--output", "--compress-program"])),
        "uniq" | "xxd" => only(files() < 2 && !short(&['r'])),
        "file" => only(!short(&['C', 'm']) && !long(&["--compile"])),
        "tree" => only(!short(&['o', 'R']) && !long(&["--output"])),
        // What stands behind a plus is done when it begins: a number is a line to go to.
        "less" | "more" if rest.iter().any(|word| orders(&word.text)) => Reading::Perhaps,
        "less" | "more" | "bat" => only(!short(&['o', 'O']) && !long(&["--log-file", "--LOG-FILE", "--pager"])),
        "yq" => only(!short(&['i', 's']) && !long(&["--inplace", "--split-exp"])),
        "rg" | "ag" => only(!long(&["--pre", "--hostname-bin"])),
        "sed" => {
            let in_place = flags().any(|flag| match flag.strip_prefix("--") {
                Some(long) => long.starts_with('i'),
                None => flag.chars().skip(1).take_while(|c| *c != 'e').any(|c| c == 'i'),
            });
            only(!in_place && sed::edits_only(rest))
        }
        "awk" | "gawk" | "mawk" => {
            let writes = |word: &ShellWord| awk::starts_or_writes(&word.text);
            // Many others write files, some without a word that says so.
            let is_known = |flag: &str| flag == "--" || flag.starts_with("-F") || flag.starts_with("-v");
            only(!rest.iter().any(writes) && flags().all(is_known))
        }
        "find" => only(!rest.iter().any(|word| does_more(&word.text))),
        "git" => only(git_only_reads(rest)),
        _ => Reading::Perhaps,
    }
}

/// Whether a word tells a pager to do more than to go somewhere.
fn orders(word: &str) -> bool {
    let order = word.strip_prefix('+').map(|order| order.strip_prefix('+').unwrap_or(order)).unwrap_or_default();
    order.contains(['!', '|', '#', 'v', 's', 'E', ':']) && !order.starts_with(['/', '?'])
}

/// Whether a command that only reads has an option, or a second file, by which it writes one or starts a program.
pub(crate) fn writes_by_an_option(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let reads = match name_of(&first.text) {
        "base64" | "base32" | "sort" | "uniq" | "xxd" | "file" | "tree" | "less" | "more" | "bat" | "rg" | "ag" => true,
        "git" => rest.first().is_some_and(|sub| READING_GIT.contains(&sub.text.as_str())),
        _ => false,
    };
    reads && reading(words) == Reading::Perhaps
}

/// Whether what a command prints are names of files.
pub(crate) fn prints_names(words: &[ShellWord]) -> bool {
    let words = started(words);
    let has = |begin: &str| words.iter().any(|word| word.text.starts_with(begin));
    match words.first().map_or("", |word| name_of(&word.text)) {
        "ls" | "find" | "fd" | "realpath" | "readlink" | "dirname" | "basename" | "git" | "tree" | "date" | "wc" => {
            true
        }
        "grep" | "egrep" | "fgrep" | "rg" | "ag" => has("-l") || has("--files") || has("-rl") || has("-Rl"),
        _ => false,
    }
}

/// The tests of find that are more than tests.
pub(crate) fn does_more(word: &str) -> bool {
    ["-exec", "-ok", "-delete", "-fprint", "-fls", "-execdir"].iter().any(|flag| word.starts_with(flag))
}

/// Subcommands with which git reads files, and writes what is its own.
const READING_GIT: [&str; 22] = [
    "add",
    "blame",
    "branch",
    "commit",
    "describe",
    "diff",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "push",
    "remote",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "tag",
    "check-ignore",
    "cat-file",
    "reflog",
];

/// git reads files, and writes what is its own; with these it writes nothing else.
fn git_only_reads(rest: &[ShellWord]) -> bool {
    let Some((sub, words)) = rest.split_first() else { return true };
    let handles = READING_GIT.contains(&sub.text.as_str());
    let letters = if sub.text == "grep" { "O" } else { "" };
    let longs = ["--output", "--open-files-in-pager", "--ext-diff", "--textconv", "--exec", "--receive-pack"];
    let is_odd = |word: &ShellWord| options::value(&word.text, letters, &longs).is_some();
    handles && !words.iter().any(is_odd)
}

/// Whether a program builds or checks what it is given, and shows none of it.
pub(crate) fn builds(name: &str) -> bool {
    matches!(
        name,
        "cargo"
            | "npm"
            | "npx"
            | "uvx"
            | "pipx"
            | "pnpm"
            | "yarn"
            | "bun"
            | "pytest"
            | "python"
            | "python3"
            | "pip"
            | "pip3"
            | "uv"
            | "poetry"
            | "go"
            | "make"
            | "cmake"
            | "ninja"
            | "docker"
            | "docker-compose"
            | "podman"
            | "kubectl"
            | "helm"
            | "terraform"
            | "tsc"
            | "eslint"
            | "prettier"
            | "ruff"
            | "black"
            | "mypy"
            | "flake8"
            | "isort"
            | "jest"
            | "vitest"
            | "mocha"
            | "node"
            | "deno"
            | "tox"
            | "nox"
            | "mvn"
            | "gradle"
            | "gradlew"
            | "dotnet"
            | "swift"
            | "bundle"
            | "rake"
            | "rails"
            | "mix"
            | "composer"
            | "php"
            | "shellcheck"
            | "pre-commit"
            | "brew"
            | "apt"
            | "apt-get"
            | "gh"
            | "just"
            | "code"
            | "open"
            | "rustfmt"
            | "gofmt"
    )
}

/// How far a command goes into the folders that its words name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Descent {
    /// Not at all, or without showing what is there.
    #[default]
    No,
    /// It has to do with what is in a folder that is meant as a whole.
    Named,
    /// It removes what is in it, or changes its modes, and shows none of it.
    Changed,
    /// It reads or moves all that is in it.
    All,
}

/// Whether a command goes into the folders that its words name and reads or moves what is there. The table is of what
/// surely does not, and of tools that build and check, which show none of it.
pub(crate) fn descent(words: &[ShellWord]) -> Descent {
    let words = started(words);
    let Some((first, rest)) = words.split_first() else { return Descent::No };
    let short = |letters: &[char]| {
        rest.iter().any(|word| word.is_flag() && !word.text.starts_with("--") && word.text.contains(letters))
    };
    let long = |begin: &str| rest.iter().any(|word| word.text.starts_with(begin));
    // An option may come from elsewhere.
    let is_unsure = rest.iter().any(|word| !word.is_known());
    // What another program prints may be one where enough stands behind it.
    let is_printed_option = rest.iter().enumerate().any(|(at, word)| {
        let begins =
            !matches!(word.pieces.first(), Some(Piece::Text(text)) if !text.starts_with('-') && !text.is_empty());
        begins && word.pieces.contains(&Piece::Unknown) && !word.is_made_file() && at + 2 < rest.len()
    });
    let enters = match name_of(&first.text) {
        "rgrep" => true,
        "grep" | "egrep" | "fgrep" => {
            short(&['r', 'R', 'd']) || long("--rec") || long("--de") || long("--di") || is_printed_option
        }
        "rg" | "ag" => {
            !long("--files") && !long("--version") && !long("--help") && !long("--type-list") || long("--files-w")
        }
        "git" => return git_files::descent(rest),
        "diff" => true,
        "cp" => short(&['r', 'R', 'a']) || long("--rec") || long("--arch") || is_printed_option,
        "rm" if is_unsure || short(&['r', 'R', 'd']) || long("--r") => return Descent::Changed,
        "chmod" | "chown" | "chgrp" | "setfacl" if is_unsure || short(&['R']) || long("--r") => {
            return Descent::Changed;
        }
        "chmod" | "chown" | "chgrp" | "setfacl" | "touch" | "mkdir" | "rmdir" | "ls" | "cd" | "pushd" | "popd"
        | "find" | "fd" | "stat" | "pwd" | "du" | "df" | "test" | "[" | "[[" | "echo" | "printf" | "which" | "tree"
        | "realpath" | "readlink" | "cat" | "head" | "tail" | "wc" | "rm" | "sh" | "bash" | "zsh" | "for"
        | "select" | "case" | "in" | "source" | "." | "sed" | "awk" | "sort" | "uniq" | "file" | "jq" => false,
        "python" | "python3" if rest.iter().any(|word| word.text == "zipapp") => true,
        "python" | "python3" if rest.iter().any(|word| matches!(word.text.as_str(), "tarfile" | "zipfile")) => {
            short(&['c']) || long("--cr")
        }
        name if builds(name) => return Descent::Named,
        // What a project's own program does its words do not say, unless it is called as one of these.
        _ if !is_the_systems(&first.text) => false,
        // What surely only reads reads no folder, but for those above.
        _ => reading(words) == Reading::Perhaps,
    };
    if enters { Descent::All } else { Descent::No }
}

/// The same of one of its words. What lies on another machine, or where one file is copied to, is not read here.
pub(crate) fn descent_of(words: &[ShellWord], at: usize, descent: Descent) -> Descent {
    let name = words.first().map_or("", |word| name_of(&word.text));
    let is_remote = || {
        let (machine, path) = words[at].text.split_once(':').unwrap_or_default();
        matches!(name, "scp" | "rsync" | "sftp") && !machine.is_empty() && !path.is_empty() && !machine.contains('/')
    };
    let is_recursive = |word: &ShellWord| word.is_flag() && word.text.contains('r');
    let takes_files = || name == "scp" && at + 1 == words.len() && !words.iter().any(is_recursive);
    if is_remote() || takes_files() { descent.min(Descent::Named) } else { descent }
}
