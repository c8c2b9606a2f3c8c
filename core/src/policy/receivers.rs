//! Words and inputs that are run as commands or code. Where such a text is not in the line as it stands, it may be any.
//!
//! Here it counts only where a deny or ask rule for commands exists: what is asked for without one is in `feeding`.

use super::command::{is_shell, name_of};
use super::environment::is_command;
use super::inert::is_inert;
use super::shell::{ANY, Joint, Piece, Redirect, ShellWord, Way};
use super::starts::{BEFORE_ANOTHER, starts, takes_from_elsewhere};
use super::suspects::{Found, Suspects};
use super::values::Variables;
use super::written::runs_what_it_wrote;
use super::{awk, git, options, sed};

/// Options whose value a program runs: letters of short ones, and long ones.
const OPTIONS: [(&str, &str, &[&str]); 40] = [
    ("bind", "x", &[]),
    ("bun", "e", &["--eval"]),
    ("compgen", "CF", &[]),
    ("complete", "CF", &[]),
    ("cargo", "", &["--config"]),
    ("deno", "", &["--eval"]),
    ("emacs", "", &["--eval", "-eval", "--execute", "--funcall"]),
    ("ex", "c", &["--cmd"]),
    ("expect", "c", &[]),
    ("fd", "xX", &["--exec", "--exec-batch"]),
    ("flock", "c", &["--command"]),
    ("gdb", "", &["-ex", "-iex", "--ex", "--eval-command"]),
    ("go", "", &["-toolexec", "-exec", "-vettool"]),
    ("hash", "p", &[]),
    ("lua", "el", &[]),
    ("make", "", &["--eval"]),
    ("gmake", "", &["--eval"]),
    ("man", "PH", &["--pager", "--html"]),
    ("nc", "ec", &["--exec", "--sh-exec"]),
    ("node", "epr", &["--eval", "--print", "--require", "--import"]),
    ("nvim", "cS", &["--cmd"]),
    ("perl", "eE", &[]),
    ("php", "r", &["--run"]),
    ("python", "c", &[]),
    ("rg", "", &["--pre", "--hostname-bin"]),
    ("rsync", "e", &["--rsh", "--rsync-path"]),
    ("ruby", "er", &[]),
    ("scp", "So", &[]),
    ("script", "c", &["--command"]),
    ("sftp", "SoD", &[]),
    ("sort", "", &["--compress-program"]),
    ("split", "", &["--filter"]),
    ("sqlite3", "", &["-cmd"]),
    ("ssh", "o", &[]),
    ("su", "c", &["--command", "--session-command"]),
    ("tar", "IF", &TAR),
    ("vi", "cS", &["--cmd"]),
    ("vim", "cS", &["--cmd"]),
    ("wget", "e", &["--use-askpass", "--execute"]),
    ("zip", "", &["-TT", "--unzip-command"]),
];

const TAR: [&str; 7] = [
    "--use-compress-program",
    "--checkpoint-action",
    "--to-command",
    "--info-script",
    "--new-volume-script",
    "--rsh-command",
    "--rmt-command",
];

/// Programs that run code they read from their input, unless a file is named or an option gives it.
const RUN_INPUT: [&str; 16] = [
    "ed", "ex", "vi", "vim", "nvim", "view", "gdb", "sqlite3", "psql", "mysql", "m4", "dc", "ftp", "gnuplot", "expect",
    "tclsh",
];

/// Programs that run a program or a script that they are given by name.
const RUN_A_FILE: [&str; 14] = [
    "source",
    ".",
    "python",
    "perl",
    "ruby",
    "node",
    "php",
    "lua",
    "deno",
    "bun",
    "tclsh",
    "expect",
    "osascript",
    "hash",
];

/// Subcommands, and programs of their own, behind which a program is named.
const RUNNERS: [(&str, &[&str]); 22] = [
    ("asdf", &["exec"]),
    ("bundle", &["exec"]),
    ("bunx", &[]),
    ("conda", &["run"]),
    ("entr", &[]),
    ("gem", &["exec"]),
    ("hatch", &["run"]),
    ("mise", &["exec", "x"]),
    ("npm", &["exec", "x"]),
    ("npx", &[]),
    ("pdm", &["run"]),
    ("pipenv", &["run"]),
    ("pipx", &["run"]),
    ("pnpm", &["exec", "dlx"]),
    ("poetry", &["run"]),
    ("rustup", &["run"]),
    ("rye", &["run"]),
    ("screen", &[]),
    ("tmux", &["new", "new-session", "new-window", "split-window", "send-keys", "send"]),
    ("uv", &["run", "tool"]),
    ("uvx", &[]),
    ("yarn", &["exec", "dlx"]),
];

/// Programs that make a text out of another.
const TRANSFORMERS: [&str; 20] = [
    "rev", "tr", "base64", "base32", "basenc", "xxd", "od", "printf", "sed", "awk", "gawk", "mawk", "perl", "python",
    "python3", "ruby", "node", "openssl", "cut", "gzip",
];

const MADE: &str = "it runs a text that is not in the line as it stands";
const READ: &str = "it runs what it reads, and what that is cannot be told";
const FOLDER: &str = "it runs what is in a folder";
const WRITTEN: &str = "it runs a file that it writes itself, and what is in it cannot be told";

/// Why something may be run that does not stand in the line.
pub(super) fn computed(suspects: &Suspects) -> Option<&'static str> {
    let receivers = Receivers { suspects, makes_text: makes_text(&suspects.found) };
    let found = &suspects.found;
    found.iter().find_map(|command| receivers.command(command)).or_else(|| runs_what_it_wrote(found).then_some(WRITTEN))
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
    let Some(file) = rest.iter().find(|word| !word.is_flag()).filter(|word| !word.is_literal) else { return vec![] };
    // For `find -exec` it is what find looks for.
    if file.text.contains("{}") && before.iter().any(takes_from_elsewhere) {
        let is_name = |word: &ShellWord| matches!(word.text.as_str(), "-name" | "-iname");
        let names = before.windows(2).filter(|pair| is_name(&pair[0])).map(|pair| ShellWord::read(&pair[1].text));
        let shapes: Vec<String> = names.flat_map(|name| variables.shapes(&name)).collect();
        return if shapes.is_empty() { vec![ANY.to_string()] } else { shapes };
    }
    variables.shapes(file).into_iter().map(|shape| name_of(&shape).to_owned()).collect()
}

/// Whether a program runs the file that it is given by name.
pub(super) fn runs_a_file(name: &str) -> bool {
    is_shell(name) || RUN_A_FILE.iter().any(|program| name.strip_prefix(*program).is_some_and(is_version))
}

fn is_version(rest: &str) -> bool {
    rest.chars().all(|c| c.is_ascii_digit() || c == '.')
}

fn options_of(name: &str) -> (&'static str, &'static [&'static str]) {
    let is_it = |program: &str| name == program || name.strip_prefix(program).is_some_and(is_version);
    let found = OPTIONS.iter().find(|(program, _, _)| is_it(program));
    found.map_or(("", &[]), |(_, letters, longs)| (*letters, *longs))
}

/// Whether the line has commands in words that make one text out of another that stands in it.
fn makes_text(found: &[Found]) -> bool {
    let name = |command: &Found| command.words.first().map_or(String::new(), |word| name_of(&word.text).to_owned());
    let is_text = |text: &str| text.chars().filter(|c| c.is_alphanumeric()).count() > 2;
    let says = |word: &ShellWord| word.pieces.iter().any(|piece| matches!(piece, Piece::Text(text) if is_text(text)));
    let nested = || found.iter().filter(|command| command.is_nested);
    let makes = nested().any(|command| TRANSFORMERS.contains(&name(command).as_str()));
    let has_text = nested().any(|command| {
        let speaks = matches!(name(command).as_str(), "echo" | "printf") && command.words[1..].iter().any(says);
        speaks || command.given.iter().any(|text| is_text(text))
    });
    makes && has_text
}

struct Receivers<'a> {
    suspects: &'a Suspects,
    makes_text: bool,
}

impl Receivers<'_> {
    fn is_computed(&self, word: &ShellWord) -> bool {
        !word.is_literal && self.suspects.variables.shapes(word).iter().any(|shape| shape.contains(ANY))
    }

    fn command(&self, command: &Found) -> Option<&'static str> {
        let sets = |(name, value): &(String, ShellWord)| is_command(name) && self.is_computed(value);
        let exports = |word: &ShellWord| super::shell::assignment(word).is_some_and(|one| sets(&one));
        if command.assignments.iter().any(sets) || command.words.iter().skip(1).any(exports) {
            return Some(MADE);
        }
        let computed = |word: &ShellWord| self.is_computed(word);
        if self.makes_text && !is_inert(&command.words) && command.words.iter().skip(1).any(computed) {
            return Some(MADE);
        }
        let is_fed = || self.is_fed(command);
        for start in starts(&command.words) {
            let Some((first, rest)) = command.words[start..].split_first() else { continue };
            let name = name_of(&first.text);
            if self.option(name, rest) || self.operand(name, rest) {
                return Some(MADE);
            }
            if name == "run-parts" {
                return Some(FOLDER);
            }
            let wants_a_program = BEFORE_ANOTHER.contains(&name) && !rest.iter().any(|word| !word.is_flag());
            let runs_input = match name {
                "make" | "gmake" => rest.iter().any(|word| matches!(word.text.as_str(), "-" | "-f-" | "/dev/stdin")),
                "sed" => sed::running(rest).is_some(),
                "awk" | "gawk" | "mawk" | "nawk" => rest.iter().any(|word| awk::runs_what_it_makes(&word.text)),
                "perl" | "ruby" => rest.iter().any(|word| super::feeding::starts_programs(name, &word.text)),
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

    /// Whether an option of the program says what is run, and does not say it plainly.
    fn option(&self, name: &str, rest: &[ShellWord]) -> bool {
        let (letters, longs) = options_of(name);
        let of_git = git::GitLine::read(rest).filter(|_| name == "git");
        if of_git.as_ref().is_some_and(|line| line.code().any(|setting| self.is_computed(setting))) {
            return true;
        }
        let sub = of_git.as_ref().and_then(|line| line.words.first()).map_or("", |word| word.text.as_str());
        rest.iter().enumerate().any(|(at, word)| {
            let value =
                if name == "git" { git::started_by(sub, word) } else { options::value(&word.text, letters, longs) };
            match value {
                Some("") => self.is_computed(word) || rest.get(at + 1).is_some_and(|next| self.is_computed(next)),
                Some(_) => self.is_computed(word),
                None => false,
            }
        })
    }

    /// Whether a word of the program is run, and is not plain.
    fn operand(&self, name: &str, rest: &[ShellWord]) -> bool {
        let any = |rest: &[ShellWord]| rest.iter().any(|word| self.is_computed(word));
        match name {
            "alias" | "trap" => any(rest),
            "vim" | "vi" | "nvim" | "ex" | "less" | "view" => {
                rest.iter().any(|word| word.text.starts_with('+') && self.is_computed(word))
            }
            "make" | "gmake" => rest.iter().any(|word| word.text.starts_with("SHELL=") && self.is_computed(word)),
            "awk" | "gawk" | "mawk" | "nawk" => {
                rest.iter().any(|word| self.is_computed(word) && word.text.contains(['|', '(']))
            }
            "sed" => {
                sed::running(rest).is_some_and(|scripts| scripts.into_iter().any(|script| self.is_computed(script)))
            }
            name => self.names_a_program(name, rest),
        }
    }

    /// Whether the program that a runner is to start is not plain.
    fn names_a_program(&self, name: &str, rest: &[ShellWord]) -> bool {
        let Some((_, subs)) = RUNNERS.iter().find(|(runner, _)| *runner == name) else { return false };
        let mut words = rest;
        if !subs.is_empty() {
            let at = rest.iter().position(|word| !word.is_flag()).filter(|at| subs.contains(&rest[*at].text.as_str()));
            let Some(at) = at else { return false };
            words = &rest[at + 1..];
        }
        // Some have a word of their own before it.
        let mut left = 1 + usize::from(matches!(name, "rustup" | "uv"));
        let mut after_flag = false;
        for word in words {
            if !word.is_flag() {
                if self.is_computed(word) && !matches!(word.pieces.first(), Some(Piece::Text(_))) {
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
        if command.given.iter().any(|text| text.contains(ANY)) {
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
        let is_plain = |word: &ShellWord| word.is_known() && !is_escaped(&word.text);
        others
            .clone()
            .all(|other| matches!(name(other).as_str(), "echo" | "printf" | "cat") && other.words.iter().all(is_plain))
    }
}

/// Whether a text has escapes other than for new lines and tabs.
pub(super) fn is_escaped(text: &str) -> bool {
    text.replace("\\n", "").replace("\\t", "").contains('\\')
}
