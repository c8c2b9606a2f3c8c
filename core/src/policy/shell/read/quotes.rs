//! What stands in quotes, behind a backslash or a dollar, and the commands within.

use super::super::doubt;
use super::super::word::{Piece, is_printable};
use super::ShellReader;
use super::reckoned::Reckoned;

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
        if c == '\n' {
            self.not_plain(doubt::LINES);
        } else if !is_printable(c) {
            self.not_plain("it holds characters that cannot be seen");
        }
        self.push(c);
        self.at += 1;
    }

    pub(super) fn double_quotes(&mut self) {
        let begins = self.word.is_none();
        self.word().is_quoted = true;
        self.at += 1;
        self.filled_in(Some('"'));
        self.at += 1;
        let ends = self.peek(0).is_none_or(|c| matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | ')'));
        self.word().is_one = begins && ends;
    }

    /// A text in which words are filled in, up to the quote that ends it, or to the end of a here-document.
    pub(super) fn filled_in(&mut self, end: Option<char>) {
        loop {
            match self.peek(0) {
                None if end.is_some() => return self.unreadable("a quote is not closed"),
                c if c == end => return,
                Some('$') => {
                    self.in_quotes = true;
                    self.dollar();
                    self.in_quotes = false;
                }
                Some('`') => self.backticks(),
                Some('\\') => {
                    match self.peek(1) {
                        Some('\n') => self.goes_on(),
                        Some(c @ ('$' | '`' | '"' | '\\')) => self.push(c),
                        Some(c) => {
                            self.push('\\');
                            self.push(c);
                        }
                        None => return self.unreadable("a quote is not closed"),
                    }
                    // A backslash in quotes is easily misread, by people and by programs.
                    self.not_plain(doubt::BACKSLASH);
                    self.at += 2;
                }
                Some('!') => {
                    self.not_plain("a shell may not take ! or # as it stands");
                    self.quoted('!');
                }
                Some(c) => self.quoted(c),
                None => return,
            }
        }
    }

    pub(super) fn backslash(&mut self) {
        match self.peek(1) {
            None => self.unreadable("it ends with a backslash"),
            Some('\n') => self.goes_on(),
            Some(c) => {
                // `\\;` by itself is the end of what find runs.
                let is_end = c == ';' && self.word.is_none() && self.peek(2).is_none_or(|c| matches!(c, ' ' | '\n'));
                self.word().is_quoted = true;
                if !is_end {
                    self.not_plain(doubt::BACKSLASH);
                }
                self.push(c);
            }
        }
        self.at += 2;
    }

    /// A backslash at the end of a line. The shell takes both away before it looks for names and operators, so that one may
    /// stand in the midst of `$HOME`, `$(` or `&&`; between words, where people have it, it parts nothing.
    fn goes_on(&mut self) {
        self.not_plain(doubt::GOES_ON);
        let is_part = |c: Option<&char>| c.is_some_and(|c| !c.is_whitespace());
        let before = self.at.checked_sub(1).and_then(|at| self.chars.get(at));
        if is_part(before) && is_part(self.chars.get(self.at + 2)) {
            self.unreadable(doubt::SPLIT);
        }
    }

    pub(super) fn dollar(&mut self) {
        self.word();
        match self.peek(1) {
            Some('(') if self.follows("$((") && self.reckoned().is_some() => {
                let Some(reckoned) = self.reckoned() else { return };
                self.at += reckoned.length;
                self.not_plain(reckoned.doubt());
                reckoned.printed.iter().for_each(|command| self.read_inside(command));
                self.word().fill("", Piece::Unknown);
            }
            Some('(') => {
                self.not_plain(doubt::PRINTED);
                self.at += 2;
                let inside = self.bracketed('(', ')');
                self.printed(&inside);
            }
            Some('{') => {
                self.not_plain(doubt::VARIABLE);
                self.at += 2;
                let inside = self.bracketed('{', '}');
                if inside.contains("\\\n") {
                    self.unreadable(doubt::SPLIT);
                }
                self.word().fill(&format!("${{{inside}}}"), Piece::braced(&inside));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                self.not_plain(doubt::VARIABLE);
                self.at += 1;
                let mut name = String::new();
                while let Some(c) = self.peek(0).filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                    self.at += 1;
                }
                self.word().fill(&format!("${name}"), Piece::Variable(name));
            }
            Some(c) if c.is_ascii_digit() || matches!(c, '@' | '*' | '#' | '?' | '-' | '$' | '!') => {
                self.not_plain(doubt::VARIABLE);
                self.at += 2;
                self.word().fill(&format!("${c}"), Piece::Variable(c.to_string()));
            }
            _ => {
                self.not_plain(doubt::VARIABLE);
                self.push('$');
                self.at += 1;
            }
        }
    }

    /// The number that is reckoned here, where that is all that stands in `$((…))`.
    fn reckoned(&self) -> Option<Reckoned> {
        Reckoned::read(self.chars.get(self.at..)?.strip_prefix(&['$', '(', '('])?)
    }

    /// `$'…'`, where `\x72` is an r.
    pub(super) fn ansi_quotes(&mut self) {
        self.word().is_quoted = true;
        self.not_plain("it holds characters in disguise");
        self.at += 2;
        // Where a zero stands, the text ends for bash.
        let mut has_ended = false;
        loop {
            match (self.peek(0), self.peek(1)) {
                (None, _) | (Some('\\'), None) => return self.unreadable("a quote is not closed"),
                (Some('\''), _) => break,
                (Some('\\'), Some(c)) => {
                    self.at += 2;
                    let made = match c {
                        'n' => Some('\n'),
                        't' => Some('\t'),
                        'x' if self.peek(0) == Some('{') => {
                            self.at += 1;
                            let made = self.number(16, 8);
                            self.at += usize::from(self.peek(0) == Some('}'));
                            made
                        }
                        'x' => self.number(16, 2),
                        'u' => self.number(16, 4),
                        'U' => self.number(16, 8),
                        '0'..='7' => {
                            self.at -= 1;
                            self.number(8, 3)
                        }
                        c => Some(c),
                    };
                    has_ended |= made == Some('\0');
                    if let Some(made) = made.filter(|_| !has_ended) {
                        self.push(made);
                    }
                }
                (Some(c), _) => {
                    if !has_ended {
                        self.push(c);
                    }
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
        self.not_plain(doubt::PRINTED);
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
        self.printed(&inside);
        self.read_inside(&inside);
    }

    /// Adds what a command prints. A new file of `mktemp` has no name that anybody has given to another one.
    fn printed(&mut self, command: &str) {
        let mut words = command.split_whitespace();
        let is_plain = |word: &str| matches!(word, "-d" | "-q" | "-dq" | "-qd" | "--directory");
        if words.next() == Some("mktemp") && words.all(is_plain) {
            self.word().pieces.push(Piece::Text("/tmp/tmp.".to_owned()));
        }
        match said(command) {
            Some(text) => text.chars().for_each(|c| self.push(c)),
            None => self.word().fill("", Piece::Unknown),
        }
    }
}

/// What a command surely prints, where that is one plain word that stands in it: `echo -delete`.
fn said(command: &str) -> Option<String> {
    let raw: Vec<&str> = command.split_whitespace().collect();
    let words: Vec<&str> = raw.iter().map(|word| unquoted(word)).collect();
    let text = match words.as_slice() {
        ["echo", word] | ["echo", "-n", word] if !is_echo_option(word) => (*word).to_owned(),
        // printf takes any word that begins so for an option.
        ["printf", word] if !word.starts_with('-') => (*word).to_owned(),
        ["printf", "%s", rest @ ..] if !rest.is_empty() => rest.concat(),
        // Without quotes the shell takes the backslash away.
        ["printf", "%s\\n", word] if raw[1].starts_with(['\'', '"']) => (*word).to_owned(),
        ["cat", "<<<", word] => (*word).to_owned(),
        ["cat", word] => unquoted(word.strip_prefix("<<<")?).to_owned(),
        _ => return None,
    };
    // Nothing that is more than itself to a shell, to echo or to printf.
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':' | ',' | '+' | '@' | '=');
    (!text.is_empty() && text.chars().all(is_plain)).then_some(text)
}

/// `-n`, `-neE`: echo prints nothing of it.
fn is_echo_option(word: &str) -> bool {
    word.strip_prefix('-')
        .is_some_and(|letters| !letters.is_empty() && letters.chars().all(|c| matches!(c, 'n' | 'e' | 'E')))
}

/// A word without the quotes around it.
fn unquoted(word: &str) -> &str {
    let inside = |quote: char| word.strip_prefix(quote).and_then(|word| word.strip_suffix(quote));
    inside('\'').or_else(|| inside('"')).unwrap_or(word)
}

#[cfg(test)]
mod tests {
    use super::super::super::Script;

    #[test]
    fn a_line_that_goes_on_within_a_word_is_not_read() {
        for line in [
            "echo \"$\\\n(danger x)\"",
            "find $\\\nHOME -delete",
            "find \"$HO\\\nME\" -delete",
            "find ${HO\\\nME} -delete",
            "a &\\\n& danger",
            "cat <<EOF\n$\\\n(danger)\nEOF",
            ": $(echo $\\\nHOME)",
            "cat <\\\n<EOF\nx\nEOF",
        ] {
            assert!(!Script::read(line).is_readable(), "{line}");
        }
        for line in [
            "docker run \\\n  -v a:b \\\n  image",
            "docker run\\\n  image",
            "echo \"a \\\nb\"",
            "sed 'a\\\ntext' x",
            "cat <<EOF\nRUN a && \\\n    b\nEOF",
            "cat <<'EOF'\na\\\nb $\\\nc\nEOF",
        ] {
            assert!(Script::read(line).is_readable(), "{line}");
        }
    }

    #[test]
    fn what_a_command_surely_prints_is_a_word_of_the_line() {
        let last = |line: &str| Script::read(line).commands.last().unwrap().words.last().unwrap().clone();
        for (line, word) in [
            ("find . $(echo -delete)", "-delete"),
            ("cat $(echo -n .env)", ".env"),
            ("cat $(printf %s .e nv)", ".env"),
            ("cat $(printf '%s\\n' .env)", ".env"),
            ("cat $(cat <<<.env)", ".env"),
        ] {
            assert!(last(line).is_known() && last(line).text == word, "{line}: {:?}", last(line));
        }
        for line in [
            "rm -rf $(echo -neE)/",
            "rm -rf $(echo -n -e)/",
            "rm -rf $(printf -abc)/usr",
            "rm -rf \"$(printf -- )/\"",
            "rm -rf \"$(echo -nnn)$HOME\"",
            "cat $(printf %s\\n .e)v",
        ] {
            assert!(!last(line).is_known(), "{line}: {:?}", last(line));
        }
    }

    #[test]
    fn what_is_reckoned_from_numbers_runs_nothing() {
        let programs = |line: &str| {
            let script = Script::read(line);
            script.commands.iter().filter_map(|command| Some(command.words.first()?.text.clone())).collect::<Vec<_>>()
        };
        for line in ["echo $((1+2))", "echo \"$(( (1 + 2) * 3 ))\" x", "echo a$((1<<2))b", "echo $((7%3))$((1))"] {
            assert_eq!(programs(line), ["echo"], "{line}");
        }
        assert_eq!(programs("echo $(( $(date +%s) - start ))"), ["date", "echo"]);
        assert_eq!(programs("echo $((x + 1)) $((${y} * $z))"), ["echo"]);
        for line in ["echo $((a[$(danger)]))", "echo $((1); danger)", "echo $((1) )", "echo $((danger x))"] {
            assert!(programs(line).len() > 1, "{line}: {:?}", programs(line));
        }
    }

    #[test]
    fn the_end_of_a_text_that_is_filled_in_may_be_written_over_two_lines() {
        let commands = |line: &str| {
            let script = Script::read(line);
            script.commands.iter().filter_map(|command| Some(command.words.first()?.text.clone())).collect::<Vec<_>>()
        };
        assert_eq!(commands("cat <<EOF\nE\\\nOF\ndanger x\nEOF"), ["cat", "danger", "EOF"]);
        assert_eq!(commands("cat <<EOF\na\\\nEOF\ndanger x\nEOF"), ["cat"]);
        assert_eq!(commands("cat <<'EOF'\na\\\nEOF\ndanger x"), ["cat", "danger"]);
    }
}
