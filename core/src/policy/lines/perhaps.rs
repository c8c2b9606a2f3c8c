//! Whether a deny or ask rule for commands might mean something in a line, where that cannot be read for certain.
//!
//! Three things make it possible. The line *names* the program of the rule in words that something may run; the program of
//! one of its commands is *not certain* and could be that one; or something is run that *nobody can read* here.

use super::suspects::{Found, Suspect, Suspects};
use super::tokens::Tokens;
use crate::policy::commands::command::{is_safe, name_of};
use crate::policy::commands::environment::is_command;
use crate::policy::commands::inert::is_inert;
use crate::policy::rules::line::{Fit, LinePattern};
use crate::policy::shell::{Joint, Way};
use crate::policy::words::glob::text_matches;
use crate::policy::words::values::may_be;

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
        if fit == Fit::Perhaps || fit == Fit::Yes && suspect.is_behind_unknown {
            return Some(format!("its words are not certain, and they may be {}", shown(line)));
        }
    }
    if suspects.quoted.iter().any(|words| line.fits(words, false, &suspects.variables_in_texts) != Fit::No) {
        return Some(format!("a text in it may be run, and it may be {}", shown(line)));
    }
    let flow = &suspects.flow;
    let names = |tokens: &Tokens| {
        let named = tokens.without(program).any(|token| is_named(program, token));
        let matched = || !program.contains('*') && tokens.patterns.iter().any(|shape| may_be(shape, program));
        let words = |tokens: &[&String]| line.words().iter().all(|word| is_said(word, tokens));
        let own = || words(&tokens.without(program).collect::<Vec<_>>());
        let all = || words(&flow.tokens.iter().flat_map(|tokens| tokens.without("")).collect::<Vec<_>>());
        let renames = || matches!(tokens.program(), Some("alias" | "hash")) && flow.has_unknown;
        (named || matched()) && (own() || flow.moves && all() || renames())
    };
    let is_set = |tokens: &Tokens, command: &Found| {
        let counts = |name: &str| is_command(name) || !command.words.is_empty() && !is_safe(name);
        tokens.set.iter().any(|(name, tokens)| counts(name) && tokens.iter().any(|token| is_named(program, token)))
    };
    let may_run = |command: &Found, tokens: &Tokens| {
        !is_inert(&command.words) || flow.reaches(command) || is_set(tokens, command)
    };
    let found =
        suspects.found.iter().zip(&flow.tokens).any(|(command, tokens)| names(tokens) && may_run(command, tokens));
    if found {
        return Some(format!("it names {}, and may run it", shown(line)));
    }
    let is_renamed = !line.words().is_empty() && renames(line, suspects);
    is_renamed.then(|| format!("another name may stand for {}", shown(line)))
}

/// Whether the line gives a name of its own to what a rule says of a program, and runs that program.
fn renames(line: &LinePattern<'_>, suspects: &Suspects) -> bool {
    let program = line.program();
    let is_run = |suspect: &Suspect| suspect.words.first().is_some_and(|word| name_of(&word.text) == program);
    let alias = |tokens: &Tokens| {
        let names = tokens.set.iter().map(|(name, _)| name).chain(tokens.without(""));
        names.into_iter().any(|name| name.to_ascii_lowercase().contains("alias"))
    };
    let said =
        |tokens: &Tokens| line.words().iter().all(|word| is_said(word, &tokens.without(program).collect::<Vec<_>>()));
    suspects.commands.iter().any(is_run) && suspects.flow.tokens.iter().any(|tokens| alias(tokens) && said(tokens))
}

fn shown(line: &LinePattern<'_>) -> String {
    format!("`{}`", line.shown())
}

/// Whether the tokens say a word of a rule; the letters of `-rf` may stand apart.
fn is_said(word: &str, tokens: &[&String]) -> bool {
    let is_short = |token: &str| token.starts_with('-') && !token.starts_with("--");
    let letters =
        || tokens.iter().filter(|token| is_short(token)).flat_map(|token| token.chars().skip(1)).collect::<String>();
    let apart = is_short(word) && word.len() <= 4 && word.chars().skip(1).all(|letter| letters().contains(letter));
    apart || tokens.iter().any(|token| is_named(word, token))
}

/// Whether a token of a line is what a word of a rule says.
fn is_named(word: &str, token: &str) -> bool {
    if word.contains('*') { text_matches(word, token) } else { word.eq_ignore_ascii_case(token) }
}

/// Where what one command prints or keeps gets into another.
#[derive(Clone, Debug, Default)]
pub(crate) struct Flow {
    /// Something in the line does not only handle its words.
    starts: bool,
    /// It is at the end of a pipe.
    consumes: bool,
    /// A name has got another meaning, or what is text and what is not is unsure.
    changes: bool,
    /// Words come from elsewhere in the line.
    moves: bool,
    /// A word of a command is not certain.
    has_unknown: bool,
    /// The names in each of the commands that were found, in their order.
    tokens: Vec<Tokens>,
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
        let tokens = suspects.found.iter().map(|command| Tokens::of(command, &suspects.variables)).collect();
        Self {
            starts: suspects.found.iter().any(|command| starts(&command)),
            consumes: suspects.found.iter().any(|command| consumes(&command)),
            changes: suspects.is_unsure || suspects.found.iter().any(sets_path),
            moves,
            has_unknown: suspects.found.iter().any(|command| command.words.iter().any(|word| !word.is_known())),
            tokens,
        }
    }

    /// Whether the words of a command that runs nothing may get to something that does.
    pub(crate) fn reaches(&self, command: &Found) -> bool {
        let keeps =
            command.redirects.iter().any(|redirect| redirect.way == Way::Out && redirect.target.text != "/dev/null")
                || command.words.first().is_some_and(|word| name_of(&word.text) == "tee")
                || command
                    .words
                    .first()
                    .is_none_or(|word| matches!(word.text.as_str(), "for" | "select" | "case" | "read"))
                || !command.assignments.is_empty();
        self.changes || self.consumes || self.starts && (command.is_nested || keeps)
    }
}

/// Whether other programs may be found by the same names from here on.
fn sets_path(command: &Found) -> bool {
    let exported = command.words.iter().filter_map(crate::policy::shell::assignment);
    command
        .assignments
        .iter()
        .map(|(name, _)| name.clone())
        .chain(exported.map(|(name, _)| name))
        .any(|name| name == "PATH")
}
