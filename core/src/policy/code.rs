//! Texts that are handed to a program and may be run by it: lines of a shell in quotes, and code in other languages.

use super::command::name_of;
use super::environment::is_command;
use super::inert::is_inert;
use super::shell::{Piece, Script, ShellWord};
use super::starts::starts;
use super::suspects::Found;
use super::values::{Variables, is_literal};

/// Programs whose words are code in which `$` means something of its own.
const OWN_LANGUAGE: [&str; 19] = [
    "awk",
    "bun",
    "deno",
    "expect",
    "gawk",
    "gh",
    "jq",
    "kubectl",
    "lua",
    "mawk",
    "node",
    "osascript",
    "perl",
    "php",
    "python",
    "rg",
    "ruby",
    "tclsh",
    "yq",
];

/// What code says that looks for what it does not name. Too common to be asked for without a rule on commands.
const HIDES: [&str; 16] = [
    "getattr",
    "importlib",
    "ctypes",
    "runpy",
    "globals",
    "__dict__",
    "compile(",
    "b64decode",
    "fromhex",
    "rot13",
    "binding(",
    "passthru",
    "proc_open",
    "send(",
    "[\"",
    "|",
];

/// What a shell fills in.
const CODE: [char; 2] = ['$', '`'];

/// Longer texts are not read as scripts.
const LONGEST: usize = 2_000;

/// The names of programs in texts that a command may run, where they are not certain, as shapes.
pub(super) fn programs(command: &Found, variables: &Variables) -> Vec<String> {
    let name = command.words.first().map_or("", |word| name_of(&word.text));
    let mut texts: Vec<&str> = vec![];
    if !is_inert(&command.words) && !has_own_language(name) {
        texts.extend(command.words.iter().skip(1).filter(|word| holds_code(word)).map(|word| word.text.as_str()));
        texts.extend(command.given.iter().map(String::as_str));
    }
    let set = command.assignments.iter().filter(|(name, _)| is_command(name));
    texts.extend(set.filter(|(_, value)| holds_code(value)).map(|(_, value)| value.text.as_str()));
    let mut programs = vec![];
    for text in texts.into_iter().filter(|text| text.contains(CODE) && text.len() < LONGEST) {
        for script in scripts(text) {
            programs
                .extend(Script::read(&script).commands.iter().flat_map(|command| unsure(&command.words, variables)));
        }
    }
    programs
}

/// Whether something is still to be filled in when the program gets the word.
fn holds_code(word: &ShellWord) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if text.contains(CODE)))
}

fn has_own_language(name: &str) -> bool {
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    OWN_LANGUAGE.iter().any(|program| name.strip_prefix(program).is_some_and(is_version))
}

/// A text as the script it may be: whole, and behind what editors, settings and recipes have before a command.
fn scripts(text: &str) -> Vec<String> {
    let text = text.replace("$$", "$");
    let behind =
        ["!", "=", ";", "e "].iter().filter_map(|mark| text.split_once(mark)).map(|(_, script)| script.to_owned());
    let mut scripts: Vec<String> = behind.collect();
    scripts.push(text);
    scripts
}

fn unsure(words: &[ShellWord], variables: &Variables) -> Vec<String> {
    let programs = starts(words).into_iter().filter_map(|start| words.get(start)).filter(|word| !word.is_known());
    let shapes = programs.flat_map(|word| variables.spellings(word));
    shapes.map(|shape| name_of(&shape).to_owned()).filter(|name| !name.is_empty()).collect()
}

/// Whether code in another language may start what it does not name.
pub(super) fn hides(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let name = name_of(&first.text);
    let is_code = ["python", "perl", "ruby", "node", "php", "lua", "deno", "bun"].iter().any(|language| {
        name.strip_prefix(language).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    });
    let joins = |text: &str| ["\"+", "'+", "\".", "'.", "\" .", "..\""].iter().any(|join| text.contains(join));
    let hides = |text: &str| HIDES.iter().any(|word| text.contains(word)) && joins(text);
    is_code && rest.iter().any(|word| is_literal(&word.text) && hides(&word.text))
}
