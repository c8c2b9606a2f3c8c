//! Whether a program in awk starts others whose names do not stand in it as they are.

use crate::policy::languages::Meaning;
use crate::policy::shell::{ANY, ShellWord};

/// Whether the code runs a text that it puts together or reads: `system($0)`, `"a" "b" | getline`, `print | x`.
pub(crate) fn runs_what_it_makes(code: &str) -> bool {
    meaning(std::iter::once(code)).is_unclear
}

/// What code does besides printing: the lines that it gives to a shell, and files that it does not name.
pub(crate) fn meaning<'code>(codes: impl Iterator<Item = &'code str>) -> Meaning {
    let mut meaning = Meaning::default();
    for code in codes {
        // A quote in a pattern opens no text, and whether a slash begins one awk itself is not sure.
        meaning.is_unclear |=
            starts_or_writes(code) && code.contains('/') && code.contains('"') && quotes_in_patterns(code);
        read(&tokens(code), &mut meaning);
    }
    meaning
}

fn read(tokens: &[AwkToken], meaning: &mut Meaning) {
    let is_end = |at: usize| tokens.get(at).is_none_or(|token| matches!(token, AwkToken::Mark(';' | '}' | '\n')));
    let text = |at: usize| match tokens.get(at) {
        Some(AwkToken::Text(text)) => Some(text.as_str()),
        _ => None,
    };
    let is_named = |at: usize, wanted: &str| matches!(tokens.get(at), Some(AwkToken::Name(name)) if name == wanted);
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    for (at, token) in tokens.iter().enumerate() {
        match token {
            AwkToken::Mark('{') => braces += 1,
            AwkToken::Mark('}') => braces = braces.saturating_sub(1),
            AwkToken::Mark('(') => brackets += 1,
            AwkToken::Mark(')') => brackets = brackets.saturating_sub(1),
            AwkToken::Name(name) if name == "system" => {
                let is_alone = tokens.get(at + 1) == Some(&AwkToken::Mark('('))
                    && tokens.get(at + 3) == Some(&AwkToken::Mark(')'));
                match text(at + 2).filter(|_| is_alone) {
                    Some(line) => meaning.run(line),
                    None => meaning.is_unclear = true,
                }
            }
            // `@f()` calls what f names, and `@load` brings in more.
            AwkToken::Mark('@') => meaning.is_unclear = true,
            AwkToken::Mark('|') if is_named(at + 1, "getline") => {
                let begins =
                    |token: &AwkToken| matches!(token, AwkToken::Mark(';' | '{' | '(' | '\n' | '!' | '&' | 'o'));
                let is_alone = at.checked_sub(2).is_none_or(|before| begins(&tokens[before]));
                match at.checked_sub(1).and_then(text).filter(|_| is_alone) {
                    Some(line) => meaning.run(line),
                    None => meaning.is_unclear = true,
                }
            }
            AwkToken::Mark('|') => match text(at + 1).filter(|_| is_end(at + 2)) {
                Some(line) => meaning.feed(line),
                None => meaning.is_unclear = true,
            },
            AwkToken::Name(name)
                if name == "getline" && at.checked_sub(1).is_none_or(|at| tokens[at] != AwkToken::Mark('|')) =>
            {
                let is_place = |token: &&AwkToken| {
                    matches!(token, AwkToken::Name(_) | AwkToken::Text(_) | AwkToken::Mark('$' | '[' | ']'))
                };
                let from = at + 1 + tokens[at + 1..].iter().take_while(is_place).count();
                let is_file = tokens.get(from) == Some(&AwkToken::Mark('<'));
                meaning.reads_any |= is_file && text(from + 1).is_none();
            }
            AwkToken::Name(name) if name == "ARGV" || name == "ARGC" => meaning.reads_any = true,
            AwkToken::Mark('>') if braces > 0 && brackets == 0 => {
                let file = at + 1 + usize::from(tokens.get(at + 1) == Some(&AwkToken::Mark('>')));
                let is_whole = text(file).is_some() && is_end(file + 1);
                meaning.changes_any |=
                    !is_whole && at.checked_sub(1).is_none_or(|at| tokens[at] != AwkToken::Mark('>'));
            }
            _ => {}
        }
    }
}

pub(crate) fn is_awk(name: &str) -> bool {
    matches!(name, "awk" | "gawk" | "mawk" | "nawk")
}

/// The words that may be programs: those behind `-e` and `--source`, in words of their own or not, and the first that is no
/// option and no value of one where no other word says where the program is.
pub(crate) fn codes(rest: &[ShellWord]) -> Vec<&ShellWord> {
    let mut codes = vec![];
    let mut is_given = false;
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        let long = word.text.strip_prefix("--").map(|long| long.split_once('=').unwrap_or((long, "")));
        let names =
            |of: &[&str]| long.is_some_and(|(name, _)| !name.is_empty() && of.iter().any(|one| one.starts_with(name)));
        let is_whole = !word.text.contains('=');
        match word.text.as_str() {
            "--" => {
                codes.extend(words.next().filter(|_| !is_given));
                break;
            }
            "-F" | "-v" | "-l" => drop(words.next()),
            // What it takes in may be a program as well, but it is in a file.
            "-i" => drop(words.next()),
            "-f" | "-E" => {
                is_given = true;
                words.next();
            }
            "-e" => {
                is_given = true;
                codes.extend(words.next());
            }
            text if text.starts_with("-v") || text.starts_with("-F") => {}
            text if text.starts_with("-f") || text.starts_with("-E") => is_given = true,
            _ if names(&["assign", "field-separator", "load", "include"]) => {
                if is_whole {
                    words.next();
                }
            }
            _ if names(&["file", "exec"]) => {
                is_given = true;
                if is_whole {
                    words.next();
                }
            }
            _ if names(&["source"]) => {
                is_given = true;
                codes.extend(if is_whole { words.next() } else { Some(word) });
            }
            // An option that is not known, or one with its value.
            _ if word.is_flag() => codes.push(word),
            _ => {
                codes.extend((!is_given).then_some(word));
                break;
            }
        }
    }
    codes
}

/// The program in a word, without the option it is glued to.
pub(crate) fn behind_option(shape: &str) -> &str {
    match (shape.strip_prefix("--"), shape.strip_prefix("-e")) {
        (Some(long), _) => long.split_once('=').map_or(long, |(_, code)| code),
        (None, Some(code)) => code,
        (None, None) => shape,
    }
}

/// Whether something that nobody knows stands where an order of the program begins. In the middle of one it counts as a text
/// or a number.
pub(crate) fn may_begin_with_any(code: &str) -> bool {
    let begins = |before: &str| {
        let before = before.trim_end_matches([' ', '\t']);
        let is_mark = |c: char| matches!(c, '{' | '}' | ';' | '\n' | ')');
        before.is_empty() || before.ends_with(is_mark) || before.ends_with("BEGIN") || before.ends_with("END")
    };
    code.match_indices(ANY).any(|(at, _)| begins(&code[..at]))
}

/// Whether a command of awk has no option but those for separators and variables, and its code starts and writes nothing.
/// Also a text that only says `system` counts: where texts and patterns of awk begin and end is nothing to rely on.
pub(crate) fn only_prints(rest: &[ShellWord]) -> bool {
    let is_known = |word: &&ShellWord| !word.is_flag() || word.text.starts_with("-F") || word.text.starts_with("-v");
    rest.iter().all(|word| is_known(&word) && word.is_known() && !starts_or_writes(&word.text))
}

/// Whether code in awk may start a program or write a file.
pub(crate) fn starts_or_writes(code: &str) -> bool {
    code.replace("||", "").contains(['|', '@'])
        || may_write(code)
        || ["system", "getline", "inplace"].iter().any(|word| code.contains(word))
}

/// Whether a `>` in the code may be more than a comparison. It writes a file only in an action, and there not in brackets.
fn may_write(code: &str) -> bool {
    // Where patterns begin and end is nothing to rely on; before anything could open one, a `>` compares.
    if code.contains('/') {
        let certain = code.find(['{', '"', '/', '#']).unwrap_or(code.len());
        return code[certain..].contains('>');
    }
    let (mut braces, mut brackets) = (0_usize, 0_usize);
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' => drop(skip_to(&mut chars, '"')),
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '{' => braces += 1,
            '}' => braces = braces.saturating_sub(1),
            '(' => brackets += 1,
            ')' => brackets = brackets.saturating_sub(1),
            '>' if braces > 0 && brackets == 0 => return true,
            _ => {}
        }
    }
    false
}

/// Whether a quote may stand between two slashes, on either way of counting them.
fn quotes_in_patterns(code: &str) -> bool {
    let parts: Vec<&str> = code.split('/').collect();
    parts.len() > 2 && parts[1..parts.len() - 1].iter().any(|part| part.contains('"'))
}

#[derive(Debug, PartialEq)]
enum AwkToken {
    Text(String),
    Name(String),
    /// One character; `||` is `o`.
    Mark(char),
}

fn tokens(code: &str) -> Vec<AwkToken> {
    let mut tokens = vec![];
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        let begins_pattern =
            !matches!(tokens.last(), Some(AwkToken::Text(_) | AwkToken::Name(_) | AwkToken::Mark(')' | ']')));
        match c {
            '"' => {
                // What a shell fills in is not in the text, and neither is what a number stands for.
                let text = skip_to(&mut chars, '"');
                let is_filled_in = text.contains(['$', '`', '*', '?', '[']);
                tokens.push(if is_filled_in { AwkToken::Name(String::new()) } else { AwkToken::Text(text) });
            }
            '/' if begins_pattern => {
                skip_to(&mut chars, '/');
                tokens.push(AwkToken::Name(String::new()));
            }
            '#' => while chars.next_if(|c| *c != '\n').is_some() {},
            '|' if chars.next_if_eq(&'|').is_some() => tokens.push(AwkToken::Mark('o')),
            c if c.is_alphanumeric() || c == '_' => {
                let mut name = c.to_string();
                while let Some(c) = chars.next_if(|c| c.is_alphanumeric() || *c == '_') {
                    name.push(c);
                }
                tokens.push(AwkToken::Name(name));
            }
            ' ' | '\t' => {}
            c => tokens.push(AwkToken::Mark(c)),
        }
    }
    tokens
}

fn skip_to(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, end: char) -> String {
    let mut skipped = String::new();
    while let Some(c) = chars.next() {
        match c {
            // A text goes on in the next line.
            '\\' if chars.next_if_eq(&'\n').is_some() => {}
            // A number stands for a character.
            '\\' => skipped.extend(chars.next().map(|c| if c.is_ascii_digit() || c == 'x' { '$' } else { c })),
            c if c == end => break,
            c => skipped.push(c),
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::{meaning, runs_what_it_makes, starts_or_writes};

    #[test]
    fn files_whose_names_are_put_together_may_be_any() {
        let of = |code: &str| meaning(std::iter::once(code));
        for code in
            ["{print > \"out\"}", "{while ((getline l < \"f\") > 0) print}", "{if ($1 > 5) print}", "$1 > 5 {print $2}"]
        {
            assert!(!of(code).changes_any && !of(code).reads_any, "{code}");
        }
        for code in ["{print > $1}", "{print >> \".g\" \"it\"}", "{print > (\"a\" \"b\")}"] {
            assert!(of(code).changes_any, "{code}");
        }
        for code in ["{while ((getline l < f) > 0) print}", "{getline < $1}", "BEGIN {ARGV[1] = \"a\"}"] {
            assert!(of(code).reads_any, "{code}");
        }
    }

    #[test]
    fn a_comparison_is_told_from_writing_a_file() {
        for code in
            ["NR>1", "NR>1 {print $1}", "{if ($1>5) print}", "$1 > 2 || $2 > 3", "NR>1 && /x/ {print}", "{s = (a > b)}"]
        {
            assert!(!starts_or_writes(code), "{code}");
        }
        for code in [
            "{print > \"x\"}",
            "{print > $1}",
            "NR>1 {print > x}",
            "/}/ {print > x}",
            "{print (1) > x}",
            "BEGIN {\nprint \"}\" >> x }",
            "{print | x}",
            "{a = \"(\"; print > x}",
        ] {
            assert!(starts_or_writes(code), "{code}");
        }
    }

    #[test]
    fn a_text_that_goes_on_in_the_next_line_is_one() {
        assert_eq!(meaning(std::iter::once("BEGIN{system(\"dan\\\nger x\")}")).lines, ["danger x"]);
    }

    #[test]
    fn a_program_that_is_put_together_is_told_from_one_that_stands_there() {
        for code in [
            "{print $1}",
            "/a|b/{print}",
            "{print | \"sort\"}",
            "$1 || $2",
            "BEGIN{system(\"ls\")}",
            "{\"date\" | getline d}",
            "{a[$1]/=2}",
        ] {
            assert!(!runs_what_it_makes(code), "{code}");
        }
        for code in [
            "{system($0)}",
            "{$0 | getline}",
            "{print | x}",
            "BEGIN{system(\"a\" \"b\")}",
            "{print|\"a\"\"b\"}",
            "{\"a\" \"x\"|getline y}",
            "BEGIN{system(\"$(x)\")}",
            "{print /\"/; system(\"danger x\"); x = /\"/}",
            "{print \"a\" \"b\" | \"sh\"}",
            "{print | \"sort | sh\"}",
        ] {
            assert!(runs_what_it_makes(code), "{code}");
        }
    }
}
