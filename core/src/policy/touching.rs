//! Every word is a path: what the words of a line may name, for protected files, path rules and removals.
//!
//! Which program does what with which of its words is not asked here. A word counts as a file that may be read and changed,
//! unless its command is one that surely only reads, or only prints its words.

use std::collections::BTreeSet;

use super::access::{Access, changes_folder};
use super::call::{Call, Context};
use super::command::name_of;
use super::inert::is_inert;
use super::path::absolute;
use super::reading::{Reading, does_more, prints_names, reading};
use super::removal::without_proc;
use super::shell::{ANY, Joint, ONE, Piece, STAR, ShellWord, Way};
use super::suspects::{Found, Suspects};
use super::values::is_literal;

/// A file that a line may have to do with.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touch {
    /// Absolute; a shape where it is not certain.
    pub(crate) path: String,
    /// Something else than reading may be done to it.
    pub(crate) may_change: bool,
    /// It stands there as a word, or behind `=` and its like.
    pub(crate) is_word: bool,
    /// What lies below it counts as well.
    pub(crate) descends: bool,
}

/// More folders than this are not followed.
const MOST_FOLDERS: usize = 32;
/// More files than this are not looked at.
const MOST: usize = 2_000;

/// Where the commands of a line may run, and whether these are all.
pub(crate) fn folders(suspects: &Suspects, context: &Context) -> (Vec<String>, bool) {
    let mut folders: Vec<String> = context.both(&context.cwd).map(str::to_owned).collect();
    let mut unknown = false;
    for to in suspects.commands.iter().flat_map(|suspect| targets(&suspect.words)) {
        for shape in suspects.variables.spellings(&to) {
            if !is_literal(&shape) {
                unknown |= shape.contains(ANY);
                continue;
            }
            let shape = if shape == "~+" { ".".to_owned() } else { shape };
            for at in 0..folders.len() {
                let moved = absolute(&shape, &folders[at], context.home.as_deref());
                folders.extend(moved.filter(|moved| !folders.contains(moved)));
            }
            if folders.len() > MOST_FOLDERS {
                return (folders, false);
            }
        }
    }
    if unknown {
        // It may be any place that the line names.
        let words = suspects.found.iter().flat_map(|command| command.words.iter().skip(1));
        let places: Vec<String> = words
            .filter(|word| {
                word.text.starts_with(['/', '~']) || word.text.contains("..") || !word.text.contains(['-', '='])
            })
            .filter_map(|word| absolute(&word.text, &context.cwd, context.home.as_deref()))
            .take(MOST_FOLDERS)
            .collect();
        folders.extend(places);
        folders.sort();
        folders.dedup();
    }
    let all = folders.len() <= MOST_FOLDERS;
    (folders, all)
}

/// The folders that a command goes to, or has another go to.
fn targets(words: &[ShellWord]) -> Vec<ShellWord> {
    let Some((first, rest)) = words.split_first() else { return vec![] };
    if changes_folder(&first.text) {
        let folder = rest.iter().find(|word| !word.is_flag()).cloned();
        return vec![folder.unwrap_or_else(|| ShellWord::plain("~"))];
    }
    let mut targets = vec![];
    for (at, word) in rest.iter().enumerate() {
        match word.text.as_str() {
            "-C" | "-D" | "--chdir" | "--directory" => targets.extend(rest.get(at + 1).cloned()),
            text => {
                let glued = ["--chdir=", "--directory=", "--working-directory=", "-C"]
                    .iter()
                    .find_map(|flag| text.strip_prefix(flag));
                targets.extend(glued.map(ShellWord::read));
            }
        }
    }
    targets
}

/// What the words of a line may name; none where they are too many to look at.
pub(crate) fn touched(suspects: &Suspects, call: &Call, context: &Context) -> (Vec<Touch>, bool) {
    let (folders, mut all) = folders(suspects, context);
    let computes = |command: &Found| {
        let name = command.words.first().map_or("", |word| name_of(&word.text));
        command.is_nested && matches!(name, "rev" | "tr" | "base64" | "base32" | "xxd" | "printf")
    };
    let computes = suspects.found.iter().any(computes);
    let mut toucher = Toucher { suspects, call, context, folders, touched: BTreeSet::new(), computes };
    let consumes = |command: &Found| {
        command.joint == Joint::Pipe && !command.words.is_empty() && reading(&command.words) == Reading::Perhaps
    };
    let consumed = suspects.found.iter().any(consumes);
    for command in &suspects.found {
        toucher.command(command, consumed);
        if toucher.touched.len() > MOST {
            all = false;
            break;
        }
    }
    (toucher.touched.into_iter().collect(), all)
}

struct Toucher<'a> {
    suspects: &'a Suspects,
    call: &'a Call,
    context: &'a Context,
    folders: Vec<String>,
    touched: BTreeSet<Touch>,
    /// A command in it makes words out of others.
    computes: bool,
}

impl Toucher<'_> {
    fn command(&mut self, command: &Found, consumed: bool) {
        for redirect in &command.redirects {
            let may_change = match redirect.way {
                Way::Out => true,
                Way::In => false,
                Way::Copy | Way::Given => continue,
            };
            self.word(&redirect.target, &Touch { path: String::new(), may_change, is_word: true, descends: false });
        }
        let Some((first, rest)) = command.words.split_first() else { return };
        let kind = reading(&command.words);
        if !first.is_literal {
            self.word(first, &Touch { path: String::new(), may_change: true, is_word: true, descends: false });
        }
        // What it prints may be the words of another.
        let handed_on = command.is_nested || consumed;
        let flows = handed_on && (kind != Reading::Only || prints_names(&command.words));
        if kind == Reading::Nothing && !flows {
            return;
        }
        let descends = super::reading::descends(&command.words);
        let touch =
            Touch { path: String::new(), may_change: kind == Reading::Perhaps || flows, is_word: true, descends };
        for word in rest {
            self.word(word, &touch);
        }
        // The folder it is in, where no other is named.
        if descends && searches_here(&command.words, command.joint == Joint::Pipe) {
            self.word(&ShellWord::plain("."), &touch);
        }
        if kind == Reading::Perhaps && !is_inert(&command.words) {
            let texts = rest.iter().map(|word| word.text.as_str()).chain(command.given.iter().map(String::as_str));
            let texts: Vec<&str> = texts.filter(|text| text.contains([' ', '\'', '"', '(', '\n', '!'])).collect();
            texts.into_iter().for_each(|text| self.text(text, &touch));
            if name_of(&first.text) == "sed" {
                // `r` and `w` have their file right behind them.
                for shape in rest.iter().flat_map(|word| self.suspects.variables.spellings(word)) {
                    let glued = shape.rsplit(['=', ' ', '\\']).next().unwrap_or_default();
                    glued.char_indices().skip(1).take(6).for_each(|(at, _)| self.name(&glued[at..], &touch));
                }
            }
        }
        // What is given to a program by which another one gets its words.
        if handed_on || kind == Reading::Perhaps {
            let touch = Touch { may_change: true, ..touch.clone() };
            command.given.iter().for_each(|text| self.text(text, &touch));
        }
        if flows && kind == Reading::Nothing {
            rest.iter().filter(|word| word.text.contains(' ')).for_each(|word| self.text(&word.text, &touch));
        }
    }

    /// The names in a text that something may run or take for words.
    fn text(&mut self, text: &str, touch: &Touch) {
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '~' | '+' | '@' | '%');
        for name in text.split(|c| !is_path(c)).filter(|name| name.contains(['.', '/', '~'])) {
            self.name(name, &Touch { is_word: false, descends: false, ..touch.clone() });
        }
    }

    fn word(&mut self, word: &ShellWord, touch: &Touch) {
        for shape in self.suspects.variables.spellings(word) {
            for name in names_in(&shape) {
                self.name(name, touch);
            }
        }
        // What the line itself makes may be any name.
        let is_made =
            || self.suspects.variables.is_made(word) || self.computes && word.pieces.contains(&Piece::Unknown);
        let is_whole = word.pieces.iter().all(|piece| !matches!(piece, Piece::Text(_)));
        if is_whole && is_made() {
            self.touched.insert(Touch { path: ANY.to_string(), ..touch.clone() });
        }
    }

    fn name(&mut self, name: &str, touch: &Touch) {
        if name.len() > 4_096 || !name.chars().any(|c| !matches!(c, ANY | STAR)) || self.touched.len() > MOST {
            return;
        }
        for folder in self.folders.clone() {
            // What begins with what nobody knows may begin anywhere.
            let path = match name.starts_with(ANY) {
                true => Some(name.to_owned()),
                false => absolute(name, &folder, self.context.home.as_deref()),
            };
            // `~+` is the folder one is in, and another's home may be one's own.
            let Some(path) = path.or_else(|| {
                let (user, below) = name.split_once('/').unwrap_or((name, ""));
                let home = if user == "~+" { Some(folder.as_str()) } else { self.context.home.as_deref() };
                absolute(below, home?, None)
            }) else {
                continue;
            };
            let through = without_proc(&path, &folder);
            if through != path {
                self.touched.insert(Touch { path: through, ..touch.clone() });
            }
            if name.split('/').any(|part| part == "..") {
                let from = match name.strip_prefix('~') {
                    Some(below) => format!("{}{below}", self.context.home.as_deref().unwrap_or_default()),
                    None if name.starts_with('/') => name.to_owned(),
                    None => format!("{folder}/{name}"),
                };
                let parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
                self.touched.insert(Touch { path: format!("/{}", parts.join("/")), ..touch.clone() });
            }
            if let Some(made) = self.call.expansion(&path) {
                for path in made {
                    self.touched.insert(Touch { path: path.clone(), ..touch.clone() });
                }
                if !path.contains(ANY) {
                    continue;
                }
            }
            self.touched.insert(Touch { path, ..touch.clone() });
        }
    }
}

/// Whether a search that goes into folders may be one of the folder it is in, as no other is surely named.
fn searches_here(words: &[ShellWord], is_fed: bool) -> bool {
    let words = super::inert::started(words);
    let Some((first, rest)) = words.split_first() else { return false };
    // The letters of options without a value, and of those that say what is looked for.
    let (lone, pattern, rest) = match name_of(&first.text) {
        "grep" | "egrep" | "fgrep" => ("rRnilLwxvchHoqsEFGPaIzZUbyT", "ef", rest),
        "rg" if !is_fed => ("nNisSlcwxvFopquUzaLHIP0h.", "ef", rest),
        "ag" if !is_fed => ("acHilLoQsSuUvwz0fhnrR", "", rest),
        "git" => {
            let Some(at) = rest.iter().position(|word| word.text == "grep") else { return false };
            ("nilLwvchHoqEFGPaIprz", "ef", &rest[at + 1..])
        }
        _ => return false,
    };
    let (mut named, mut says_pattern, mut takes_next) = (0, false, false);
    let mut words = rest.iter();
    for word in words.by_ref() {
        let text = word.text.as_str();
        if std::mem::take(&mut takes_next) {
            continue;
        }
        match text.strip_prefix("--") {
            Some("") => break,
            Some(long) => {
                says_pattern |= ["regexp", "file"].contains(&long.split('=').next().unwrap_or_default());
                takes_next = !long.contains('=') && !is_lone(long);
            }
            None if word.is_flag() => {
                let valued = text.char_indices().skip(1).find(|(_, c)| !lone.contains(*c));
                says_pattern |= valued.is_some_and(|(_, c)| pattern.contains(c));
                let is_number = text[1..].chars().all(|c| c.is_ascii_digit());
                takes_next = !is_number && valued.is_some_and(|(at, c)| at + c.len_utf8() == text.len());
            }
            // A revision is no folder.
            None => {
                let is_revision = text.contains(['~', '^', ':', '@'])
                    || matches!(text, "HEAD" | "FETCH_HEAD" | "ORIG_HEAD" | "main" | "master");
                named += usize::from(!is_revision || name_of(&first.text) != "git" || named == 0 && !says_pattern);
            }
        }
    }
    named + words.count() < if says_pattern { 1 } else { 2 }
}

/// Long options of searches without a value.
fn is_lone(long: &str) -> bool {
    let lone = [
        "recursive",
        "dereference-recursive",
        "line-number",
        "ignore-case",
        "hidden",
        "files-with-matches",
        "files-without-match",
        "word-regexp",
        "line-regexp",
        "fixed-strings",
        "extended-regexp",
        "perl-regexp",
        "count",
        "color",
        "colour",
        "heading",
        "invert-match",
        "with-filename",
        "only-matching",
        "smart-case",
        "case-sensitive",
        "follow",
        "multiline",
        "pcre2",
        "json",
        "stats",
        "null",
        "quiet",
        "silent",
        "text",
        "vimgrep",
        "column",
        "unrestricted",
    ];
    // rg has `--color` with a value.
    long.starts_with("no-") || lone.contains(&long) && long != "color"
}

/// The names in a word that may be files: itself, what stands behind `=`, `@`, `:`, `,` and `;`, and what is glued to a flag.
fn names_in(shape: &str) -> Vec<&str> {
    let is_flag = shape.len() > 1 && shape.starts_with('-');
    let is_address = shape.contains("://") && !shape.contains("file:");
    let mut names = vec![];
    if !is_flag && !is_address {
        names.push(shape);
    }
    let separators: &[char] = if is_address { &['=', '@', ','] } else { &['=', '@', ':', ',', ';'] };
    let parts =
        shape.split(separators).skip(1).filter(|part| !part.is_empty() && (!is_address || !part.contains("//")));
    names.extend(parts);
    if let Some((before, _)) = shape.split_once(':').filter(|_| !is_flag && !is_address) {
        names.push(before);
    }
    if is_flag && !shape.starts_with("--") {
        names.extend(shape.char_indices().skip(2).take(12).map(|(at, _)| &shape[at..]));
    }
    if is_flag {
        // Behind `--` it may be a name all the same.
        names.push(shape);
        names.extend(shape.find('/').map(|at| &shape[at..]));
    }
    names
}

/// Folders through which find looks for files that something else is then done to.
pub(crate) struct Sought {
    pub(crate) folders: Vec<String>,
    /// What is done to them may be more than reading.
    pub(crate) may_change: bool,
    /// What the files are called; none for all.
    names: Vec<String>,
}

impl Sought {
    pub(crate) fn is_called(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or_default().to_lowercase();
        self.names.is_empty() || self.names.iter().any(|pattern| super::glob::segment_matches(pattern, &name))
    }
}

pub(crate) fn sought(suspects: &Suspects, context: &Context) -> Vec<Sought> {
    let is_find = |word: &ShellWord| matches!(name_of(&word.text), "find" | "fd");
    let hands_on = suspects.found.iter().any(|command| {
        let name = command.words.first().map_or("", |word| name_of(&word.text));
        matches!(name, "xargs" | "parallel" | "while" | "read")
            && reading(command.words.get(1..).unwrap_or_default()) == Reading::Perhaps
    });
    let consumed = suspects
        .found
        .iter()
        .any(|command| command.joint == Joint::Pipe && reading(&command.words) == Reading::Perhaps);
    let mut all = vec![];
    for command in suspects.found.iter().filter(|command| command.words.first().is_some_and(is_find)) {
        let words = &command.words[1..];
        let executed = words.iter().position(|word| does_more(&word.text));
        let runs = executed.map(|at| words.get(at + 1..).unwrap_or_default());
        let changes = runs.is_some_and(|runs| {
            words[executed.unwrap_or_default()].text == "-delete" || reading(runs) == Reading::Perhaps
        });
        let is_read = executed.is_some() || command.is_nested || consumed;
        if !changes && !hands_on && !is_read {
            continue;
        }
        let roots = words.iter().take_while(|word| !word.text.starts_with(['-', '(', '!']) || word.text.len() == 2);
        let roots: Vec<String> = roots.filter(|word| !word.is_flag()).map(|word| word.text.clone()).collect();
        let roots = if roots.is_empty() { vec![".".to_owned()] } else { roots };
        let (folders, _) = folders(suspects, context);
        let seen = folders
            .iter()
            .flat_map(|folder| roots.iter().filter_map(|root| absolute(root, folder, context.home.as_deref())));
        let named = |word: &&ShellWord| matches!(word.text.as_str(), "-name" | "-iname");
        let count = |names: &[&str]| words.iter().filter(|word| names.contains(&word.text.as_str())).count();
        let either = count(&["-o", "-or", ","]) > count(&["-prune"]);
        let not = |at: usize| at.checked_sub(1).is_some_and(|at| matches!(words[at].text.as_str(), "!" | "-not"));
        let names = (0..words.len()).filter(|at| named(&&words[*at]) && !not(*at)).filter_map(|at| words.get(at + 1));
        let names = if either { vec![] } else { names.map(|name| name.text.to_lowercase()).collect() };
        all.push(Sought { folders: seen.collect(), may_change: changes || hands_on, names });
    }
    all
}

/// The patterns of file names in what a line may touch, for whoever can look at a disk.
pub(crate) fn patterns(touched: &[Touch]) -> BTreeSet<String> {
    let is_pattern = |touch: &&Touch| touch.path.contains([STAR, ONE, ANY]) && touch.path.starts_with('/');
    touched.iter().filter(is_pattern).map(|touch| touch.path.clone()).collect()
}

impl Touch {
    /// The kinds of access it may be.
    pub(crate) fn may_be(&self, access: Access) -> bool {
        match access {
            Access::Read => true,
            Access::Write => self.may_change,
            Access::Enter => false,
        }
    }
}
