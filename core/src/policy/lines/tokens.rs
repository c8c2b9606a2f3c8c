//! The names in a command that may be programs or their words, taken apart once for all rules.

use super::suspects::Found;
use crate::policy::commands::command::name_of;
use crate::policy::shell::{ANY, ONE, OUTER, Piece, STAR, ShellWord, Way};
use crate::policy::words::values::Variables;

/// Every name in the words of a command, in what it sets and in what it is given.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tokens {
    /// The name of its program, where it stands there as it is.
    program: Option<String>,
    /// The names in the word of the program.
    first: Vec<String>,
    pub(crate) rest: Vec<String>,
    /// Patterns of file names that are more than stars, as shapes.
    pub(crate) patterns: Vec<String>,
    /// The names in each of the values that it sets.
    pub(crate) set: Vec<(String, Vec<String>)>,
}

impl Tokens {
    pub(crate) fn of(command: &Found, variables: &Variables) -> Self {
        let mut tokens = Self::default();
        for (at, word) in command.words.iter().enumerate() {
            let names = if at == 0 { &mut tokens.first } else { &mut tokens.rest };
            take(word, variables, names);
            if at > 0 {
                patterns(word, variables, &mut tokens.patterns);
            } else if word.is_literal {
                tokens.program = Some(name_of(&word.text).to_owned());
            }
        }
        for (name, value) in &command.assignments {
            let mut names = vec![];
            take_value(value, variables, &mut names);
            if !command.words.is_empty() {
                patterns(value, variables, &mut tokens.patterns);
            }
            tokens.rest.extend(names.iter().cloned());
            tokens.set.push((name.clone(), names));
        }
        for text in &command.given {
            let text = ShellWord::read(text);
            take_value(&text, variables, &mut tokens.rest);
            patterns(&text, variables, &mut tokens.patterns);
        }
        let read = command.redirects.iter().filter(|redirect| redirect.way == Way::In);
        read.for_each(|redirect| take(&redirect.target, variables, &mut tokens.rest));
        tokens
    }

    pub(crate) fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// The names in it. The program itself is left out where it is the one of the rule: that is for the rule's own words
    /// to say.
    pub(crate) fn without(&self, program: &str) -> impl Iterator<Item = &String> {
        let is_program = self.program.as_deref() == Some(program);
        self.first.iter().filter(move |_| !is_program).chain(&self.rest)
    }
}

fn take(word: &ShellWord, variables: &Variables, names: &mut Vec<String>) {
    // The name of a variable is no program.
    let is_name = word.raw.split('=').next().is_some_and(|written| !written.contains('['));
    match crate::policy::shell::assignment(word).filter(|_| is_name) {
        Some((_, value)) => take_value(&value, variables, names),
        None => take_value(word, variables, names),
    }
}

fn take_value(word: &ShellWord, variables: &Variables, names: &mut Vec<String>) {
    split(&word.text, names);
    if !word.is_known() {
        variables.spellings(word).iter().for_each(|shape| split(shape, names));
    }
}

/// The parts of a text that may be names of programs or their words, also where they stand in quotes, behind a slash or
/// `=`, or glued to a flag.
fn split(text: &str, names: &mut Vec<String>) {
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    split_plain(&plain, names);
    // A backslash is nothing to a shell, and together with a letter a blank to printf.
    if text.contains('\\') {
        split_plain(
            &["\\n", "\\t", "\\r", "\\c"].iter().fold(text.to_owned(), |text, it| text.replace(it, " ")),
            names,
        );
    }
    if plain.contains(['$', '`']) {
        split_plain(&emptied(&plain), names);
    }
}

fn split_plain(text: &str, names: &mut Vec<String>) {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '%');
    let (mut rest, mut mark) = (text, None);
    while !rest.is_empty() {
        let (token, behind) = rest.split_at(rest.find(|c| !is_name(c)).unwrap_or(rest.len()));
        if !token.is_empty() {
            take_token(token, mark, names);
        }
        let mut behind = behind.chars();
        mark = behind.next();
        rest = behind.as_str();
    }
}

/// The names in a part of a text, behind a mark that is none of a name.
fn take_token(token: &str, mark: Option<char>, names: &mut Vec<String>) {
    names.push(token.to_owned());
    names.extend(token.strip_prefix(['+', '%', '.']).filter(|rest| !rest.is_empty()).map(str::to_owned));
    // Behind one option, or behind some that are run together.
    let letters = token.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
    let glued = letters.char_indices().skip(1).take(4).map(|(at, _)| &letters[at..]);
    names.extend(glued.filter(|glued| glued.len() > 1).map(str::to_owned));
    // Behind what says to another program that a command follows: `|-x`, `%pipe%x`, `ExecStart=-x`.
    let is_marked = mark.is_some_and(|mark| !mark.is_whitespace());
    names.extend(Some(letters).filter(|letters| is_marked && !letters.is_empty()).map(str::to_owned));
    names.extend(token.split('%').skip(1).filter(|part| !part.is_empty()).map(str::to_owned));
}

/// A text as a shell makes it where variables are empty and commands print nothing.
fn emptied(text: &str) -> String {
    let mut made = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(['$', '`']) {
        made.push_str(&rest[..at]);
        let behind = &rest[at + 1..];
        let close = match (rest[at..].starts_with('`'), behind.chars().next()) {
            (true, _) => behind.find('`').map(|end| end + 1),
            (false, Some('(')) => behind.find(')').map(|end| end + 1),
            (false, Some('{')) => behind.find('}').map(|end| end + 1),
            (false, Some(c)) if matches!(c, '@' | '*' | '#' | '?' | '!' | '-') || c.is_ascii_digit() => Some(1),
            (false, _) => behind.find(|c: char| !c.is_alphanumeric() && c != '_').or(Some(behind.len())),
        };
        rest = &behind[close.unwrap_or(0)..];
    }
    made + rest
}

/// Patterns in a word, also where they stand in quotes for something else to fill in.
fn patterns(word: &ShellWord, variables: &Variables, found: &mut Vec<String>) {
    if word.is_literal && !word.text.contains(['*', '?', '[']) {
        return;
    }
    let is_open = |c: char| matches!(c, ANY | STAR | ONE | OUTER);
    // In what looks like a command any file of a folder counts.
    let is_glob = word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)));
    let is_code = !is_glob && word.text.contains([' ', '!']);
    let mut keep = |shape: &str| {
        let name = name_of(shape);
        let is_more = name.chars().any(|c| !is_open(c)) || is_code && shape.contains('/');
        if name.contains([STAR, ONE]) && is_more {
            found.push(name.to_owned());
        }
    };
    variables.shapes(word).iter().for_each(|shape| keep(shape));
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '/' | '*' | '?' | '[' | ']');
    for part in word.text.split(|c| !is_part(c)).filter(|part| part.contains(['*', '?', '['])) {
        variables.shapes(&ShellWord::read(part)).iter().for_each(|shape| keep(shape));
    }
}
