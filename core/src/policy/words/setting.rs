//! What the commands of a line set names to: assignments, and the builtins that fill names in.
//!
//! What is followed wholly has its values noted. A name that is set in any other way is *unfollowed*, and may be any text.

use super::cutting::default_in;
use super::values::{MOST, Variables, is_name};
use crate::policy::commands::command::in_this_shell;
use crate::policy::shell::{ANY, Piece, ShellWord, assignment, set_by_word};

/// More words of a function than this have no values of their own.
const MOST_WORDS: usize = 9;

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
        let Some((first, rest)) = in_this_shell(words).split_first() else { return };
        match first.text.as_str() {
            "declare" | "typeset" | "local" | "export" | "readonly" => self.declare(rest),
            "printf" => self.print_into(rest),
            "read" | "mapfile" | "readarray" => self.fill_in(first.text.as_str(), rest),
            "getopts" => {
                self.unfollowed.insert("OPTARG".to_owned());
                rest.iter().skip(1).take(1).for_each(|word| self.forget_named(word));
            }
            "let" | "unset" | "wait" => rest.iter().for_each(|word| self.forget_named(word)),
            "for" | "select" => self.go_through(rest),
            "env" | "source" | "." | "set" => {
                self.sets_any |= rest.iter().any(|word| !word.is_known() && !word.raw.contains('='));
            }
            _ => {}
        }
        // Some of those above, `env` and whatever else takes them.
        for (name, value) in rest.iter().filter_map(set_by_word) {
            self.add(&name, &value);
        }
    }

    /// The words of a function or of `set --`: `$1` may be the first of them, after a `shift` one behind it, or one that
    /// nobody knows.
    pub(crate) fn learn_words(&mut self, words: &[ShellWord]) {
        for (at, word) in words.iter().enumerate().take(MOST_WORDS) {
            let mut values = self.values_of(word);
            values.push(ANY.to_string());
            let places = (1..=at + 1).map(|place| place.to_string()).chain(["@".to_owned(), "*".to_owned()]);
            for place in places {
                self.filled.insert(place.clone());
                self.add_values(&place, values.clone());
            }
        }
    }

    /// `declare`, and its like.
    fn declare(&mut self, rest: &[ShellWord]) {
        let letters: String = rest.iter().filter(|word| word.is_flag()).flat_map(|word| word.text.chars()).collect();
        self.has_references |= letters.contains('n');
        self.has_keys |= letters.contains('A');
        for word in rest.iter().filter(|word| !word.is_flag()) {
            let set = assignment(word);
            let name = set.as_ref().map_or(word.text.as_str(), |(name, _)| name.as_str());
            if letters.contains(['l', 'u']) {
                self.cased.insert(name.to_owned());
            }
            if letters.contains('c') {
                self.unfollowed.insert(name.to_owned());
            }
            match set {
                // Noted with the rest.
                Some(_) => {}
                None if word.is_known() => {}
                None if !word.raw.contains('=') => self.sets_any = true,
                None => self.declare_unknown(word),
            }
        }
    }

    /// `declare "$X=y"`.
    fn declare_unknown(&mut self, word: &ShellWord) {
        for shape in self.values_of(word) {
            match shape.split_once('=') {
                Some((name, value)) if is_name(name) => {
                    self.filled.insert(name.to_owned());
                    self.add_values(name, vec![value.to_owned()]);
                }
                Some((_, value)) => {
                    self.sets_any = true;
                    if !self.of_any.iter().any(|known| known == value) && self.of_any.len() < MOST {
                        self.of_any.push(value.to_owned());
                    }
                }
                None => self.sets_any = true,
            }
        }
    }

    /// `printf -v X`.
    fn print_into(&mut self, rest: &[ShellWord]) {
        let Some(at) = rest.iter().position(|word| word.text.starts_with("-v")) else { return };
        let glued = rest[at].text.len() > 2;
        let (name, behind) = if glued { (&rest[at], at + 1) } else { (rest.get(at + 1).unwrap_or(&rest[at]), at + 2) };
        let text = if glued { &name.text[2..] } else { name.text.as_str() };
        if !name.is_known() {
            self.sets_any = true;
            self.has_references = true;
            return;
        }
        let text = text.split('[').next().unwrap_or_default();
        if !is_name(text) {
            return;
        }
        self.made_of_text.insert(text.to_owned());
        self.filled.insert(text.to_owned());
        match self.formatted(rest.get(behind..).unwrap_or_default()) {
            Some(made) => self.add_values(text, vec![made]),
            None => self.give_up(text),
        }
    }

    /// What a format of texts alone makes of words that are known.
    pub(crate) fn formatted(&self, words: &[ShellWord]) -> Option<String> {
        let words = words.strip_prefix(&[ShellWord::plain("--")]).unwrap_or(words);
        let mut known = vec![];
        for word in words {
            match self.shapes(word).as_slice() {
                [one] if !one.contains(ANY) => known.push(one.clone()),
                _ => return None,
            }
        }
        let (format, words) = known.split_first()?;
        let parts: Vec<&str> = format.split("%s").collect();
        if parts.iter().any(|part| part.contains(['%', '\\'])) {
            return None;
        }
        if parts.len() == 1 {
            return Some(format.clone());
        }
        let mut made = String::new();
        let mut words = words.iter();
        loop {
            made += parts[0];
            for part in &parts[1..] {
                made += words.next().map_or("", String::as_str);
                made += part;
            }
            if words.len() == 0 {
                return Some(made);
            }
        }
    }

    /// `for X in y`.
    fn go_through(&mut self, rest: &[ShellWord]) {
        let [name, values @ ..] = rest else { return };
        let values = values.strip_prefix(&[ShellWord::plain("in")]).unwrap_or(values.get(1..).unwrap_or_default());
        if values.is_empty() {
            self.forget(&name.text);
        }
        for value in values {
            self.note(&name.text, value);
            let shapes = self.shapes(value);
            self.add_values(&name.text, shapes);
        }
    }

    /// Learns what a command sets that only may be run: a name may still be what it was before.
    pub(crate) fn learn_perhaps(&mut self, assignments: &[(String, ShellWord)], words: &[ShellWord]) {
        for (name, _) in assignments {
            if !self.values.contains_key(name) {
                let before = self.value(name);
                self.values.insert(name.clone(), before);
            }
        }
        self.learn(assignments, words);
    }

    /// Whether the line may give a value to the name.
    pub(crate) fn sets(&self, name: &str) -> bool {
        self.sets_any || self.values.contains_key(name) || self.unfollowed.contains(name)
    }

    /// `${X:=y}` sets X.
    fn learn_defaults(&mut self, word: &ShellWord) {
        for piece in &word.pieces {
            if let Piece::MadeOf(name, operator) = piece
                && operator.trim_start_matches(':').starts_with('=')
                && let Some(instead) = default_in(operator)
            {
                self.add(name, &ShellWord::read(instead));
            }
        }
    }

    /// What is set again and again, each time to something else, may be anything.
    pub(crate) fn forget_changed(&mut self, before: &Self) {
        let is_changed = |(name, values): &(&String, &Vec<String>)| before.values.get(*name) != Some(*values);
        let changed: Vec<String> = self.values.iter().filter(is_changed).map(|(name, _)| name.clone()).collect();
        for name in changed {
            self.give_up(&name);
        }
    }

    fn give_up(&mut self, name: &str) {
        self.forget(name);
        self.made.insert(name.to_owned());
        self.made_of_text.insert(name.to_owned());
        if name != "_" {
            self.unfollowed.insert(name.to_owned());
        }
    }

    fn add(&mut self, name: &str, value: &ShellWord) {
        self.note(name, value);
        let values = self.values_of(value);
        self.add_values(name, values);
    }

    /// What is said of a value is said of the name that gets it.
    fn note(&mut self, name: &str, value: &ShellWord) {
        if !value.is_known() {
            self.filled.insert(name.to_owned());
        }
        if self.is_made(value) {
            self.made.insert(name.to_owned());
        }
        if self.is_made_of_text(value) {
            self.made_of_text.insert(name.to_owned());
        }
        if name != "_" && self.is_unfollowed(value) {
            self.unfollowed.insert(name.to_owned());
        }
    }

    pub(crate) fn add_values(&mut self, name: &str, values: Vec<String>) {
        let known = self.values.entry(name.to_owned()).or_default();
        known.extend(values);
        known.sort();
        known.dedup();
        if known.len() > MOST {
            known.clear();
            self.give_up(name);
        }
    }

    pub(crate) fn forget_named(&mut self, word: &ShellWord) {
        if is_name(&word.text) {
            self.forget(&word.text);
        }
    }

    fn forget(&mut self, name: &str) {
        let known = self.values.entry(name.to_owned()).or_default();
        if !known.iter().any(|value| value.starts_with(ANY) && value.len() == ANY.len_utf8()) {
            known.push(ANY.to_string());
        }
    }
}
