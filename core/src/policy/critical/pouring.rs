//! Files that land in a folder under names that do not stand in the line: those of another folder, and those in an archive.

use std::collections::BTreeSet;

use super::safety::is_protected;
use crate::policy::commands::archives::{Archiving, Deed};
use crate::policy::commands::command::name_of;
use crate::policy::commands::inert::started;
use crate::policy::files::call::{Call, Context, Disk};
use crate::policy::files::folders::{Folders, changes_folder, targets};
use crate::policy::files::linking::through_links;
use crate::policy::lines::starts::starts;
use crate::policy::lines::suspects::Suspects;
use crate::policy::names::implied::settings;
use crate::policy::shell::{ANY, ShellWord};
use crate::policy::words::candidates::names_in;
use crate::policy::words::options;
use crate::policy::words::path::{absolute, lies_in};
use crate::policy::words::processes::without_proc;
use crate::policy::words::values::is_literal;

/// Folders whose content is copied, and where to.
struct Pouring {
    sources: Vec<ShellWord>,
    into: Vec<ShellWord>,
}

/// A protected file that lands in a folder one works in, or in the home, as what is in another folder is copied there.
pub(crate) fn poured(suspects: &Suspects, call: &Call, context: &Context, disk: &dyn Disk) -> Option<String> {
    let mut pouring: Vec<_> = suspects.commands.iter().filter_map(|suspect| poured_words(&suspect.words)).collect();
    pouring.extend(through_archives(suspects));
    if pouring.is_empty() {
        return None;
    }
    let folders = Folders::of(suspects, call, context).all;
    let paths = |word: &ShellWord| {
        let shapes = suspects.variables.spellings(word).into_iter();
        shapes.flat_map(|shape| seen_from(&folders, &shape, context)).collect::<BTreeSet<_>>()
    };
    let works_there = |folder: &String| {
        context.folders.contains(folder) || context.home.as_ref() == Some(folder) || is_of_all(folder)
    };
    for Pouring { sources, into } in pouring {
        for target in into.iter().flat_map(paths).filter(|into| *into == context.cwd || works_there(into)) {
            for source in sources.iter().flat_map(paths).filter(|source| *source != target) {
                let mut landed = None;
                let complete = disk.walk(&source, &mut |path| {
                    let rest = path.strip_prefix(source.trim_end_matches('/')).unwrap_or_default();
                    // Deeper ones are those of parts of a project.
                    let own = rest.trim_start_matches('/').split('/').next().unwrap_or_default();
                    let own = if is_of_all(&target) { rest.trim_start_matches('/') } else { own };
                    // The folder itself, or what is in it.
                    let above = source.rsplit('/').next().unwrap_or_default();
                    let into = target.trim_end_matches('/');
                    let whole = format!("{into}/{above}/{own}");
                    let places = [Some(format!("{into}/{own}")), Some(whole).filter(|_| is_of_all(&target))];
                    let is_one = |place: &String| !own.is_empty() && is_protected(place, context);
                    landed = landed.take().or_else(|| places.into_iter().flatten().find(is_one));
                });
                if landed.is_some() || !complete {
                    return landed.or(Some(target));
                }
            }
        }
    }
    None
}

/// The folders whose content a command copies, and where to.
fn poured_words(words: &[ShellWord]) -> Option<Pouring> {
    let (first, rest) = started(words).split_first()?;
    let name = name_of(&first.text);
    let has = |letters: &str, longs: &[&str]| options::has(rest.iter().map(|word| word.text.as_str()), letters, longs);
    let is_whole = has("T", &["--no-target-directory"]);
    let mut operands: Vec<&ShellWord> = rest.iter().filter(|word| !word.is_flag()).collect();
    let last = operands.last().copied()?.clone();
    let mut into = if matches!(name, "cp" | "mv") { said_before(rest) } else { vec![] };
    // With a target before them, all are sources.
    if into.is_empty() {
        operands.pop();
    }
    into.push(last);
    let is_short = |into: &ShellWord| into.text.starts_with('/') && into.text.trim_matches('/').split('/').count() < 2;
    let is_for_all = into.iter().any(is_short);
    let is_content = |text: &str| match name {
        "rsync" | "cp" | "mv" if is_for_all => true,
        "rsync" => text.ends_with('/') || text.ends_with("/.") || matches!(text, "." | ".."),
        "cp" => is_whole || text.ends_with("/.") || matches!(text, "." | "./" | ".."),
        "mv" => is_whole,
        _ => false,
    };
    operands.retain(|word| is_content(&word.text));
    let sources: Vec<ShellWord> = operands.into_iter().cloned().collect();
    (!sources.is_empty()).then_some(Pouring { sources, into })
}

/// The folders that `-t` may name. Where the letter stands in the value of another option, the last word counts as well.
fn said_before(rest: &[ShellWord]) -> Vec<ShellWord> {
    let said = rest.iter().enumerate().filter_map(|(at, word)| {
        match options::value(&word.text, "t", &["--target-directory"])? {
            "" => rest.get(at + 1).cloned(),
            glued => Some(ShellWord::read(glued)),
        }
    });
    said.collect()
}

/// The folders that `tar c … | tar x …` copies, each with each.
fn through_archives(suspects: &Suspects) -> Vec<Pouring> {
    let of = |deed: Deed| {
        let all = suspects.commands.iter().filter_map(|suspect| Archiving::of(&suspect.words));
        all.filter(|one| one.deed == deed).collect::<Vec<_>>()
    };
    let (packed, unpacked) = (of(Deed::Packs), of(Deed::Unpacks));
    let pairs = packed.iter().flat_map(|packed| unpacked.iter().map(move |unpacked| (packed, unpacked)));
    pairs
        .map(|(packed, unpacked)| {
            let sources = packed.named.iter().chain(&packed.folders).cloned().collect();
            let here = unpacked.folders.is_empty().then(|| ShellWord::plain("."));
            Pouring { sources, into: unpacked.folders.iter().cloned().chain(here).collect() }
        })
        .collect()
}

/// A folder that decides for its user, or for everyone, into which an archive is unpacked: what is in that nobody knows.
pub(crate) fn unpacked(suspects: &Suspects, call: &Call, context: &Context) -> Option<String> {
    let folders = Folders::of(suspects, call, context).all;
    let decides = |folder: &String| {
        let holds_home = context.home.as_deref().is_some_and(|home| lies_in(home, folder));
        holds_home || is_of_all(folder)
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

/// The places that a shape may mean. What a command prints, and where the line was before, may be each of the folders that
/// the line goes to.
pub(super) fn seen_from(folders: &[String], shape: &str, context: &Context) -> Vec<String> {
    let below = [ANY.to_string().as_str(), "~-"].into_iter().find_map(|begin| shape.strip_prefix(begin));
    let seen = folders.iter().filter_map(|folder| {
        let shape = without_proc(&below.map_or(shape.to_owned(), |below| format!("{folder}{below}")), folder);
        absolute(&shape, folder, context.home.as_deref()).filter(|_| is_literal(&shape))
    });
    seen.collect()
}
