//! One command in the forms rules are held against: without what stands before it, and as the programs it starts.

use super::awk;
use crate::policy::shell::{ShellCommand, ShellWord};

/// Variables that change how a program looks or what it says, and not what it does.
const SAFE_VARIABLES: [&str; 23] = [
    "CGO_ENABLED",
    "CI",
    "COLORTERM",
    "FORCE_COLOR",
    "GO111MODULE",
    "GOARCH",
    "GOOS",
    "LANG",
    "LANGUAGE",
    "LC_ALL",
    "LC_CTYPE",
    "LC_TIME",
    "LS_COLORS",
    "NODE_ENV",
    "NO_COLOR",
    "PYTEST_DEBUG",
    "PYTHONDONTWRITEBYTECODE",
    "PYTHONUNBUFFERED",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "TERM",
    "TIME_STYLE",
    "TZ",
];

pub(crate) fn is_safe(variable: &str) -> bool {
    SAFE_VARIABLES.contains(&variable)
}

/// Programs that run what their arguments say. No pattern approves them, since it says nothing about what is run.
const RUNNERS: [&str; 4] = ["watch", "setsid", "ionice", "flock"];

/// Words of the shell's own that run text as commands, or change what later commands mean.
const SHELL_CHANGERS: [&str; 26] = [
    ".",
    "alias",
    "bind",
    "compgen",
    "complete",
    "declare",
    "enable",
    "eval",
    "exec",
    "export",
    "fc",
    "hash",
    "let",
    "local",
    "mapfile",
    "popd",
    "pushd",
    "read",
    "readarray",
    "readonly",
    "set",
    "shopt",
    "source",
    "trap",
    "typeset",
    "unset",
];

const SHELLS: [&str; 27] = [
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "ash",
    "csh",
    "tcsh",
    "mksh",
    "rbash",
    "yash",
    "posh",
    "osh",
    "nu",
    "pwsh",
    "powershell",
    "elvish",
    "ksh93",
    "lksh",
    "oksh",
    "pdksh",
    "rzsh",
    "xonsh",
    "ysh",
    "rc",
    "es",
];

pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&name_of(program))
}

/// The program's name without its folder.
pub(crate) fn name_of(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}

/// Whether a program is called by its name alone, or lies where systems keep theirs. Any other of the same name may be
/// another program.
pub(crate) fn is_the_systems(program: &str) -> bool {
    let folders = ["/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin"];
    program.rsplit_once('/').is_none_or(|(folder, _)| folders.contains(&folder))
}

/// A command without the programs that only start it, for allow rules and for knowing what it does.
pub(crate) struct Stripped<'command> {
    pub(crate) words: &'command [ShellWord],
    /// More arguments come from elsewhere.
    pub(crate) takes_more: bool,
    /// The whole of it, as written.
    pub(crate) whole: &'command [ShellWord],
}

impl<'command> Stripped<'command> {
    /// None when a variable is set that may change what the command does, or when nothing is left to run.
    pub(crate) fn of(command: &'command ShellCommand) -> Option<Self> {
        // Claude Code takes only values without quotes, and of these letters.
        let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | ':');
        let safe = |(name, value): &(String, ShellWord)| {
            let plain =
                value.is_literal && !value.is_quoted && !value.text.is_empty() && value.text.chars().all(is_plain);
            SAFE_VARIABLES.contains(&name.as_str()) && plain
        };
        if !command.assignments.iter().all(safe) {
            return None;
        }
        let whole = command.words.as_slice();
        let mut stripped = Self { words: whole, takes_more: false, whole };
        while let Some(wrapped) = wrapped(stripped.words) {
            stripped.takes_more |= stripped.words[0].text == "xargs";
            stripped.words = wrapped;
        }
        (!stripped.words.is_empty()).then_some(stripped)
    }

    pub(crate) fn name(&self) -> &str {
        self.words.first().map_or("", |word| &word.text)
    }

    pub(crate) fn arguments(&self) -> impl Iterator<Item = &'command ShellWord> + Clone + use<'command> {
        self.words.iter().skip(1)
    }

    /// Whether it does something to the shell itself, which no rule on commands speaks about.
    pub(crate) fn changes_the_shell(&self) -> bool {
        SHELL_CHANGERS.contains(&self.name())
    }

    /// Whether only its exact text may approve it.
    pub(crate) fn needs_its_exact_text(&self) -> bool {
        let runs = ["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];
        let starts_others = |word: &ShellWord| awk::starts_or_writes(&word.text);
        RUNNERS.contains(&name_of(self.name()))
            || name_of(self.name()).ends_with("awk") && self.arguments().any(starts_others)
            || name_of(self.name()) == "find" && self.arguments().any(|word| runs.contains(&word.text.as_str()))
    }
}

pub(crate) fn raw(words: &[ShellWord]) -> String {
    words.iter().map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

/// A command with the variables set before it, as written.
pub(crate) fn whole(command: &ShellCommand) -> String {
    let variables = command.assignments.iter().map(|(_, word)| word);
    variables.chain(&command.words).map(|word| word.raw.as_str()).collect::<Vec<_>>().join(" ")
}

pub(crate) fn text(words: &[ShellWord]) -> String {
    words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ")
}

/// A command without the words before it that leave it in the shell that reads the line: `time -p cd x`, `command read x`.
pub(crate) fn in_this_shell(words: &[ShellWord]) -> &[ShellWord] {
    let is_before = |word: &&ShellWord| {
        matches!(word.text.as_str(), "time" | "command" | "builtin" | "!" | "{" | "do" | "then" | "-p" | "--")
    };
    &words[words.iter().take_while(is_before).count()..]
}

/// What a wrapper starts, if this is a wrapper used in a way we know.
fn wrapped(words: &[ShellWord]) -> Option<&[ShellWord]> {
    let (first, rest) = words.split_first()?;
    if first.is_quoted || rest.is_empty() {
        return None;
    }
    let is = |word: &ShellWord, flags: &[&str]| flags.contains(&word.text.as_str());
    let starts = |word: &ShellWord, flags: &[&str]| flags.iter().any(|flag| word.text.starts_with(flag));
    let inner = match first.text.as_str() {
        "nohup" | "command" | "builtin" | "noglob" | "xargs" | "time" => rest,
        "nice" => match rest {
            [flag, _, inner @ ..] if is(flag, &["-n"]) => inner,
            [flag, inner @ ..] if starts(flag, &["--adjustment="]) || is_number(&flag.text) => inner,
            inner => inner,
        },
        "stdbuf" => {
            let flags = rest.iter().take_while(|word| starts(word, &["-i", "-o", "-e"]) && word.text.len() > 2).count();
            if flags == 0 {
                return None;
            }
            &rest[flags..]
        }
        "timeout" => {
            let mut rest = rest;
            loop {
                rest = match rest {
                    [flag, _, more @ ..] if is(flag, &["-k", "-s"]) => more,
                    [flag, more @ ..]
                        if is(flag, &["--foreground", "--preserve-status", "-v", "--verbose"])
                            || starts(flag, &["--kill-after=", "--signal="]) =>
                    {
                        more
                    }
                    _ => break,
                };
            }
            let (time, inner) = rest.split_first()?;
            let digits = time.text.trim_end_matches(['s', 'm', 'h', 'd']);
            if digits.is_empty() || !digits.chars().all(|c| c.is_ascii_digit() || c == '.') {
                return None;
            }
            inner
        }
        _ => return None,
    };
    // A flag where the command should be is one we do not know.
    inner.first().filter(|word| !word.is_flag())?;
    Some(inner)
}

fn is_number(flag: &str) -> bool {
    flag.strip_prefix('-').is_some_and(|digits| !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit()))
}

/// The texts of one suspect: as written, without quotes, and with the program's bare name.
pub(crate) fn texts(words: &[ShellWord]) -> Vec<String> {
    let mut texts = vec![raw(words), text(words)];
    if let Some((first, rest)) = words.split_first() {
        let bare = name_of(&first.text);
        texts.push(if rest.is_empty() { bare.to_owned() } else { format!("{bare} {}", text(rest)) });
    }
    texts.dedup();
    texts
}
