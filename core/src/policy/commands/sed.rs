//! What a script for sed does besides putting text in the place of text: it may run commands, and read and write files.

use super::sed_words::{behind_flag, joined, scripts, with_places};
use crate::policy::languages::{Meaning, is_input};
use crate::policy::shell::{ANY, OUTER, Piece, ShellWord};
use crate::policy::words::options;
use crate::policy::words::values::Variables;

/// Whether sed is given nothing but scripts that put text in the place of text, or pick lines: nothing that runs or writes.
pub(crate) fn edits_only(rest: &[ShellWord]) -> bool {
    let Some(scripts) = scripts(rest) else { return false };
    scripts.iter().all(|script| script.is_known()) && does(&joined(&scripts)).is_some_and(|does| does.is_harmless())
}

/// The scripts of a sed that runs what it reads, or what they say; none where they surely run nothing.
pub(crate) fn running(rest: &[ShellWord]) -> Option<Vec<&ShellWord>> {
    let Some(scripts) = scripts(rest) else {
        let from_input = rest.iter().any(|word| is_input(word.text.trim_start_matches("-f")));
        return from_input.then(Vec::new);
    };
    does(&joined(&scripts)).is_none_or(|does| does.runs).then_some(scripts)
}

/// What sed is told, by its words and, for `-f -`, by its input: none where that is not known.
pub(crate) fn meaning(rest: &[ShellWord], input: impl Fn() -> Option<Vec<String>>) -> Meaning {
    let mut meaning = Meaning::default();
    let mut take = |script: &str| match does(script) {
        Some(does) => {
            meaning.is_unclear |= does.runs_text;
            meaning.lines.extend(does.lines);
        }
        // Nothing can be run in it without this letter.
        None => meaning.is_unclear |= script.contains(['e', ANY]),
    };
    if let Some(scripts) = scripts(rest) {
        take(&joined(&scripts));
        return meaning;
    }
    // With an option that is not known any word may be a script; with `-f` it is a file, or the input.
    rest.iter().filter(|word| does(&with_places(word)).is_some()).for_each(|word| take(&behind_flag(word)));
    let is_fed = |text: &str| is_input(text) || options::value(text, "f", &["--file"]).is_some_and(is_input);
    if rest.iter().any(|word| is_fed(&word.text)) {
        let Some(texts) = input() else { return Meaning::unclear() };
        take(&texts.join("\n"));
    }
    meaning
}

/// Whether a script is unclear where a variable that the line fills with anything stands in it. What only the environment
/// knows is text.
pub(crate) fn may_run_any(rest: &[ShellWord], variables: &Variables) -> bool {
    let is_any = |piece: &Piece| {
        let alone = ShellWord { pieces: vec![piece.clone()], ..ShellWord::default() };
        let is_variable = matches!(piece, Piece::Variable(_) | Piece::MadeOf(..));
        is_variable && variables.shapes(&alone).iter().any(|shape| shape.contains(ANY))
    };
    let filled = |word: &ShellWord| {
        let pieces = word.pieces.iter().map(|piece| if is_any(piece) { Piece::Unknown } else { piece.clone() });
        ShellWord { pieces: pieces.collect(), ..word.clone() }
    };
    let is_filled = rest.iter().any(|word| word.pieces.iter().any(is_any));
    is_filled && meaning(&rest.iter().map(filled).collect::<Vec<_>>(), || Some(vec![])).is_unclear
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Does {
    runs: bool,
    /// What it runs is what it makes of its input.
    runs_text: bool,
    has_files: bool,
    /// The lines that it runs.
    lines: Vec<String>,
}

impl Does {
    fn is_harmless(&self) -> bool {
        !self.runs && !self.has_files
    }
}

/// What a script does; none where it cannot be read. A delimiter in brackets is one to some and none to others: what the
/// script does to either counts.
fn does(script: &str) -> Option<Does> {
    let mut does = read(script, true)?;
    if let Some(other) = read(script, false) {
        does.runs |= other.runs;
        does.runs_text |= other.runs_text;
        does.has_files |= other.has_files;
        let lines = other.lines.into_iter().filter(|line| !does.lines.contains(line)).collect::<Vec<_>>();
        does.lines.extend(lines);
    }
    Some(does)
}

fn read(script: &str, has_classes: bool) -> Option<Does> {
    let mut does = Does::default();
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', '\t', '\n', ';', '{', '}']);
        rest = behind_address(rest, has_classes)?;
        let Some(command) = rest.chars().next() else { return Some(does) };
        rest = &rest[command.len_utf8()..];
        let line_ends = rest.find('\n').unwrap_or(rest.len());
        rest = match command {
            '{' | '}' => continue,
            's' => {
                let (_, behind) = delimited(rest, has_classes)?;
                let flags = behind.find(|c: char| !c.is_ascii_alphanumeric() && c != OUTER).unwrap_or(behind.len());
                does.runs |= behind[..flags].contains('e');
                does.runs_text |= does.runs;
                let writes = behind[..flags].contains('w');
                does.has_files |= writes;
                if !behind[..flags].chars().all(|c| c.is_ascii_digit() || c == OUTER || "gpiIeMmw".contains(c)) {
                    return None;
                }
                if writes { behind.find('\n').map_or("", |at| &behind[at..]) } else { &behind[flags..] }
            }
            'y' => delimited(rest, has_classes)?.1,
            'e' => {
                does.runs = true;
                let line = rest[..line_ends].trim();
                does.runs_text |= line.is_empty() || line.starts_with([';', '}']);
                does.lines.extend((!line.is_empty()).then(|| line.to_owned()));
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
            // To GNU's sed a label ends at a blank, and a command stands behind that.
            'b' | 't' | 'T' | ':' => {
                let label = rest.trim_start_matches([' ', '\t']);
                &label[label.find([';', '\n', '}', ' ', '\t']).unwrap_or(label.len())..]
            }
            'q' | 'Q' | 'l' | 'L' => rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
            OUTER | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => rest,
            _ => return None,
        };
        let ends = rest.trim_start_matches([' ', '\t']);
        if !ends.is_empty() && !ends.starts_with([';', '\n', '}', '{', '#']) {
            return None;
        }
    }
}

/// What stands behind the addresses before a command.
fn behind_address(script: &str, has_classes: bool) -> Option<&str> {
    let mut rest = script;
    loop {
        rest = rest
            .trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '$' | ',' | '~' | '+' | '!' | ' ' | OUTER));
        // What is printed may be the number of a line, where a command stands behind it.
        rest = rest
            .strip_prefix(ANY)
            .filter(|behind| behind.starts_with(|c: char| c.is_ascii_alphabetic() || c == ','))
            .unwrap_or(rest);
        let slashed = rest.strip_prefix('/').map(|_| rest);
        let Some(pattern) = slashed.or_else(|| rest.strip_prefix('\\')) else { return Some(rest) };
        let delimiter = pattern.chars().next()?;
        let (_, behind) = part(&pattern[delimiter.len_utf8()..], delimiter, has_classes)?;
        rest = behind.trim_start_matches(['I', 'M']);
    }
}

/// Behind both parts of `s/…/…/` and `y/…/…/`.
fn delimited(script: &str, has_classes: bool) -> Option<(&str, &str)> {
    let delimiter = script.chars().next().filter(|c| !c.is_whitespace() && *c != '\\')?;
    let (first, rest) = part(&script[delimiter.len_utf8()..], delimiter, has_classes)?;
    let (_, rest) = part(rest, delimiter, false)?;
    Some((first, rest))
}

/// The text before a delimiter, and what stands behind it. One behind a backslash is none, and in brackets none where there are
/// classes.
fn part(text: &str, delimiter: char, has_classes: bool) -> Option<(&str, &str)> {
    let mut chars = text.char_indices().peekable();
    let mut is_class = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == delimiter && !is_class => return Some((&text[..at], &text[at + c.len_utf8()..])),
            '[' if !is_class && !has_classes => {}
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
    use crate::policy::shell::Script;

    #[test]
    fn what_is_filled_in_is_no_order_where_it_cannot_be_one() {
        let is_unclear = |words: &str| {
            let script = Script::read(&format!("sed {words} f"));
            let sed = script.commands.iter().find(|command| command.words[0].text == "sed").unwrap();
            meaning(&sed.words[1..], || None).is_unclear
        };
        for words in ["-n \"${a},${e}p\"", "-n \"$(x)p\"", "\"s/x/$(e)/\"", "\"s/e/$X/g\"", "\"/$e/d\"", "-l 5 s/e/x/"]
        {
            assert!(!is_unclear(words), "{words}");
        }
        for words in ["-b s/a/b/e", "-l 5 s/a/b/e", "--debug s/a/b/e", "--new s/a/b/e", "\"s/a/b/$(x)\""] {
            assert!(is_unclear(words), "{words}");
        }
    }

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
        for script in [
            "e",
            "1e danger",
            "s/.*/&/e",
            "s/x/y/;e",
            "s/a/b/ge",
            "/x/e",
            "{e\n}",
            "1,3{s/a/b/;e x\n}",
            "s/[/]/x/e",
            "s/[]/]/g;s/e;p#/a/g",
            "s/[[:alpha:]/]/g;s/e;p#/a/g",
        ] {
            assert!(does(script).is_some_and(|does| does.runs), "{script}");
        }
        for script in ["w f", "s/a/b/w f", "r f", "1W f"] {
            assert!(does(script).is_none_or(|does| does.has_files), "{script}");
        }
        for script in ["s/a/b", "k", "px"] {
            assert_eq!(does(script), None, "{script}");
        }
    }
}
