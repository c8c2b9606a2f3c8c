//! Texts that a shell reckons with. What is reckoned is read once more: `a[$(x)]` runs x, also where it is what a name holds.
//!
//! A name may be reckoned with where its value is surely nothing that runs: a number, a text of the line without commands in
//! it, or what stands in files and is not made by the line ([`super::numbers`] says which commands print that).

use std::collections::BTreeSet;

use super::numbers::{NumberPrinter, hides_signs, is_harmless_text, prints_nothing_to_run};
use super::set_by_read::filled_names;
use crate::policy::commands::command::{in_this_shell, name_of};
use crate::policy::commands::find_tests::before_action;
use crate::policy::commands::inert::{is_inert, started};
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{ANY, Piece, Redirect, Script, ShellWord, Way, expression_parts, set_by_word};
use crate::policy::words::values::Variables;

const UNKNOWN: &str = "it reckons with a text that nobody can read here, and that may run commands";

/// Names that bash itself reckons with when they are set.
const RECKONED_BY_BASH: [&str; 4] = ["RANDOM", "SRANDOM", "OPTIND", "HISTCMD"];

/// Why something may be run by reckoning with it.
pub(crate) fn runs_unknown(suspects: &Suspects) -> Option<&'static str> {
    if suspects.found.iter().any(|command| finds_unknown(command, &suspects.variables)) {
        return Some("which options find gets is not certain");
    }
    if suspects.found.iter().any(|command| shows_unknown(command, &suspects.variables)) {
        return Some(UNKNOWN);
    }
    let mut expressions = suspects.reckoned.clone();
    for command in &suspects.found {
        by_command(command, &mut expressions);
    }
    if expressions.is_empty() {
        return None;
    }
    let mut reckoning = Reckoning { suspects, seen: BTreeSet::new(), reads_harmlessly: None };
    let runs = expressions.iter().any(|expression| !reckoning.is_harmless(expression));
    runs.then_some(UNKNOWN)
}

/// Whether a word behind the first of `find` may be an option that runs or removes something: it is not the value of another
/// one, and all of it comes from elsewhere in the line.
fn finds_unknown(command: &Found, variables: &Variables) -> bool {
    let words = started(&command.words);
    let is_find = words.first().is_some_and(|word| name_of(&word.text) == "find");
    let is_open = |word: &ShellWord| variables.shapes(word).iter().any(|shape| shape.starts_with(ANY));
    is_find
        && before_action(words)
            .windows(2)
            .skip(1)
            .any(|pair| !pair[0].text.starts_with('-') && !pair[1].is_known() && is_open(&pair[1]))
}

/// Whether `${x@P}`, which runs the commands in a text as `eval` does, has one that does not stand in the line.
fn shows_unknown(command: &Found, variables: &Variables) -> bool {
    let is_shown = |piece: &Piece| matches!(piece, Piece::MadeOf(_, operator) if operator.ends_with("@P"));
    let words = command.words.iter().chain(command.assignments.iter().map(|(_, value)| value));
    let shown = words.flat_map(|word| &word.pieces).filter(|piece| is_shown(piece));
    shown
        .filter_map(|piece| match piece {
            Piece::MadeOf(name, _) => variables.values.get(name),
            _ => None,
        })
        .flatten()
        .any(|value| value.contains(ANY))
}

/// Adds what a command reckons with, beyond what is written as an expression.
fn by_command(command: &Found, expressions: &mut Vec<String>) {
    let said = command.words.iter().filter_map(set_by_word);
    for (name, value) in command.assignments.iter().cloned().chain(said) {
        if RECKONED_BY_BASH.contains(&name.as_str()) {
            expressions.push(value.raw);
        } else if is_prompt(&name) {
            // A prompt is decoded before it is filled in.
            expressions.push(if hides_signs(&value.text) { ANY.to_string() } else { value.raw });
        }
    }
    let Some((first, rest)) = in_this_shell(&command.words).split_first() else { return };
    let is_open = |word: &&ShellWord| !word.is_known();
    let raw = |word: &ShellWord| word.raw.clone();
    // What stands behind `&&` and in brackets within `[[ ]]` is read as a command of its own.
    if !matches!(first.text.as_str(), "[" | "test") {
        let words = &command.words;
        let is_compared =
            |word: &ShellWord| matches!(word.text.as_str(), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge");
        for (at, _) in words.iter().enumerate().filter(|(_, word)| is_compared(word)) {
            expressions.extend(at.checked_sub(1).and_then(|at| words.get(at)).map(raw));
            expressions.extend(words.get(at + 1).map(raw));
        }
    }
    // Names that bash reckons with, or shows as a prompt, whoever fills them.
    let is_watched = |name: &str| is_prompt(name) || RECKONED_BY_BASH.contains(&name);
    let filled: Vec<ShellWord> = match first.text.as_str() {
        "read" | "mapfile" | "readarray" => filled_names(first.text.as_str(), rest),
        "for" | "select" => rest.iter().take(1).cloned().collect(),
        "printf" => rest.iter().take(2).cloned().collect(),
        _ => vec![],
    };
    let names = filled.iter().map(|word| word.text.trim_start_matches("-v")).filter(|name| is_watched(name));
    expressions.extend(names.map(str::to_owned));
    match first.text.as_str() {
        "let" => expressions.extend(rest.iter().map(raw)),
        "[[" | "[" | "test" => {
            for (at, _) in rest.iter().enumerate().filter(|(_, word)| word.text == "-v") {
                expressions.extend(rest.get(at + 1).filter(is_open).map(raw));
            }
        }
        "declare" | "typeset" | "local" | "readonly" | "export" => declared(rest, expressions),
        "printf" | "wait" => {
            let flag = if first.text == "printf" { "-v" } else { "-p" };
            for (at, word) in rest.iter().enumerate().filter(|(_, word)| word.text.starts_with(flag)) {
                let name = if word.text == flag { rest.get(at + 1) } else { Some(word) };
                expressions.extend(name.filter(is_open).map(raw));
            }
        }
        "read" | "mapfile" | "readarray" => {
            expressions.extend(filled_names(first.text.as_str(), rest).iter().filter(is_open).map(raw));
        }
        "compgen" => expressions.extend(rest.iter().filter(is_open).map(raw)),
        _ => {}
    }
}

/// What `declare` and its like reckon with: the values of numbers and lists, names that are not certain, and references.
fn declared(rest: &[ShellWord], expressions: &mut Vec<String>) {
    let letters: String = rest.iter().filter(|word| word.is_flag()).flat_map(|word| word.text.chars()).collect();
    for word in rest.iter().filter(|word| !word.is_flag()) {
        let (name, value) = word.raw.split_once('=').unwrap_or((word.raw.as_str(), ""));
        if letters.contains('i') {
            // Whatever it is given later.
            expressions.push(format!("{name} {value}"));
        }
        if letters.contains(['n', 'a', 'A']) || value.trim_start_matches('"').starts_with('(') {
            expressions.push(value.to_owned());
        }
        if name.contains('$') || name.contains('`') {
            expressions.push(name.to_owned());
        }
    }
}

struct Reckoning<'a> {
    suspects: &'a Suspects,
    /// Names that were looked at, or are being looked at.
    seen: BTreeSet<String>,
    /// Whether all that `read` may get in this line is harmless, once that was asked for.
    reads_harmlessly: Option<bool>,
}

impl Reckoning<'_> {
    /// Whether an expression runs nothing but the commands that stand in it.
    fn is_harmless(&mut self, expression: &str) -> bool {
        if expression.contains(ANY) {
            return false;
        }
        let parts = expression_parts(expression);
        parts.is_certain
            && parts.names.iter().all(|name| self.holds_nothing_to_run(name))
            && parts.commands.iter().all(|command| self.is_harmless_printer(command))
    }

    /// Whether what a name holds, and what the names in that hold, is no text with a command in it.
    fn holds_nothing_to_run(&mut self, name: &str) -> bool {
        if !self.seen.insert(name.to_owned()) {
            return true;
        }
        let suspects = self.suspects;
        let variables = &suspects.variables;
        let is_number = matches!(name, "?" | "#" | "$" | "!" | "RANDOM" | "SECONDS" | "LINENO" | "EPOCHSECONDS");
        if is_number && !variables.values.contains_key(name) {
            return true;
        }
        // It may be any text that the line can make.
        if variables.unfollowed.contains(name) || is_set_by_bash(name) {
            return false;
        }
        // What nobody knows the name of may be this one.
        if (variables.sets_any || variables.has_references || is_given_from_outside(name)) && !self.reads_harmlessly() {
            return false;
        }
        let values = variables.values.get(name).into_iter().flatten().chain(&variables.of_any);
        for value in values.filter(|value| !value.contains(ANY)) {
            // A name in it is reckoned with as well.
            if !is_harmless_text(value)
                || value.contains('$') && !is_prompt(name)
                || !expression_parts(value).names.iter().all(|name| self.holds_nothing_to_run(name))
            {
                return false;
            }
        }
        if name == "BASH_REMATCH" && !self.matches_harmlessly() {
            return false;
        }
        let is_word = is_given_from_outside(name);
        suspects
            .found
            .iter()
            .all(|command| self.sets_harmlessly(command, name) && (!is_word || self.gives_harmlessly(command)))
    }

    /// Whether a command gives the name nothing that runs.
    fn sets_harmlessly(&mut self, command: &Found, name: &str) -> bool {
        let own = command.assignments.iter().filter(|(own, _)| own == name).map(|(_, value)| value.clone());
        let said = command.words.iter().skip(1).filter_map(set_by_word).filter(|(own, _)| own == name);
        let values: Vec<ShellWord> = own.chain(said.map(|(_, value)| value)).collect();
        if !values.iter().all(|value| self.is_harmless_value(value)) {
            return false;
        }
        let words = command.words.iter().chain(command.assignments.iter().map(|(_, value)| value));
        let makes_default =
            |piece: &Piece| matches!(piece, Piece::MadeOf(own, operator) if own == name && operator.contains('='));
        if words
            .filter(|word| word.pieces.iter().any(makes_default))
            .any(|word| word.raw.contains("$(") || word.raw.contains('`'))
        {
            return false;
        }
        let Some((first, rest)) = in_this_shell(&command.words).split_first() else { return true };
        match first.text.as_str() {
            "for" | "select" if rest.first().is_some_and(|word| word.text == name) => match rest.get(1..) {
                // The words of a function, or of the script.
                None | Some([]) => self.reads_harmlessly(),
                Some(values) => values.iter().all(|value| self.is_harmless_value(value)),
            },
            "read" | "mapfile" | "readarray" => {
                let is_it = |word: &ShellWord| !word.is_known() || word.text.split('[').next() == Some(name);
                !filled_names(first.text.as_str(), rest).iter().any(is_it) || self.reads_harmlessly()
            }
            "printf" if rest.iter().any(|word| word.text.starts_with("-v")) => {
                let is_it = |word: &ShellWord| {
                    !word.is_known() || word.text.trim_start_matches("-v").split('[').next() == Some(name)
                };
                !rest.iter().any(is_it) || rest.iter().all(|word| self.is_harmless_value(word))
            }
            _ => true,
        }
    }

    /// Whether what a command may hand to a function, or `set` to the script, is nothing that runs.
    fn gives_harmlessly(&mut self, command: &Found) -> bool {
        let may_give = command.words.first().is_some_and(|word| word.text == "set") || !is_inert(&command.words);
        let words = command.words.iter().skip(1).filter(|word| may_give && !word.is_known());
        words.cloned().collect::<Vec<_>>().iter().all(|word| self.is_harmless_value(word))
    }

    /// Whether a value is put together of nothing that runs.
    fn is_harmless_value(&mut self, value: &ShellWord) -> bool {
        let text: String = value
            .pieces
            .iter()
            .filter_map(|piece| match piece {
                Piece::Text(text) => Some(text.as_str()),
                _ => None,
            })
            .collect();
        // Parts that are harmless one by one are none together.
        let is_filled = value.pieces.iter().any(|piece| !matches!(piece, Piece::Text(_)));
        let may_join = is_filled && text.contains(['$', '(', '{', '`', '\\']);
        !may_join && is_harmless_text(&text) && self.is_harmless(&value.raw)
    }

    /// Whether all that the line compares with a pattern is harmless: what fits it is in BASH_REMATCH.
    fn matches_harmlessly(&mut self) -> bool {
        let compares = |command: &&Found| command.words.iter().any(|word| word.text == "=~");
        let compared = self.suspects.found.iter().filter(compares);
        let before = compared.flat_map(|command| command.words.iter().take_while(|word| word.text != "=~"));
        before.cloned().collect::<Vec<_>>().iter().all(|word| self.is_harmless_value(word)) && self.reads_harmlessly()
    }

    /// Whether a command in brackets prints nothing that runs.
    fn is_harmless_printer(&mut self, command: &str) -> bool {
        let script = Script::read(command);
        let mut names = vec![];
        let printers: Vec<NumberPrinter<'_>> =
            script.commands.iter().map(|command| NumberPrinter::in_brackets(command, &script.texts)).collect();
        prints_nothing_to_run(&printers, &self.suspects.variables, &mut names)
            && names.iter().all(|name| self.holds_nothing_to_run(name))
            && (!self.reads_what_the_line_writes(&script) || self.reads_harmlessly())
    }

    /// Whether a command in brackets may read a file that the line itself writes, by this name or another.
    fn reads_what_the_line_writes(&self, script: &Script) -> bool {
        let found = &self.suspects.found;
        let copies = |word: &ShellWord| {
            matches!(name_of(&word.text), "tee" | "dd" | "cp" | "mv" | "ln" | "install" | "exec" | "touch" | "mkdir")
        };
        if found.iter().any(|command| started(&command.words).first().is_some_and(copies)) {
            return true;
        }
        let is_file = |word: &ShellWord| !matches!(word.text.as_str(), "/dev/null" | "/dev/stdout" | "/dev/stderr");
        let writes = |redirect: &&Redirect| redirect.way == Way::Out && is_file(&redirect.target);
        let written = found.iter().flat_map(|command| &command.redirects).filter(writes);
        let written: Vec<&ShellWord> = written.map(|redirect| &redirect.target).collect();
        let is_same = |one: &ShellWord, other: &ShellWord| {
            !one.is_known() || !other.is_known() || name_of(&one.text) == name_of(&other.text)
        };
        let mut read = script.commands.iter().flat_map(|command| {
            command.words.iter().skip(1).chain(command.redirects.iter().map(|redirect| &redirect.target))
        });
        !written.is_empty() && read.any(|word| written.iter().any(|file| is_same(word, file)))
    }

    /// Whether all that the commands of the line print, and that it gives to them, is harmless: `read` may get any of it.
    fn reads_harmlessly(&mut self) -> bool {
        if let Some(known) = self.reads_harmlessly {
            return known;
        }
        // While it is found out it does not count against itself.
        self.reads_harmlessly = Some(true);
        let mut names = vec![];
        let printers = NumberPrinter::of_line(&self.suspects.found);
        let harmless = prints_nothing_to_run(&printers, &self.suspects.variables, &mut names)
            && names.iter().all(|name| self.holds_nothing_to_run(name));
        self.reads_harmlessly = Some(harmless);
        harmless
    }
}

/// Whether bash sets it to a part of what the line does: the last word, the folder, an option.
fn is_set_by_bash(name: &str) -> bool {
    matches!(name, "_" | "PWD" | "OLDPWD" | "DIRSTACK" | "OPTARG" | "COPROC")
}

/// Whether bash fills in what the name holds before it shows it.
fn is_prompt(name: &str) -> bool {
    matches!(name, "PS0" | "PS1" | "PS2" | "PS3" | "PS4")
}

/// Whether it is a word of the script or of a function.
fn is_given_from_outside(name: &str) -> bool {
    matches!(name, "@" | "*") || name.starts_with(|c: char| c.is_ascii_digit())
}
