//! What stands in quotes, and the texts within a text.

use super::{DEEPEST, DISGUISED, NOT_CLOSED, ZshReader};

impl ZshReader<'_> {
    pub(super) fn single_quotes(&mut self) {
        self.copy(1);
        while let Some(c) = self.peek(0) {
            self.copy(1);
            if c == '\'' {
                return;
            }
        }
    }

    pub(super) fn ansi_quotes(&mut self) {
        self.copy(2);
        while let Some(c) = self.peek(0) {
            match (c, self.peek(1)) {
                ('\\', Some('C' | 'M')) => {
                    self.unclear(DISGUISED);
                    self.copy(2);
                }
                ('\\', _) => self.copy(2),
                ('\'', _) => return self.copy(1),
                _ => self.copy(1),
            }
        }
    }

    pub(super) fn double_quotes(&mut self) {
        self.copy(1);
        self.filled_in(Some('"'));
        self.copy(1);
    }

    /// A text in which words are filled in, up to the quote that ends it.
    pub(super) fn filled_in(&mut self, end: Option<char>) {
        while let Some(c) = self.peek(0).filter(|c| Some(*c) != end) {
            match c {
                '\\' => self.copy(2),
                '$' => self.dollar(true),
                '`' => self.backticks(),
                _ => self.copy(1),
            }
        }
    }

    pub(super) fn backticks(&mut self) {
        self.copy(1);
        let mut inside = String::new();
        while let Some(c) = self.peek(0).filter(|c| *c != '`') {
            let escaped = self.peek(1).filter(|next| c == '\\' && matches!(next, '`' | '\\' | '$'));
            inside.push(escaped.unwrap_or(c));
            self.at += if escaped.is_some() { 2 } else { 1 };
        }
        let read = self.read_within(&inside, |reader| reader.code(None));
        for c in read.chars() {
            if matches!(c, '`' | '\\' | '$') {
                self.out.push('\\');
            }
            self.out.push(c);
        }
        self.copy(1);
    }

    /// Reads a text that stands within this one.
    pub(super) fn read_within(&mut self, text: &str, read: impl Fn(&mut Self)) -> String {
        let mut reader = ZshReader::of(text, self.line, self.depth + 1);
        reader.has_escapes = self.has_escapes;
        if reader.depth > DEEPEST {
            reader.unclear(NOT_CLOSED);
        } else {
            read(&mut reader);
        }
        self.why = self.why.or(reader.why);
        reader.out
    }

    /// Adds the commands that print something into a text which is unknown itself.
    pub(super) fn nested(&mut self, text: &str) {
        let commands = self.read_within(text, |reader| {
            while let Some(c) = reader.peek(0) {
                match c {
                    '\\' => reader.at += 2,
                    '`' => reader.backticks(),
                    '$' if reader.peek(1) == Some('(') => reader.dollar(true),
                    _ => reader.at += 1,
                }
            }
        });
        self.out.push_str(&commands);
    }
}
