//! What commands print: names of files, their own words, lines of files.

use super::filters::cuts_letters;
use super::origins::folders_of;
use super::sought::whole_folders;
use crate::policy::commands::command::name_of;
use crate::policy::commands::git_files::subcommand;
use crate::policy::commands::inert::started;
use crate::policy::files::folders::GIT_FOLDER;
use crate::policy::lines::suspects::{Found, Suspects};
use crate::policy::shell::{Joint, STAR, ShellCommand, ShellWord};

/// What a command prints.
pub(crate) enum Printed<'line> {
    /// Names of files that are there.
    Files,
    /// Its own words.
    Words,
    /// What is in the files of these words, or in its input.
    Lines(Vec<&'line ShellWord>),
    /// Nothing that is a name of a file of anybody's choice.
    Other,
    Unknown,
}

/// What a command prints, as far as names of files are in it.
pub(crate) fn printed(command: &Found) -> Printed<'_> {
    let words = started(&command.words);
    let Some((first, rest)) = words.split_first() else { return Printed::Lines(vec![]) };
    let has = |begin: &str| rest.iter().any(|word| word.text.starts_with(begin));
    let short = |letters: &[char]| {
        rest.iter().any(|word| word.is_flag() && !word.text.starts_with("--") && word.text.contains(letters))
    };
    match name_of(&first.text) {
        "find" if rest.iter().any(|word| word.text.starts_with("-printf")) && !prints_paths(rest) => Printed::Unknown,
        // It prints texts of its own as times.
        "ls" | "du" if has("--time-style=+") => Printed::Unknown,
        // The name of a zone is what a variable says.
        "date" if rest.iter().any(|word| word.text.contains("%Z")) => Printed::Unknown,
        "date" if rest.iter().any(|word| is_part_of_name(&date_pattern(&word.text).unwrap_or_default())) => {
            Printed::Words
        }
        "find" | "fd" | "ls" | "tree" | "du" => Printed::Files,
        "rgrep" => Printed::Files,
        "grep" | "egrep" | "fgrep" if short(&['r', 'R', 'l', 'L']) || has("--files") => Printed::Files,
        "rg" | "ag" | "ack" if short(&['l']) || has("--files") => Printed::Files,
        "git" => match subcommand(rest) {
            Some(("ls-files" | "status", _)) => Printed::Files,
            Some(("diff" | "show" | "log", words)) if words.iter().any(|word| word.text.starts_with("--name")) => {
                Printed::Files
            }
            // The text of a commit, or any other, may be put into it.
            Some((sub, words)) if words.iter().any(|word| formats_text(sub, word)) => Printed::Unknown,
            // What people wrote about it.
            Some(("log" | "stash", words)) if !words.iter().any(is_format) => Printed::Unknown,
            // An address that the line may set.
            Some(("remote", words)) if !words.is_empty() => Printed::Unknown,
            Some((
                "rev-parse" | "branch" | "tag" | "describe" | "remote" | "rev-list" | "merge-base" | "log"
                | "for-each-ref" | "show-ref" | "symbolic-ref" | "stash",
                _,
            )) => Printed::Other,
            _ => Printed::Unknown,
        },
        // `\x73` is a character that nobody sees here.
        "printf" | "echo" if rest.iter().any(|word| hides_letters(&word.text)) => Printed::Unknown,
        "printf" if formats(rest) => Printed::Unknown,
        "wc" if rest.iter().all(ShellWord::is_flag) => Printed::Other,
        "wc" | "echo" | "printf" | "basename" | "dirname" | "realpath" | "readlink" | "for" | "in" | "select"
        | "case" | "set" | "seq" => Printed::Words,
        "head" | "tail" if rest.iter().any(|word| cuts_letters(&word.text)) => Printed::Unknown,
        "cat" | "head" | "tail" | "sort" | "uniq" | "grep" | "egrep" | "fgrep" | "tac" | "nl" => {
            Printed::Lines(rest.iter().filter(|word| !word.is_flag()).collect())
        }
        // What these print a variable may say.
        "go" | "npm" | "pnpm" | "yarn" | "brew" | "xcrun" | "getconf" if sets_more(command) => Printed::Unknown,
        "go" if matches!(first_operand(rest), "env" | "list" | "version") => Printed::Other,
        "npm" | "pnpm" | "yarn" if matches!(first_operand(rest), "root" | "prefix" | "bin" | "config") => {
            Printed::Other
        }
        "pwd" | "date" | "mktemp" | "which" | "command" | "type" | "whoami" | "hostname" | "uname" | "nproc" | "id"
        | "test" | "[" | "[[" | "true" | "false" | ":" | "cd" | "pgrep" | "lsof" | "ps" | "tty" | "getconf"
        | "xcrun" | "brew" | "arch" | "dpkg" | "sleep" | "read" => Printed::Other,
        _ => Printed::Unknown,
    }
}

/// Whether a command sets more for itself than a language.
fn sets_more(command: &Found) -> bool {
    command.assignments.iter().any(|(name, _)| !name.starts_with("LC_") && !name.starts_with("LANG"))
}

fn first_operand(rest: &[ShellWord]) -> &str {
    rest.iter().find(|word| !word.is_flag()).map_or("", |word| word.text.as_str())
}

/// Whether printf puts words together.
fn formats(rest: &[ShellWord]) -> bool {
    let format = rest.iter().find(|word| !word.is_flag()).map_or("", |word| word.text.as_str());
    format.replace("%%", "").contains('%') && !matches!(format, "%s" | "%s\\n" | "%s\\0")
}

fn hides_letters(text: &str) -> bool {
    let behind = text.split('\\').skip(1);
    behind.filter_map(|part| part.chars().next()).any(|c| matches!(c, 'x' | 'u' | 'U' | '1'..='7'))
        || text.split("\\0").skip(1).any(|part| part.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_format(word: &ShellWord) -> bool {
    ["--format=", "--pretty=", "--oneline"].iter().any(|format| word.text.starts_with(format))
}

/// Whether git is told to print more than hashes, dates and names of branches.
fn formats_text(sub: &str, word: &ShellWord) -> bool {
    let format = ["--format=", "--pretty=", "--sort="].iter().find_map(|flag| word.text.strip_prefix(flag));
    let Some(format) = format.map(|format| format.strip_prefix("format:").unwrap_or(format)) else { return false };
    // Its own formats have names; in lists of branches and tags a text is printed as it stands.
    let has_names = word.text.starts_with("--sort") || matches!(sub, "log" | "show" | "rev-list" | "stash" | "diff");
    if !format.contains('%') {
        return !has_names && is_part_of_name(format);
    }
    let is_plain = |part: &str| {
        let known = ["H", "h", "T", "t", "P", "p", "ct", "cd", "cI", "ci", "cs", "at", "ad", "aI", "ai", "as", "n"];
        let name = part.strip_prefix('(').and_then(|part| part.split_once(')'));
        match name {
            Some((name, behind)) => {
                let name = name.split(':').next().unwrap_or_default();
                matches!(name, "refname" | "objectname" | "objecttype" | "creatordate") && !is_part_of_name(behind)
            }
            None => known.iter().any(|one| part.strip_prefix(one).is_some_and(|behind| !is_part_of_name(behind))),
        }
    };
    let mut parts = format.split('%');
    parts.next().is_some_and(is_part_of_name) || !parts.all(is_plain)
}

/// Whether something in a text may be a part of a name of a file.
fn is_part_of_name(text: &str) -> bool {
    text.contains(|c: char| c.is_alphanumeric() || matches!(c, '/' | '.' | '~'))
}

/// Whether find prints nothing but the names that it finds.
fn prints_paths(rest: &[ShellWord]) -> bool {
    let formats = rest.windows(2).filter(|pair| pair[0].text.starts_with("-printf")).map(|pair| pair[1].text.as_str());
    formats.into_iter().all(|format| {
        let plain = ["%p", "%f", "%P", "%h", "%s", "%d", "\\n", "\\0", "\\t"];
        !is_part_of_name(&plain.iter().fold(format.to_owned(), |format, part| format.replace(part, "")))
            && !format.contains("\\0") | format.ends_with("\\0")
    })
}

/// What `date` makes of a format with a text in it, as a pattern. None for any other word.
pub(crate) fn date_pattern(word: &str) -> Option<String> {
    let mut pattern = String::new();
    let mut chars = word.strip_prefix('+')?.chars();
    while let Some(c) = chars.next() {
        if c != '%' {
            pattern.push(c);
            continue;
        }
        match chars.by_ref().find(|c| c.is_ascii_alphabetic() || matches!(c, '%' | 'n' | 't')) {
            Some('%') => pattern.push('%'),
            Some('n' | 't') => pattern.push(' '),
            // A number.
            Some(c) if "CdeFgGHIjklmMNqsSTuUVwWyYz".contains(c) => pattern.push('0'),
            _ => pattern.push(STAR),
        }
    }
    // Numbers alone name nothing.
    pattern.contains(|c: char| !matches!(c, '0' | STAR | '-' | '_' | ':' | ' ')).then_some(pattern)
}

/// Whether all that commands print into words of a line are numbers, dates, hashes and names of machines.
pub(crate) fn prints_plainly(commands: &[ShellCommand]) -> bool {
    let mut nested = commands.iter().enumerate().filter(|(_, command)| command.is_nested);
    nested.all(|(at, command)| {
        let is_passed_on = commands.get(at + 1).is_some_and(|next| next.is_nested && next.joint == Joint::Pipe);
        is_passed_on || prints_only_marks(commands, at, command)
    })
}

/// Whether the last command of a pipeline prints such marks, or parts of those that the others print.
fn prints_only_marks(commands: &[ShellCommand], at: usize, command: &ShellCommand) -> bool {
    let Some((first, rest)) = command.words.split_first() else { return false };
    if !command.assignments.is_empty() || !command.words.iter().all(|word| word.is_literal) {
        return false;
    }
    let is = |known: &[&str]| rest.iter().all(|word| known.contains(&word.text.as_str()));
    let is_number = |word: &ShellWord| word.text.trim_start_matches('-').chars().all(|c| c.is_ascii_digit());
    let is_piped = command.joint == Joint::Pipe && at > 0;
    match first.text.as_str() {
        "nproc" => is(&["--all"]),
        "seq" => rest.iter().all(is_number),
        "pwd" | "arch" | "whoami" | "hostname" => rest.is_empty(),
        "uname" => is(&["-m", "-s", "-r"]),
        "id" => is(&["-u", "-g", "-un", "-gn"]) && !rest.is_empty(),
        "mktemp" => is(&["-d"]),
        "getconf" => is(&["_NPROCESSORS_ONLN"]),
        "pgrep" => !rest.iter().any(|word| word.is_flag() && word.text.contains(['l', 'a', 'd'])),
        "lsof" => rest.iter().any(|word| word.is_flag() && word.text.contains('t')),
        "date" => {
            rest.iter().all(|word| matches!(word.text.as_str(), "-u" | "-I" | "--iso-8601") || is_date(&word.text))
        }
        "git" => prints_a_hash(rest),
        "grep" => counts_lines(rest, is_piped),
        "wc" => rest.iter().all(ShellWord::is_flag) && !rest.iter().any(|word| word.text.starts_with("--files")),
        "head" | "tail" | "cut" if is_piped => prints_only_marks(commands, at - 1, &commands[at - 1]),
        _ => false,
    }
}

/// Whether grep prints a number and no name: of the lines of one file, or of its input.
fn counts_lines(rest: &[ShellWord], is_piped: bool) -> bool {
    let (flags, operands): (Vec<&ShellWord>, Vec<&ShellWord>) = rest.iter().partition(|word| word.is_flag());
    flags.iter().all(|word| word.text[1..].chars().all(|c| "ciEFvwx".contains(c)))
        && flags.iter().any(|word| word.text.contains('c'))
        && operands.len() == if is_piped { 1 } else { 2 }
}

/// `+%Y-%m-%d`
fn is_date(format: &str) -> bool {
    let Some(format) = format.strip_prefix("+%") else { return false };
    format.split('%').all(|part| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| "YmdHMSsFTjuVNyez".contains(c)) && chars.all(|c| "-_:.T".contains(c))
    })
}

/// `rev-parse HEAD`. What git does not know it prints as it stands.
fn prints_a_hash(rest: &[ShellWord]) -> bool {
    let texts: Vec<&str> = rest.iter().map(|word| word.text.as_str()).collect();
    let is_head =
        |text: &&str| matches!(*text, "HEAD" | "@" | "HEAD^") || text.strip_prefix("HEAD~").is_some_and(is_digits);
    let is_short = |text: &&str| *text == "--short" || text.strip_prefix("--short=").is_some_and(is_digits);
    match texts.as_slice() {
        // The folder that one works in, or one above it, as `pwd` prints it.
        ["rev-parse", "--show-toplevel"] => true,
        ["rev-parse", flags @ .., head] => {
            is_head(head) && flags.iter().all(|flag| is_short(flag) || *flag == "--verify")
        }
        ["rev-list", "--count", head] => is_head(head),
        _ => false,
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_digit())
}

/// The names that a command prints for certain, as shapes: folders that it is asked for, and its own words.
pub(crate) fn names_printed(command: &Found, suspects: &Suspects) -> Vec<String> {
    let words = started(&command.words);
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let shapes = |words: Vec<&ShellWord>| {
        let shapes = words.into_iter().flat_map(|word| suspects.variables.spellings(word));
        shapes
            .flat_map(|shape| with_blanks(&shape).split_whitespace().map(str::to_owned).collect::<Vec<_>>())
            .collect::<Vec<_>>()
    };
    let operands = || rest.iter().filter(|word| !word.is_flag()).collect::<Vec<_>>();
    let has = |letter: char| rest.iter().any(|word| word.is_flag() && word.text.contains(letter));
    match name_of(&first.text) {
        "pwd" => vec![".".to_owned()],
        "git" => names_of_git(rest),
        "dirname" => {
            // What stands for the folder one is in has another above it, where it is written as a whole.
            let above = |name: &String| matches!(name.as_str(), "." | "~").then(|| format!("{name}/.."));
            let named = shapes(operands());
            let folders = named.iter().filter_map(|name| folders_of(name).into_iter().next());
            folders.chain(named.iter().filter_map(above)).collect()
        }
        "basename" => without_suffixes(&shapes(rest.iter().collect())),
        "date" => {
            let patterns = rest.iter().filter_map(|word| date_pattern(&word.text));
            patterns.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
        }
        "cat" | "head" | "tail" | "sort" | "uniq" | "grep" | "egrep" | "fgrep" | "tac" | "nl" | "tee" => {
            let given = command.given.iter().flat_map(|text| suspects.variables.spellings(&ShellWord::read(text)));
            given
                .flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
                .take(MOST_GIVEN)
                .collect()
        }
        // Its format counts again for further words.
        "printf" => {
            let joined = suspects.variables.formatted(rest).into_iter();
            shapes(operands())
                .into_iter()
                .chain(
                    joined
                        .flat_map(|text| with_blanks(&text).split_whitespace().map(str::to_owned).collect::<Vec<_>>()),
                )
                .collect()
        }
        "echo" | "realpath" | "readlink" | "du" => shapes(operands()),
        "ls" if has('d') => shapes(operands()),
        "ls" if operands().is_empty() => vec![STAR.to_string()],
        "find" => shapes(whole_folders(rest)),
        _ => vec![],
    }
}

/// More words that a command is given are not taken for names.
const MOST_GIVEN: usize = 400;

/// What `basename` leaves of its words: their last parts, with and without another of its words at their end.
fn without_suffixes(words: &[String]) -> Vec<String> {
    let last = |word: &String| word.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
    let suffixes =
        || words.iter().map(|word| word.strip_prefix("--suffix=").or(word.strip_prefix("-s")).unwrap_or(word));
    let mut names: Vec<String> = words.iter().filter(|word| !word.starts_with('-')).map(last).collect();
    let cut: Vec<String> = names
        .iter()
        .flat_map(|name| suffixes().filter_map(|suffix| name.strip_suffix(suffix)))
        .filter(|cut| !cut.is_empty())
        .map(str::to_owned)
        .collect();
    names.extend(cut);
    names
}

/// The folders that git is asked for.
fn names_of_git(rest: &[ShellWord]) -> Vec<String> {
    let Some(("rev-parse", words)) = subcommand(rest) else { return vec![] };
    let mut names = vec![];
    for (at, word) in words.iter().enumerate() {
        match word.text.as_str() {
            "--show-toplevel" | "--show-cdup" | "--show-superproject-working-tree" => names.push(".".to_owned()),
            "--git-path" => {
                let below = words.get(at + 1).map_or("", |word| word.text.as_str());
                names.push(format!("{GIT_FOLDER}/{below}"));
            }
            flag if flag.starts_with("--git-")
                || flag.starts_with("--absolute-git")
                || flag.starts_with("--shared") =>
            {
                names.push(GIT_FOLDER.to_owned());
            }
            _ => {}
        }
    }
    names
}

/// A text with blanks in the place of what printf and `echo -e` make them of.
pub(crate) fn with_blanks(text: &str) -> String {
    ["\\n", "\\t", "\\r", "\\v", "\\f", "\\0", "\\a", "\\b", "\\c"]
        .iter()
        .fold(text.to_owned(), |text, it| text.replace(it, " "))
}
