//! The words of a command with what its variables hold in their place.

use super::shell::{OUTER, ShellWord};
use super::values::{Variables, fills_outside_quotes, is_literal};

/// More ways to fill in one command than this are one, with all values behind each other.
const MOST: usize = 8;

/// The ways to fill in the words of a command, as far as what they hold is known. None where nothing is to be filled in.
pub(super) fn filled(words: &[ShellWord], variables: &Variables) -> Vec<Vec<ShellWord>> {
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
    let known = variables.shapes(word).into_iter().filter(|shape| is_literal(shape) && !shape.contains(OUTER));
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
