//! Whether a program in awk starts others whose names do not stand in it as they are.

use super::shell::ShellWord;

/// Whether the code runs a text that it puts together or reads: `system($0)`, `"a" "b" | getline`, `print | x`.
pub(crate) fn runs_what_it_makes(code: &str) -> bool {
    // A quote in a pattern opens no text, and whether a slash begins one awk itself is not sure.
    if starts_or_writes(code) && code.contains('/') && code.contains('"') && quotes_in_patterns(code) {
        return true;
    }
    let tokens = tokens(code);
    let is_end = |at: usize| tokens.get(at).is_none_or(|token| matches!(token, AwkToken::Mark(';' | '}' | '\n')));
    let made = |at: usize, token: &AwkToken| match token {
        AwkToken::Name(name) if name == "system" => {
            !matches!(tokens.get(at + 1..at + 4), Some([AwkToken::Mark('('), AwkToken::Text, AwkToken::Mark(')')]))
        }
        // `@f()` calls what f names, and `@load` brings in more.
        AwkToken::Mark('@') => true,
        AwkToken::Mark('|') if matches!(tokens.get(at + 1), Some(AwkToken::Name(name)) if name == "getline") => {
            let begins = |token: &AwkToken| matches!(token, AwkToken::Mark(';' | '{' | '(' | '\n' | '!' | '&' | 'o'));
            let before = at.checked_sub(2).is_none_or(|before| begins(&tokens[before]));
            !(at > 0 && tokens[at - 1] == AwkToken::Text && before)
        }
        AwkToken::Mark('|') => !(tokens.get(at + 1) == Some(&AwkToken::Text) && is_end(at + 2)),
        _ => false,
    };
    tokens.iter().enumerate().any(|(at, token)| made(at, token))
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
    Text,
    Name(String),
    /// One character; `||` is `o`.
    Mark(char),
}

fn tokens(code: &str) -> Vec<AwkToken> {
    let mut tokens = vec![];
    let mut chars = code.chars().peekable();
    while let Some(c) = chars.next() {
        let begins_pattern =
            !matches!(tokens.last(), Some(AwkToken::Text | AwkToken::Name(_) | AwkToken::Mark(')' | ']')));
        match c {
            '"' => {
                // What a shell fills in is not in the text, and neither is what a number stands for.
                let is_filled_in = skip_to(&mut chars, '"').contains(['$', '`', '*', '?', '[']);
                tokens.push(if is_filled_in { AwkToken::Name(String::new()) } else { AwkToken::Text });
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
            // A number stands for a character.
            '\\' => skipped.extend(chars.next().filter(|c| c.is_ascii_digit() || *c == 'x').map(|_| '$')),
            c if c == end => break,
            c => skipped.push(c),
        }
    }
    skipped
}

#[cfg(test)]
mod tests {
    use super::{runs_what_it_makes, starts_or_writes};

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
        ] {
            assert!(runs_what_it_makes(code), "{code}");
        }
    }
}
