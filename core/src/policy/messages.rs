//! Words that are no files: what people are told, and what is only read for what is in it.

use super::handing::taker;
use super::reading::{Reading, reading};
use super::shell::{Piece, ShellWord};
use super::values::fills_outside_quotes;

/// Whether a word is a file that another command writes, and that is read for nothing but what is in it: `diff <(a) <(b)`.
pub(super) fn is_data(words: &[ShellWord], at: usize) -> bool {
    let is_whole = words[at].is_made_file() && words[at].pieces.len() == 2;
    is_whole && reading(words) == Reading::Only && taker(words).is_none()
}

/// Whether a word is sent by curl, and no file: what stands behind a text that is no `@` can make none of it.
pub(super) fn is_sent(words: &[ShellWord], at: usize) -> bool {
    let is_curl = words.first().is_some_and(|word| word.is_literal && word.text == "curl");
    if !is_curl || at == 0 || words[at].is_known() || !words[at].is_one && fills_outside_quotes(&words[at].raw) {
        return false;
    }
    let Some(Piece::Text(begins)) = words[at].pieces.first() else { return false };
    let sends = [
        "-H",
        "--header",
        "-d",
        "--data",
        "--data-raw",
        "--data-binary",
        "-A",
        "--user-agent",
        "-u",
        "--user",
        "-e",
        "--referer",
    ];
    let is_address = ["http://", "https://", "localhost", "127.0.0.1"].iter().any(|host| begins.starts_with(host));
    // Its last part may be the name that it is saved under.
    let keeps_names =
        |word: &ShellWord| word.is_flag() && (word.text.contains(['O', 'J']) || word.text.starts_with("--remote"));
    match words[at - 1].text.as_str() {
        flag if sends.contains(&flag) => !begins.starts_with('@'),
        before => {
            is_address && (at == 1 || !before.starts_with('-') || before == "-s") && !words.iter().any(keeps_names)
        }
    }
}

/// Whether a word is what people are told, and no file: `git commit -m x`. In quotes it stays one word.
pub(super) fn is_message(words: &[ShellWord], at: usize) -> bool {
    if at == 0 || !words[at].is_one && fills_outside_quotes(&words[at].raw) {
        return false;
    }
    // By a name of its own, which no alias can have.
    let sub = words.get(1).map_or("", |word| word.text.as_str());
    let tells = match words[0].text.as_str() {
        "git" => matches!(sub, "commit" | "tag" | "stash" | "notes" | "merge"),
        "gh" => matches!(sub, "pr" | "issue" | "release"),
        _ => false,
    };
    let flags = ["-m", "-am", "--message", "--title", "--body", "--notes"];
    let is_glued = words[at].text.split_once('=').is_some_and(|(flag, _)| flags.contains(&flag));
    tells && (is_glued || flags.contains(&words[at - 1].text.as_str()))
}
