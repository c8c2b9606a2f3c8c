//! Which files a call reads and writes, as far as it says so itself.

use super::call::{Call, Surroundings};
use super::command::{Stripped, name_of};
use super::path::{absolute, has_dots, joined};
use super::readonly;
use super::shell::{Command, Doubt, Joint, Script, Way, Word};
use super::suspects::Suspects;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// `cd` into it.
    Enter,
}

/// One file that a call touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Touch {
    pub(crate) access: Access,
    /// Absolute; none when it cannot be told from here. Without dots, or else it says nothing by itself and only where
    /// it leads counts.
    pub(crate) path: Option<String>,
}

impl Touch {
    /// The names of the file that mean something: its own, and the one its links lead to.
    pub(crate) fn names<'touch>(&'touch self, call: &'touch Call) -> impl Iterator<Item = &'touch str> {
        let path = self.path.as_deref();
        let own = path.filter(|path| !has_dots(path));
        own.into_iter().chain(path.and_then(|path| call.target(path)))
    }
}

/// What a call does, taken apart once.
#[derive(Debug)]
pub(crate) enum Deed {
    /// A tool that reads or writes one file, or looks through a folder.
    File(Vec<Touch>),
    Shell(Plan),
    /// The rest: what matters is in its name and its fields.
    Other,
    /// A field that must be there is missing, or is not text.
    Malformed,
}

impl Deed {
    pub(crate) fn of(call: &Call, around: &Surroundings) -> Self {
        let file = |access, field| match call.text(field) {
            Some(path) => Self::File(vec![Touch { access, path: around.absolute(path) }]),
            None => Self::Malformed,
        };
        match call.tool.as_str() {
            "Bash" => call.text("command").map_or(Self::Malformed, |line| Self::Shell(Plan::of(line, around))),
            "Read" => file(Access::Read, "file_path"),
            "NotebookRead" => file(Access::Read, "notebook_path"),
            "Write" | "Edit" | "MultiEdit" => file(Access::Write, "file_path"),
            "NotebookEdit" => file(Access::Write, "notebook_path"),
            "Glob" | "Grep" | "LS" => Self::File(searched(call, around)),
            _ => Self::Other,
        }
    }

    /// Every file it surely or possibly touches.
    pub(crate) fn touches(&self) -> Vec<&Touch> {
        match self {
            Self::File(touches) => touches.iter().collect(),
            Self::Shell(plan) => {
                plan.steps.iter().flat_map(Step::touches).chain(&plan.suspected).chain(&plan.redirected).collect()
            }
            Self::Other | Self::Malformed => vec![],
        }
    }
}

/// The folder that is searched, and where a pattern leads that begins elsewhere.
fn searched(call: &Call, around: &Surroundings) -> Vec<Touch> {
    let folder = match call.input.get("path") {
        None => Some(around.cwd.clone()),
        Some(path) => path.scalar().and_then(|path| around.absolute(path)),
    };
    let mut paths = vec![folder.clone()];
    let pattern = if call.tool == "Glob" { call.text("pattern") } else { None };
    if let Some(pattern) = pattern.filter(|pattern| pattern.starts_with(['/', '~']) || pattern.contains("..")) {
        let fixed: Vec<&str> = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
        let rest_climbs = pattern.split('/').skip(fixed.len()).any(|part| part.contains(".."));
        let start = format!("{}/", fixed.join("/"));
        let from = folder.as_deref().unwrap_or("/");
        paths.push(absolute(&start, from, around.home.as_deref()).filter(|_| !rest_climbs));
    }
    paths.into_iter().map(|path| Touch { access: Access::Read, path }).collect()
}

/// The absolute paths of a call whose links have to be followed before it is decided.
pub(crate) fn paths(call: &Call, around: &Surroundings) -> Vec<String> {
    let deed = Deed::of(call, around);
    let mut paths: Vec<String> = deed.touches().into_iter().filter_map(|touch| touch.path.clone()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// A shell line, command by command.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) script: Script,
    /// One for each command. Only of a plain script are they surely all there is.
    pub(crate) steps: Vec<Step>,
    /// What commands in the line may touch, wherever they stand: for finding what is to be denied.
    pub(crate) suspected: Vec<Touch>,
    /// Where any of them may be led to write, and from where to read.
    pub(crate) redirected: Vec<Touch>,
    /// Each command that may be run, wherever it stands.
    pub(crate) suspects: Vec<Vec<Word>>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) command: Command,
    /// It surely only reads, and this is what.
    pub(crate) reads: Option<Vec<Touch>>,
    /// It is a well-known way to read or change files, and these are they.
    pub(crate) files: Vec<Touch>,
    /// Where it is led to write and from where to read.
    pub(crate) redirects: Vec<Touch>,
}

impl Step {
    fn touches(&self) -> impl Iterator<Item = &Touch> {
        self.reads.iter().flatten().chain(&self.files).chain(&self.redirects)
    }
}

/// More folders than this are not followed.
const MOST_FOLDERS: usize = 8;

impl Plan {
    fn of(line: &str, around: &Surroundings) -> Self {
        let mut script = Script::read(line);
        let suspects = Suspects::of(&script);
        if let Some(why) = suspects.unfinished {
            script.doubt = script.doubt.max(Some(Doubt::Unreadable(why)));
        }
        let here = std::slice::from_ref(&around.cwd);
        let suspected = suspects.commands.iter().flat_map(|words| files_of(words, here, around)).collect();
        let redirects = suspects.redirects.iter();
        let redirected =
            redirects.flat_map(|redirect| redirected(redirect.way, &redirect.target, here, around)).collect();
        // Where commands may find themselves: a `cd` may fail, so the folder before it counts as well.
        let mut folders = vec![around.cwd.clone()];
        let mut steps = vec![];
        let commands = if script.is_readable() { script.commands.clone() } else { vec![] };
        for (at, command) in commands.iter().enumerate() {
            let step = Step::of(command, &folders, around);
            if Stripped::of(command).is_some_and(|stripped| stripped.changes_the_shell()) {
                script.doubt = script.doubt.max(Some(Doubt::NotPlain("it changes the shell itself")));
            }
            let moves = Stripped::of(command).is_none_or(|stripped| changes_folder(stripped.name()));
            if moves && at + 1 < commands.len() {
                let piped = |command: &Command| matches!(command.joint, Joint::Pipe | Joint::Beside);
                let target = command.words.get(1).filter(|word| word.is_literal);
                let is_cd = command.words.first().is_some_and(|word| word.text == "cd") && command.words.len() == 2;
                match target.filter(|_| is_cd && folders.len() * 2 <= MOST_FOLDERS) {
                    Some(target) if !piped(command) && !piped(&commands[at + 1]) => {
                        let moved: Vec<String> = folders.iter().map(|folder| moved(folder, &target.text)).collect();
                        folders.extend(moved);
                    }
                    _ => {
                        let doubt = Doubt::NotPlain("it is not certain which folder its commands run in");
                        script.doubt = script.doubt.max(Some(doubt));
                    }
                }
            }
            steps.push(step);
        }
        Self { script, steps, suspected, redirected, suspects: suspects.commands }
    }

    /// One of its commands changes the folder that others run in.
    pub(crate) fn has_cd(&self) -> bool {
        self.suspects.iter().any(|words| words.first().is_some_and(|word| changes_folder(&word.text)))
    }

    pub(crate) fn has_git(&self) -> bool {
        self.suspects.iter().any(|words| words.first().is_some_and(|word| name_of(&word.text) == "git"))
    }
}

pub(crate) fn changes_folder(name: &str) -> bool {
    matches!(name, "cd" | "pushd" | "popd" | "chdir")
}

fn moved(folder: &str, target: &str) -> String {
    if target.starts_with('/') { joined("/", target) } else { joined(folder, target) }
}

impl Step {
    fn of(command: &Command, folders: &[String], around: &Surroundings) -> Self {
        let stripped = Stripped::of(command);
        let access = |stripped: &Stripped<'_>| if stripped.name() == "cd" { Access::Enter } else { Access::Read };
        let reads = stripped.as_ref().and_then(|stripped| {
            let words = readonly::reads(stripped)?;
            Some(named(words, access(stripped), folders, around))
        });
        let files = stripped.map(|stripped| files_of(stripped.words, folders, around)).unwrap_or_default();
        let redirects =
            command.redirects.iter().flat_map(|redirect| redirected(redirect.way, &redirect.target, folders, around));
        Self { command: command.clone(), reads, files, redirects: redirects.collect() }
    }
}

fn redirected(way: Way, target: &Word, folders: &[String], around: &Surroundings) -> Vec<Touch> {
    let access = match way {
        Way::Copy => return vec![],
        Way::In => Access::Read,
        Way::Out => Access::Write,
    };
    if target.text == "/dev/null" {
        return vec![];
    }
    files_at(&target.text, access, folders, around)
}

/// The files that the words of a command may name. Behind `--` no word is a flag.
fn named<'word>(
    words: impl IntoIterator<Item = &'word Word>,
    access: Access,
    folders: &[String],
    around: &Surroundings,
) -> Vec<Touch> {
    let mut flags_ended = access == Access::Enter;
    let mut touches = vec![];
    for word in words {
        if word.text == "--" && !flags_ended {
            flags_ended = true;
        } else if flags_ended || !word.is_flag() {
            touches.extend(files_at(&word.text, access, folders, around));
        } else if let Some(glued) = glued(&word.text) {
            touches.extend(files_at(glued, access, folders, around));
        }
    }
    touches
}

/// What is glued to a flag and may be a file.
fn glued(flag: &str) -> Option<&str> {
    match (flag.split_once('='), flag.find('/')) {
        (Some((_, value)), _) => Some(value),
        (None, Some(slash)) => Some(&flag[slash..]),
        (None, None) if flag.starts_with("--") => None,
        // `-fx` may be the flag f with the file x.
        (None, None) => flag.char_indices().nth(2).map(|(at, _)| &flag[at..]),
    }
}

/// The files of a name, seen from each folder.
fn files_at(name: &str, access: Access, folders: &[String], around: &Surroundings) -> Vec<Touch> {
    let name = name.replace("${HOME}", "~").replace("$HOME", "~");
    // `cd` itself takes dots away as text, while for everyone else `link/..` is above where the link leads.
    let climbs = access != Access::Enter && name.split('/').any(|part| part == "..");
    let touch = |path| Touch { access, path };
    let mut touches = vec![];
    for folder in folders {
        let path = absolute(&name, folder, around.home.as_deref());
        if climbs && path.is_some() {
            let from = match name.strip_prefix('~') {
                Some(below) => format!("{}{below}", around.home.as_deref().unwrap_or_default()),
                None if name.starts_with('/') => name.clone(),
                None => format!("{folder}/{name}"),
            };
            let parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            touches.extend([touch(path), touch(Some(format!("/{}", parts.join("/"))))]);
        } else {
            touches.push(touch(path));
        }
    }
    touches
}

const READERS: [&str; 38] = [
    "awk",
    "base64",
    "bat",
    "cat",
    "cmp",
    "cut",
    "diff",
    "du",
    "file",
    "find",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "nl",
    "od",
    "rg",
    "sed",
    "sha1sum",
    "sha256sum",
    "sort",
    "source",
    "stat",
    "strings",
    "tac",
    "tail",
    "tree",
    "uniq",
    "wc",
    "xxd",
    "yq",
    ".",
    "scp",
    "zip",
];
const WRITERS: [&str; 18] = [
    "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "rsync", "shred", "sed",
    "tee", "touch", "truncate", "unlink",
];

/// Whether the words of a command are files, as far as they are no flags.
pub(crate) fn is_about_files(name: &str) -> bool {
    READERS.contains(&name) || WRITERS.contains(&name)
}

/// The files that well-known commands name. What the rest does with its words nobody knows.
fn files_of(words: &[Word], folders: &[String], around: &Surroundings) -> Vec<Touch> {
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    let mut touches = vec![];
    let mut all = |access| touches.extend(named(rest, access, folders, around));
    if name == "cd" {
        all(Access::Enter);
    }
    if READERS.contains(&name) || matches!(name, "cp" | "mv" | "rsync") {
        all(Access::Read);
    }
    if WRITERS.contains(&name) && (name != "sed" || rest.iter().any(is_in_place)) {
        all(Access::Write);
    }
    let mut one = |name: &str, access| touches.extend(files_at(name, access, folders, around));
    for name in led_to(name, rest) {
        one(name, Access::Write);
    }
    if name == "dd" {
        rest.iter().filter_map(|word| word.text.strip_prefix("if=")).for_each(|name| one(name, Access::Read));
        rest.iter().filter_map(|word| word.text.strip_prefix("of=")).for_each(|name| one(name, Access::Write));
    }
    if matches!(name, "cp" | "mv" | "install" | "ln" | "scp" | "rsync") {
        for name in put_into(rest) {
            one(&name, Access::Write);
        }
    }
    touches
}

/// sed's `-i`, also in `-Ei` and shortened. What follows e and f is theirs.
fn is_in_place(word: &Word) -> bool {
    match word.text.strip_prefix("--") {
        Some(long) => long.starts_with('i') && "in-place".starts_with(long.split('=').next().unwrap_or_default()),
        None => word.is_flag() && word.text.chars().skip(1).take_while(|c| !matches!(c, 'e' | 'f')).any(|c| c == 'i'),
    }
}

/// Where a flag of a command says that it writes.
fn led_to<'word>(name: &str, rest: &'word [Word]) -> Vec<&'word str> {
    let (short, long) = match name {
        "sort" | "curl" => ('o', "output"),
        "wget" => ('O', "output-document"),
        "scp" => return rest.last().map(|word| word.text.as_str()).into_iter().collect(),
        _ => return vec![],
    };
    let mut files = vec![];
    for (at, word) in rest.iter().enumerate() {
        let next = || rest.get(at + 1).map(|word| word.text.as_str());
        if let Some(written) = word.text.strip_prefix("--") {
            let (flag, value) = written.split_once('=').map_or((written, None), |(flag, value)| (flag, Some(value)));
            if !flag.is_empty() && long.starts_with(flag) {
                files.extend(value.or_else(next));
            }
        } else if word.is_flag()
            && let Some((_, glued)) = word.text.split_once(short)
        {
            // It may stand behind other flags, and its file right behind it.
            files.extend(if glued.is_empty() { next() } else { Some(glued) });
        }
    }
    files
}

/// The names that files would have in the folder they are put into, if the last word is one.
fn put_into(rest: &[Word]) -> Vec<String> {
    let flagged = rest.iter().enumerate().find_map(|(at, word)| match word.text.as_str() {
        "-t" | "--target-directory" => rest.get(at + 1).map(|word| word.text.as_str()),
        text => text.strip_prefix("--target-directory=").or_else(|| text.strip_prefix("-t")),
    });
    let Some(folder) = flagged.or_else(|| rest.last().map(|word| word.text.as_str())) else { return vec![] };
    let names = rest.iter().map(|word| word.text.trim_end_matches('/')).filter(|name| *name != folder);
    let names = names.filter_map(|name| name.rsplit(['/', ':']).next());
    names.filter(|name| !name.is_empty() && !name.starts_with('-')).map(|name| format!("{folder}/{name}")).collect()
}
