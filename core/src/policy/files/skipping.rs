//! What searches pass over by themselves: names that begin with a dot, and what a project's ignore files name.

use super::call::Disk;
use crate::policy::commands::command::name_of;
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::names::leaving_out::LeftOut;
use crate::policy::shell::ShellWord;
use crate::policy::words::candidates::has_class;
use crate::policy::words::glob::segment_matches;
use crate::policy::words::options;
use crate::policy::words::path::below;

/// The files in which it stands what is passed over, and what is not.
const IGNORE_FILES: [&str; 3] = [".gitignore", ".ignore", ".rgignore"];

/// The variable that names a file with more options for a search.
const CONFIGURATION: &str = "RIPGREP_CONFIG_PATH";

/// What a search passes over in the folders that it goes into.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct PassedOver {
    /// Hidden and ignored files.
    pub(crate) ignored: bool,
    /// Folders and files of these names.
    folders: Vec<String>,
    files: Vec<String>,
    /// All files but those of these names; none for no others.
    others: Vec<String>,
}

impl PassedOver {
    pub(crate) fn by(command: &Found, left_out: &[LeftOut<'_>], suspects: &Suspects) -> Self {
        let words = started(&command.words);
        let globs: Vec<&LeftOut<'_>> = left_out.iter().filter(|left| is_glob(left)).collect();
        let taken: Vec<&LeftOut<'_>> = globs.iter().copied().filter(|left| !left.value.starts_with('!')).collect();
        let is_plain = passes_over(command, &globs, suspects);
        // What a glob takes in, it takes in hidden as well, and nothing else.
        let mut passed_over = Self { ignored: is_plain && taken.is_empty(), ..Self::default() };
        if is_plain && taken.iter().all(|left| is_plain_glob(left.value)) {
            passed_over.others = taken.iter().map(|left| left.value.to_owned()).collect();
        }
        // Links lead elsewhere by other names.
        let follows =
            options::has(words.iter().map(|word| word.text.as_str()), "Rd", &["--dereference-r", "--directories"]);
        if !is_grep(words) || follows || !command.assignments.is_empty() {
            return passed_over;
        }
        let [folders, files, others] = ["--exclude-dir", "--exclude", "--include"].map(|option| {
            let values = left_out.iter().filter(|left| left.option == option).map(|left| left.value);
            values.map(|value| value.trim_end_matches('/').to_owned()).collect::<Vec<_>>()
        });
        passed_over.folders = folders;
        // Of both, the last one counts that fits.
        if files.is_empty() || others.is_empty() {
            (passed_over.files, passed_over.others) = (files, others);
        }
        passed_over
    }

    /// Whether a file below a folder that is searched is one of them.
    pub(crate) fn has(&self, path: &str, folder: &str) -> bool {
        let below = below(path, folder).unwrap_or_default();
        let (above, name) = below.rsplit_once('/').unwrap_or(("", below));
        // What a class of letters stands for is not read here.
        let surely = |pattern: &&String| !has_class(pattern) && !pattern.contains('\\');
        let is = |patterns: &[String], name: &str| {
            patterns.iter().filter(surely).any(|pattern| segment_matches(pattern, name))
        };
        above.split('/').any(|part| is(&self.folders, part))
            || is(&self.files, name)
            || !self.others.is_empty() && !self.others.iter().any(|one| !surely(&one) || may_take_in(one, above, name))
    }
}

/// Whether a value is a glob of rg, which narrows what it reads.
pub(crate) fn is_glob(left: &LeftOut<'_>) -> bool {
    matches!(left.option, "--glob" | "-g")
}

/// Whether a glob is read here as rg reads it: in braces are several, and a comment or nothing is none.
fn is_plain_glob(glob: &str) -> bool {
    glob.trim() == glob && !glob.trim_matches('/').is_empty() && !glob.starts_with('#') && !glob.contains(['{', '}'])
}

/// Whether a pattern may take in a file of this name below these folders. Where it names folders itself, the last of them
/// may lie anywhere.
fn may_take_in(pattern: &str, above: &str, name: &str) -> bool {
    let (folders, last) = pattern.trim_end_matches('/').rsplit_once('/').unwrap_or(("", pattern));
    if last != "**" {
        return segment_matches(last, name);
    }
    let folder = folders.rsplit('/').next().unwrap_or_default();
    folder.is_empty() || above.split('/').any(|part| segment_matches(folder, part))
}

fn is_grep(words: &[ShellWord]) -> bool {
    words.first().is_some_and(|word| word.is_literal && matches!(word.text.as_str(), "grep" | "egrep" | "fgrep"))
}

/// Whether a search surely passes over hidden and ignored files, but for what these globs take in.
fn passes_over(command: &Found, globs: &[&LeftOut<'_>], suspects: &Suspects) -> bool {
    let Some((first, rest)) = started(&command.words).split_first() else { return false };
    // A configuration file may be named by a variable.
    let is_plain = name_of(&first.text) == "rg" && first.is_literal && !suspects.variables.sets(CONFIGURATION);
    let finds_more = |text: &str| {
        let longs =
            ["--hidden", "--unrestricted", "--ignore-file", "--pre", "--glob", "--iglob", "--follow", "--no-ignore"];
        options::value(text, "u.gL", &longs).is_some()
    };
    let before = command.words.len() - rest.len();
    let is_of_glob = |at: usize, text: &str| {
        let next = text == "-g" || text == "--glob";
        globs.iter().any(|glob| glob.at == before + at || next && glob.at == before + at + 1)
    };
    let mut words = rest.iter().enumerate();
    is_plain && words.all(|(at, word)| word.is_known() && (is_of_glob(at, &word.text) || !finds_more(&word.text)))
}

/// The ignore files of a folder that is searched, as far as they were found.
pub(crate) struct Ignores {
    /// The folder of each, and its lines.
    files: Vec<(String, Vec<String>)>,
    /// Elsewhere than in a repository, what git ignores counts for nothing.
    is_repository: bool,
}

impl Ignores {
    /// Those below a folder and above it.
    pub(crate) fn of(folder: &str, below: &[String], disk: &dyn Disk) -> Self {
        let mut above = vec![];
        let mut at = folder.trim_end_matches('/');
        while let Some((upper, _)) = at.rsplit_once('/') {
            above.push(at.to_owned());
            at = upper;
        }
        let is_repository = above.iter().any(|folder| disk.lines(&format!("{folder}/.git/HEAD")).is_some());
        let above = above.iter().flat_map(|folder| IGNORE_FILES.map(|name| format!("{folder}/{name}")));
        let all: Vec<String> = above.chain(below.iter().cloned()).collect();
        let read = |path: String| {
            let lines = disk.lines(&path)?;
            path.rsplit_once('/').map(|(folder, _)| (folder.to_owned(), lines))
        };
        Self { files: all.into_iter().filter_map(read).collect(), is_repository }
    }

    /// Whether a file below a folder that is searched is surely passed over.
    pub(crate) fn hide(&self, path: &str, folder: &str) -> bool {
        let parts: Vec<&str> = below(path, folder).unwrap_or_default().split('/').collect();
        let is_hidden = |part: &&str| part.starts_with('.');
        let is_taken_in = |part: &str| {
            let lines = self.files.iter().flat_map(|(_, lines)| lines);
            lines.filter_map(|line| line.trim().strip_prefix('!')).any(|line| may_name(line, part))
        };
        parts.iter().any(|part| (is_hidden(part) || self.is_repository && self.name(part, path)) && !is_taken_in(part))
    }

    /// Whether a line names just this part of a path. Patterns are left to whoever searches.
    fn name(&self, part: &str, path: &str) -> bool {
        let files = self.files.iter().filter(|(folder, _)| below(path, folder).is_some());
        let is_it = |line: &String| line.trim().trim_end_matches('/').trim_start_matches('/') == part;
        let anchored = |line: &String| line.starts_with('/');
        files.clone().any(|(folder, lines)| {
            let is_first = below(path, folder).is_some_and(|below| below.split('/').next() == Some(part));
            lines.iter().any(|line| is_it(line) && (is_first || !anchored(line)))
        })
    }
}

/// Whether the end of a pattern may be this name.
fn may_name(line: &str, part: &str) -> bool {
    let last = line.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    segment_matches(last, part) || last.contains("**")
}

/// Whether a file is one in which it stands what is passed over.
pub(crate) fn is_ignore_file(path: &str) -> bool {
    IGNORE_FILES.contains(&path.rsplit('/').next().unwrap_or_default())
}
