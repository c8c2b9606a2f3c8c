//! Programs with a language of their own, in which others are started and files are named.
//!
//! A text in such a language is either understood completely, or it may run anything. Understood are the lines that it gives
//! to a shell as they stand, which are then read as any line is, and orders that surely only look at or change text. For
//! the rest somebody is asked, in every mode: which command a text puts together, nobody can read in it.
//!
//! Languages in which people write programs (python, perl, ruby, node) are not understood. There it counts what code says
//! plainly: that it starts programs ([`crate::policy::texts::feeding`]), and that it removes what it does not name
//! ([`general`]).

mod ex;
mod general;
mod input;
mod make;
mod orders;
mod placing;
mod query;
mod terminal;

use super::shell::{Joint, Script, ShellWord};
use crate::policy::commands::command::{is_shell, name_of};
use crate::policy::commands::inert::is_inert;
use crate::policy::commands::{awk, sed};
use crate::policy::lines::suspects::Found;
use crate::policy::texts::feeding::is_fed_with_the_unknown;
use crate::policy::words::options;
use input::ProgramInput;
pub(super) use input::{HandedOn, handed_on, is_input};

/// What a text in the language of a program does, besides what its words say.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Meaning {
    /// Lines that a shell runs, as they stand.
    pub(crate) lines: Vec<String>,
    /// It may run or remove what nobody can read here.
    pub(crate) is_unclear: bool,
    /// It may read any file, or change any.
    pub(crate) reads_any: bool,
    pub(crate) changes_any: bool,
}

impl Meaning {
    pub(super) fn unclear() -> Self {
        Self { is_unclear: true, ..Self::default() }
    }

    /// A line that is given to a shell.
    pub(super) fn run(&mut self, line: &str) {
        if !line.trim().is_empty() {
            self.lines.push(line.trim().to_owned());
        }
    }

    /// A line that is given to a shell, and that gets a text which nobody can read here for its input. That is only sure
    /// where nothing in the line runs what it reads.
    pub(super) fn feed(&mut self, line: &str) {
        let script = Script::read(line);
        let takes_text = |words: &[ShellWord]| words.iter().all(ShellWord::stands_as_it_is) && is_inert(words);
        let is_sure = script.is_readable() && !script.commands.is_empty();
        self.is_unclear |= !is_sure || !script.commands.iter().all(|command| takes_text(&command.words));
        self.run(line);
    }
}

/// What the texts that a command is given do, where it has a language for that. It begins with the program's name; `command`
/// is the whole it is a part of, and `all` are the commands of its line.
pub(crate) fn meaning(words: &[ShellWord], command: &Found, all: &[Found]) -> Meaning {
    let Some((first, rest)) = words.split_first() else { return Meaning::default() };
    let name = name_of(&first.text);
    let input = || ProgramInput::of(command, all);
    let scripts = script_files(name, rest);
    if scripts.iter().any(|script| script.is_made_file() || input::is_opened_for(&script.text, command, all)) {
        return Meaning::unclear();
    }
    // sed and make have their own way to take scripts from their input.
    let is_fed =
        !name.ends_with("sed") && !name.ends_with("make") && scripts.iter().any(|script| input::is_input(&script.text));
    if is_fed && (!input().is_as_it_stands() || is_fed_with_the_unknown(command, all)) {
        return Meaning::unclear();
    }
    match name {
        "sed" | "gsed" => sed::meaning(rest, || input().texts()),
        name if awk::is_awk(name) => {
            let given = if is_fed { input().texts().unwrap_or_default() } else { command.given.clone() };
            awk::meaning(rest.iter().map(|word| word.text.as_str()).chain(given.iter().map(String::as_str)))
        }
        "ed" | "red" => ex::read_by_ed(rest, &input()),
        "make" | "gmake" => make::meaning(rest, &input()),
        "sqlite3" => {
            let mut operands = operands(rest, &["-cmd", "-separator", "-newline", "-nullvalue", "-init", "-vfs"]);
            if !operands.is_empty() {
                operands.remove(0);
            }
            // With orders behind the database it reads no input, unless one of them says so.
            let says = |word: &ShellWord| word.text.contains(".read") || word.text.contains("-interactive");
            let reads = operands.is_empty() || rest.iter().any(says);
            let input = if reads { input() } else { ProgramInput::Own };
            orders::sqlite(&[operands, values(rest, "", &["-cmd", "--cmd"])].concat(), &input)
        }
        "psql" => orders::psql(&values(rest, "c", &["--command"]), &input()),
        "mysql" | "mariadb" => orders::mysql(&values(rest, "e", &["--execute"]), &input()),
        "gdb" | "lldb" => {
            let longs = ["-ex", "-iex", "--ex", "--iex", "--eval-command", "-eval-command", "--init-eval-command"];
            let letters = if name == "lldb" { "oO" } else { "" };
            orders::debugger(&values(rest, letters, &longs), &input())
        }
        "jq" | "gojq" | "jaq" => query::jq(rest, || input().texts()),
        "yq" => query::yq(rest),
        "tmux" if terminal::is_controlled(rest) && input() != ProgramInput::Own => Meaning::unclear(),
        "tmux" => terminal::tmux(rest, all),
        "screen" => terminal::screen(rest),
        "emacs" | "gnuplot" | "expect" | "tclsh" | "m4" => general::says_nothing_of_programs(name, rest, &input()),
        // They run programs and open files by names that a text puts together.
        "groff" | "troff" | "nroff" | "pic" | "eqn" | "tbl" | "soelim" => {
            let is_fed = !command.given.is_empty() || command.joint == Joint::Pipe;
            let is_unsafe = rest.iter().any(|word| word.is_flag() && word.text.contains('U'));
            Meaning { is_unclear: is_fed || is_unsafe, ..Meaning::default() }
        }
        // Without an expression of perl's it puts names together itself.
        "rename" | "rename.ul" => Meaning { changes_any: true, ..Meaning::default() },
        "gcc" | "cc" | "clang" | "g++" | "c++" | "clang++" | "cpp" | "tcc" => {
            let reads_any = rest.iter().any(|word| word.text == "-") && !input().is_as_it_stands();
            Meaning { reads_any, ..Meaning::default() }
        }
        name if is_shell(name) => placing::script_with_places(words, command, all),
        name if ex::is_editor(name) => ex::read_by_vim(name, rest, &input()),
        name => general::code(name, rest, command, input),
    }
}

/// The files from which a program with a language takes its script: `awk -f x`.
fn script_files(name: &str, rest: &[ShellWord]) -> Vec<ShellWord> {
    let (letters, longs): (&str, &[&str]) = match name {
        "sed" | "gsed" => ("f", &["--file"]),
        name if awk::is_awk(name) => ("fEi", &["--file", "--exec", "--include"]),
        "psql" => ("f", &["--file"]),
        "make" | "gmake" => ("f", &["--file", "--makefile"]),
        "sqlite3" => ("", &["-init", "--init"]),
        "gdb" => ("x", &["-x", "-ix", "-command", "--command", "--init-command", "-init-command"]),
        "lldb" => ("sS", &["--source"]),
        "tmux" => ("f", &["source"]),
        "screen" => ("c", &[]),
        "emacs" => ("lq", &["--load", "--script", "-script", "-load"]),
        // The script is a word of theirs.
        "gnuplot" | "expect" | "tclsh" | "m4" => {
            return rest.iter().filter(|word| word.is_made_file()).cloned().collect();
        }
        name if ex::is_editor(name) => ("sSu", &[]),
        _ => return vec![],
    };
    let given = rest.iter().enumerate().filter_map(|(at, word)| match options::value(&word.text, letters, longs) {
        Some("") => rest.get(at + 1).cloned(),
        Some(value) => Some(ShellWord { text: value.to_owned(), ..word.clone() }),
        None => None,
    });
    given.collect()
}

/// The values of options, behind them or glued to them.
fn values<'word>(rest: &'word [ShellWord], letters: &str, longs: &[&str]) -> Vec<&'word str> {
    let mut values = vec![];
    for (at, word) in rest.iter().enumerate() {
        match options::value(&word.text, letters, longs) {
            Some("") => values.extend(rest.get(at + 1).map(|next| next.text.as_str())),
            Some(value) => values.push(value),
            None => {}
        }
    }
    values
}

/// The words that are no options, and no values of these options.
fn operands<'word>(rest: &'word [ShellWord], valued: &[&str]) -> Vec<&'word str> {
    let mut operands = vec![];
    let mut words = rest.iter().map(|word| word.text.as_str());
    while let Some(word) = words.next() {
        match word {
            word if valued.contains(&word) => drop(words.next()),
            word if word.len() > 1 && word.starts_with('-') => {}
            word => operands.push(word),
        }
    }
    operands
}
