//! The names of files that a word may hold: the word itself, what stands behind `=`, `@`, `:` and their like, what is glued
//! to a flag, and what programs make of a word by themselves.

use crate::policy::shell::{ANY, ONE, OUTER, STAR, ShellWord};

/// The names in a shape that may be files.
pub(crate) fn names_in(shape: &str) -> Vec<String> {
    if let Some(path) = in_file_address(shape) {
        return path;
    }
    let is_flag = shape.len() > 1 && shape.starts_with('-');
    let is_address = shape.contains("://");
    let mut names: Vec<&str> = vec![];
    if !is_flag && !is_address {
        names.push(shape);
    }
    let separators: &[char] =
        if is_address { &['=', '@', ','] } else { &['=', '@', ':', ',', ';', '<', '>', '"', '\''] };
    // git means the top of what it keeps by `:/`, and not the root. In a list of paths `:/x` is one of them.
    let is_top = |part: &str| shape == ":/" && part == "/";
    let parts = shape.split(separators).skip(1).filter(|part| !part.is_empty() && !is_top(part));
    let parts = parts.filter(|part| !is_address || !part.contains("//"));
    names.extend(parts);
    if let Some((before, _)) = shape.split_once(':').filter(|_| !is_flag && !is_address) {
        names.push(before);
    }
    if let Some(pathspec) = shape.strip_prefix(':') {
        let below = without_magic(pathspec);
        names.push(below);
        // With nothing behind it, or only what is left out, git means all there is.
        let magic = &pathspec[..pathspec.len() - below.len()];
        if below.is_empty() || magic.contains(['!', '^', '(']) {
            names.push(".");
        }
    }
    // What `date` prints, and where an editor goes.
    names.extend(shape.strip_prefix('+'));
    // `$PWD` in the middle of a word.
    names.extend(shape.find("/./").map(|at| &shape[at + 1..]));
    // `$HOME` there, behind what is empty.
    names.extend(shape.find("/~/").map(|at| &shape[at + 1..]));
    if is_flag && !shape.starts_with("--") {
        names.extend(shape.char_indices().skip(2).take(12).map(|(at, _)| &shape[at..]));
    }
    if is_flag {
        // Behind `--` it may be a name all the same.
        names.push(shape);
        names.extend(shape.find('/').map(|at| &shape[at..]));
    }
    names.into_iter().map(str::to_owned).collect()
}

/// What git takes for a path behind `:(glob)`, `:/`, `:!` and their like.
fn without_magic(pathspec: &str) -> &str {
    let short = || pathspec.trim_start_matches(['/', '!', '^']);
    match pathspec.strip_prefix('(') {
        Some(long) => long.split_once(')').map_or(long, |(_, path)| path),
        None => short(),
    }
}

/// The path in `file:///x`, with `%78` as the character it stands for. None for any other word.
fn in_file_address(shape: &str) -> Option<Vec<String>> {
    let at = shape.to_ascii_lowercase().find("file:")?;
    // `-Tfile:x` and `--url=file:x` as well; in `Dockerfile:x` it is the end of a name.
    if shape[..at].ends_with(|c: char| c.is_alphanumeric()) && !shape.starts_with('-') {
        return None;
    }
    // sqlite3 has options behind a question mark.
    let address = shape[at + "file:".len()..].split(['?', '#']).next().unwrap_or_default();
    let path = curled(&percent_decoded(address));
    let Some(behind) = path.strip_prefix("//") else { return Some(vec![path]) };
    // A machine may stand there, which is this one, or a variable with the beginning of the path.
    let path = behind.find('/').map_or(String::new(), |at| behind[at..].to_owned());
    // `$PWD` stands for the folder one is in, also behind the name of this machine.
    let here = behind.strip_prefix("localhost").unwrap_or(behind);
    let mut names = vec![path, behind.to_owned(), here.to_owned()];
    names.extend(["/./", "/~/"].into_iter().filter_map(|place| Some(behind[behind.find(place)? + 1..].to_owned())));
    Some(names)
}

/// What curl makes of lists and ranges in an address, as a pattern.
fn curled(path: &str) -> String {
    let mut pattern = String::new();
    let mut rest = path;
    while let Some((before, behind)) = rest.split_once(['{', '[']) {
        let Some((_, after)) = behind.split_once(['}', ']']) else { break };
        pattern.push_str(before);
        pattern.push(STAR);
        rest = after;
    }
    pattern + rest
}

pub(crate) fn percent_decoded(text: &str) -> String {
    let mut bytes = vec![];
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        let digits = behind.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()).filter(|_| byte == b'%') {
            Some(decoded) => {
                bytes.push(decoded);
                rest = &behind[2..];
            }
            None => {
                bytes.push(byte);
                rest = behind;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a program that takes patterns itself makes of a word in which they stand in quotes. Code is no pattern.
pub(crate) fn patterns_in(word: &ShellWord, shape: &str) -> Vec<String> {
    let is_magic = shape.starts_with(":(");
    // Texts of data are none either.
    let is_code = shape.contains([' ', '\n', '(', '$', '\\', '|', '^', '"']);
    let is_unknown = shape.contains([ANY, OUTER]);
    if !word.is_quoted || is_unknown || is_code && !is_magic || !shape.contains(['*', '?', '[', '{']) && !is_magic {
        return vec![];
    }
    // With any case of its letters, it is one of several names.
    let ending = if is_magic && shape.contains("icase") { "*" } else { "" };
    let (made, _) = ShellWord::plain(shape).unbraced();
    made.iter().flat_map(|text| names_in(text)).map(|name| as_pattern(&(name + ending))).collect()
}

/// A text with patterns in it as a shape.
pub(crate) fn as_pattern(text: &str) -> String {
    let mut pattern = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        pattern.push(match c {
            '*' => STAR,
            '?' => ONE,
            // A class of letters, or one in which something is escaped: where it ends is not looked for.
            '[' if has_class(chars.as_str()) => {
                let end = chars.as_str().rfind(']').map_or(0, |at| at + 1);
                chars = chars.as_str()[end..].chars();
                STAR
            }
            '[' if chars.clone().any(|c| c == ']') => {
                chars.by_ref().find(|c| *c == ']');
                ONE
            }
            // What is left of a list that was too long.
            '{' if is_list(chars.as_str()) => {
                chars.by_ref().find(|c| *c == '}');
                STAR
            }
            c => c,
        });
    }
    pattern
}

/// Whether what stands behind a bracket is more than the letters of a pattern.
pub(crate) fn has_class(behind: &str) -> bool {
    behind.contains(']') && ["[:", "[=", "[.", "\\"].iter().any(|class| behind.contains(class))
}

fn is_list(behind: &str) -> bool {
    behind.split_once('}').is_some_and(|(inside, _)| inside.contains(',') || inside.contains(".."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_holds_more_names_than_itself() {
        for (word, name) in [
            ("a", "a"),
            ("if=a", "a"),
            ("-fa", "a"),
            ("--x=a/b", "a/b"),
            ("h:a", "a"),
            ("a:h", "a"),
            ("f=@\"a\"", "a"),
            ("f=<a", "a"),
            (":(glob)a/**", "a/**"),
            (":/a", "a"),
            (":/a/b", "/a/b"),
            (":!a", "a"),
            ("file:///a/%62", "/a/b"),
            ("FILE://localhost/a", "/a"),
            ("file:/a", "/a"),
            ("--url=file:///a", "/a"),
            ("file:///a{b}c", "/a\u{10fffe}c"),
        ] {
            assert!(names_in(word).iter().any(|found| found == name), "{word}: {:?}", names_in(word));
        }
        assert!(!names_in("https://h/a").iter().any(|name| name == "/a" || name == "a"));
    }

    #[test]
    fn a_pattern_in_quotes_is_one_for_a_program() {
        let quoted = |text: &str| patterns_in(&ShellWord { is_quoted: true, ..ShellWord::plain(text) }, text);
        assert_eq!(quoted("s*"), [format!("s{STAR}")]);
        assert_eq!(quoted("{a,b}/[c]"), [format!("a/{ONE}"), format!("b/{ONE}")]);
        assert!(quoted("plain").is_empty() && quoted("print(a[0])").is_empty());
        assert!(quoted(":(icase)A").contains(&format!("A{STAR}")));
    }
}
