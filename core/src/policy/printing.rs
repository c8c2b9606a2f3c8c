//! What commands print: names of files, their own words, lines of files; and what filters make of names.

use super::command::name_of;
use super::git_files::subcommand;
use super::handing::inner;
use super::inert::started;
use super::shell::ShellWord;
use super::suspects::Found;

/// What a command prints.
pub(super) enum Printed<'line> {
    /// Names of files that are there.
    Files,
    /// Its own words.
    Words,
    /// What is in the files of these words, or in its input.
    Lines(Vec<&'line ShellWord>),
    /// Nothing that is a name of a file of anybody's choice.
    Other,
    Unknown,
}

/// What a command prints, as far as names of files are in it.
pub(super) fn printed(command: &Found) -> Printed<'_> {
    let words = started(&command.words);
    let Some((first, rest)) = words.split_first() else { return Printed::Lines(vec![]) };
    let has = |begin: &str| rest.iter().any(|word| word.text.starts_with(begin));
    let short = |letters: &[char]| {
        rest.iter().any(|word| word.is_flag() && !word.text.starts_with("--") && word.text.contains(letters))
    };
    match name_of(&first.text) {
        "find" | "fd" | "ls" | "tree" | "du" => Printed::Files,
        "grep" | "egrep" | "fgrep" if short(&['r', 'R', 'l', 'L']) || has("--files") => Printed::Files,
        "rg" | "ag" | "ack" if short(&['l']) || has("--files") => Printed::Files,
        "git" => match subcommand(rest) {
            Some(("ls-files" | "status", _)) => Printed::Files,
            Some(("diff" | "show" | "log", words)) if words.iter().any(|word| word.text.starts_with("--name")) => {
                Printed::Files
            }
            Some((
                "rev-parse" | "branch" | "tag" | "describe" | "remote" | "rev-list" | "merge-base" | "config" | "log"
                | "for-each-ref" | "show-ref" | "symbolic-ref" | "worktree" | "stash",
                _,
            )) => Printed::Other,
            _ => Printed::Unknown,
        },
        // `\x73` is a character that nobody sees here.
        "printf" | "echo" if rest.iter().any(|word| hides_letters(&word.text)) => Printed::Unknown,
        "printf" if formats(rest) => Printed::Unknown,
        "echo" | "printf" | "basename" | "dirname" | "realpath" | "readlink" | "for" | "in" | "select" | "case"
        | "set" | "seq" => Printed::Words,
        "cat" | "head" | "tail" | "sort" | "uniq" | "grep" | "egrep" | "fgrep" | "tac" | "nl" => {
            Printed::Lines(rest.iter().filter(|word| !word.is_flag()).collect())
        }
        "go" if matches!(first_operand(rest), "env" | "list" | "version") => Printed::Other,
        "npm" | "pnpm" | "yarn" if matches!(first_operand(rest), "root" | "prefix" | "bin" | "config") => {
            Printed::Other
        }
        "pwd" | "date" | "mktemp" | "which" | "command" | "type" | "whoami" | "hostname" | "uname" | "nproc" | "id"
        | "test" | "[" | "[[" | "true" | "false" | ":" | "wc" | "cd" | "pgrep" | "lsof" | "ps" | "tty" | "getconf"
        | "xcrun" | "brew" | "arch" | "dpkg" | "sleep" | "read" => Printed::Other,
        _ => Printed::Unknown,
    }
}

fn first_operand(rest: &[ShellWord]) -> &str {
    rest.iter().find(|word| !word.is_flag()).map_or("", |word| word.text.as_str())
}

/// Whether printf puts words together.
fn formats(rest: &[ShellWord]) -> bool {
    let format = rest.iter().find(|word| !word.is_flag()).map_or("", |word| word.text.as_str());
    format.replace("%%", "").contains('%') && !matches!(format, "%s" | "%s\\n" | "%s\\0")
}

fn hides_letters(text: &str) -> bool {
    let behind = text.split('\\').skip(1);
    behind.filter_map(|part| part.chars().next()).any(|c| matches!(c, 'x' | 'u' | 'U' | '1'..='7'))
        || text.split("\\0").skip(1).any(|part| part.starts_with(|c: char| c.is_ascii_digit()))
}

/// Names of files that somebody prints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PrintedNames {
    None,
    OfFiles,
    /// They stand in the line, or in a list.
    Words,
    Unknown,
}

impl PrintedNames {
    /// What becomes of names in a command at the end of a pipe.
    pub(super) fn through(self, filter: &Found) -> Self {
        let words = started(&filter.words);
        let Some((first, rest)) = words.split_first() else { return self };
        let passes = match name_of(&first.text) {
            "grep" | "egrep" | "fgrep" | "rg" | "head" | "tail" | "sort" | "uniq" | "tee" | "cat" | "wc" | "tac"
            | "read" | "while" | "shuf" | "less" | "more" => true,
            // A part of a name that is there is no other one that is there, in all likelihood.
            "cut" => self != Self::Words,
            "tr" => {
                rest.iter().all(|word| word.is_flag() || !word.text.contains(|c: char| c.is_ascii_alphabetic()))
                    || rest.iter().all(|word| word.is_flag() || word.text.starts_with('\\'))
            }
            "awk" | "gawk" | "mawk" => !rest.iter().any(|word| word.text.contains(['"', '\\'])),
            "sed" => rest.iter().all(|word| word.is_flag() || puts_in_no_letters(&word.text)),
            "xargs" => inner(rest).is_some_and(|inner| {
                let name = inner.first().map_or("", |word| name_of(&word.text));
                matches!(
                    name,
                    "ls" | "basename" | "dirname" | "realpath" | "readlink" | "echo" | "grep" | "stat" | "wc"
                )
            }),
            _ => false,
        };
        match (passes, self) {
            (true, names) => names,
            (false, Self::None) => Self::None,
            (false, _) => Self::Unknown,
        }
    }
}

/// Whether `s/x/y/` puts nothing in place of x that a name could be made of.
fn puts_in_no_letters(script: &str) -> bool {
    let Some(delimiter) = script.strip_prefix('s').and_then(|rest| rest.chars().next()) else { return false };
    let parts: Vec<&str> = script.split(delimiter).collect();
    matches!(parts.as_slice(), [_, _, put, _] if !put.contains(|c: char| c.is_alphanumeric()))
}
