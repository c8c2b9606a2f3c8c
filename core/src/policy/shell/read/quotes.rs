//! What stands in quotes, behind a backslash or a dollar, and the commands within.

use super::super::word::is_printable;
use super::{ShellReader, read};

impl ShellReader<'_> {
    pub(super) fn single_quotes(&mut self) {
        self.word().is_quoted = true;
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return self.unreadable("a quote is not closed"),
                Some('\'') => break,
                Some(c) => self.quoted(c),
            }
        }
        self.at += 1;
    }

    /// One character in quotes, as it stands.
    fn quoted(&mut self, c: char) {
        if !is_printable(c) {
            self.not_plain("it holds characters that cannot be seen");
        }
        self.push(c);
        self.at += 1;
    }

    pub(super) fn double_quotes(&mut self) {
        self.word().is_quoted = true;
        self.at += 1;
        loop {
            match self.peek(0) {
                None => return self.unreadable("a quote is not closed"),
                Some('"') => break,
                Some('$') => self.dollar(),
                Some('`') => self.backticks(),
                Some('\\') => {
                    match self.peek(1) {
                        Some('\n') => self.not_plain("a line goes on after a backslash"),
                        Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
                        Some(c) => {
                            self.push('\\');
                            self.push(c);
                        }
                        None => return self.unreadable("a quote is not closed"),
                    }
                    // A backslash in quotes is easily misread, by people and by programs.
                    self.not_plain("it holds a backslash");
                    self.at += 2;
                }
                Some('!') => {
                    self.not_plain("a shell may not take ! or # as it stands");
                    self.quoted('!');
                }
                Some(c) => self.quoted(c),
            }
        }
        self.at += 1;
    }

    pub(super) fn backslash(&mut self) {
        match self.peek(1) {
            None => self.unreadable("it ends with a backslash"),
            Some('\n') => self.not_plain("a line goes on after a backslash"),
            Some(c) => {
                self.word().is_quoted = true;
                self.not_plain("it holds a backslash");
                self.push(c);
            }
        }
        self.at += 2;
    }

    pub(super) fn dollar(&mut self) {
        self.word();
        match self.peek(1) {
            Some('(') => {
                self.not_plain("it runs a command to make a word");
                self.at += 2;
                self.bracketed('(', ')');
            }
            Some('{') => {
                self.not_plain("it holds a variable");
                self.at += 2;
                self.push('$');
                let inside = self.bracketed('{', '}');
                self.push('{');
                self.word().text.push_str(&inside);
                self.push('}');
            }
            _ => {
                self.not_plain("it holds a variable");
                self.push('$');
                self.at += 1;
            }
        }
    }

    /// `$'…'`, where `\x72` is an r.
    pub(super) fn ansi_quotes(&mut self) {
        self.word().is_quoted = true;
        self.not_plain("it holds characters in disguise");
        self.at += 2;
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) | (Some('\\'), None) => return self.unreadable("a quote is not closed"),
                (Some('\''), _) => break,
                (Some('\\'), Some(c)) => {
                    self.at += 2;
                    let made = match c {
                        'n' => Some('\n'),
                        't' => Some('\t'),
                        'x' => self.number(16, 2),
                        'u' => self.number(16, 4),
                        'U' => self.number(16, 8),
                        '0'..='7' => {
                            self.at -= 1;
                            self.number(8, 3)
                        }
                        c => Some(c),
                    };
                    if let Some(made) = made {
                        self.push(made);
                    }
                }
                (Some(c), _) => {
                    self.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
    }

    fn number(&mut self, radix: u32, most: usize) -> Option<char> {
        let mut number = 0;
        for _ in 0..most {
            let Some(digit) = self.peek(0).and_then(|c| c.to_digit(radix)) else { break };
            number = number * radix + digit;
            self.at += 1;
        }
        char::from_u32(number)
    }

    pub(super) fn backticks(&mut self) {
        self.word();
        self.not_plain("it runs a command to make a word");
        self.at += 1;
        let mut inside = String::new();
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) => return self.unreadable("a backtick is not closed"),
                (Some('`'), _) => break,
                (Some('\\'), Some(c @ ('`' | '\\' | '$'))) => {
                    inside.push(c);
                    self.at += 2;
                }
                (Some(c), _) => {
                    inside.push(c);
                    self.at += 1;
                }
            }
        }
        self.at += 1;
        read(&inside, self.depth + 1, self.script);
    }

    /// What stands up to the bracket that closes, which is read as a script of its own and passed over.
    pub(super) fn bracketed(&mut self, opens: char, closes: char) -> String {
        let from = self.at;
        let mut deep = 1;
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => self.at += 1,
                '\'' if opens == '(' => self.pass('\''),
                '"' => self.pass('"'),
                c if c == opens => deep += 1,
                c if c == closes => deep -= 1,
                _ => {}
            }
            if deep == 0 {
                break;
            }
            self.at += 1;
        }
        let inside: String = self.chars[from.min(self.chars.len())..self.at.min(self.chars.len())].iter().collect();
        if deep > 0 {
            self.unreadable("a bracket is not closed");
        }
        self.at += 1;
        // In `${x:-$(y)}` only y is a command; in `$(y)` all of it.
        if opens == '(' || inside.contains(['`', '(']) {
            read(&inside, self.depth + 1, self.script);
        }
        inside
    }

    /// Goes to the quote that closes the one here.
    fn pass(&mut self, quote: char) {
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '\\' if quote == '"' => self.at += 1,
                c if c == quote => return,
                _ => {}
            }
            self.at += 1;
        }
    }
}
