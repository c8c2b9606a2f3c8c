//! Commands that never run what their words say: a name in their words is only a name.
//!
//! This is a table of what is certain. A program that is not in it may start any program that its words name.

use super::command::{is_the_systems, name_of};
use super::reading::does_more;
use super::{awk, git, sed};
use crate::policy::shell::ShellWord;
use crate::policy::words::options;

/// Options of tools for packages and builds that name a program.
const STARTING: [&str; 14] = [
    "--config",
    "--script-shell",
    "--exec",
    "-toolexec",
    "--toolexec",
    "-exec",
    "-ldflags",
    "--git",
    "--editor",
    "--viewer",
    "--browser",
    "--python",
    "--node-options",
    "--init-module",
];

/// Whether no word of the command is ever run, by it or by what it starts.
pub(crate) fn is_inert(words: &[ShellWord]) -> bool {
    let words = started(words);
    let Some((first, rest)) = words.split_first() else { return true };
    if !first.is_known() || !is_the_systems(&first.text) {
        return false;
    }
    let has = |begins: &[&str]| rest.iter().any(|word| begins.iter().any(|begin| may_be_flag(&word.text, begin)));
    let flags =
        |letters: &str, longs: &[&str]| options::has(rest.iter().map(|word| word.text.as_str()), letters, longs);
    let says = |marks: &[&str]| rest.iter().any(|word| marks.iter().any(|mark| word.text.contains(mark)));
    match name_of(&first.text) {
        "ls" | "cat" | "head" | "tail" | "wc" | "diff" | "cmp" | "stat" | "du" | "df" | "pwd" | "which" | "whereis"
        | "cd" | "basename" | "dirname" | "realpath" | "readlink" | "cut" | "tr" | "uniq" | "nl" | "tac" | "rev"
        | "fold" | "paste" | "comm" | "column" | "jq" | "file" | "tree" | "md5sum" | "sha1sum" | "sha256sum"
        | "shasum" | "seq" | "sleep" | "date" | "true" | "false" | "mkdir" | "touch" | "rm" | "rmdir" | "chmod"
        | "chown" | "kill" | "pkill" | "killall" | "pgrep" | "ps" | "uname" | "whoami" | "id" | "hostname" | "lsof"
        | "nproc" | "free" | "uptime" | "type" | "dig" | "ping" | "nslookup" | "unzip" | "gzip" | "gunzip"
        | "hexdump" | "od" | "xxd" | "strings" | "cksum" | "tee" => true,
        // What stands in an index of a list is reckoned, and run for that.
        "for" | "select" | "case" | "in" => true,
        "read" => !says(&["["]),
        "echo" | ":" => !says(&["[$(", "[`"]),
        "printf" | "test" | "[" | "[[" => {
            let runs = |word: &ShellWord| {
                let text = word.script();
                text.contains("$(") || text.contains('`')
            };
            !(rest.iter().any(runs) || rest.iter().any(|word| word.text == "-v") && says(&["["]))
        }
        "grep" | "egrep" | "fgrep" | "rgrep" | "printenv" => true,
        "man" => !flags("PHC", &["--pager", "--html", "--config-file", "--preprocessor"]),
        "command" => rest.first().is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V")),
        "awk" | "gawk" | "mawk" => awk::only_prints(rest),
        "find" => !rest.iter().any(|word| does_more(&word.text)),
        "rg" | "ag" => !has(&["--pre", "--hostname-bin", "--pager"]),
        "sort" => !flags("", &["--compress-program"]),
        "curl" => !has(&["-K", "--config"]),
        "wget" => !has(&["--use-askpass", "--config", "-e", "--execute"]),
        "sed" => sed::edits_only(rest),
        "git" => git::is_inert(rest),
        "apt" | "apt-get" | "apk" | "brew" | "dnf" | "yum" | "pacman" | "pip" | "pip3" | "gem" | "conda" | "snap" => {
            let runs = matches!(subcommand(rest), None | Some("run" | "exec" | "services" | "sh" | "command"));
            (!runs || name_of(&first.text) == "pacman")
                && !has(&["-o", "-c", "--option", "--config", "--exec", "--hook", "--python", "--editor"])
                && !says(&["::"])
        }
        "npm" | "pnpm" | "yarn" | "bun" | "cargo" | "go" | "uv" | "poetry" => {
            let sub = subcommand(rest).unwrap_or_default();
            let takes_names = matches!(
                sub,
                "install"
                    | "i"
                    | "ci"
                    | "add"
                    | "remove"
                    | "uninstall"
                    | "info"
                    | "view"
                    | "search"
                    | "update"
                    | "upgrade"
                    | "outdated"
                    | "ls"
                    | "list"
                    | "audit"
                    | "get"
                    | "fetch"
                    | "why"
                    | "publish"
                    | "login"
                    | "sync"
                    | "lock"
            );
            // What these build is the project's, and what they are told to look for is a name.
            let builds =
                name_of(&first.text) == "cargo" && matches!(sub, "build" | "check" | "clippy" | "doc" | "test");
            (takes_names || builds) && !has(&STARTING)
        }
        "docker" | "podman" => {
            let sub = rest.first().map_or("", |word| word.text.as_str());
            matches!(
                sub,
                "ps" | "images" | "rm" | "rmi" | "pull" | "push" | "stop" | "start" | "logs" | "inspect" | "tag"
            )
        }
        "kubectl" => {
            let sub = rest.first().map_or("", |word| word.text.as_str());
            matches!(sub, "get" | "describe" | "logs" | "top" | "version" | "explain")
        }
        "gh" => {
            let sub = rest.first().map_or("", |word| word.text.as_str());
            // What stands behind `--` is git's.
            matches!(sub, "pr" | "issue" | "repo" | "release" | "run" | "auth" | "label" | "search" | "workflow")
                && !rest.iter().any(|word| word.text == "--")
        }
        _ => false,
    }
}

fn may_be_flag(text: &str, flag: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    text.starts_with(flag) || name.len() > 3 && name.starts_with("--") && flag.starts_with(name)
}

/// The first word that is no option; none where an option before it may have it for its value.
fn subcommand(rest: &[ShellWord]) -> Option<&str> {
    let at = rest.iter().position(|word| !word.is_flag())?;
    let is_lone = |word: &ShellWord| {
        let lone = ["-y", "-q", "-qq", "-s", "-g", "--yes", "--quiet", "--silent", "--verbose", "--global", "--locked"];
        word.text.contains('=') || word.text.starts_with("--no-") || lone.contains(&word.text.as_str())
    };
    rest[..at].iter().all(is_lone).then(|| rest[at].text.as_str())
}

/// What a program that only starts another starts, in its plainest forms.
pub(crate) fn started(mut words: &[ShellWord]) -> &[ShellWord] {
    loop {
        words = match words {
            [sudo, rest @ ..] if sudo.text == "sudo" && rest.first().is_some_and(|word| !word.is_flag()) => rest,
            [wrapper, rest @ ..]
                if matches!(wrapper.text.as_str(), "time" | "nohup" | "command")
                    && rest.first().is_some_and(|word| !word.is_flag()) =>
            {
                rest
            }
            [timeout, time, rest @ ..]
                if timeout.text == "timeout"
                    && time.text.starts_with(|c: char| c.is_ascii_digit())
                    && !rest.is_empty() =>
            {
                rest
            }
            words => return words,
        };
    }
}
