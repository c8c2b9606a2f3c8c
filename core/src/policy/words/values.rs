//! What the words of a line may become, as far as the line itself says so.

use std::collections::{BTreeMap, BTreeSet};

use super::cutting::{cut, cut_place, default_in, placed, put_in};
use super::shapes::globbed;
pub(crate) use super::shapes::{fills_outside_quotes, in_words, is_literal, may_be};
use crate::policy::shell::{ANY, LIST, ONE, OUTER, Piece, STAR, ShellWord};

/// More ways to read one word than this are one: anything.
pub(crate) const MOST: usize = 64;
/// A word that is longer than this by what is filled in may be anything: names in names grow without end.
const LONGEST: usize = 4_096;

/// Names that a line gives values to. [`super::setting`] says how.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Variables {
    pub(crate) values: BTreeMap<String, Vec<String>>,
    /// Names whose values the line puts together from others.
    pub(crate) made: BTreeSet<String>,
    /// Of these the names whose values are made of text that stands in the line.
    pub(super) made_of_text: BTreeSet<String>,
    /// Names that the line sets in a way that is not followed: they may be any text that it can make.
    pub(crate) unfollowed: BTreeSet<String>,
    /// Names whose values the shell puts into small or capital letters.
    pub(super) cased: BTreeSet<String>,
    /// Values of names that nobody knows.
    pub(crate) of_any: Vec<String>,
    /// Names whose values are more than text that stands in the line: `.` may be `$PWD` in them.
    pub(crate) filled: BTreeSet<String>,
    /// Something in the line sets names that nobody knows.
    pub(crate) sets_any: bool,
    /// A list has keys that are texts.
    pub(super) has_keys: bool,
    /// A name stands for another one, so that each may have the value of any.
    pub(crate) has_references: bool,
}

impl Variables {
    /// All that a word of a command may become. What a variable outside of quotes holds may be a pattern of file names.
    pub(crate) fn shapes(&self, word: &ShellWord) -> Vec<String> {
        let mut shapes = self.values_of(word);
        shapes.extend(shapes.iter().flat_map(|shape| self.in_places(shape)).collect::<Vec<_>>());
        if !fills_outside_quotes(&word.raw) {
            return shapes;
        }
        let is_value = |piece: &Piece| matches!(piece, Piece::Variable(_) | Piece::MadeOf(..));
        if word.pieces.iter().any(is_value) {
            let patterns: Vec<String> = shapes.iter().map(|shape| globbed(shape)).collect();
            shapes.extend(patterns);
            shapes.sort();
            shapes.dedup();
        }
        shapes
    }

    /// What begins with `~`, `~+` or `~-` in the folders that the line itself gives these names.
    fn in_places(&self, shape: &str) -> Vec<String> {
        let (place, below) = shape.split_at(shape.find('/').unwrap_or(shape.len()));
        let name = match place {
            "~" => "HOME",
            "~+" => "PWD",
            "~-" => "OLDPWD",
            _ => return vec![],
        };
        let folders = self.values.get(name).into_iter().flatten();
        folders.map(|folder| format!("{folder}{below}")).filter(|made| made != shape).collect()
    }

    /// All that a value may become, which is not taken for a pattern.
    pub(crate) fn values_of(&self, word: &ShellWord) -> Vec<String> {
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
                Piece::MadeOf(name, operator) => self.made_of(name, operator),
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
            Piece::MadeOf(name, operator) => self.values.contains_key(name) && self.followed(name, operator).is_none(),
            Piece::Variable(name) => self.made.contains(base(name)),
            _ => false,
        })
    }

    /// Whether it makes the word out of text that stands in it.
    pub(crate) fn is_made_of_text(&self, word: &ShellWord) -> bool {
        // Of a list nothing is known but that it is one.
        let is_text =
            |value: &String| value.is_empty() || value.chars().any(|c| !matches!(c, ANY | STAR | ONE | OUTER));
        word.pieces.iter().any(|piece| match piece {
            Piece::MadeOf(name, operator) => {
                self.made_of_text.contains(name)
                    || self.values.get(name).is_some_and(|values| values.iter().any(is_text))
                        && self.followed(name, operator).is_none()
            }
            Piece::Variable(name) => self.made_of_text.contains(base(name)),
            _ => false,
        })
    }

    /// Whether some of the word is a value that the line makes in a way that is not followed: it may be any text.
    pub(crate) fn is_unfollowed(&self, word: &ShellWord) -> bool {
        let is_something = |piece: &&Piece| !matches!(piece, Piece::Text(text) if text.is_empty());
        let is_put_together = word.pieces.iter().filter(is_something).count() > 1;
        let is_too_much = || is_put_together && self.values_of(word) == [ANY.to_string()];
        let is_one = word.pieces.iter().any(|piece| match piece {
            Piece::Variable(name) | Piece::MadeOf(name, _) => {
                let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '!'));
                let points = |name: &str| self.value(name).iter().any(|value| value.contains(ANY));
                self.has_references && is_name && !matches!(name.as_str(), "HOME" | "PWD")
                    || self.unfollowed.contains(base(name))
                    || name.strip_prefix('!').is_some_and(|name| !name.is_empty() && points(name))
                    || matches!(piece, Piece::MadeOf(_, operator) if self.loses(name, operator))
            }
            _ => false,
        });
        is_one || is_too_much()
    }

    /// Whether something is made of text that stands in the line, and nobody can tell what: also of names and keys.
    fn loses(&self, name: &str, operator: &str) -> bool {
        if name.starts_with('!') {
            return operator.starts_with(['*', '@']) || operator.starts_with('[') && self.has_keys;
        }
        let is_text = |value: &&String| is_literal(value) && !value.contains(OUTER) && !value.is_empty();
        let is_set = self.values.contains_key(name);
        let values = if is_set || place_of(name).is_some() { self.value(name) } else { vec![] };
        default_in(operator).is_none()
            && values.iter().filter(is_text).any(|value| self.cut(name, value, operator).is_none())
    }

    /// All that an operator makes of a value of a name; none where that is not certain.
    fn cut(&self, name: &str, value: &str, operator: &str) -> Option<Vec<String>> {
        let as_text = || cut(value, operator).map(|made| vec![made]);
        let is_set = self.values.contains_key(name);
        match placed(value) {
            Some((".", _)) if is_set && !self.filled.contains(base(name)) => as_text(),
            // It may be the text as well.
            Some((".", behind)) if is_set => Some([as_text()?, cut_place(".", behind, operator)?].concat()),
            Some((place, behind)) => cut_place(place, behind, operator),
            None => as_text(),
        }
    }

    /// What is made of a name that the line sets, where that is certain.
    fn followed(&self, name: &str, operator: &str) -> Option<Vec<String>> {
        let is_place = place_of(name).is_some() && default_in(operator).is_none();
        let values = (is_place || self.values.contains_key(name)).then(|| self.value(name))?;
        let Some(instead) = default_in(operator) else {
            let made: Option<Vec<_>> = values.iter().map(|value| self.cut(name, value, operator)).collect();
            return made.map(|made| made.concat());
        };
        let is_empty = operator.trim_start_matches(':').starts_with('+').then(String::new);
        Some(values.into_iter().chain(self.values_of(&ShellWord::read(instead))).chain(is_empty).collect())
    }

    fn made_of(&self, name: &str, operator: &str) -> Vec<String> {
        if let Some(values) = self.followed(name, operator) {
            return values;
        }
        let mut values = self.value(name);
        let is_set = self.values.contains_key(name) || place_of(name).is_some() && default_in(operator).is_none();
        match default_in(operator) {
            Some(instead) => values.extend(self.values_of(&ShellWord::read(instead))),
            None => values.extend(self.made_of_unknown(operator)),
        }
        // What is made of the environment alone is as little the line's as the environment.
        if is_set || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            values.push(ANY.to_string());
        }
        values
    }

    /// What an operator puts into a value that is not known, with or without what is left of that; and the root, which is
    /// the first letter of many a path.
    fn made_of_unknown(&self, operator: &str) -> Vec<String> {
        if matches!(operator, "::1" | ":0:1") {
            return vec!["/".to_owned()];
        }
        let put = put_in(operator).map_or(vec![], |put| self.values_of(&ShellWord::read(&put)));
        put.into_iter().flat_map(|put| [format!("{OUTER}{put}{OUTER}"), put]).collect()
    }

    pub(crate) fn value(&self, name: &str) -> Vec<String> {
        // `${!X}` is the value of the name that X holds.
        if let Some(pointer) = name.strip_prefix('!').filter(|name| !name.is_empty()) {
            let names = self.value(pointer).into_iter();
            let pointed = |name: String| if is_name(&name) { self.plain_value(&name) } else { vec![ANY.to_string()] };
            return names.flat_map(pointed).collect();
        }
        let name = base(name);
        let mut values = self.plain_value(name);
        if self.cased.contains(name) {
            let cased = values.iter().flat_map(|value| [value.to_lowercase(), value.to_uppercase()]);
            values = values.iter().cloned().chain(cased).collect();
        }
        values
    }

    fn plain_value(&self, name: &str) -> Vec<String> {
        let mut values = self.set_value(name);
        if is_name(name) {
            values.extend(self.of_any.iter().cloned());
        }
        values
    }

    fn set_value(&self, name: &str) -> Vec<String> {
        match (self.values.get(name), name) {
            (Some(values), _) if !self.sets_any => values.clone(),
            (Some(values), _) => [values.clone(), vec![ANY.to_string()]].concat(),
            (None, "HOME" | "PWD" | "OLDPWD") => place_of(name).map(str::to_owned).into_iter().collect(),
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

/// Folders that everybody has, as they are written elsewhere: the home, the one that one is in, the one before it.
fn place_of(name: &str) -> Option<&'static str> {
    match name {
        "HOME" => Some("~"),
        "PWD" => Some("."),
        "OLDPWD" => Some("~-"),
        _ => None,
    }
}

/// The name of a list whose elements are meant.
fn base(name: &str) -> &str {
    name.strip_suffix(LIST).unwrap_or(name)
}

pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::Script;

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
            ("cat ${PWD%/*}/x", vec!["./../x"]),
            ("cat ${HOME%/*/*}", vec!["~/../.."]),
            ("cat ${HOME%/}/x", vec!["~/x"]),
            ("cat ${PWD##*/}", vec!["\u{2fffe}"]),
            ("cat ${PWD#/}", vec![".", "\u{10ffff}"]),
            ("cat ${PWD::1}opt", vec!["/opt"]),
            ("cat ${PWD%%/*}/opt", vec!["/opt"]),
            ("x=$PWD; cat ${x%/*}/y", vec!["./../y", "./y"]),
            ("x=$PWD/src; cat ${x%/*/*}/y", vec!["./../y", "./src/y"]),
            ("x=~; cat ${x%/*}", vec!["~/.."]),
            ("x=./a.c; cat ${x%.c}.o ${x#./}", vec!["a.c"]),
            ("x=$HOME; y=$x; cat ${y##*/}", vec!["\u{2fffe}"]),
            ("cat ${PATH/*/src}", vec!["src", "\u{2fffe}", "\u{2fffe}src\u{2fffe}"]),
            ("cat ${PATH/*/\\/opt}", vec!["/opt", "\u{2fffe}", "\u{2fffe}/opt\u{2fffe}"]),
            ("cat ${TAG#v}", vec!["\u{2fffe}"]),
            ("x=${PWD%/*}; cat ${x%/*}", vec![".", "./../.."]),
            ("cat ${$+s}", vec!["0", "s", "\u{10ffff}"]),
            ("cat ${@:-s}", vec!["s", "\u{10ffff}"]),
            ("cat ${#x}", vec!["\u{10ffff}"]),
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
}
