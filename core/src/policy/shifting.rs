//! What a line does to the shell that reads the rest of it: then no word of it is certain any more.

use super::command::name_of;
use super::folders::changes_folder;
use super::reading::{Descent, descent};
use super::shell::{Piece, ShellWord, assignment};
use super::suspects::Found;

/// Names whose values decide what other words mean: where they are split, and what `~` stands for.
const SHIFTING: [&str; 3] = ["IFS", "HOME", "OLDPWD"];
/// Names that the shell fills in by itself, with what it has read or will run.
const FILLED: [&str; 2] = ["BASH_REMATCH", "BASH_CMDS"];

/// Why the words of a line may be others than they seem.
pub(super) fn shifts(found: &[Found]) -> Option<&'static str> {
    found.iter().find_map(|command| {
        let name = command.words.first().map_or("", |word| name_of(&word.text));
        // Before `read` it holds for that command alone, which people do in loops over lines.
        let sets = |name: &str| SHIFTING.contains(&name);
        let is_set = command.words.is_empty() && command.assignments.iter().any(|(name, _)| sets(name));
        let named = |word: &ShellWord| {
            assignment(word).is_some_and(|(name, _)| sets(&name)) || sets(&word.text) && name != "unset"
        };
        let declares =
            matches!(name, "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "printf" | "for")
                && command.words.iter().skip(1).any(named);
        // `declare -n x=HOME`
        let refers = |word: &ShellWord| {
            let target = assignment(word).map(|(_, value)| value);
            target.is_some_and(|target| sets(&target.text) || !target.is_known())
        };
        let references = matches!(name, "declare" | "typeset" | "local")
            && command.words.iter().any(|word| word.is_flag() && word.text.contains('n'))
            && command.words.iter().skip(1).any(refers);
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        let words =
            || command.words.iter().chain(command.assignments.iter().map(|(_, value)| value)).chain(targets.clone());
        if is_set || declares || references {
            Some("it changes how its words are read")
        } else if words().any(is_filled) || command.assignments.iter().any(|(name, _)| FILLED.contains(&name.as_str()))
        {
            Some("it uses what the shell has kept of earlier words")
        } else if words().any(has_class) {
            Some("a pattern in it names a class of letters")
        } else if words().any(|word| through_descriptor(&word.text)) || enters_descriptor(&command.words) {
            Some("it goes through a folder that is open as a descriptor")
        } else {
            None
        }
    })
}

fn is_filled(word: &ShellWord) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Variable(name) | Piece::MadeOf(name, _) => FILLED.iter().any(|filled| name.starts_with(filled)),
        Piece::Text(text) => text.starts_with("BASH_CMDS["),
        Piece::Unknown | Piece::Glob(_) => false,
    })
}

/// `[[:alpha:]]` and its like, outside of quotes.
fn has_class(word: &ShellWord) -> bool {
    word.pieces.contains(&Piece::Glob('[')) && ["[:", "[=", "[."].iter().any(|class| word.raw.contains(class))
}

/// Whether a command goes to a folder that is open as a descriptor, or into one.
fn enters_descriptor(words: &[ShellWord]) -> bool {
    let goes = words.first().is_some_and(|word| changes_folder(&word.text)) || descent(words) == Descent::All;
    let is_one = |word: &ShellWord| word.text.contains("/fd/") && !word.is_made_file();
    goes && words.iter().skip(1).any(is_one)
}

fn through_descriptor(text: &str) -> bool {
    let behind = |at: &str| {
        let (_, rest) = text.split_once(at)?;
        rest.contains('/').then_some(())
    };
    behind("/fd/").is_some()
        || text.contains("/proc/") && text.ends_with("/fd")
        || text.contains("/fd/") && text.contains("/proc/")
}
