//! Removals of what the line itself does not name: another command prints it, a list holds it, or a function is called with
//! it.

use super::removal::{RemovingCommand, removal};
use super::removers::is_own;
use crate::policy::commands::command::name_of;
use crate::policy::files::call::{Call, Context};
use crate::policy::lines::starts::{starts, takes_from_elsewhere};
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::names::handing::{self, list_names};
use crate::policy::names::origins::WordOrigin;
use crate::policy::names::sought::whole_folders;
use crate::policy::shell::{ANY, OUTER, Piece, ShellWord};
use crate::policy::texts::receivers::{makes_text, marks};
use crate::policy::words::path::{absolute, has_dots};

/// What a command removes that others name.
pub(super) struct HandedNames<'line> {
    /// Its words, as shapes in which something is to be filled in.
    open: Vec<String>,
    /// What may be filled in.
    names: Vec<String>,
    lists: Vec<&'line ShellWord>,
    is_unknown: bool,
    /// They come by the input of `xargs` and its like.
    takes_input: bool,
}

/// Every command that removes, or moves away, what others name.
pub(super) fn handed_removals(suspects: &Suspects) -> Vec<(RemovingCommand, HandedNames<'_>)> {
    let mut all = vec![];
    for command in &suspects.found {
        for start in starts(&command.words) {
            let (before, words) = command.words.split_at(start);
            let is_remover = words.first().is_some_and(|word| is_own(name_of(&word.text)));
            let Some(removing) = removal(words).filter(|removing| !is_remover && !removing.takes_any) else {
                continue;
            };
            let handed = HandedNames::of(command, before, words, &removing, suspects);
            all.extend(handed.map(|handed| (removing, handed)));
        }
    }
    all
}

impl<'line> HandedNames<'line> {
    fn of(
        command: &'line Found,
        before: &'line [ShellWord],
        words: &'line [ShellWord],
        removing: &RemovingCommand,
        suspects: &'line Suspects,
    ) -> Option<Self> {
        // `tar -T` and `zip -@` take names as well.
        let has_list = handing::taker(words).is_some_and(|taker| !taker.is_patch);
        let is_behind = before.iter().any(takes_from_elsewhere) || has_list;
        let mut marks = if is_behind { marks(&command.words) } else { vec![] };
        // What xargs puts in stands in the texts of scripts as well.
        marks.extend(handing::marks(suspects));
        let is_marked = |word: &ShellWord| marks.iter().any(|mark| word.text.contains(mark));
        let takes = is_behind || words.iter().any(is_marked);
        let mut open: Vec<String> = removing.words.iter().flat_map(|word| suspects.variables.shapes(word)).collect();
        for mark in &marks {
            open.iter_mut().for_each(|shape| *shape = shape.replace(mark, &ANY.to_string()));
        }
        // What xargs takes stands behind the rest, where nothing says otherwise.
        if is_behind && !words.iter().any(is_marked) {
            open.push(ANY.to_string());
        }
        open.retain(|shape| shape.contains(ANY));
        if open.is_empty() {
            return None;
        }
        let mut handed = Self { open, names: vec![], lists: vec![], is_unknown: false, takes_input: takes };
        let is_of_call = words.iter().any(is_of_call);
        if takes || is_of_call && suspects.found.iter().any(|one| one.words.iter().any(takes_from_elsewhere)) {
            handed.add(WordOrigin::of_input(command, suspects));
        }
        if let Some(find) = before.iter().position(|word| word.text == "find" || word.text.ends_with("/find")) {
            let roots = whole_folders(&before[find + 1..]);
            handed.names.extend(roots.iter().flat_map(|root| suspects.variables.spellings(root)));
        }
        handed.add(WordOrigin::of_words(words, suspects));
        if is_of_call || takes {
            let others = suspects.found.iter().filter(|other| is_of_call && !std::ptr::eq(*other, command));
            let words = others.flat_map(|other| other.words.iter().skip(1));
            // `parallel mv {} x ::: y`
            let listed = command.words.iter().skip_while(|word| !word.text.starts_with(":::")).skip(1);
            let words = words.chain(listed).filter(|word| !word.is_flag());
            handed.names.extend(words.flat_map(|word| suspects.variables.spellings(word)));
        }
        handed.is_unknown |= !handed.names.is_empty() && makes_text(&suspects.found);
        Some(handed)
    }

    fn add(&mut self, origin: WordOrigin<'line>) {
        let is_nothing = |name: &String| !name.is_empty() && name.chars().all(|c| c == ANY);
        self.is_unknown |= origin.is_unknown || origin.names.iter().any(is_nothing);
        self.names.extend(origin.names);
        self.lists.extend(origin.lists);
    }

    /// The names of what is removed, as shapes. None where nobody can tell what they are.
    pub(crate) fn shapes(&self, suspects: &Suspects, call: &Call, context: &Context) -> Option<Vec<String>> {
        let mut names = self.names.clone();
        let mut is_unknown = self.is_unknown;
        for list in self.lists.iter().flat_map(|word| list_names(word, suspects)) {
            let listed = absolute(&list, &context.cwd, context.home.as_deref()).and_then(|path| call.listed(&path));
            is_unknown |= listed.is_none();
            names.extend(listed.unwrap_or_default().iter().cloned());
        }
        let is_whole = |shape: &String| shape.chars().all(|c| matches!(c, ANY | OUTER | '/'));
        // Above the folder one is in, or in one that another program names, everything may lie.
        let is_above =
            |shape: &String| has_dots(shape) || shape.starts_with(ANY) && shape.contains('/') && !is_whole(shape);
        if self.takes_input && self.open.iter().any(is_above) {
            return None;
        }
        if is_unknown && (self.open.iter().any(is_whole) || makes_text(&suspects.found)) {
            return None;
        }
        names.retain(|name| !name.contains(ANY));
        Some(self.open.iter().flat_map(|shape| names.iter().map(|name| shape.replace(ANY, name))).collect())
    }
}

/// Whether some of a word is what a function or a script is called with.
fn is_of_call(word: &ShellWord) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Variable(name) | Piece::MadeOf(name, _) => {
            name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '@' | '*'))
        }
        Piece::Text(_) | Piece::Unknown | Piece::Glob(_) => false,
    })
}
