//! Copies of single files: what is copied is only read, and what is made has its last name, or the one that is given.

use super::call::{Context, Disk};
use crate::policy::commands::command::{is_the_systems, name_of};
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::Suspects;
use crate::policy::shell::ShellWord;

/// What `cp` does with its words, where that is certain.
pub(super) struct Copied {
    /// The places of the words that it only reads.
    pub(crate) sources: Vec<usize>,
    /// What it makes where the last word is a folder.
    pub(crate) made: Vec<String>,
    into: String,
}

/// The letters by which no other file is written and nothing becomes a link: with others a change of the copy may be one
/// of what was copied.
const PLAIN: &str = "fiLnpuv";

/// A copy of single files whose names stand in the line.
pub(crate) fn copied(words: &[ShellWord]) -> Option<Copied> {
    let own = started(words);
    let (first, rest) = own.split_first()?;
    if !first.is_literal || !is_the_systems(&first.text) || name_of(&first.text) != "cp" {
        return None;
    }
    let is_plain = |word: &ShellWord| word.text[1..].chars().all(|letter| PLAIN.contains(letter));
    if !rest.iter().all(|word| word.stands_as_it_is() && (!word.is_flag() || is_plain(word))) {
        return None;
    }
    let before = words.len() - rest.len();
    let operands: Vec<(usize, &ShellWord)> =
        rest.iter().enumerate().filter(|(_, word)| !word.is_flag()).map(|(at, word)| (before + at, word)).collect();
    let ((_, into), sources) = operands.split_last().filter(|(_, sources)| !sources.is_empty())?;
    let last = |word: &ShellWord| word.text.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let made = sources.iter().map(|(_, word)| format!("{}/{}", into.text, last(word))).collect();
    Some(Copied { sources: sources.iter().map(|(at, _)| *at).collect(), made, into: into.text.clone() })
}

/// Where a copy by itself goes to, if that is no folder: then nothing is made in it. Another command of the line could make
/// one there first.
pub(crate) fn no_folder(suspects: &Suspects, context: &Context, disk: &dyn Disk) -> Option<String> {
    let [command] = suspects.found.as_slice() else { return None };
    let into = context.absolute(&copied(&command.words)?.into)?;
    (!disk.is_folder(&into)).then_some(into)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::Script;

    #[test]
    fn only_a_plain_copy_only_reads() {
        let copied = |line: &str| copied(&Script::read(line).commands[0].words);
        let copy = copied("cp -pv .mcp.json a/.npmrc /tmp").unwrap();
        assert_eq!(copy.sources, [2, 3]);
        assert_eq!(copy.made, ["/tmp/.mcp.json", "/tmp/.npmrc"]);
        for line in [
            "cp -l .mcp.json x",
            "cp -s .mcp.json x",
            "cp -r .git x",
            "cp -a .mcp.json x",
            "cp -P .mcp.json x",
            "cp -t .git/hooks a",
            "cp -St a b c",
            "cp --target-directory=.git a b",
            "cp -- a b",
            "cp $X b",
            "cp .g* b",
            "cp a",
            "mv .mcp.json x",
            "./cp a b",
        ] {
            assert!(copied(line).is_none(), "{line}");
        }
    }
}
