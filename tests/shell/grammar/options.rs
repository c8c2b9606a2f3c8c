//! Options between a program and its subcommand.

use super::super::rng::Rng;
use super::targets::SUBCOMMANDS;
use super::{Family, Stage};

/// A program's options before the subcommand: those that stand alone, and those with a value.
struct Options {
    program: &'static str,
    alone: &'static [&'static str],
    /// The short or long name and a value that does no harm.
    valued: &'static [(&'static str, &'static str)],
}

const OPTIONS: [Options; 4] = [
    Options {
        program: "git",
        alone: &[
            "--no-pager",
            "-P",
            "-p",
            "--no-replace-objects",
            "--bare",
            "--literal-pathspecs",
            "--no-optional-locks",
        ],
        valued: &[
            ("-C", "."),
            ("-c", "a.b=c"),
            ("--git-dir", ".git"),
            ("--work-tree", "."),
            ("--namespace", "n"),
            ("--config-env", "a.b=HOME"),
        ],
    },
    Options {
        program: "npm",
        alone: &["--silent", "-s", "--no-audit", "-q", "--offline", "-g"],
        valued: &[("--prefix", "."), ("-C", "."), ("-w", "a"), ("--loglevel", "warn"), ("--registry", "r")],
    },
    Options {
        program: "kubectl",
        alone: &["--warnings-as-errors", "--insecure-skip-tls-verify"],
        valued: &[
            ("-n", "x"),
            ("--namespace", "x"),
            ("--context", "c"),
            ("-s", "srv"),
            ("--kubeconfig", "k"),
            ("-v", "1"),
        ],
    },
    Options {
        program: "docker",
        alone: &["-D", "--debug", "--tls"],
        valued: &[
            ("--context", "x"),
            ("-c", "x"),
            ("-H", "unix:///s"),
            ("-l", "info"),
            ("--log-level", "info"),
            ("--config", "."),
        ],
    },
];

pub(super) const FAMILY: Family = Family { size: || SHAPES, apply };

/// One alone; one with its value behind a blank, behind `=`, glued; two of them.
const SHAPES: usize = 26;

fn apply(at: usize, rng: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let Stage::Simple(words) = stage else { return None };
    let place = words.iter().position(|word| OPTIONS.iter().any(|options| options.program == word))?;
    let options = OPTIONS.iter().find(|options| options.program == words[place])?;
    let (added, name) = match at % 13 {
        0..4 => one_alone(options, at),
        4..9 => one_valued(options, at, rng),
        _ => {
            let (mut first, one) = one_alone(options, rng.below(9));
            let (second, other) = one_valued(options, rng.below(9), rng);
            first.extend(second);
            (first, format!("{one} {other}"))
        }
    };
    let mut words = words.clone();
    words.splice(place + 1..place + 1, added);
    Some((Stage::Simple(words), format!("options before the subcommand: {} {name}", options.program)))
}

/// Every program with each of its options, in each way to write a value.
pub(super) fn each() -> Vec<(String, String)> {
    let mut all = vec![];
    for (options, (program, asked)) in OPTIONS.iter().zip(SUBCOMMANDS) {
        let written = options.alone.iter().map(|option| (*option).to_owned());
        let apart = options.valued.iter().map(|(option, value)| format!("{option} {value}"));
        let joined = options.valued.iter().filter(|(option, _)| option.starts_with("--"));
        let joined = joined.map(|(option, value)| format!("{option}={value}"));
        for option in written.chain(apart).chain(joined) {
            let name = format!("options before the subcommand: {program} {option}");
            all.push((format!("{program} {option} {asked} x"), name));
        }
    }
    all
}

fn one_alone(options: &Options, at: usize) -> (Vec<String>, String) {
    let option = options.alone[at % options.alone.len()];
    (vec![option.to_owned()], option.to_owned())
}

fn one_valued(options: &Options, at: usize, rng: &mut Rng) -> (Vec<String>, String) {
    let (option, value) = options.valued[at % options.valued.len()];
    match (option.starts_with("--"), rng.chance(2)) {
        (true, true) => (vec![format!("{option}={value}")], format!("{option}=V")),
        // git takes its short options apart from their values alone.
        (false, true) if options.program != "git" => (vec![format!("{option}{value}")], format!("{option}V")),
        _ => (vec![option.to_owned(), value.to_owned()], format!("{option} V")),
    }
}

/// What the program itself takes for its subcommand.
pub(super) fn subcommand_of<'a>(program: &str, words: &'a [String]) -> Option<&'a str> {
    let options = OPTIONS.iter().find(|options| options.program == program)?;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if options.valued.iter().any(|(option, _)| option == word) {
            words.next();
        } else if !word.starts_with('-') {
            return Some(word);
        }
    }
    None
}
