//! Shell lines from a grammar: a target, and one to three productions around it. Each production is named, so that a line
//! has a form: the chain of the names.

mod composed;
mod options;
mod plan;
mod readers;
mod reckoned;
mod removals;
mod scripts;
mod spellings;
mod stdin;
mod targets;
mod wrappers;
mod writers;

use super::rng::Rng;
use plan::Choice;
pub(crate) use plan::Plan;
use targets::TARGETS;
pub(crate) use targets::{Harm, is_plain_target};

/// A line and what it is to do, if it does anything.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) tool: &'static str,
    pub(crate) line: String,
    pub(crate) harm: Harm,
    /// What was aimed at, then the productions from the inside out.
    pub(crate) form: Vec<String>,
    /// None for a line that was kept.
    pub(crate) plan: Option<Plan>,
}

impl Case {
    pub(crate) fn form(&self) -> String {
        self.form.join(" ← ")
    }
}

/// What is being built: a simple command whose words can still be changed, or any text that a shell runs.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    Simple(Vec<String>),
    Script(String),
}

impl Stage {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Simple(words) => words.join(" "),
            Self::Script(text) => text.clone(),
        }
    }

    /// Something that can follow without changing the meaning, such as `; then`.
    pub(crate) fn ended(&self) -> String {
        let text = self.text();
        match () {
            () if text.contains('\n') => text + "\n",
            () if text.ends_with('&') => text,
            () => text + ";",
        }
    }
}

/// A family of productions: how many there are, and one of them put around a stage with its name; none where it does not
/// fit.
pub(crate) struct Family {
    pub(crate) size: fn() -> usize,
    pub(crate) apply: fn(usize, &mut Rng, &Stage) -> Option<(Stage, String)>,
}

const FAMILIES: [Family; 7] = [
    spellings::FAMILY,
    wrappers::FAMILY,
    scripts::FAMILY,
    stdin::FAMILY,
    options::FAMILY,
    composed::FAMILY,
    reckoned::FAMILY,
];

/// Cases without an end, by number: first each production alone around each kind of target, then one to three at random.
pub(crate) fn case(run: u64, number: usize) -> Case {
    let mut left = number;
    for (list, target) in TARGETS.iter().enumerate() {
        if left < (target.size)() {
            return Plan::bare(list, left, number as u64).case().expect("a target alone");
        }
        left -= (target.size)();
    }
    let around = targets::plain();
    if let Some(step) = productions().get(left / around.len()) {
        let (list, at) = around[left % around.len()];
        let bare = Plan::bare(list, at, number as u64);
        let around = Plan { steps: vec![Choice { seed: number as u64, ..*step }], ..bare.clone() };
        return around.case().or_else(|| bare.case()).expect("a target alone");
    }
    random(run.wrapping_mul(0x0100_0000_01b3) ^ number as u64)
}

fn productions() -> Vec<Choice> {
    let of = |(list, family): (usize, &Family)| (0..(family.size)()).map(move |at| Choice { list, at, seed: 0 });
    FAMILIES.iter().enumerate().flat_map(of).collect()
}

fn random(seed: u64) -> Case {
    let mut rng = Rng::new(seed);
    let list = targets::any(&mut rng);
    let mut case = Plan::bare(list, rng.below((TARGETS[list].size)()), rng.next()).case().expect("a target alone");
    let depth = if case.tool == "Bash" { 1 + rng.below(3) } else { 0 };
    for _ in 0..depth {
        // A production that does not fit leaves its turn to another.
        for _ in 0..4 {
            let list = *rng.pick(&[0, 0, 1, 1, 2, 2, 2, 3, 4, 5, 6]);
            let step = Choice { list, at: rng.below((FAMILIES[list].size)()), seed: rng.next() };
            let mut plan = case.plan.clone().expect("a generated case has a plan");
            plan.steps.push(step);
            if let Some(next) = plan.case() {
                case = next;
                break;
            }
        }
    }
    case
}

/// In single quotes, whatever it holds.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// In double quotes, with nothing expanded before its time.
pub(crate) fn double_quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        if matches!(letter, '"' | '\\' | '$' | '`') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted + "\""
}

/// A word that means itself: no quotes, no expansion, no pattern.
pub(crate) fn is_literal(word: &str) -> bool {
    !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | '=' | ',' | '+' | ':' | '@'))
        && !word.contains('@')
}

/// A template with one of its letters filled in; in the names of shells and other languages the letter stays.
pub(crate) fn filled(template: &str, letter: char, text: &str) -> String {
    const NAMES: [&str; 9] =
        ["BEGIN", "MAPFILE", "CDPATH", "EOF", "ARGV", "ARGC", "GIT_CONFIG", "GIT_INDEX_FILE", "GIT_"];
    let mut rest = template;
    let mut filled = String::new();
    while let Some(first) = rest.chars().next() {
        if let Some(name) = NAMES.iter().find(|name| rest.starts_with(**name)) {
            filled.push_str(name);
            rest = &rest[name.len()..];
            continue;
        }
        if first == letter {
            filled.push_str(text);
        } else {
            filled.push(first);
        }
        rest = &rest[first.len_utf8()..];
    }
    filled
}

fn on_one_line(name: &str) -> String {
    name.replace('\n', "⏎")
}
