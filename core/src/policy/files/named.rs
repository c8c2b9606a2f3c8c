//! The files that the words of a command name, for the commands that are known.

use super::access::{Access, FileAccess};
use super::call::Context;
use super::copying::copied;
use crate::policy::commands::command::name_of;
use crate::policy::commands::find_tests::is_passed_over;
use crate::policy::names::leaving_out::left_out;
use crate::policy::shell::ShellWord;
use crate::policy::words::path::absolute;

/// The files that the words of a command may name. Behind `--` no word is a flag.
pub(crate) fn named<'word>(
    words: impl IntoIterator<Item = &'word ShellWord>,
    access: Access,
    folders: &[String],
    context: &Context,
) -> Vec<FileAccess> {
    let mut flags_ended = access == Access::Enter;
    let mut accesses = vec![];
    for word in words {
        if word.text == "--" && !flags_ended {
            flags_ended = true;
        } else if flags_ended || !word.is_flag() {
            accesses.extend(files_at(&word.text, access, folders, context));
        } else if let Some(glued) = glued(&word.text) {
            accesses.extend(files_at(glued, access, folders, context));
        }
    }
    accesses
}

/// What is glued to a flag and may be a file.
fn glued(flag: &str) -> Option<&str> {
    match (flag.split_once('='), flag.find('/')) {
        (Some((_, value)), _) => Some(value),
        (None, Some(slash)) => Some(&flag[slash..]),
        (None, None) if flag.starts_with("--") => None,
        // `-fx` may be the flag f with the file x.
        (None, None) => flag.char_indices().nth(2).map(|(at, _)| &flag[at..]),
    }
}

/// The files of a name, seen from each folder.
pub(crate) fn files_at(name: &str, access: Access, folders: &[String], context: &Context) -> Vec<FileAccess> {
    let name = name.replace("${HOME}", "~").replace("$HOME", "~");
    // `cd` itself takes dots away as text, while for everyone else `link/..` is above where the link leads.
    let climbs = access != Access::Enter && name.split('/').any(|part| part == "..");
    let file = |path| FileAccess { access, path };
    let mut accesses = vec![];
    for folder in folders {
        let path = absolute(&name, folder, context.home.as_deref());
        if climbs && path.is_some() {
            let from = match name.strip_prefix('~') {
                Some(below) => format!("{}{below}", context.home.as_deref().unwrap_or_default()),
                None if name.starts_with('/') => name.clone(),
                None => format!("{folder}/{name}"),
            };
            let parts: Vec<&str> = from.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
            accesses.extend([file(path), file(Some(format!("/{}", parts.join("/"))))]);
        } else {
            accesses.push(file(path));
        }
    }
    accesses
}

const READERS: [&str; 38] = [
    "awk",
    "base64",
    "bat",
    "cat",
    "cmp",
    "cut",
    "diff",
    "du",
    "file",
    "find",
    "grep",
    "head",
    "hexdump",
    "jq",
    "less",
    "ls",
    "md5sum",
    "more",
    "nl",
    "od",
    "rg",
    "sed",
    "sha1sum",
    "sha256sum",
    "sort",
    "source",
    "stat",
    "strings",
    "tac",
    "tail",
    "tree",
    "uniq",
    "wc",
    "xxd",
    "yq",
    ".",
    "scp",
    "zip",
];
const WRITERS: [&str; 18] = [
    "chmod", "chown", "cp", "dd", "install", "ln", "mkdir", "mv", "patch", "rm", "rmdir", "rsync", "shred", "sed",
    "tee", "touch", "truncate", "unlink",
];

/// Whether the words of a command are files, as far as they are no flags.
pub(crate) fn is_about_files(name: &str) -> bool {
    READERS.contains(&name) || WRITERS.contains(&name)
}

/// The files that well-known commands name. What the rest does with its words nobody knows.
pub(crate) fn files_of(words: &[ShellWord], folders: &[String], context: &Context) -> Vec<FileAccess> {
    let Some((first, rest)) = words.split_first() else { return vec![] };
    let name = name_of(&first.text);
    let mut accesses = vec![];
    let passed_over = passed_over(words);
    let copied = copied(words);
    let is_taken = |at: usize| !passed_over.contains(&at);
    let is_only_read = |at: usize| copied.as_ref().is_some_and(|copied| copied.sources.contains(&at));
    let mut all = |access: Access| {
        let taken = |at: &usize| is_taken(*at) && !(access == Access::Write && is_only_read(*at));
        let rest = (1..words.len()).filter(taken).map(|at| &words[at]);
        accesses.extend(named(rest, access, folders, context));
    };
    if name == "cd" {
        all(Access::Enter);
    }
    if READERS.contains(&name) || matches!(name, "cp" | "mv" | "rsync") {
        all(Access::Read);
    }
    if WRITERS.contains(&name) && (name != "sed" || rest.iter().any(is_in_place)) {
        all(Access::Write);
    }
    let mut one = |name: &str, access| accesses.extend(files_at(name, access, folders, context));
    for name in led_to(name, rest) {
        one(name, Access::Write);
    }
    if name == "dd" {
        rest.iter().filter_map(|word| word.text.strip_prefix("if=")).for_each(|name| one(name, Access::Read));
        rest.iter().filter_map(|word| word.text.strip_prefix("of=")).for_each(|name| one(name, Access::Write));
    }
    if matches!(name, "cp" | "mv" | "install" | "ln" | "scp" | "rsync") {
        let taken: Vec<ShellWord> = (1..words.len()).filter(|at| is_taken(*at)).map(|at| words[at].clone()).collect();
        for name in put_into(&taken) {
            one(&name, Access::Write);
        }
    }
    accesses
}

/// The places of the words that say what a command passes over. What may be meant otherwise after all, is found among all
/// words of a line.
pub(crate) fn passed_over(words: &[ShellWord]) -> Vec<usize> {
    let left_out = left_out(words, || false).into_iter().map(|left| left.at);
    left_out.chain((0..words.len()).filter(|at| is_passed_over(words, *at))).collect()
}

/// sed's `-i`, also in `-Ei` and shortened. What follows e and f is theirs.
fn is_in_place(word: &ShellWord) -> bool {
    match word.text.strip_prefix("--") {
        Some(long) => long.starts_with('i') && "in-place".starts_with(long.split('=').next().unwrap_or_default()),
        None => word.is_flag() && word.text.chars().skip(1).take_while(|c| !matches!(c, 'e' | 'f')).any(|c| c == 'i'),
    }
}

/// Where a flag of a command says that it writes.
fn led_to<'word>(name: &str, rest: &'word [ShellWord]) -> Vec<&'word str> {
    let (short, long) = match name {
        "sort" | "curl" => ('o', "output"),
        "wget" => ('O', "output-document"),
        "scp" => return rest.last().map(|word| word.text.as_str()).into_iter().collect(),
        _ => return vec![],
    };
    let mut files = vec![];
    for (at, word) in rest.iter().enumerate() {
        let next = || rest.get(at + 1).map(|word| word.text.as_str());
        if let Some(written) = word.text.strip_prefix("--") {
            let (flag, value) = written.split_once('=').map_or((written, None), |(flag, value)| (flag, Some(value)));
            if !flag.is_empty() && long.starts_with(flag) {
                files.extend(value.or_else(next));
            }
        } else if word.is_flag()
            && let Some((_, glued)) = word.text.split_once(short)
        {
            // It may stand behind other flags, and its file right behind it.
            files.extend(if glued.is_empty() { next() } else { Some(glued) });
        }
    }
    files
}

/// The names that files would have in the folder they are put into, if the last word is one.
fn put_into(rest: &[ShellWord]) -> Vec<String> {
    let flagged = rest.iter().enumerate().find_map(|(at, word)| match word.text.as_str() {
        "-t" | "--target-directory" => rest.get(at + 1).map(|word| word.text.as_str()),
        text => text.strip_prefix("--target-directory=").or_else(|| text.strip_prefix("-t")),
    });
    let Some(folder) = flagged.or_else(|| rest.last().map(|word| word.text.as_str())) else { return vec![] };
    let names = rest.iter().map(|word| word.text.trim_end_matches('/')).filter(|name| *name != folder);
    let names = names.filter_map(|name| name.rsplit(['/', ':']).next());
    names.filter(|name| !name.is_empty() && !name.starts_with('-')).map(|name| format!("{folder}/{name}")).collect()
}
