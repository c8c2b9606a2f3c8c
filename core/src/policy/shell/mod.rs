//! What a shell would run: the commands of a line, wherever in it they stand.
//!
//! Two readers need different things. Who wants to *allow* must be sure of every word: anything but plain commands of
//! literal words makes the script [`Script::issue`]ful. Who wants to *deny* must miss nothing: commands inside
//! subshells, loops, substitutions and quoted scripts are all in [`Script::commands`], and one too many does no harm.

use std::collections::BTreeSet;

mod expressions;
mod read;
mod word;
mod zsh;

pub(crate) use expressions::expression_parts;
pub(crate) use read::{assignment, set_by_word};
pub(crate) use word::{ANY, LIST, ONE, OUTER, Piece, STAR, ShellWord};
pub(crate) use zsh::{changes_shell, has_meaning};

/// Longer lines are not read at all.
pub(crate) const LONGEST: usize = 10_000;

/// The shell that runs the lines of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SessionShell {
    #[default]
    Bash,
    /// zsh, or nobody knows which of both: what they read in different ways is not certain.
    MayBeZsh,
}

/// What stands between a command and the one before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// The first one, or one whose beginning is not plain.
    Start,
    /// `;`, a newline, `&&` or `||`: in the same shell, one after the other.
    Then,
    /// `|` or `|&`: its input is what the other printed.
    Pipe,
    /// After `&`: the one before runs on in the background.
    Background,
}

/// One simple command.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ShellCommand {
    pub(crate) joint: Joint,
    /// `NAME=value` before the first word.
    pub(crate) assignments: Vec<(String, ShellWord)>,
    pub(crate) words: Vec<ShellWord>,
    pub(crate) redirects: Vec<Redirect>,
    /// Its here-documents, as places in [`Script::texts`].
    pub(crate) heredocs: Vec<usize>,
    /// What it prints goes into a word, or a file, of another command.
    pub(crate) is_nested: bool,
}

impl ShellCommand {
    fn new(joint: Joint, is_nested: bool) -> Self {
        Self { joint, assignments: vec![], words: vec![], redirects: vec![], heredocs: vec![], is_nested }
    }

    fn is_empty(&self) -> bool {
        self.assignments.is_empty() && self.words.is_empty() && self.redirects.is_empty() && self.heredocs.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Redirect {
    pub(crate) way: Way,
    pub(crate) target: ShellWord,
    /// It changes the input: `<x` and `0<x` do, `3<x` and `>x` do not.
    pub(crate) is_of_input: bool,
}

impl Redirect {
    /// The text of a here-string.
    pub(crate) fn given(&self) -> Option<String> {
        (self.way == Way::Given).then(|| self.target.script())
    }

    /// Whether a file becomes the input.
    pub(crate) fn opens_input(&self) -> bool {
        self.way == Way::In && self.is_of_input
    }

    /// Whether what a machine sends becomes the input: `<>/dev/tcp/host/80`.
    pub(crate) fn reads_machine(&self) -> bool {
        let is_machine = ["/dev/tcp/", "/dev/udp/"].iter().any(|begin| self.target.text.starts_with(begin));
        self.is_of_input && is_machine
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// `<`
    In,
    /// `>`, `>>`, `>|`, `&>` and their like
    Out,
    /// `2>&1` and its like, which name no file
    Copy,
    /// `<<<` and `<<`, whose text is the input
    Given,
}

/// Doubts that may be cleared up by looking at the words of a line.
pub(crate) mod doubt {
    pub(crate) const PATTERN: &str = "it holds a pattern for file names";
    pub(crate) const COMPOUND: &str = "it is more than a list of commands";
    pub(crate) const VARIABLE: &str = "it holds a variable";
    pub(crate) const PRINTED: &str = "it runs a command to make a word";
    pub(crate) const NUMBER: &str = "it holds a number that is reckoned";
    pub(crate) const BRACES: &str = "it holds braces";
    pub(crate) const RECKONED: &str = "it reckons with a variable";
    pub(crate) const TEXT: &str = "it holds a here-document";
    pub(crate) const SHELL: &str = "it changes the shell itself";
    pub(crate) const GROUP: &str = "some of its commands run in a shell of their own";
    pub(crate) const BACKGROUND: &str = "& leaves a command running";
    pub(crate) const COMMENT: &str = "it holds a comment";
    pub(crate) const HOME: &str = "a ~ stands for a folder";
    pub(crate) const BACKSLASH: &str = "it holds a backslash";
    pub(crate) const GOES_ON: &str = "a line goes on after a backslash";
    pub(crate) const LINES: &str = "a text in quotes has several lines";
    pub(crate) const MADE_FILE: &str = "it runs a command to make a file";
    pub(crate) const GIVEN: &str = "it holds a here-string";
    /// These hide what a text runs and which files it names also where it stands in quotes, for another shell.
    pub(crate) const SPLIT: &str = "a line goes on in the midst of a word";
    pub(crate) const EXTENDED: &str = "an extended pattern names files";
    pub(crate) const STACK: &str = "a ~ stands for a folder that only the shell knows";
    pub(crate) const CASE: &str = "where a `case` in brackets ends is not read";
}

/// Why a line is not surely what it seems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ParseIssue {
    /// It holds more than simple commands of literal words. Its commands were still found.
    NotPlain(&'static str),
    /// Nobody knows what a shell makes of it.
    Unreadable(&'static str),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Script {
    pub(crate) commands: Vec<ShellCommand>,
    /// The worst of all doubts.
    pub(crate) issue: Option<ParseIssue>,
    /// All of them.
    pub(crate) doubts: BTreeSet<&'static str>,
    /// What stands in here-documents.
    pub(crate) texts: Vec<String>,
    /// It holds something in which a command may be taken for text: what is run is looked for everywhere.
    pub(crate) is_unsure: bool,
    /// Commands are grouped in it, so that the input of one may be that of others.
    pub(crate) has_groups: bool,
    /// Some of it may be run again: it has loops or functions.
    pub(crate) repeats: bool,
    /// The names of functions that it defines.
    pub(crate) functions: BTreeSet<String>,
    /// Texts in it that a shell may reckon with.
    pub(crate) reckoned: Vec<String>,
    /// Which shell runs it.
    pub(crate) shell: SessionShell,
    /// Why zsh may make something else of it.
    pub(crate) otherwise: Option<&'static str>,
}

impl Script {
    pub(crate) fn read(line: &str) -> Self {
        if line.chars().count() > LONGEST {
            let issue = Some(ParseIssue::Unreadable("it is longer than 10,000 characters"));
            return Self { issue, ..Self::default() };
        }
        if line.contains('\0') {
            // A shell drops it, or ends there.
            let mut script = read::script(&line.replace('\0', ""));
            script.doubt(ParseIssue::Unreadable("it holds a character that shells do not take"));
            return script;
        }
        read::script(line)
    }

    /// The same of a line that the shell of a session runs.
    pub(crate) fn read_in(line: &str, shell: SessionShell) -> Self {
        if shell == SessionShell::Bash || line.chars().count() > LONGEST {
            return Self { shell, ..Self::read(line) };
        }
        let zsh::AsBash { line, why } = zsh::as_bash(line);
        Self { shell, otherwise: why, ..Self::read(&line) }
    }

    /// Notes a doubt.
    pub(crate) fn doubt(&mut self, issue: ParseIssue) {
        let (ParseIssue::NotPlain(why) | ParseIssue::Unreadable(why)) = issue;
        self.doubts.insert(why);
        self.issue = self.issue.max(Some(issue));
    }

    pub(crate) fn is_readable(&self) -> bool {
        !matches!(self.issue, Some(ParseIssue::Unreadable(_)))
    }
}
