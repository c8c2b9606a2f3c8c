//! What git removes because it does not know it: protected files that a project has for this machine alone.

use super::safety::PROTECTED_FILES;
use crate::policy::commands::command::name_of;
use crate::policy::commands::git_files::subcommand;
use crate::policy::commands::inert::started;
use crate::policy::files::call::{Call, Context, Disk};
use crate::policy::files::folders::Folders;
use crate::policy::lines::suspects::Suspects;
use crate::policy::shell::ShellWord;
use crate::policy::words::options;
use crate::policy::words::path::lies_in;

/// Files that say what an agent may do here, and that git may not know.
const GUARDING: [&str; 3] = [".claude/settings.json", ".mcp.json", ".portcullis/rules.toml"];
/// The same, which git is told to ignore where an agent has made it.
const IGNORED: &str = ".claude/settings.local.json";

/// A file that guards and that goes with all that git does not know.
pub(crate) fn cleaned(suspects: &Suspects, call: &Call, context: &Context, disk: &dyn Disk) -> Option<String> {
    let mut cleaning = suspects.commands.iter().filter_map(|suspect| Cleaning::of(&suspect.words)).peekable();
    cleaning.peek()?;
    let folders = Folders::of(suspects, call, context).all;
    let is_there = |path: &str| disk.lines(path).is_some() && !disk.is_tracked(path);
    cleaning.find_map(|cleaning| {
        let names = GUARDING.into_iter().chain(cleaning.takes_ignored.then_some(IGNORED));
        let names: Vec<&str> = names.filter(|name| cleaning.means(name) && !cleaning.spares(name)).collect();
        let all = folders.iter().flat_map(|folder| names.iter().map(move |name| (folder, *name)));
        let left = all.filter(|(folder, name)| cleaning.takes_ignored || !is_ignored(folder, name, disk));
        let guarding = left.map(|(folder, name)| format!("{folder}/{name}")).find(|path| is_there(path));
        guarding.or_else(|| folders.iter().find_map(|folder| cleaning.protected(folder, disk)))
    })
}

/// Whether git clears up the folder that it is in, since it is told of no other.
pub(crate) fn cleans_here(words: &[ShellWord]) -> bool {
    Cleaning::of(words).is_some_and(|cleaning| cleaning.is_final && cleaning.places.is_empty())
}

/// A command that removes what git does not know, or puts it away.
struct Cleaning<'line> {
    takes_ignored: bool,
    /// What it takes is gone, and not only put away.
    is_final: bool,
    /// What it is limited to.
    places: Vec<&'line str>,
    spared: Vec<&'line str>,
}

impl<'line> Cleaning<'line> {
    fn of(words: &'line [ShellWord]) -> Option<Self> {
        let (_, rest) = started(words).split_first().filter(|(first, _)| name_of(&first.text) == "git")?;
        let (sub, words) = subcommand(rest)?;
        match sub {
            "clean" => Self::of_clean(words),
            "stash" => {
                let has = |letters: &str, longs: &[&str]| {
                    options::has(words.iter().map(|word| word.text.as_str()), letters, longs)
                };
                let takes_ignored = has("a", &["--all"]);
                let takes_some = takes_ignored || has("u", &["--include-untracked"]);
                takes_some.then(|| Self { takes_ignored, is_final: false, places: vec![], spared: vec![] })
            }
            _ => None,
        }
    }

    /// The words behind `git clean`; none where it only says what it would do.
    fn of_clean(words: &'line [ShellWord]) -> Option<Self> {
        let mut cleaning = Self { takes_ignored: false, is_final: true, places: vec![], spared: vec![] };
        let mut rest = words.iter().map(|word| word.text.as_str());
        let mut is_over = false;
        let mut only_says = false;
        while let Some(word) = rest.next() {
            let is_flag = word.len() > 1 && word.starts_with('-') && !is_over;
            match word.strip_prefix("--").filter(|_| is_flag) {
                Some("") => is_over = true,
                Some(long) => match long.split_once('=') {
                    Some((_, value)) => cleaning.spared.push(value),
                    None if "exclude".starts_with(long) => cleaning.spared.extend(rest.next()),
                    None => only_says |= "dry-run".starts_with(long),
                },
                None if is_flag => {
                    // What stands behind an e is what is spared, whatever its letters are.
                    let (letters, glued) = word[1..].split_once('e').map_or((&word[1..], None), |(a, b)| (a, Some(b)));
                    only_says |= letters.contains('n');
                    cleaning.takes_ignored |= letters.contains(['x', 'X']);
                    match glued {
                        Some("") => cleaning.spared.extend(rest.next()),
                        Some(glued) => cleaning.spared.push(glued),
                        None => {}
                    }
                }
                None => cleaning.places.push(word.trim_start_matches("./")),
            }
        }
        (!only_says).then_some(cleaning)
    }

    /// A protected file that git does not know, right in a folder. Deeper ones are those of parts of a project, and folders
    /// of editors are made anew.
    fn protected(&self, folder: &str, disk: &dyn Disk) -> Option<String> {
        let is_taken = |name: &&str| {
            self.is_final
                && self.means(name)
                && !self.spares(name)
                && (self.takes_ignored || !is_ignored(folder, name, disk))
        };
        let is_unknown = |path: &String| disk.lines(path).is_some() && !disk.is_tracked(path);
        PROTECTED_FILES.into_iter().filter(is_taken).map(|name| format!("{folder}/{name}")).find(is_unknown)
    }

    /// Whether what it is limited to may hold a name of the folder it is in.
    fn means(&self, name: &str) -> bool {
        // A pattern, or a place that is not certain, may be any.
        let is_any = |place: &str| {
            matches!(place, "" | ".")
                || place.starts_with('/')
                || place.contains(['*', '?', '[', '{', ':', '$', '`', '~', '\\'])
                || ["..", "//", "/./"].iter().any(|part| place.contains(part))
        };
        let (name, places) = (name.to_lowercase(), || self.places.iter().map(|place| place.to_lowercase()));
        self.places.is_empty() || places().any(|place| is_any(&place) || lies_in(&name, &place))
    }

    fn spares(&self, name: &str) -> bool {
        self.spared.iter().any(|pattern| is_meant(pattern, name))
    }
}

/// Whether a line of an ignore file plainly means a file, or the folder it lies in.
fn is_meant(line: &str, name: &str) -> bool {
    let line = line.trim().trim_start_matches("**/").trim_matches('/');
    !line.is_empty() && (line == name || name.split('/').any(|part| part == line))
}

fn is_ignored(folder: &str, name: &str, disk: &dyn Disk) -> bool {
    let lines = disk.lines(&format!("{folder}/.gitignore")).unwrap_or_default();
    lines.iter().any(|line| is_meant(line, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_spares_is_neither_an_option_nor_a_place() {
        let here = |line: &str| {
            let words: Vec<ShellWord> = line.split(' ').map(ShellWord::plain).collect();
            cleans_here(&words)
        };
        for line in [
            "git clean -fdx",
            "git clean -fdx -e keep",
            "/usr/bin/git clean -fdx",
            "git clean -fdx -enode",
            "git clean -fdx -e -n",
            "git clean -fd --exclude=n --exclude m",
            "git -C . clean -fd --excl n",
        ] {
            assert!(here(line), "{line}");
        }
        for line in [
            "git clean -n",
            "git clean -fdxn",
            "git clean --dry-run",
            "git clean -fd src",
            "git clean -fd -- -e",
            "git stash -u",
        ] {
            assert!(!here(line), "{line}");
        }
    }
}
