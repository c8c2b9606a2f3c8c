//! Whether a line goes to a folder whose name it makes up, or takes from what nobody can read here.

use std::collections::BTreeSet;

use super::folders::targets;
use super::handing::Handing;
use super::reading::Reading;
use super::shell::{ANY, LIST, Piece, ShellWord};
use super::suspects::{Found, Suspects};

/// Whether nobody can tell where its commands run, since the line itself may say so in a way that is not followed. What
/// other programs print without being told, such as `mktemp`, is no such way.
pub(super) fn is_lost(suspects: &Suspects) -> bool {
    let targets = suspects.commands.iter().flat_map(|suspect| targets(&suspect.words));
    let is_open = |word: &ShellWord| suspects.variables.shapes(word).iter().any(|shape| shape.contains(ANY));
    let open: Vec<ShellWord> = targets.filter(is_open).collect();
    if open.is_empty() {
        return false;
    }
    let sources = Sources::of(&open, suspects);
    let feeding: Vec<&Found> = suspects.found.iter().filter(|command| sources.has(command)).collect();
    let handing = Handing::to_words(&feeding, Reading::Only, suspects);
    open.iter().any(|word| suspects.variables.is_unfollowed(word)) || handing.is_unknown || !handing.lists.is_empty()
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
