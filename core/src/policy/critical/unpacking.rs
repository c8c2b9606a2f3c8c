//! Archives that are unpacked where the names of their files decide for people.

use super::people_places::holds_places_of_user;
use super::pouring::seen_from;
use crate::policy::commands::archives::{Archiving, Deed};
use crate::policy::commands::inert::started;
use crate::policy::files::call::{Call, Context};
use crate::policy::files::folders::{Folders, changes_folder, targets};
use crate::policy::files::linking::through_links;
use crate::policy::lines::starts::starts;
use crate::policy::lines::suspects::Suspects;
use crate::policy::names::implied::settings;
use crate::policy::shell::ShellWord;
use crate::policy::words::candidates::names_in;
use crate::policy::words::path::lies_in;

/// A folder that decides for its user, or for everyone, into which an archive is unpacked: what is in that nobody knows.
pub(crate) fn unpacked(suspects: &Suspects, call: &Call, context: &Context) -> Option<String> {
    let folders = Folders::of(suspects, call, context).all;
    let decides = |folder: &String| {
        let places = call.target(folder).into_iter().chain([folder.as_str()]);
        places.into_iter().any(|place| decides_for_users(place, context) || is_of_all(place))
    };
    // The order counts only for what stands in the line itself, and is done once.
    let is_ordered = !suspects.found.iter().any(|command| command.is_repeated);
    let told = told_by_variables(suspects);
    let plain = suspects.commands.iter().take(suspects.plain);
    let others = suspects.commands.iter().skip(suspects.in_line);
    let mut way = FolderWay::default();
    if !is_ordered {
        suspects.commands.iter().for_each(|suspect| way.take(&suspect.words));
    }
    let mut places = vec![];
    for suspect in plain {
        for start in starts(&suspect.words) {
            let (before, words) = suspect.words.split_at(start);
            if is_ordered {
                way.take(words);
            }
            let gone_to = [if is_ordered { &way.last } else { &way.all }, targets(before).as_slice(), &told].concat();
            places.extend(unpacked_into(words, &gone_to));
        }
    }
    others.clone().for_each(|suspect| way.take(&suspect.words));
    let gone_to = [way.all, told].concat();
    places.extend(others.flat_map(|suspect| unpacked_into(&suspect.words, &gone_to)));
    let shapes = places.iter().flat_map(|word| suspects.variables.spellings(word));
    let led = |shape: String| through_links(&shape, &suspects.found).into_iter().chain([shape]).collect::<Vec<_>>();
    shapes.flat_map(led).flat_map(|shape| seen_from(&folders, &shape, context)).find(decides)
}

/// What variables tell programs that unpack: `TAR_OPTIONS='-C x'`.
fn told_by_variables(suspects: &Suspects) -> Vec<ShellWord> {
    let tells = |name: &str| matches!(name, "TAR_OPTIONS" | "UNZIP" | "UNZIPOPT");
    let told = suspects.found.iter().flat_map(settings).filter(|(name, _)| tells(name));
    let texts = told.flat_map(|(_, value)| suspects.variables.spellings(&value));
    let names = |text: String| text.split_whitespace().flat_map(names_in).collect::<Vec<_>>();
    texts.flat_map(names).map(|name| ShellWord::plain(&name)).collect()
}

/// The folders that something went to.
#[derive(Default)]
struct FolderWay {
    all: Vec<ShellWord>,
    last: Vec<ShellWord>,
}

impl FolderWay {
    fn take(&mut self, words: &[ShellWord]) {
        let words = started(words);
        if !words.first().is_some_and(|first| changes_folder(&first.text)) {
            return;
        }
        // Back to one of those before.
        let is_back = match words.get(1) {
            Some(word) => word.text == "-" || word.text.starts_with('+'),
            None => words[0].text == "pushd",
        };
        if is_back || words[0].text == "popd" {
            self.last = self.all.clone();
            return;
        }
        self.last = targets(words);
        self.all.extend(self.last.clone());
    }
}

/// Where a command unpacks an archive: where it is told to, or where the line has gone.
fn unpacked_into(words: &[ShellWord], gone_to: &[ShellWord]) -> Vec<ShellWord> {
    let Some(unpacking) = Archiving::of(words).filter(|one| one.deed == Deed::Unpacks) else { return vec![] };
    let gone_to = gone_to.iter().filter(|_| !unpacking.is_placed).cloned();
    unpacking.folders.iter().cloned().chain(gone_to).collect()
}

/// What lies right in these decides for everyone on the machine.
pub(super) fn is_of_all(folder: &str) -> bool {
    matches!(folder, "/" | "/etc" | "/usr" | "/private/etc")
}

/// Whether what lies there decides for its user: in the home, in what is above it, in the folders of settings in it, and
/// around what is ours.
fn decides_for_users(folder: &str, context: &Context) -> bool {
    context.home.as_deref().is_some_and(|home| lies_in(home, folder)) || holds_places_of_user(folder, context)
}
