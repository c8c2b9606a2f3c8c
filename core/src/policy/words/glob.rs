//! Patterns: `*` in a line of text, and gitignore's patterns on paths.

use super::path::{below, joined, lies_in};
use super::values::may_be;
use crate::policy::shell::{ANY, ONE, STAR};

/// Whether a text is what the pattern says, where `*` stands for anything and `\\*` for a star. What stands between two stars
/// is looked for once, from where the one before it ended: the first place is as good as any.
pub(crate) fn text_matches(pattern: &str, text: &str) -> bool {
    let parts = parts(pattern);
    let Some((first, rest)) = parts.split_first() else { return text.is_empty() };
    let Some(mut left) = text.strip_prefix(first.as_str()) else { return false };
    let Some((last, middle)) = rest.split_last() else { return left.is_empty() };
    for part in middle {
        let Some(at) = left.find(part.as_str()) else { return false };
        left = &left[at + part.len()..];
    }
    left.len() >= last.len() && left.ends_with(last.as_str())
}

/// What stands between the stars of a pattern.
fn parts(pattern: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut chars = pattern.chars().peekable();
    while let Some(c) = chars.next() {
        let literal = match c {
            '*' => {
                parts.push(String::new());
                continue;
            }
            '\\' if matches!(chars.peek(), Some('*' | '\\')) => chars.next().unwrap_or(c),
            c => c,
        };
        if let Some(part) = parts.last_mut() {
            part.push(literal);
        }
    }
    parts
}

/// A gitignore pattern below a folder, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathPattern {
    /// Where the pattern begins.
    pub(crate) base: String,
    segments: Vec<String>,
    /// It begins at the folder itself rather than at any depth below it.
    anchored: bool,
    /// It ends with a slash, and means folders.
    folders_only: bool,
}

impl PathPattern {
    pub(crate) fn new(base: &str, written: &str, anchored: bool) -> Self {
        let folders_only = written.ends_with('/');
        let segments = written.split('/').filter(|part| !matches!(*part, "" | ".")).map(str::to_owned).collect();
        Self { base: base.to_owned(), segments, anchored, folders_only }
    }

    /// Whether the path, or a folder it lies in, is what the pattern says. Where only a look at the disk could tell
    /// whether the path is a folder, `unsure` is the answer.
    pub(crate) fn matches(&self, path: &str, unsure: bool) -> bool {
        let Some(below) = below(path, &self.base) else { return false };
        let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
        if self.segments.is_empty() {
            return true;
        }
        // Everything in a folder that matches matches, so each beginning of the path is tried.
        (1..=parts.len()).any(|end| {
            let starts = if self.anchored { 0..=0 } else { 0..=end - 1 };
            let fits = starts.into_iter().any(|start| segments_match(&self.segments, &parts[start..end]));
            fits && (end < parts.len() || !self.folders_only || unsure)
        })
    }
}

impl PathPattern {
    /// Whether something below a folder may be what the pattern says, and the pattern itself says where.
    pub(crate) fn surely_reaches_into(&self, folder: &str) -> bool {
        self.anchored && self.may_reach_into(folder)
    }

    /// Whether something below a folder may be what the pattern says.
    pub(crate) fn may_reach_into(&self, folder: &str) -> bool {
        let fixed: Vec<&str> = match self.anchored {
            true => self
                .segments
                .iter()
                .map(String::as_str)
                .take_while(|part| !part.contains(['*', '?', '[', '\\']))
                .collect(),
            false => vec![],
        };
        let begins = joined(&self.base, &fixed.join("/"));
        lies_in(&begins, folder) || lies_in(folder, &begins)
    }

    /// Whether a path that is not certain may be what the pattern says.
    pub(crate) fn may_match(&self, shape: &str) -> bool {
        if shape.chars().all(|c| c == ANY) {
            return true;
        }
        // What begins anywhere may begin at the folder.
        let below = match shape.starts_with(ANY) {
            true => shape,
            false => match below(shape, &self.base) {
                Some(below) => below,
                None => return false,
            },
        };
        let parts: Vec<&str> = below.split('/').filter(|part| !part.is_empty()).collect();
        (1..=parts.len()).any(|end| {
            let starts = if self.anchored && !shape.starts_with(ANY) { 0..=0 } else { 0..=end - 1 };
            starts.into_iter().any(|start| segments_match(&self.segments, &parts[start..end]))
        })
    }
}

/// Goes back to the last `**` alone, as with the stars of a line.
fn segments_match(pattern: &[String], parts: &[&str]) -> bool {
    let (mut at, mut place) = (0, 0);
    let mut stars: Option<(usize, usize)> = None;
    while place < parts.len() {
        match pattern.get(at) {
            // At the end it means everything inside; there is something left, so it fits.
            Some(any) if any == "**" && at + 1 == pattern.len() => return true,
            Some(any) if any == "**" => {
                stars = Some((at, place));
                at += 1;
            }
            Some(segment) if segment_matches(segment, parts[place]) => {
                at += 1;
                place += 1;
            }
            _ => {
                let Some((starred, tried)) = stars else { return false };
                stars = Some((starred, tried + 1));
                at = starred + 1;
                place = tried + 1;
            }
        }
    }
    at == pattern.len()
}

/// One part of a path: `*`, `?`, `[a-z]`, `[!a-z]` and `\` before a character that is meant as it stands.
pub(crate) fn segment_matches(pattern: &str, part: &str) -> bool {
    if part.contains([ANY, STAR, ONE]) {
        let is_fixed = !pattern.contains(['*', '?', '[', '\\']);
        // A pattern of the shell's own passes over names that begin with a dot.
        let is_hidden = pattern.starts_with('.') && part.starts_with([STAR, ONE]);
        return is_fixed && !is_hidden && part.chars().any(|c| !matches!(c, ANY | STAR | ONE)) && may_be(part, pattern);
    }
    // No file has a longer name.
    if part.len() > 255 {
        return false;
    }
    let pattern: Vec<char> = pattern.chars().collect();
    let part: Vec<char> = part.chars().collect();
    let (mut at, mut place) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while place < part.len() {
        let step = match pattern.get(at) {
            Some('*') => {
                star = Some((at, place));
                at += 1;
                continue;
            }
            Some('?') => Some(1),
            Some('[') => class(&pattern[at..], part[place]),
            Some('\\') if at + 1 < pattern.len() => (pattern[at + 1] == part[place]).then_some(2),
            Some(c) => (*c == part[place]).then_some(1),
            None => None,
        };
        match (step, star) {
            (Some(step), _) => {
                at += step;
                place += 1;
            }
            (None, Some((starred, tried))) => {
                star = Some((starred, tried + 1));
                at = starred + 1;
                place = tried + 1;
            }
            (None, None) => return false,
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// How long the class at the beginning of the pattern is, if it holds the character.
fn class(pattern: &[char], c: char) -> Option<usize> {
    let mut at = 1;
    let inverted = matches!(pattern.get(at), Some('!' | '^'));
    at += usize::from(inverted);
    let (mut inside, first) = (false, at);
    loop {
        match *pattern.get(at)? {
            ']' if at > first => break,
            from => {
                let is_range = pattern.get(at + 1) == Some(&'-') && pattern.get(at + 2).is_some_and(|to| *to != ']');
                let to = if is_range { pattern[at + 2] } else { from };
                inside |= (from..=to).contains(&c);
                at += if is_range { 3 } else { 1 };
            }
        }
    }
    (inside != inverted).then_some(at + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_spans_anything_in_a_line() {
        for (pattern, text, fits) in [
            ("a*c", "abc", true),
            ("a*c", "ac", true),
            ("a*c", "acb", false),
            ("*", "", true),
            ("**", "x y", true),
            ("a b", "a b", true),
            ("a*b*c", "a b b c c", true),
            ("\\*", "*", true),
            ("\\*", "x", false),
            ("", "", true),
            ("", "x", false),
        ] {
            assert_eq!(text_matches(pattern, text), fits, "{pattern} {text}");
        }
        assert!(!text_matches(&"*a".repeat(200), &"a".repeat(100)));
    }

    #[test]
    fn a_part_of_a_path_is_matched_as_gitignore_says() {
        for (pattern, part, fits) in [
            ("*.rs", "a.rs", true),
            ("*.rs", "a.rst", false),
            ("?.rs", "a.rs", true),
            ("?.rs", "ab.rs", false),
            ("[ab].rs", "b.rs", true),
            ("[!ab].rs", "b.rs", false),
            ("[a-c]*", "cx", true),
            ("[", "[", false),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("*a*b", "xaxxb", true),
            (".*", ".env", true),
        ] {
            assert_eq!(segment_matches(pattern, part), fits, "{pattern} {part}");
        }
    }

    #[test]
    fn a_path_is_matched_at_the_folder_or_below_it() {
        for (written, anchored, path, fits) in [
            ("src/**", true, "/w/src/a/b", true),
            ("src/**", true, "/w/src", false),
            ("src/**", true, "/w/x/src/a", false),
            ("src/**", false, "/w/x/src/a", true),
            ("*.env", false, "/w/x/y.env", true),
            ("*.env", true, "/w/x/y.env", false),
            ("secrets", false, "/w/x/secrets/a", true),
            ("secrets/", false, "/w/secrets/a", true),
            ("secrets/", false, "/w/secrets", false),
            ("a/**/b", true, "/w/a/b", true),
            ("a/**/b", true, "/w/a/x/y/b", true),
            ("**", true, "/w/a", true),
            ("src/**", true, "/v/src/a", false),
        ] {
            assert_eq!(PathPattern::new("/w", written, anchored).matches(path, false), fits, "{written} {path}");
        }
    }
}
