//! A rule's pattern for command lines: a program, words and stars; and whether a command is what it says.

use super::command::name_of;
use super::glob::text_matches;
use super::shell::ShellWord;
use super::values::{Variables, is_literal, may_be};

/// Whether a command is what a rule says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Fit {
    No,
    /// It depends on what nobody knows.
    Perhaps,
    Yes,
}

/// What a rule for Bash says about a line.
pub(crate) struct LinePattern<'rule> {
    pattern: &'rule str,
    /// It ends with ` *` or `:*`: the pattern alone, or with more words behind it.
    pub(crate) rest: bool,
    words: Vec<&'rule str>,
}

impl<'rule> LinePattern<'rule> {
    pub(crate) fn read(specifier: &'rule str) -> Self {
        let rest = specifier.strip_suffix(":*").or_else(|| specifier.strip_suffix(" *"));
        let pattern = rest.unwrap_or(specifier).trim_end();
        Self { pattern, rest: rest.is_some(), words: pattern.split_whitespace().collect() }
    }

    pub(crate) fn is_exact(&self) -> bool {
        !self.rest && !self.pattern.contains('*')
    }

    pub(crate) fn matches(&self, text: &str) -> bool {
        if text_matches(self.pattern, text) {
            return true;
        }
        self.rest && (text_matches(&format!("{} *", self.pattern), text))
    }

    /// The name of the program it speaks of; it may hold stars.
    pub(crate) fn program(&self) -> &'rule str {
        self.words.first().map_or("*", |word| name_of(word))
    }

    /// The words behind the program.
    pub(crate) fn words(&self) -> &[&'rule str] {
        self.words.get(1..).unwrap_or_default()
    }

    pub(crate) fn shown(&self) -> &'rule str {
        self.pattern
    }

    /// Whether a command is what the rule says, also with options in other places: the subcommands stand in their order,
    /// with nothing but options and what may belong to them between them, and the options stand anywhere.
    pub(crate) fn fits(&self, words: &[ShellWord], takes_more: bool, variables: &Variables) -> Fit {
        let Some((first, rest)) = words.split_first() else { return Fit::No };
        // A pattern within is for the whole text of a command.
        if self.words.is_empty() || self.pattern.contains('*') || !first.is_known() {
            return Fit::No;
        }
        let name = name_of(&first.text);
        if name != self.program() && !name.eq_ignore_ascii_case(self.program()) {
            return Fit::No;
        }
        let (flags, subs): (Vec<&str>, Vec<&str>) = self.words().iter().partition(|word| word.starts_with('-'));
        let in_order = self.in_order(&subs, rest, takes_more, variables);
        let unknown = takes_more || rest.iter().any(|word| !word.is_known());
        let flagged =
            |flag: &&str| match (rest.iter().any(|word| is_flag(flag, word)) || has_letters(flag, rest), unknown) {
                (true, _) => Fit::Yes,
                (false, true) => Fit::Perhaps,
                (false, false) => Fit::No,
            };
        flags.iter().map(flagged).fold(in_order, Fit::min)
    }

    fn in_order(&self, subs: &[&str], rest: &[ShellWord], takes_more: bool, variables: &Variables) -> Fit {
        let mut wanted = subs.iter();
        let mut next = wanted.next();
        let mut after_flag = false;
        let mut sure = Fit::Yes;
        for word in rest {
            let Some(sub) = next else {
                // What means one line means no longer one.
                let more = !self.rest && !word.is_flag();
                if more {
                    return Fit::No;
                }
                continue;
            };
            let shapes = variables.spellings(word);
            if shapes.iter().any(|shape| shape == sub) {
                next = wanted.next();
            } else if shapes.iter().any(|shape| {
                !is_literal(shape) && (may_be(shape, sub) || !word.is_quoted && shape.contains(super::shell::ANY))
            }) {
                return Fit::Perhaps;
            } else if !word.is_flag() && !after_flag {
                return Fit::No;
            }
            after_flag = word.is_flag() && !word.text.contains('=');
        }
        if next.is_some() {
            sure = if takes_more { Fit::Perhaps } else { Fit::No };
        }
        sure
    }
}

/// Whether a word is this option, or a beginning of its long name.
fn is_flag(flag: &str, word: &ShellWord) -> bool {
    let name = word.text.split('=').next().unwrap_or_default();
    word.text == flag || name == flag || name.len() > 3 && flag.starts_with("--") && flag.starts_with(name)
}

/// Whether all letters of `-rf` are among the short options, together or apart.
fn has_letters(flag: &str, rest: &[ShellWord]) -> bool {
    let short = |text: &str| text.strip_prefix('-').filter(|letters| !letters.starts_with('-')).map(str::to_owned);
    // Longer ones are names, as `-delete` is.
    let is_letters = |letters: &String| letters.len() <= 3 && letters.chars().all(char::is_alphanumeric);
    let Some(letters) = short(flag).filter(is_letters) else { return false };
    let given: String = rest.iter().filter_map(|word| short(&word.text)).collect();
    letters.chars().all(|letter| given.contains(letter))
}
