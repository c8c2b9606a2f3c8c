//! Commands that never run what their words say: a name in their words is only a name.
//!
//! This is a table of what is certain. A program that is not in it may start any program that its words name.

use super::command::name_of;
use super::shell::ShellWord;

/// Whether no word of the command is ever run, by it or by what it starts.
pub(crate) fn is_inert(words: &[ShellWord]) -> bool {
    let words = started(words);
    let Some((first, rest)) = words.split_first() else { return true };
    if !first.is_known()
        || first.text.contains('/') && !first.text.starts_with("/bin/") && !first.text.starts_with("/usr/bin/")
    {
        return false;
    }
    // A long option may be cut short, and may have its value behind `=`.
    let has = |begins: &[&str]| rest.iter().any(|word| begins.iter().any(|begin| may_be_flag(&word.text, begin)));
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
        "echo" | ":" => !says(&["[$(", "[`"]),
        "printf" | "test" | "[" | "[[" => {
            let runs = |word: &ShellWord| {
                let text = word.script();
                text.contains("$(") || text.contains('`')
            };
            !(rest.iter().any(runs) || rest.iter().any(|word| word.text == "-v") && says(&["["]))
        }
        "grep" | "egrep" | "fgrep" => true,
        "rg" | "ag" => !has(&["--pre", "--hostname-bin", "--pager"]),
        "sort" => !has(&["--compress-program", "--compress"]),
        "curl" => !has(&["-K", "--config"]),
        "wget" => !has(&["--use-askpass", "--config", "-e", "--execute"]),
        "sed" => sed_edits_only(rest),
        "git" => is_inert_git(rest),
        "apt" | "apt-get" | "apk" | "brew" | "dnf" | "yum" | "pacman" | "pip" | "pip3" | "gem" | "conda" | "snap" => {
            let runs = matches!(subcommand(rest), None | Some("run" | "exec" | "services" | "sh" | "command"));
            (!runs || name_of(&first.text) == "pacman")
                && !has(&["-o", "-c", "--option", "--config", "--exec", "--hook"])
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
            takes_names && !has(&["--config", "--script-shell", "--exec", "-toolexec", "--toolexec", "-exec"])
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

/// A subcommand that only handles files, versions and messages, with nothing that makes git start programs.
fn is_inert_git(rest: &[ShellWord]) -> bool {
    let rest = match rest {
        [flag, _folder, rest @ ..] if flag.text == "-C" => rest,
        [flag, rest @ ..] if matches!(flag.text.as_str(), "--no-pager" | "-P") => rest,
        rest => rest,
    };
    let Some((sub, words)) = rest.split_first() else { return true };
    let handles = matches!(
        sub.text.as_str(),
        "add"
            | "am"
            | "apply"
            | "blame"
            | "branch"
            | "checkout"
            | "cherry-pick"
            | "clean"
            | "clone"
            | "commit"
            | "describe"
            | "diff"
            | "fetch"
            | "grep"
            | "init"
            | "log"
            | "ls-files"
            | "ls-remote"
            | "merge"
            | "mv"
            | "pull"
            | "push"
            | "reflog"
            | "remote"
            | "reset"
            | "restore"
            | "rev-parse"
            | "revert"
            | "rm"
            | "shortlog"
            | "show"
            | "stash"
            | "status"
            | "switch"
            | "tag"
            | "worktree"
    );
    let starts = |word: &ShellWord| {
        let flags = ["-c", "-u", "-x", "-O", "--exec", "--upload-pack", "--receive-pack", "--config", "--open-files"];
        let long = |flag: &str| flag.starts_with("--") && may_be_flag(&word.text, flag);
        let named =
            matches!(sub.text.as_str(), "clone" | "fetch" | "pull" | "push" | "ls-remote" | "grep" | "remote" | "init");
        word.text.contains("ext::")
            || named
                && flags
                    .iter()
                    .any(|flag| word.text.starts_with(flag) && !(*flag == "-u" && sub.text == "push") || long(flag))
    };
    handles && !words.iter().any(starts)
}

/// Whether sed is given nothing but scripts that put text in the place of text, or pick lines: nothing that runs or writes.
pub(crate) fn sed_edits_only(rest: &[ShellWord]) -> bool {
    let mut scripts = vec![];
    let mut operands = vec![];
    let mut words = rest.iter();
    let mut is_over = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if is_over || !word.is_flag() {
            operands.push(text);
            continue;
        }
        match text.strip_prefix("--") {
            Some("") => is_over = true,
            Some("expression") => scripts.extend(words.next().map(|word| word.text.as_str())),
            Some("quiet" | "silent" | "regexp-extended" | "in-place" | "separate" | "unbuffered" | "null-data")
            | Some("posix" | "sandbox" | "version" | "help") => {}
            Some(long) => match long.split_once('=') {
                Some(("expression", script)) => scripts.push(script),
                Some(("in-place", _)) => {}
                _ => return false,
            },
            None => match text.char_indices().skip(1).find(|(_, c)| !"nErsuz".contains(*c)) {
                None | Some((_, 'i')) => {}
                Some((at, 'e')) if at + 1 < text.len() => scripts.push(&text[at + 1..]),
                Some((_, 'e')) => scripts.extend(words.next().map(|word| word.text.as_str())),
                Some(_) => return false,
            },
        }
    }
    if scripts.is_empty() {
        // On some systems `-i` has an empty word behind it.
        let script = operands.iter().position(|word| !word.is_empty());
        scripts.extend(script.map(|at| operands[at]));
    }
    scripts.into_iter().all(edits_only)
}

fn edits_only(script: &str) -> bool {
    let script = script.trim();
    if let Some(delimiter) = script.strip_prefix('s').and_then(|rest| rest.chars().next()) {
        let flags = script.rsplit(delimiter).next().unwrap_or_default();
        let is_flag = |c: char| c.is_ascii_digit() || matches!(c, 'g' | 'p' | 'i' | 'I');
        return !script.contains('\n') && script.matches(delimiter).count() == 3 && flags.chars().all(is_flag);
    }
    // What stands between slashes picks lines; every second part is behind them.
    let mut outside = script.split('/').step_by(2);
    outside.all(|part| {
        part.chars()
            .all(|c| c.is_ascii_digit() || matches!(c, ',' | '$' | '!' | 'p' | 'd' | 'q' | '=' | ';' | ' ' | '{' | '}'))
    })
}
