//! Where in the words of a command another one begins, and which of them are scripts.

use std::collections::BTreeSet;

use crate::policy::commands::command::{is_shell, is_the_systems, name_of, text};
use crate::policy::commands::inert::is_inert;
use crate::policy::commands::runners::{RUN_LINES, options_of};
use crate::policy::shell::ShellWord;
use crate::policy::texts::receivers::marks;
use crate::policy::words::options;

/// Programs behind which another command may stand.
pub(crate) const BEFORE_ANOTHER: [&str; 39] = [
    "sudo",
    "doas",
    "env",
    "exec",
    "eval",
    "xargs",
    "watch",
    "setsid",
    "ionice",
    "flock",
    "nice",
    "timeout",
    "time",
    "stdbuf",
    "nohup",
    "command",
    "builtin",
    "noglob",
    "chroot",
    "unshare",
    "strace",
    "ltrace",
    "parallel",
    "busybox",
    "nsenter",
    "taskset",
    "chrt",
    "script",
    "unbuffer",
    "su",
    "pkexec",
    "systemd-run",
    "setpriv",
    "runuser",
    "toybox",
    "ssh",
    "fakeroot",
    "coproc",
    "catchsegv",
];

/// Of these the ones with a word of their own before the command: a time, a file, a machine.
pub(crate) const WITH_A_WORD: [&str; 8] = ["timeout", "flock", "ssh", "chroot", "taskset", "chrt", "su", "script"];

/// Whether a program is one whose texts, folders and settings are read wherever it stands: behind one that is not known it
/// may be what that one starts, as in `npm exec -- grep -r x .` and `setarch x86_64 awk …`.
fn is_read_anywhere(name: &str) -> bool {
    matches!(
        name,
        "7z" | "7za"
            | "awk"
            | "bsdtar"
            | "cp"
            | "curl"
            | "ed"
            | "egrep"
            | "emacs"
            | "ex"
            | "expect"
            | "fd"
            | "fgrep"
            | "find"
            | "gawk"
            | "gdb"
            | "git"
            | "gmake"
            | "grep"
            | "groff"
            | "jq"
            | "ln"
            | "lldb"
            | "m4"
            | "make"
            | "mariadb"
            | "mawk"
            | "mysql"
            | "nawk"
            | "nvim"
            | "patch"
            | "perl"
            | "psql"
            | "python"
            | "python3"
            | "rg"
            | "rgrep"
            | "rsync"
            | "ruby"
            | "scp"
            | "screen"
            | "sed"
            | "sqlite3"
            | "tar"
            | "tclsh"
            | "tee"
            | "tmux"
            | "vi"
            | "vim"
            | "wget"
            | "xargs"
            | "yq"
            | "zip"
    )
}

/// Whether a program may start any that its words name. git does so in some of its subcommands.
fn may_start_its_words(words: &[ShellWord]) -> bool {
    let name = words.first().map_or("", |word| name_of(&word.text));
    let runs = |word: &ShellWord| {
        matches!(word.text.as_str(), "bisect" | "submodule" | "rebase" | "filter-branch" | "difftool" | "mergetool")
    };
    !runs_elsewhere(name) && (name != "git" || words.iter().any(runs))
}

pub(crate) fn takes_from_elsewhere(word: &ShellWord) -> bool {
    matches!(name_of(&word.text), "xargs" | "parallel" | "-exec" | "-execdir" | "-ok" | "-okdir")
}

/// Where in the words a command may begin: at their beginning, and behind each program that starts another.
pub(crate) fn starts(words: &[ShellWord]) -> BTreeSet<usize> {
    all_starts(words, true)
}

/// Those of them that stand behind a program which is not known to start another: it may take them for something else.
pub(crate) fn starts_behind_unknown(words: &[ShellWord]) -> BTreeSet<usize> {
    if !words.iter().skip(1).any(|word| is_read_anywhere(name_of(&word.text))) {
        return BTreeSet::new();
    }
    let certain = all_starts(words, false);
    starts(words).into_iter().filter(|start| !certain.contains(start)).collect()
}

fn all_starts(words: &[ShellWord], reads_anywhere: bool) -> BTreeSet<usize> {
    let mut starts = BTreeSet::new();
    let mut todo = vec![0];
    while let Some(start) = todo.pop() {
        let Some(first) = words.get(start) else { continue };
        if !starts.insert(start) {
            continue;
        }
        let name = name_of(&first.text);
        let rest = words.iter().enumerate().skip(start + 1);
        if name == "find" {
            let executes = |word: &ShellWord| matches!(word.text.as_str(), "-exec" | "-execdir" | "-ok" | "-okdir");
            todo.extend(rest.clone().filter(|(_, word)| executes(word)).map(|(at, _)| at + 1));
        }
        if BEFORE_ANOTHER.contains(&name) {
            // `command -v` only says what a name is.
            if name == "command"
                && words[start + 1..].first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"))
            {
                continue;
            }
            if let Some(at) = (name == "xargs").then(|| behind_xargs(words, start + 1)).flatten() {
                todo.push(at);
                continue;
            }
            // Behind flags and what may belong to them.
            let mut after_flag = false;
            let mut spare = usize::from(WITH_A_WORD.contains(&name));
            for (at, word) in rest {
                if !word.is_flag() && !word.text.contains('=') {
                    todo.push(at);
                    // What xargs puts there may be a setting before the program.
                    let is_mark = marks(words).contains(&word.text.as_str());
                    if !after_flag && !is_mark && !word.text.starts_with(|c: char| c.is_ascii_digit()) {
                        if spare == 0 {
                            break;
                        }
                        spare -= 1;
                    }
                }
                after_flag = word.is_flag();
            }
        } else if !is_inert(&words[start..]) {
            // Whatever starts them, shells run what they are given.
            let shells = rest.clone().filter(|(_, word)| start == 0 && is_shell(&word.text));
            todo.extend(shells.map(|(at, _)| at).take(4));
            if reads_anywhere && may_start_its_words(&words[start..]) {
                let is_read = |word: &ShellWord| {
                    word.is_literal && is_the_systems(&word.text) && is_read_anywhere(name_of(&word.text))
                };
                todo.extend(rest.filter(|(_, word)| is_read(word)).map(|(at, _)| at).take(4));
            }
        }
    }
    starts
}

/// Programs that start others where the files are not those of this machine.
pub(crate) fn runs_elsewhere(name: &str) -> bool {
    matches!(name, "docker" | "docker-compose" | "podman" | "kubectl" | "vagrant" | "ssh")
}

/// Where the command of xargs begins, if all its options are known.
fn behind_xargs(words: &[ShellWord], from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(word) = words.get(at).filter(|word| word.is_flag()) {
        at += match word.text.as_str() {
            "-I" | "-J" | "-n" | "-P" | "-L" | "-s" | "-d" | "-E" | "-a" | "-R" => 2,
            "--max-args" | "--max-procs" | "--max-lines" | "--max-chars" | "--delimiter" | "--arg-file" => 2,
            "--null" | "--no-run-if-empty" | "--verbose" | "--interactive" | "--exit" | "--open-tty" | "--replace" => 1,
            long if long.starts_with("--") => long.contains('=').then_some(1)?,
            // Letters without a value, and then one with its value right behind it.
            short => match short.trim_start_matches(['-', '0', 'r', 't', 'p', 'x', 'o']) {
                "" => 1,
                glued
                    if glued.len() > 1
                        && glued.starts_with(['I', 'J', 'n', 'P', 'L', 's', 'd', 'E', 'a', 'i', 'l']) =>
                {
                    1
                }
                "i" | "l" | "e" => 1,
                _ => return None,
            },
        };
    }
    Some(at)
}

/// What a command may run as a script: `sh -c '…'`, `eval …`, and words with blanks behind what starts others.
pub(super) fn scripts_of(words: &[ShellWord]) -> Vec<String> {
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    if name == "eval" {
        let words: Vec<String> = rest.iter().map(ShellWord::script).collect();
        return vec![words.join(" "), text(rest)];
    }
    let mut scripts = vec![];
    if is_shell(name) {
        let has_c = |word: &ShellWord| word.is_flag() && !word.text.starts_with("--") && word.text.contains('c');
        let behind = rest.iter().skip_while(|word| !has_c(word)).skip(1);
        scripts.extend(behind.filter(|word| !word.is_flag()).map(ShellWord::script).next());
    }
    if RUN_LINES.contains(&name) {
        let (letters, longs) = options_of(name);
        for (at, word) in rest.iter().enumerate() {
            let text = word.script();
            let script = match options::value(&text, letters, longs) {
                Some("") => rest.get(at + 1).map(ShellWord::script),
                value => value.map(str::to_owned),
            };
            // `--checkpoint-action=exec=x` of tar.
            scripts.extend(script.as_deref().and_then(|script| script.strip_prefix("exec=")).map(str::to_owned));
            scripts.extend(script);
        }
    }
    // What perl opens for its code to read is a command where its name begins or ends with a pipe.
    if name.starts_with("perl") {
        let piped =
            rest.iter().map(|word| word.text.trim()).filter(|text| text.starts_with('|') || text.ends_with('|'));
        scripts.extend(piped.map(|text| text.trim_matches('|').to_owned()));
    }
    if matches!(name, "trap" | "alias") || name == "env" {
        let is_open = |word: &&ShellWord| !word.is_literal || word.text.contains(['*', '?', '[']);
        scripts.extend(rest.iter().filter(is_open).map(ShellWord::script));
    }
    if is_shell(name) || BEFORE_ANOTHER.contains(&name) || matches!(name, "trap" | "alias") {
        for word in rest.iter().filter(|word| word.text.contains([' ', '\t', '\n', ';'])) {
            // `--split-string=…` and `-S…` as well.
            let value = word.text.split_once('=').map(|(_, value)| value);
            let glued = word.text.get(2..).filter(|_| word.is_flag());
            scripts.extend([Some(word.text.as_str()), value, glued].into_iter().flatten().map(str::to_owned));
        }
    }
    scripts
}
