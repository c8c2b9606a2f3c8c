//! Where the commands of a line may run: the folder it begins in, and each one that something in it may go to.
//!
//! A `cd` may fail, so the folders before it count as well; a function or a loop may run what stands before it, so for deny
//! and ask rules the order counts for nothing.

use super::call::{Call, Context};
use super::linking::through_links;
use crate::policy::commands::command::name_of;
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::{Found, Suspect, Suspects};
use crate::policy::names::handing::{fills_names, marks};
use crate::policy::names::implied::settings;
use crate::policy::names::places::{ABOVE, prints_folder_above};
use crate::policy::names::printing::{Printed, names_printed, printed};
use crate::policy::shell::{ANY, ONE, STAR, ShellWord};
use crate::policy::words::candidates::as_pattern;
use crate::policy::words::path::{absolute, has_dots, lies_in, with_dots};
use crate::policy::words::processes::without_proc;
use crate::policy::words::values::is_literal;

/// More folders than this are not followed.
const MOST: usize = 32;

/// The folders in which a command may find itself.
#[derive(Clone, Debug)]
pub(crate) struct Folders {
    pub(crate) all: Vec<String>,
    /// There are no others.
    pub(crate) is_complete: bool,
}

impl Folders {
    /// Where a line begins.
    pub(crate) fn at_start(context: &Context) -> Self {
        Self { all: context.both(&context.cwd).map(str::to_owned).collect(), is_complete: true }
    }

    /// Every folder that a line may go to.
    pub(crate) fn of(suspects: &Suspects, call: &Call, context: &Context) -> Self {
        let mut folders = Self::at_start(context);
        let mut unknown = false;
        let marks = marks(suspects);
        let told = suspects.found.iter().flat_map(told_to_git);
        for to in suspects.commands.iter().flat_map(|suspect| targets(&suspect.words)).chain(told) {
            for mut shape in suspects.variables.spellings(&to) {
                marks.iter().for_each(|mark| shape = shape.replace(mark, &ANY.to_string()));
                unknown |= !folders.enter(&shape, call, context);
                for led in through_links(&shape, &suspects.found) {
                    folders.enter(&led, call, context);
                }
                // Below what a command prints that is known.
                let below = shape.rsplit(ANY).next().unwrap_or_default().trim_start_matches('/').to_owned();
                if below.len() < shape.len() && shape.contains(ANY) && !below.is_empty() {
                    let printed = suspects.found.iter().filter(|command| command.is_nested);
                    let names = printed.flat_map(|command| names_printed(command, suspects));
                    for name in names.chain([".", ".."].map(str::to_owned)).take(MOST).chain(above(suspects, context)) {
                        folders.enter(&format!("{name}/{below}"), call, context);
                    }
                }
            }
        }
        if unknown {
            folders.enter_any(suspects, context);
        }
        folders.is_complete &= folders.all.len() <= MOST && !looks_elsewhere(suspects);
        folders
    }

    /// Goes to a folder from each of these, and says whether it is known which one that is.
    pub(crate) fn enter(&mut self, shape: &str, call: &Call, context: &Context) -> bool {
        if shape.contains(ANY) {
            return false;
        }
        let seen = |folder: &String| seen_from(shape, folder, context);
        let mut places: Vec<String> = self.all.iter().take(MOST + 1).filter_map(seen).collect();
        // Where a shell finds nothing by the name without its dots, it goes where the links lead.
        if has_dots(shape) && is_literal(shape) {
            let dotted = self.all.iter().map(|folder| with_dots(shape, folder, context.home.as_deref()));
            places.extend(dotted.filter_map(|path| call.target(&path).map(str::to_owned)));
        }
        let mut is_known = true;
        for place in places {
            let made = match is_literal(&place) {
                true => Some(std::slice::from_ref(&place)),
                false => call.expansion(&place),
            };
            // A pattern that nobody filled in may be any folder.
            is_known &= made.is_some();
            for folder in made.unwrap_or_default() {
                if self.all.len() <= MOST && !self.all.contains(folder) {
                    self.all.push(folder.clone());
                }
            }
        }
        is_known
    }

    /// Goes to any place that the line names.
    fn enter_any(&mut self, suspects: &Suspects, context: &Context) {
        let words = suspects.found.iter().flat_map(|command| command.words.iter().skip(1));
        let is_place = |text: &str| text.starts_with(['/', '~']) || text.contains("..") || !text.contains(['-', '=']);
        let places = words.filter(|word| is_place(&word.text));
        let places = places.map(|word| word.text.as_str()).take(MOST);
        let places = prints_git_folder(suspects).then_some(GIT_FOLDER).into_iter().chain(places);
        let reads = suspects.found.iter().any(|command| fills_names(&command.words));
        let printed = suspects.found.iter().filter(|command| command.is_nested || reads);
        let printed =
            printed.flat_map(|command| names_printed(command, suspects)).take(MOST).map(|name| as_pattern(&name));
        let places = places.map(str::to_owned).chain(listed(suspects)).chain(printed).chain(above(suspects, context));
        self.all.extend(places.filter_map(|place| absolute(&place, &context.cwd, context.home.as_deref())));
        self.all.sort();
        self.all.dedup();
    }
}

/// The folders above the one that a line begins in, where something in it prints one of them. Neither the home nor what it
/// lies in is a project.
fn above(suspects: &Suspects, context: &Context) -> Vec<String> {
    if !suspects.found.iter().any(|command| prints_folder_above(command, suspects)) {
        return vec![];
    }
    let is_project = |place: &String| {
        place.len() > 1 && *place != context.cwd && context.home.as_deref().is_none_or(|home| !lies_in(home, place))
    };
    ABOVE.iter().filter_map(|name| absolute(name, &context.cwd, None)).filter(is_project).collect()
}

/// The folders of which commands print names that others may go to, as patterns.
fn listed(suspects: &Suspects) -> Vec<String> {
    let mut places = vec![];
    let reads = suspects.found.iter().any(|command| fills_names(&command.words));
    for command in &suspects.found {
        let words = started(&command.words);
        let Some((first, rest)) = words.split_first() else { continue };
        let shapes = |word: &ShellWord| suspects.variables.spellings(word);
        let named: Vec<String> = rest.iter().filter(|word| !word.is_flag()).flat_map(shapes).collect();
        let patterns = named.iter().filter(|shape| shape.contains([STAR, ONE]) && !shape.contains(ANY)).cloned();
        let below = match name_of(&first.text) {
            "ls" | "echo" | "printf" | "basename" | "dirname" | "realpath" | "readlink" => Some(STAR.to_string()),
            "find" | "fd" | "tree" | "git" | "rg" | "grep" | "du" => Some(format!("{STAR}{STAR}")),
            _ => None,
        };
        let Some(below) = below.filter(|_| command.is_nested || reads) else { continue };
        places.extend(patterns);
        if matches!(printed(command), Printed::Files) {
            let roots = named.iter().filter(|shape| is_literal(shape) && !shape.contains('$')).cloned();
            let roots: Vec<String> = roots.collect();
            let roots = if roots.is_empty() { vec![".".to_owned()] } else { roots };
            places.extend(roots.iter().map(|root| format!("{root}/{below}")));
        }
    }
    places.truncate(MOST);
    places
}

/// Where git keeps what is its own, by its usual name.
pub(crate) const GIT_FOLDER: &str = ".git";

/// Whether a command prints the name of that folder, or of something in it.
pub(crate) fn prints_git_folder(suspects: &Suspects) -> bool {
    suspects.found.iter().any(|command| {
        let has =
            |begins: &[&str]| command.words.iter().any(|word| begins.iter().any(|one| word.text.starts_with(one)));
        has(&["rev-parse"]) && has(&["--git-", "--absolute-git", "--shared-index"])
    })
}

/// What is written, seen from a folder. `~+` is that folder, and `~-` one of those before it.
fn seen_from(written: &str, folder: &str, context: &Context) -> Option<String> {
    let (first, below) = written.split_once('/').unwrap_or((written, ""));
    let is_stack = first.starts_with("~+") || first.starts_with("~-") || first == "-";
    absolute(&without_proc(if is_stack { below } else { written }, folder), folder, context.home.as_deref())
}

/// Whether `cd` looks for names in places that only a shell knows.
fn looks_elsewhere(suspects: &Suspects) -> bool {
    let sets = |name: &str| name == "CDPATH";
    suspects.found.iter().any(|command| {
        command.assignments.iter().any(|(name, _)| sets(name))
            || command.words.iter().any(|word| word.text.starts_with("CDPATH=") || word.text == "cdable_vars")
    })
}

/// The folders that a command goes to, or has another go to.
pub(crate) fn targets(words: &[ShellWord]) -> Vec<ShellWord> {
    const FLAGS: [&str; 7] = ["-C", "-D", "--chdir", "--directory", "--working-directory", "--work-tree", "--cwd"];
    let Some((first, rest)) = words.split_first() else { return vec![] };
    if changes_folder(&first.text) {
        let is_flag = |word: &&ShellWord| word.is_flag() && word.text != "-";
        return vec![match rest.iter().find(|word| !is_flag(word)) {
            None => ShellWord::plain("~"),
            Some(word) if word.text == "-" => ShellWord::plain("~-"),
            Some(folder) => folder.clone(),
        }];
    }
    // Options that are something else with other programs.
    let more: &[&str] = match name_of(&first.text) {
        "unshare" | "nsenter" | "proot" => &["--wd", "--root", "-w", "-R", "-r"],
        "tmux" | "daemonize" => &["-c"],
        "pnpm" => &["--dir"],
        "firejail" => &["--private-cwd"],
        "systemd-run" => &["WorkingDirectory", "--property=WorkingDirectory", "-pWorkingDirectory"],
        _ => &[],
    };
    let is_root = |word: &&ShellWord| name_of(&first.text) == "chroot" && !word.is_flag();
    let mut targets: Vec<ShellWord> = rest.iter().find(is_root).cloned().into_iter().collect();
    for (at, word) in rest.iter().enumerate() {
        if FLAGS.contains(&word.text.as_str()) || more.contains(&word.text.as_str()) {
            targets.extend(rest.get(at + 1).cloned());
            continue;
        }
        let glued = FLAGS.iter().chain(more).find_map(|flag| word.text.strip_prefix(flag));
        let glued = glued.map(|glued| glued.strip_prefix('=').unwrap_or(glued)).filter(|glued| !glued.is_empty());
        targets.extend(glued.map(ShellWord::read));
    }
    targets
}

/// The folders that a variable or a setting tells git to work in.
pub(crate) fn told_to_git(command: &Found) -> Vec<ShellWord> {
    const KEY: &str = "core.worktree";
    let is_key = |text: &str| text.to_ascii_lowercase().starts_with(KEY);
    let settings = settings(command);
    let sets_key = settings.iter().any(|(name, value)| name.starts_with("GIT_CONFIG_KEY") && is_key(&value.text));
    let is_folder = |name: &str| name == "GIT_WORK_TREE" || sets_key && name.starts_with("GIT_CONFIG_VALUE");
    let set = settings.iter().filter(|(name, _)| is_folder(name)).map(|(_, value)| value.clone());
    // All settings in one, each in quotes of its own: `'core.worktree=x'` and `'core.worktree'='x'`.
    let together = settings.iter().filter(|(name, _)| name == "GIT_CONFIG_PARAMETERS").filter_map(|(_, value)| {
        let at = value.raw.to_ascii_lowercase().find(KEY)?;
        let folder = value.raw[at + KEY.len()..].trim_start_matches(['\'', '=']);
        Some(ShellWord::read(folder.split(['\'', '"']).next().unwrap_or_default()))
    });
    let said = command.words.iter().filter(|word| is_key(&word.text));
    let said = said.filter_map(|word| word.raw.split_once('=').map(|(_, folder)| ShellWord::read(folder)));
    // The name of a variable, which holds the folder.
    let by_name = command.words.iter().enumerate().filter_map(|(at, word)| {
        let setting = match word.text.strip_prefix("--config-env")? {
            "" => command.words.get(at + 1)?.text.as_str(),
            glued => glued.trim_start_matches('='),
        };
        let (_, name) = setting.split_once('=').filter(|(key, _)| is_key(key))?;
        Some(ShellWord::read(&format!("${name}")))
    });
    set.chain(together).chain(said).chain(by_name).collect()
}

/// Whether something in a line may work in another folder than the one it begins in, or has git do so. `-C` before what it
/// is asked about is the folder itself.
pub(crate) fn may_work_elsewhere(suspects: &Suspects) -> bool {
    let goes = |suspect: &Suspect| suspect.words.first().is_some_and(|word| changes_folder(name_of(&word.text)));
    suspects.is_unsure
        || suspects.commands.iter().any(goes)
        || suspects.found.iter().any(|command| !settings(command).is_empty() || !told_to_git(command).is_empty())
}

/// Whether a command changes the folder that others run in.
pub(crate) fn changes_folder(name: &str) -> bool {
    matches!(name, "cd" | "pushd" | "popd" | "chdir")
}
