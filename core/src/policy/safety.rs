//! What no rule and no mode approves: changes of protected files, and removals that cannot be made good.

use super::access::{Access, Action, Plan, changes_folder};
use super::call::{Call, Context};
use super::command::name_of;
use super::path::{absolute, lies_in};
use super::shell::ShellWord;

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

/// Whether a file or folder of this name, in small letters, is protected.
pub fn is_protected_name(name: &str, is_file: bool) -> bool {
    PROTECTED_FOLDERS.contains(&name) || is_file && PROTECTED_FILES.contains(&name)
}

/// Whether a change of this file is always asked for. Letter case counts for nothing: on many disks it does not.
pub(crate) fn is_protected(path: &str, context: &Context) -> bool {
    let path = path.to_lowercase();
    let mut parts = path.split('/').peekable();
    let mut named = false;
    while let Some(part) = parts.next() {
        named |= is_protected_name(part, parts.peek().is_none());
    }
    named && !is_plan(&path, context) || context.ours.iter().any(|ours| lies_in(&path, &ours.to_lowercase()))
}

/// Whether this is one of the files in which Claude Code has the model write its plans, in plan mode: people are shown it
/// before anything follows from it.
fn is_plan(path: &str, context: &Context) -> bool {
    let homes = context.home.as_deref().into_iter().flat_map(|home| context.both(home));
    let mut names = homes.filter_map(|home| {
        let rest = path.strip_prefix(home.to_lowercase().as_str())?;
        rest.strip_prefix("/.claude/plans/")?.strip_suffix(".md").map(str::to_owned)
    });
    names.any(|name| !name.is_empty() && !name.contains(['/', '.']))
}

/// The protected file that the call would change, by its name or by where its links lead.
pub(crate) fn protected(call: &Call, action: &Action, context: &Context) -> Option<String> {
    let writes = action.accesses().into_iter().filter(|file| file.access == Access::Write);
    writes.filter(|file| file.names(call).any(|path| is_protected(path, context))).find_map(|file| file.path.clone())
}

/// What a command would remove that is never removed unasked: the root and what is right below it, the home, the
/// working folder and those above it, and what only a variable or another command names.
pub(crate) fn critical_removal(action: &Action, context: &Context) -> Option<String> {
    let Action::Shell(plan) = action else { return None };
    let removes = |word: &ShellWord| matches!(name_of(&word.text), "rm" | "rmdir");
    let is_removal = |words: &&Vec<ShellWord>| words.iter().any(removes);
    if !plan.suspects.iter().any(|words| is_removal(&words)) {
        return None;
    }
    let folders = folders(plan, context);
    plan.suspects.iter().find_map(|words| {
        let (first, rest) = words.split_first()?;
        let recursive = |word: &ShellWord| word.is_flag() && word.text.contains(['r', 'R']);
        if name_of(&first.text) == "xargs" && rest.iter().any(removes) && rest.iter().any(recursive) {
            return Some("what xargs is given".to_owned());
        }
        if !removes(first) {
            return None;
        }
        let Some(folders) = &folders else { return Some("something in one of many folders".to_owned()) };
        let is_critical = |word: &&ShellWord| folders.iter().any(|folder| is_critical(word, folder, context));
        rest.iter().filter(|word| !word.is_flag()).find(is_critical).map(|word| word.raw.clone())
    })
}

/// Where the commands of a line may run, as far as it says so; none if that would be too many.
fn folders(plan: &Plan, context: &Context) -> Option<Vec<String>> {
    const MOST: usize = 64;
    let mut folders: Vec<String> = context.both(&context.cwd).map(str::to_owned).collect();
    for words in plan.suspects.iter().filter(|words| changes_folder(&words[0].text)) {
        let to = words[1..].iter().find(|word| !word.is_flag()).map_or("~", |word| word.text.as_str());
        let to = with_home(to);
        for at in 0..folders.len() {
            let moved = absolute(&to, &folders[at], context.home.as_deref());
            folders.extend(moved.filter(|moved| !folders.contains(moved)));
        }
        if folders.len() > MOST {
            return None;
        }
    }
    Some(folders)
}

fn with_home(text: &str) -> String {
    text.replace("${HOME}", "~").replace("$HOME", "~")
}

fn is_critical(word: &ShellWord, from: &str, context: &Context) -> bool {
    let text = with_home(&word.text);
    // `x/*` takes all that is in x, which is as bad as x; so do `x/**` and `x/*/`, or nearly.
    let mut folder = text.as_str();
    let mut all_in_it = false;
    loop {
        let whole = folder.trim_end_matches('/');
        let last = whole.rsplit('/').next().unwrap_or_default();
        if !last.contains('*') || !last.chars().all(|c| matches!(c, '*' | '.')) {
            break;
        }
        folder = &whole[..whole.len() - last.len()];
        all_in_it = true;
    }
    if folder.is_empty() && !all_in_it {
        // What another command prints may be anything.
        return !word.is_literal;
    }
    if folder.starts_with(['$', '`']) {
        let plain_below = folder.split_once('/').is_some_and(|(_, rest)| !without_variables(rest).is_empty());
        return !plain_below;
    }
    // A variable may be empty, and then `~/$X` is the home.
    let folder = without_variables(folder);
    let Some(path) = absolute(&folder, from, context.home.as_deref()) else { return true };
    let top = path.matches('/').count() == 1;
    let holds = |place: &str| lies_in(place, &path);
    let places = [Some(context.cwd.as_str()), Some(&context.started), context.home.as_deref()];
    top || places.into_iter().flatten().flat_map(|place| context.both(place)).any(holds)
}

fn without_variables(text: &str) -> String {
    let mut parts = text.split('$');
    let mut left = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = match part.strip_prefix('{') {
            Some(braced) => braced.split_once('}').map_or("", |(_, rest)| rest),
            None => part.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '?')),
        };
        left.push_str(rest);
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

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
