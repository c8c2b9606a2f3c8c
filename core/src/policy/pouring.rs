//! Files that land in a folder under names that do not stand in the line: those of another folder, and those in an archive.

use std::collections::BTreeSet;

use super::call::{Call, Context, Disk};
use super::candidates::names_in;
use super::command::name_of;
use super::folders::Folders;
use super::inert::started;
use super::options;
use super::path::{absolute, lies_in};
use super::safety::is_protected;
use super::shell::ShellWord;
use super::starts::runs_elsewhere;
use super::suspects::{Found, Suspects};
use super::values::is_literal;

/// Folders whose content is copied, and where to.
struct Pouring {
    sources: Vec<ShellWord>,
    into: Vec<ShellWord>,
}

/// A protected file that lands in a folder one works in, or in the home, as what is in another folder is copied there.
pub(super) fn poured(suspects: &Suspects, call: &Call, context: &Context, disk: &dyn Disk) -> Option<String> {
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
    let into = operands.pop()?;
    let is_for_all = into.text.starts_with('/') && into.text.trim_matches('/').split('/').count() < 2;
    let is_content = |text: &str| match name {
        "rsync" | "cp" | "mv" if is_for_all => true,
        "rsync" => text.ends_with('/') || text.ends_with("/.") || matches!(text, "." | ".."),
        "cp" => is_whole || text.ends_with("/.") || matches!(text, "." | "./" | ".."),
        "mv" => is_whole,
        _ => false,
    };
    operands.retain(|word| is_content(&word.text));
    let sources: Vec<ShellWord> = operands.into_iter().cloned().collect();
    (!sources.is_empty()).then(|| Pouring { sources, into: vec![into.clone()] })
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
pub(super) fn unpacked(suspects: &Suspects, call: &Call, context: &Context) -> Option<String> {
    // What another machine is told to do in a text is done there.
    let is_elsewhere = |command: &&Found| command.words.first().is_some_and(|word| runs_elsewhere(name_of(&word.text)));
    let stands_here = |words: &[ShellWord]| {
        let holds = |text: &ShellWord| words.iter().all(|word| text.text.contains(&word.text));
        !suspects.found.iter().filter(is_elsewhere).any(|command| command.words.iter().any(holds))
    };
    let folders = Folders::of(suspects, call, context).all;
    let decides = |folder: &String| {
        let holds_home = context.home.as_deref().is_some_and(|home| lies_in(home, folder));
        holds_home || is_of_all(folder)
    };
    let mut gone_to: Option<&ShellWord> = None;
    for suspect in &suspects.commands {
        let own = started(&suspect.words);
        if own.first().is_some_and(|first| matches!(first.text.as_str(), "cd" | "pushd")) {
            gone_to = own.get(1);
        }
        let unpacking = Archiving::of(&suspect.words).filter(|one| one.deed == Deed::Unpacks);
        let Some(unpacking) = unpacking.filter(|_| stands_here(&suspect.words)) else { continue };
        let into = unpacking.folders.iter().chain(gone_to.filter(|_| unpacking.folders.is_empty()));
        let shapes = into.flat_map(|word| suspects.variables.spellings(word));
        if let Some(folder) = shapes.flat_map(|shape| seen_from(&folders, &shape, context)).find(decides) {
            return Some(folder);
        }
    }
    None
}

/// What lies right in these decides for everyone on the machine.
fn is_of_all(folder: &str) -> bool {
    matches!(folder, "/" | "/etc" | "/usr" | "/private/etc")
}

fn seen_from(folders: &[String], shape: &str, context: &Context) -> Vec<String> {
    let seen = folders.iter().filter(|_| is_literal(shape));
    seen.filter_map(|folder| absolute(shape, folder, context.home.as_deref())).collect()
}

/// What a program does with an archive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Deed {
    Packs,
    Unpacks,
}

/// A command that packs or unpacks.
struct Archiving {
    deed: Deed,
    /// The folders that it is told to work in.
    folders: Vec<ShellWord>,
    /// What else is named.
    named: Vec<ShellWord>,
}

impl Archiving {
    fn of(words: &[ShellWord]) -> Option<Self> {
        let (first, rest) = started(words).split_first()?;
        match name_of(&first.text) {
            "tar" | "gtar" | "bsdtar" | "star" => {
                let read = Letters::read(rest, "bCfFgHIKLNTVX", &["--directory", "--file", "--exclude"]);
                let has =
                    |letter: char, longs: &[&str]| read.has(letter) || longs.iter().any(|long| read.has_long(long));
                let deed = match () {
                    () if has('O', &["--to-stdout"]) => return None,
                    () if has('x', &["--extract", "--get"]) => Deed::Unpacks,
                    () if has('c', &["--create"]) => Deed::Packs,
                    () => return None,
                };
                let folders = read.values('C').chain(read.long_values("--directory")).collect();
                Some(Self { deed, folders, named: read.operands })
            }
            "unzip" | "bsdunzip" => {
                let read = Letters::read(rest, "dPx", &[]);
                // Those by which it only tells.
                let tells = ['l', 'p', 't', 'v', 'z', 'Z'].into_iter().any(|letter| read.has(letter));
                let unpacks = || Self { deed: Deed::Unpacks, folders: read.values('d').collect(), named: vec![] };
                (!tells).then(unpacks)
            }
            name => unpacks(name, rest).then(|| {
                let names = rest.iter().flat_map(|word| names_in(&word.text).into_iter().chain(behind_output(word)));
                let folders = names.map(|name| ShellWord::read(&name)).collect();
                Self { deed: Deed::Unpacks, folders, named: vec![] }
            }),
        }
    }
}

/// `-o$HOME` of 7z.
fn behind_output(word: &ShellWord) -> Option<String> {
    word.text.strip_prefix("-o").map(str::to_owned)
}

/// Whether a program of which less is known unpacks: any of its words may name the folder.
fn unpacks(name: &str, rest: &[ShellWord]) -> bool {
    let has = |letters: &str, longs: &[&str]| options::has(rest.iter().map(|word| word.text.as_str()), letters, longs);
    let order = rest.iter().find(|word| !word.is_flag()).map_or("", |word| word.text.as_str());
    match name {
        "7z" | "7za" | "7zr" | "7zz" | "rar" | "unrar" => matches!(order, "x" | "e"),
        "jar" | "ar" => order.len() < 8 && order.contains('x') || has("x", &["--extract"]),
        "unar" | "dtrx" | "unsquashfs" | "cabextract" | "aunpack" | "patool" => true,
        "dpkg" | "dpkg-deb" => has("xRX", &["--extract", "--vextract", "--raw-extract"]),
        "ditto" => has("x", &[]),
        "pax" => has("r", &[]),
        name if name.starts_with("python") => {
            rest.iter().any(|word| matches!(word.text.as_str(), "zipfile" | "tarfile")) && has("e", &["--extract"])
        }
        _ => false,
    }
}

/// Options in letters, as tar and unzip take them: some with a value, which stands right behind or is the next word.
struct Letters {
    given: Vec<(char, Option<ShellWord>)>,
    longs: Vec<(String, Option<ShellWord>)>,
    operands: Vec<ShellWord>,
}

impl Letters {
    fn read(words: &[ShellWord], with_value: &str, long_with_value: &[&str]) -> Self {
        let mut read = Self { given: vec![], longs: vec![], operands: vec![] };
        let mut rest = words.iter().enumerate();
        while let Some((at, word)) = rest.next() {
            if word.text.starts_with("--") {
                let (name, value) = match word.text.split_once('=') {
                    Some((name, value)) => (name, Some(ShellWord::read(value))),
                    None => (word.text.as_str(), None),
                };
                let takes_next = value.is_none() && long_with_value.contains(&name);
                let value = if takes_next { rest.next().map(|(_, word)| word.clone()) } else { value };
                read.longs.push((name.to_owned(), value));
                continue;
            }
            // Without a dash only in the first place: `tar xzf a`.
            let bundle = match word.text.strip_prefix('-') {
                Some(bundle) => bundle,
                None if at == 0 && word.text.len() < 8 && word.text.chars().all(char::is_alphabetic) => &word.text,
                None => {
                    read.operands.push(word.clone());
                    continue;
                }
            };
            let is_old = !word.text.starts_with('-');
            for (place, letter) in bundle.char_indices() {
                if !with_value.contains(letter) {
                    read.given.push((letter, None));
                    continue;
                }
                let behind = &bundle[place + letter.len_utf8()..];
                let is_glued = !is_old && !behind.is_empty();
                let value =
                    if is_glued { Some(ShellWord::read(behind)) } else { rest.next().map(|(_, word)| word.clone()) };
                read.given.push((letter, value));
                if is_glued {
                    break;
                }
            }
        }
        read
    }

    fn has(&self, letter: char) -> bool {
        self.given.iter().any(|(given, _)| *given == letter)
    }

    /// Long options may be cut short.
    fn has_long(&self, long: &str) -> bool {
        self.longs.iter().any(|(given, _)| given.len() > 3 && long.starts_with(given.as_str()))
    }

    fn values(&self, letter: char) -> impl Iterator<Item = ShellWord> {
        self.given.iter().filter(move |(given, _)| *given == letter).filter_map(|(_, value)| value.clone())
    }

    fn long_values(&self, long: &str) -> impl Iterator<Item = ShellWord> {
        let is_it = move |given: &str| given.len() > 3 && long.starts_with(given);
        self.longs.iter().filter(move |(given, _)| is_it(given)).filter_map(|(_, value)| value.clone())
    }
}
