//! Names of files that one command hands to another: through a pipe, by `$(…)`, by `read`, or in a file with a list of them.
//!
//! Where such names come from decides whether anybody can tell what they are. A command that prints names of files is
//! followed on the disk, and so is a file with a list; the rest may be any name.

use super::changing::may_be_changed;
use super::filters::PrintedNames;
use super::messages::is_no_file;
use super::printing::{Printed, printed};
use crate::policy::commands::command::name_of;
use crate::policy::commands::erasing::interprets;
use crate::policy::commands::git_files::{handles_files, subcommand};
use crate::policy::commands::inert::started;
use crate::policy::commands::reading::{Reading, builds, reading};
use crate::policy::lines::starts::starts_behind_unknown;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{ANY, Joint, ShellWord, Way};
use crate::policy::words::candidates::names_in;
use crate::policy::words::options::VALUED_OF_TAR;

/// What a line does with names that come from elsewhere.
pub(crate) struct Handing<'line> {
    /// What is done to files of such names, at most.
    pub(crate) taken: Reading,
    /// Some of these names nobody can read here.
    pub(crate) is_unknown: bool,
    /// Files that hold such names. One of each group is enough: the rest may be words of another kind.
    pub(crate) lists: Vec<NameList<'line>>,
    /// Commands that print names of files.
    pub(crate) printers: Vec<&'line Found>,
}

/// Files that hold names.
pub(crate) struct NameList<'line> {
    pub(crate) words: Vec<&'line ShellWord>,
    /// They are changes to files, which say in some of their lines to which.
    pub(crate) is_patch: bool,
}

impl<'line> Handing<'line> {
    pub(crate) fn of(suspects: &'line Suspects) -> Self {
        let words = suspects.found.iter().map(|command| by_words(command, suspects)).max();
        Self::to_words(&suspects.found.iter().collect::<Vec<_>>(), words.unwrap_or(Reading::Nothing), suspects)
    }

    /// The same of some commands, where this is done to files of names that come from elsewhere as words.
    pub(super) fn to_words(found: &[&'line Found], words: Reading, suspects: &Suspects) -> Self {
        let mut handing = Self { taken: Reading::Nothing, is_unknown: false, lists: vec![], printers: vec![] };
        let (nested, own): (Vec<&Found>, Vec<&Found>) = found.iter().partition(|found| found.is_nested);
        let keeps = found.iter().any(|command| fills_names(&command.words));
        handing.taken = words;
        for pipeline in pipelines(&own).into_iter().chain(pipelines(&nested)) {
            let prints = words != Reading::Nothing && pipeline.iter().any(|command| command.is_nested);
            let takers = pipeline.iter().enumerate().filter_map(|(at, command)| Some((at, any_taker(&command.words)?)));
            let takers: Vec<(usize, Taker<'line>)> = takers.collect();
            let reads = keeps && words != Reading::Nothing;
            for (at, taker) in &takers {
                handing.taken = handing.taken.max(taker.does);
                if taker.does == Reading::Nothing {
                    continue;
                }
                let list = |list: &&'line ShellWord| NameList { words: vec![*list], is_patch: taker.is_patch };
                handing.lists.extend(taker.lists.iter().map(list));
                if taker.lists.is_empty() {
                    handing.from(&pipeline[..*at], Some(pipeline[*at]), taker.is_patch);
                }
            }
            if prints {
                handing.from(&pipeline, None, false);
            } else if let Some(at) = pipeline.iter().position(|command| reads && fills_names(&command.words)) {
                handing.from(&pipeline[..at], Some(pipeline[at]), false);
            } else if reads && pipeline.iter().all(|command| command.words.is_empty()) {
                // `done < list`
                handing.from(&[], pipeline.first().copied(), false);
            }
        }
        // A list that the line itself changes is not the one that lies there.
        handing.is_unknown |=
            handing.lists.iter().flat_map(|list| &list.words).any(|list| may_be_changed(list, suspects));
        handing
    }

    /// Takes in what commands print for another one, which may have an input of its own.
    fn from(&mut self, printing: &[&'line Found], taking: Option<&'line Found>, is_patch: bool) {
        let led = |command: &'line Found| {
            let inputs = command.redirects.iter().filter(|redirect| redirect.way == Way::In);
            inputs.map(|redirect| &redirect.target).collect::<Vec<_>>()
        };
        let Some((first, filters)) = printing.split_first() else {
            let inputs = taking.map(led).unwrap_or_default();
            if !inputs.is_empty() {
                self.lists.push(NameList { words: inputs, is_patch });
            }
            return;
        };
        let mut names = match printed(first) {
            Printed::Files => {
                self.printers.push(first);
                PrintedNames::OfFiles
            }
            Printed::Words => PrintedNames::Words,
            Printed::Other => PrintedNames::None,
            Printed::Lines(words) => {
                let lists: Vec<&ShellWord> = led(first).into_iter().chain(words).collect();
                if !lists.is_empty() {
                    self.lists.push(NameList { words: lists, is_patch });
                }
                PrintedNames::Words
            }
            // What git knows is what it has.
            Printed::Unknown if is_patch && first.words.first().is_some_and(|word| name_of(&word.text) == "git") => {
                PrintedNames::None
            }
            Printed::Unknown => PrintedNames::Unknown,
        };
        for filter in filters {
            names = names.through(filter);
        }
        self.is_unknown |= names == PrintedNames::Unknown;
    }
}

/// The commands that are joined by pipes, in order.
pub(super) fn pipelines<'line>(commands: &[&'line Found]) -> Vec<Vec<&'line Found>> {
    let mut pipelines: Vec<Vec<&Found>> = vec![];
    for command in commands {
        match pipelines.last_mut().filter(|_| command.joint == Joint::Pipe) {
            Some(pipeline) => pipeline.push(command),
            None => pipelines.push(vec![command]),
        }
    }
    pipelines
}

/// What a command does to files whose names are words that nobody knows.
fn by_words(command: &Found, suspects: &Suspects) -> Reading {
    let is_unknown = |word: &ShellWord| suspects.variables.spellings(word).iter().any(|shape| shape.contains(ANY));
    let mut does = Reading::Nothing;
    for redirect in command.redirects.iter().filter(|redirect| is_unknown(&redirect.target)) {
        does = does.max(match redirect.way {
            Way::Out => Reading::Perhaps,
            Way::In => Reading::Only,
            Way::Copy | Way::Given => Reading::Nothing,
        });
    }
    let is_unknown_name = |at: usize| is_unknown(&command.words[at]) && !is_no_file(&command.words, at);
    if (1..command.words.len()).any(is_unknown_name) {
        does = does.max(done_to_files(&command.words));
    }
    // Who runs a file of code shows lines of it where they are none.
    let script = code_file(&command.words).filter(|word| is_unknown(word));
    does.max(script.map_or(Reading::Nothing, |_| Reading::Only))
}

/// The file with its code that an interpreter is told to run.
fn code_file(words: &[ShellWord]) -> Option<&ShellWord> {
    let (first, rest) = started(words).split_first()?;
    let is_code = interprets(std::slice::from_ref(first)) || matches!(name_of(&first.text), "bash" | "sh" | "zsh");
    let operand = rest.iter().find(|word| !word.is_flag())?;
    (is_code && !runs_code(words) && !rest.iter().any(|word| word.text == "-m")).then_some(operand)
}

/// What a command does to the files of its words. Whoever only goes there, compares texts or builds shows none of them.
fn done_to_files(words: &[ShellWord]) -> Reading {
    let words = started(words);
    match words.first().map_or("", |word| name_of(&word.text)) {
        "cd" | "pushd" | "popd" | "test" | "[" | "[[" | "kill" | "pkill" | "export" | "local" | "declare"
        | "readonly" | "set" | "shift" | "exit" | "return" | "wait" | "read" | "unset" | "ps" | "type" | "which" => {
            Reading::Nothing
        }
        name if builds(name) => Reading::Nothing,
        "git" if !handles_files(words) => Reading::Nothing,
        _ => reading(words),
    }
}

/// Whether a command is code in the line, which does to its words whatever it says.
fn runs_code(words: &[ShellWord]) -> bool {
    let is_code = |word: &ShellWord| matches!(word.text.as_str(), "-c" | "-e" | "-E" | "-r" | "-p" | "--eval" | "eval");
    interprets(words) && words.iter().any(is_code)
}

/// Whether a command keeps what it reads in variables.
pub(crate) fn fills_names(words: &[ShellWord]) -> bool {
    words.first().is_some_and(|word| matches!(word.text.as_str(), "read" | "mapfile" | "readarray"))
}

/// A command that takes names from its input, or from a list.
pub(crate) struct Taker<'line> {
    pub(crate) does: Reading,
    /// The files with names in them; none where they come by its input.
    lists: Vec<&'line ShellWord>,
    pub(crate) is_patch: bool,
}

/// The same, also behind a program that is not known.
fn any_taker(words: &[ShellWord]) -> Option<Taker<'_>> {
    taker(words).or_else(|| starts_behind_unknown(words).into_iter().find_map(|at| taker(&words[at..])))
}

/// Whether a command takes names of files from its input, and what it does to them.
pub(crate) fn taker(words: &[ShellWord]) -> Option<Taker<'_>> {
    let words = started(words);
    let (first, rest) = words.split_first()?;
    let name = name_of(&first.text);
    let is_input = |word: &&ShellWord| !matches!(word.text.as_str(), "-" | "/dev/stdin");
    let behind = |flags: &[&str]| {
        let at = rest.iter().position(|word| flags.contains(&word.text.as_str()))?;
        rest.get(at + 1).filter(is_input)
    };
    let has = |begins: &[&str]| rest.iter().any(|word| begins.iter().any(|begin| word.text.starts_with(begin)));
    match name {
        "xargs" | "parallel" => {
            let does = inner(rest).map_or(Reading::Nothing, |inner| match runs_code(inner) {
                true => Reading::Perhaps,
                false => done_to_files(inner),
            });
            let is_list = |at: &usize| matches!(rest[*at].text.as_str(), "-a" | "--arg-file" | "::::");
            let lists = (0..rest.len()).filter(is_list).filter_map(|at| rest.get(at + 1));
            let is_glued = |text: &str| text.starts_with("--arg-file=") || text.starts_with("-a") && text.len() > 2;
            let lists = lists.chain(rest.iter().filter(|word| is_glued(&word.text))).filter(is_input);
            Some(Taker { does, lists: lists.collect(), is_patch: false })
        }
        "cpio" | "pax" | "ed" | "ex" => Some(Taker { does: Reading::Perhaps, lists: vec![], is_patch: false }),
        "tar" | "bsdtar" => {
            // Letters of the first word count without a dash, with their values behind it in their order.
            let letters = rest.first().map_or("", |word| word.text.as_str());
            let old = Some(letters).filter(|text| !text.starts_with('-')).and_then(|text| text.find('T'));
            let old = old.map(|at| letters[..at].chars().filter(|c| VALUED_OF_TAR.contains(*c)).count() + 1);
            let is_short = |word: &ShellWord| {
                !word.text.starts_with("--") && word.text.starts_with('-') && word.text.contains('T')
            };
            let at = old.or(rest.iter().position(is_short).map(|at| at + 1));
            let long = rest.iter().any(|word| word.text.starts_with("--files-f"));
            let long = long.then(|| glued(rest, "--files-from"));
            let list = match (at, long) {
                (Some(at), _) => rest.get(at).filter(is_input),
                (None, Some(long)) => long.filter(is_input),
                (None, None) => return None,
            };
            Some(Taker { does: Reading::Perhaps, lists: list.into_iter().collect(), is_patch: false })
        }
        "patch" => {
            let named = rest.iter().filter(|word| !word.is_flag()).nth(1);
            let list = behind(&["-i", "--input"]).or_else(|| glued(rest, "--input")).or(named);
            Some(Taker { does: Reading::Perhaps, lists: list.into_iter().collect(), is_patch: true })
        }
        "git" if matches!(subcommand(rest), Some(("apply" | "am", _))) => {
            let (_, words) = subcommand(rest)?;
            let lists = words.iter().filter(|word| !word.is_flag()).collect();
            Some(Taker { does: Reading::Perhaps, lists, is_patch: true })
        }
        "zip" => {
            let is_named = has(&["-@"]) || rest.iter().any(|word| word.is_flag() && word.text.ends_with('@'));
            is_named.then_some(Taker { does: Reading::Perhaps, lists: vec![], is_patch: false })
        }
        "file" => {
            let list = behind(&["-f"]).into_iter().collect();
            has(&["-f", "--files-from"]).then_some(Taker { does: Reading::Only, lists: list, is_patch: false })
        }
        name => {
            let flag = rest.iter().find(|word| takes_names(&word.text))?;
            let does = if builds(name) { Reading::Nothing } else { reading(words) };
            let begin = flag.text.split('=').next().unwrap_or_default();
            Some(Taker { does, lists: glued(rest, begin).filter(is_input).into_iter().collect(), is_patch: false })
        }
    }
}

/// `--files0-from=x`, `--pathspec-from-file=x`, `--stdin-paths`, `--batch` and their like.
fn takes_names(flag: &str) -> bool {
    flag.strip_prefix("--").is_some_and(|long| {
        let long = long.split('=').next().unwrap_or_default();
        long.contains("from") && (long.contains("file") || long.contains("paths"))
            || long.starts_with("stdin")
            || long.starts_with("batch")
    })
}

/// The word with the value of a long option: itself behind `=`, or the next one.
fn glued<'line>(rest: &'line [ShellWord], begin: &str) -> Option<&'line ShellWord> {
    let at = rest.iter().position(|word| word.text.split('=').next() == Some(begin))?;
    match rest[at].text.split_once('=') {
        Some((_, "-" | "/dev/stdin")) => None,
        Some(_) => rest.get(at),
        None => rest.get(at + 1).filter(|word| !word.is_flag()),
    }
}

/// What `xargs -I{}` puts names in the place of, in all commands of a line.
pub(crate) fn marks(suspects: &Suspects) -> Vec<&str> {
    let xargs = suspects
        .found
        .iter()
        .filter(|command| command.words.iter().any(|word| matches!(name_of(&word.text), "xargs" | "parallel")));
    let marks = xargs.flat_map(|command| {
        command.words.iter().enumerate().filter_map(|(at, word)| match word.text.as_str() {
            "-I" | "-J" | "--replace" => command.words.get(at + 1).map(|word| word.text.as_str()),
            text => text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")).or(Some("{}")),
        })
    });
    let mut marks: Vec<&str> = marks.filter(|mark| !mark.is_empty()).collect();
    marks.sort_unstable();
    marks.dedup();
    marks
}

/// The command that xargs starts.
pub(crate) fn inner(rest: &[ShellWord]) -> Option<&[ShellWord]> {
    let with_a_value = ["-I", "-J", "-n", "-P", "-L", "-s", "-d", "-E", "-a", "--arg-file", "--max-args", "-j", "-N"];
    let mut at = 0;
    while let Some(word) = rest.get(at).filter(|word| word.is_flag()) {
        at += if with_a_value.contains(&word.text.as_str()) { 2 } else { 1 };
    }
    rest.get(at..).filter(|inner| !inner.is_empty())
}

/// The names that a list may hold, in the words of a command that takes them from one.
pub(crate) fn list_names(word: &ShellWord, suspects: &Suspects) -> Vec<String> {
    suspects.variables.spellings(word).iter().flat_map(|shape| names_in(shape)).collect()
}
