//! What no rule and no mode approves: changes of protected files. Removals are for [`super::removal`].

use crate::policy::commands::command::name_of;
use crate::policy::commands::inert::started;
use crate::policy::commands::reading::{Reading, reading};
use crate::policy::files::access::{Access, Action};
use crate::policy::files::call::{Call, Context};
use crate::policy::files::touching::Touch;
use crate::policy::lines::starts::takes_from_elsewhere;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{ANY, ONE, STAR, ShellWord, Way};
use crate::policy::words::path::lies_in;
use crate::policy::words::values::{in_words, is_literal, may_be};

/// Folders in which a change turns into commands that are run later, or into permissions.
pub(super) const PROTECTED_FOLDERS: [&str; 13] = [
    ".cargo",
    ".claude",
    ".devcontainer",
    ".git",
    ".gnupg",
    ".husky",
    ".idea",
    ".mvn",
    ".portcullis",
    ".ssh",
    ".vim",
    ".vscode",
    ".yarn",
];

/// The same, where the folder above it tells which one is meant.
pub(super) const PROTECTED_BELOW: [(&str, &str); 13] = [
    (".oh-my-zsh", "custom"),
    (".config", "autostart"),
    (".config", "direnv"),
    (".config", "environment.d"),
    (".config", "fish"),
    (".config", "git"),
    (".config", "mise"),
    (".config", "nvim"),
    (".config", "powershell"),
    (".config", "systemd"),
    (".config", "tmux"),
    ("code", "user"),
    ("library", "launchagents"),
];

/// What does the same for everyone on the machine: files of `/etc`, and folders with all that is in them. Claude Code's
/// managed settings can switch off the hooks of every project.
const PROTECTED_IN_ETC: [&str; 48] = [
    "anacrontab",
    "bash.bash_logout",
    "bash.bashrc",
    "bash_completion.d",
    "bashrc",
    "claude-code",
    "cron.d",
    "cron.daily",
    "cron.hourly",
    "cron.monthly",
    "cron.weekly",
    "crontab",
    "csh.cshrc",
    "csh.login",
    "direnv",
    "environment",
    "environment.d",
    "fish",
    "gitattributes",
    "gitconfig",
    "init.d",
    "inputrc",
    "ksh.kshrc",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "mkshrc",
    "npmrc",
    "pam.d",
    "passwd",
    "profile",
    "profile.d",
    "rc.local",
    "security",
    "shadow",
    "ssh",
    "sudo.conf",
    "sudoers",
    "sudoers.d",
    "systemd",
    "tmux.conf",
    "x11",
    "xdg",
    "zlogin",
    "zprofile",
    "zsh",
    "zshenv",
    "zshrc",
];

/// The same elsewhere: whole paths, and folders with all that is in them.
pub(super) const PROTECTED_FOR_ALL: [&str; 7] = [
    "/library/application support/claudecode",
    "/lib/systemd",
    "/run/systemd/system",
    "/usr/etc",
    "/usr/lib/systemd",
    "/usr/local/etc",
    "/var/spool/cron",
];

/// Files with the same effect.
pub(super) const PROTECTED_FILES: [&str; 56] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bazelrc",
    ".claude.json",
    ".cshrc",
    ".curlrc",
    ".devcontainer.json",
    ".direnvrc",
    ".emacs",
    ".envrc",
    ".exrc",
    ".gdbinit",
    ".gitattributes",
    ".gitconfig",
    ".gitmodules",
    ".gvimrc",
    ".inputrc",
    ".kshrc",
    ".lefthook.yaml",
    ".lefthook.yml",
    ".lldbinit",
    ".mcp.json",
    ".mise.toml",
    ".netrc",
    ".npmrc",
    ".nvimrc",
    ".pam_environment",
    ".pnp.cjs",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".pypirc",
    ".pythonrc",
    ".ripgreprc",
    ".screenrc",
    ".tcshrc",
    ".tmux.conf",
    ".vimrc",
    ".wgetrc",
    ".xinitrc",
    ".xprofile",
    ".yarnrc",
    ".yarnrc.yml",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "bunfig.toml",
    "lefthook.toml",
    "lefthook.yaml",
    "lefthook.yml",
    "mise.toml",
];

/// Whether a file or folder of this name, in small letters, is protected.
pub fn is_protected_name(name: &str, is_file: bool) -> bool {
    PROTECTED_FOLDERS.contains(&name) || is_file && PROTECTED_FILES.contains(&name)
}

/// Whether a change of this file is always asked for. Letter case counts for nothing: on many disks it does not. A path
/// that is not certain counts where some of the name itself stands there.
pub(crate) fn is_protected(path: &str, context: &Context) -> bool {
    // What the line makes of other words, and nobody knows.
    if path.chars().all(|c| c == ANY) {
        return true;
    }
    let path = path.to_lowercase();
    let parts: Vec<&str> = path.split('/').collect();
    let named = parts.iter().enumerate().any(|(at, part)| {
        let above = at.checked_sub(1).and_then(|at| parts.get(at)).copied().unwrap_or_default();
        PROTECTED_FOLDERS.iter().any(|name| is(part, name))
            || PROTECTED_BELOW.iter().any(|(folder, name)| above == *folder && is(part, name))
            || at + 1 == parts.len() && PROTECTED_FILES.iter().any(|name| is(part, name))
    });
    (named || is_in(&path, &context.claude)) && !is_plan(&path, context)
        || is_of_all(&path)
        || is_in(&path, &context.ours)
}

/// Whether a part of a path is a name, or may be one where some of the name itself stands there.
fn is(part: &str, name: &str) -> bool {
    part == name || !is_literal(part) && !part.starts_with([ANY, STAR, ONE]) && may_be(part, name)
}

/// Whether a path, in small letters, decides for everyone on the machine.
pub(super) fn is_of_all(path: &str) -> bool {
    let below_etc = path.strip_prefix("/private").unwrap_or(path).strip_prefix("/etc/");
    let in_etc = below_etc.and_then(|rest| rest.split('/').next());
    in_etc.is_some_and(|part| PROTECTED_IN_ETC.iter().any(|name| is(part, name)))
        || PROTECTED_FOR_ALL.iter().any(|place| lies_in(path, place))
}

/// Whether a path, in small letters, is one of these places or lies in one.
pub(super) fn is_in(path: &str, places: &[String]) -> bool {
    places.iter().any(|place| lies_in(path, &place.to_lowercase()))
}

/// Whether this is one of the files in which Claude Code has the model write its plans, in plan mode: people are shown it
/// before anything follows from it.
fn is_plan(path: &str, context: &Context) -> bool {
    let homes = context.home.as_deref().into_iter().flat_map(|home| context.both(home));
    let folders = homes.map(|home| format!("{home}/.claude")).chain(context.claude.iter().cloned());
    let mut names = folders.filter_map(|folder| {
        let rest = path.strip_prefix(folder.to_lowercase().as_str())?;
        rest.strip_prefix("/plans/")?.strip_suffix(".md").map(str::to_owned)
    });
    names.any(|name| !name.is_empty() && !name.contains(['/', '.']))
}

/// The protected file that the call would change, or might: by its name or by where its links lead.
pub(crate) fn protected(call: &Call, action: &Action, context: &Context) -> Option<String> {
    let mut writes = action.accesses().into_iter().filter(|file| file.access == Access::Write);
    // Nothing lies in what is no folder.
    let is_nowhere = |path: &str| {
        call.no_folder.is_some() && path.rsplit_once('/').map(|(folder, _)| folder) == call.no_folder.as_deref()
    };
    let certain = writes.find(|file| {
        !file.path.as_deref().is_some_and(is_nowhere) && file.names(call).any(|path| is_protected(path, context))
    });
    if let Some(path) = certain.and_then(|file| file.path.clone()) {
        return Some(path);
    }
    let Action::Shell(plan) = action else { return None };
    if call.found.is_some() {
        return call.found.clone();
    }
    if let Some(program) = found_program(&plan.with_texts, context) {
        return Some(program);
    }
    let mut changed = plan.touched.files.iter().filter(|touch| touch.may_change && !is_nowhere(&touch.path));
    let is_one = |touch: &&Touch| {
        let own = Some(touch.path.as_str()).filter(|path| !crate::policy::words::path::has_dots(path));
        own.into_iter().chain(call.target(&touch.path)).any(|path| is_protected(path, context))
    };
    changed.find(is_one).map(|touch| in_words(&touch.path))
}

/// A program of ours that the line has another one look for, and that something may change: `cp x $(which portcullis)`.
fn found_program(suspects: &Suspects, context: &Context) -> Option<String> {
    let looks = |words: &[ShellWord]| {
        let words = started(words);
        let first = words.first().map_or("", |word| name_of(&word.text));
        matches!(first, "which" | "whereis" | "where" | "type" | "hash") || is_inert_command(words)
    };
    let sought = suspects.found.iter().filter(|command| looks(&command.words));
    let is_ours =
        |word: &&ShellWord| context.ours.iter().any(|ours| name_of(ours) == word.text && !word.text.is_empty());
    let found = sought.flat_map(|command| command.words.iter().skip(1)).find(is_ours)?;
    let is_open = |word: &ShellWord| suspects.variables.shapes(word).iter().any(|shape| shape.contains(ANY));
    let changes = |command: &Found| {
        let takes = command.words.iter().any(takes_from_elsewhere);
        let writes = command.redirects.iter().any(|redirect| redirect.way == Way::Out && is_open(&redirect.target));
        let changes = reading(&command.words) == Reading::Perhaps && !looks(&command.words);
        writes || changes && (takes || command.words.iter().skip(1).any(is_open))
    };
    suspects.found.iter().any(changes).then(|| found.text.clone())
}

/// `command -v x` says where x is.
fn is_inert_command(words: &[ShellWord]) -> bool {
    words.first().is_some_and(|word| word.text == "command")
        && words.get(1).is_some_and(|word| matches!(word.text.as_str(), "-v" | "-V"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_for_everyone_on_the_machine_is_protected() {
        let context = Context::of("/home/ann/project", Some("/home/ann"));
        for path in [
            "/etc/claude-code/managed-settings.json",
            "/etc/claude-code",
            "/private/etc/zshrc",
            "/Library/Application Support/ClaudeCode/managed-settings.json",
            "/etc/profile.d/a.sh",
            "/etc/ld.so.preload",
        ] {
            assert!(is_protected(path, &context), "{path}");
        }
        for path in ["/etc/hosts", "/etc/motd", "/home/ann/project/etc/profile", "/srv/etc/environment", "/etc"] {
            assert!(!is_protected(path, &context), "{path}");
        }
    }

    #[test]
    fn the_files_of_plan_mode_are_the_only_ones_of_claude_code_that_are_not_protected() {
        let context = Context::of("/home/ann/project", Some("/home/ann"));
        assert!(!is_protected("/home/ann/.claude/plans/make-it-brave-fox.md", &context));
        for path in [
            "/home/ann/.claude/settings.json",
            "/home/ann/.claude/plans/x.json",
            "/home/ann/.claude/plans/.md",
            "/home/ann/.claude/plans/../settings.md",
            "/home/ann/.claude/plans/sub/x.md",
            "/home/ann/project/.claude/plans/x.md",
            "/home/annabel/.claude/plans/x.md",
        ] {
            assert!(is_protected(path, &context), "{path}");
        }
    }
}
