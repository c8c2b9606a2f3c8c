//! What a line aims at: to run a marked program or subcommand, to read or write a marked file, to remove what is critical.

use super::super::judge::{
    ANYTHING, CHANGING, CHANGING_ASKED, PROGRAM, READING, READING_BY_PLACE, Ruleset, SUBCOMMAND, SUBCOMMAND_OF_ALL,
};
use super::super::rng::Rng;
use super::super::sandbox::Seen;
use super::options::{self, subcommand_of};
use super::{Stage, readers, removals, writers};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Harm {
    Program,
    Subcommand,
    Read,
    Write,
    Removal,
    /// What a rule of the user keeps as it is.
    Change,
}

impl Harm {
    pub(crate) const ALL: [Self; 6] =
        [Self::Program, Self::Subcommand, Self::Read, Self::Write, Self::Removal, Self::Change];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Program => "program",
            Self::Subcommand => "subcommand",
            Self::Read => "read",
            Self::Write => "write",
            Self::Removal => "removal",
            Self::Change => "change",
        }
    }

    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|harm| harm.name() == name)
    }

    /// Whether the line did what the rules are there to hold.
    pub(crate) fn was_done(self, seen: &Seen) -> bool {
        // What ended its sandbox may have done anything.
        if seen.has_ended_it {
            return true;
        }
        match self {
            Self::Program => seen.ran.iter().any(|words| words[0] == "danger"),
            Self::Subcommand => seen.ran.iter().any(|words| is_asked_for(words)),
            Self::Read => !seen.read.is_empty(),
            Self::Write => !seen.wrote.is_empty(),
            Self::Removal => !seen.removed.is_empty(),
            Self::Change => !seen.changed.is_empty(),
        }
    }

    pub(crate) fn rules(self) -> &'static [Ruleset] {
        match self {
            Self::Program => &[PROGRAM],
            Self::Subcommand => &[SUBCOMMAND, SUBCOMMAND_OF_ALL],
            Self::Read => &[READING, READING_BY_PLACE],
            Self::Write | Self::Removal => &[ANYTHING],
            Self::Change => &[CHANGING, CHANGING_ASKED],
        }
    }
}

const PROGRAMS: [&str; 4] = ["danger", "danger x", "zsh -fc '@W@/bin/(d)anger'", "zsh -fc 'path=(@W@/b*(/)); =danger'"];

pub(super) const SUBCOMMANDS: [(&str, &str); 4] =
    [("git", "push"), ("npm", "publish"), ("kubectl", "delete"), ("docker", "run")];

fn is_asked_for(words: &[String]) -> bool {
    let Some((program, rest)) = words.split_first() else { return false };
    SUBCOMMANDS.iter().any(|(name, asked)| program == name && subcommand_of(name, rest) == Some(*asked))
}

pub(crate) struct Target {
    pub(crate) harm: Harm,
    pub(crate) size: fn() -> usize,
    /// Which of them are plain, the plainest first: a line is made smaller by putting one of them in.
    pub(crate) plain: fn() -> Vec<usize>,
    /// The tool, what is given to it, and the name.
    pub(crate) make: fn(usize, &mut Rng) -> (&'static str, Stage, String),
}

pub(crate) const TARGETS: [Target; 7] = [
    Target {
        harm: Harm::Program,
        size: || PROGRAMS.len(),
        plain: || vec![1],
        make: |at, _| {
            let line = PROGRAMS[at];
            let stage = if line.contains('\'') { Stage::Script(line.to_owned()) } else { simple(line) };
            ("Bash", stage, line.to_owned())
        },
    },
    Target {
        harm: Harm::Subcommand,
        size: || SUBCOMMANDS.len() + options::each().len(),
        plain: || vec![0],
        make: subcommand,
    },
    Target { harm: Harm::Read, size: readers::size, plain: readers::plain, make: readers::make },
    Target { harm: Harm::Read, size: readers::tools, plain: || vec![0], make: readers::make_tool },
    Target { harm: Harm::Write, size: writers::size, plain: writers::plain, make: writers::make },
    Target { harm: Harm::Removal, size: removals::size, plain: removals::plain, make: removals::make },
    Target { harm: Harm::Change, size: writers::changes, plain: writers::plain, make: writers::make_change },
];

/// Programs twice as often: most productions are about how one is started.
pub(super) fn any(rng: &mut Rng) -> usize {
    *rng.pick(&[0, 0, 0, 0, 1, 1, 2, 2, 2, 4, 4, 5, 5, 6])
}

/// What every production is tried around, alone: which list, and which of its targets.
pub(super) fn plain() -> Vec<(usize, usize)> {
    let bare = [(0, 0)];
    bare.into_iter().chain([0, 1, 2, 4, 5, 6].map(|list| (list, (TARGETS[list].plain)()[0]))).collect()
}

/// Whether any production around this target speaks for itself.
pub(crate) fn is_plain_target(name: &str) -> bool {
    let named = |(list, at): (usize, usize)| (TARGETS[list].make)(at, &mut Rng::new(0)).2 == name;
    plain().into_iter().any(named) || SUBCOMMANDS.iter().any(|(program, asked)| name == format!("{program} {asked}"))
}

fn subcommand(at: usize, _: &mut Rng) -> (&'static str, Stage, String) {
    let with_option = at.checked_sub(SUBCOMMANDS.len()).and_then(|at| options::each().into_iter().nth(at));
    if let Some((line, name)) = with_option {
        return ("Bash", simple(&line), name);
    }
    let (program, asked) = SUBCOMMANDS[at];
    ("Bash", simple(&format!("{program} {asked} x")), format!("{program} {asked}"))
}

pub(super) fn simple(text: &str) -> Stage {
    Stage::Simple(text.split(' ').map(str::to_owned).collect())
}
