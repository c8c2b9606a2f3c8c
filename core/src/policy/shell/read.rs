//! Reads a line as a shell would, noting every issue and passing over none of its commands.

mod quotes;

use super::word::is_plain;
use super::{Joint, ParseIssue, Redirect, Script, ShellCommand, Way, Word};

/// Substitutions inside substitutions. Deeper is not looked at, and said so.
const DEEPEST: usize = 12;

pub(super) fn script(line: &str) -> Script {
    let mut script = Script::default();
    read(line, 0, &mut script);
    script
}

/// Reads one text; a text within another, such as what stands in backticks, is read as one of its own.
fn read(text: &str, depth: usize, script: &mut Script) {
    if depth > DEEPEST {
        return issue(script, ParseIssue::Unreadable("it is nested too deep"));
    }
    let chars = text.chars().collect();
    let mut reader = ShellReader {
        chars,
        at: 0,
        depth,
        script,
        command: ShellCommand::new(Joint::Start),
        word: None,
        heredocs: vec![],
        open: 0,
        wanting: false,
    };
    reader.run();
}

fn issue(script: &mut Script, issue: ParseIssue) {
    script.issue = script.issue.max(Some(issue));
}

struct ShellReader<'script> {
    chars: Vec<char>,
    at: usize,
    depth: usize,
    script: &'script mut Script,
    command: ShellCommand,
    /// The word being read, with where it begins.
    word: Option<(usize, Word)>,
    /// Ends of the here-documents that begin after this line, and whether their text is taken as it stands.
    heredocs: Vec<(String, bool)>,
    /// Brackets that are open in this text.
    open: usize,
    /// The last operator wants another command behind it.
    wanting: bool,
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

    fn peek(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    fn follows(&self, text: &str) -> bool {
        text.chars().enumerate().all(|(ahead, c)| self.peek(ahead) == Some(c))
    }

    fn not_plain(&mut self, why: &'static str) {
        issue(self.script, ParseIssue::NotPlain(why));
        if let Some((_, word)) = &mut self.word {
            word.is_literal = false;
        }
    }

    fn unreadable(&mut self, why: &'static str) {
        issue(self.script, ParseIssue::Unreadable(why));
    }

    fn word(&mut self) -> &mut Word {
        let literal = || Word { is_literal: true, ..Word::default() };
        &mut self.word.get_or_insert_with(|| (self.at, literal())).1
    }

    fn push(&mut self, c: char) {
        self.word().text.push(c);
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
                self.not_plain("it holds a comment");
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
            ';' | '&' | '|' | '(' | ')' => self.operator(c),
            '<' | '>' => self.redirect(),
            '~' => {
                let begins = self.word.as_ref().is_none_or(|(_, word)| word.text.ends_with([':', '=']));
                self.word();
                if begins {
                    self.not_plain("a ~ stands for a folder");
                }
                self.push(c);
                self.at += 1;
            }
            '=' if self.word.is_none() => {
                // One shell takes `=ls` for the path of ls.
                self.word();
                self.not_plain("a word begins with =");
                self.push(c);
                self.at += 1;
            }
            _ => {
                self.word();
                match c {
                    '*' | '?' | '[' | ']' => self.not_plain("it holds a pattern for file names"),
                    '{' | '}' => self.not_plain("it holds braces"),
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
            self.not_plain("it holds brackets");
            self.end_command(Joint::Start);
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
            self.not_plain("it is more than a list of commands");
            (Joint::Then, 2)
        } else if self.follows("|&") {
            (Joint::Pipe, 2)
        } else {
            match c {
                '|' => (Joint::Pipe, 1),
                '&' => {
                    self.not_plain("& leaves a command running");
                    (Joint::Background, 1)
                }
                _ => (Joint::Then, 1),
            }
        };
        self.end_word();
        if self.command.is_empty() {
            // A shell refuses this, and what it would do with the rest is not for us to guess.
            self.not_plain("an operator stands where a command should");
        }
        self.end_command(joint);
        self.wanting = joint == Joint::Pipe || self.follows("&&") || self.follows("||");
        self.at += length;
    }

    fn redirect(&mut self) {
        let is_number = |word: &Word| !word.is_quoted && word.text.chars().all(|c| c.is_ascii_digit());
        // `2>x` leads what is written to 2 elsewhere; the number is no word of the command.
        if self.peek(0) != Some('&') && self.word.as_ref().is_some_and(|(_, word)| is_number(word)) {
            self.word = None;
        }
        self.end_word();
        if self.follows("<(") || self.follows(">(") {
            self.word();
            self.not_plain("it runs a command to make a file");
            self.at += 2;
            self.bracketed('(', ')');
            return;
        }
        const OPERATORS: [(&str, Way); 12] = [
            ("&>>", Way::Out),
            ("&>", Way::Out),
            ("<<<", Way::Copy),
            ("<<-", Way::Copy),
            ("<<", Way::Copy),
            ("<&", Way::Copy),
            ("<>", Way::Out),
            (">>", Way::Out),
            (">|", Way::Out),
            (">&", Way::Copy),
            ("<", Way::In),
            (">", Way::Out),
        ];
        let Some((operator, way)) = OPERATORS.into_iter().find(|(operator, _)| self.follows(operator)) else { return };
        self.at += operator.len();
        while matches!(self.peek(0), Some(' ' | '\t')) {
            self.at += 1;
        }
        let target = self.redirect_target();
        match operator {
            "<<" | "<<-" => {
                self.not_plain("it holds a here-document");
                self.heredocs.push((target.text.clone(), target.is_quoted));
            }
            "<<<" => self.not_plain("it holds a here-string"),
            _ => {}
        }
        // `>&file` writes to a file; `>&1` and `>&-` do not.
        let is_number = target.text.chars().all(|c| c.is_ascii_digit() || c == '-') && !target.text.is_empty();
        let way = match (operator, is_number) {
            (">&" | "<&", false) => Way::Out,
            _ => way,
        };
        if target.text.contains('-') && way == Way::Copy {
            self.not_plain("it closes or moves a file");
        }
        // In `<2>&1` the number belongs to what comes behind it, and nothing is left for this one.
        let is_taken = is_number && !target.is_quoted && matches!(self.peek(0), Some('<' | '>'));
        if target.text.is_empty() && !target.is_quoted || is_taken {
            self.unreadable("a redirection leads nowhere");
        }
        self.command.redirects.push(Redirect { way, target });
    }

    /// The word after a redirection, wherever the command's own words go on.
    fn redirect_target(&mut self) -> Word {
        while let Some(c) = self.peek(0) {
            if matches!(c, ' ' | '\t' | '\n' | ';' | '&' | '|' | '(' | ')' | '<' | '>') {
                break;
            }
            self.step(c);
        }
        self.taken_word().unwrap_or_default()
    }

    fn taken_word(&mut self) -> Option<Word> {
        let (from, mut word) = self.word.take()?;
        word.raw = self.chars[from..self.at.min(self.chars.len())].iter().collect();
        Some(word)
    }

    fn end_word(&mut self) {
        let Some(word) = self.taken_word() else { return };
        if !word.is_quoted && matches!(word.text.as_str(), "{" | "}") {
            // Wherever it stands: `function f { …`.
            return self.end_command(Joint::Start);
        }
        if self.command.words.is_empty() {
            if let Some((name, value)) = assignment(&word) {
                return self.command.assignments.push((name, value));
            }
            if !word.is_quoted && self.is_keyword(&word.text) {
                return;
            }
        }
        self.command.words.push(word);
    }

    /// Whether the shell takes the first word of a command for a word of its own. The command then begins behind it.
    fn is_keyword(&mut self, word: &str) -> bool {
        const PASSED: [&str; 13] =
            ["if", "then", "elif", "else", "fi", "while", "until", "do", "done", "esac", "!", "coproc", "function"];
        const KEPT: [&str; 5] = ["for", "select", "case", "in", "[["];
        let passed = PASSED.contains(&word);
        if passed || KEPT.contains(&word) {
            self.not_plain("it is more than a list of commands");
        }
        passed
    }

    fn end_command(&mut self, next: Joint) {
        self.end_word();
        let command = std::mem::replace(&mut self.command, ShellCommand::new(next));
        if !command.is_empty() {
            self.wanting = false;
            self.script.commands.push(command);
        } else if command.joint != Joint::Start && next != Joint::Start {
            // Empty lines keep what joined them to the line before.
            self.command.joint = if command.joint == Joint::Then { next } else { command.joint };
        }
    }

    /// The text of here-documents is no command, but for the commands that make words in it.
    fn skip_heredocs(&mut self) {
        for (end, as_it_stands) in std::mem::take(&mut self.heredocs) {
            let mut body = String::new();
            let mut closed = false;
            while self.at < self.chars.len() {
                let line: String = self.chars[self.at..].iter().take_while(|c| **c != '\n').collect();
                self.at += line.chars().count() + 1;
                if line.trim_start_matches('\t') == end {
                    closed = true;
                    break;
                }
                body.push_str(&line);
                body.push('\n');
            }
            if !closed {
                self.unreadable("a here-document has no end");
            }
            if !as_it_stands && body.contains(['`', '$']) {
                // In double quotes the same things happen as in such a text.
                read(&format!(": \"{}\"", body.replace('"', "")), self.depth + 1, self.script);
            }
            self.fed(&body);
        }
    }

    /// A shell that is given a text runs it, whatever stands before the shell or comes behind it.
    fn fed(&mut self, body: &str) {
        let mut words = self.script.commands.iter().flat_map(|command| &command.words);
        if words.any(|word| super::super::command::is_shell(&word.text)) {
            read(body, self.depth + 1, self.script);
        }
    }
}

/// `NAME=value`, `NAME+=value` and `NAME[1]=value`.
fn assignment(word: &Word) -> Option<(String, Word)> {
    let (name, _) = word.raw.split_once('=')?;
    let name = name.strip_suffix('+').unwrap_or(name);
    let name = name.split_once('[').map_or(name, |(name, _)| name);
    let is_name =
        name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') && !name.starts_with(|c: char| c.is_ascii_digit());
    if !is_name || name.is_empty() {
        return None;
    }
    let value = word.text.split_once('=').map(|(_, value)| value.to_owned()).unwrap_or_default();
    Some((name.to_owned(), Word { text: value, ..word.clone() }))
}
