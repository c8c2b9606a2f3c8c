//! What the words of a line may become, as far as the line itself says so.
//!
//! A *shape* is a text in which [`ANY`] stands for what nobody knows, [`STAR`] and [`ONE`] for patterns of file names.

use std::collections::{BTreeMap, BTreeSet};

use super::shell::{ANY, ONE, OUTER, Piece, STAR, ShellWord};

/// More ways to read one word than this are one: anything.
const MOST: usize = 16;
/// A word that is longer than this by what is filled in may be anything: names in names grow without end.
const LONGEST: usize = 4_096;

/// Names that a line gives values to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Variables {
    values: BTreeMap<String, Vec<String>>,
    /// Names whose values the line puts together from others.
    made: BTreeSet<String>,
    /// Of these the names whose values are made of text that stands in the line.
    made_of_text: BTreeSet<String>,
    /// Something in the line sets names that nobody knows.
    sets_any: bool,
}

impl Variables {
    /// Takes in what a command sets: `X=y`, `for X in y`, `export X=y`, `read X`, `${X:=y}`, and `$_` with its last word.
    pub(crate) fn learn(&mut self, assignments: &[(String, ShellWord)], words: &[ShellWord]) {
        for (name, value) in assignments {
            self.add(name, value);
            self.learn_defaults(value);
            // `X+=y` and `X[1]=y` make it out of parts.
            if value.raw.split('=').next().is_some_and(|written| written.ends_with(['+', ']'])) {
                self.made_of_text.insert(name.clone());
            }
        }
        words.iter().for_each(|word| self.learn_defaults(word));
        if let Some(last) = words.last() {
            self.add("_", last);
        }
        let Some((first, rest)) = words.split_first() else { return };
        let fills = matches!(
            first.text.as_str(),
            "read" | "mapfile" | "readarray" | "printf" | "getopts" | "let" | "unset" | "declare" | "typeset" | "wait"
        );
        let sets =
            fills || matches!(first.text.as_str(), "export" | "local" | "readonly" | "env" | "source" | "." | "set");
        // A name for another name.
        self.sets_any |=
            fills && rest.iter().any(|word| word.is_flag() && word.text.contains('n') && first.text != "read");
        self.sets_any |= sets && rest.iter().any(|word| !word.is_known() && !word.raw.contains('='));
        for word in rest {
            match super::shell::assignment(word) {
                Some((name, value)) => self.add(&name, &value),
                None if fills && is_name(&word.text) => {
                    self.forget(&word.text);
                    if first.text == "printf" {
                        self.made.insert(word.text.clone());
                        self.made_of_text.insert(word.text.clone());
                    }
                }
                None => {}
            }
        }
        if let ("for" | "select", [name, _in, values @ ..]) = (first.text.as_str(), rest) {
            if values.is_empty() {
                self.forget(&name.text);
            }
            values.iter().for_each(|value| self.add(&name.text, value));
        }
    }

    /// The same for what only may be run: a name may still be what it was before.
    pub(crate) fn learn_perhaps(&mut self, assignments: &[(String, ShellWord)], words: &[ShellWord]) {
        for (name, _) in assignments.iter().filter(|(name, _)| !self.values.contains_key(name)).collect::<Vec<_>>() {
            let before = self.value(name);
            self.values.insert(name.clone(), before);
        }
        self.learn(assignments, words);
    }

    /// Whether the line may give a value to the name.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.sets_any || self.values.contains_key(name)
    }

    /// `${X:=y}` sets X.
    fn learn_defaults(&mut self, word: &ShellWord) {
        for piece in &word.pieces {
            if let Piece::MadeOf(name, instead) = piece
                && !instead.is_empty()
            {
                self.add(name, &ShellWord::read(instead));
            }
        }
    }

    /// What is set again and again may be anything.
    pub(crate) fn forget_all(&mut self) {
        self.sets_any = true;
        self.made_of_text.extend(self.values.keys().cloned());
    }

    fn add(&mut self, name: &str, value: &ShellWord) {
        let shapes = self.shapes(value);
        if self.is_made(value) {
            self.made.insert(name.to_owned());
        }
        if self.is_made_of_text(value) {
            self.made_of_text.insert(name.to_owned());
        }
        let known = self.values.entry(name.to_owned()).or_default();
        known.extend(shapes);
        known.sort();
        known.dedup();
        if known.len() > MOST {
            *known = vec![ANY.to_string()];
            self.made.insert(name.to_owned());
            self.made_of_text.insert(name.to_owned());
        }
    }

    fn forget(&mut self, name: &str) {
        let known = self.values.entry(name.to_owned()).or_default();
        if !known.iter().any(|value| value.starts_with(ANY) && value.len() == ANY.len_utf8()) {
            known.push(ANY.to_string());
        }
    }

    /// All that a word may become.
    pub(crate) fn shapes(&self, word: &ShellWord) -> Vec<String> {
        let mut shapes = vec![String::new()];
        let mut pieces = word.pieces.iter();
        while let Some(piece) = pieces.next() {
            let values = match piece {
                Piece::Text(text) => vec![text.clone()],
                Piece::Unknown => vec![ANY.to_string()],
                Piece::Glob('*') => vec![STAR.to_string()],
                Piece::Glob('[') => {
                    // A class of characters is one of them.
                    let closed = pieces.clone().position(|piece| *piece == Piece::Glob(']'));
                    if let Some(closed) = closed {
                        pieces.nth(closed);
                    }
                    vec![closed.map_or('[', |_| ONE).to_string()]
                }
                Piece::Glob('?') => vec![ONE.to_string()],
                Piece::Glob(c) => vec![c.to_string()],
                Piece::Variable(name) => self.value(name),
                Piece::MadeOf(name, instead) => self.made_of(name, instead),
            };
            shapes = shapes
                .iter()
                .flat_map(|shape| values.iter().map(move |value| format!("{shape}{value}")))
                .take(MOST + 1)
                .collect();
            let grows = !matches!(piece, Piece::Text(_)) && shapes.iter().any(|shape| shape.len() > LONGEST);
            if shapes.len() > MOST || grows {
                return vec![ANY.to_string()];
            }
        }
        shapes
    }

    /// The shapes, and what they are where variables of the environment are empty.
    pub(crate) fn spellings(&self, word: &ShellWord) -> Vec<String> {
        let mut shapes = self.shapes(word);
        let emptied: Vec<String> =
            shapes.iter().filter(|shape| shape.contains(OUTER)).map(|shape| shape.replace(OUTER, "")).collect();
        // A whole path behind it stands for itself; `$X/*` is for what is in X.
        let counts = |shape: &String| !shape.is_empty() && (!shape.starts_with('/') || is_literal(shape));
        shapes.extend(emptied.into_iter().filter(counts));
        shapes
    }

    /// Whether the line makes the word out of others, so that it may be any.
    pub(crate) fn is_made(&self, word: &ShellWord) -> bool {
        word.pieces.iter().any(|piece| match piece {
            Piece::MadeOf(name, _) => self.values.contains_key(name),
            Piece::Variable(name) => self.made.contains(name),
            _ => false,
        })
    }

    /// Whether it makes the word out of text that stands in it.
    pub(crate) fn is_made_of_text(&self, word: &ShellWord) -> bool {
        // Of a list nothing is known but that it is one.
        let is_text =
            |value: &String| value.is_empty() || value.chars().any(|c| !matches!(c, ANY | STAR | ONE | OUTER));
        word.pieces.iter().any(|piece| match piece {
            Piece::MadeOf(name, _) => {
                self.made_of_text.contains(name)
                    || self.values.get(name).is_some_and(|values| values.iter().any(is_text))
            }
            Piece::Variable(name) => self.made_of_text.contains(name),
            _ => false,
        })
    }

    fn made_of(&self, name: &str, instead: &str) -> Vec<String> {
        let mut values = self.value(name);
        if !instead.is_empty() {
            values.extend(self.shapes(&ShellWord::read(instead)));
        }
        // What is made of the environment alone is as little the line's as the environment.
        if self.values.contains_key(name) || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            values.push(ANY.to_string());
        }
        values
    }

    fn value(&self, name: &str) -> Vec<String> {
        match (self.values.get(name), name) {
            (Some(values), _) if !self.sets_any => values.clone(),
            (Some(values), _) => [values.clone(), vec![ANY.to_string()]].concat(),
            (None, "HOME") => vec!["~".to_owned()],
            (None, "PWD") => vec![".".to_owned()],
            (None, "IFS") => vec![" ".to_owned()],
            // Numbers.
            (None, "?" | "#" | "$" | "!") => vec!["0".to_owned()],
            (None, name) if self.sets_any || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') => {
                vec![ANY.to_string()]
            }
            (None, _) => vec![OUTER.to_string()],
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A shape for people.
pub(crate) fn in_words(shape: &str) -> String {
    shape
        .chars()
        .map(|c| match c {
            ANY | OUTER => '…',
            STAR => '*',
            ONE => '?',
            c => c,
        })
        .collect()
}

/// Whether a name of a file is what a part of a pattern says, for whoever looks for it on a disk.
pub fn is_part(pattern: &str, name: &str) -> bool {
    let hidden = name.starts_with('.') && pattern.starts_with([STAR, ONE]);
    !hidden && may_be(pattern, name)
}

/// Whether a part of a pattern may stand for folders in folders.
pub fn is_any_depth(pattern: &str) -> bool {
    pattern.chars().count() > 1 && pattern.chars().all(|c| c == STAR)
}

/// Whether all of it stands there.
pub fn is_literal(shape: &str) -> bool {
    !shape.contains([ANY, STAR, ONE])
}

/// Whether a shape may be this text. What stands for anything may be nothing, too.
pub(crate) fn may_be(shape: &str, text: &str) -> bool {
    let shape: Vec<char> = shape.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        match shape.get(at) {
            Some(&(ANY | STAR)) => {
                star = Some((at, place));
                at += 1;
            }
            Some(c) if *c == ONE || c.eq_ignore_ascii_case(&text[place]) => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((starred, tried)) = star else { return false };
                star = Some((starred, tried + 1));
                at = starred + 1;
                place = tried + 1;
            }
        }
    }
    shape[at..].iter().all(|c| matches!(*c, ANY | STAR))
}

#[cfg(test)]
mod tests {
    use super::super::shell::Script;
    use super::*;

    fn last_word(line: &str) -> Vec<String> {
        let script = Script::read(line);
        let mut variables = Variables::default();
        script.commands.iter().for_each(|command| variables.learn(&command.assignments, &command.words));
        let word = script.commands.last().and_then(|command| command.words.last()).unwrap();
        variables.shapes(word)
    }

    #[test]
    fn a_word_is_what_the_line_makes_of_it() {
        for (line, shapes) in [
            ("a b", vec!["b"]),
            ("X=.git/con; cp a ${X}fig", vec![".git/config"]),
            ("for f in a b; do cat x$f", vec!["xa", "xb"]),
            ("export X=y; cat $X", vec!["y"]),
            ("X=a; X=b; cat $X", vec!["a", "b"]),
            ("cat $HOME/.ssh", vec!["~/.ssh"]),
            ("cat '$X'", vec!["$X"]),
            ("cat $X", vec!["\u{2fffe}"]),
            ("cat $1", vec!["\u{10ffff}"]),
            ("export $(x); cat $X", vec!["\u{10ffff}"]),
            ("cat a$(b)c", vec!["a\u{10ffff}c"]),
            ("cat /bin/r?", vec!["/bin/r\u{1fffe}"]),
            ("cat [ab]*", vec!["\u{1fffe}\u{10fffe}"]),
            ("cat '*'", vec!["*"]),
            ("read X; cat $X", vec!["\u{10ffff}"]),
        ] {
            assert_eq!(last_word(line), shapes, "{line}");
        }
    }

    #[test]
    fn names_in_names_do_not_grow_without_end() {
        let mut line = "A=0123456789".to_owned();
        for (name, of) in ('B'..='Z').zip('A'..='Y') {
            line += &format!("; {name}={}", format!("${of}").repeat(10));
        }
        let shapes = last_word(&format!("{line}; cat $Z"));
        assert!(shapes.iter().all(|shape| shape.len() <= LONGEST && shape.chars().all(|c| c == ANY)));
        let long = "x".repeat(5_000);
        assert_eq!(last_word(&format!("cat {long}")), [long]);
    }

    #[test]
    fn a_shape_may_be_more_than_one_text() {
        assert!(may_be("r\u{1fffe}", "rm") && !may_be("r\u{1fffe}", "rmx"));
        assert!(may_be("\u{10ffff}", "") && may_be("r\u{10ffff}m", "rm") && !may_be("x\u{10ffff}", "rm"));
    }
}
