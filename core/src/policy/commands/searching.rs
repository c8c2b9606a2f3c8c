//! Searches that name no folder: they are searches of the folder they are in.

use super::command::name_of;
use super::git_files::is_renamed;
use super::inert::started;
use crate::policy::shell::ShellWord;

/// Whether a search that goes into folders may be one of the folder it is in, as no other is surely named.
pub(crate) fn searches_here(words: &[ShellWord], is_fed: bool) -> bool {
    let words = started(words);
    let Some((first, rest)) = words.split_first() else { return false };
    // The letters of options without a value, and of those that say what is looked for.
    let (lone, pattern, rest) = match name_of(&first.text) {
        "grep" | "egrep" | "fgrep" | "rgrep" => ("rRnilLwxvchHoqsEFGPaIzZUbyT", "ef", rest),
        "rg" if !is_fed => ("nNisSlcwxvFopquUzaLHIP0h.", "ef", rest),
        "ag" | "ack" if !is_fed => ("acHilLoQsSuUvwz0fhnrR", "", rest),
        "git" => {
            if is_renamed(rest) {
                return true;
            }
            let Some(at) = rest.iter().position(|word| word.text == "grep") else { return false };
            ("nilLwvchHoqEFGPaIprz", "ef", &rest[at + 1..])
        }
        _ => return false,
    };
    let (mut named, mut says_pattern, mut takes_next) = (0, false, false);
    let mut words = rest.iter();
    for word in words.by_ref() {
        let text = word.text.as_str();
        if std::mem::take(&mut takes_next) {
            continue;
        }
        match text.strip_prefix("--") {
            Some("") => break,
            Some(long) => {
                says_pattern |= ["regexp", "file"].contains(&long.split('=').next().unwrap_or_default());
                takes_next = !long.contains('=') && !is_lone(long);
            }
            None if word.is_flag() => {
                let valued = text.char_indices().skip(1).find(|(_, c)| !lone.contains(*c));
                says_pattern |= valued.is_some_and(|(_, c)| pattern.contains(c));
                let is_number = text[1..].chars().all(|c| c.is_ascii_digit());
                takes_next = !is_number && valued.is_some_and(|(at, c)| at + c.len_utf8() == text.len());
            }
            // A revision is no folder.
            // What is left out names no folder.
            None if [":!", ":^", ":(exclude"].iter().any(|out| text.starts_with(out)) => {}
            None => {
                let is_revision = text.contains(['~', '^', ':', '@'])
                    || matches!(text, "HEAD" | "FETCH_HEAD" | "ORIG_HEAD" | "main" | "master");
                named += usize::from(!is_revision || name_of(&first.text) != "git" || named == 0 && !says_pattern);
            }
        }
    }
    let is_named = |word: &&ShellWord| ![":!", ":^", ":(exclude"].iter().any(|out| word.text.starts_with(out));
    named + words.filter(is_named).count() < if says_pattern { 1 } else { 2 }
}

/// Long options of searches without a value.
fn is_lone(long: &str) -> bool {
    let lone = [
        "recursive",
        "dereference-recursive",
        "line-number",
        "ignore-case",
        "hidden",
        "files-with-matches",
        "files-without-match",
        "word-regexp",
        "line-regexp",
        "fixed-strings",
        "extended-regexp",
        "perl-regexp",
        "count",
        "color",
        "colour",
        "heading",
        "invert-match",
        "with-filename",
        "only-matching",
        "smart-case",
        "case-sensitive",
        "follow",
        "multiline",
        "pcre2",
        "json",
        "stats",
        "null",
        "quiet",
        "silent",
        "text",
        "vimgrep",
        "column",
        "unrestricted",
    ];
    // rg has `--color` with a value.
    long.starts_with("no-") || lone.contains(&long) && long != "color"
}
