//! Files of a version that git puts in a folder that decides for its user, or for everyone: what a repository holds nobody
//! knows. git's ordinary work is that in the working folders.

use std::collections::BTreeSet;

use super::people_places::{decides_for_people, holds_places};
use super::pouring::seen_from;
use super::safety::is_protected;
use super::unpacking::is_of_all;
use crate::policy::commands::command::name_of;
use crate::policy::commands::git_places::{GitPlaces, folder_of};
use crate::policy::commands::inert::started;
use crate::policy::files::call::{Call, Context, Disk};
use crate::policy::files::folders::{Folders, changes_folder, targets, told_to_git};
use crate::policy::files::linking::through_links;
use crate::policy::lines::starts::{starts, takes_from_elsewhere};
use crate::policy::lines::suspects::Suspects;
use crate::policy::names::handing::marks;
use crate::policy::names::templates::prefixed_by_archive;
use crate::policy::shell::{ANY, OUTER, ShellWord};
use crate::policy::words::path::{absolute, lies_in};
use crate::policy::words::values::is_literal;

/// More folders than this are not followed.
const MOST: usize = 32;

/// A folder outside of the working folders in which protected files may lie, and into which git puts what it keeps.
pub(crate) fn checked_out(suspects: &Suspects, call: &Call, context: &Context, disk: &dyn Disk) -> Option<String> {
    let prefixed = prefixed_by_archive(suspects);
    let mut commands = suspects.commands.iter();
    if prefixed.is_empty() && !commands.any(|suspect| GitPlaces::of(&suspect.words, suspect.takes_more).is_some()) {
        return None;
    }
    let mut search = Search {
        suspects,
        call,
        context,
        disk,
        folders: Folders::of(suspects, call, context).all,
        told: suspects.found.iter().flat_map(told_to_git).collect(),
        here: context.both(&context.cwd).map(str::to_owned).collect(),
        been: BTreeSet::new(),
        filled: BTreeSet::new(),
    };
    let everywhere: BTreeSet<String> = search.folders.iter().cloned().collect();
    let folders = prefixed.iter().filter_map(|prefix| folder_of(prefix));
    let filled: Vec<String> = folders.flat_map(|folder| search.places(&folder, &everywhere)).collect();
    search.filled.extend(filled);
    // What is done again begins where it ended before.
    let rounds = if suspects.found.iter().any(|command| command.is_repeated) { 2 } else { 1 };
    for suspect in std::iter::repeat_n(suspects.commands.iter().take(suspects.plain), rounds).flatten() {
        starts(&suspect.words).into_iter().for_each(|start| search.take(&suspect.words, start));
    }
    // A text may be run wherever the line has been.
    search.here.extend(search.been.iter().cloned());
    for suspect in suspects.commands.iter().skip(suspects.in_line) {
        starts(&suspect.words).into_iter().for_each(|start| search.take(&suspect.words, start));
    }
    search.filled.into_iter().find(|folder| decides(folder, context))
}

/// Where the commands of a line find themselves, one after the other, and what git fills on the way.
struct Search<'line> {
    suspects: &'line Suspects,
    call: &'line Call,
    context: &'line Context,
    disk: &'line dyn Disk,
    /// All folders that the line may go to.
    folders: Vec<String>,
    /// The work trees that variables and settings name.
    told: Vec<ShellWord>,
    here: BTreeSet<String>,
    been: BTreeSet<String>,
    filled: BTreeSet<String>,
}

impl Search<'_> {
    /// A command, which stands behind others in its words.
    fn take(&mut self, words: &[ShellWord], start: usize) {
        let (before, words) = words.split_at(start);
        if started(words).first().is_some_and(|first| changes_folder(&first.text)) {
            self.go(started(words));
            return;
        }
        let Some(git) = GitPlaces::of(words, before.iter().any(takes_from_elsewhere)) else { return };
        let mut here = self.here.clone();
        for folder in targets(before).iter().chain(&git.goes_to) {
            here = self.places(folder, &here);
        }
        for folder in git.named.iter().chain(&self.told) {
            self.filled.extend(self.places(folder, &here));
        }
        self.filled.extend(here.into_iter().filter(|_| git.fills_tree));
    }

    /// `cd` and its like.
    fn go(&mut self, words: &[ShellWord]) {
        let is_back = match words.get(1) {
            Some(word) => word.text == "-" || word.text.starts_with('+'),
            None => words[0].text == "pushd",
        };
        let there: BTreeSet<String> = match is_back || words[0].text == "popd" {
            true => self.been.iter().cloned().chain(self.here.clone()).collect(),
            false => targets(words).iter().flat_map(|folder| self.places(folder, &self.here)).collect(),
        };
        // What is no folder nobody goes to, unless the line makes it.
        let may_stay = there.iter().any(|folder| !self.disk.is_folder(folder) && !self.makes(folder));
        let stay = if may_stay { self.here.clone() } else { BTreeSet::new() };
        self.been.append(&mut self.here);
        self.here = there.into_iter().chain(stay).take(MOST).collect();
        self.been.extend(self.here.iter().cloned());
    }

    fn makes(&self, folder: &str) -> bool {
        let name = folder.rsplit('/').next().unwrap_or_default();
        self.suspects.found.iter().any(|command| {
            let is_maker = |word: &ShellWord| matches!(name_of(&word.text), "mkdir" | "git" | "gh");
            command.words.first().is_some_and(is_maker) && command.words.iter().any(|word| word.text.contains(name))
        })
    }

    /// The folders that a word may mean, seen from others.
    fn places(&self, word: &ShellWord, from: &BTreeSet<String>) -> BTreeSet<String> {
        let marks = marks(self.suspects);
        let mut places = BTreeSet::new();
        for mut shape in self.suspects.variables.shapes(word).into_iter().filter(|shape| !shape.contains(OUTER)) {
            marks.iter().for_each(|mark| shape = shape.replace(mark, &ANY.to_string()));
            let led = through_links(&shape, &self.suspects.found);
            for shape in led.into_iter().chain([shape]) {
                if shape.starts_with([ANY, '~']) {
                    places.extend(seen_from(&self.folders, &shape, self.context));
                    continue;
                }
                let seen = from.iter().filter_map(|folder| absolute(&shape, folder, self.context.home.as_deref()));
                for place in seen {
                    places.extend(self.call.target(&place).map(str::to_owned));
                    match is_literal(&place) {
                        true => drop(places.insert(place)),
                        false => places.extend(self.call.expansion(&place).into_iter().flatten().cloned()),
                    }
                }
            }
        }
        places
    }
}

/// Whether protected files may lie in a folder that is none of those one works in.
fn decides(folder: &str, context: &Context) -> bool {
    let holds_home =
        |folder: &str| context.home.iter().any(|home| context.both(home).any(|home| lies_in(home, folder)));
    // Who works in the home works in that, and not in all that is in it.
    let is_worked_in =
        |works: &String| folder == works || lies_in(folder, works) && !holds_home(works) && !is_of_all(works);
    if context.folders.iter().any(is_worked_in) {
        return false;
    }
    is_protected(folder, context) || decides_for_people(folder, context) || holds_places(folder, context)
}
