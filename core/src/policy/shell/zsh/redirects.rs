//! Where commands write to and read from, as zsh says it.

use super::{PARTED, ZshReader};

/// The operators that both shells read alike.
const ALIKE: [&str; 9] = ["<", ">", ">>", ">|", "<>", "<&", ">&", "&>", "&>>"];

impl ZshReader<'_> {
    pub(super) fn redirect(&mut self) {
        // A number before it belongs to it, and is no word.
        self.end_word();
        let rest: String = self.chars[self.at..].iter().take(64).collect();
        if rest.starts_with("<<<") {
            return self.copy(3);
        }
        if rest.starts_with("<<") {
            return self.heredoc();
        }
        if rest.starts_with("<(") || rest.starts_with(">(") {
            self.copy(1);
            return self.inside_of_brackets();
        }
        // `<1-9>` is a pattern.
        let number =
            rest.strip_prefix('<').map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-'));
        if number.is_some_and(|behind| behind.starts_with('>')) && rest[..rest.find('>').unwrap_or(0)].contains('-') {
            self.unclear(PARTED);
        }
        let operator: String = rest.chars().take_while(|c| matches!(c, '<' | '>' | '&' | '|' | '!')).collect();
        // What is read by a number and then written elsewhere: `<&3>x`.
        let is_alike = ALIKE.contains(&operator.as_str());
        if !is_alike {
            self.unclear(PARTED);
        }
        self.copy(operator.chars().count().max(1));
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.copy(1);
        }
        let target: String = self.chars[self.at..].iter().take_while(|c| !c.is_whitespace()).collect();
        // It may lead to several files.
        let behind = target.replace("${", "");
        if behind.contains('{') && behind.contains([',', '.']) && !target.starts_with(['\'', '"']) {
            self.unclear(PARTED);
        }
    }

    fn heredoc(&mut self) {
        self.copy(2);
        while matches!(self.peek(0), Some('-' | ' ' | '\t')) {
            self.copy(1);
        }
        let (mut end, mut is_filled) = (String::new(), true);
        while let Some(c) = self.peek(0) {
            match c {
                '\'' | '"' | '\\' => is_filled = false,
                c if c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>') => break,
                c => end.push(c),
            }
            self.copy(1);
        }
        self.heredocs.push((end, is_filled));
    }

    /// The texts that stand below the line.
    pub(super) fn pass_heredocs(&mut self) {
        for (end, is_filled) in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            let mut last = None;
            while self.at < self.chars.len() {
                let line: String = self.chars[self.at..].iter().take_while(|c| **c != '\n').collect();
                self.at += line.chars().count() + 1;
                let is_end = line.trim_start_matches('\t') == end;
                if is_end {
                    last = Some(line);
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            let read = if is_filled { self.read_within(&body, |reader| reader.filled_in(None)) } else { body };
            self.out.push_str(&read);
            self.out.push_str(last.as_deref().unwrap_or_default());
            if last.is_some() && self.at <= self.chars.len() {
                self.out.push('\n');
            }
        }
    }
}
