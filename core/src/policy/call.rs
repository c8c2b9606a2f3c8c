//! A tool call as the rules see it, and the place it is made in.

use std::collections::BTreeMap;

use super::path::{absolute, below, joined, lies_in};

/// One field of a tool's input. Rules look at the fields of the input itself and at nothing inside them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    Text(String),
    /// As it is written: a number, `true` or `false`.
    Plain(String),
    /// A list, an object or nothing.
    Other,
}

impl Given {
    pub(crate) fn scalar(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Plain(text) => Some(text),
            Self::Other => None,
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
}

impl Call {
    pub fn new(tool: impl Into<String>, input: BTreeMap<String, Given>) -> Self {
        Self { tool: tool.into(), input, targets: BTreeMap::new() }
    }

    /// The call with every link on its paths followed. `follow` gets an absolute path, in which `..` is above
    /// where links before it lead, and returns the one without dots that it leads to, which is itself for what does
    /// not exist; none when that cannot be found out.
    #[must_use]
    pub fn followed(mut self, context: &Context, mut follow: impl FnMut(&str) -> Option<String>) -> Self {
        for path in super::access::paths(&self, context) {
            if let Some(target) = follow(&path) {
                self.targets.insert(path, target);
            }
        }
        self
    }

    pub(crate) fn target(&self, path: &str) -> Option<&str> {
        self.targets.get(path).map(String::as_str)
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
    /// Files and folders of ours, which no call may change unasked: configuration, rules, journal.
    pub ours: Vec<String>,
    /// What people call the session, for rules that are meant for some sessions only.
    pub label: Option<String>,
}

impl Context {
    /// A session that was started in a folder, works there, and whose user's home is known.
    pub fn of(cwd: &str, home: Option<&str>) -> Self {
        let cwd = absolute(cwd, "/", None).unwrap_or_else(|| "/".to_owned());
        Self {
            started: cwd.clone(),
            folders: vec![cwd.clone()],
            cwd,
            home: home.map(str::to_owned),
            leads: BTreeMap::new(),
            ours: vec![],
            label: None,
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

    pub(crate) fn works_in(&self, path: &str) -> bool {
        self.folders.iter().any(|folder| lies_in(path, folder))
    }
}
