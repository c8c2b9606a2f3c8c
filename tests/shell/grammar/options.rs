//! Options between a program and its subcommand, other names for a subcommand, and options that are not written whole.

use super::super::rng::Rng;
use super::targets::SUBCOMMANDS;
use super::{Family, Stage, is_literal};

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

pub(super) const FAMILY: Family = Family { size: || SHAPES + RENAMED.len() + SHORTENED, apply };

/// One alone; one with its value behind a blank, behind `=`, glued; two of them.
const SHAPES: usize = 26;

/// git calls a subcommand by another name: `%` is the subcommand, `^` the same with two letters changed over.
const RENAMED: [&str; 10] = [
    "git -c alias.z=% z",
    "git -c alias.z=% --no-pager z",
    "git -c alias.y=z -c alias.z=% y",
    "git -c alias.z='!git %' z",
    "git -c alias.z='-c a.b=c %' z",
    "GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.z GIT_CONFIG_VALUE_0=% git z",
    "X=% git --config-env=alias.z=X z",
    "git config alias.z %; git z",
    "git -c help.autocorrect=immediate ^",
    "$(git --exec-path)/git-%",
];

/// An option that begins like no other is understood without its end.
const SHORTENED: usize = 6;

fn apply(at: usize, rng: &mut Rng, stage: &Stage) -> Option<(Stage, String)> {
    let Stage::Simple(words) = stage else { return None };
    if at >= SHAPES + RENAMED.len() {
        return shortened(words, rng);
    }
    if at >= SHAPES {
        return renamed(words, RENAMED[at - SHAPES]);
    }
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

fn renamed(words: &[String], template: &str) -> Option<(Stage, String)> {
    let place = words.windows(2).position(|pair| pair[0] == "git" && is_literal(&pair[1]) && pair[1].len() > 2)?;
    let subcommand = &words[place + 1];
    let (head, tail) = subcommand.split_at_checked(subcommand.len() - 2)?;
    let mistyped: String = head.chars().chain(tail.chars().rev()).collect();
    let command = template.replace('^', &mistyped).replace('%', subcommand);
    let (before, after) = (words[..place].join(" "), words[place + 2..].join(" "));
    let line = format!("{before} {command} {after}").trim().to_owned();
    // An assignment or another command in front of it would belong to what stands before.
    let fits = before.is_empty() || template.starts_with("git -c");
    fits.then(|| (Stage::Script(line), format!("renamed: {template}")))
}

fn shortened(words: &[String], rng: &mut Rng) -> Option<(Stage, String)> {
    let name = |word: &str| word.split('=').next().unwrap_or_default().len();
    let long: Vec<usize> =
        (0..words.len()).filter(|at| words[*at].starts_with("--") && name(&words[*at]) > 5).collect();
    let at = if long.is_empty() { return None } else { *rng.pick(&long) };
    let length = name(&words[at]);
    let cut = 5 + rng.below(length - 5);
    let mut words = words.to_vec();
    words[at] = format!("{}{}", words[at].get(..cut)?, words[at].get(length..)?);
    Some((Stage::Simple(words), "an option not written whole".to_owned()))
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
