//! What stands behind a dollar, as zsh reads it.

use super::names::is_made_by_zsh;
use super::{DISGUISED, NOT_CLOSED, PARTED, SET, UNKNOWN, ZshReader, is_list, may_be_list};

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

impl ZshReader<'_> {
    pub(super) fn dollar(&mut self, in_quotes: bool) {
        let Some(next) = self.peek(1) else { return self.copy(1) };
        match next {
            '(' => {
                let is_number = self.is_number(1);
                self.copy(1);
                if is_number { self.number() } else { self.inside_of_brackets() }
            }
            '{' => self.braced(in_quotes),
            // `$~x`, `$=x`, `$^x` and `$+x` fill in x in ways of their own.
            '~' | '=' | '^' | '+' => {
                let signs = self.chars[self.at + 1..].iter().take_while(|c| matches!(c, '~' | '=' | '^' | '+')).count();
                let named = self.peek(signs + 1).is_some_and(|c| is_of_name(c) || matches!(c, '{' | '@' | '*' | '('));
                if !named {
                    return self.copy(1);
                }
                self.at += signs;
                self.unknown_behind_dollar(in_quotes);
            }
            '#' if self.peek(2).is_some_and(|c| is_of_name(c) || c == '{') => {
                self.at += 1;
                self.unknown_behind_dollar(in_quotes);
            }
            c if c.is_ascii_alphabetic() || c == '_' => {
                let name: String = self.chars[self.at + 1..].iter().take_while(|c| is_of_name(**c)).copied().collect();
                self.named(&name, in_quotes);
            }
            c if c.is_ascii_digit() || matches!(c, '@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                if self.is_cut(2) {
                    self.at += 2;
                    self.unknown(in_quotes);
                } else {
                    self.copy(2);
                }
            }
            _ => self.copy(1),
        }
    }

    /// Passes over the name or the braces behind the sign here; what they stand for is not known.
    fn unknown_behind_dollar(&mut self, in_quotes: bool) {
        self.at += 1;
        if self.peek(0) == Some('{') {
            match self.inside_of_braces() {
                Some(inside) => {
                    self.out.push_str(UNKNOWN);
                    self.nested(&inside);
                    self.runs_value(&inside);
                }
                None => self.unclear(NOT_CLOSED),
            }
            return;
        }
        if self.peek(0) == Some('(') {
            return self.unclear(PARTED);
        }
        let count = self.chars[self.at..].iter().take_while(|c| is_of_name(**c)).count().max(1);
        self.at += count;
        self.unknown(in_quotes);
    }

    fn named(&mut self, name: &str, in_quotes: bool) {
        let length = name.len() + 1;
        let is_element = self.peek(length) == Some('[') && is_list(self.line, name);
        if is_element && !is_made_by_zsh(name) {
            let inside: String = self.chars[self.at + length + 1..].iter().take_while(|c| **c != ']').collect();
            let behind = self.peek(length + inside.chars().count() + 2);
            if inside.chars().all(|c| c.is_ascii_digit() || matches!(c, '-' | '@' | '*')) && behind != Some('[') {
                self.at += length + inside.chars().count() + 2;
                self.out.push_str(&format!("${{{name}[@]}}"));
                return;
            }
        }
        if self.is_cut(length) || is_made_by_zsh(name) {
            self.at += length;
            return self.part_of(name, in_quotes);
        }
        // Without brackets a list is all of its elements, and in quotes one text of all of them.
        if may_be_list(self.line, name) {
            self.at += length;
            self.out.push_str(&if in_quotes { UNKNOWN.to_owned() } else { format!("${{{name}[@]}}") });
            return;
        }
        self.copy(length);
    }

    /// Whether what stands so far ahead takes a part of the value: `[…]`, or `:h` and its like.
    fn is_cut(&self, ahead: usize) -> bool {
        match self.peek(ahead) {
            Some('[') => true,
            Some(':') => self.peek(ahead + 1).is_some_and(|c| c.is_ascii_alphabetic() || matches!(c, '#' | '&')),
            _ => false,
        }
    }

    /// A part of the value of a name, which is as little the line's as the value itself.
    fn part_of(&mut self, name: &str, in_quotes: bool) {
        let modifiers = self.plain_modifiers();
        let is_index = || self.peek(0) == Some('[');
        if is_known_place(name) || is_made_by_zsh(name) || modifiers == 0 || is_index() {
            return self.unknown(in_quotes);
        }
        self.at += modifiers;
        self.out.push_str(&part(name));
    }

    /// How long the modifiers here are that put no text in: `:h:t`; 0 where another one stands among them.
    fn plain_modifiers(&self) -> usize {
        let mut length = 0;
        while self.is_cut(length) {
            let is_plain = self.peek(length) == Some(':') && self.peek(length + 1).is_some_and(is_plain_modifier);
            if !is_plain {
                return 0;
            }
            length += 2;
            while self.peek(length).is_some_and(|c| c.is_ascii_digit()) {
                length += 1;
            }
        }
        length
    }

    /// A value that nobody knows, with what takes parts of it: behind `:s` everything up to the end of the word.
    fn unknown(&mut self, in_quotes: bool) {
        self.out.push_str(UNKNOWN);
        let from = self.at;
        while self.peek(0) == Some('[') {
            if !self.pass('[', ']') {
                return self.unclear(NOT_CLOSED);
            }
        }
        if self.is_cut(0) {
            while let Some(c) = self.peek(0) {
                let ends = if in_quotes {
                    matches!(c, '"' | '\n')
                } else {
                    c.is_whitespace() || matches!(c, ';' | '&' | '|' | '(' | ')' | '<' | '>' | '"' | '\'' | '`' | '}')
                };
                match c {
                    _ if ends => break,
                    '$' if self.peek(1) == Some('(') => {
                        self.at += 1;
                        self.pass('(', ')');
                    }
                    '\\' => self.at += 2,
                    _ => self.at += 1,
                }
            }
        }
        let dropped: String = self.chars[from.min(self.chars.len())..self.at.min(self.chars.len())].iter().collect();
        // What stands in it is reckoned, as bash does it in braces.
        if dropped.starts_with('[') && is_reckoned(&dropped) {
            let index = dropped.split_inclusive(']').next().unwrap_or_default();
            self.out.push_str(&format!("${{zsh{index}}}"));
        }
        self.nested(&dropped);
    }

    /// Goes behind the bracket that closes the one here; false where there is none.
    fn pass(&mut self, opens: char, closes: char) -> bool {
        let (mut deep, mut quote) = (0_usize, None);
        while let Some(c) = self.peek(0) {
            match (c, quote) {
                ('\\', quote) if quote != Some('\'') => self.at += 1,
                (c, Some(open)) if c == open => quote = None,
                ('"' | '\'', None) => quote = Some(c),
                (c, None) if c == opens => deep += 1,
                (c, None) if c == closes => deep -= 1,
                _ => {}
            }
            self.at += 1;
            if deep == 0 {
                return true;
            }
        }
        false
    }

    /// What stands in the braces here, which are passed.
    fn inside_of_braces(&mut self) -> Option<String> {
        let from = self.at + 1;
        let mut deep = 0_usize;
        let mut quotes: Vec<char> = vec![];
        while let Some(c) = self.peek(0) {
            let quote = quotes.last().copied();
            match c {
                '\\' if quote != Some('\'') => self.at += 1,
                c if quote == Some(c) => drop(quotes.pop()),
                _ if quote == Some('\'') => {}
                '"' => quotes.push('"'),
                // It is an ordinary sign in double quotes, and where one word of text stands (`${x:-it's}`).
                '\'' if quote.is_none() && self.chars[self.at + 1..].contains(&'\'') => quotes.push('\''),
                '{' if quote.is_none() => deep += 1,
                '}' if quote.is_none() => {
                    deep -= 1;
                    if deep == 0 {
                        self.at += 1;
                        return Some(self.chars[from..self.at - 1].iter().collect());
                    }
                }
                _ => {}
            }
            self.at += 1;
        }
        None
    }

    /// Notes flags by which a value is run, or looked at as a prompt.
    fn runs_value(&mut self, inside: &str) {
        let flags = inside.trim_start_matches(['^', '=', '~', '+', '#', '$', '{', '"']);
        let flags = flags.strip_prefix('(').and_then(|rest| rest.split_once(')')).map_or("", |(flags, _)| flags);
        let sets = inside.contains(":=") || inside.contains("]=");
        if flags.contains(['e', '%']) || inside.contains("(e") || sets {
            self.unclear(SET);
        }
    }

    /// `${…}`
    fn braced(&mut self, in_quotes: bool) {
        let from = self.at;
        self.at += 1;
        let Some(inside) = self.inside_of_braces() else {
            self.at = from;
            self.unclear(NOT_CLOSED);
            return self.copy(2);
        };
        match self.alike(&inside, in_quotes) {
            Some(read) => self.out.push_str(&format!("${{{read}}}")),
            None if is_plain_part(&inside) => {
                let name: String = inside.chars().take_while(|c| is_of_name(*c)).collect();
                self.out.push_str(&part(&name));
            }
            None => {
                self.runs_value(&inside);
                self.out.push_str(UNKNOWN);
                let behind = inside.trim_start_matches(is_of_name);
                if behind.len() < inside.len() && behind.starts_with(['[', ':']) && is_reckoned(behind) {
                    self.out.push_str(&format!("${{{inside}}}"));
                }
                self.nested(&inside);
            }
        }
    }

    /// What both shells read alike in `${…}`.
    fn alike(&mut self, inside: &str, in_quotes: bool) -> Option<String> {
        let is_plain = |text: &str| !text.is_empty() && text.chars().all(is_of_name);
        if let Some(name) = inside.strip_prefix('#') {
            let name = name.trim_end_matches("[@]").trim_end_matches("[*]");
            return (name.is_empty() || is_plain(name) || matches!(name, "@" | "*")).then(|| inside.to_owned());
        }
        // zsh refuses these of bash.
        if inside.starts_with('!') {
            return Some(inside.to_owned());
        }
        let length = inside.chars().take_while(|c| is_of_name(*c)).count();
        let length = if length == 0 && inside.starts_with(['@', '*', '?', '-', '$']) { 1 } else { length };
        let (name, rest) = inside.split_at_checked(length)?;
        if name.is_empty() || is_made_by_zsh(name) {
            return None;
        }
        let whole = ["[@]", "[*]"].into_iter().find(|whole| rest.starts_with(whole));
        if rest.is_empty() && may_be_list(self.line, name) {
            return (!in_quotes).then(|| format!("{name}[@]"));
        }
        let rest = &rest[whole.map_or(0, str::len)..];
        let whole = whole.unwrap_or_default();
        if whole.is_empty() && rest.starts_with('[') {
            let index = rest.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))?;
            let is_number = index.chars().all(|c| c.is_ascii_digit() || c == '-');
            return (is_number && is_list(self.line, name)).then(|| format!("{name}[@]"));
        }
        let (operator, operand) = rest.split_at(rest.chars().take_while(|c| ":-+=?#%/^,@".contains(*c)).count());
        let is_default =
            operator.trim_start_matches(':').starts_with(['-', '+', '=', '?']) && !operator.starts_with("::");
        let is_pattern = operator.starts_with(['#', '%', '/']);
        let is_offset = matches!(operator, ":" | "::")
            && !operand.is_empty()
            && operand.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | ' ' | '-' | '$' | '#'));
        let is_case = matches!(operator, "^" | "^^" | "," | ",," | "@");
        if !(rest.is_empty() || is_default || is_pattern || is_offset || is_case) {
            return None;
        }
        if is_pattern && operand.contains(['(', '|', '<']) && !operand.starts_with("$(") {
            return None;
        }
        if operand.contains("$'") && operand.contains("\\C") {
            self.unclear(DISGUISED);
        }
        let operand = self.read_within(operand, |reader| reader.operand(in_quotes));
        Some(format!("{name}{whole}{operator}{operand}"))
    }

    /// What stands behind the operator of `${…}`.
    fn operand(&mut self, in_quotes: bool) {
        while let Some(c) = self.peek(0) {
            match c {
                '\\' => self.copy(2),
                '\'' if !in_quotes => self.single_quotes(),
                '"' => self.double_quotes(),
                '$' => self.dollar(true),
                '`' => self.backticks(),
                '~' if self.before().is_none() => self.tilde(),
                _ => self.copy(1),
            }
        }
    }
}

/// Whether a shell reckons with names in what takes a part of a value.
fn is_reckoned(part: &str) -> bool {
    part.contains(|c: char| c.is_alphabetic() || matches!(c, '_' | '$' | '`'))
}

/// An operator that no shell has: what is made of a value by it is as unknown as the value, and of one that the line sets
/// any text.
fn part(name: &str) -> String {
    format!("${{{name}@zsh}}")
}

/// Whether a name is one of the folders that everybody has.
fn is_known_place(name: &str) -> bool {
    matches!(name, "HOME" | "OLDPWD" | "PWD") || !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

/// `:h` and its like: they put in nothing that stands in the line.
fn is_plain_modifier(c: char) -> bool {
    matches!(c, 'A' | 'P' | 'Q' | 'a' | 'e' | 'h' | 'l' | 'q' | 'r' | 't' | 'u')
}

/// `${x:h}`
fn is_plain_part(inside: &str) -> bool {
    let name: String = inside.chars().take_while(|c| is_of_name(*c)).collect();
    let modifiers = inside[name.len()..].split(':');
    let is_plain = |part: &str| part.len() == 1 && part.chars().all(is_plain_modifier);
    !is_known_place(&name)
        && !is_made_by_zsh(&name)
        && modifiers.skip(1).all(is_plain)
        && inside[name.len()..].starts_with(':')
}
