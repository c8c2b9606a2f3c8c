//! What a script for sed does besides putting text in the place of text: it may run commands, and read and write files.

use super::shell::ShellWord;

/// Whether sed is given nothing but scripts that put text in the place of text, or pick lines: nothing that runs or writes.
pub(crate) fn edits_only(rest: &[ShellWord]) -> bool {
    let Some(scripts) = scripts(rest) else { return false };
    let edits = |script: &&ShellWord| script.is_known() && does(behind_flag(script)).is_some_and(Does::is_harmless);
    scripts.iter().all(edits)
}

/// The scripts of a sed that runs what it reads, or what they say; none where they surely run nothing.
pub(crate) fn running(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let Some(scripts) = scripts(rest) else {
        let from_input = rest.iter().any(|word| matches!(word.text.as_str(), "-" | "/dev/stdin" | "-f-"));
        return from_input.then(Vec::new);
    };
    let runs = |script: &&ShellWord| does(behind_flag(script)).is_none_or(|does| does.runs);
    scripts.iter().any(runs).then_some(scripts)
}

/// The words with scripts. None where an option is not known, or where they stand in files.
fn scripts(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
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
            | Some("posix" | "sandbox" | "version" | "help") => {}
            Some(long) => match long.split_once('=') {
                Some(("expression", _)) => scripts.push(word),
                Some(("in-place", _)) => {}
                _ => return None,
            },
            None => match text.char_indices().skip(1).find(|(_, c)| !"nErsuz".contains(*c)) {
                None | Some((_, 'i')) => {}
                Some((at, 'e')) if at + 1 < text.len() => scripts.push(word),
                Some((_, 'e')) => scripts.extend(words.next()),
                Some(_) => return None,
            },
        }
    }
    if scripts.is_empty() {
        // On some systems `-i` has an empty word behind it.
        scripts.extend(operands.into_iter().find(|word| !word.text.is_empty()));
    }
    Some(scripts)
}

/// The script in a word, without the option it is glued to.
fn behind_flag(word: &ShellWord) -> &str {
    let text = word.text.as_str();
    match text.strip_prefix("--expression=") {
        Some(script) => script,
        None if word.is_flag() => text.split_once('e').map_or("", |(_, script)| script),
        None => text,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Does {
    runs: bool,
    has_files: bool,
}

impl Does {
    fn is_harmless(self) -> bool {
        !self.runs && !self.has_files
    }
}

/// What a script does; none where it cannot be read.
fn does(script: &str) -> Option<Does> {
    let mut does = Does::default();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        rest = behind_address(rest)?;
        let Some(command) = rest.chars().next() else { return Some(does) };
        rest = &rest[command.len_utf8()..];
        let line_ends = rest.find('\n').unwrap_or(rest.len());
        rest = match command {
            '{' | '}' => continue,
            's' => {
                let (_, behind) = delimited(rest)?;
                let flags = behind.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(behind.len());
                does.runs |= behind[..flags].contains('e');
                let writes = behind[..flags].contains('w');
                does.has_files |= writes;
                if !behind[..flags].chars().all(|c| c.is_ascii_digit() || "gpiIeMmw".contains(c)) {
                    return None;
                }
                if writes { behind.find('\n').map_or("", |at| &behind[at..]) } else { &behind[flags..] }
            }
            'y' => delimited(rest)?.1,
            'e' => {
                does.runs = true;
                &rest[line_ends..]
            }
            'r' | 'R' | 'w' | 'W' => {
                does.has_files = true;
                &rest[line_ends..]
            }
            // The text goes on behind a backslash at the end of its line.
            'a' | 'i' | 'c' => {
                let mut ends = line_ends;
                while rest[..ends].ends_with('\\') && ends < rest.len() {
                    ends = rest[ends + 1..].find('\n').map_or(rest.len(), |at| ends + 1 + at);
                }
                &rest[ends..]
            }
            '#' => &rest[line_ends..],
            'b' | 't' | 'T' | ':' => &rest[rest.find([';', '\n', '}']).unwrap_or(rest.len())..],
            'q' | 'Q' | 'l' | 'L' => rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
            '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => rest,
            _ => return None,
        };
        let ends = rest.trim_start_matches([' ', '\t']);
        if !ends.is_empty() && !ends.starts_with([';', '\n', '}', '{', '#']) {
            return None;
        }
    }
}

/// What stands behind the addresses before a command.
fn behind_address(script: &str) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' '));
        let slashed = rest.strip_prefix('/').map(|_| rest);
        let Some(pattern) = slashed.or_else(|| rest.strip_prefix('\\')) else { return Some(rest) };
        let delimiter = pattern.chars().next()?;
        let (_, behind) = part(&pattern[delimiter.len_utf8()..], delimiter)?;
        rest = behind.trim_start_matches(['I', 'M']);
    }
}

/// Behind both parts of `s/…/…/` and `y/…/…/`.
fn delimited(script: &str) -> Option<(&str, &str)> {
    let delimiter = script.chars().next().filter(|c| !c.is_whitespace() && *c != '\\')?;
    let (first, rest) = part(&script[delimiter.len_utf8()..], delimiter)?;
    let (_, rest) = part(rest, delimiter)?;
    Some((first, rest))
}

/// The text before a delimiter, and what stands behind it. One behind a backslash is none; one in brackets may be one or
/// not, so that nobody can read it.
fn part(text: &str, delimiter: char) -> Option<(&str, &str)> {
    let mut chars = text.char_indices().peekable();
    let mut is_class = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == delimiter => return (!is_class).then(|| (&text[..at], &text[at + c.len_utf8()..])),
            '[' if !is_class => {
                is_class = true;
                // A bracket right behind the first one is one of the characters.
                chars.next_if(|(_, c)| *c == '^');
                chars.next_if(|(_, c)| *c == ']');
            }
            '[' => {
                let kind = chars.next_if(|(_, c)| matches!(c, ':' | '.' | '=')).map(|(_, kind)| kind);
                if let Some(kind) = kind {
                    while chars.next().is_some_and(|(_, c)| c != kind) {}
                    chars.next_if(|(_, c)| *c == ']')?;
                }
            }
            ']' => is_class = false,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_known_by_its_commands() {
        for script in [
            "s/a/b/",
            "s/a/b/g;s/c/d/",
            "1,5p",
            "/x/d",
            "$!N;P;D",
            "s|/e|/w|g",
            "y/abc/xyz/",
            "/a/,/b/{p;q}",
            "1a e x",
            "s/e/w/2p",
            "s/[[:space:]]*$//",
        ] {
            assert_eq!(does(script), Some(Does::default()), "{script}");
        }
        for script in ["e", "1e danger", "s/.*/&/e", "s/x/y/;e", "s/a/b/ge", "/x/e", "{e\n}", "1,3{s/a/b/;e x\n}"] {
            assert!(does(script).is_some_and(|does| does.runs), "{script}");
        }
        for script in ["w f", "s/a/b/w f", "r f", "1W f"] {
            assert!(does(script).is_none_or(|does| does.has_files), "{script}");
        }
        for script in ["s/a/b", "s/[/]/x/e", "k", "px", "s/[]/]/g;s/e;p#/a/g", "s/[[:alpha:]/]/g;s/e;p#/a/g"] {
            assert_eq!(does(script), None, "{script}");
        }
    }
}
