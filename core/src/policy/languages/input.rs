//! What a program reads from its input, as far as it stands in the line.

use super::super::shell::{ANY, Joint, Redirect, Script, ShellCommand, ShellWord, Way};
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
        if command.redirects.iter().any(leads_the_unknown) {
            return Self::Unknown;
        }
        if !command.given.is_empty() {
            return Self::given(&command.given);
        }
        // What is opened as `/dev/stdin` is what it has already.
        if command.redirects.iter().any(|redirect| redirect.opens_input() && !is_input(&redirect.target.text)) {
            return Self::Own;
        }
        let is_inside = command.is_grouped || command.is_nested;
        let is_piped = command.joint == Joint::Pipe || is_inside && all.iter().any(|other| other.joint == Joint::Pipe);
        if !is_piped {
            return Self::of_group(command, all);
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

    /// What stands in the line, where all of it is known.
    fn given(texts: &[String]) -> Self {
        let is_known = |text: &String| !text.contains(ANY) && !["${", "$(", "`"].iter().any(|it| text.contains(it));
        if texts.iter().all(is_known) { Self::Texts(texts.to_vec(), true) } else { Self::Unknown }
    }

    /// What is opened for a group, for a function or by `exec`: each command there may read it.
    fn of_group(command: &Found, all: &[Found]) -> Self {
        let others = all.iter().filter(|other| !std::ptr::eq(*other, command) && opens_for_others(other, command, all));
        if others.clone().any(|other| other.redirects.iter().any(leads_the_unknown)) {
            return Self::Unknown;
        }
        let texts: Vec<String> = others.flat_map(|other| other.given.iter().cloned()).collect();
        if texts.is_empty() { Self::Own } else { Self::given(&texts) }
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

/// What the commands of a script get for their input from the command that runs it.
#[derive(Clone, Debug)]
pub(in super::super) enum HandedOn {
    Texts(Vec<String>),
    Unknown,
}

/// None where it is a terminal or a file. What `xargs` reads are words, and nothing is left for what it starts.
pub(in super::super) fn handed_on(command: &Found, all: &[Found]) -> Option<HandedOn> {
    let has_list = || command.words.iter().any(|word| word.text.starts_with("-a") || word.text.starts_with("--a"));
    if command.words.first().is_some_and(|word| name_of(&word.text) == "xargs") && !has_list() {
        return None;
    }
    match ProgramInput::of(command, all) {
        ProgramInput::Own => None,
        ProgramInput::Texts(texts, true) => Some(HandedOn::Texts(texts)),
        ProgramInput::Texts(..) | ProgramInput::Unknown => Some(HandedOn::Unknown),
    }
}

impl HandedOn {
    /// Puts it before the commands of a script that open no input of their own.
    pub(in super::super) fn open_for(&self, script: &mut Script) {
        let opens = |redirect: &Redirect| redirect.opens_input() || redirect.way == Way::Given;
        let open = |command: &&mut ShellCommand| {
            command.joint != Joint::Pipe && command.heredocs.is_empty() && !command.redirects.iter().any(opens)
        };
        for command in script.commands.iter_mut().filter(open) {
            let redirect = |way, text: &str| Redirect { way, target: ShellWord::plain(text), is_of_input: true };
            match self {
                Self::Texts(texts) => command.redirects.extend(texts.iter().map(|text| redirect(Way::Given, text))),
                // As `<&3` does it.
                Self::Unknown => command.redirects.push(redirect(Way::Copy, "3")),
            }
        }
    }
}

/// Whether a redirect opens what another program writes, or leads something that was opened before to the input.
fn leads_the_unknown(redirect: &Redirect) -> bool {
    let target = &redirect.target;
    let is_opened = ["/dev/fd/", "/proc/"].iter().any(|begin| target.text.starts_with(begin));
    match redirect.way {
        _ if redirect.reads_machine() => true,
        Way::In => target.is_made_file() || is_opened && !is_input(&target.text),
        Way::Copy => redirect.is_of_input && !matches!(target.text.as_str(), "0" | "-"),
        Way::Out | Way::Given => false,
    }
}

/// Whether what a command opens is open to another: a group, a function that is called, or `exec`.
fn opens_for_others(other: &Found, command: &Found, all: &[Found]) -> bool {
    let Some(first) = other.words.first() else { return command.is_grouped || command.is_nested };
    // The name of a function stands alone where it is defined.
    let defines =
        |one: &Found| matches!(one.words.as_slice(), [name] if name.text == first.text) && one.redirects.is_empty();
    let is_function = || command.is_grouped && all.iter().any(|one| !std::ptr::eq(one, other) && defines(one));
    first.text == "exec" || is_function()
}

/// Whether a file that a program is told is its input, by whatever way it names it.
pub(in super::super) fn is_input(file: &str) -> bool {
    let mut parts = file.rsplit('/').filter(|part| !matches!(*part, "" | "."));
    let last = parts.next().unwrap_or_default();
    // `/dev/fd/00` is the same to gawk.
    let is_zero = !last.is_empty() && last.chars().all(|c| c == '0');
    file == "-" || last == "stdin" || is_zero && parts.next() == Some("fd")
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
