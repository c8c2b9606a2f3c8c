//! What git removes because it does not know it: protected files that a project has for this machine alone.

use super::call::{Call, Context, Disk};
use super::command::name_of;
use super::folders::Folders;
use super::git_files::subcommand;
use super::inert::started;
use super::options;
use super::safety::{PROTECTED_FILES, PROTECTED_FOLDERS};
use super::shell::ShellWord;
use super::suspects::Suspects;

/// Files that say what an agent may do here, and that git may not know.
const GUARDING: [&str; 3] = [".claude/settings.json", ".mcp.json", ".portcullis/rules.toml"];
/// The same, which git is told to ignore where an agent has made it.
const IGNORED: &str = ".claude/settings.local.json";

/// A file that guards and that goes with all that git does not know.
pub(super) fn cleaned(suspects: &Suspects, call: &Call, context: &Context, disk: &dyn Disk) -> Option<String> {
    let mut cleaning = suspects.commands.iter().filter_map(|suspect| Cleaning::of(&suspect.words)).peekable();
    cleaning.peek()?;
    let folders = Folders::of(suspects, call, context).all;
    let is_there = |path: &str| disk.lines(path).is_some() && !disk.is_tracked(path);
    cleaning.find_map(|cleaning| {
        let names = GUARDING.into_iter().chain(cleaning.takes_ignored.then_some(IGNORED));
        let names: Vec<&str> = names.filter(|name| !cleaning.spares(name)).collect();
        let all = folders.iter().flat_map(|folder| names.iter().map(move |name| (folder, *name)));
        let left = all.filter(|(folder, name)| cleaning.takes_ignored || !is_ignored(folder, name, disk));
        let guarding = left.map(|(folder, name)| format!("{folder}/{name}")).find(|path| is_there(path));
        guarding.or_else(|| folders.iter().find_map(|folder| cleaning.protected(folder, disk)))
    })
}

/// A command that removes what git does not know, or puts it away.
struct Cleaning<'line> {
    takes_ignored: bool,
    /// What it takes is gone, and not only put away.
    is_final: bool,
    takes_folders: bool,
    spared: Vec<&'line str>,
}

impl<'line> Cleaning<'line> {
    fn of(words: &'line [ShellWord]) -> Option<Self> {
        let (_, rest) = started(words).split_first().filter(|(first, _)| name_of(&first.text) == "git")?;
        let (sub, words) = subcommand(rest)?;
        let has =
            |letters: &str, longs: &[&str]| options::has(words.iter().map(|word| word.text.as_str()), letters, longs);
        let takes_ignored = match sub {
            "clean" if has("n", &["--dry-run"]) => return None,
            "clean" => has("xX", &[]),
            "stash" if has("au", &["--all", "--include-untracked"]) => has("a", &["--all"]),
            _ => return None,
        };
        // What stands behind `-e`.
        let values = words.iter().enumerate().filter_map(|(at, word)| {
            let value = options::value(&word.text, "e", &["--exclude"]).filter(|_| sub == "clean")?;
            if value.is_empty() { words.get(at + 1).map(|word| word.text.as_str()) } else { Some(value) }
        });
        let (is_final, takes_folders) = (sub == "clean", has("d", &[]));
        Some(Self { takes_ignored, is_final, takes_folders, spared: values.collect() })
    }

    /// A protected file that git does not know, right in a folder or in a protected one there. Deeper ones are those of parts
    /// of a project.
    fn protected(&self, folder: &str, disk: &dyn Disk) -> Option<String> {
        let is_taken =
            |name: &str| self.is_final && !self.spares(name) && (self.takes_ignored || !is_ignored(folder, name, disk));
        let whole = |name: &str| format!("{folder}/{name}");
        let is_unknown = |path: &String| disk.lines(path).is_some() && !disk.is_tracked(path);
        let mut files = PROTECTED_FILES.into_iter().filter(|name| is_taken(name)).map(whole);
        if let Some(file) = files.find(is_unknown) {
            return Some(file);
        }
        // git never takes what it keeps its own things in; of ours, the files that guard were looked at.
        let is_other = |name: &&str| self.takes_folders && !matches!(*name, ".git" | ".claude" | ".portcullis");
        let folders = PROTECTED_FOLDERS.into_iter().filter(is_other);
        folders.filter(|name| is_taken(name)).map(whole).filter(|path| disk.is_folder(path)).find(|path| {
            let (mut has_files, mut is_known) = (false, false);
            let complete = disk.walk(path, &mut |file| {
                has_files |= !disk.is_folder(file);
                is_known |= disk.is_tracked(file);
            });
            !complete || has_files && !is_known
        })
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
