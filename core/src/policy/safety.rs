//! What no rule and no mode approves: changes of protected files, and removals that cannot be made good.

use super::access::{Access, Deed};
use super::call::{Call, Surroundings};
use super::command::name_of;
use super::path::{absolute, lies_in};
use super::shell::Word;

/// Folders in which a change turns into commands that are run later, or into permissions.
const PROTECTED_FOLDERS: [&str; 12] = [
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
    ".vscode",
    ".yarn",
];

/// Files with the same effect.
const PROTECTED_FILES: [&str; 31] = [
    ".bash_aliases",
    ".bash_login",
    ".bash_logout",
    ".bash_profile",
    ".bashrc",
    ".bazelrc",
    ".claude.json",
    ".devcontainer.json",
    ".envrc",
    ".gitattributes",
    ".gitconfig",
    ".gitmodules",
    ".inputrc",
    ".mcp.json",
    ".netrc",
    ".npmrc",
    ".pnp.cjs",
    ".pnpmfile.cjs",
    ".pre-commit-config.yaml",
    ".profile",
    ".pypirc",
    ".ripgreprc",
    ".yarnrc",
    ".yarnrc.yml",
    ".zlogin",
    ".zlogout",
    ".zprofile",
    ".zshenv",
    ".zshrc",
    "bunfig.toml",
    "lefthook.yml",
];

/// Whether a change of this file is always asked for. Letter case counts for nothing: on many disks it does not.
pub(crate) fn is_protected(path: &str, around: &Surroundings) -> bool {
    let path = path.to_lowercase();
    let mut parts = path.split('/').peekable();
    let mut named = false;
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        named |= PROTECTED_FOLDERS.contains(&part) || is_last && PROTECTED_FILES.contains(&part);
    }
    named || around.ours.iter().any(|ours| lies_in(&path, &ours.to_lowercase()))
}

/// The protected file that the call would change, by its name or by where its links lead.
pub(crate) fn protected(call: &Call, deed: &Deed, around: &Surroundings) -> Option<String> {
    let writes = deed.touches().into_iter().filter(|touch| touch.access == Access::Write);
    writes.filter(|touch| touch.names(call).any(|path| is_protected(path, around))).find_map(|touch| touch.path.clone())
}

/// What a command would remove that is never removed unasked: the root and what is right below it, the home, the
/// working folder and those above it, and what only a variable names.
pub(crate) fn critical_removal(deed: &Deed, around: &Surroundings) -> Option<String> {
    let Deed::Shell(plan) = deed else { return None };
    plan.suspects.iter().find_map(|words| {
        let (first, rest) = words.split_first()?;
        let removes = |word: &Word| matches!(name_of(&word.text), "rm" | "rmdir");
        let recursive = |word: &Word| word.is_flag() && word.text.contains(['r', 'R']);
        if name_of(&first.text) == "xargs" && rest.iter().any(removes) && rest.iter().any(recursive) {
            return Some("what xargs is given".to_owned());
        }
        if !removes(first) {
            return None;
        }
        rest.iter().find(|word| !word.is_flag() && is_critical(word, around)).map(|word| word.raw.clone())
    })
}

fn is_critical(word: &Word, around: &Surroundings) -> bool {
    let text = word.text.replace("${HOME}", "~").replace("$HOME", "~");
    // `x/*` takes all that is in x, which is as bad as x.
    let (folder, all_in_it) = match text.strip_suffix('*') {
        Some(folder) if folder.is_empty() || folder.ends_with('/') => (folder, true),
        _ => (text.as_str(), false),
    };
    if folder.starts_with(['$', '`']) {
        let plain_below = folder.split_once('/').is_some_and(|(_, rest)| !rest.is_empty());
        return !plain_below;
    }
    let Some(path) = absolute(folder, &around.cwd, around.home.as_deref()) else { return true };
    let top = path.matches('/').count() == 1;
    let holds = |place: &str| lies_in(place, &path);
    let empty = folder.is_empty() && !all_in_it;
    !empty && (top || holds(&around.cwd) || holds(&around.started) || around.home.as_deref().is_some_and(holds))
}
