//! Which files a call reads and writes, as far as it says so itself.

use std::sync::Arc;

use super::call::{Call, Context, Given};
use super::folders::{Folders, changes_folder};
use super::named::{files_at, files_of, named, passed_over};
use super::touching::{self, Touched};
use crate::policy::commands::command::{Stripped, name_of};
use crate::policy::commands::readonly;
use crate::policy::lines::functions::redefines_known;
use crate::policy::lines::suspects::Suspects;
use crate::policy::shell::{Joint, ParseIssue, Script, SessionShell, ShellCommand, ShellWord, Way, doubt};
use crate::policy::words::path::{absolute, has_dots};
use crate::policy::words::processes::without_proc;
use crate::policy::words::values::is_literal;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
    /// `cd` into it.
    Enter,
}

/// One file that a call accesses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileAccess {
    pub(crate) access: Access,
    /// Absolute; none when it cannot be told from here. Without dots, or else it says nothing by itself and only where
    /// it leads counts.
    pub(crate) path: Option<String>,
}

impl FileAccess {
    /// The names of the file that mean something: its own, and the one its links lead to.
    pub(crate) fn names<'file>(&'file self, call: &'file Call) -> impl Iterator<Item = &'file str> {
        let path = self.path.as_deref();
        let own = path.filter(|path| !has_dots(path));
        own.into_iter().chain(path.and_then(|path| call.target(path)))
    }
}

/// What a call does, taken apart once.
#[derive(Debug)]
pub(crate) enum Action {
    /// A tool that reads or writes one file, or looks through a folder.
    File(Vec<FileAccess>),
    Shell(Box<Plan>),
    /// The rest: what matters is in its name and its fields.
    Other,
    /// A field that must be there is missing, or is not text.
    Malformed,
}

impl Action {
    pub(crate) fn of(call: &Call, context: &Context) -> Self {
        let file = |access, field| match call.text(field) {
            Some(path) => Self::File(written(path, access, context)),
            None => Self::Malformed,
        };
        match call.tool.as_str() {
            "Read" => file(Access::Read, "file_path"),
            "LSP" if call.input.contains_key("filePath") => file(Access::Read, "filePath"),
            "NotebookRead" => file(Access::Read, "notebook_path"),
            "Write" | "Edit" | "MultiEdit" => file(Access::Write, "file_path"),
            "NotebookEdit" => file(Access::Write, "notebook_path"),
            "Glob" | "Grep" | "LS" => Self::File(searched(call, context)),
            _ if call.runs_a_line() => call.text("command").map_or(Self::Malformed, |line| {
                Self::Shell(Box::new(Plan::of(&call.read_line(line, context.shell), call, context)))
            }),
            _ => sent(call, context),
        }
    }

    /// Every file it surely or possibly accesses.
    pub(crate) fn accesses(&self) -> Vec<&FileAccess> {
        match self {
            Self::File(accesses) => accesses.iter().collect(),
            Self::Shell(plan) => {
                plan.steps.iter().flat_map(Step::accesses).chain(&plan.suspected).chain(&plan.redirected).collect()
            }
            Self::Other | Self::Malformed => vec![],
        }
    }
}

/// The file that a tool of the client is told: as it is written, and without the blanks that the client takes away.
fn written(path: &str, access: Access, context: &Context) -> Vec<FileAccess> {
    let trimmed = path.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}');
    let names = std::iter::once(path).chain((trimmed != path).then_some(trimmed));
    let mut paths: Vec<Option<String>> = names.map(|path| context.absolute(path)).collect();
    // What a process sees of the disk. Which folder it is that it works in, the disk says for another one.
    let through = paths.iter().flatten().map(|path| (path, without_proc(path, &context.cwd)));
    let through = through.filter(|(path, meant)| *path != meant).map(|(_, meant)| context.absolute(&meant));
    paths.extend(through.collect::<Vec<_>>());
    paths.into_iter().map(|path| FileAccess { access, path }).collect()
}

/// Fields by which tools of the client are told which files to show or to send.
const SENT: [&str; 4] = ["file_path", "file_paths", "files", "attachments"];

/// More files than this are not looked at.
const MOST_SENT: usize = 1_000;

/// A tool that is told files to read, whatever else it does: `SendUserFile`, `Artifact` and their like. What an MCP server's
/// fields mean nobody knows.
fn sent(call: &Call, context: &Context) -> Action {
    let fields = SENT.iter().filter(|_| !call.tool.starts_with("mcp__")).filter_map(|field| call.input.get(*field));
    let names: Vec<&String> = fields
        .flat_map(|given| match given {
            Given::Text(name) => std::slice::from_ref(name),
            Given::List(names) => names.as_slice(),
            Given::Plain(_) | Given::Other => &[],
        })
        .collect();
    if names.len() > MOST_SENT {
        return Action::Malformed;
    }
    let read = |name: &&String| written(name, Access::Read, context);
    if names.is_empty() { Action::Other } else { Action::File(names.iter().flat_map(read).collect()) }
}

/// The folder that is searched, and where a pattern leads that begins elsewhere.
fn searched(call: &Call, context: &Context) -> Vec<FileAccess> {
    let folders = match call.input.get("path") {
        None => vec![Some(context.cwd.clone())],
        Some(path) => path.scalar().map_or(vec![None], |path| {
            written(path, Access::Read, context).into_iter().map(|file| file.path).collect()
        }),
    };
    let folder = folders.last().cloned().flatten();
    let mut paths = folders;
    let pattern = if call.tool == "Glob" { call.text("pattern") } else { None };
    if let Some(pattern) = pattern.filter(|pattern| pattern.starts_with(['/', '~']) || pattern.contains("..")) {
        let fixed: Vec<&str> = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect();
        let rest_climbs = pattern.split('/').skip(fixed.len()).any(|part| part.contains(".."));
        let start = format!("{}/", fixed.join("/"));
        let from = folder.as_deref().unwrap_or("/");
        paths.push(absolute(&start, from, context.home.as_deref()).filter(|_| !rest_climbs));
    }
    paths.into_iter().map(|path| FileAccess { access: Access::Read, path }).collect()
}

impl Action {
    /// The absolute paths whose links have to be followed before the call is decided.
    pub(crate) fn paths(&self) -> Vec<String> {
        let mut paths: Vec<String> = self.accesses().into_iter().filter_map(|file| file.path.clone()).collect();
        if let Self::Shell(plan) = self {
            let certain = plan.touched.files.iter().filter(|touch| is_literal(&touch.path));
            paths.extend(certain.map(|touch| touch.path.clone()));
        }
        paths.sort();
        paths.dedup();
        paths
    }

    /// The patterns of file names in a line.
    pub(crate) fn patterns(&self) -> Vec<String> {
        match self {
            Self::Shell(plan) => touching::patterns(&plan.touched.files).into_iter().collect(),
            Self::File(_) | Self::Other | Self::Malformed => vec![],
        }
    }

    /// The files with lists of names in them.
    pub(crate) fn lists(&self) -> Vec<String> {
        match self {
            Self::Shell(plan) => plan.touched.lists.iter().cloned().collect(),
            Self::File(_) | Self::Other | Self::Malformed => vec![],
        }
    }
}

/// A line as it is read, whatever the disk says.
#[derive(Clone, Debug)]
pub(crate) struct ReadLine {
    script: Script,
    suspects: Arc<Suspects>,
    with_texts: Arc<Suspects>,
    here: Arc<Suspects>,
}

impl ReadLine {
    pub(crate) fn of(line: &str, shell: SessionShell) -> Self {
        let mut script = Script::read_in(line, shell);
        let suspects = Suspects::of(&script);
        let with_texts = suspects.with_texts();
        if let Some(why) = suspects.unfinished.or(with_texts.unfinished) {
            script.doubt(ParseIssue::Unreadable(why));
        }
        if let Some(why) = script.otherwise {
            script.doubt(ParseIssue::Unreadable(why));
        }
        if redefines_known(line) {
            script.doubt(ParseIssue::Unreadable("a function has the name of a command that is known"));
        }
        let with_texts = Arc::new(with_texts);
        let here = match suspects.tells_elsewhere() {
            true => Arc::new(Suspects::here(&script).with_texts()),
            false => Arc::clone(&with_texts),
        };
        Self { script, suspects: Arc::new(suspects), with_texts, here }
    }
}

/// A shell line, command by command.
#[derive(Debug)]
pub(crate) struct Plan {
    pub(crate) script: Script,
    /// One for each command. Only of a plain script are they surely all there is.
    pub(crate) steps: Vec<Step>,
    /// What commands in the line may file, wherever they stand: for finding what is to be denied.
    pub(crate) suspected: Vec<FileAccess>,
    /// Where any of them may be led to write, and from where to read.
    pub(crate) redirected: Vec<FileAccess>,
    /// Every file that its words may name.
    pub(crate) touched: Touched,
    /// Each command that may be run, wherever it stands.
    pub(crate) suspects: Arc<Suspects>,
    /// The same with those in texts that a program may run, for rules on files and for removals.
    pub(crate) with_texts: Arc<Suspects>,
    /// Of these, what is done on this machine.
    pub(crate) told_here: Arc<Suspects>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) command: ShellCommand,
    /// It surely only reads, and this is what.
    pub(crate) reads: Option<Vec<FileAccess>>,
    /// It is a well-known way to read or change files, and these are they.
    pub(crate) files: Vec<FileAccess>,
    /// Where it is led to write and from where to read.
    pub(crate) redirects: Vec<FileAccess>,
}

impl Step {
    fn accesses(&self) -> impl Iterator<Item = &FileAccess> {
        self.reads.iter().flatten().chain(&self.files).chain(&self.redirects)
    }
}

/// More folders than this are not followed.
const MOST_FOLDERS: usize = 8;

impl Plan {
    fn of(line: &ReadLine, call: &Call, context: &Context) -> Self {
        let ReadLine { mut script, suspects, with_texts, here: told_here } = line.clone();
        let touched = Touched::by(&with_texts, call, context);
        if !touched.is_complete {
            script.doubt(ParseIssue::Unreadable("it names more files in more folders than are looked at"));
        }
        let here = std::slice::from_ref(&context.cwd);
        let suspected = suspects.commands.iter().flat_map(|suspect| files_of(&suspect.words, here, context)).collect();
        let redirects = suspects.found.iter().flat_map(|command| &command.redirects);
        let redirected =
            redirects.flat_map(|redirect| redirected(redirect.way, &redirect.target, here, context)).collect();
        // Where commands may find themselves: a `cd` may fail, so the folder before it counts as well.
        let mut folders = Folders { all: vec![context.cwd.clone()], is_complete: true };
        let mut steps = vec![];
        let commands = if script.is_readable() { script.commands.clone() } else { vec![] };
        for (at, command) in commands.iter().enumerate() {
            let step = Step::of(command, &folders.all, context);
            if Stripped::of(command).is_some_and(|stripped| stripped.changes_the_shell()) {
                script.doubt(ParseIssue::NotPlain(doubt::SHELL));
            }
            let moves = match Stripped::of(command) {
                Some(stripped) => changes_folder(stripped.name()),
                None => command.words.iter().any(|word| changes_folder(&word.text)),
            };
            if moves && at + 1 < commands.len() {
                let piped = |command: &ShellCommand| matches!(command.joint, Joint::Pipe | Joint::Background);
                let target = command.words.get(1).filter(|word| word.is_literal);
                let is_cd = command.words.first().is_some_and(|word| word.text == "cd") && command.words.len() == 2;
                match target.filter(|_| is_cd && folders.all.len() * 2 <= MOST_FOLDERS) {
                    Some(target) if !piped(command) && !piped(&commands[at + 1]) => {
                        folders.enter(&target.text, call, context);
                    }
                    _ => {
                        script.doubt(ParseIssue::NotPlain("it is not certain which folder its commands run in"));
                    }
                }
            }
            steps.push(step);
        }
        Self { script, steps, suspected, redirected, touched, suspects, with_texts, told_here }
    }

    /// One of its commands changes the folder that others run in.
    pub(crate) fn has_cd(&self) -> bool {
        self.suspects.commands.iter().any(|one| one.words.first().is_some_and(|word| changes_folder(&word.text)))
    }

    pub(crate) fn has_git(&self) -> bool {
        self.suspects.commands.iter().any(|one| one.words.first().is_some_and(|word| name_of(&word.text) == "git"))
    }
}

impl Step {
    fn of(command: &ShellCommand, folders: &[String], context: &Context) -> Self {
        let stripped = Stripped::of(command);
        let access = |stripped: &Stripped<'_>| if stripped.name() == "cd" { Access::Enter } else { Access::Read };
        let reads = stripped.as_ref().and_then(|stripped| {
            let mut words = readonly::reads(stripped)?;
            let passed_over = passed_over(stripped.words);
            words.retain(|word| !passed_over.iter().any(|at| std::ptr::eq(*word, &stripped.words[*at])));
            Some(named(words, access(stripped), folders, context))
        });
        let files = stripped.map(|stripped| files_of(stripped.words, folders, context)).unwrap_or_default();
        let redirects =
            command.redirects.iter().flat_map(|redirect| redirected(redirect.way, &redirect.target, folders, context));
        Self { command: command.clone(), reads, files, redirects: redirects.collect() }
    }
}

fn redirected(way: Way, target: &ShellWord, folders: &[String], context: &Context) -> Vec<FileAccess> {
    let access = match way {
        Way::Copy | Way::Given => return vec![],
        Way::In => Access::Read,
        Way::Out => Access::Write,
    };
    if target.text == "/dev/null" {
        return vec![];
    }
    files_at(&target.text, access, folders, context)
}
