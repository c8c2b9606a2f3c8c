//! What a program reads from its input, as far as it stands in the line.

use super::super::shell::{ANY, Joint, ShellWord, Way};
use crate::policy::commands::command::name_of;
use crate::policy::lines::suspects::Found;
use crate::policy::texts::receivers::is_escaped;

#[derive(Debug, PartialEq)]
pub(super) enum ProgramInput {
    /// A terminal or a file.
    Own,
    /// Texts in the line, and whether they stand there as they are.
    Texts(Vec<String>, bool),
    /// What other programs make.
    Unknown,
}

impl ProgramInput {
    pub(super) fn of(command: &Found, all: &[Found]) -> Self {
        if !command.given.is_empty() {
            let is_known = |text: &String| !text.contains(ANY) && !["${", "$(", "`"].iter().any(|it| text.contains(it));
            let is_known = command.given.iter().all(is_known);
            return if is_known { Self::Texts(command.given.clone(), true) } else { Self::Unknown };
        }
        if let Some(redirect) = command.redirects.iter().find(|redirect| redirect.way == Way::In) {
            return if redirect.target.is_made_file() { Self::Unknown } else { Self::Own };
        }
        let is_inside = command.is_grouped || command.is_nested;
        let is_piped = command.joint == Joint::Pipe || is_inside && all.iter().any(|other| other.joint == Joint::Pipe);
        if !is_piped {
            return Self::Own;
        }
        // In a pipe only what stands before it, and what makes words of that.
        let at = all.iter().position(|other| std::ptr::eq(other, command) || other.words == command.words);
        let is_before = |place: usize, other: &Found| is_inside || other.is_nested || at.is_none_or(|at| place < at);
        let others = all.iter().enumerate().filter(|(place, other)| is_before(*place, other) && at != Some(*place));
        let others = others.map(|(_, other)| other).filter(|other| other.words != command.words);
        let texts: Option<Vec<String>> = others.clone().map(printed).collect();
        let is_echo = |other: &Found| other.words.first().is_some_and(|word| word.text == "echo");
        texts.map_or(Self::Unknown, |texts| Self::Texts(texts, others.clone().all(is_echo)))
    }

    /// The texts; none where they are not known. A file of its own has none.
    pub(super) fn texts(&self) -> Option<Vec<String>> {
        match self {
            Self::Own => Some(vec![]),
            Self::Texts(texts, _) => Some(texts.clone()),
            Self::Unknown => None,
        }
    }

    /// Whether every text of it is one in the line, and not put together from others.
    pub(super) fn is_as_it_stands(&self) -> bool {
        !matches!(self, Self::Unknown | Self::Texts(_, false))
    }
}

/// Whether a file that a program is told is its input.
pub(super) fn is_input(file: &str) -> bool {
    matches!(file, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// Whether a file is one that something opened for the program before, and that another one writes: `awk -f /dev/fd/3 3< <(x)`.
pub(super) fn is_opened_for(file: &str, command: &Found, all: &[Found]) -> bool {
    let is_made = |command: &Found| command.redirects.iter().any(|redirect| redirect.target.is_made_file());
    let is_opened = file.starts_with("/dev/fd/") || file.starts_with("/proc/");
    let opens = |other: &&Found| other.words.first().is_some_and(|word| word.text == "exec");
    is_opened && !is_input(file) && (is_made(command) || all.iter().filter(opens).any(is_made))
}

/// What a command prints, where that stands in its words.
fn printed(command: &Found) -> Option<String> {
    let (first, rest) = command.words.split_first()?;
    let is_known = rest.iter().all(ShellWord::stands_as_it_is) && command.given.is_empty();
    let words: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    match (name_of(&first.text), is_known) {
        ("echo", true) => {
            let words = words.into_iter().filter(|word| !matches!(*word, "-e" | "-n" | "-ne" | "-en"));
            let text = words.collect::<Vec<_>>().join(" ");
            (!is_escaped(&text)).then(|| unescaped(&text))
        }
        ("printf", true) => {
            let words = words.strip_prefix(&["--"]).unwrap_or(&words);
            let (format, words) = words.split_first()?;
            filled(format, words)
        }
        _ => None,
    }
}

/// What printf makes of a format that only puts words into a text.
fn filled(format: &str, words: &[&str]) -> Option<String> {
    if format.replace("%s", "").contains('%') || is_escaped(format) {
        return None;
    }
    let format = unescaped(format);
    let parts: Vec<&str> = format.split("%s").collect();
    let mut made = String::new();
    let mut words = words.iter();
    loop {
        made += parts[0];
        for part in &parts[1..] {
            made += words.next().copied().unwrap_or_default();
            made += part;
        }
        if words.len() == 0 || parts.len() == 1 {
            return Some(made);
        }
    }
}

fn unescaped(text: &str) -> String {
    text.replace("\\n", "\n").replace("\\t", "\t")
}
