//! Lines that are more than plain commands, and of which it is certain all the same what they have to do with.
//!
//! This counts only where a rule allows every command. Then a pattern is certain once it was looked up on the disk, a variable
//! where the line itself says what it holds, and a text where no shell fills it in: whatever strict rules, protected names
//! and removals could mean stands there, and was looked at.

use super::access::Plan;
use super::environment::is_command;
use super::inert::is_inert;
use super::reading::{Reading, reading};
use super::shell::{ANY, OUTER, Piece, ShellWord, doubt};
use super::suspects::{Found, Suspects};
use super::values::is_literal;

/// The doubts that the words of a line can clear up.
const CLEARED: [&str; 6] =
    [doubt::PATTERN, doubt::COMPOUND, doubt::VARIABLE, doubt::PRINTED, doubt::TEXT, doubt::SHELL];

/// Whether every command, every word and every file of a line is known.
pub(super) fn is_certain(plan: &Plan) -> bool {
    let suspects = &plan.with_texts;
    plan.script.is_readable()
        && plan.script.doubts.iter().all(|why| CLEARED.contains(why))
        && !suspects.is_unsure
        && suspects.programs.is_empty()
        && suspects.computed.is_none()
        && suspects.unseen.is_none()
        && plan.touched.files.iter().all(|touch| is_known(&touch.path))
        && suspects.found.iter().all(|command| command_is_certain(command, suspects))
}

/// Whether a text is what it is, and nobody has to know the environment for it.
fn is_known(shape: &str) -> bool {
    is_literal(shape) && !shape.contains([ANY, OUTER])
}

fn command_is_certain(command: &Found, suspects: &Suspects) -> bool {
    let Some((first, rest)) = command.words.split_first() else { return false };
    let redirects_are_certain =
        command.redirects.iter().all(|redirect| redirect.target.is_known() && !has_pattern(&redirect.target));
    let is_test = matches!(first.text.as_str(), "[" | "[[");
    if !first.is_literal && !is_test || !redirects_are_certain || !command.assignments.is_empty() {
        return false;
    }
    let is_set = |word: &ShellWord| {
        let name = word.text.split_once('=').map_or("", |(name, _)| name);
        holds_only_places(word) && (name == "PATH" || is_harmless(name))
    };
    match first.text.as_str() {
        "export" => rest.iter().all(is_set),
        "source" | "." => rest.len() == 1 && rest[0].is_literal && !rest[0].is_made_file(),
        "set" => rest.iter().all(|word| {
            word.is_literal
                && matches!(word.text.as_str(), "-e" | "-u" | "-x" | "-eu" | "-ex" | "-euo" | "-o" | "pipefail")
        }),
        "alias" | "bind" | "compgen" | "complete" | "declare" | "enable" | "eval" | "exec" | "fc" | "hash" | "let"
        | "local" | "mapfile" | "popd" | "pushd" | "read" | "readarray" | "readonly" | "shopt" | "trap" | "typeset"
        | "unset" => false,
        // What it is given is neither a file nor run.
        _ if reading(&command.words) == Reading::Nothing && is_inert(&command.words) && !is_loop(first) => true,
        _ => {
            let values = |word: &ShellWord| suspects.variables.shapes(word);
            let is_said = |word: &ShellWord| {
                !word.pieces.contains(&Piece::Unknown) && values(word).iter().all(|shape| !shape.contains([ANY, OUTER]))
            };
            rest.iter().all(is_said) && (command.given.is_empty() || is_inert(&command.words))
        }
    }
}

/// Whether a variable is none from which programs take what they start, or how.
fn is_harmless(name: &str) -> bool {
    let begins = ["LD_", "DYLD_", "GIT_", "BASH_", "PYTHON", "PERL", "RUBY", "NODE_", "JAVA_"];
    !name.is_empty() && !is_command(name) && !begins.iter().any(|begin| name.starts_with(begin))
}

/// What a loop goes through is what its commands get.
fn is_loop(first: &ShellWord) -> bool {
    matches!(first.text.as_str(), "for" | "select" | "case" | "in")
}

fn has_pattern(word: &ShellWord) -> bool {
    word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)))
}

/// Whether a value is made of text, and of folders and paths that everybody has.
fn holds_only_places(word: &ShellWord) -> bool {
    word.pieces.iter().all(|piece| match piece {
        Piece::Text(_) => true,
        Piece::Variable(name) => matches!(name.as_str(), "PATH" | "PWD" | "HOME"),
        Piece::MadeOf(..) | Piece::Unknown | Piece::Glob(_) => false,
    })
}
