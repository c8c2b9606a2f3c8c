//! Files that a line writes and then runs.

use super::receivers::is_escaped;
use crate::policy::commands::command::name_of;
use crate::policy::commands::runners::runs_a_file;
use crate::policy::lines::starts::starts;
use crate::policy::lines::suspects::Found;
use crate::policy::shell::{ANY, ShellWord, Way};
use crate::policy::words::options;

/// Whether a file is run that the line itself writes, with something that does not stand in it.
pub(super) fn runs_what_it_wrote(found: &[Found]) -> bool {
    let mut run: Vec<&str> = vec![];
    for command in found {
        for start in starts(&command.words) {
            let Some((first, rest)) = command.words[start..].split_first() else { continue };
            let name = name_of(&first.text);
            let takes_script = runs_a_file(name);
            run.extend(first.text.contains('/').then_some(first.text.as_str()));
            run.extend(rest.iter().find(|word| takes_script && !word.is_flag()).map(|word| word.text.as_str()));
        }
    }
    let mut told = found.iter().flat_map(|command| told_by(&command.words));
    let is_written =
        |file: &str| found.iter().any(|command| names_output(command).any(|word| trimmed(&word.text) == trimmed(file)));
    if told.any(is_written) {
        return true;
    }
    let is_run = |text: &str| run.iter().any(|file| trimmed(file) == trimmed(text));
    // Pieces of a text become another one.
    let ends_line = |command: &&Found| {
        let name = command.words.first().map_or("", |word| name_of(&word.text));
        name == "cat" || name == "echo" && !command.words.iter().any(ShellWord::is_flag)
    };
    let writes = |command: &&Found| names_output(command).any(|word| is_run(&word.text));
    let writers: Vec<&Found> = found.iter().filter(writes).collect();
    if writers.len() > 1 && !writers.iter().all(ends_line)
        || found.iter().any(|one| edits(one, !writers.is_empty(), &is_run))
    {
        return true;
    }
    found.iter().any(|command| {
        let mut targets = command.redirects.iter().filter(|redirect| redirect.way == Way::Out);
        let name = command.words.first().map_or("", |word| name_of(&word.text));
        let plain = |word: &ShellWord| word.stands_as_it_is() && !is_escaped(&word.text);
        let is_given = command.given.iter().all(|text| !text.contains(ANY)) && !command.given.is_empty();
        let says_it = matches!(name, "echo" | "printf") && command.words.iter().all(plain) && !formats(&command.words)
            || matches!(name, "cat" | "tee") && is_given;
        let writes = |word: &ShellWord| is_run(&word.text);
        match name {
            "tee" | "curl" | "wget" | "dd" if !says_it => {
                command.words[1..].iter().any(|word| writes(word) || word.text.strip_prefix("of=").is_some_and(is_run))
                    || name == "wget" && command.words[1..].iter().any(|word| is_run(name_of(&word.text)))
                    || targets.any(|redirect| is_run(&redirect.target.text))
            }
            "cp" | "mv" | "ln" | "install" => {
                command.words[1..].iter().any(writes) && command.words[1..].iter().any(|word| !word.is_literal)
            }
            _ => !says_it && targets.any(|redirect| is_run(&redirect.target.text)),
        }
    })
}

/// The files that a command is led to write.
fn names_output(command: &Found) -> impl Iterator<Item = &ShellWord> {
    let targets = command.redirects.iter().filter(|redirect| redirect.way == Way::Out).map(|redirect| &redirect.target);
    let is_tee = command.words.first().is_some_and(|word| name_of(&word.text) == "tee");
    targets.chain(command.words.iter().skip(1).filter(move |_| is_tee))
}

/// The files in which a program finds a text in its own language.
fn told_by(words: &[ShellWord]) -> Vec<&str> {
    let mut files = vec![];
    for start in starts(words) {
        let Some((first, rest)) = words[start..].split_first() else { continue };
        let (letters, longs): (&str, &[&str]) = match name_of(&first.text) {
            "sed" | "awk" | "gawk" | "mawk" | "psql" => ("f", &["--file"]),
            "make" | "gmake" => ("f", &["--file", "--makefile"]),
            "vim" | "vi" | "nvim" | "ex" => ("Ssu", &[]),
            "gdb" => ("x", &["-x", "--command", "-ix"]),
            "sqlite3" => ("", &["-init", "--init"]),
            "tmux" => ("f", &[]),
            "screen" => ("c", &[]),
            _ => continue,
        };
        for (at, word) in rest.iter().enumerate() {
            files.extend(match options::value(&word.text, letters, longs) {
                Some("") => rest.get(at + 1).map(|file| file.text.as_str()),
                file => file,
            });
        }
    }
    files
}

/// Whether a command writes a file that is run by a text in its language, or changes one that the line has written.
fn edits(command: &Found, is_written: bool, is_run: &dyn Fn(&str) -> bool) -> bool {
    const EDITORS: [&str; 16] = [
        "sed", "perl", "ruby", "ed", "ex", "vim", "vi", "nvim", "patch", "awk", "gawk", "mawk", "sqlite3", "python",
        "python3", "node",
    ];
    let Some((first, rest)) = command.words.split_first() else { return false };
    if !EDITORS.contains(&name_of(&first.text)) {
        return false;
    }
    let texts = rest.iter().map(|word| word.text.as_str()).chain(command.given.iter().map(String::as_str));
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/');
    let names = texts.filter(|text| text.contains(|c| !is_part(c))).flat_map(|text| text.split(move |c| !is_part(c)));
    // Those that run the file change it only if they are told to.
    let in_place = |word: &ShellWord| word.is_flag() && word.text.contains('i');
    let changes = matches!(name_of(&first.text), "sed" | "ed" | "ex" | "vim" | "vi" | "nvim" | "patch")
        || matches!(name_of(&first.text), "perl" | "ruby") && rest.iter().any(in_place);
    names.filter(|name| !name.is_empty()).any(is_run)
        || is_written && changes && rest.iter().any(|word| is_run(&word.text))
}

fn trimmed(file: &str) -> &str {
    file.trim_start_matches("./")
}

/// Whether printf puts words together.
fn formats(words: &[ShellWord]) -> bool {
    words[0].text == "printf"
        && words.get(1).is_some_and(|format| {
            format.text.replace("%%", "").contains('%') && format.text != "%s\\n" && format.text != "%s"
        })
}
