//! A *shape* is a text in which [`ANY`] stands for what nobody knows, [`STAR`] and [`ONE`] for patterns of file names.

use crate::policy::shell::{ANY, ONE, OUTER, STAR};

/// A value as the pattern of file names that it is outside of quotes.
pub(super) fn globbed(value: &str) -> String {
    let mut pattern = String::new();
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        pattern.push(match c {
            '*' => STAR,
            '?' => ONE,
            // `@(a|b)`, where a shell is told to know it.
            '@' | '+' | '!' if chars.as_str().starts_with('(') && chars.as_str().contains(')') => {
                chars.by_ref().find(|c| *c == ')');
                STAR
            }
            '[' if chars.clone().skip(1).any(|c| c == ']') => {
                chars.next();
                chars.by_ref().find(|c| *c == ']');
                ONE
            }
            c => c,
        });
    }
    pattern
}

/// Whether something is filled in outside of quotes, by how a word is written.
pub(crate) fn fills_outside_quotes(raw: &str) -> bool {
    let mut chars = raw.chars();
    let mut quote = None;
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => drop(chars.next()),
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('$' | '`', None) => return true,
            _ => {}
        }
    }
    false
}

/// A shape for people.
pub(crate) fn in_words(shape: &str) -> String {
    shape
        .chars()
        .map(|c| match c {
            ANY | OUTER => '…',
            STAR => '*',
            ONE => '?',
            c => c,
        })
        .collect()
}

/// Whether a name of a file is what a part of a pattern says, for whoever looks for it on a disk.
pub fn is_part(pattern: &str, name: &str) -> bool {
    let hidden = name.starts_with('.') && pattern.starts_with([STAR, ONE]);
    !hidden && may_be(pattern, name)
}

/// Whether a part of a pattern may stand for folders in folders.
pub fn is_any_depth(pattern: &str) -> bool {
    pattern.chars().count() > 1 && pattern.chars().all(|c| c == STAR)
}

/// Whether all of it stands there.
pub fn is_literal(shape: &str) -> bool {
    !shape.contains([ANY, STAR, ONE])
}

/// Whether a shape may be this text. What stands for anything may be nothing, too.
pub(crate) fn may_be(shape: &str, text: &str) -> bool {
    let shape: Vec<char> = shape.chars().collect();
    let text: Vec<char> = text.chars().collect();
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < text.len() {
        match shape.get(at) {
            Some(&(ANY | STAR)) => {
                star = Some((at, place));
                at += 1;
            }
            Some(c) if *c == ONE || c.eq_ignore_ascii_case(&text[place]) => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((starred, tried)) = star else { return false };
                star = Some((starred, tried + 1));
                at = starred + 1;
                place = tried + 1;
            }
        }
    }
    shape[at..].iter().all(|c| matches!(*c, ANY | STAR))
}

#[cfg(test)]
mod tests {
    use super::may_be;

    #[test]
    fn a_shape_may_be_more_than_one_text() {
        assert!(may_be("r\u{1fffe}", "rm") && !may_be("r\u{1fffe}", "rmx"));
        assert!(may_be("\u{10ffff}", "") && may_be("r\u{10ffff}m", "rm") && !may_be("x\u{10ffff}", "rm"));
    }
}
