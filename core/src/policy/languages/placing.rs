//! Scripts for a shell into which `xargs` and `find` put words from elsewhere.

use super::super::shell::{ANY, Joint, Script, ShellWord, assignment};
use super::Meaning;
use crate::policy::commands::inert::started;
use crate::policy::lines::starts::starts;
use crate::policy::lines::suspects::Found;
use crate::policy::names::filters::PrintedNames;
use crate::policy::names::printing::{Printed, printed};
use crate::policy::texts::receivers::marks;

/// What a shell would take for more than a part of a word.
const SPECIAL: [char; 14] = [';', '|', '&', '`', '$', '(', ')', '<', '>', '\n', '\\', '"', '\'', '%'];

/// A shell with a script in which something stands for words from elsewhere. It is understood where these are names of files or
/// plain words of the line, and none of them is a program, or a part of its name.
pub(super) fn script_with_places(words: &[ShellWord], command: &Found, all: &[Found]) -> Meaning {
    let marks = marks(&command.words);
    let has_c = |word: &ShellWord| word.is_flag() && !word.text.starts_with("--") && word.text.contains('c');
    let scripts = words.iter().skip_while(|word| !has_c(word)).skip(1).map(ShellWord::script);
    let scripts: Vec<String> = scripts.filter(|text| marks.iter().any(|mark| text.contains(mark))).collect();
    // What is set for it may be a part of what it runs.
    let sets = |word: &ShellWord| {
        assignment(word).is_some_and(|(_, value)| marks.iter().any(|mark| value.text.contains(mark)))
    };
    if command.words.iter().any(sets) {
        return Meaning::unclear();
    }
    let Some(script) = scripts.first() else { return Meaning::default() };
    let is_program = |script: &String| {
        let filled = marks.iter().fold(script.clone(), |text, mark| text.replace(mark, &ANY.to_string()));
        let commands = Script::read(&filled).commands;
        // A program behind another one counts as well: `eval {}`, `env {}`.
        // So does a subcommand that is put together: `npm publ{}`.
        let is_made = |word: &ShellWord| {
            let is_name = |c: char| c.is_ascii_alphanumeric() || c == '-';
            !word.is_known() && !word.text.is_empty() && word.text.chars().all(is_name)
        };
        commands.iter().any(|command| {
            let words = |at: usize| command.words.get(at);
            starts(&command.words)
                .into_iter()
                .any(|at| words(at).is_some_and(|word| !word.is_known()) || words(at + 1).is_some_and(is_made))
        })
    };
    let is_unclear = is_program(script) || !names_alone(command, all);
    Meaning { is_unclear, ..Meaning::default() }
}

/// Whether what is put in its place are names of files, or words that stand in the line and are nothing but words.
fn names_alone(command: &Found, all: &[Found]) -> bool {
    let is_plain = |text: &str| !text.contains(SPECIAL);
    if !command.given.is_empty() {
        return command.given.iter().all(|text| is_plain(text) && !text.contains(ANY));
    }
    if command.joint != Joint::Pipe {
        return true;
    }
    let others = all.iter().filter(|other| !std::ptr::eq(*other, command) && other.words != command.words);
    others.filter(|other| !other.words.is_empty()).all(|other| match printed(other) {
        Printed::Files | Printed::Other => true,
        Printed::Words => started(&other.words).iter().all(|word| word.is_known() && is_plain(&word.text)),
        Printed::Lines(_) | Printed::Unknown => {
            other.joint == Joint::Pipe && PrintedNames::OfFiles.through(other) == PrintedNames::OfFiles
        }
    })
}
