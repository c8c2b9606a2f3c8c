//! The words of a command with what its variables hold in their place.

use super::starts::starts;
use super::suspects::{Found, Suspects};
use crate::policy::commands::command::{is_shell, name_of};
use crate::policy::shell::{OUTER, ShellWord};
use crate::policy::words::values::{Variables, fills_outside_quotes, is_literal};

/// More ways to fill in one command than this are one, with all values behind each other.
const MOST: usize = 8;

/// How many ways to fill in one text that is run are looked at.
const MOST_FILLED: usize = 16;

impl Suspects {
    /// The texts that a shell runs with what is filled in by the one around it: then braces and patterns in it count.
    pub(super) fn filled_scripts(&self) -> Vec<String> {
        let mut filled = vec![];
        for command in &self.found {
            for start in starts(&command.words) {
                let Some((first, rest)) = command.words.get(start..).and_then(<[ShellWord]>::split_first) else {
                    continue;
                };
                let runs = name_of(&first.text) == "eval" || is_shell(&first.text);
                if !runs || !rest.iter().any(|word| !word.is_known()) {
                    continue;
                }
                let mut texts = vec![String::new()];
                for word in rest.iter().filter(|word| !word.is_flag()) {
                    let shapes = self.variables.shapes(word);
                    let joined =
                        |text: &String| shapes.iter().map(|shape| format!("{text} {shape}")).collect::<Vec<_>>();
                    texts = texts.iter().flat_map(joined).take(MOST_FILLED).collect();
                }
                filled.extend(texts.into_iter().filter(|text| is_literal(text)));
            }
        }
        filled
    }

    /// Takes in each command once more with what its variables hold, as far as that is known: an option or a subcommand
    /// may stand in one.
    pub(crate) fn fill_in(&mut self) {
        let all = std::mem::take(&mut self.found);
        let mut scripts = vec![];
        for command in &all {
            for words in filled(&command.words, &self.variables) {
                let command = Found { words, ..command.clone() };
                if self.take(&command.words, false) {
                    scripts.extend(self.start(&command, &all));
                    self.found.push(command);
                }
            }
            self.found.push(command.clone());
        }
        scripts.iter().for_each(|script| drop(self.read(script)));
    }
}

/// The ways to fill in the words of a command, as far as what they hold is known. None where nothing is to be filled in.
fn filled(words: &[ShellWord], variables: &Variables) -> Vec<Vec<ShellWord>> {
    let mut ways: Vec<Vec<ShellWord>> = vec![vec![]];
    let mut is_filled = false;
    for word in words {
        let values = values(word, variables);
        is_filled |= !values.is_empty();
        let values = if values.is_empty() { vec![vec![word.clone()]] } else { values };
        let values = if values.len() * ways.len() > MOST { vec![values.concat()] } else { values };
        ways = ways.iter().flat_map(|way| values.iter().map(|value| [way.as_slice(), value].concat())).collect();
    }
    if is_filled { ways } else { vec![] }
}

/// The words that a word may be, for each value that is known.
fn values(word: &ShellWord, variables: &Variables) -> Vec<Vec<ShellWord>> {
    if word.is_known() {
        return vec![];
    }
    let splits = fills_outside_quotes(&word.raw);
    let shapes = variables.shapes(word);
    // A variable of the environment may be empty within a word, but not in the place of the folders that a path begins with.
    let is_within = |shape: &&String| shape.contains(OUTER) && !(shape.starts_with(OUTER) && shape.contains('/'));
    let emptied: Vec<String> = shapes.iter().filter(is_within).map(|shape| shape.replace(OUTER, "")).collect();
    let known = shapes.into_iter().filter(|shape| !shape.contains(OUTER)).chain(emptied);
    let known = known.filter(|shape| is_literal(shape) && !shape.is_empty());
    let words = |shape: String| match splits {
        true => shape.split_whitespace().map(split_off).collect(),
        false => vec![ShellWord { is_quoted: true, ..ShellWord::plain(&shape) }],
    };
    known.map(words).collect()
}

/// A word of a value, in which patterns count and nothing is filled in any more.
fn split_off(word: &str) -> ShellWord {
    if word.contains('$') { ShellWord::plain(word) } else { ShellWord::read(word) }
}
