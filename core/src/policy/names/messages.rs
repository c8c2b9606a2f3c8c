//! Words that are no files: what people are told, and what is only read for what is in it.

use super::handing::taker;
use crate::policy::commands::reading::{Reading, reading};
use crate::policy::shell::{Piece, ShellWord};
use crate::policy::words::values::fills_outside_quotes;

/// Whether a word is a file that another command writes, and that is read for nothing but what is in it: `diff <(a) <(b)`.
fn is_data(words: &[ShellWord], at: usize) -> bool {
    let is_whole = words[at].is_made_file() && words[at].pieces.len() == 2;
    is_whole && reading(words) == Reading::Only && taker(words).is_none()
}

/// Whether a word surely is no file, whatever is filled in there.
pub(crate) fn is_no_file(words: &[ShellWord], at: usize) -> bool {
    is_data(words, at) || is_message(words, at) || is_sent(words, at) || is_compared(words, at)
}

/// Options of curl whose values it sends; a value that begins with `@` is a file.
const SENT: [&str; 14] = [
    "-A",
    "-H",
    "-X",
    "-b",
    "-d",
    "-e",
    "-u",
    "--data",
    "--data-binary",
    "--data-raw",
    "--header",
    "--json",
    "--user",
    "--user-agent",
];

/// Others that have a value, and longer ones that have none. Behind any other nobody knows what a word is.
const VALUED: &str = "-C -E -F -K -P -Q -T -Y -c -m -o -r -t -w -x -y -z --cacert --connect-timeout --max-time --output \
    --request --retry --url --write-out";
const BARE: &str = "--compressed --fail --insecure --location --show-error --silent --verbose";

/// Whether a word is sent by curl, and no file: what is filled in behind a text that is no `@` can make none of it.
fn is_sent(words: &[ShellWord], at: usize) -> bool {
    let is_curl = words.first().is_some_and(|word| word.is_literal && word.text == "curl");
    if !is_curl || at == 0 || words[at].is_known() || !words[at].is_one && fills_outside_quotes(&words[at].raw) {
        return false;
    }
    let Some(Piece::Text(begins)) = words[at].pieces.first() else { return false };
    // From the left, since what looks like an option may be the value of the one before it.
    let has = |list: &str, flag: &str| list.split_whitespace().any(|one| one == flag);
    let mut place = 1;
    while place < at {
        let flag = words[place].text.as_str();
        let is_bare = |flag: &str| flag.len() > 1 && flag[1..].chars().all(|c| "fgGiIkLNsSv".contains(c));
        if !words[place].is_known() && words[place].is_flag() {
            return false;
        }
        if !words[place].is_flag() || is_bare(flag) || has(BARE, flag) {
            place += 1;
        } else if SENT.contains(&flag) && place + 1 == at {
            // `-b a=b` is a cookie, and without the sign it is a file.
            return !begins.starts_with('@') && (flag != "-b" || begins.contains('='));
        } else if SENT.contains(&flag) || has(VALUED, flag) {
            place += 2;
        } else {
            return false;
        }
    }
    let is_address = ["http://", "https://", "localhost", "127.0.0.1"].iter().any(|host| begins.starts_with(host));
    // Its last part may be the name that it is saved under, and so may what stands in its braces.
    let keeps_names = |word: &ShellWord| {
        let text = word.text.as_str();
        word.is_flag() && (text.contains(['O', 'J']) || text.starts_with("--remote")) || text.contains('#')
    };
    place == at && is_address && !words.iter().any(keeps_names)
}

/// Whether a word is only compared with another, or looked at for whether it is empty: `[ -n "$x" ]`. In another place it
/// may be an operator, or a name that is looked up.
fn is_compared(words: &[ShellWord], at: usize) -> bool {
    let name = words[0].text.as_str();
    let stays_one = words[at].is_one || !fills_outside_quotes(&words[at].raw) || name == "[[";
    let is_test = !words[0].is_quoted && matches!(name, "[" | "test" | "[[");
    if at == 0 || !is_test || !stays_one || words[at].is_known() {
        return false;
    }
    let said = |at: usize| words.get(at).filter(|word| word.is_known()).map_or("", |word| word.text.as_str());
    let compares = |text: &str| matches!(text, "=" | "==" | "!=");
    let is_first = at == 1 || matches!(said(at - 1), "!" | "-a" | "-o");
    compares(said(at + 1)) && is_first || compares(said(at - 1)) || matches!(said(at - 1), "-n" | "-z") && at <= 3
}

/// Whether a word is what people are told, and no file: `git commit -m x`. In quotes it stays one word.
fn is_message(words: &[ShellWord], at: usize) -> bool {
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
