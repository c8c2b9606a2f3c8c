//! Files that land in a folder under names that do not stand in the line: those of another folder, and those in an archive.

use std::cell::Cell;
use std::collections::BTreeSet;

use super::people_places::{decides_for_people, holds_guarded, holds_places};
use super::safety::is_protected;
use crate::policy::commands::archives::{Archiving, Deed};
use crate::policy::commands::command::name_of;
use crate::policy::commands::erasing::fills_by_code;
use crate::policy::commands::inert::started;
use crate::policy::commands::reading::{Reading, reading};
use crate::policy::files::call::{Call, Context, Disk};
use crate::policy::files::folders::Folders;
use crate::policy::files::linking::through_links;
use crate::policy::lines::suspects::{Suspect, Suspects};
use crate::policy::names::handing::marks;
use crate::policy::names::sought::{Sought, fixed_folder, sought};
use crate::policy::shell::{ANY, ShellWord, Way};
use crate::policy::words::candidates::names_in;
use crate::policy::words::options;
use crate::policy::words::path::{absolute, joined};
use crate::policy::words::processes::without_proc;
use crate::policy::words::values::is_literal;

/// More names than this are not looked at: each of the names in a line, in each folder that it may be in, with each place
/// that it may land in.
const MOST_NAMES: usize = 20_000;

/// What a command copies, moves or links, and where to.
struct Pouring {
    sources: Vec<PouredFrom>,
    into: Vec<ShellWord>,
    /// Whether what is called so there makes room: a rename and a link take the place of a whole folder.
    replaces: bool,
    /// The names of more come from elsewhere.
    takes_more: bool,
}

struct PouredFrom {
    word: ShellWord,
    /// What is in it lands, and not the folder itself.
    is_content: bool,
    /// The place of the word among the others: what stands behind it is where it may land.
    at: usize,
}

/// A file that decides for people, or one that guards a folder one works in, and that lands there as something else is
/// copied; or the folder where it cannot be told what does.
pub(crate) fn poured(suspects: &Suspects, call: &Call, context: &Context, disk: &dyn Disk) -> Option<String> {
    let mut pouring: Vec<Pouring> = suspects.commands.iter().filter_map(poured_words).collect();
    pouring.extend(through_archives(suspects));
    let filled = filled_by_others(suspects);
    if pouring.is_empty() && filled.is_empty() {
        return None;
    }
    let folders = Folders::of(suspects, call, context).all;
    let landing = Landing {
        suspects,
        call,
        context,
        disk,
        folders,
        sought: sought(suspects, call, context),
        left: Cell::new(MOST_NAMES),
    };
    let mut filled = filled.iter().flat_map(|word| landing.targets(word));
    filled
        .find(|place| holds_places(place, context) || decides_for_people(place, context))
        .or_else(|| pouring.iter().find_map(|pouring| landing.of(pouring)))
}

/// Looks where things land.
struct Landing<'a> {
    suspects: &'a Suspects,
    call: &'a Call,
    context: &'a Context,
    disk: &'a dyn Disk,
    folders: Vec<String>,
    /// What the line looks for, which may be what is handed on.
    sought: Vec<Sought>,
    /// How many names are still looked at.
    left: Cell<usize>,
}

impl Landing<'_> {
    fn of(&self, pouring: &Pouring) -> Option<String> {
        pouring.into.iter().enumerate().find_map(|(at, into)| {
            // Of words in a row each may be where those before it land.
            let sources = || pouring.sources.iter().filter(|source| source.at <= at);
            self.targets(into).into_iter().find_map(|target| {
                let named = || sources().find_map(|source| self.lands(source, &target, pouring.replaces));
                let more = || pouring.takes_more.then(|| self.handed(&target)).flatten();
                named().or_else(more)
            })
        })
    }

    fn lands(&self, source: &PouredFrom, target: &str, replaces: bool) -> Option<String> {
        let shapes = self.suspects.variables.spellings(&source.word);
        let marks = marks(self.suspects);
        if shapes.iter().any(|shape| shape.contains(ANY) || marks.iter().any(|mark| shape.contains(mark))) {
            let is_unknown = source.is_content && self.sought.is_empty() && holds_places(target, self.context);
            return self.handed(target).or_else(|| is_unknown.then(|| target.to_owned()));
        }
        shapes.iter().find_map(|shape| {
            // With what is above it, as some programs are told to keep it.
            let kept = shape.rsplit("/./").next().filter(|kept| is_literal(kept) && !kept.starts_with('~'));
            let kept = kept.map(|kept| joined(target, kept)).filter(|_| !source.is_content);
            self.paths(shape).into_iter().find_map(|(path, is_all_of_it)| {
                let is_content = source.is_content || is_all_of_it;
                let content = || self.content(&path, target);
                if is_content && replaces && holds_guarded(target, self.context) {
                    return Some(target.to_owned());
                }
                let name = path.rsplit('/').next().unwrap_or_default();
                let named = || self.named(&path, &joined(target, name), replaces);
                let kept = || self.named(&path, kept.as_deref()?, replaces);
                is_content.then(content).flatten().or_else(named).or_else(kept)
            })
        })
    }

    /// What lands there in the place of another that is called so.
    fn named(&self, source: &str, place: &str, replaces: bool) -> Option<String> {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        if left == 0 || decides_for_people(place, self.context) || replaces && holds_places(place, self.context) {
            return Some(place.to_owned());
        }
        holds_places(place, self.context).then(|| self.content(source, place)).flatten()
    }

    /// What is in a folder lands in another one.
    fn content(&self, source: &str, target: &str) -> Option<String> {
        let (context, disk) = (self.context, self.disk);
        let holds = holds_places(target, context);
        let works_there = context.cwd == target || context.folders.iter().any(|folder| folder == target);
        if source == target || !holds && !works_there {
            return None;
        }
        if holds && (!disk.is_folder(source) || self.changes_more()) {
            return Some(target.to_owned());
        }
        let mut landed = None;
        let is_complete = disk.walk(source, &mut |path| {
            let rest = path.strip_prefix(source.trim_end_matches('/')).unwrap_or_default().trim_start_matches('/');
            if landed.is_some() || rest.is_empty() {
                return;
            }
            let place = joined(target, rest);
            // Deeper ones are those of parts of a project.
            let own = joined(target, rest.split('/').next().unwrap_or_default());
            let guards = works_there && is_protected(&own, context);
            // What a link leads to there nobody knows.
            let is_link = || holds_guarded(&place, context) && self.is_link(path);
            if guards || decides_for_people(&place, context) || is_link() {
                landed = Some(if guards { own } else { place });
            }
        });
        landed.or_else(|| (!is_complete).then(|| target.to_owned()))
    }

    /// What other commands find lands there.
    fn handed(&self, target: &str) -> Option<String> {
        if !holds_places(target, self.context) {
            return None;
        }
        self.sought.iter().find_map(|sought| {
            let mut landed = None;
            let mut is_complete = true;
            for folder in &sought.folders {
                is_complete &= self.disk.walk(folder, &mut |path| {
                    let place = joined(target, path.rsplit('/').next().unwrap_or_default());
                    let is_one = || decides_for_people(&place, self.context) || holds_guarded(&place, self.context);
                    if landed.is_none() && sought.is_called(path) && is_one() {
                        landed = Some(place);
                    }
                });
            }
            landed.or_else(|| (!is_complete && !sought.is_picky()).then(|| target.to_owned()))
        })
    }

    /// Whether another command of the line may change what is in a folder before.
    fn changes_more(&self) -> bool {
        let changes = |words: &[ShellWord]| {
            let name = started(words).first().map_or("", |word| name_of(&word.text));
            reading(words) == Reading::Perhaps
                && !matches!(name, "cd" | "mkdir" | "pushd" | "popd" | "set" | "[" | "test")
        };
        let changing = self.suspects.found.iter().filter(|command| {
            changes(&command.words) || command.redirects.iter().any(|redirect| redirect.way == Way::Out)
        });
        changing.count() > 1
    }

    fn is_link(&self, path: &str) -> bool {
        let Some((folder, name)) = path.rsplit_once('/') else { return false };
        let plain = self.disk.follow(folder).map(|folder| joined(&folder, name));
        self.disk.follow(path) != plain
    }

    /// The places that a word may mean to which something goes, and where their links lead.
    fn targets(&self, word: &ShellWord) -> Vec<String> {
        let shapes = self.suspects.variables.spellings(word);
        let led = shapes.iter().flat_map(|shape| through_links(shape, &self.suspects.found)).collect::<Vec<_>>();
        let paths = shapes.iter().chain(&led).flat_map(|shape| self.paths(shape)).map(|(path, _)| path);
        let both = |path: String| {
            let target = self.disk.follow(&path).filter(|target| *target != path);
            [Some(path), target].into_iter().flatten()
        };
        paths.flat_map(both).collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The paths that a shape may mean, with whether all that is in a folder is meant of which nobody knows what it is.
    fn paths(&self, shape: &str) -> BTreeSet<(String, bool)> {
        if is_literal(shape) {
            return seen_from(&self.folders, shape, self.context).into_iter().map(|path| (path, false)).collect();
        }
        let home = self.context.home.as_deref();
        let patterns = self.folders.iter().filter_map(|folder| absolute(shape, folder, home));
        let made = patterns.flat_map(|pattern| {
            let made = self.call.expansion(&pattern).map(<[String]>::to_vec);
            let is_known = made.is_some() && !self.changes_more();
            let whole = (!is_known).then(|| (fixed_folder(&pattern), true));
            made.unwrap_or_default().into_iter().map(|path| (path, false)).chain(whole)
        });
        made.collect()
    }
}

/// What a command copies, moves or links, and where to.
fn poured_words(suspect: &Suspect) -> Option<Pouring> {
    let (first, rest) = started(&suspect.words).split_first()?;
    let name = name_of(&first.text);
    if !matches!(name, "cp" | "gcp" | "mv" | "gmv" | "rsync" | "install" | "ginstall" | "ln" | "gln" | "scp" | "ditto")
    {
        return None;
    }
    let name = name.strip_prefix('g').unwrap_or(name);
    let has = |letters: &str, longs: &[&str]| options::has(rest.iter().map(|word| word.text.as_str()), letters, longs);
    let is_end = |word: &ShellWord| matches!(word.text.as_str(), ";" | "+");
    let operands: Vec<&ShellWord> = rest.iter().filter(|word| !word.is_flag() && !is_end(word)).collect();
    let takes_folder = matches!(name, "cp" | "mv" | "install" | "ln");
    let mut into = if takes_folder { said_before(rest) } else { vec![] };
    let is_said = !into.is_empty();
    let replaces = matches!(name, "mv" | "ln");
    let is_whole = match name {
        "ln" => has("Tnh", &["--no-target-directory", "--no-dereference"]),
        "cp" | "mv" | "install" => has("T", &["--no-target-directory"]),
        name => name == "ditto",
    };
    let is_content = |text: &str| {
        let last = text.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
        is_whole || matches!(last, "." | "..") || name == "rsync" && text.ends_with('/')
    };
    // With a folder before them all are sources, and so is the only name of a link. Else each of the words behind the first
    // may be the last: what follows may be the value of an option.
    let all_of_them = is_said || name == "ln" && operands.len() == 1;
    let sources = operands.iter().enumerate().map(|(at, word)| PouredFrom {
        word: (*word).clone(),
        is_content: is_content(&word.text),
        at: if all_of_them { 0 } else { at },
    });
    let sources: Vec<PouredFrom> = sources.collect();
    if all_of_them && !is_said {
        into.push(ShellWord::plain("."));
    }
    if !all_of_them {
        let skipped = if suspect.takes_more { 0 } else { 1 };
        into.extend(operands.iter().skip(skipped).map(|word| (*word).clone()));
    } else {
        // Where the letter stands in the value of another option, the last word counts as well.
        into.extend(operands.last().filter(|_| is_said).map(|word| (*word).clone()));
    }
    Some(Pouring { sources, into, replaces, takes_more: suspect.takes_more })
}

/// The folders that `-t` may name.
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
            let words = packed.named.iter().chain(&packed.folders).cloned();
            let sources = words.map(|word| PouredFrom { word, is_content: true, at: 0 }).collect();
            let here = unpacked.folders.is_empty().then(|| ShellWord::plain("."));
            let into = unpacked.folders.iter().cloned().chain(here).collect();
            Pouring { sources, into, replaces: false, takes_more: false }
        })
        .collect()
}

/// What else is filled, or lies behind something else, by programs and code of which nobody can tell what with.
fn filled_by_others(suspects: &Suspects) -> Vec<ShellWord> {
    let filling = suspects.commands.iter().filter_map(|suspect| started(&suspect.words).split_first());
    let filling = filling.filter(|(first, rest)| fills_folders(name_of(&first.text), rest));
    let shapes = filling.flat_map(|(_, rest)| rest.iter()).flat_map(|word| suspects.variables.spellings(word));
    let names = shapes.flat_map(|shape| names_in(&shape));
    names.map(|name| ShellWord::plain(&name)).chain(fills_by_code(suspects)).collect()
}

/// Whether a program puts what lies elsewhere into a folder that one of its words names.
fn fills_folders(name: &str, rest: &[ShellWord]) -> bool {
    let says = |said: &[&str]| rest.iter().any(|word| said.contains(&word.text.as_str()));
    match name {
        "archivemount" | "bindfs" | "cpdup" | "fuse-overlayfs" | "kioclient" | "kioclient5" | "kioclient6"
        | "lndir" | "mergerfs" | "mount" | "sshfs" | "stow" | "umount" | "unionfs" | "unison" | "xstow" => true,
        "rclone" => says(&["bisync", "copy", "copyto", "copyurl", "mount", "move", "moveto", "sync"]),
        "docker" | "podman" | "nerdctl" | "kubectl" | "oc" | "lxc" => says(&["cp", "pull"]),
        "aws" | "gcloud" | "gsutil" | "mc" | "s3cmd" | "s5cmd" => says(&["cp", "get", "mirror", "mv", "rsync", "sync"]),
        "adb" => says(&["pull"]),
        "gio" => says(&["copy", "move"]),
        "restic" => says(&["restore"]),
        "lftp" => true,
        "wget" => options::has(rest.iter().map(|word| word.text.as_str()), "rm", &["--recursive", "--mirror"]),
        _ => false,
    }
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
