//! The elements of lists.

use super::super::{Joint, Script, ShellCommand, ShellWord};
use super::{ShellReader, assignment, read_in};

impl ShellReader<'_> {
    /// Takes in the elements of `NAME=(…)` as values of the name, and says whether it is one. They are read as a command as
    /// well.
    pub(super) fn list(&mut self) -> bool {
        let Some((from, word)) = self.word.as_ref() else { return false };
        let raw: String = self.chars[*from..self.at].iter().collect();
        let name = assignment(&ShellWord { raw, ..word.clone() }).filter(|(_, value)| value.text.is_empty());
        let Some((name, _)) = name else { return false };
        // There are no lists in lists: a shell refuses such a line, and goes on with the next.
        if self.in_list || self.at < self.list_ends {
            self.unreadable("it has a list in a list");
            return true;
        }
        let here = self.at;
        self.at += 1;
        self.pass_brackets('(', ')', 0, false);
        let inside: String = self.chars[here + 1..self.at.min(self.chars.len())].iter().collect();
        self.list_ends = self.at;
        self.at = here;
        let mut elements = Script::default();
        read_in(&inside, 0, true, &mut elements);
        let own = elements.commands.into_iter().filter(|command| !command.is_nested);
        let words =
            own.flat_map(|command| command.assignments.into_iter().map(|(_, value)| value).chain(command.words));
        // `[key]=value`
        let value = |word: ShellWord| match word.raw.split_once("]=") {
            Some((_, value)) if word.raw.starts_with('[') => {
                ShellWord { is_quoted: true, ..ShellWord::read(value.trim_matches(['\'', '"'])) }
            }
            _ => word,
        };
        let opened = |word: ShellWord| match word.is_literal || !word.text.contains('{') {
            true => vec![word],
            false => word.unbraced().0.iter().map(|text| ShellWord::read(text)).collect(),
        };
        let words = words.map(value).flat_map(opened);
        let assignments: Vec<(String, ShellWord)> = words.map(|word| (name.clone(), word)).collect();
        if !assignments.is_empty() {
            // The list is not empty.
            self.word = None;
            self.script.commands.push(ShellCommand { assignments, ..ShellCommand::new(Joint::Start, self.depth > 0) });
        }
        true
    }
}
