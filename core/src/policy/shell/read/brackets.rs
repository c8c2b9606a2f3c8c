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

    /// Whether the word that begins here is an operator between two others, to every shell.
    pub(super) fn compares(&self) -> bool {
        let operator: String = self.chars[self.at..].iter().take_while(|c| !c.is_whitespace()).take(3).collect();
        let first = self.command.words.first().filter(|word| !word.is_quoted).map_or("", |word| word.text.as_str());
        match operator.as_str() {
            "=" => matches!(first, "[" | "[[" | "test"),
            "==" | "=~" => first == "[[" || self.is_in_condition(),
            _ => false,
        }
    }

    /// Whether the command is a part of a condition that began with `[[` before it.
    fn is_in_condition(&self) -> bool {
        let is_nested = self.depth > 0;
        let before = self.script.commands.iter().rev().filter(|command| command.is_nested == is_nested);
        let mut open = before.take_while(|command| !command.words.iter().any(|word| word.text == "]]"));
        open.any(|command| command.words.first().is_some_and(|word| word.text == "[[" && !word.is_quoted))
    }

    /// Whether a sign is one of a regular expression, behind `=~`: there it parts no commands. A shell that does not know
    /// `[[` takes no bracket there.
    pub(super) fn is_in_expression(&self, c: char) -> bool {
        let is_plain = self.command.assignments.is_empty() && self.command.redirects.is_empty();
        let begins = self.command.words.first().is_some_and(|word| word.text == "[[" && !word.is_quoted);
        if !is_plain || !begins || self.command.words.last().is_none_or(|word| word.text != "=~") {
            return false;
        }
        let from = self.word.as_ref().map_or(self.at, |(from, _)| *from);
        let written = self.chars.get(from..self.at).unwrap_or_default();
        let is_within = deep(written) > 0;
        match c {
            '(' => true,
            ')' => is_within,
            // Two of them may part conditions.
            _ => is_within && !written.contains(&'$') && self.peek(1) != Some('|') && !written.ends_with(&['|']),
        }
    }

    /// What stands up to the bracket that closes, which is read as a script of its own and passed over.
    pub(super) fn bracketed(&mut self, opens: char, closes: char) -> String {
        let from = self.at;
        let closed = self.pass_brackets(opens, closes, 0, self.in_quotes);
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
    pub(super) fn pass_brackets(&mut self, opens: char, closes: char, depth: usize, in_quotes: bool) -> bool {
        const DEEPEST: usize = 24;
        if depth > DEEPEST {
            self.unreadable("it is nested too deep");
            return false;
        }
        let is_code = opens == '(';
        let in_quotes = in_quotes && !is_code;
        let has_quotes = is_code || !in_quotes || self.cuts_a_value();
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
                '\'' if has_quotes => {
                    // Not every shell takes it for one.
                    self.script.is_unsure |= !is_code;
                    self.pass('\'', false);
                }
                '\'' => self.script.is_unsure = true,
                '"' => self.pass_double_quotes(depth),
                '`' => self.pass('`', true),
                '#' if is_code && begins && !reckons => {
                    self.script.is_unsure = true;
                    while self.peek(1).is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '$' if matches!(self.peek(1), Some('(' | '{')) => self.pass_dollar(depth, in_quotes),
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

    /// Whether what stands in the braces of a value cuts it by a pattern: there quotes count also within double quotes, which
    /// they do not where it stands in the place of nothing (`"${x:-it's}"`).
    fn cuts_a_value(&self) -> bool {
        let rest = self.chars.get(self.at..).unwrap_or_default();
        let is_name = |c: &&char| c.is_ascii_alphanumeric() || matches!(c, '_' | '@' | '*' | '!');
        let operator = rest.iter().find(|c| !is_name(c));
        operator.is_some_and(|c| matches!(c, '#' | '%' | '/' | '^' | ','))
    }

    /// Whether a `case … in` may stand here. The brackets of its patterns close nothing, so nobody knows where what it
    /// stands in ends.
    fn is_at_case(&self) -> bool {
        let rest: String = self.chars[self.at..].iter().collect();
        let words = |text: &str| text.split_whitespace().any(|word| word == "in");
        rest.strip_prefix("case").is_some_and(|after| after.starts_with(char::is_whitespace) && words(after))
    }

    /// `$(…)` or `${…}` within brackets or quotes: stays on the bracket that closes it.
    fn pass_dollar(&mut self, depth: usize, in_quotes: bool) {
        let (opens, closes) = if self.peek(1) == Some('(') { ('(', ')') } else { ('{', '}') };
        self.at += 2;
        self.pass_brackets(opens, closes, depth + 1, in_quotes);
    }

    fn pass_double_quotes(&mut self, depth: usize) {
        self.at += 1;
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => self.at += 1,
                '"' => return,
                '`' => self.pass('`', true),
                '$' if matches!(self.peek(1), Some('(' | '{')) => self.pass_dollar(depth, true),
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

/// How many brackets are open behind this text. Those in quotes count for nothing: to some shells they are none.
fn deep(written: &[char]) -> usize {
    let (mut deep, mut quote) = (0_usize, None);
    let mut chars = written.iter();
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', _) => drop(chars.next()),
            ('\'' | '"', None) => quote = Some(*c),
            (c, Some(open)) if *c == open => quote = None,
            ('(', None) => deep += 1,
            (')', None) => deep = deep.saturating_sub(1),
            _ => {}
        }
    }
    deep
}
