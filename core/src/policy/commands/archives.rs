//! Programs that pack and unpack archives, and the folders that they are told to work in.

use super::command::name_of;
use super::inert::started;
use crate::policy::shell::ShellWord;
use crate::policy::words::candidates::names_in;
use crate::policy::words::options::{self, VALUED_OF_TAR};

/// What a program does with an archive.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Deed {
    Packs,
    Unpacks,
}

/// A command that packs or unpacks.
pub(crate) struct Archiving {
    pub(crate) deed: Deed,
    /// The folders that it is told to work in.
    pub(crate) folders: Vec<ShellWord>,
    /// What else is named.
    pub(crate) named: Vec<ShellWord>,
    /// It surely works in the folders it is told, wherever the line has gone.
    pub(crate) is_placed: bool,
}

impl Archiving {
    pub(crate) fn of(words: &[ShellWord]) -> Option<Self> {
        let (first, rest) = started(words).split_first()?;
        match name_of(&first.text) {
            "tar" | "gtar" | "bsdtar" | "star" => {
                let read = Letters::read(rest, VALUED_OF_TAR, &["--directory", "--file", "--exclude"], true);
                let has =
                    |letter: char, longs: &[&str]| read.has(letter) || longs.iter().any(|long| read.has_long(long));
                let deed = match () {
                    () if read.surely_has('O', "--to-stdout") => return None,
                    () if has('x', &["--extract", "--get"]) => Deed::Unpacks,
                    () if has('c', &["--create"]) => Deed::Packs,
                    () => return None,
                };
                let folders: Vec<ShellWord> = read.values('C').chain(read.long_values("--directory")).collect();
                // It makes that folder where it is not there.
                let folders = [folders, read.long_values("--one-top-level").collect()].concat();
                Some(Self { deed, is_placed: !folders.is_empty(), folders, named: read.operands })
            }
            "unzip" | "bsdunzip" => {
                let read = Letters::read(rest, "dPx", &[], false);
                // Those by which it only tells.
                let tells = ['l', 'p', 't', 'v', 'z', 'Z'].into_iter().any(|letter| read.has(letter));
                let folders: Vec<ShellWord> = read.values('d').collect();
                let is_placed = !folders.is_empty();
                (!tells).then(|| Self { deed: Deed::Unpacks, folders, named: vec![], is_placed })
            }
            name => unpacks(name, rest).then(|| {
                let names = rest.iter().flat_map(|word| names_in(&word.text).into_iter().chain(behind_output(word)));
                let folders = names.map(|name| ShellWord::read(&name)).collect();
                let is_told = rest.iter().any(|word| word.text.starts_with("-o") && word.text.len() > 2);
                let is_placed = match name {
                    "7z" | "7za" | "7zr" | "7zz" => is_told,
                    // They have no other way, or make a folder.
                    "dpkg" | "dpkg-deb" | "ditto" | "unsquashfs" | "dtrx" => true,
                    name => name.starts_with("python"),
                };
                Self { deed: Deed::Unpacks, folders, named: vec![], is_placed }
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
        "borg" => order == "extract",
        "cpio" => has("ip", &["--extract", "--pass-through"]),
        name if name.starts_with("python") => {
            rest.iter().any(|word| matches!(word.text.as_str(), "zipfile" | "tarfile")) && has("e", &["--extract"])
        }
        _ => false,
    }
}

/// Options in letters, as tar and unzip take them: some with a value, which stands right behind or is the next word.
struct Letters {
    given: Vec<GivenOption>,
    longs: Vec<GivenOption>,
    operands: Vec<ShellWord>,
}

/// An option by its letter or its name, as it was written.
struct GivenOption {
    name: String,
    value: Option<ShellWord>,
    /// It may be the value of the one before it.
    may_be_value: bool,
}

impl Letters {
    /// `is_old`: letters count without a dash in the first place, as in `tar xzf a`.
    fn read(words: &[ShellWord], with_value: &str, long_with_value: &[&str], is_old: bool) -> Self {
        let mut read = Self { given: vec![], longs: vec![], operands: vec![] };
        let mut rest = words.iter().enumerate();
        let mut may_be_value = false;
        while let Some((at, word)) = rest.next() {
            if word.text == "--" {
                read.operands.extend(rest.map(|(_, word)| word.clone()));
                break;
            }
            if word.text.starts_with("--") {
                let (name, value) = match word.text.split_once('=') {
                    Some((name, value)) => (name, Some(ShellWord::read(value))),
                    None => (word.text.as_str(), None),
                };
                let takes_next = value.is_none() && long_with_value.iter().any(|long| is_short_for(name, long));
                // Another one may take the next word as well, as `--suffix` does.
                let may_take_next = value.is_none() && !takes_next;
                let value = if takes_next { rest.next().map(|(_, word)| word.clone()) } else { value };
                read.longs.push(GivenOption { name: name.to_owned(), value, may_be_value });
                may_be_value = may_take_next;
                continue;
            }
            let has_dash = word.text.starts_with('-');
            let bundle = match word.text.strip_prefix('-') {
                Some(bundle) => bundle,
                None if is_old && at == 0 && word.text.len() < 8 && word.text.chars().all(char::is_alphabetic) => {
                    &word.text
                }
                None => {
                    read.operands.push(word.clone());
                    may_be_value = false;
                    continue;
                }
            };
            for (place, letter) in bundle.char_indices() {
                let behind = &bundle[place + letter.len_utf8()..];
                let is_glued = has_dash && !behind.is_empty();
                let value = match with_value.contains(letter) {
                    false => None,
                    true if is_glued => Some(ShellWord::read(behind)),
                    true => rest.next().map(|(_, word)| word.clone()),
                };
                read.given.push(GivenOption { name: letter.to_string(), value, may_be_value });
                if is_glued && with_value.contains(letter) {
                    break;
                }
            }
            may_be_value = false;
        }
        read
    }

    fn has(&self, letter: char) -> bool {
        self.given.iter().any(|given| given.name.starts_with(letter))
    }

    fn has_long(&self, long: &str) -> bool {
        self.longs.iter().any(|given| is_short_for(&given.name, long))
    }

    /// Whether an option is given by its letter or its name, and not for the value of another one.
    fn surely_has(&self, letter: char, long: &str) -> bool {
        let is_letter = |given: &GivenOption| given.name.starts_with(letter) && !given.may_be_value;
        let is_long = |given: &GivenOption| is_short_for(&given.name, long) && !given.may_be_value;
        self.given.iter().any(is_letter) || self.longs.iter().any(is_long)
    }

    fn values(&self, letter: char) -> impl Iterator<Item = ShellWord> {
        self.given.iter().filter(move |given| given.name.starts_with(letter)).filter_map(|given| given.value.clone())
    }

    fn long_values(&self, long: &str) -> impl Iterator<Item = ShellWord> {
        self.longs.iter().filter(move |given| is_short_for(&given.name, long)).filter_map(|given| given.value.clone())
    }
}

/// Long options may be cut short.
fn is_short_for(name: &str, long: &str) -> bool {
    name.len() > 3 && long.starts_with(name)
}
