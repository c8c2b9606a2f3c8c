//! Brackets: groups, functions, lists and numbers.

use super::lists::is_before_command;
use super::{DISGUISED, PARTED, ZshReader};

impl ZshReader<'_> {
    pub(super) fn bracket(&mut self) {
        let first = self.words.first().map_or("", String::as_str);
        let is_call = self.peek(1) == Some(')') || self.peek(1) == Some(' ') && self.peek(2) == Some(')');
        let named = self.words.iter().filter(|word| !is_before_command(word) && *word != "function").count();
        let names = named + usize::from(self.word.is_some());
        // `for x (a b) cmd`, and several names for one function.
        let is_loop = matches!(first, "for" | "select" | "foreach") && self.peek(1) != Some('(');
        if is_loop && !self.words.iter().any(|word| word == "in") || is_call && names > 1 {
            self.unclear(PARTED);
        }
        if self.is_number(0) {
            self.end_command();
            return self.number();
        }
        let is_list = self.word.is_some() && self.before() == Some('=');
        if !is_list {
            self.end_command();
        }
        self.inside_of_brackets();
    }

    /// From an opening bracket to the one that closes it, as commands.
    pub(super) fn inside_of_brackets(&mut self) {
        self.copy(1);
        let (words, word) = (std::mem::take(&mut self.words), self.word.take());
        self.depth += 1;
        self.code(Some(')'));
        self.depth -= 1;
        (self.words, self.word) = (words, word);
        if self.peek(0).is_some() {
            self.copy(1);
        }
    }

    /// Whether `((…))` stands so far ahead, which is reckoned.
    pub(super) fn is_number(&self, ahead: usize) -> bool {
        let rest = self.chars.get(self.at + ahead..).unwrap_or_default();
        let mut deep = 0_usize;
        let inner = rest.iter().skip(1).position(|c| {
            deep = if *c == '(' { deep + 1 } else { deep.saturating_sub(usize::from(*c == ')')) };
            deep == 0
        });
        rest.starts_with(&['(', '(']) && inner.is_some_and(|end| rest.get(end + 2) == Some(&')'))
    }

    /// `((…))`. A number may be written with letters: `$(([##36]1234))`.
    pub(super) fn number(&mut self) {
        let (mut deep, mut last) = (0_usize, ' ');
        while let Some(c) = self.peek(0) {
            match c {
                '$' => self.dollar(true),
                '`' => self.backticks(),
                _ => {
                    if c == '#' && last == '[' {
                        self.unclear(DISGUISED);
                    }
                    deep = if c == '(' { deep + 1 } else { deep.saturating_sub(usize::from(c == ')')) };
                    self.copy(1);
                }
            }
            last = c;
            if deep == 0 {
                return;
            }
        }
    }
}
