//! Reads a line as a shell would, noting every issue and passing over none of its commands.

mod brackets;
mod lists;
mod quotes;
mod reckoned;
mod redirects;

use super::word::{ANY, Piece, is_plain};
use super::{Joint, ParseIssue, Script, ShellCommand, ShellWord, doubt};

/// Substitutions inside substitutions. Deeper is not looked at, and said so.
const DEEPEST: usize = 12;

/// The words of the shell that begin a command which holds others.
const BEGINNING: [&str; 7] = ["if", "while", "until", "for", "select", "case", "[["];

pub(super) fn script(line: &str) -> Script {
    let mut script = Script::default();
    read(line, 0, &mut script);
    script.reckoned = super::expressions::expressions(line);
    script
}

/// Reads one text; a text within another, such as what stands in backticks, is read as one of its own.
fn read(text: &str, depth: usize, script: &mut Script) {
    read_in(text, depth, false, script);
}

/// The same of what stands in the brackets of a list.
fn read_in(text: &str, depth: usize, in_list: bool, script: &mut Script) {
    if depth > DEEPEST {
        return script.doubt(ParseIssue::Unreadable("it is nested too deep"));
    }
    ShellReader::of(text, depth, in_list, script).run();
}

struct ShellReader<'script> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    script: &'script mut Script,
    command: ShellCommand,
    /// The word being read, with where it begins.
    word: Option<(usize, ShellWord)>,
    /// The here-documents that begin after this line.
    heredocs: Vec<redirects::HereDocument>,
    /// Brackets that are open in this text.
    open: usize,
    /// The last operator wants another command behind it.
    wanting: bool,
    /// A `case` stands before.
    has_case: bool,
    /// `function` stands before the next word.
    names_function: bool,
    /// `function` or `coproc` stands before, which a name may follow.
    may_be_named: bool,
    /// What is read stands in double quotes.
    in_quotes: bool,
    /// These are the elements of a list.
    in_list: bool,
    /// Where the last list ends.
    list_ends: usize,
}

impl<'script> ShellReader<'script> {
    fn of(text: &str, depth: usize, in_list: bool, script: &'script mut Script) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
            depth,
            script,
            command: ShellCommand::new(Joint::Start, depth > 0),
            word: None,
            heredocs: vec![],
            open: 0,
            wanting: false,
            has_case: false,
            names_function: false,
            may_be_named: false,
            in_quotes: false,
            in_list,
            list_ends: 0,
        }
    }
}

impl ShellReader<'_> {
    fn run(&mut self) {
        while let Some(c) = self.peek(0) {
            self.step(c);
        }
        self.end_command(Joint::Start);
        if self.wanting {
            self.unreadable("it ends with an operator");
        }
        if self.open > 0 {
            self.unreadable("a bracket is not closed");
        }
        if !self.heredocs.is_empty() {
            self.unreadable("a here-document has no end");
        }
    }

    /// Reads a text that stands within this one. What stands in a list is read as a command as well, and there.
    fn read_inside(&mut self, text: &str) {
        if !self.in_list {
            read(text, self.depth + 1, self.script);
        }
    }

    /// Reads a text in which words are filled in, as they are in double quotes, but for the quotes that stand in it.
    fn read_filled_in(&mut self, text: &str) {
        if self.in_list {
            return;
        }
        if self.depth >= DEEPEST {
            return self.unreadable("it is nested too deep");
        }
        let mut reader = ShellReader::of(text, self.depth + 1, false, self.script);
        reader.command.words.push(ShellWord::plain(":"));
        reader.word().is_quoted = true;
        reader.filled_in(None);
        reader.end_command(Joint::Start);
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn follows(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn not_plain(&mut self, why: &'static str) {
        self.script.doubt(ParseIssue::NotPlain(why));
        if let Some((_, word)) = &mut self.word {
            word.is_literal = false;
        }
    }

    fn unreadable(&mut self, why: &'static str) {
        self.script.doubt(ParseIssue::Unreadable(why));
    }

    fn word(&mut self) -> &mut ShellWord {
        let literal = || ShellWord { is_literal: true, ..ShellWord::default() };
        &mut self.word.get_or_insert_with(|| (self.at, literal())).1
    }

    fn push(&mut self, c: char) {
        self.word().push(c);
    }

    fn step(&mut self, c: char) {
        match c {
            ' ' | '\t' => {
                self.end_word();
                self.at += 1;
            }
            '\n' => {
                self.end_command(Joint::Then);
                self.at += 1;
                self.skip_heredocs();
            }
            '#' if self.word.is_none() => {
                self.not_plain(doubt::COMMENT);
                while self.peek(0).is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            '\'' => self.single_quotes(),
            '"' => self.double_quotes(),
            '\\' => self.backslash(),
            '$' if self.peek(1) == Some('\'') => self.ansi_quotes(),
            // `$"x"` is "x" in another language.
            '$' if self.peek(1) == Some('"') => {
                self.word();
                self.not_plain("it holds a text to be translated");
                self.at += 1;
            }
            '$' => self.dollar(),
            '`' => self.backticks(),
            '|' | '(' | ')' if self.is_in_expression(c) => {
                self.word();
                self.not_plain(doubt::GROUP);
                self.push(c);
                self.at += 1;
            }
            ';' | '&' | '|' | '(' | ')' => self.operator(c),
            '<' | '>' => self.redirect(),
            '~' => {
                let begins = self.word.as_ref().is_none_or(|(_, word)| word.text.ends_with([':', '=']));
                let is_set = self.word.as_ref().is_none_or(|(_, word)| word.text.contains('=') && !word.is_quoted);
                self.word();
                if begins {
                    // `~x` is the home of somebody else.
                    let is_own = self.peek(1).is_none_or(|c| {
                        c == '/' || c.is_whitespace() || matches!(c, ';' | '&' | '|' | ')' | '<' | '>' | ':')
                    });
                    self.not_plain(if is_own { doubt::HOME } else { "a ~ stands for somebody's folder" });
                    if !is_own && is_set {
                        self.unreadable(doubt::STACK);
                    }
                }
                self.push(c);
                self.at += 1;
            }
            '=' if self.word.is_none() && !self.compares() => {
                // One shell takes `=ls` for the path of ls.
                self.word();
                self.not_plain("a word begins with =");
                self.push(c);
                self.at += 1;
            }
            _ => {
                let is_first = self.word.is_none();
                self.word();
                match c {
                    '*' | '?' | '[' | ']' => {
                        self.not_plain(doubt::PATTERN);
                        self.word().fill(&c.to_string(), Piece::Glob(c));
                        self.at += 1;
                        return;
                    }
                    ANY => {
                        self.not_plain("it holds what nobody knows");
                        self.word().fill("", Piece::Unknown);
                        self.at += 1;
                        return;
                    }
                    // `{}` is what find puts a name in the place of, and to a shell nothing but that.
                    '{' if self.follows("{}") && !self.command.words.is_empty() => {
                        self.push(c);
                        self.push('}');
                        self.at += 2;
                        return;
                    }
                    '{' | '}' => self.not_plain(doubt::BRACES),
                    // By itself it is what it is to every shell.
                    '!' if is_first && self.peek(1).is_some_and(char::is_whitespace) => {}
                    '!' | '#' => self.not_plain("a shell may not take ! or # as it stands"),
                    c if !is_plain(c) => self.not_plain("it holds characters that are not plain"),
                    _ => {}
                }
                self.push(c);
                self.at += 1;
            }
        }
    }

    fn operator(&mut self, c: char) {
        if c == '&' && self.peek(1) == Some('>') {
            return self.redirect();
        }
        if matches!(c, '(' | ')') {
            // What stands before the one that closes is as certain as it was.
            if c == ')' {
                self.end_word();
            }
            let opens_group = c == '(' && self.word.is_none() && self.command.is_empty() && self.peek(1) != Some('(');
            let is_group = opens_group || c == ')' && self.open > 0;
            self.not_plain(if is_group { doubt::GROUP } else { "it holds brackets" });
            self.script.has_groups = true;
            if c == '(' {
                let is_list = self.list();
                let is_not = |word: &ShellWord| word.text == "!" && self.command.words.is_empty();
                let extends = |word: &ShellWord| word.text.ends_with(['@', '+', '?', '*', '!']) && !is_not(word);
                if self.word.as_ref().is_some_and(|(_, word)| extends(word)) {
                    self.unreadable(doubt::EXTENDED);
                }
                if !is_list && self.is_bracket_in_words() {
                    self.unreadable("brackets stand where only zsh takes them for a pattern");
                }
            }
            // `f() …` gives a name another meaning.
            self.end_word();
            let is_pattern = c == ')' && self.open == 0 && self.has_case && self.command.words.len() == 1;
            if is_pattern && self.command.assignments.is_empty() && self.command.redirects.is_empty() {
                // `x)` in a `case`.
                self.command = ShellCommand::new(Joint::Start, self.depth > 0);
            }
            let is_function = self.follows("()") || self.follows("( )");
            let name = self.command.words.last().filter(|_| is_function).map(|word| word.text.clone());
            self.script.functions.extend(name);
            self.script.is_unsure |= is_function;
            self.script.repeats |= is_function;
            self.end_command(self.joint_of_group(c));
            match c {
                '(' => self.open += 1,
                _ => self.open = self.open.saturating_sub(1),
            }
            self.at += 1;
            return;
        }
        let (joint, length) = if self.follows("&&") || self.follows("||") {
            (Joint::Then, 2)
        } else if self.follows(";;") || self.follows(";&") {
            self.not_plain(doubt::COMPOUND);
            (Joint::Then, 2)
        } else if self.follows("|&") {
            (Joint::Pipe, 2)
        } else {
            match c {
                '|' => (Joint::Pipe, 1),
                '&' => {
                    self.not_plain(doubt::BACKGROUND);
                    (Joint::Background, 1)
                }
                _ => (Joint::Then, 1),
            }
        };
        self.end_word();
        // Behind a group there is no other command before the operator.
        let before = self.chars[..self.at].iter().rfind(|c| !matches!(c, ' ' | '\t'));
        if self.command.is_empty() && before != Some(&')') {
            // A shell refuses this, and what it would do with the rest is not for us to guess.
            self.not_plain("an operator stands where a command should");
        }
        self.end_command(joint);
        self.wanting = joint == Joint::Pipe || self.follows("&&") || self.follows("||");
        self.at += length;
    }

    fn taken_word(&mut self) -> Option<ShellWord> {
        let (from, mut word) = self.word.take()?;
        word.raw = self.chars[from..self.at.min(self.chars.len())].iter().collect();
        Some(word)
    }

    fn end_word(&mut self) {
        let Some(word) = self.taken_word() else { return };
        if !word.is_quoted && matches!(word.text.as_str(), "{" | "}") {
            // Wherever it stands: `function f { …`.
            self.script.has_groups = true;
            let joint = self.joint_of_group(if word.text == "{" { '(' } else { ')' });
            return self.end_command(joint);
        }
        if !word.is_quoted && self.is_behind_word_of_shell() {
            if word.text == "!" {
                return self.not_plain(doubt::COMPOUND);
            }
            let text = word.text.as_str();
            if BEGINNING.contains(&text) || matches!(text, "coproc" | "function") || assignment(&word).is_some() {
                self.end_command(self.command.joint);
            }
        }
        if self.command.words.is_empty() {
            if let Some((name, value)) = assignment(&word) {
                return self.command.assignments.push((name, value));
            }
            if !word.is_quoted && self.is_keyword(&word.text) {
                return;
            }
            if std::mem::take(&mut self.names_function) {
                self.script.functions.extend([word.text.clone()]);
            }
        }
        self.command.words.push(word);
    }

    /// Whether the shell takes what follows for the beginning of a command, though a word stands before: `time -p`,
    /// `function f`, `coproc C`.
    fn is_behind_word_of_shell(&self) -> bool {
        let Some((first, rest)) = self.command.words.split_first() else { return false };
        let is_time = first.text == "time" && !first.is_quoted;
        is_time && rest.iter().all(|word| matches!(word.text.as_str(), "-p" | "--" | "time"))
            || self.may_be_named && rest.is_empty()
    }

    /// Whether the shell takes the first word of a command for a word of its own. The command then begins behind it.
    fn is_keyword(&mut self, word: &str) -> bool {
        const PASSED: [&str; 13] =
            ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "!", "coproc", "function"];
        const KEPT: [&str; 5] = ["for", "select", "case", "in", "[["];
        let passed = PASSED.contains(&word);
        self.script.is_unsure |= matches!(word, "function" | "coproc");
        self.has_case |= word == "case";
        self.names_function |= word == "function";
        self.may_be_named |= matches!(word, "function" | "coproc");
        self.script.repeats |= matches!(word, "function" | "while" | "until" | "for" | "select");
        if passed || KEPT.contains(&word) {
            self.not_plain(doubt::COMPOUND);
            self.script.has_groups |= word != "!";
        }
        passed
    }

    /// What joins the first command of a group to the one before the group: its input is that of the group.
    fn joint_of_group(&self, bracket: char) -> Joint {
        let begins = bracket == '(' && self.command.is_empty() && self.command.joint == Joint::Pipe;
        if begins { Joint::Pipe } else { Joint::Start }
    }

    fn end_command(&mut self, next: Joint) {
        self.end_word();
        self.may_be_named = false;
        let command = std::mem::replace(&mut self.command, ShellCommand::new(next, self.depth > 0));
        if !command.is_empty() {
            self.wanting = false;
            self.script.commands.push(command);
        } else if command.joint != Joint::Start && next != Joint::Start {
            // Empty lines keep what joined them to the line before.
            self.command.joint = if command.joint == Joint::Then { next } else { command.joint };
        }
    }
}

/// The same as a word of `export`, `env` and their like, for which it may stand in quotes.
pub(crate) fn set_by_word(word: &ShellWord) -> Option<(String, ShellWord)> {
    assignment(word).or_else(|| assignment(&ShellWord { raw: word.text.clone(), ..word.clone() }))
}

/// `NAME=value`, `NAME+=value` and `NAME[1]=value`.
pub(crate) fn assignment(word: &ShellWord) -> Option<(String, ShellWord)> {
    let (written, _) = word.raw.split_once('=')?;
    let name = written.strip_suffix('+').unwrap_or(written);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let is_name =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
    if !is_name || name.is_empty() {
        return None;
    }
    let value = word.text.split_once('=').map(|(_, value)| value.to_owned()).unwrap_or_default();
    let mut pieces = word.pieces.clone();
    // An index may hold pieces of its own.
    let first = pieces.iter().position(|piece| matches!(piece, Piece::Text(text) if text.contains('=')));
    pieces.drain(..first.unwrap_or_default());
    if let Some(Piece::Text(text)) = pieces.first_mut() {
        *text = text.split_once('=').map_or_else(String::new, |(_, value)| value.to_owned());
    }
    if written.ends_with('+') {
        pieces.insert(0, Piece::Variable(name.to_owned()));
    }
    Some((name.to_owned(), ShellWord { text: value, pieces, ..word.clone() }))
}
