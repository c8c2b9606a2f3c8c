//! Names that programs put together themselves, out of what their options say: a beginning, an ending, a pattern.
//!
//! What such an option says is no name by itself. A beginning stands for all names that begin so, an ending is put behind
//! every other word, and what a pattern makes of names nobody can tell.

use super::implied::settings;
use crate::policy::commands::archives::{Archiving, Deed};
use crate::policy::commands::command::name_of;
use crate::policy::commands::git_places::prefixes;
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{ANY, Joint, STAR, ShellWord};
use crate::policy::words::options;

/// What a program makes of names.
#[derive(Debug, Default)]
pub(crate) struct MadeNames {
    /// With whether the file may be changed.
    pub(crate) names: Vec<(String, bool)>,
    pub(crate) reads_any: bool,
    pub(crate) changes_any: bool,
    /// It looks for files in all that lies below the folder it is in.
    pub(crate) searches_here: bool,
}

const COMPILERS: [&str; 9] = ["as", "c++", "cc", "clang", "clang++", "cpp", "g++", "gcc", "ld"];

/// Programs that keep a file under its name with an ending, with the letter that says which.
const KEEPING: [(&str, &str, &[&str]); 7] = [
    ("cp", "S", &["--suffix"]),
    ("install", "S", &["--suffix"]),
    ("ln", "S", &["--suffix"]),
    ("mv", "S", &["--suffix"]),
    ("patch", "zB", &["--suffix", "--prefix"]),
    ("perl", "i", &[]),
    ("sed", "i", &["--in-place"]),
];

/// What a command makes of names, by its options and by variables of the line.
pub(crate) fn made_names(words: &[ShellWord], command: &Found, suspects: &Suspects) -> MadeNames {
    let mut made = MadeNames::default();
    let Some((first, rest)) = words.split_first() else { return made };
    let name = name_of(&first.text);
    let has = |letters: &str, longs: &[&str]| options::has(rest.iter().map(|word| word.text.as_str()), letters, longs);
    let mut beginnings: Vec<(String, bool)> = vec![];
    match name {
        "csplit" => beginnings.extend(values(rest, "f", &["--prefix"]).into_iter().map(|value| (value, true))),
        "split" => {
            beginnings.extend(rest.iter().filter(|word| !word.is_flag()).map(|word| (word.raw.clone(), true)));
        }
        "git" if rest.iter().any(|word| word.text == "checkout-index") => {
            beginnings.extend(prefixes(rest).into_iter().map(|value| (value, true)));
        }
        "git" if is_unpacked_archive(rest, suspects) => {
            beginnings.extend(prefixes(rest).into_iter().map(|value| (value, true)));
            // `--add-virtual-file=name:text`
            let added = values(rest, "", &["--add-virtual-file"]);
            made.names.extend(added.iter().filter_map(|file| Some((file.split_once(':')?.0.to_owned(), true))));
        }
        "tar" | "gtar" | "bsdtar" => made.changes_any = has("", &["--transform", "--xform"]),
        "curl" => {
            let is_template = |value: &String| value.contains('#');
            // What `--expand-x` makes of variables of its own nobody can tell.
            let is_expanded = |word: &ShellWord| word.text.starts_with("--expand-");
            made.changes_any = values(rest, "o", &["--output"]).iter().any(is_template) || rest.iter().any(is_expanded);
            made.reads_any = has("", &["--proto-default"]);
            let outputs = rest.iter().flat_map(|word| word.text.split("%output{").skip(1));
            let outputs =
                outputs.filter_map(|behind| behind.split('}').next()).map(|name| name.trim_start_matches('>'));
            made.names.extend(outputs.map(|name| (name.to_owned(), true)));
            let is_fed = command.joint == Joint::Pipe || !command.given.is_empty();
            if is_fed && has("K", &["--config"]) && command.given.is_empty() {
                made.changes_any = true;
            }
        }
        "zip" => {
            let is_tree = |word: &ShellWord| !word.text.starts_with("--") && word.is_flag() && word.text.contains('R');
            made.searches_here = rest.iter().any(is_tree) || has("", &["--recurse-patterns"]);
        }
        "rename" | "prename" | "file-rename" | "mmv" => {
            made.changes_any = rest.iter().any(|word| word.text.contains('^') || word.text.contains("/."));
        }
        name if COMPILERS.contains(&name) => {
            let begins = ["-iprefix", "--sysroot", "-isysroot"];
            beginnings.extend(values(rest, "", &begins).into_iter().map(|value| (value, false)));
            let texts =
                suspects.found.iter().flat_map(|one| one.given.iter().chain(one.words.iter().map(|word| &word.text)));
            let makes = |text: &String| text.contains("##") || text.contains("incbin") && text.contains('\\');
            made.reads_any = rest.iter().any(|word| word.text == "-") && texts.into_iter().any(makes);
        }
        _ => {}
    }
    for (value, may_change) in beginnings {
        // What is only read is there; what is written need not be.
        let rest = if may_change { ANY } else { STAR };
        let shapes = suspects.variables.spellings(&ShellWord::read(&value)).into_iter();
        made.names.extend(shapes.filter(|shape| !shape.is_empty()).map(|shape| (format!("{shape}{rest}"), may_change)));
    }
    let endings = endings(name, rest, suspects);
    for ending in &endings {
        for word in rest.iter().filter(|word| !word.is_flag()) {
            let shapes = suspects.variables.spellings(word);
            made.names.extend(shapes.iter().map(|shape| (kept_as(shape, ending), true)));
        }
    }
    made
}

/// Whether git packs an archive and the line unpacks one: under the names in it.
fn is_unpacked_archive(rest: &[ShellWord], suspects: &Suspects) -> bool {
    let unpacks = |words: &[ShellWord]| Archiving::of(words).is_some_and(|one| one.deed == Deed::Unpacks);
    rest.iter().any(|word| word.text == "archive") && suspects.commands.iter().any(|suspect| unpacks(&suspect.words))
}

/// What archives that git packs, and the line unpacks, put before each name.
pub(crate) fn prefixed_by_archive(suspects: &Suspects) -> Vec<String> {
    let packs = suspects.commands.iter().filter_map(|suspect| started(&suspect.words).split_first());
    let packs = packs.filter(|(first, rest)| name_of(&first.text) == "git" && is_unpacked_archive(rest, suspects));
    packs.flat_map(|(_, rest)| prefixes(rest)).collect()
}

/// The endings that a program puts behind the names of what it keeps.
fn endings(name: &str, rest: &[ShellWord], suspects: &Suspects) -> Vec<String> {
    let Some((_, letters, longs)) = KEEPING.iter().find(|(program, _, _)| *program == name) else { return vec![] };
    let glued = matches!(name, "perl" | "sed");
    let said = rest.iter().enumerate().filter_map(|(at, word)| match options::value(&word.text, letters, longs) {
        Some("") if glued => None,
        Some("") => rest.get(at + 1).map(|word| word.text.clone()),
        value => value.map(str::to_owned),
    });
    let set = suspects.found.iter().flat_map(settings).filter(|(name, _)| name == "SIMPLE_BACKUP_SUFFIX");
    said.chain(set.map(|(_, value)| value.text)).collect()
}

/// The name under which a file is kept: with the ending behind it, or with its own name in the place of a star.
fn kept_as(name: &str, ending: &str) -> String {
    let (folder, base) = name.rsplit_once('/').map_or(("", name), |(folder, base)| (folder, base));
    match (ending.contains('*'), ending.contains('/') || folder.is_empty()) {
        (false, _) => format!("{name}{ending}"),
        (true, true) => ending.replace('*', base),
        (true, false) => format!("{folder}/{}", ending.replace('*', base)),
    }
}

/// The values of options, as they are written.
fn values(rest: &[ShellWord], letters: &str, longs: &[&str]) -> Vec<String> {
    let value = |(at, word): (usize, &ShellWord)| match options::value(&word.text, letters, longs)? {
        "" => rest.get(at + 1).map(|word| word.text.clone()),
        value => Some(value.to_owned()),
    };
    rest.iter().enumerate().filter_map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::shell::Script;

    fn made(line: &str) -> MadeNames {
        let suspects = Suspects::of(&Script::read(line));
        let command = &suspects.found[suspects.found.len() - 1];
        made_names(&command.words, command, &suspects)
    }

    #[test]
    fn a_name_is_what_an_option_makes_of_it() {
        for (line, name) in [
            ("csplit -s -f .g -b 'it/x%d' a 1", format!(".g{ANY}")),
            ("git checkout-index -f --prefix=.gi -a", format!(".gi{ANY}")),
            ("gcc -E -iprefix ./sec -iwithprefix rets a.c", format!("./sec{STAR}")),
            ("cp --suffix=rc a .npm", ".npmrc".to_owned()),
            ("mv -S rc a .npm", ".npmrc".to_owned()),
            ("sed -i'.*rc' 1p npm", ".npmrc".to_owned()),
            ("sed -i'.g*/x' 1p it", ".git/x".to_owned()),
            ("perl -pi'.g*/x' -e 1 it", ".git/x".to_owned()),
            ("SIMPLE_BACKUP_SUFFIX=rc cp -b a .npm", ".npmrc".to_owned()),
        ] {
            assert!(made(line).names.iter().any(|(found, _)| *found == name), "{line}: {:?}", made(line));
        }
        for line in
            ["tar xf - --transform s,a,b,", "tar xf a --trans=s,a,b,", "curl -s x -o '.#1/y'", "rename 's/^/.g/' it"]
        {
            assert!(made(line).changes_any, "{line}");
        }
        assert!(made("zip -qR x.zip key").searches_here && !made("zip -qr x.zip src").searches_here);
        for line in ["tar xf a.tar", "curl -so out https://h/a", "gcc -c a.c -o a.o", "sed -i s/a/b/ f", "cp a b"] {
            let made = made(line);
            assert!(made.names.is_empty() && !made.reads_any && !made.changes_any, "{line}: {made:?}");
        }
    }
}
