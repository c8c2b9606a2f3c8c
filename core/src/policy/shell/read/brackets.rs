//! What stands in brackets: where it ends, whatever quotes, comments and texts are in it.

use super::ShellReader;
use crate::policy::shell::doubt;

impl ShellReader<'_> {
    /// Whether an opening bracket stands in the words of a command, where bash knows none: zsh takes it for a pattern.
    pub(super) fn is_bracket_in_words(&self) -> bool {
        const BEFORE_BRACKETS: [&str; 20] = [
            "[[", "case", "in", "for", "select", "time", "coproc", "function", "if", "then", "elif", "else", "while",
            "until", "do", "!", "{", "&&", "||", "let",
        ];
        let is_function = self.follows("()") || self.follows("( )");
        let is_reckoned = self.open > 1 && self.chars[..self.at].windows(2).any(|pair| pair == ['(', '(']);
        let first = self.command.words.first().or(self.word.as_ref().map(|(_, word)| word));
        let is_command = first.is_some_and(|word| !BEFORE_BRACKETS.contains(&word.text.as_str()));
        is_command && !is_function && !is_reckoned
    }

    /// What stands up to the bracket that closes, which is read as a script of its own and passed over.
    pub(super) fn bracketed(&mut self, opens: char, closes: char) -> String {
        let from = self.at;
        let closed = self.pass_brackets(opens, closes, 0);
        let inside: String = self.chars[from.min(self.chars.len())..self.at.min(self.chars.len())].iter().collect();
        if !closed {
            self.unreadable("a bracket is not closed");
        }
        self.at += 1;
        // In `${x:-$(y)}` only y is a command; in `$(y)` all of it.
        if opens == '(' || inside.contains(['`', '(']) {
            self.read_inside(&inside);
        }
        inside
    }

    /// Goes to the bracket that closes the one before here; false where there is none.
    pub(super) fn pass_brackets(&mut self, opens: char, closes: char, depth: usize) -> bool {
        const DEEPEST: usize = 24;
        if depth > DEEPEST {
            self.unreadable("it is nested too deep");
            return false;
        }
        let is_code = opens == '(';
        // `$((1<<2))` holds no here-document.
        let reckons = is_code && self.peek(0) == Some('(');
        let mut deep = 1;
        let mut ends: Vec<String> = vec![];
        while let Some(c) = self.peek(0) {
            let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at)).copied().unwrap_or(' ');
            let begins = before.is_whitespace() || matches!(before, ';' | '&' | '|' | '(' | ')');
            match c {
                '\\' => self.at += 1,
                '\'' if is_code && before == '$' => self.pass('\'', true),
                '\'' if is_code => self.pass('\'', false),
                // Whether it is a quote here depends on what is around it.
                '\'' => self.script.is_unsure = true,
                '"' => self.pass_double_quotes(depth),
                '`' => self.pass('`', true),
                '#' if is_code && begins && !reckons => {
                    self.script.is_unsure = true;
                    while self.peek(1).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '$' if matches!(self.peek(1), Some('(' | '{')) => self.pass_dollar(depth),
                '<' if is_code && !reckons && self.follows("<<<") => self.at += 2,
                '<' if is_code && !reckons && self.follows("<<") => ends.push(self.end_of_heredoc()),
                '\n' if !ends.is_empty() => self.pass_heredocs(std::mem::take(&mut ends)),
                'c' if is_code && begins && self.is_at_case() => {
                    self.unreadable(doubt::CASE);
                }
                c if c == opens => deep += 1,
                c if c == closes => deep -= 1,
                _ => {}
            }
            if deep == 0 {
                return true;
            }
            self.at += 1;
        }
        false
    }

    /// Whether a `case … in` may stand here. The brackets of its patterns close nothing, so nobody knows where what it
    /// stands in ends.
    fn is_at_case(&self) -> bool {
        let rest: String = self.chars[self.at..].iter().collect();
        let words = |text: &str| text.split_whitespace().any(|word| word == "in");
        rest.strip_prefix("case").is_some_and(|after| after.starts_with(char::is_whitespace) && words(after))
    }

    /// `$(…)` or `${…}` within brackets or quotes: stays on the bracket that closes it.
    fn pass_dollar(&mut self, depth: usize) {
        let (opens, closes) = if self.peek(1) == Some('(') { ('(', ')') } else { ('{', '}') };
        self.at += 2;
        self.pass_brackets(opens, closes, depth + 1);
    }

    fn pass_double_quotes(&mut self, depth: usize) {
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => self.at += 1,
                '"' => return,
                '`' => self.pass('`', true),
                '$' if matches!(self.peek(1), Some('(' | '{')) => self.pass_dollar(depth),
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Goes to the quote that closes the one here.
    fn pass(&mut self, quote: char, escapes: bool) {
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '\\' if escapes => self.at += 1,
                c if c == quote => return,
                _ => {}
            }
            self.at += 1;
        }
    }

    /// The word that ends the here-document whose `<<` stands here. Stays on its last character.
    fn end_of_heredoc(&mut self) -> String {
        self.at += 2;
        while matches!(self.peek(0), Some('-' | ' ' | '\t')) {
            self.at += 1;
        }
        let mut end = String::new();
        while let Some(c) = self.peek(0) {
            match c {
                '\'' | '"' | '\\' => {}
                c if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>') => break,
                c => end.push(c),
            }
            self.at += 1;
        }
        self.at -= 1;
        end
    }

    /// From the end of a line over the texts that stand below it, to the end of the last line of the last one.
    fn pass_heredocs(&mut self, ends: Vec<String>) {
        for end in ends {
            while self.at < self.chars.len() {
                let from = self.at + 1;
                let line: String =
                    self.chars.get(from..).unwrap_or_default().iter().take_while(|c| **c != '\n').collect();
                if line.trim_start_matches('\t') == end {
                    self.at += line.chars().count();
                    break;
                }
                self.at = from + line.chars().count();
            }
        }
    }
}
