//! Where the values of words come from that a line does not say itself: which commands print them, are given them or hold
//! them in lists.

use std::collections::BTreeSet;

use super::handing::{Handing, pipelines};
use super::printing::names_printed;
use crate::policy::commands::command::name_of;
use crate::policy::commands::reading::Reading;
use crate::policy::commands::runners::TRANSFORMERS;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{LIST, Piece, STAR, ShellWord, Way};

/// What values from elsewhere may be.
pub(crate) struct WordOrigin<'line> {
    /// Names that commands print for certain, or are given, as shapes.
    pub(crate) names: Vec<String>,
    /// Files that hold such names.
    pub(crate) lists: Vec<&'line ShellWord>,
    /// Some of them nobody can read here.
    pub(crate) is_unknown: bool,
}

impl<'line> WordOrigin<'line> {
    /// Of words that a variable or a command fills in.
    pub(crate) fn of_words(words: &'line [ShellWord], suspects: &'line Suspects) -> Self {
        let sources = Sources::of(words, suspects);
        let feeding: Vec<&Found> = suspects.found.iter().filter(|command| sources.has(command)).collect();
        let cuts = |word: &ShellWord| word.pieces.iter().any(|piece| matches!(piece, Piece::MadeOf(..)));
        Self::of(&feeding, Reading::Only, words.iter().any(cuts), suspects)
    }

    /// Of what `xargs` and its like are given by others.
    pub(crate) fn of_input(taking: &Found, suspects: &'line Suspects) -> Self {
        let all: Vec<&Found> = suspects.found.iter().collect();
        let is_fed = |command: &&Found| {
            let is_piped =
                |pipeline: &Vec<&Found>| pipeline.len() > 1 && pipeline.iter().any(|one| std::ptr::eq(*one, *command));
            command.is_grouped || !command.given.is_empty() || pipelines(&all).iter().any(is_piped)
        };
        let feeding: Vec<&Found> =
            all.iter().copied().filter(|command| std::ptr::eq(*command, taking) || is_fed(command)).collect();
        Self::of(&feeding, Reading::Nothing, false, suspects)
    }

    fn of(feeding: &[&'line Found], words: Reading, is_cut: bool, suspects: &'line Suspects) -> Self {
        let handing = Handing::to_words(feeding, words, suspects);
        let says = |names: &[&str]| {
            feeding.iter().any(|command| command.words.iter().any(|word| names.contains(&name_of(&word.text))))
        };
        let mut names: Vec<String> = feeding.iter().flat_map(|command| names_printed(command, suspects)).collect();
        // A text of the line that something takes apart or puts together may become any other.
        let is_changed = !names.is_empty() && says(&TRANSFORMERS) && says_text(feeding);
        for command in feeding {
            let given = command.redirects.iter().filter(|redirect| redirect.way == Way::Given);
            let shapes = given.flat_map(|redirect| suspects.variables.spellings(&redirect.target));
            let given = command.given.iter().flat_map(|text| suspects.variables.spellings(&ShellWord::read(text)));
            let texts: Vec<String> = shapes.chain(given).collect();
            names.extend(texts.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned));
        }
        // A link that the line makes leads to what it names.
        if says(&["realpath", "readlink"]) {
            let is_link = |command: &&Found| command.words.first().is_some_and(|word| name_of(&word.text) == "ln");
            let words = suspects.found.iter().filter(is_link).flat_map(|command| command.words.iter().skip(1));
            names.extend(words.filter(|word| !word.is_flag()).flat_map(|word| suspects.variables.spellings(word)));
        }
        // Of all that is there, something is picked.
        if says(&["grep", "egrep", "rg", "head", "tail", "awk", "sed", "fzf"]) {
            names.retain(|name| *name != STAR.to_string());
        }
        if is_cut || says(&["dirname"]) {
            names.extend(names.clone().iter().flat_map(|name| folders_of(name)));
        }
        names.sort();
        names.dedup();
        let lists = handing.lists.iter().flat_map(|list| list.words.iter().copied()).collect();
        Self { names, lists, is_unknown: handing.is_unknown || is_changed }
    }
}

/// Whether a command prints words that stand in the line.
fn says_text(feeding: &[&Found]) -> bool {
    let says = |command: &&Found| {
        let name = command.words.first().map_or("", |word| name_of(&word.text));
        matches!(name, "echo" | "printf" | "pwd" | "realpath" | "readlink") || !command.given.is_empty()
    };
    feeding.iter().any(says)
}

/// The folders that a name lies in.
pub(super) fn folders_of(name: &str) -> Vec<String> {
    let mut folders = vec![];
    let mut rest = name.trim_end_matches('/');
    while let Some((folder, _)) = rest.rsplit_once('/') {
        folders.push(if folder.is_empty() { "/".to_owned() } else { folder.to_owned() });
        rest = folder;
    }
    if !name.starts_with(['~', '/']) {
        folders.push(".".to_owned());
    }
    folders
}

/// Where the value of a word comes from.
struct Sources<'line> {
    /// What is written in the word, and in all that its names are set to.
    written: Vec<&'line str>,
    /// Something reads it.
    is_read: bool,
}

impl<'line> Sources<'line> {
    fn of(words: &'line [ShellWord], suspects: &'line Suspects) -> Self {
        let mut sources = Self { written: vec![], is_read: false };
        let mut names = BTreeSet::new();
        let mut todo: Vec<&ShellWord> = words.iter().collect();
        while let Some(word) = todo.pop() {
            sources.written.push(&word.raw);
            for name in word.pieces.iter().filter_map(name_in) {
                if !names.insert(name) {
                    continue;
                }
                for command in &suspects.found {
                    let set = command.assignments.iter().filter(|(set, _)| set == name).map(|(_, value)| value);
                    todo.extend(set);
                    if command.words.iter().skip(1).any(|word| sets(word, name)) {
                        todo.extend(command.words.iter().skip(1));
                        sources.is_read |=
                            command.words.first().is_some_and(|word| !matches!(word.text.as_str(), "for"));
                    }
                }
                // What a function is called with, and what stands behind `set`.
                if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
                    todo.extend(suspects.found.iter().flat_map(|command| command.words.iter().skip(1)));
                }
            }
        }
        sources
    }

    fn has(&self, command: &Found) -> bool {
        let first = command.words.first().map_or("", |word| word.raw.as_str());
        self.is_read || command.is_nested && self.written.iter().any(|written| written.contains(first))
    }
}

fn name_in(piece: &Piece) -> Option<&str> {
    match piece {
        Piece::Variable(name) | Piece::MadeOf(name, _) => Some(name.strip_suffix(LIST).unwrap_or(name)),
        Piece::Text(_) | Piece::Unknown | Piece::Glob(_) => None,
    }
}

/// Whether a word of `read`, `for`, `declare` and their like sets a name.
fn sets(word: &ShellWord, name: &str) -> bool {
    word.text == name || word.text.strip_prefix(name).is_some_and(|rest| rest.starts_with(['=', '+', '[']))
}
