//! What the commands of a line print for others, put in the places where those take it.

use crate::policy::commands::command::name_of;
use crate::policy::commands::inert::started;
use crate::policy::lines::suspects::Found;
use crate::policy::names::printing::date_pattern;
use crate::policy::shell::{Redirect, STAR, Script, ShellWord};

/// More texts than these are not put in the place of what a command takes from elsewhere.
const MOST_HANDED: usize = 24;

/// Texts for one command, each of them once. Where some were left out, it says so: one of those may be the one that matters.
#[derive(Default)]
pub(super) struct HandedTexts {
    pub(crate) texts: Vec<String>,
    pub(crate) is_cut: bool,
}

impl HandedTexts {
    pub(crate) fn of(texts: impl Iterator<Item = String>) -> Self {
        let mut handed = Self::default();
        for text in texts {
            if handed.texts.contains(&text) {
                continue;
            }
            if handed.texts.len() == MOST_HANDED {
                handed.is_cut = true;
                break;
            }
            handed.texts.push(text);
        }
        handed
    }

    pub(crate) fn map(&self, put: impl Fn(&str) -> String) -> Self {
        Self { texts: self.texts.iter().map(|text| put(text)).collect(), is_cut: self.is_cut }
    }

    /// With those of another.
    pub(crate) fn append(&mut self, other: Self) {
        self.texts.extend(other.texts);
        self.is_cut |= other.is_cut;
    }
}

/// A command with what the commands in its words print in their places, as far as that stands there: what is around a place
/// belongs to the first of these words and to the last (`cat x$(echo ' .e')nv`).
pub(crate) fn glued(command: &Found) -> HandedTexts {
    let mut lines = HandedTexts::default();
    for (at, word) in command.words.iter().enumerate().skip(1) {
        let (found, is_cut) = substitutions(&word.raw);
        lines.is_cut |= is_cut || lines.texts.len() > MOST_HANDED;
        if lines.is_cut {
            return lines;
        }
        for (before, inside, behind) in found {
            let script = Script::read(inside);
            let texts = script.commands.iter().flat_map(|printing| {
                let given = printing.redirects.iter().filter_map(Redirect::given).collect::<Vec<_>>();
                words_printed(&printing.words, &given)
            });
            // In quotes it stays one word.
            let is_quoted = before.matches('"').count() % 2 == 1;
            let texts = HandedTexts::of(texts.filter(|text| !is_quoted || !text.contains([' ', '\t', '\n'])));
            lines.append(texts.map(|text| {
                let put = format!("{before}{text}{behind}");
                let raw = |place: usize| if place == at { put.as_str() } else { command.words[place].raw.as_str() };
                (0..command.words.len()).map(raw).collect::<Vec<_>>().join(" ")
            }));
        }
    }
    lines
}

/// The commands in a word, with what stands before and behind each, and whether there are more than are looked at.
fn substitutions(raw: &str) -> (Vec<(&str, &str, &str)>, bool) {
    let mut found = vec![];
    for (at, _) in raw.match_indices("$(").take(MOST_HANDED) {
        let mut deep = 0_usize;
        let end = raw[at + 1..].char_indices().find(|(_, c)| {
            match c {
                '(' => deep += 1,
                ')' => deep -= 1,
                _ => {}
            }
            deep == 0
        });
        found.extend(end.map(|(end, _)| (&raw[..at], &raw[at + 2..at + 1 + end], &raw[at + 2 + end..])));
    }
    let ticks: Vec<usize> = raw.match_indices('`').map(|(at, _)| at).take(2 * MOST_HANDED).collect();
    let is_cut = raw.matches("$(").count() > MOST_HANDED || raw.matches('`').count() > 2 * MOST_HANDED;
    found.extend(
        ticks.as_chunks::<2>().0.iter().map(|[begin, end]| (&raw[..*begin], &raw[begin + 1..*end], &raw[end + 1..])),
    );
    (found, is_cut)
}

/// What a command prints of its own words, as one text: also of those that print numbers, times or names with them.
fn words_printed(words: &[ShellWord], given: &[String]) -> Vec<String> {
    let Some((first, rest)) = started(words).split_first() else { return vec![] };
    let operands = || rest.iter().filter(|word| !word.is_flag()).map(ShellWord::script).collect::<Vec<_>>();
    match name_of(&first.text) {
        "date" => rest.iter().filter_map(|word| date_pattern(&word.text)).map(|made| made.replace(STAR, "x")).collect(),
        "wc" | "realpath" | "readlink" | "basename" | "seq" | "git" => vec![operands().join(" ")],
        "dirname" => {
            let above = |name: String| name.rsplit_once('/').map_or(".".to_owned(), |(folder, _)| folder.to_owned());
            vec![operands().into_iter().map(above).collect::<Vec<_>>().join(" ")]
        }
        _ => printed_words_of(first, rest, given),
    }
}

/// The words that a command prints as they stand, as one text; with and without what may be a format.
pub(super) fn printed_words(command: &Found) -> Vec<String> {
    let Some((first, rest)) = command.words.split_first() else { return vec![] };
    printed_words_of(first, rest, &command.given)
}

fn printed_words_of(first: &ShellWord, rest: &[ShellWord], given: &[String]) -> Vec<String> {
    let is_option = |word: &&ShellWord| matches!(word.text.as_str(), "-n" | "-e" | "-E" | "-ne" | "-en" | "--");
    let rest: Vec<String> = rest.iter().skip_while(is_option).map(ShellWord::script).collect();
    match name_of(&first.text) {
        "echo" => vec![rest.join(" ")],
        "cat" => given.to_vec(),
        "printf" => vec![rest.join(" "), rest.get(1..).unwrap_or_default().join(" ")],
        _ => vec![],
    }
}
