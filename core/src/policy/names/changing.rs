//! Whether a line may change a file before it reads it: then what lies there when the line is judged says nothing.

use super::handing::fills_names;
use crate::policy::commands::command::name_of;
use crate::policy::commands::inert::started;
use crate::policy::commands::reading::{Reading, reading};
use crate::policy::commands::sed;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{ANY, ShellWord, Way};
use crate::policy::words::candidates::names_in;
use crate::policy::words::values::may_be;

/// Programs that change nothing but the files that their words name.
const BY_NAME: &str = "[ alias cd chgrp chmod chown cp declare dd export fi install link ln local mkdir mktemp mv pkill \
    popd printf pushd read readonly rm rmdir set shift sort tee test touch truncate typeset unlink unset wait";

/// Whether the content of a file may be another one when the line reads it.
pub(crate) fn may_be_changed(file: &ShellWord, suspects: &Suspects) -> bool {
    let is_there = |word: &ShellWord| std::ptr::eq(word, file);
    let reads = |command: &Found| {
        command.words.iter().any(is_there) || command.redirects.iter().any(|redirect| is_there(&redirect.target))
    };
    let at = suspects.found.iter().position(reads);
    // What a loop is given at its end is read at its beginning.
    let at = at.map(|at| match suspects.found[at].words.is_empty() {
        true => suspects.found[..at].iter().position(|command| fills_names(&command.words)).unwrap_or(at),
        false => at,
    });
    suspects.found.iter().enumerate().any(|(place, command)| {
        let is_before = at.is_none_or(|at| place < at);
        // A loop goes round, and a function is called later than it stands.
        let may_be_before =
            place != at.unwrap_or(usize::MAX) && (is_before || command.is_repeated || command.is_grouped);
        let writes = command.redirects.iter().filter(|redirect| redirect.way == Way::Out);
        // What nobody knows the name of counts where it surely is changed before.
        let names = |word: &ShellWord| may_name(word, file, is_before, suspects);
        writes.into_iter().any(|redirect| names(&redirect.target))
            || is_before && changes_unseen(command)
            || may_be_before && reading(&command.words) == Reading::Perhaps && command.words.iter().skip(1).any(names)
    })
}

/// Whether a command may change files that its words do not name.
fn changes_unseen(command: &Found) -> bool {
    let words = started(&command.words);
    let Some(first) = words.first() else { return false };
    let name = name_of(&first.text);
    let goes_deep = |word: &ShellWord| {
        word.is_flag() && word.text.contains(['r', 'R', 'a', 'T']) || word.text.ends_with("/.") || !word.is_known()
    };
    match name {
        "cp" | "ln" | "mv" | "install" => words[1..].iter().any(goes_deep),
        // What they say in their own language may write any file.
        "sed" => !sed::edits_only(&words[1..]),
        "source" | "." => true,
        name if BY_NAME.split_whitespace().any(|known| known == name) => false,
        _ => reading(words) == Reading::Perhaps,
    }
}

/// Whether a word may be, or hold, the name of the file. By whatever folder: links and `cd` may lead there.
fn may_name(word: &ShellWord, file: &ShellWord, may_be_any: bool, suspects: &Suspects) -> bool {
    let names = |word: &ShellWord| {
        let shapes = suspects.variables.spellings(word);
        shapes.iter().flat_map(|shape| shape.split_whitespace()).flat_map(names_in).collect::<Vec<_>>()
    };
    // A folder on the way to it may be another one, too.
    let is_part = |part: &&str| !matches!(*part, "" | "." | "..");
    let files: Vec<String> =
        names(file).iter().flat_map(|name| name.split('/').filter(is_part)).map(str::to_owned).collect();
    let is_one = |name: &String| {
        files.iter().any(|file| {
            name == file || (may_be_any || !name.contains(ANY)) && (may_be(name, file) || may_be(file, name))
        })
    };
    names(word).iter().map(|name| name_of(name.trim_end_matches('/')).to_owned()).any(|name| is_one(&name))
}
