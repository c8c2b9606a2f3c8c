//! A tool call as the rules see it, and the place it is made in.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use super::access::{Action, ReadLine};
use crate::policy::rules::rule::{Pattern, RuleSet};
use crate::policy::shell::SessionShell;
use crate::policy::words::path::{absolute, below, has_dots, joined, lies_in};

/// One field of a tool's input. Rules look at the fields of the input itself, and inside them for names of files alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    Text(String),
    /// As it is written: a number, `true` or `false`.
    Plain(String),
    /// All texts in a list or an object, and in those within it.
    List(Vec<String>),
    /// A list or an object without texts, or nothing.
    Other,
}

impl Given {
    pub(crate) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Plain(text) => Some(text),
            Self::List(_) | Self::Other => None,
        }
    }
}

/// What someone wants to do: a tool, and what is given to it.
///
/// The links on its paths are followed by [`Call::followed`], once, by whoever can look at a disk. A path that nobody
/// followed is never allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    pub tool: String,
    pub input: BTreeMap<String, Given>,
    /// Where each path that the call names really leads.
    targets: BTreeMap<String, String>,
    /// The files that patterns in a line stand for.
    expansions: BTreeMap<String, Vec<String>>,
    /// The names in files that something takes names from.
    lists: BTreeMap<String, Vec<String>>,
    /// Folders, and the rules that mean something in them.
    below: BTreeSet<(String, String)>,
    /// A protected file that the call finds by looking for it.
    pub(crate) found: Option<String>,
    /// Something that a file is copied to, and that is no folder.
    pub(crate) no_folder: Option<String>,
    /// Something critical that a removal reaches through a link in a folder.
    pub(crate) removed_through_links: Option<String>,
    /// The line of a shell as it was read.
    line: LineCache,
}

/// A line that is read once, however often it is looked at: what it may do does not depend on the disk.
#[derive(Clone, Debug, Default)]
struct LineCache(OnceLock<(String, SessionShell, Arc<ReadLine>)>);

/// It says nothing that the line does not.
impl PartialEq for LineCache {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for LineCache {}

/// What only a disk can tell. A function that follows links is one that can tell nothing else.
pub trait Disk {
    /// Where an absolute path leads, in which `..` is above where links before it lead: the one without dots, which is
    /// itself for what does not exist; none when that cannot be found out.
    fn follow(&self, path: &str) -> Option<String>;

    /// The files that are what an absolute pattern says; see `is_part` for its parts. None when there are too many.
    fn expand(&self, _pattern: &str) -> Option<Vec<String>> {
        None
    }

    /// The lines of a file that is read as a list of names. None when there is none, or too much of it.
    fn lines(&self, _path: &str) -> Option<Vec<String>> {
        None
    }

    /// Whether a path is a folder, or may be one.
    fn is_folder(&self, _path: &str) -> bool {
        true
    }

    /// Whether git knows a file, and leaves it where it removes what it does not know.
    fn is_tracked(&self, _path: &str) -> bool {
        false
    }

    /// Goes through all that lies below a folder, links followed. False when there is too much of it.
    fn walk(&self, _folder: &str, _each: &mut dyn FnMut(&str)) -> bool {
        false
    }
}

impl<F: Fn(&str) -> Option<String>> Disk for F {
    fn follow(&self, path: &str) -> Option<String> {
        self(path)
    }
}

/// How often a folder may be a pattern in a folder that is one.
const DEEPEST: usize = 4;

impl Call {
    pub fn new(tool: impl Into<String>, input: BTreeMap<String, Given>) -> Self {
        Self {
            tool: tool.into(),
            input,
            targets: BTreeMap::new(),
            expansions: BTreeMap::new(),
            lists: BTreeMap::new(),
            below: BTreeSet::new(),
            found: None,
            no_folder: None,
            removed_through_links: None,
            line: LineCache::default(),
        }
    }

    /// A line as it is read. One that was put in the place of another is read for itself.
    pub(super) fn read_line(&self, line: &str, shell: SessionShell) -> Arc<ReadLine> {
        let (text, of, read) =
            self.line.0.get_or_init(|| (line.to_owned(), shell, Arc::new(ReadLine::of(line, shell))));
        if text == line && *of == shell { Arc::clone(read) } else { Arc::new(ReadLine::of(line, shell)) }
    }

    /// The call with every link on its paths followed, by whoever can tell no more of a disk.
    #[must_use]
    pub fn followed(self, context: &Context, follow: impl Fn(&str) -> Option<String>) -> Self {
        self.looked_up(context, &follow)
    }

    /// The call with every link on its paths followed, and every pattern in it filled in.
    #[must_use]
    pub fn looked_up(self, context: &Context, disk: &impl Disk) -> Self {
        self.taken_apart(context, disk).0
    }

    /// The same, and what the call does. Where links lead changes nothing about that.
    pub(crate) fn taken_apart(mut self, context: &Context, disk: &impl Disk) -> (Self, Action) {
        let mut action = Action::of(&self, context);
        // A folder that a pattern stands for is one in which other patterns stand for files.
        let mut seen = BTreeSet::new();
        for _ in 0..DEEPEST {
            let new: Vec<String> = action.patterns().into_iter().filter(|one| seen.insert(one.clone())).collect();
            if new.is_empty() {
                break;
            }
            let made = new.into_iter().filter_map(|pattern| disk.expand(&pattern).map(|made| (pattern, made)));
            self.expansions.extend(made);
            action = Action::of(&self, context);
        }
        let lists = action.lists().into_iter().filter_map(|list| disk.lines(&list).map(|names| (list, names)));
        self.lists.extend(lists);
        if !self.lists.is_empty() {
            action = Action::of(&self, context);
        }
        let follow = |action: &Action| {
            let paths = action.paths().into_iter();
            paths.filter_map(|path| disk.follow(&path).map(|target| (path, target))).collect::<BTreeMap<_, _>>()
        };
        self.targets.extend(follow(&action));
        // A folder above a link is known only now.
        if self.targets.keys().any(|path| has_dots(path)) {
            action = Action::of(&self, context);
            self.targets.extend(follow(&action));
        }
        (self, action)
    }

    /// The call with the folders looked into that it goes into, for what deny and ask rules mean in them.
    pub(crate) fn looked_below_by(
        mut self,
        action: &Action,
        rules: &RuleSet,
        context: &Context,
        disk: &impl Disk,
    ) -> Self {
        self.below = crate::policy::rules::below::found(&self, action, rules, context, disk);
        if let Action::Shell(plan) = action {
            self.no_folder = super::copying::no_folder(&plan.with_texts, context, disk);
        }
        self.found = crate::policy::rules::below::protected(&self, action, context, disk);
        self.removed_through_links = crate::policy::critical::through_links::removed(&self, action, context, disk);
        self
    }

    /// A folder that the call goes into, in which something is what the rule says.
    pub(crate) fn below(&self, rule: &Pattern) -> Option<&str> {
        if self.below.is_empty() {
            return None;
        }
        let rule = rule.to_string();
        self.below.iter().find(|(_, of)| *of == rule).map(|(folder, _)| folder.as_str())
    }

    pub(crate) fn expansion(&self, pattern: &str) -> Option<&[String]> {
        self.expansions.get(pattern).map(Vec::as_slice)
    }

    /// The lines of a file with names in it.
    pub(crate) fn listed(&self, path: &str) -> Option<&[String]> {
        self.lists.get(path).map(Vec::as_slice)
    }

    pub(crate) fn target(&self, path: &str) -> Option<&str> {
        self.targets.get(path).map(String::as_str)
    }

    /// Whether a shell runs what stands in `command`. Servers of others use the word as they like, and so do skills.
    pub(crate) fn runs_a_line(&self) -> bool {
        let is_name = self.tool.starts_with("mcp__") || matches!(self.tool.as_str(), "Skill" | "SlashCommand");
        self.tool == "Bash" || !is_name && self.input.contains_key("command")
    }

    pub(crate) fn text(&self, field: &str) -> Option<&str> {
        match self.input.get(field) {
            Some(Given::Text(text)) => Some(text),
            _ => None,
        }
    }
}

/// Where a call is made. Paths are absolute; whoever makes this also adds the folders with their links followed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// What relative paths of the call are relative to.
    pub cwd: String,
    /// Where the session was started, which rules of the command line are relative to; usually `cwd`.
    pub started: String,
    /// What the session works in: the folder it was started in and those added to it.
    pub folders: Vec<String>,
    pub home: Option<String>,
    /// Where these folders really lie, for those that are reached through a link.
    pub leads: BTreeMap<String, String>,
    /// Files and folders of ours, which no call may change unasked: configuration, rules, journal, program.
    pub ours: Vec<String>,
    /// The folder in which Claude Code keeps what is the user's, by each of its names.
    pub claude: Vec<String>,
    /// What people call the session, for rules that are meant for some sessions only.
    pub label: Option<String>,
    /// Which shell runs the lines of the session.
    pub shell: SessionShell,
}

impl Context {
    /// A session that was started in a folder, works there, whose user's home is known, and whose lines bash runs.
    pub fn of(cwd: &str, home: Option<&str>) -> Self {
        let cwd = absolute(cwd, "/", None).unwrap_or_else(|| "/".to_owned());
        Self {
            started: cwd.clone(),
            folders: vec![cwd.clone()],
            cwd,
            home: home.map(str::to_owned),
            leads: BTreeMap::new(),
            ours: vec![],
            claude: home.map(|home| joined(home, ".claude")).into_iter().collect(),
            label: None,
            shell: SessionShell::Bash,
        }
    }

    /// What is written, as an absolute path without dots.
    pub(crate) fn absolute(&self, written: &str) -> Option<String> {
        absolute(written, &self.cwd, self.home.as_deref())
    }

    /// A folder by its name and by where it really lies.
    pub(crate) fn both<'context>(&'context self, folder: &'context str) -> impl Iterator<Item = &'context str> {
        std::iter::once(folder).chain(self.leads.get(folder).map(String::as_str))
    }

    /// The names of a path: its own, and those without the links on the way to our folders.
    pub(crate) fn spellings(&self, path: &str) -> Vec<String> {
        let elsewhere = |(from, to): (&String, &String)| below(path, from).map(|below| joined(to, below));
        std::iter::once(path.to_owned()).chain(self.leads.iter().filter_map(elsewhere)).collect()
    }

    /// The places whose loss, or whose change as a whole, would take what decides about calls: ours, and Claude Code's.
    pub(crate) fn guarded(&self) -> impl Iterator<Item = &String> {
        self.ours.iter().chain(&self.claude)
    }

    pub(crate) fn works_in(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| lies_in(path, folder))
    }
}
