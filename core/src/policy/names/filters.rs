//! What filters at the ends of pipes make of the names of files that others print.

use super::handing::inner;
use crate::policy::commands::command::name_of;
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::Found;
use crate::policy::shell::ShellWord;

/// Names of files that somebody prints.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum PrintedNames {
    None,
    OfFiles,
    /// They stand in the line, or in a list.
    Words,
    Unknown,
}

impl PrintedNames {
    /// What becomes of names in a command at the end of a pipe.
    pub(crate) fn through(self, filter: &Found) -> Self {
        let words = started(&filter.words);
        let Some((first, rest)) = words.split_first() else { return self };
        let passes = match name_of(&first.text) {
            // It may cut a name.
            "head" | "tail" if rest.iter().any(|word| cuts_letters(&word.text)) => self == Self::None,
            // It may join two.
            "tr" if self == Self::Words && rest.iter().any(ShellWord::is_flag) => false,
            "grep" | "egrep" | "fgrep" | "rg" | "head" | "tail" | "sort" | "uniq" | "tee" | "cat" | "wc" | "tac"
            | "read" | "while" | "shuf" | "less" | "more" => true,
            // A part of a name that is there is no other one that is there, in all likelihood.
            "cut" => self != Self::Words,
            // In the words of the line it may leave out what hides another name.
            "tr" | "sed" if self == Self::Words => rest.iter().all(|word| word.is_flag() || is_blank(&word.text)),
            "awk" | "gawk" | "mawk" if self == Self::Words => {
                !rest.iter().any(|word| word.text.contains(['"', '\\', '(', '/']))
            }
            // What the system says, in other letters or without some of them, is nobody's choice.
            "tr" if self == Self::None => {
                rest.iter().any(|word| word.text.starts_with("-d"))
                    || rest.iter().all(|word| word.is_flag() || is_range(&word.text))
            }
            "tr" => {
                rest.iter().all(|word| word.is_flag() || !word.text.contains(|c: char| c.is_ascii_alphabetic()))
                    || rest.iter().all(|word| word.is_flag() || word.text.starts_with('\\'))
            }
            "rev" | "fold" | "column" | "paste" | "base64" | "md5sum" | "sha1sum" | "sha256sum" | "shasum" => {
                self == Self::None && rest.iter().all(ShellWord::is_flag)
            }
            "awk" | "gawk" | "mawk" if self == Self::None => !rest.iter().any(|word| says_letters(&word.text)),
            "awk" | "gawk" | "mawk" => !rest.iter().any(|word| word.text.contains(['"', '\\'])),
            // Each text that it puts in is a word of the line.
            "sed" if self == Self::None && rest.iter().filter(|word| !word.is_flag()).count() == 1 => {
                let script = rest.iter().find(|word| !word.is_flag()).map_or("", |word| word.text.as_str());
                return match (puts_in_no_letters(script), puts_in_one_text(script)) {
                    (true, _) => self,
                    (false, true) => Self::Words,
                    (false, false) => Self::Unknown,
                };
            }
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
        // Whatever it is given, another one may say what it is told to.
        if passes { self } else { Self::Unknown }
    }
}

/// Whether an option of `head` or `tail` counts letters, and not lines: `-c4`, `-4c`, `+3c`.
pub(super) fn cuts_letters(word: &str) -> bool {
    word.starts_with("--b") || word.starts_with(['-', '+']) && !word.starts_with("--") && word.contains('c')
}

/// What stands between names: `tr ',' '\\n'`.
fn is_blank(text: &str) -> bool {
    matches!(text, " " | "," | ":" | ";" | "\\n" | "\\0" | "\\t" | "\n" | "\t" | "\\r")
}

/// Whether `s/x/y/` puts nothing in place of x that a name could be made of.
fn puts_in_no_letters(script: &str) -> bool {
    let Some(delimiter) = script.strip_prefix('s').and_then(|rest| rest.chars().next()) else { return false };
    let parts: Vec<&str> = script.split(delimiter).collect();
    let [_, _, put, _] = parts.as_slice() else { return false };
    // A part of what stood there, as `cut` takes one.
    let put = (1..=9).fold((*put).to_owned(), |put, part| put.replace(&format!("\\{part}"), ""));
    !put.contains(|c: char| c.is_alphanumeric())
}

/// Whether it puts in one text, as it stands there.
fn puts_in_one_text(script: &str) -> bool {
    // With other signs in the place of its slashes it is no word of its own.
    let parts: Vec<&str> = script.split('/').collect();
    matches!(parts.as_slice(), ["s", _, put, _] if !put.contains(['&', '\\']))
}

/// Whether a program in awk has letters in quotes, which it may print.
fn says_letters(text: &str) -> bool {
    text.contains('\\') || text.split('"').skip(1).step_by(2).any(|said| said.contains(|c: char| c.is_alphanumeric()))
}

/// `A-Z`, `[:upper:]`, or letters of which none is one of a name.
fn is_range(set: &str) -> bool {
    let is_class = set.starts_with("[:") && set.ends_with(":]");
    is_class
        || matches!(set, "A-Z" | "a-z" | "0-9" | "a-zA-Z" | "A-Za-z" | "a-z0-9" | "a-zA-Z0-9" | "A-Za-z0-9")
        || !set.contains(|c: char| c.is_alphanumeric())
        || set.starts_with('\\') && set.chars().count() == 2
}
