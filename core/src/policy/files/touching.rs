//! Every word is a path: what the words of a line may name, for protected files, path rules and removals.
//!
//! Which program does what with which of its words is not asked here. A word counts as a file that may be read and changed,
//! unless its command is one that surely only reads, or only prints its words.

use std::cell::OnceCell;
use std::collections::BTreeSet;

use super::access::Access;
use super::call::{Call, Context};
use super::copying::copied;
use super::folders::{Folders, prints_git_folder};
use super::leaving::is_lost;
use super::linking::led_to;
use super::skipping::{PassedOver, is_glob};
use super::unknown_names::{begins_anew, has_escaped_names, has_octal_name};
use crate::policy::commands::command::name_of;
use crate::policy::commands::erasing::interprets;
use crate::policy::commands::find_tests::is_passed_over;
use crate::policy::commands::inert::{is_inert, started};
use crate::policy::commands::reading::{Descent, Reading, descent, descent_of, prints_names, reading};
use crate::policy::commands::searching::searches_here;
use crate::policy::critical::cleaning::cleans_here;
use crate::policy::lines::starts::{starts, starts_behind_unknown};
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::names::handing::{inner, marks, taker};
use crate::policy::names::leaving_out::{left_out, stops_early};
use crate::policy::names::messages::is_no_file;
use crate::policy::names::saving::saved_as;
use crate::policy::names::sought::own_patterns;
use crate::policy::shell::{ANY, Joint, ONE, OUTER, Piece, STAR, ShellWord, Way};
use crate::policy::words::candidates::names_in;
use crate::policy::words::values::{fills_outside_quotes, is_literal};

/// A file that a line may have to do with.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Touch {
    /// Absolute; a shape where it is not certain.
    pub(crate) path: String,
    /// Something else than reading may be done to it.
    pub(crate) may_change: bool,
    /// It stands there as a word, or behind `=` and its like.
    pub(crate) is_word: bool,
    /// Only something that may be run, or taken for a pattern, names it: nothing is denied for it, and somebody is asked.
    pub(crate) is_perhaps: bool,
    /// Whether what lies below it counts as well.
    pub(crate) descent: Descent,
    /// Of that, these files do not.
    pub(crate) passed_over: PassedOver,
}

/// More files than this are not looked at.
pub(crate) const MOST: usize = 4_000;
/// What the words of a line may name.
#[derive(Debug)]
pub(crate) struct Touched {
    pub(crate) files: Vec<Touch>,
    /// Files with names in them that something takes, for whoever can look at a disk.
    pub(crate) lists: BTreeSet<String>,
    /// There are no others. False where they are too many to look at.
    pub(crate) is_complete: bool,
}

impl Touched {
    pub(crate) fn by(suspects: &Suspects, call: &Call, context: &Context) -> Self {
        let Folders { all: folders, mut is_complete } = Folders::of(suspects, call, context);
        let only_tells = only_tells(suspects);
        let consumes = |command: &Found| match reading(&command.words) {
            Reading::Perhaps if only_tells && is_read(command) => Reading::Nothing,
            Reading::Perhaps => Reading::Perhaps,
            _ => taker(&command.words).map_or(Reading::Nothing, |taker| taker.does),
        };
        let piped = suspects.found.iter().filter(|command| command.joint == Joint::Pipe && !command.words.is_empty());
        let consumed = piped.map(consumes).max().unwrap_or(Reading::Nothing);
        let (touched, lists) = (BTreeSet::new(), BTreeSet::new());
        let marks = marks(suspects);
        let mut toucher = Toucher {
            suspects,
            call,
            context,
            folders,
            touched,
            lists,
            consumed,
            marks,
            prints_git_folder: prints_git_folder(suspects),
            names_streams: suspects.found.iter().any(|one| one.words.iter().any(|word| word.text.contains("/dev/std"))),
            deepest: deepest(suspects),
            parts: OnceCell::new(),
            at: 0,
            only_prints: false,
        };
        for (at, command) in suspects.found.iter().enumerate() {
            toucher.at = at;
            toucher.command(command);
            if toucher.touched.len() > MOST {
                is_complete = false;
                break;
            }
        }
        toucher.handed();
        for name in led_to(&suspects.found) {
            toucher.name(&name, &Touch { may_change: true, descent: Descent::All, ..Touch::default() });
        }
        if is_lost(suspects) {
            toucher.lose_way();
        }
        Self { files: toucher.touched.into_iter().collect(), lists: toucher.lists, is_complete }
    }
}

/// Takes in the files of a line, command by command.
pub(super) struct Toucher<'a> {
    pub(crate) suspects: &'a Suspects,
    pub(crate) call: &'a Call,
    pub(crate) context: &'a Context,
    pub(crate) folders: Vec<String>,
    pub(crate) touched: BTreeSet<Touch>,
    pub(crate) lists: BTreeSet<String>,
    /// What the ends of pipes do with names that they are given.
    pub(crate) consumed: Reading,
    /// What `xargs` puts names in the place of.
    pub(crate) marks: Vec<&'a str>,
    pub(super) prints_git_folder: bool,
    /// A word names a standard stream, which is a folder where its input is one.
    names_streams: bool,
    /// How far those go into folders that take words from what others print.
    pub(super) deepest: Descent,
    /// The words of all commands: what nobody knows in one may be a word of another.
    pub(crate) parts: OnceCell<Vec<(usize, String)>>,
    /// The place of the command that is looked at, and whether it only prints its words.
    pub(crate) at: usize,
    pub(crate) only_prints: bool,
}

impl Toucher<'_> {
    fn command(&mut self, command: &Found) {
        for redirect in &command.redirects {
            let may_change = match redirect.way {
                Way::Out => true,
                Way::In => false,
                Way::Copy | Way::Given => continue,
            };
            let descent = if self.names_streams { Descent::All } else { Descent::No };
            let is_perhaps = command.is_in_text;
            self.word(&redirect.target, &Touch { may_change, is_word: true, is_perhaps, descent, ..Touch::default() });
        }
        self.implied(command);
        let Some((first, rest)) = command.words.split_first() else { return };
        let kind = reading(&command.words);
        self.only_prints = kind == Reading::Nothing;
        if !first.is_literal {
            // A program is only run where it is one word, and known.
            let is_known = |shape: &String| is_literal(shape) && !shape.contains([OUTER, ' ', '\t', '\n']);
            let may_change = !self.suspects.variables.spellings(first).iter().all(is_known);
            let is_perhaps = command.is_in_text;
            self.word(first, &Touch { may_change, is_word: true, is_perhaps, ..Touch::default() });
        }
        // What it prints may be the words of another.
        let handed_on = command.is_nested || self.consumed != Reading::Nothing;
        let flows = handed_on && (kind != Reading::Only || prints_names(&command.words));
        if kind == Reading::Nothing && !flows {
            return;
        }
        // Words that are printed for another are folders that it goes into.
        let prints_words = self.only_prints || says_words(&command.words);
        let handed = if handed_on && prints_words { self.deepest } else { Descent::No };
        let behind = starts_behind_unknown(&command.words).into_iter().map(|at| descent(&command.words[at..]));
        let descent = behind.chain([descent(&command.words), handed]).max().unwrap_or_default();
        let is_changed = flows && (command.is_nested || self.consumed == Reading::Perhaps);
        let may_change = kind == Reading::Perhaps || is_changed;
        let left_out = left_out(&command.words, || stops_early(command, self.suspects));
        let copied = copied(&command.words);
        let passed_over = PassedOver::by(command, &left_out, self.suspects);
        let is_perhaps = command.is_in_text;
        let touch = Touch { path: String::new(), may_change, is_word: true, is_perhaps, descent, passed_over };
        for (at, word) in command.words.iter().enumerate().skip(1) {
            let is_no_file = is_no_file(&command.words, at) || is_passed_over(&command.words, at);
            // What a glob takes in is read.
            if !left_out.iter().any(|left| left.at == at && !is_glob(left)) && !is_no_file {
                let may_change = may_change && !copied.as_ref().is_some_and(|copied| copied.sources.contains(&at));
                let descent = descent_of(&command.words, at, descent);
                self.word(word, &Touch { may_change, descent, ..touch.clone() });
            }
        }
        for name in copied.iter().flat_map(|copied| &copied.made) {
            self.name(name, &Touch { may_change: true, ..Touch::default() });
        }
        // The rest of what a program makes of its words is looked for on the disk.
        for name in own_patterns(command, self.suspects).iter().filter(|name| is_literal(name)) {
            self.name(name, &Touch { is_perhaps: true, ..touch.clone() });
        }
        if kind == Reading::Perhaps {
            let saved = starts(&command.words).into_iter().flat_map(|at| saved_as(&command.words[at..], self.suspects));
            let touch = Touch { may_change: true, ..Touch::default() };
            saved.collect::<Vec<_>>().iter().for_each(|name| self.name(name, &touch));
        }
        // The folder it is in, where no other is named.
        let is_fed = command.joint == Joint::Pipe;
        let searches = |words: &[ShellWord]| {
            crate::policy::commands::reading::descent(words) == Descent::All && searches_here(words, is_fed)
        };
        let here = |words: &[ShellWord]| searches(words) || cleans_here(words);
        if starts(&command.words).into_iter().any(|start| here(&command.words[start..])) {
            self.word(&ShellWord::plain("."), &touch);
        }
        if kind == Reading::Perhaps && !is_inert(&command.words) {
            let texts = rest.iter().map(|word| word.text.as_str()).chain(command.given.iter().map(String::as_str));
            let texts: Vec<&str> = texts.filter(|text| text.contains([' ', '\'', '"', '(', '\n', '!'])).collect();
            texts.into_iter().for_each(|text| self.text(text, &touch));
            if interprets(&command.words) {
                self.code(command, &touch);
            }
            if matches!(name_of(&first.text), "vi" | "vim" | "nvim" | "view" | "ex" | "emacs") {
                rest.iter().for_each(|word| self.orders(&word.text, &touch));
            }
            if starts(&command.words).iter().any(|at| name_of(&command.words[*at].text) == "sed") || !first.is_literal {
                self.behind_letters(command, &touch);
            }
        }
        // What is given to a program by which another one gets its words.
        if handed_on || kind == Reading::Perhaps {
            let touch = Touch { may_change: true, ..touch.clone() };
            command.given.iter().for_each(|text| self.text(text, &touch));
            // With what the line puts in the place of variables.
            let given = command.redirects.iter().filter(|redirect| redirect.way == Way::Given);
            let shapes = given.flat_map(|redirect| self.suspects.variables.spellings(&redirect.target));
            shapes.collect::<Vec<_>>().iter().for_each(|shape| self.text(shape, &touch));
        }
        let texts =
            self.suspects.found.iter().flat_map(|one| one.given.iter().chain(one.words.iter().map(|word| &word.text)));
        // git takes names in quotes, in which numbers stand for letters, from its input.
        let is_git = name_of(&first.text) == "git" && kind != Reading::Nothing;
        if is_git && texts.clone().any(|text| has_octal_name(text)) {
            self.touched.insert(Touch { path: ANY.to_string(), may_change: true, ..touch.clone() });
        }
        if let Some(taker) = taker(&command.words) {
            if taker.is_patch && texts.clone().any(|text| has_escaped_names(text)) {
                self.touched.insert(Touch { path: ANY.to_string(), may_change: true, ..touch.clone() });
            }
            let touch = Touch { may_change: taker.does == Reading::Perhaps, descent: self.deepest, ..touch.clone() };
            self.given_names(command, &touch);
        }
        if flows && kind == Reading::Nothing {
            let texts = rest.iter().filter(|word| word.text.contains([' ', '\\']));
            texts.for_each(|word| self.tokens(&word.text, &touch));
        }
    }

    /// In a folder whose name the line makes up, any file may be meant.
    fn lose_way(&mut self) {
        let may_change = self.touched.iter().any(|touch| touch.may_change);
        if self.touched.iter().any(|touch| touch.is_word) {
            self.touched.insert(Touch { path: ANY.to_string(), may_change, ..Touch::default() });
        }
    }

    pub(crate) fn word(&mut self, word: &ShellWord, touch: &Touch) {
        for shape in self.suspects.variables.spellings(word) {
            for name in names_in(&shape) {
                self.name(&name, touch);
            }
            // Outside of quotes a value is as many words as it has.
            if shape.contains([' ', '\t', '\n']) && fills_outside_quotes(&word.raw) {
                let words = shape.split_whitespace().flat_map(names_in);
                words.collect::<Vec<_>>().iter().for_each(|name| self.name(name, touch));
            }
        }
        // What the line itself makes may be any name.
        let is_whole = word.pieces.iter().all(|piece| !matches!(piece, Piece::Text(_)));
        let is_made = self.suspects.variables.is_made(word);
        if self.suspects.variables.is_unfollowed(word) {
            self.touched.insert(Touch { path: ANY.to_string(), ..touch.clone() });
        }
        if is_made && (is_whole || !self.only_prints && begins_anew(word)) {
            self.touched.insert(Touch { path: ANY.to_string(), ..touch.clone() });
        }
        // A name that was put together where the line has set it.
        let is_text = |c: char| !matches!(c, ANY | STAR | ONE | OUTER);
        let is_joined = |shape: &String| shape.contains(ANY) && shape.contains(is_text);
        if !is_whole || self.prints_git_folder || self.suspects.variables.shapes(word).iter().any(is_joined) {
            self.fill(word, touch);
        }
    }
}

/// Whether a command is `read`, which does nothing but to keep what it is given.
fn is_read(command: &Found) -> bool {
    command.words.first().is_some_and(|word| word.is_literal && word.text == "read")
}

/// Whether what stands in names goes nowhere but to people: each command with something that is filled in prints its words,
/// and into no file.
fn only_tells(suspects: &Suspects) -> bool {
    let is_printer = |word: &ShellWord| word.is_literal && matches!(word.text.as_str(), "echo" | "printf");
    let hands_on = |word: &ShellWord| matches!(word.text.as_str(), "export" | "declare" | "typeset" | "set");
    let is_filled = |word: &ShellWord| !word.is_known() || word.text.contains(['$', '`']);
    suspects.found.iter().all(|command| {
        let words = command.words.iter().chain(command.assignments.iter().map(|(_, value)| value));
        let mut words = words.chain(command.redirects.iter().map(|redirect| &redirect.target));
        let takes = words.any(is_filled) || command.given.iter().any(|text| text.contains(['$', '`']));
        let first = command.words.first();
        let prints = first.is_some_and(is_printer) && reading(&command.words) == Reading::Nothing;
        let goes_on = command.is_nested
            || !command.given.is_empty()
            || !command.assignments.is_empty()
            || command.redirects.iter().any(|redirect| redirect.way != Way::Copy);
        !first.is_some_and(hands_on) && (!takes || prints && !goes_on)
    })
}

fn deepest(suspects: &Suspects) -> Descent {
    let takes = |command: &&Found| command.words.iter().any(|word| word.pieces.contains(&Piece::Unknown));
    let by_words = suspects.found.iter().filter(takes).map(|command| descent(&command.words));
    let by_lists = suspects.found.iter().filter_map(|command| {
        let taker = taker(&command.words).filter(|taker| !taker.is_patch)?;
        Some(match name_of(&started(&command.words).first()?.text) {
            "xargs" | "parallel" => inner(&started(&command.words)[1..]).map_or(Descent::No, descent),
            "ed" | "ex" | "cpio" => Descent::No,
            _ if taker.does == Reading::Nothing => Descent::No,
            _ => descent(&command.words),
        })
    });
    by_words.chain(by_lists).max().unwrap_or_default()
}

/// Whether a command prints its words, as they are or as the files that they name.
fn says_words(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = started(words).split_first() else { return false };
    match name_of(&first.text) {
        "realpath" | "readlink" | "date" => true,
        "ls" => rest.iter().any(|word| word.is_flag() && word.text.contains('d')),
        _ => false,
    }
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
