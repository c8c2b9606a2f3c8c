//! Words and inputs that are run as commands or code. Where such a text is not in the line as it stands, it may be any.
//!
//! Here it counts only where a deny or ask rule for commands exists: what is asked for without one is in `feeding`.

use super::code;
use super::feeding::starts_programs;
use super::written::runs_what_it_wrote;
use crate::policy::commands::command::{is_shell, name_of};
use crate::policy::commands::environment::may_be_command;
use crate::policy::commands::inert::is_inert;
use crate::policy::commands::runners::{RUN_INPUT, RUNNERS, TRANSFORMERS, options_of, runs_a_file};
use crate::policy::commands::{awk, git, sed};
use crate::policy::lines::starts::{BEFORE_ANOTHER, starts, takes_from_elsewhere};
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::names::implied::runs_a_folder;
use crate::policy::shell::{ANY, Joint, ONE, Piece, Redirect, STAR, ShellWord, Way};
use crate::policy::words::options;
use crate::policy::words::values::Variables;

const MADE: &str = "it runs a text that is not in the line as it stands";
const READ: &str = "it runs what it reads, and what that is cannot be told";
const FOLDER: &str = "it runs what is in a folder";
const WRITTEN: &str = "it runs a file that it writes itself, and what is in it cannot be told";

/// Why something may be run that does not stand in the line.
pub(crate) fn computed(suspects: &Suspects) -> Option<&'static str> {
    let found = &suspects.found;
    let makes_text = makes_text(found);
    let why = found
        .iter()
        .find_map(|command| Receivers { suspects, makes_text, marks: marks(&command.words) }.command(command));
    why.or_else(|| runs_what_it_wrote(found).then_some(WRITTEN))
}

/// The files that a command runs as scripts, as shapes of their names. It begins at a place in the words.
pub(super) fn scripts_named(words: &[ShellWord], start: usize, variables: &Variables) -> Vec<String> {
    let (before, words) = words.split_at(start);
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    if !runs_a_file(name) {
        return vec![];
    }
    let (letters, longs) = options_of(name);
    let letters = if is_shell(name) { "c" } else { letters };
    let texts = || rest.iter().map(|word| word.text.as_str());
    if name != "hash" && options::has(texts().take_while(|word| word.starts_with('-')), letters, longs) {
        return vec![];
    }
    let is_open = |word: &&ShellWord| !word.is_literal || word.text.contains("{}");
    let Some(file) = rest.iter().find(|word| !word.is_flag()).filter(is_open) else { return vec![] };
    // For `find -exec` it is what find looks for.
    if file.text.contains("{}") && before.iter().any(takes_from_elsewhere) {
        let is_name = |word: &ShellWord| matches!(word.text.as_str(), "-name" | "-iname");
        let names = before.windows(2).filter(|pair| is_name(&pair[0])).map(|pair| ShellWord::read(&pair[1].text));
        let shapes: Vec<String> = names.flat_map(|name| variables.shapes(&name)).collect();
        return if shapes.is_empty() { vec![ANY.to_string()] } else { shapes };
    }
    variables.shapes(file).into_iter().map(|shape| name_of(&shape).to_owned()).collect()
}

/// Whether the line has commands that make one text out of another that stands in it, or take it apart.
pub(crate) fn makes_text(found: &[Found]) -> bool {
    let name = |command: &Found| command.words.first().map_or(String::new(), |word| name_of(&word.text).to_owned());
    let is_text = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
    let says = |word: &ShellWord| word.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if is_text(text)));
    let escapes =
        |command: &Found| name(command) == "echo" && command.words[1..].iter().any(|word| word.text.contains('\\'));
    let makes =
        |command: &Found| command.is_nested && (TRANSFORMERS.contains(&name(command).as_str()) || escapes(command));
    let reads = found.iter().any(|command| matches!(name(command).as_str(), "read" | "mapfile" | "readarray"));
    let sets =
        |command: &Found| name(command) == "set" && command.words[1..].iter().any(|word| !word.is_flag() && says(word));
    let joins = |command: &Found| {
        TRANSFORMERS.contains(&name(command).as_str()) && command.words.iter().any(|word| code::joins(&word.text))
    };
    let speaks = |command: &Found| {
        joins(command)
            || name(command) == "expr"
            || matches!(name(command).as_str(), "echo" | "printf") && command.words[1..].iter().any(says)
            || command.given.iter().any(|text| is_text(text))
    };
    let moves = |command: &Found| command.is_nested || reads;
    found.iter().any(sets)
        || (reads || found.iter().any(makes)) && found.iter().any(|command| moves(command) && speaks(command))
}

/// Whether a runner is told to run something, and not what: it comes from elsewhere.
fn wants_a_program(rest: &[ShellWord], subs: &[&str]) -> bool {
    let is_sub = |word: &&ShellWord| subs.contains(&word.text.as_str());
    match rest.iter().rfind(|word| !word.is_flag()) {
        None => true,
        Some(last) => is_sub(&last) || !last.is_known(),
    }
}

fn operands(rest: &[ShellWord]) -> usize {
    rest.iter().filter(|word| !word.is_flag()).count()
}

/// What stands for a word from elsewhere in the words of a command: `{}`, and what xargs is told.
pub(crate) fn marks(words: &[ShellWord]) -> Vec<&str> {
    if !words.iter().any(takes_from_elsewhere) {
        return vec![];
    }
    let told = words.iter().enumerate().filter_map(|(at, word)| match word.text.as_str() {
        "-I" | "-J" | "--replace" => words.get(at + 1).map(|mark| mark.text.as_str()),
        text => ["-I", "-i", "-J", "--replace="].iter().find_map(|flag| text.strip_prefix(*flag)),
    });
    told.chain(["{}"]).filter(|mark| !mark.is_empty()).collect()
}

struct Receivers<'a> {
    suspects: &'a Suspects,
    makes_text: bool,
    /// What stands for words from elsewhere in the command that is looked at.
    marks: Vec<&'a str>,
}

impl Receivers<'_> {
    fn is_computed(&self, word: &ShellWord) -> bool {
        !word.is_literal && self.suspects.variables.shapes(word).iter().any(|shape| shape.contains(ANY))
    }

    /// Whether the line itself makes the word out of others.
    fn is_made(&self, word: &ShellWord) -> bool {
        self.is_computed(word) && (self.makes_text || self.suspects.variables.is_made_of_text(word))
    }

    /// Also where a word from elsewhere is put into it, or the name of a file that fits a pattern.
    fn is_filled(&self, word: &ShellWord) -> bool {
        let is_open = |shape: &String| shape.contains([ANY, STAR, ONE]);
        !word.is_literal && self.suspects.variables.shapes(word).iter().any(is_open)
            || self.marks.iter().any(|mark| word.text.contains(mark))
    }

    fn command(&self, command: &Found) -> Option<&'static str> {
        let sets = |(name, value): &(String, ShellWord)| may_be_command(name) && self.is_computed(value);
        let exports = |word: &ShellWord| crate::policy::shell::assignment(word).is_some_and(|one| sets(&one));
        if command.assignments.iter().any(sets) || command.words.iter().skip(1).any(exports) {
            return Some(MADE);
        }
        if runs_a_folder(command) {
            return Some(FOLDER);
        }
        let values = command.assignments.iter().map(|(_, value)| value);
        if !is_inert(&command.words) && command.words.iter().skip(1).chain(values).any(|word| self.is_made(word)) {
            return Some(MADE);
        }
        let is_fed = || self.is_fed(command);
        for start in starts(&command.words) {
            let Some((first, rest)) = command.words[start..].split_first() else { continue };
            let name = name_of(&first.text);
            if self.option(name, rest) || self.operand(name, rest) {
                return Some(MADE);
            }
            if code::hides(&command.words[start..]) || self.starts_programs(name, rest) {
                return Some(MADE);
            }
            if name == "run-parts" {
                return Some(FOLDER);
            }
            let starts_others = BEFORE_ANOTHER.contains(&name) || runs_a_file(name);
            let wants_a_program = match RUNNERS.iter().find(|(runner, _)| *runner == name) {
                Some((_, subs)) => wants_a_program(rest, subs),
                None => starts_others && operands(rest) == 0,
            };
            let runs_input = match name {
                "make" | "gmake" if rest.iter().any(ShellWord::is_made_file) => return Some(READ),
                "make" | "gmake" => rest.iter().any(|word| matches!(word.text.as_str(), "-" | "-f-" | "/dev/stdin")),
                "sed" => sed::running(rest).is_some(),
                name => RUN_INPUT.contains(&name),
            };
            if runs_input && is_fed()
                || start > 0 && wants_a_program && command.words[..start].iter().any(takes_from_elsewhere)
            {
                return Some(READ);
            }
        }
        None
    }

    /// Whether code that stands in the words starts programs: which, it may reckon.
    fn starts_programs(&self, name: &str, rest: &[ShellWord]) -> bool {
        if matches!(name, "awk" | "gawk" | "mawk" | "nawk") {
            return rest.iter().any(|word| awk::runs_what_it_makes(&word.text));
        }
        let (letters, longs) = options_of(name);
        runs_a_file(name)
            && !is_shell(name)
            && rest.iter().enumerate().any(|(at, word)| {
                let code = match options::value(&word.text, letters, longs) {
                    Some("") => rest.get(at + 1).map(|code| code.text.as_str()),
                    code => code,
                };
                code.is_some_and(|code| starts_programs(name, code))
            })
    }

    /// Whether an option of the program says what is run, and does not say it plainly.
    fn option(&self, name: &str, rest: &[ShellWord]) -> bool {
        let (letters, longs) = options_of(name);
        let of_git = git::GitLine::read(rest).filter(|_| name == "git");
        if of_git.as_ref().is_some_and(|line| line.code().any(|setting| self.is_filled(setting))) {
            return true;
        }
        let sets = |words: &[ShellWord]| {
            let key = words.iter().skip(1).find(|word| word.text.contains('.'));
            words.first().is_some_and(|sub| sub.text == "config") && key.is_none_or(|key| git::names_code(&key.text))
        };
        if of_git.as_ref().is_some_and(|line| sets(line.words) && line.words.iter().any(|word| self.is_filled(word))) {
            return true;
        }
        let sub = of_git.as_ref().and_then(|line| line.words.first()).map_or("", |word| word.text.as_str());
        rest.iter().enumerate().any(|(at, word)| {
            let value =
                if name == "git" { git::started_by(sub, word) } else { options::value(&word.text, letters, longs) };
            match value {
                Some("") => self.is_filled(word) || rest.get(at + 1).is_some_and(|next| self.is_filled(next)),
                Some(_) => self.is_filled(word),
                None => false,
            }
        })
    }

    /// Whether a word of the program is run, and is not plain.
    fn operand(&self, name: &str, rest: &[ShellWord]) -> bool {
        let any = |rest: &[ShellWord]| rest.iter().any(|word| self.is_filled(word));
        match name {
            "alias" | "trap" | "sqlite3" | "psql" | "mysql" => any(rest),
            "vim" | "vi" | "nvim" | "ex" | "less" | "view" => {
                rest.iter().any(|word| word.text.starts_with('+') && self.is_filled(word))
            }
            "make" | "gmake" => rest.iter().any(|word| word.text.starts_with("SHELL=") && self.is_filled(word)),
            "awk" | "gawk" | "mawk" | "nawk" => {
                rest.iter().any(|word| self.is_filled(word) && word.text.contains(['|', '(']))
            }
            "sed" => sed::running(rest).is_some_and(|scripts| scripts.into_iter().any(|script| self.is_filled(script))),
            name => self.names_a_program(name, rest),
        }
    }

    /// Whether the program that a runner is to start is not plain.
    fn names_a_program(&self, name: &str, rest: &[ShellWord]) -> bool {
        let Some((_, subs)) = RUNNERS.iter().find(|(runner, _)| *runner == name) else { return false };
        let mut words = rest;
        if !subs.is_empty() {
            let at = rest.iter().take(5).position(|word| subs.contains(&word.text.as_str()));
            let Some(at) = at else { return false };
            words = &rest[at + 1..];
        }
        // Some have a word of their own before it.
        let mut left = 1 + usize::from(matches!(name, "rustup" | "uv"));
        let mut after_flag = false;
        for word in words {
            if !word.is_flag() {
                let is_path = word.text.contains('/');
                if self.is_filled(word) && (is_path || !matches!(word.pieces.first(), Some(Piece::Text(_)))) {
                    return true;
                }
                left -= usize::from(!after_flag);
            }
            if left == 0 {
                return false;
            }
            after_flag = word.is_flag();
        }
        false
    }

    /// Whether what a command reads is not in the line as it stands.
    fn is_fed(&self, command: &Found) -> bool {
        let is_open = |text: &String| self.is_computed(&ShellWord::read(text));
        if command.given.iter().any(is_open) {
            return true;
        }
        let from_file = |redirect: &Redirect| redirect.way == Way::In;
        if !command.given.is_empty() || command.redirects.iter().any(from_file) {
            return false;
        }
        let is_piped = command.joint == Joint::Pipe || command.is_grouped || command.is_nested;
        is_piped && self.suspects.found.iter().any(|other| other.joint == Joint::Pipe) && !self.is_fed_plainly(command)
    }

    /// Whether everything else in the line prints words as they stand.
    fn is_fed_plainly(&self, command: &Found) -> bool {
        let others = self.suspects.found.iter().filter(|other| !std::ptr::eq(*other, command));
        let name = |other: &Found| other.words.first().map_or(String::new(), |word| word.text.clone());
        let is_plain = |word: &ShellWord| word.stands_as_it_is() && !is_escaped(&word.text);
        others
            .clone()
            .all(|other| matches!(name(other).as_str(), "echo" | "printf" | "cat") && other.words.iter().all(is_plain))
    }
}

/// Whether a text has escapes other than for new lines and tabs.
pub(crate) fn is_escaped(text: &str) -> bool {
    text.replace("\\n", "").replace("\\t", "").contains('\\')
}
