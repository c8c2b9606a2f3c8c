//! Whether a deny or ask rule for commands might mean something in a line, where that cannot be read for certain.
//!
//! Three things make it possible. The line *names* the program of the rule in words that something may run; the program of
//! one of its commands is *not certain* and could be that one; or something is run that *nobody can read* here.

use super::command::{is_safe, name_of};
use super::environment::is_command;
use super::glob::text_matches;
use super::inert::is_inert;
use super::line::{Fit, LinePattern};
use super::shell::{ANY, Joint, ONE, OUTER, Piece, STAR, ShellWord, Way};
use super::suspects::{Found, Suspects};
use super::values::may_be;

/// Why the rule might mean something in the line, as the end of "…, and a rule speaks of it".
pub(crate) fn might_run(line: &LinePattern<'_>, suspects: &Suspects) -> Option<String> {
    if let Some(why) = suspects.computed {
        return Some(format!("{why}, and it may be {}", shown(line)));
    }
    let program = line.program();
    let is_it = |shape: &&String| !program.contains('*') && may_be(shape, program) || program.contains('*');
    if suspects.programs.iter().any(|shape| is_it(&shape)) {
        return Some(format!("which program it starts is not certain, and it may be {}", shown(line)));
    }
    for suspect in &suspects.commands {
        let fit = line.fits(&suspect.words, suspect.takes_more, &suspects.variables);
        if fit == Fit::Perhaps {
            return Some(format!("its words are not certain, and they may be {}", shown(line)));
        }
    }
    let flow = &suspects.flow;
    let names = |command: &Found| {
        let tokens = tokens(command, program);
        let named = tokens.iter().any(|token| is_named(program, token));
        let words = |tokens: &[String]| line.words().iter().all(|word| is_said(word, tokens));
        let matched = || command.words.iter().skip(1).any(|word| is_matched(program, word, suspects));
        (named || matched()) && (words(&tokens) || flow.moves && words(&flow.tokens))
    };
    let is_set = |(name, value): &(String, ShellWord), command: &Found| {
        let mut tokens = vec![];
        split(&value.text, &mut tokens);
        let counts = is_command(name) || !command.words.is_empty() && !is_safe(name);
        counts && tokens.iter().any(|token| is_named(program, token))
    };
    let may_run = |command: &Found| {
        !is_inert(&command.words) || flow.reaches(command) || command.assignments.iter().any(|one| is_set(one, command))
    };
    let found = suspects.found.iter().any(|command| names(command) && may_run(command));
    found.then(|| format!("it names {}, and may run it", shown(line)))
}

/// Whether a pattern for names of files, which is more than stars, may be the name of a program.
fn is_matched(program: &str, word: &ShellWord, suspects: &Suspects) -> bool {
    if program.contains('*') || !word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_))) {
        return false;
    }
    let is_open = |c: char| matches!(c, ANY | STAR | ONE | OUTER);
    let may = |shape: &String| name_of(shape).chars().any(|c| !is_open(c)) && may_be(name_of(shape), program);
    suspects.variables.shapes(word).iter().any(may)
}

fn shown(line: &LinePattern<'_>) -> String {
    format!("`{}`", line.shown())
}

/// Whether the tokens say a word of a rule; the letters of `-rf` may stand apart.
fn is_said(word: &str, tokens: &[String]) -> bool {
    let is_short = |token: &str| token.starts_with('-') && !token.starts_with("--");
    let letters =
        || tokens.iter().filter(|token| is_short(token)).flat_map(|token| token.chars().skip(1)).collect::<String>();
    let apart = is_short(word) && word.len() <= 4 && word.chars().skip(1).all(|letter| letters().contains(letter));
    apart || tokens.iter().any(|token| is_named(word, token))
}

/// Whether a token of a line is what a word of a rule says.
fn is_named(word: &str, token: &str) -> bool {
    if word.contains('*') { text_matches(word, token) } else { word == token }
}

/// Where what one command prints or keeps gets into another.
#[derive(Debug, Default)]
pub(crate) struct Flow {
    /// Something in the line does not only handle its words.
    starts: bool,
    /// It is at the end of a pipe.
    consumes: bool,
    /// A name has got another meaning, or what is text and what is not is unsure.
    changes: bool,
    /// Words come from elsewhere in the line.
    moves: bool,
    tokens: Vec<String>,
}

impl Flow {
    pub(crate) fn of(suspects: &Suspects) -> Self {
        let starts = |command: &&Found| !command.words.is_empty() && !is_inert(&command.words);
        let consumes = |command: &&Found| command.joint == Joint::Pipe && starts(command);
        let renames =
            |command: &Found| command.words.first().is_some_and(|word| matches!(word.text.as_str(), "hash" | "alias"));
        let moves = suspects.is_unsure
            || suspects.found.iter().any(renames)
            || suspects.found.iter().any(|command| {
                command.joint == Joint::Pipe
                    || command.is_nested
                    || !command.assignments.is_empty()
                    || !command.given.is_empty()
            });
        let tokens =
            if moves { suspects.found.iter().flat_map(|command| tokens(command, "")).collect() } else { vec![] };
        Self {
            starts: suspects.found.iter().any(|command| starts(&command)),
            consumes: suspects.found.iter().any(|command| consumes(&command)),
            changes: suspects.is_unsure || suspects.found.iter().any(sets_path),
            moves,
            tokens,
        }
    }

    /// Whether the words of a command that runs nothing may get to something that does.
    pub(crate) fn reaches(&self, command: &Found) -> bool {
        let keeps =
            command.redirects.iter().any(|redirect| redirect.way == Way::Out && redirect.target.text != "/dev/null")
                || command.words.first().is_some_and(|word| name_of(&word.text) == "tee")
                || command.words.first().is_none_or(|word| matches!(word.text.as_str(), "for" | "select" | "case"))
                || !command.assignments.is_empty();
        self.changes || self.consumes || self.starts && (command.is_nested || keeps)
    }
}

/// Whether other programs may be found by the same names from here on.
fn sets_path(command: &Found) -> bool {
    let exported = command.words.iter().filter_map(super::shell::assignment);
    command
        .assignments
        .iter()
        .map(|(name, _)| name.clone())
        .chain(exported.map(|(name, _)| name))
        .any(|name| name == "PATH")
}

/// Every name in the words of a command, in what it sets and in what it is given. The program itself is left out where it
/// is the one of the rule: that is for the rule's own words to say.
fn tokens(command: &Found, program: &str) -> Vec<String> {
    let mut tokens = vec![];
    let is_program = |word: &ShellWord| word.is_literal && name_of(&word.text) == program;
    for (at, word) in command.words.iter().enumerate() {
        if at > 0 || !is_program(word) {
            split(&word.text, &mut tokens);
        }
    }
    command.assignments.iter().for_each(|(_, value)| split(&value.text, &mut tokens));
    command.given.iter().for_each(|text| split(text, &mut tokens));
    let read = command.redirects.iter().filter(|redirect| redirect.way == Way::In);
    read.for_each(|redirect| split(&redirect.target.text, &mut tokens));
    tokens
}

/// The parts of a text that may be names of programs or their words, also where they stand in quotes, behind a slash or
/// `=`, or glued to a flag.
fn split(text: &str, tokens: &mut Vec<String>) {
    let plain: String = text.chars().filter(|c| !matches!(c, '\'' | '"' | '\\')).collect();
    // A backslash is nothing to a shell, and together with a letter a blank to printf.
    let spaced = text
        .contains('\\')
        .then(|| ["\\n", "\\t", "\\r", "\\c"].iter().fold(text.to_owned(), |text, it| text.replace(it, " ")));
    let plain = [Some(plain), spaced].into_iter().flatten().collect::<Vec<_>>().join(" ");
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+' | '%');
    for token in plain.split(|c| !is_name(c)).filter(|token| !token.is_empty()) {
        tokens.push(token.to_owned());
        // Behind one option, or behind some that are run together.
        let letters = token.strip_prefix('-').filter(|rest| !rest.starts_with('-')).unwrap_or_default();
        let glued = letters.char_indices().skip(1).take(4).map(|(at, _)| &letters[at..]);
        tokens.extend(glued.filter(|glued| glued.len() > 1).map(str::to_owned));
    }
}
