//! Which of the words of sed are scripts, and what is filled in in them.

use crate::policy::shell::{ANY, OUTER, Piece, ShellWord};

/// The text of a word with places for what is filled in: one of which nobody knows anything, and one for a variable.
pub(super) fn with_places(word: &ShellWord) -> String {
    let mut text = String::new();
    for piece in &word.pieces {
        match piece {
            Piece::Text(said) => text.push_str(said),
            Piece::Glob(c) => text.push(*c),
            Piece::Variable(_) | Piece::MadeOf(..) => text.push(OUTER),
            Piece::Unknown => text.push(ANY),
        }
    }
    text
}

/// The scripts as sed joins them.
pub(crate) fn joined(scripts: &[&ShellWord]) -> String {
    scripts.iter().map(|script| behind_flag(script)).collect::<Vec<_>>().join("\n")
}

/// The words with scripts. None where an option is not known, or where they stand in files.
pub(crate) fn scripts(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let mut scripts = vec![];
    let mut operands = vec![];
    let mut words = rest.iter();
    let mut is_over = false;
    while let Some(word) = words.next() {
        let text = word.text.as_str();
        if is_over || !word.is_flag() {
            operands.push(word);
            continue;
        }
        match text.strip_prefix("--") {
            Some("") => is_over = true,
            Some("expression") => scripts.extend(words.next()),
            Some("quiet" | "silent" | "regexp-extended" | "in-place" | "separate" | "unbuffered" | "null-data")
            | Some("posix" | "sandbox" | "version" | "help" | "debug" | "follow-symlinks" | "binary") => {}
            Some("line-length") => drop(words.next()),
            Some(long) => match long.split_once('=') {
                Some((name, _)) if !name.is_empty() && "expression".starts_with(name) => scripts.push(word),
                None if long.len() > 1 && "expression".starts_with(long) => scripts.extend(words.next()),
                Some(("in-place" | "line-length", _)) => {}
                _ => return None,
            },
            None => match text.char_indices().skip(1).find(|(_, c)| !"nErsuzb".contains(*c)) {
                None | Some((_, 'i')) => {}
                Some((at, 'l')) if text[at + 1..].chars().all(|c| c.is_ascii_digit()) => {
                    if at + 1 == text.len() {
                        words.next();
                    }
                }
                Some((at, 'e')) if at + 1 < text.len() => scripts.push(word),
                Some((_, 'e')) => scripts.extend(words.next()),
                Some(_) => return None,
            },
        }
    }
    if scripts.is_empty() {
        // On some systems `-i` has an empty word behind it. What a command prints has no text here either.
        scripts.extend(operands.into_iter().find(|word| !word.text.is_empty() || !word.is_known()));
    }
    Some(scripts)
}

/// The script in a word, without the option it is glued to.
pub(super) fn behind_flag(word: &ShellWord) -> String {
    let text = with_places(word);
    match text.strip_prefix("--e").and_then(|text| text.split_once('=')) {
        Some((_, script)) => script.to_owned(),
        None if word.is_flag() => text.split_once('e').map_or(String::new(), |(_, script)| script.to_owned()),
        None => text,
    }
}
