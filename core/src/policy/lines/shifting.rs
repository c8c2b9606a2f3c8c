//! What a line does to the shell that reads the rest of it: then no word of it is certain any more.

use super::shell_options::changes_reading;
use super::starts::starts;
use super::suspects::Found;
use crate::policy::commands::command::{in_this_shell, is_shell, name_of};
use crate::policy::commands::reading::{Descent, descent};
use crate::policy::files::folders::{changes_folder, targets};
use crate::policy::files::linking::goes_above;
use crate::policy::shell::{Piece, Redirect, ShellWord, Way, assignment};

/// Names whose values decide what other words mean: where they are split, and what `~` stands for.
const SHIFTING: [&str; 3] = ["IFS", "HOME", "OLDPWD"];
/// Names by which a shell is told which files its patterns find, and other options of [`super::shell_options`].
const OPTIONS: [&str; 3] = ["GLOBIGNORE", "BASHOPTS", "SHELLOPTS"];
/// Names that the shell fills in by itself, with what it has read or will run, or where it takes what it will run from.
const FILLED: [&str; 11] = [
    "BASH_ALIASES",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_CMDS",
    "BASH_COMMAND",
    "BASH_EXECUTION_STRING",
    "BASH_REMATCH",
    "BASH_SOURCE",
    "DIRSTACK",
    "FUNCNAME",
    "OPTARG",
];

/// Whether a command makes a file whose name begins as an option does.
fn names_an_option(command: &Found) -> bool {
    let name = command.words.first().map_or("", |word| name_of(&word.text));
    let makes = matches!(name, "touch" | "cp" | "mv" | "ln" | "mkdir" | "tee" | "install" | "mkfifo" | "truncate");
    let behind = command.words.iter().skip_while(|word| word.text != "--").skip(1);
    let dashed = behind.filter(|word| word.is_flag()).count() > 0;
    let dotted = command.words.iter().skip(1).any(|word| word.text.contains("/-"));
    let targets = command.redirects.iter().filter(|redirect| redirect.way == Way::Out);
    let is_option = |text: &str| name_of(text).starts_with('-') && text.len() > 1;
    makes && (dashed || dotted) || targets.into_iter().any(|redirect| is_option(&redirect.target.text))
}

/// Why the words of a line may be others than they seem.
pub(super) fn shifts(found: &[Found]) -> Option<&'static str> {
    if goes_above(found) {
        return Some("it goes above a link that it makes itself");
    }
    found.iter().find_map(|command| {
        let name = in_this_shell(&command.words).first().map_or("", |word| name_of(&word.text));
        // Before `read` it holds for that command alone, which people do in loops over lines.
        let sets = |name: &str| SHIFTING.contains(&name);
        let is_set = command.words.is_empty() && command.assignments.iter().any(|(name, _)| sets(name));
        let named = |word: &ShellWord| {
            assignment(word).is_some_and(|(name, _)| sets(&name)) || sets(&word.text) && name != "unset"
        };
        let declares =
            matches!(name, "export" | "declare" | "typeset" | "local" | "readonly" | "read" | "printf" | "for")
                && command.words.iter().skip(1).any(named);
        // `declare -n x=HOME`
        let refers = |word: &ShellWord| {
            let target = assignment(word).map(|(_, value)| value);
            target.is_some_and(|target| sets(&target.text) || !target.is_known())
        };
        let references = matches!(name, "declare" | "typeset" | "local")
            && command.words.iter().any(|word| word.is_flag() && word.text.contains('n'))
            && command.words.iter().skip(1).any(refers);
        let targets = command.redirects.iter().map(|redirect| &redirect.target);
        let words =
            || command.words.iter().chain(command.assignments.iter().map(|(_, value)| value)).chain(targets.clone());
        let is_option = |name: &str| OPTIONS.contains(&name);
        let sets_options = command.assignments.iter().any(|(name, _)| is_option(name)) || words().any(names_option);
        let starts = || starts(&command.words).into_iter();
        // Another shell takes it for what `~` stands for.
        let gives_home = command.assignments.iter().any(|(name, _)| name == "HOME")
            && starts().any(|start| command.words.get(start).is_some_and(|word| is_shell(&word.text)));
        let goes_physically = changes_folder(name) && words().any(|word| word.is_flag() && word.text.contains('P'));
        if words().any(climbs_from_pattern) || goes_physically && found.len() > 1 {
            Some("which folder `..` is above is not certain")
        } else if name == "mount" && words().any(|word| word.text.contains("bind") || word.text == "-B") {
            Some("it gives a folder another name")
        } else if name == "git" && words().any(|word| word.text == "--icase-pathspecs")
            || command.assignments.iter().any(|(name, _)| name.ends_with("_PATHSPECS"))
        {
            Some("git takes names in another way")
        } else if starts().any(|start| cuts_names(&command.words[start..]))
            || name == "read" && joins_lines(command, found)
        {
            Some("it takes names apart in a way of its own")
        } else if names_an_option(command) {
            Some("it makes a file whose name is an option, which a pattern may find")
        } else if is_set || declares || references || sets_options || gives_home {
            Some("it changes how its words are read")
        } else if let Some(why) = starts()
            .find_map(|start| changes_reading(&command.words[start..], &command.given))
            // An option of this very shell means nothing where no other command is.
            .filter(|_| found.len() > 1 || !matches!(name, "shopt" | "set"))
        {
            Some(why)
        } else if words().any(is_filled) || command.assignments.iter().any(|(name, _)| is_filled_name(name)) {
            Some("it uses what the shell has kept of earlier words")
        } else if words().any(has_class) {
            Some("a pattern in it names a class of letters")
        } else if words().any(|word| through_descriptor(&word.text)) || enters_descriptor(&command.words) {
            Some("it goes through a folder that is open as a descriptor")
        } else {
            None
        }
    })
}

fn is_filled_name(name: &str) -> bool {
    FILLED.iter().any(|filled| name.trim_start_matches('!').starts_with(filled))
}

/// Whether a word says one of [`OPTIONS`], as what is set or filled in.
fn names_option(word: &ShellWord) -> bool {
    let is_said = |text: &str| {
        let name = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
        OPTIONS.contains(&name)
    };
    word.pieces.iter().any(|piece| match piece {
        Piece::Text(text) => is_said(text),
        Piece::Variable(name) | Piece::MadeOf(name, _) => is_said(name.trim_start_matches('!')),
        Piece::Unknown | Piece::Glob(_) => false,
    })
}

fn is_filled(word: &ShellWord) -> bool {
    word.pieces.iter().any(|piece| match piece {
        Piece::Variable(name) | Piece::MadeOf(name, _) => is_filled_name(name),
        // `BASH_CMDS[x]=y`, and words of `declare`, `read` and their like.
        Piece::Text(text) => {
            let name = text.split(['[', '=', '+']).next().unwrap_or_default();
            name.starts_with("BASH_") && is_filled_name(name)
        }
        Piece::Unknown | Piece::Glob(_) => false,
    })
}

/// `[[:alpha:]]` and its like, outside of quotes.
fn has_class(word: &ShellWord) -> bool {
    word.pieces.contains(&Piece::Glob('[')) && ["[:", "[=", "[."].iter().any(|class| word.raw.contains(class))
}

/// Whether a command goes to a folder that is open as a descriptor, or into one.
fn enters_descriptor(words: &[ShellWord]) -> bool {
    let goes = words.first().is_some_and(|word| changes_folder(&word.text)) || descent(words) == Descent::All;
    let is_one = |word: &ShellWord| word.text.contains("/fd/") && !word.is_made_file();
    let is_standard = |word: &ShellWord| STREAMS.iter().any(|stream| word.text.ends_with(stream));
    let leads = words.first().is_some_and(|word| matches!(name_of(&word.text), "ln" | "find"));
    goes && words.iter().skip(1).any(is_one)
        || leads && words.iter().any(is_standard)
        || targets(words).iter().any(is_standard)
}

/// The streams of a process by name: each may be a folder that the line opens.
const STREAMS: [&str; 3] = ["/dev/stdin", "/dev/stdout", "/dev/stderr"];

/// Whether `xargs` parts names at a letter, or is told in a way that is not followed what it puts them in the place of.
fn cuts_names(words: &[ShellWord]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let is_plain = |mark: &str| matches!(mark, "\\n" | "\n" | "\\0" | "\\t" | "\t" | " " | "," | ":" | ";" | "=" | "");
    let parts = rest.iter().enumerate().any(|(at, word)| {
        let value = match word.text.strip_prefix("--d").and_then(|long| long.split_once('=')) {
            Some((_, value)) => Some(value),
            None if word.text.starts_with("--d") || word.text == "-d" => {
                rest.get(at + 1).map(|next| next.text.as_str())
            }
            None => word.text.strip_prefix("-d"),
        };
        value.is_some_and(|mark| !is_plain(mark))
    });
    let puts = |text: &str| {
        text.starts_with("-i") && text.len() > 2
            || text.starts_with("--r") && text.contains('=') && !text.starts_with("--replace=")
    };
    name_of(&first.text) == "xargs" && (parts || rest.iter().any(|word| puts(&word.text)))
}

/// Whether `read` joins lines at a backslash, and one stands at the end of a line.
fn joins_lines(command: &Found, found: &[Found]) -> bool {
    let is_raw = command.words.iter().any(|word| word.is_flag() && word.text.contains('r'));
    let has_one = |text: &str| text.contains("\\\n") || text.contains("\\\\");
    let texts = found.iter().flat_map(|one| one.words.iter().map(|word| &word.text).chain(&one.given));
    let given = found.iter().flat_map(|one| one.redirects.iter().filter_map(Redirect::given));
    !is_raw && (texts.into_iter().any(|text| has_one(text)) || given.into_iter().any(|text| has_one(&text)))
}

/// Whether `..` stands behind a pattern: above what that finds, nobody can tell here.
fn climbs_from_pattern(word: &ShellWord) -> bool {
    let has_pattern = word.pieces.iter().any(|piece| matches!(piece, Piece::Glob(_)));
    // Before it as well, where it is behind the name of something that may be a link.
    let mut parts = word.text.split('/').skip_while(|part| matches!(*part, "" | "." | ".."));
    has_pattern && parts.any(|part| part == "..")
}

fn through_descriptor(text: &str) -> bool {
    let behind = |at: &str| {
        let (_, rest) = text.split_once(at)?;
        rest.contains('/').then_some(())
    };
    let plain = text.replace("/./", "/").replace("//", "/");
    STREAMS.iter().any(|stream| plain.contains(&format!("{stream}/")))
        || behind("/fd/").is_some()
        || text.contains("/proc/") && text.ends_with("/fd")
        || text.contains("/fd/") && text.contains("/proc/")
}
