//! Texts that are handed to a program and may be run by it: lines of a shell in quotes, and code in other languages.

use crate::policy::commands::awk;
use crate::policy::commands::command::name_of;
use crate::policy::commands::environment::is_command;
use crate::policy::commands::inert::is_inert;
use crate::policy::commands::reading::{Reading, reading};
use crate::policy::lines::starts::starts;
use crate::policy::lines::suspects::Found;
use crate::policy::shell::{ANY, ONE, Piece, STAR, Script, ShellWord};
use crate::policy::words::values::{Variables, is_literal};

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
const PATTERN: [char; 3] = ['*', '?', '['];

/// In how many places of one text a command is looked for.
const MOST: usize = 48;

/// The commands in texts that a command may run, as far as they are not certain. What they set is learned.
pub(crate) fn commands(command: &Found, variables: &mut Variables) -> Vec<Vec<ShellWord>> {
    let name = command.words.first().map_or("", |word| name_of(&word.text));
    let mut texts: Vec<&str> = vec![];
    if !is_inert(&command.words) && !has_own_language(name) {
        texts.extend(command.words.iter().skip(1).filter(|word| holds_code(word)).map(|word| word.text.as_str()));
        texts.extend(
            command.given.iter().map(String::as_str).filter(|text| text.contains(CODE) || text.contains(PATTERN)),
        );
    }
    let set = command.assignments.iter().filter(|(name, _)| is_command(name)).map(|(_, value)| value.text.as_str());
    texts.extend(set.filter(|text| text.contains(CODE) || text.contains(PATTERN)));
    let mut commands = vec![];
    for script in texts.into_iter().flat_map(scripts) {
        for command in Script::read(&script).commands {
            variables.learn_perhaps(&command.assignments, &command.words);
            let starts = starts(&command.words).into_iter().map(|start| command.words[start..].to_vec());
            commands.extend(starts.filter(|words| words.iter().any(|word| !word.is_literal)));
        }
    }
    commands
}

/// The names of the programs in such commands, where they are not certain, as shapes.
pub(crate) fn programs(commands: &[Vec<ShellWord>], variables: &Variables) -> Vec<String> {
    let programs = commands.iter().filter_map(|words| words.first()).filter(|word| !word.is_literal);
    let shapes = programs.flat_map(|word| variables.spellings(word));
    let is_open = |name: &str| name.chars().all(|c| matches!(c, STAR | ONE));
    // A star alone is no program, and any file of a folder may be one.
    let names = shapes.filter(|shape| shape.contains('/') || !is_open(shape)).map(|shape| name_of(&shape).to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

/// Whether a command may run what its words say, in the language of a shell.
pub(super) fn runs_its_words(command: &Found) -> bool {
    let name = command.words.first().map_or("", |word| name_of(&word.text));
    // What code in awk runs was read with its lines.
    let is_read = matches!(name, "awk" | "gawk" | "mawk")
        && !awk::meaning(command.words[1..].iter().map(|word| word.text.as_str())).is_unclear;
    !is_inert(&command.words) && reading(&command.words) == Reading::Perhaps && !name.is_empty() && !is_read
}

/// Whether something is still to be filled in when the program gets the word, and it looks like a command.
fn holds_code(word: &ShellWord) -> bool {
    let is_code = |text: &str| text.contains(CODE) || text.contains(PATTERN) && text.contains([' ', '!']);
    word.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if is_code(text)))
}

fn has_own_language(name: &str) -> bool {
    let is_version = |rest: &str| rest.chars().all(|c| c.is_ascii_digit() || c == '.');
    OWN_LANGUAGE.iter().any(|program| name.strip_prefix(program).is_some_and(is_version))
}

/// A text as the script it may be: whole, and behind what editors, settings and recipes have before a command.
fn scripts(text: &str) -> Vec<String> {
    let text = text.replace("$$", "$");
    let is_mark = |c: char| matches!(c, '!' | '=' | ';' | '|' | ':' | '@' | ' ' | '\t' | '\n');
    let mut places = text.char_indices().filter(|(_, c)| is_mark(*c)).map(|(at, _)| &text[at + 1..]);
    let mut scripts: Vec<String> = places.by_ref().take(MOST).map(str::to_owned).collect();
    // Behind the last one that is looked at something is still filled in.
    scripts.extend(places.next().filter(|rest| rest.contains(CODE)).map(|_| ANY.to_string()));
    scripts.push(text.clone());
    scripts
}

/// Whether code puts texts together.
pub(super) fn joins(code: &str) -> bool {
    ["\"+", "'+", "\".", "'.", "\" .", "\" +", "..\"", "\" \"", "\"\""].iter().any(|join| code.contains(join))
}

/// Whether code in another language may start what it does not name.
pub(crate) fn hides(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let name = name_of(&first.text);
    let is_code = ["python", "perl", "ruby", "node", "php", "lua", "deno", "bun"].iter().any(|language| {
        name.strip_prefix(language).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
    });
    let hides = |text: &str| HIDES.iter().any(|word| text.contains(word)) && joins(text);
    is_code && rest.iter().any(|word| is_literal(&word.text) && hides(&word.text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::lines::suspects::Suspects;

    #[test]
    fn what_stands_too_far_back_in_a_text_may_be_any_program() {
        let programs = |before: usize, program: &str| {
            let text = format!("{}{program} x", "a ".repeat(before));
            Suspects::of(&Script::read(&format!("make --eval '{text}'"))).programs
        };
        assert!(programs(3, "$X").iter().all(|name| *name != ANY.to_string()));
        assert!(programs(MOST + 1, "$X").contains(&ANY.to_string()));
        assert!(programs(MOST + 1, "y").is_empty());
    }
}
