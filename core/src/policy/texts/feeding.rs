//! Programs that run what they read: what they are fed with, and whether anybody can tell what it is.

use crate::policy::commands::command::{is_shell, name_of, text};
use crate::policy::commands::git;
use crate::policy::lines::starts::BEFORE_ANOTHER;
use crate::policy::lines::suspects::Found;
use crate::policy::names::implied::settings;
use crate::policy::shell::{Joint, Piece, Redirect, ShellWord, Way};

/// Programs that run the code they are given, with the flags before it.
const INTERPRETERS: [(&str, &[&str]); 30] = [
    ("python", &["-c"]),
    ("perl", &["-e", "-E"]),
    ("ruby", &["-e"]),
    ("node", &["-e", "--eval", "-p", "--print"]),
    ("php", &["-r"]),
    ("lua", &["-e"]),
    ("deno", &["eval"]),
    ("bun", &["-e"]),
    ("osascript", &["-e"]),
    ("tclsh", &[]),
    ("R", &["-e"]),
    ("Rscript", &["-e"]),
    ("clojure", &["-e"]),
    ("elixir", &["-e"]),
    ("ghci", &["-e"]),
    ("gjs", &["-c"]),
    ("groovy", &["-e"]),
    ("guile", &["-c"]),
    ("iex", &["-e"]),
    ("ipython", &["-c"]),
    ("irb", &[]),
    ("jshell", &[]),
    ("julia", &["-e", "-E"]),
    ("luajit", &["-e"]),
    ("ocaml", &["-e"]),
    ("octave", &["--eval"]),
    ("pypy", &["-c"]),
    ("qjs", &["-e"]),
    ("racket", &["-e"]),
    ("sbcl", &["--eval"]),
];

/// What code of any language says when it starts a program.
const STARTS: [&str; 16] = [
    "breakpoint",
    "system",
    "exec",
    "popen",
    "spawn",
    "subprocess",
    "child_process",
    "__import__",
    "eval",
    "pty",
    "fork",
    "passthru",
    "proc_open",
    "pipepager",
    "webbrowser",
    "IMAP4_stream",
];

/// Names of files that are what a program is fed with.
fn is_input(name: &str) -> bool {
    name == "-" || ["/dev/stdin", "/dev/fd/", "/proc/"].iter().any(|begin| name.starts_with(begin))
}

/// The texts in a line that a shell in it may run: what it is given, what is printed for it, and what names stand for.
pub(crate) fn scripts(found: &[Found]) -> Vec<String> {
    if !found.iter().any(|command| reads_commands(&command.words)) {
        return vec![];
    }
    let mut scripts: Vec<String> = found.iter().flat_map(|command| command.given.iter().cloned()).collect();
    for command in found {
        scripts.extend(prints_text(command));
        scripts.extend(command.assignments.iter().map(|(_, value)| value.script()).filter(|text| text.contains(' ')));
    }
    scripts
}

/// The texts that a command prints as they stand.
pub(super) fn prints_text(command: &Found) -> Vec<String> {
    let name = command.words.first().map_or("", |word| name_of(&word.text));
    if !matches!(name, "echo" | "printf" | "set") {
        return vec![];
    }
    let words = command.words[1..].iter();
    std::iter::once(text(&command.words[1..]))
        .chain(words.filter(|word| word.text.contains(' ')).map(ShellWord::script))
        .collect()
}

/// Whether one of the words is a program that runs the commands it reads.
fn reads_commands(words: &[ShellWord]) -> bool {
    let calls_back = |word: &ShellWord| word.is_flag() && word.text.contains('C');
    let first = words.first().is_some_and(|word| match name_of(&word.text) {
        "." => true,
        "mapfile" | "readarray" => words.iter().any(calls_back),
        _ => !word.is_known(),
    });
    let runs = |word: &ShellWord| {
        matches!(name_of(&word.text), "ssh" | "source" | "at" | "su" | "eval" | "trap" | "env" | "xargs")
    };
    let starts_another = words.first().is_some_and(|word| BEFORE_ANOTHER.contains(&name_of(&word.text)));
    let depth = if starts_another { words.len() } else { 1 };
    first || words.iter().any(|word| is_shell(&word.text)) || words.iter().take(depth).any(runs)
}

/// Why a command may run what nobody can read here: a shell that is fed by another program, or code that starts others.
pub(crate) fn unseen(words: &[ShellWord], command: &Found, all: &[Found]) -> Option<&'static str> {
    const FED: &str = "a shell runs what another program gives it";
    let (first, rest) = words.split_first()?;
    let name = name_of(&first.text);
    // deno and bun have a word before it.
    let is_order = |word: &ShellWord| matches!(name, "deno" | "bun") && word.text == "run";
    // `find` ends a command with a word of its own.
    let is_end = |word: &ShellWord| matches!(word.text.as_str(), ";" | "+");
    let file = rest.iter().find(|word| !word.is_flag() && !is_order(word)).filter(|word| !is_end(word));
    let from_input = file.is_none_or(|word| is_input(&word.text) || word.is_made_file());
    if matches!(name, "source" | ".") {
        return file.is_some_and(|word| is_input(&word.text) || word.is_made_file()).then_some(FED);
    }
    let allows_programs = |command: &Found| settings(command).iter().any(|(name, _)| name == "GIT_ALLOW_PROTOCOL");
    if name == "git" && (rest.iter().any(is_command_address) || all.iter().any(allows_programs)) {
        return Some("git runs a command that stands in an address");
    }
    const CODE: &str = "code in it may start programs";
    let is_code = |(name, value): &(String, ShellWord)| name == "PERL5DB" && starts_programs("perl", &value.text);
    if settings(command).iter().any(is_code) {
        return Some(CODE);
    }
    // It takes a text apart in its own way: `\_` is a blank.
    let splits =
        |word: &ShellWord| word.text.starts_with("--s") || !word.text.starts_with("--") && word.text.contains('S');
    let is_split = name == "env" && rest.iter().any(|word| word.is_flag() && splits(word));
    if is_split && rest.iter().any(|word| word.text.contains('\\')) {
        return Some("env makes words of a text in its own way");
    }
    if name == "eval" {
        let unknown = |word: &ShellWord| word.pieces.contains(&Piece::Unknown);
        return rest.iter().any(unknown).then_some("text that another program prints is run");
    }
    if is_shell(name) {
        let short = |letter: char| {
            move |word: &ShellWord| word.is_flag() && !word.text.starts_with("--") && word.text.contains(letter)
        };
        if let Some(at) = rest.iter().position(short('c')) {
            // The script itself may come from elsewhere.
            let given = rest.iter().skip(at + 1).any(|word| !word.is_flag() && word.text != "-");
            return (!given || is_xargs_text(command, rest)).then_some(FED);
        }
        let reads = from_input || rest.iter().any(short('s'));
        let made = file.is_some_and(ShellWord::is_made_file);
        return (made || reads && is_fed_with_the_unknown(command, all)).then_some(FED);
    }
    let fed_alone = match name {
        "at" | "batch" => true,
        "crontab" => from_input,
        "ssh" => rest.iter().filter(|word| !word.is_flag()).count() < 2,
        "su" => true,
        "parallel" => file.is_none(),
        "sudo" | "doas" => file.is_none(),
        _ => false,
    };
    if fed_alone {
        return is_fed_with_the_unknown(command, all).then_some(FED);
    }
    const GIVEN: &str = "code that another program gives is run";
    let (_, flags) = INTERPRETERS.iter().find(|(interpreter, _)| is_version_of(name, interpreter))?;
    let is_code = |at: usize| rest.get(at).is_some_and(|word| flags.contains(&word.text.as_str()));
    let glued =
        rest.iter().any(|word| flags.iter().any(|flag| word.text.len() > flag.len() && word.text.starts_with(flag)));
    let codes = (0..rest.len()).filter(|at| is_code(*at)).filter_map(|at| rest.get(at + 1));
    // What stands behind the script is for it, and no option.
    let own = own_words(name, rest);
    // `-ne` and its like, with other letters before it.
    let ends = |word: &ShellWord, flag: &str| {
        flag.len() == 2 && word.is_flag() && !word.text.starts_with("--") && word.text.ends_with(&flag[1..])
    };
    let bundled = rest.windows(2).filter(|pair| flags.iter().any(|flag| ends(&pair[0], flag)));
    let mut bundled = bundled.map(|pair| &pair[1].text);
    let starts = |text: &str| starts_programs(name, text);
    let hidden = |word: &ShellWord| !word.is_known() || starts(&word.text);
    if codes.clone().any(hidden)
        || bundled.any(|code| starts(code))
        || glued
        || command.given.iter().any(|text| starts(text))
    {
        return Some(CODE);
    }
    let only_says = |word: &ShellWord| matches!(word.text.as_str(), "-v" | "-V" | "--version" | "-h" | "--help");
    let is_code = |word: &ShellWord| flags.contains(&word.text.as_str()) || flags.iter().any(|flag| ends(word, flag));
    let is_given = |word: &ShellWord| is_code(word) || word.text == "-m";
    let has_code = own.iter().any(|word| is_given(word) || only_says(word));
    // Whatever the code is, what stands behind it is for the code. A value of an option may be code as well.
    if own.iter().take_while(|word| !is_given(word)).any(ShellWord::is_made_file) {
        return Some(GIVEN);
    }
    if !from_input || has_code || !command.given.is_empty() {
        return None;
    }
    let mut piped = all.iter().filter(|other| command.joint == Joint::Pipe && !std::ptr::eq(*other, command));
    let says = |other: &Found| other.words.iter().skip(1).any(|word| starts(&word.text));
    (is_fed_with_the_unknown(command, all) || piped.any(says)).then_some(GIVEN)
}

/// Whether a word is an address that git runs, or one with nothing where nobody knows what stands before it.
fn is_command_address(word: &ShellWord) -> bool {
    let said = word.pieces.iter().filter_map(|piece| match piece {
        Piece::Text(text) => Some(text.as_str()),
        _ => None,
    });
    git::is_run(&word.text) || git::is_run(&said.collect::<String>())
}

/// The words of an interpreter up to its script, with it: the first that surely is no option, and no value of one.
fn own_words<'line>(name: &str, rest: &'line [ShellWord]) -> &'line [ShellWord] {
    // Letters that surely have no value.
    let lone = if name.starts_with("python") { "bBdEiIOPqRsSuvx" } else { "w" };
    let takes_none = |word: &ShellWord| {
        let letters = word.text.strip_prefix('-').filter(|_| word.is_flag() && word.is_literal);
        letters.is_some_and(|letters| letters.chars().all(|letter| lone.contains(letter)))
    };
    let is_script = |at: usize| {
        let may_be_value = at > 0 && rest[at - 1].is_flag() && !takes_none(&rest[at - 1]) && rest[at - 1].text != "--";
        // deno and bun have a word before it.
        !rest[at].is_flag() && !may_be_value && !matches!(rest[at].text.as_str(), "run" | "test")
    };
    let script = (0..rest.len()).find(|at| is_script(*at));
    &rest[..script.map_or(rest.len(), |at| at + 1)]
}

/// Whether code in the language of a program says that it starts others.
pub(crate) fn starts_programs(name: &str, code: &str) -> bool {
    // In these languages they are what they are in a shell.
    let has_backticks = matches!(name, "perl" | "ruby" | "php");
    // They also open what a program prints, and write into one.
    let opens = (has_backticks || name == "tclsh") && code.contains("open") && code.contains('|');
    opens
        || STARTS.iter().any(|word| code.contains(word))
        || has_backticks && ["`", "qx", "%x"].iter().any(|it| code.contains(it))
}

/// Whether the script of `xargs -I@ sh -c @` is what xargs reads.
fn is_xargs_text(command: &Found, rest: &[ShellWord]) -> bool {
    let replaced = |at: usize| command.words.get(at + 1).map(|word| word.text.as_str());
    let marks = command.words.iter().enumerate().filter_map(|(at, word)| match word.text.as_str() {
        "-I" | "-J" | "--replace" => replaced(at),
        text => text.strip_prefix("-I").or_else(|| text.strip_prefix("--replace=")),
    });
    let is_xargs = command.words.iter().any(|word| matches!(name_of(&word.text), "xargs" | "parallel"));
    let marks: Vec<&str> = marks.filter(|mark| !mark.is_empty()).collect();
    is_xargs && rest.iter().any(|word| marks.iter().any(|mark| word.text.trim() == *mark))
}

/// Whether a program runs code in a language that is none of a shell.
pub(crate) fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.iter().any(|(interpreter, _)| is_version_of(name, interpreter))
}

fn is_version_of(name: &str, interpreter: &str) -> bool {
    name.strip_prefix(interpreter).is_some_and(|version| version.chars().all(|c| c.is_ascii_digit() || c == '.'))
}

/// Whether the input of a command is something else than a file or a text that stands there.
pub(crate) fn is_fed_with_the_unknown(command: &Found, all: &[Found]) -> bool {
    let names_descriptor = command.words.iter().any(|word| is_input(&word.text) && word.text != "-");
    // `2>&1` leads nothing to the input.
    let is_of_output = |redirect: &Redirect| {
        !redirect.is_of_input && !names_descriptor && matches!(redirect.target.text.as_str(), "1" | "2")
    };
    let moved = |redirect: &Redirect| {
        redirect.way == Way::Copy && !is_of_output(redirect)
            || redirect.reads_machine()
            || redirect.way == Way::In && (is_input(&redirect.target.text) || !redirect.target.is_known())
    };
    if command.redirects.iter().any(moved) || command.given.iter().any(|text| text.contains(crate::policy::shell::ANY))
    {
        return true;
    }
    let has_input = !command.given.is_empty() || command.redirects.iter().any(Redirect::opens_input);
    if has_input {
        return false;
    }
    // What is before it in a group is its input as well, and what `exec` opened.
    let opens = |other: &Found| other.words.first().is_some_and(|word| word.text == "exec");
    if command.joint != Joint::Pipe && !command.is_grouped && !command.is_nested && !all.iter().any(opens) {
        return false;
    }
    let others = all.iter().filter(|other| !std::ptr::eq(*other, command));
    let piped = all.iter().any(|other| other.joint == Joint::Pipe);
    let led =
        others.clone().any(|other| !other.given.is_empty() || other.redirects.iter().any(|one| one.way != Way::Out));
    let prints_as_it_stands = |other: &Found| {
        let known = other.words.iter().all(|word| word.is_known() && !word.text.contains('\\'));
        let plain = matches!(other.words.as_slice(), [echo, rest @ ..] if echo.text == "echo" && !rest.iter().any(ShellWord::is_flag));
        known && plain && other.assignments.is_empty() && other.redirects.is_empty()
    };
    led && command.joint != Joint::Pipe || piped && !others.clone().all(prints_as_it_stands)
}
