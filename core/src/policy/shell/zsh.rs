//! What zsh reads in another way than bash does: a line is written anew, as far as both read it alike.
//!
//! A word whose value only zsh would tell becomes [`UNKNOWN`], which may be any text. Where zsh parts a line in another way
//! than bash, nobody can read it for certain, and [`AsBash::why`] says so. Everything else stays as it is, so that what bash
//! reads there is read as ever. The options are those that Claude Code gives its zsh: no extended patterns, no qualifiers
//! behind them. A line that changes options is told by its words (`texts::zsh_words`).

mod brackets;
mod lists;
mod names;
mod parameters;
mod quotes;
mod redirects;
#[cfg(test)]
mod tests;

pub(crate) use names::{changes_shell, has_meaning};

use std::borrow::Cow;

use lists::{has_escapes, is_assignment, is_before_command, is_list, may_be_list};

/// A value that may be any text: the names that begin with some letters, which no line knows.
pub(crate) const UNKNOWN: &str = "${!zsh*}";

const PARTED: &str = "zsh parts it in another way than bash does";
const NOT_CLOSED: &str = "where a part of it ends is not certain to zsh";
const DISGUISED: &str = "it holds characters that zsh and bash write in different ways";
const SET: &str = "it sets something that has a meaning of its own to zsh";

/// Substitutions inside substitutions. Deeper is not looked at, and said so.
const DEEPEST: usize = 24;

pub(crate) struct AsBash<'line> {
    pub(crate) line: Cow<'line, str>,
    /// Why nobody can tell what zsh makes of it.
    pub(crate) why: Option<&'static str>,
}

/// A line of a session whose shell may be zsh, for the reader of bash's lines.
pub(crate) fn as_bash(line: &str) -> AsBash<'_> {
    // What is in no line that zsh reads otherwise.
    if !line.contains(['$', '`', '=', '~', '{', '}', '(', '>', '<', '|', '&', '\\', '[']) && !line.contains("for") {
        return AsBash { line: line.into(), why: None };
    }
    let sets_lists = line.contains("=(") || line.contains(" -");
    let mut reader = ZshReader::of(line, if sets_lists { line } else { "" }, 0);
    reader.has_escapes = has_escapes(line);
    reader.code(None);
    AsBash { why: reader.why, line: if reader.out == line { line.into() } else { reader.out.into() } }
}

struct ZshReader<'line> {
    /// All of the line, for what it sets elsewhere; nothing where it sets no lists.
    line: &'line str,
    /// `echo` may write something else than stands there.
    has_escapes: bool,
    chars: Vec<char>,
    at: usize,
    out: String,
    why: Option<&'static str>,
    depth: usize,
    /// The words of the command so far, as they are written.
    words: Vec<String>,
    /// Where the word begins that is being read.
    word: Option<usize>,
    /// The here-documents that begin after this line: their ends, and whether they are filled in.
    heredocs: Vec<(String, bool)>,
}

impl<'line> ZshReader<'line> {
    fn of(text: &str, line: &'line str, depth: usize) -> Self {
        let chars = text.chars().collect();
        let (words, heredocs) = (vec![], vec![]);
        Self {
            line,
            has_escapes: false,
            chars,
            at: 0,
            out: String::new(),
            why: None,
            depth,
            words,
            word: None,
            heredocs,
        }
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn before(&self) -> Option<char> {
        self.at.checked_sub(1).and_then(|at| self.chars.get(at)).copied()
    }

    fn unclear(&mut self, why: &'static str) {
        self.why = self.why.or(Some(why));
    }

    /// Takes over characters as they are.
    fn copy(&mut self, count: usize) {
        for _ in 0..count {
            self.out.extend(self.peek(0));
            self.at += 1;
        }
    }

    fn begin_word(&mut self) {
        self.word.get_or_insert(self.at);
    }

    /// Commands, up to the bracket that closes them.
    fn code(&mut self, closes: Option<char>) {
        if self.depth > DEEPEST {
            return self.unclear(NOT_CLOSED);
        }
        while let Some(c) = self.peek(0) {
            match c {
                c if Some(c) == closes => break,
                ' ' | '\t' => {
                    self.end_word();
                    self.copy(1);
                }
                '\n' => {
                    self.end_command();
                    self.copy(1);
                    self.pass_heredocs();
                }
                ';' | '|' | '&' => self.operator(c),
                '#' if self.word.is_none() => {
                    while self.peek(0).is_some_and(|c| c != '\n') {
                        self.copy(1);
                    }
                }
                '<' | '>' => self.redirect(),
                '(' => self.bracket(),
                ')' => {
                    self.end_command();
                    self.copy(1);
                }
                c => self.in_word(c),
            }
        }
        self.end_command();
    }

    fn in_word(&mut self, c: char) {
        let begins = self.word.is_none();
        self.begin_word();
        match c {
            '\\' => self.copy(2),
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '`' => self.backticks(),
            '$' if self.peek(1) == Some('\'') => self.ansi_quotes(),
            '$' if self.peek(1) == Some('"') => {
                self.unclear(DISGUISED);
                self.copy(1);
            }
            '$' => self.dollar(false),
            '~' if begins || matches!(self.before(), Some('=' | ':')) => self.tilde(),
            // `=ls` is the path of ls, also as a value.
            '=' if (begins || self.is_value()) && self.peek(1).is_some_and(is_of_name) => {
                self.at += 1;
                while self.peek(0).is_some_and(is_of_name) {
                    self.at += 1;
                }
                self.out.push_str(UNKNOWN);
            }
            '=' if self.peek(1) == Some('(') => self.assign_or(PARTED),
            '{' => self.brace(begins),
            '}' => {
                // At the end of a word it closes a group, where bash takes it for a part of the word.
                let written: String = self.chars[self.word.unwrap_or(self.at)..self.at].iter().collect();
                if !begins && written.matches('{').count() <= written.matches('}').count() {
                    self.unclear(PARTED);
                }
                self.copy(1);
            }
            _ => self.copy(1),
        }
    }

    /// `=(…)` begins a list behind a name, and a file that a command writes elsewhere.
    fn assign_or(&mut self, why: &'static str) {
        let written: String = self.chars[self.word.unwrap_or(self.at)..self.at].iter().collect();
        let name = written.trim_end_matches('+');
        if name.is_empty() || !name.chars().all(|c| is_of_name(c) && c != '.' && c != '/') {
            self.unclear(why);
        }
        self.copy(1);
    }

    /// Whether what comes is the value of an assignment: `NAME=` stands before.
    fn is_value(&self) -> bool {
        const SETTING: [&str; 5] = ["declare", "export", "local", "readonly", "typeset"];
        let is_set = |word: &String| SETTING.contains(&word.as_str());
        let written = self.chars[self.word.unwrap_or(self.at)..self.at].split_last();
        let is_name = written.is_some_and(|(last, name)| {
            *last == '=' && !name.is_empty() && name.iter().all(|c| c.is_ascii_alphanumeric() || *c == '_')
        });
        let is_first = || self.words.iter().all(|word| is_before_command(word) || is_assignment(word));
        is_name && (is_first() || self.words.iter().any(is_set))
    }

    /// `~name` is a folder that any line can give this name to.
    fn tilde(&mut self) {
        let name: String = self.chars[self.at + 1..].iter().take_while(|c| is_of_name(**c) && **c != '/').collect();
        if matches!(name.as_str(), "" | "+" | "-") {
            return self.copy(1);
        }
        self.at += 1 + name.chars().count();
        self.out.push_str(UNKNOWN);
    }

    fn brace(&mut self, begins: bool) {
        let rest = &self.chars[self.at + 1..];
        let inside: String = rest.iter().take_while(|c| !c.is_whitespace() && **c != '}').collect();
        let is_closed = rest.get(inside.chars().count()) == Some(&'}');
        let is_first = begins && self.words.iter().all(|word| is_before_command(word));
        // `{cmd x}` is a group to zsh.
        if is_first && !is_closed && rest.first().is_some_and(|c| !c.is_whitespace()) {
            self.unclear(PARTED);
        }
        // `{a..$x}` is filled in first, and then opened.
        if is_closed && inside.contains("..") && inside.contains(['$', '`']) {
            let count = inside.chars().count();
            self.at += count + 2;
            self.out.push_str(UNKNOWN);
            return self.nested(&inside);
        }
        self.copy(1);
    }

    fn operator(&mut self, c: char) {
        if c == '&' && self.peek(1) == Some('>') {
            return self.redirect();
        }
        self.end_command();
        match (c, self.peek(1)) {
            (';', Some('|')) => self.unclear(PARTED),
            // `&|` and `&!` end a command as `&` does.
            ('&', Some('|' | '!')) => {
                self.copy(1);
                self.out.push(' ');
                self.at += 1;
                return;
            }
            ('&' | '|', Some(next)) if next == c => self.copy(1),
            ('|', Some('&')) => self.copy(1),
            _ => {}
        }
        self.copy(1);
    }

    fn end_word(&mut self) {
        let Some(from) = self.word.take() else { return };
        let raw: String = self.chars[from..self.at.min(self.chars.len())].iter().collect();
        let is_first = self.words.iter().all(|word| is_before_command(word) || is_assignment(word));
        if is_first && raw == "echo" && self.has_escapes {
            // That of zsh takes `\x61` for an a.
            self.out.push_str(" -e");
        }
        if is_first && raw == "always" {
            self.unclear(PARTED);
        }
        if let Some((name, _)) = raw.split_once('=').filter(|_| is_assignment(&raw)) {
            let name = name.trim_end_matches('+');
            let element = name.split_once('[');
            let is_known = |name: &str| is_list(self.line, name);
            let is_set =
                is_first || self.words.iter().any(|word| matches!(word.as_str(), "export" | "typeset" | "local"));
            if is_set && (has_meaning(name) || element.is_some_and(|(name, _)| has_meaning(name) || !is_known(name))) {
                self.unclear(SET);
            }
        }
        let loops = |at: usize| self.words.get(at).is_some_and(|word| matches!(word.as_str(), "for" | "select"));
        match self.words.len() {
            1 if loops(0) && has_meaning(&raw) => self.unclear(SET),
            // `for x y in a b`
            2 if loops(0) && !matches!(raw.as_str(), "in" | "do" | "{") => self.unclear(PARTED),
            2 if self.words[0] == "case" && raw == "{" => self.unclear(PARTED),
            // `function f g {`
            2 if self.words[0] == "function" && raw != "{" => self.unclear(PARTED),
            _ => {}
        }
        match raw.as_str() {
            "{" | "}" => self.words.clear(),
            "do" | "then" | "else" | "elif" | "!" | "while" | "until" | "if" if is_first => self.words.clear(),
            _ => self.words.push(raw),
        }
    }

    fn end_command(&mut self) {
        self.end_word();
        self.words.clear();
    }
}

/// Whether a character may be a part of the name of a program or a folder.
fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/')
}
