//! Names that do not stand in a line as words: in texts and code, in what other commands print, in lists, and words of which
//! nobody knows all.

use std::collections::BTreeSet;

use super::folders::{GIT_FOLDER, prints_git_folder};
use super::touching::{MOST, Touch, Toucher};
use crate::policy::commands::command::name_of;
use crate::policy::commands::erasing::strings;
use crate::policy::commands::inert::started;
use crate::policy::commands::reading::{Descent, Reading};
use crate::policy::languages::meaning;
use crate::policy::lines::starts::starts;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::names::changing::may_be_changed;
use crate::policy::names::handing::{Handing, list_names};
use crate::policy::names::implied::{in_environment, written};
use crate::policy::names::places::{ABOVE, places_printed, prints_folder_above};
use crate::policy::names::printing::{names_printed, with_blanks};
use crate::policy::names::saving::{address_lists, last_parts};
use crate::policy::names::templates::made_names;
use crate::policy::shell::{ANY, Piece, STAR, ShellWord, Way};
use crate::policy::words::candidates::{as_pattern, names_in, percent_decoded};
use crate::policy::words::path::absolute;

/// More words than this are not tried in the place of one that nobody knows.
const MOST_OTHERS: usize = 200;
/// More words than this are not tried in two places of one word.
const MOST_TWICE: usize = 40;
/// Longer values are not taken apart.
const LONGEST_VALUE: usize = 64;
/// More lists than this are not read.
const MOST_LISTS: usize = 64;

impl Toucher<'_> {
    /// Files that a command has to do with, whatever its words are: by variables, by what it is, and by texts in its language.
    pub(crate) fn implied(&mut self, command: &Found) {
        let implied = Touch { may_change: true, ..Touch::default() };
        for (value, touch) in in_environment(command) {
            self.word(&value, &touch);
        }
        for start in starts(&command.words) {
            if let Some(name) = written(&command.words[start..], self.suspects) {
                self.name(name, &implied);
            }
            self.addresses(&command.words[start..]);
            let meaning = meaning(&command.words[start..], command, &self.suspects.found);
            let made = made_names(&command.words[start..], command, self.suspects);
            for (name, may_change) in &made.names {
                self.name(name, &Touch { may_change: *may_change, descent: Descent::All, ..Touch::default() });
            }
            if made.searches_here {
                self.name(".", &Touch { descent: Descent::All, ..Touch::default() });
            }
            for name in sourced(&command.words[start..], self.suspects) {
                self.name(&name, &Touch::default());
            }
            if meaning.reads_any || meaning.changes_any || made.reads_any || made.changes_any {
                let may_change = meaning.changes_any || made.changes_any;
                self.touched.insert(Touch { path: ANY.to_string(), may_change, ..Touch::default() });
            }
        }
    }

    /// Files whose names come from other commands, or out of lists.
    pub(crate) fn handed(&mut self) {
        let handing = Handing::of(self.suspects);
        if handing.taken == Reading::Nothing {
            return;
        }
        let may_change = handing.taken == Reading::Perhaps;
        let touch = Touch { may_change, descent: self.deepest, ..Touch::default() };
        let mut is_unknown = handing.is_unknown;
        // Names that a command says for certain: where git keeps what is its own, a text, a part of a word. Outside of
        // quotes they are patterns.
        let prints = |command: &&Found| {
            let is_git = started(&command.words).first().is_some_and(|word| name_of(&word.text) == "git");
            let is_kept = command.redirects.iter().any(|redirect| redirect.way == Way::Out);
            is_git || (command.is_nested || self.consumed != Reading::Nothing) && !is_kept
        };
        let printing: Vec<&Found> = self.suspects.found.iter().filter(prints).collect();
        for name in printing.into_iter().flat_map(|command| names_printed(command, self.suspects)).take(MOST) {
            self.name(&name, &touch);
            // What it prints may hold what another one does.
            if name.contains(ANY) {
                self.fill(&ShellWord::read(&name), &touch);
            }
            let pattern = as_pattern(&name);
            if pattern != name {
                self.name(&pattern, &touch);
            }
        }
        // Where a repository begins is above, as far as one works there.
        let above = self.suspects.found.iter().any(|command| prints_folder_above(command, self.suspects));
        for name in ABOVE.iter().filter(|_| above) {
            let places = self.folders.iter().filter_map(|folder| absolute(name, folder, self.context.home.as_deref()));
            for place in places.filter(|place| self.context.works_in(place)).collect::<Vec<_>>() {
                self.name(&place, &touch);
            }
        }
        for list in &handing.lists {
            let paths = self.list_paths(&list.words);
            // A pattern for lists that are not there.
            let mut is_read = paths.is_empty();
            for path in paths.into_iter().take(MOST_LISTS) {
                let listed = self.call.listed(&path).map(<[String]>::to_vec);
                is_read |= listed.is_some();
                let lines = listed.unwrap_or_default();
                is_unknown |=
                    list.is_patch && lines.iter().any(|line| is_escaped(line.trim_start()) || is_encoded(line));
                // patch takes away the blanks before an indented one.
                let is_name = |line: &&String| !list.is_patch || is_header(line.trim_start());
                lines.iter().filter(is_name).for_each(|line| self.tokens(line, &touch));
                self.lists.insert(path);
            }
            is_unknown |= !is_read;
        }
        if is_unknown {
            self.touched.insert(Touch { path: ANY.to_string(), ..touch });
        }
    }

    /// Where lists lie that words name.
    fn list_paths(&self, words: &[&ShellWord]) -> Vec<String> {
        let names = words.iter().flat_map(|word| list_names(word, self.suspects));
        let seen = |name: String| {
            let seen = self.folders.iter().filter_map(|folder| absolute(&name, folder, self.context.home.as_deref()));
            seen.flat_map(|path| match self.call.expansion(&path) {
                Some(made) => made.to_vec(),
                None => vec![path],
            })
            .collect::<Vec<_>>()
        };
        names.flat_map(seen).collect()
    }

    /// What a command loads by a list of addresses, and the names that it saves it under. A list that is not there, or that
    /// the line itself may change, may hold any.
    pub(super) fn addresses(&mut self, words: &[ShellWord]) {
        let Some(lists) = address_lists(words) else { return };
        let saved = Touch { may_change: true, ..Touch::default() };
        let mut is_unknown = lists.is_unknown || lists.words.iter().any(|list| may_be_changed(list, self.suspects));
        let folders: Vec<String> =
            words.iter().skip(1).flat_map(|word| names_in(&word.text)).take(MOST_LISTS).collect();
        let mut is_read = lists.words.is_empty();
        for path in self.list_paths(&lists.words).into_iter().take(MOST_LISTS) {
            let lines = self.call.listed(&path).map(<[String]>::to_vec);
            is_read |= lines.is_some();
            self.lists.insert(path);
            for line in lines.unwrap_or_default() {
                self.tokens(&line, &Touch::default());
                let names = line.split_whitespace().flat_map(|word| [last_parts(word), names_in(word)].concat());
                for name in names.collect::<Vec<_>>() {
                    self.name(&name, &saved);
                    folders.iter().for_each(|folder| self.name(&format!("{folder}/{name}"), &saved));
                }
                is_unknown |= self.touched.len() > MOST;
            }
        }
        if is_unknown || !is_read {
            self.touched.insert(Touch { path: ANY.to_string(), ..saved });
        }
    }

    /// The names in what a command is given, also with what the line puts in the place of variables.
    pub(super) fn given_names(&mut self, command: &Found, touch: &Touch) {
        let given = command.redirects.iter().filter(|redirect| redirect.way == Way::Given);
        let shapes = given.flat_map(|redirect| self.suspects.variables.spellings(&redirect.target));
        let texts: Vec<String> = shapes.chain(command.given.iter().cloned()).collect();
        texts.iter().for_each(|text| self.tokens(text, touch));
    }

    /// All that is a word of its own in a text that something takes for names.
    pub(crate) fn tokens(&mut self, text: &str, touch: &Touch) {
        let touch = Touch { is_word: false, ..touch.clone() };
        // What printf and echo make a blank of parts names, and is no letter of one.
        let parted = with_blanks(text);
        let is_end = |c: char| c.is_whitespace() || matches!(c, '\\' | '\0' | '\'' | '"');
        for token in text.split(is_end).chain(parted.split(is_end)).take(MOST) {
            names_in(token).iter().filter(|name| !name.is_empty()).for_each(|name| self.name(name, &touch));
        }
    }

    /// The names in a text that something may run or take for words.
    pub(crate) fn text(&mut self, text: &str, touch: &Touch) {
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~' | '+' | '@' | '%' | ANY);
        let touch = Touch { is_word: false, descent: Descent::No, ..touch.clone() };
        // An address of a file is one as it is among words: `url=file://$PWD/x` for curl.
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'');
        for address in text.split(is_end).filter(|token| token.to_ascii_lowercase().contains("file:")) {
            names_in(address).iter().for_each(|name| self.name(name, &touch));
        }
        for name in text.split(|c| !is_path(c)).filter(|name| name.contains(['.', '/', '~'])) {
            self.name(name, &touch);
            if name.contains('%') {
                self.name(&percent_decoded(name), &touch);
            }
            // Glued to an option.
            let glued = if name.starts_with('-') { names_in(name) } else { vec![] };
            glued.iter().for_each(|name| self.name(name, &touch));
        }
    }

    /// The words of what an editor is told to do.
    pub(crate) fn orders(&mut self, text: &str, touch: &Touch) {
        let touch = Touch { is_word: false, descent: Descent::Named, ..touch.clone() };
        text.split_whitespace().skip(1).for_each(|name| self.name(name, &touch));
    }

    /// The names in scripts for sed: `r` and `w` have their file right behind them.
    pub(super) fn behind_letters(&mut self, command: &Found, touch: &Touch) {
        // A file, and nothing below it: the end of `s/a/bar/` is no folder that is gone through.
        let touch = &Touch { descent: Descent::No, ..touch.clone() };
        let words = command.words.iter().skip(1).flat_map(|word| self.suspects.variables.spellings(word));
        let scripts: Vec<String> = words.chain(command.given.iter().cloned()).collect();
        for part in scripts.iter().flat_map(|script| script.split(['=', ' ', '\\', '\n', ';'])) {
            let letters = part.char_indices().filter(|(_, c)| matches!(c, 'r' | 'R' | 'w' | 'W'));
            // Also behind a blank.
            let starts = letters.map(|(at, _)| at + 1).chain(part.starts_with(ANY).then_some(0));
            for name in starts.map(|at| &part[at..]) {
                self.name(name, touch);
                // What another command prints there may be the folder one works in.
                if let Some((before, behind)) = name.rsplit_once(ANY) {
                    self.name(&format!("{before}.{behind}"), touch);
                }
            }
        }
    }

    /// The texts that stand in quotes in code: files, patterns, and folders that are meant as a whole.
    pub(crate) fn code(&mut self, command: &Found, touch: &Touch) {
        let touch = Touch { is_word: false, descent: Descent::Named, ..touch.clone() };
        for text in strings(command) {
            self.name(&as_pattern(&text), &touch);
        }
    }

    /// A word some of which nobody knows, with words of other commands in its place.
    pub(crate) fn fill(&mut self, word: &ShellWord, touch: &Touch) {
        let descent = if touch.descent == Descent::All { Descent::Named } else { Descent::No };
        let touch = Touch { is_word: false, descent, ..touch.clone() };
        let mut shapes = self.suspects.variables.shapes(word);
        for mark in &self.marks {
            shapes.iter_mut().for_each(|shape| *shape = shape.replace(mark, &ANY.to_string()));
        }
        shapes.retain(|shape| shape.contains(ANY));
        if shapes.is_empty() {
            return;
        }
        let parts = self.parts.get_or_init(|| parts_of_names(self.suspects));
        let others = parts.iter().filter(|(at, _)| *at != self.at).map(|(_, part)| part.clone());
        let others: Vec<String> = others.chain(self.affixes(word)).take(MOST_OTHERS).collect();
        for shape in &shapes {
            let is_twice = shape.matches(ANY).count() > 1;
            let most = if is_twice { MOST_TWICE } else { MOST_OTHERS };
            if others.len() >= most {
                self.touched.insert(Touch { path: ANY.to_string(), ..touch.clone() });
                continue;
            }
            for first in &others {
                let filled = shape.replacen(ANY, first, 1);
                let rest = if is_twice { others.clone() } else { vec![String::new()] };
                for second in rest {
                    let name = filled.replace(ANY, &second);
                    names_in(&name).iter().for_each(|name| self.name(name, &touch));
                }
            }
        }
    }

    /// What is left of the values of variables in a word where something is taken from their beginning or end.
    fn affixes(&self, word: &ShellWord) -> Vec<String> {
        let made = word.pieces.iter().filter_map(|piece| match piece {
            Piece::MadeOf(name, _) => Some(Piece::Variable(name.clone())),
            _ => None,
        });
        let values = made.flat_map(|piece| {
            let variable = ShellWord { pieces: vec![piece], ..ShellWord::default() };
            self.suspects.variables.shapes(&variable)
        });
        let mut affixes = vec![];
        for value in values.filter(|value| value.len() <= LONGEST_VALUE && !value.contains(ANY)) {
            let places = value.char_indices().map(|(at, _)| at).skip(1);
            affixes.extend(places.flat_map(|at| [value[..at].to_owned(), value[at..].to_owned()]));
        }
        affixes
    }
}

/// Whether a word begins with a variable of which more than its beginning or its end is changed, as in `${X/a/b}`.
pub(crate) fn begins_anew(word: &ShellWord) -> bool {
    let is_first = matches!(word.pieces.first(), Some(Piece::MadeOf(..)));
    let inside = word.raw.split_once("${").map_or("", |(_, inside)| inside);
    let operator = inside.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_');
    is_first
        && (operator.starts_with(['/', ',', '^', '@', '!'])
            || operator.starts_with(':') && !operator[1..].starts_with(['-', '=', '+', '?']))
}

/// The words of a line that may be parts of a name, each with the place of its command.
fn parts_of_names(suspects: &Suspects) -> Vec<(usize, String)> {
    let git_folder = prints_git_folder(suspects).then(|| (usize::MAX, GIT_FOLDER.to_owned()));
    let mut parts: BTreeSet<(usize, String)> = git_folder.into_iter().collect();
    for (at, command) in suspects.found.iter().enumerate() {
        let words = command.words.iter().flat_map(|word| suspects.variables.spellings(word));
        for text in words.chain(command.given.iter().cloned()) {
            let is_name = |text: &&str| !text.starts_with('-') && text.len() < 200;
            for word in text.split_whitespace().filter(is_name) {
                // A part of a path is left of it.
                let named = word.split('/').chain([word]).filter(|part| !part.is_empty() && !part.contains([ANY, '$']));
                parts.extend(named.map(|part| (at, part.to_owned())));
            }
        }
        // What is only listed counts where another command gets it.
        let places = places_printed(command, suspects).into_iter();
        let places = places.filter(|name| command.is_nested || !name.contains(STAR));
        parts.extend(places.map(|name| (at, name)));
    }
    parts.into_iter().rev().collect()
}

/// What `source` finds in the folders that the line gives to PATH.
fn sourced(words: &[ShellWord], suspects: &Suspects) -> Vec<String> {
    let [first, file, ..] = words else { return vec![] };
    if !matches!(first.text.as_str(), "." | "source") {
        return vec![];
    }
    let names: Vec<String> =
        suspects.variables.spellings(file).into_iter().filter(|name| !name.contains('/')).collect();
    let paths = suspects.variables.values.get("PATH").into_iter().flatten();
    let folders = paths.flat_map(|path| path.split(':')).filter(|folder| !folder.is_empty());
    folders.flat_map(|folder| names.iter().map(move |name| format!("{folder}/{name}"))).collect()
}

/// Whether a patch names a file in quotes, in which numbers may stand for letters.
pub(super) fn has_escaped_names(text: &str) -> bool {
    text.contains('"') && text.split(['\n', '\'']).any(|line| is_escaped(line.trim_start()))
}

/// Whether a text in double quotes has a letter as `\\145`.
pub(super) fn has_octal_name(text: &str) -> bool {
    let is_octal = |behind: &str| behind.len() >= 3 && behind.chars().take(3).all(|c| ('0'..='7').contains(&c));
    text.contains('"') && text.split('\\').skip(1).any(is_octal)
}

fn is_escaped(line: &str) -> bool {
    is_header(line) && line.contains('"') && line.contains('\\')
}

/// Whether a line of a mail says that its text is written in another way.
fn is_encoded(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    line.starts_with("content-transfer-encoding:") && (line.contains("base64") || line.contains("quoted"))
}

/// Whether a line of a patch says which file is changed.
fn is_header(line: &str) -> bool {
    ["+++ ", "--- ", "*** ", "diff ", "rename ", "copy ", "Index: "].iter().any(|begin| line.starts_with(begin))
}
