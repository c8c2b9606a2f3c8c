//! Where a shell reckons: `$((…))`, `((…))`, `$[…]`, an index of a list, `${x:1:n}`, and names that stand for others.
//!
//! It is looked for in the text as it is written, in quotes or not: one place too many asks no more than which names are in it.

use super::word::ANY;

/// More text than this is not looked at, and may be anything.
const MOST: usize = 40_000;

/// What an expression is made of.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct ExpressionParts {
    pub(crate) names: Vec<String>,
    /// Commands that print something into it.
    pub(crate) commands: Vec<String>,
    /// Where each command ends is certain.
    pub(crate) is_certain: bool,
}

/// The texts in a line that a shell may reckon with.
pub(super) fn expressions(line: &str) -> Vec<String> {
    let chars: Vec<char> = line.chars().collect();
    let (mut found, mut length) = (vec![], 0);
    for at in 0..chars.len() {
        let inside = match (chars[at], chars.get(at + 1)) {
            ('(', Some('(')) => closed(&chars, at + 1, '(', ')'),
            ('$', Some('[')) => closed(&chars, at + 1, '[', ']'),
            ('[', Some(_)) if at > 0 && is_of_name(chars[at - 1]) && !is_keyed(&chars, at) => {
                closed(&chars, at, '[', ']').filter(|index| !matches!(*index, ['@' | '*']))
            }
            // `([x]=1)`
            ('[', Some(_)) if at > 0 && (chars[at - 1] == '(' || chars[at - 1].is_whitespace()) => {
                closed(&chars, at, '[', ']').filter(|index| chars.get(at + index.len() + 2) == Some(&'='))
            }
            ('$', Some('{')) => closed(&chars, at + 1, '{', '}').and_then(in_braces),
            _ => None,
        };
        length += inside.map_or(0, <[char]>::len);
        if length > MOST {
            // Brackets in brackets are found again and again.
            return vec![ANY.to_string()];
        }
        found.extend(inside.map(|inside| inside.iter().collect::<String>()));
    }
    found.retain(|text| text.contains(|c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '$' | '`' | ANY)));
    found.sort();
    found.dedup();
    found
}

/// What stands in `${…}` and is reckoned with: where a part begins, what a name stands for, and a text that is a prompt.
fn in_braces(inside: &[char]) -> Option<&[char]> {
    let (points, rest) = match inside {
        ['!', rest @ ..] => (true, rest),
        rest => (false, rest),
    };
    let ends = rest.iter().position(|c| !is_of_name(*c) && !matches!(c, '@' | '*')).unwrap_or(rest.len());
    let mut behind = &rest[ends..];
    // Its keys, and names that begin with it.
    if points
        && (matches!(behind, ['[', '@' | '*', ']']) || rest[..ends].ends_with(&['*']) || rest[..ends].ends_with(&['@']))
    {
        return None;
    }
    if behind.first() == Some(&'[') {
        let index = closed(behind, 0, '[', ']').map_or(0, <[char]>::len);
        behind = behind.get(index + 2..).unwrap_or_default();
    }
    let cuts = matches!(behind, [':', next, ..] if !matches!(next, '-' | '=' | '?' | '+'));
    match behind {
        _ if cuts => Some(&behind[1..]),
        _ if points && !rest.is_empty() => Some(rest),
        _ if rest.ends_with(&['@', 'P']) => Some(&rest[..rest.len() - 2]),
        _ => None,
    }
}

/// Whether the index is a key of a list that the line declares with keys, which is no number.
fn is_keyed(chars: &[char], at: usize) -> bool {
    let begins = chars[..at].iter().rposition(|c| !is_of_name(*c)).map_or(0, |before| before + 1);
    let name: String = chars[begins..at].iter().collect();
    let line: String = chars.iter().collect();
    let begins_command = |before: &str| {
        let before = before.trim_end_matches([' ', '\t']);
        before.is_empty() || before.ends_with([';', '\n', '&', '|', '{']) || before.ends_with(" do")
    };
    let declares = |word: &str| {
        let declaration = format!("{word} -A {name}");
        let is_whole = |at: usize| !line[at + declaration.len()..].starts_with(is_of_name);
        line.match_indices(&declaration).any(|(at, _)| is_whole(at) && begins_command(&line[..at]))
    };
    // `test -v "m[$x]"` reads it once more, and without its declaration it is a list of numbers.
    let is_left = ["-v", "unset"].into_iter().all(|word| !line.contains(word));
    is_left && ["declare", "typeset", "local"].into_iter().any(declares)
}

/// What stands between a bracket and the one that closes it, or all that follows.
fn closed(chars: &[char], opens_at: usize, opens: char, closes: char) -> Option<&[char]> {
    let inside = chars.get(opens_at + 1..)?;
    let mut deep = 1_usize;
    for (at, c) in inside.iter().enumerate() {
        if *c == opens {
            deep += 1;
        } else if *c == closes {
            deep -= 1;
            if deep == 0 {
                return Some(&inside[..at]);
            }
        }
    }
    Some(inside)
}

/// The names in an expression, and the commands that print into it.
pub(crate) fn expression_parts(expression: &str) -> ExpressionParts {
    let chars: Vec<char> = expression.chars().collect();
    let mut parts = ExpressionParts { is_certain: true, ..ExpressionParts::default() };
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        match c {
            '$' if chars.get(at + 1) == Some(&'(') && chars.get(at + 2) != Some(&'(') => {
                let inside = closed(&chars, at + 1, '(', ')').unwrap_or_default();
                // A bracket in quotes or in a comment closes nothing.
                let is_odd = |quote: char| inside.iter().filter(|c| **c == quote).count() % 2 == 1;
                parts.is_certain &= !is_odd('\'') && !is_odd('"') && !inside.contains(&'#');
                parts.commands.push(inside.iter().collect());
                at += inside.len() + 2;
            }
            // `$((x) )` is a command in a shell of its own.
            '$' if chars.get(at + 1) == Some(&'(') => {
                let inside = closed(&chars, at + 2, '(', ')').unwrap_or_default();
                parts.is_certain &= chars.get(at + 3 + inside.len() + 1) == Some(&')');
                at += 2;
            }
            '`' => {
                let inside: String = chars[at + 1..].iter().take_while(|c| **c != '`').collect();
                at += inside.chars().count() + 1;
                parts.is_certain &= !inside.contains('\\');
                parts.commands.push(inside);
            }
            '$' if chars.get(at + 1).is_some_and(|c| c.is_ascii_digit() || matches!(c, '@' | '*')) => {
                parts.names.push(chars[at + 1].to_string());
                at += 1;
            }
            c if is_of_name(*c) => {
                let name: String = chars[at..].iter().take_while(|c| is_of_name(**c)).collect();
                at += name.len() - 1;
                // `16#ff` is a number, and `${1}` one of the words.
                let is_braced = at > 1 && chars.get(at.saturating_sub(name.len())) == Some(&'{');
                if !name.starts_with(|c: char| c.is_ascii_digit()) || is_braced {
                    parts.names.push(name);
                } else if chars.get(at + 1) == Some(&'#') {
                    at += 1 + chars[at + 2..].iter().take_while(|c| is_of_name(**c)).count();
                }
            }
            _ => {}
        }
        at += 1;
    }
    parts
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::{expression_parts, expressions};

    #[test]
    fn every_place_in_which_a_shell_reckons_is_found() {
        for (line, expected) in [
            ("echo $((x + 1))", "x + 1"),
            ("((x++))", "x++"),
            ("for ((i=x; i<3; i++)); do :; done", "i=x; i<3; i++"),
            ("echo $[x]", "x"),
            ("echo ${a[x]}", "x"),
            ("a[$x]=1", "$x"),
            ("b=([x]=1)", "x"),
            ("test -v 'a[x]'", "x"),
            ("echo ${y:x:2}", "x:2"),
            ("echo ${a[@]:x}", "x"),
            ("echo ${@:x}", "x"),
            ("echo ${!x}", "x"),
            ("echo ${x@P}", "x"),
        ] {
            assert!(
                expressions(line).iter().any(|found| found.starts_with(expected)),
                "{line}: {:?}",
                expressions(line)
            );
        }
        for line in [
            "echo ${a[@]} ${a[1]} ${x:-y} ${x:+y} ${!a[@]} ${!x*} ${#x}",
            "echo ${x%.*} [a-z]",
            "declare -A m; m[$x]=1",
        ] {
            assert_eq!(expressions(line), Vec::<String>::new(), "{line}");
        }
    }

    #[test]
    fn an_expression_is_names_and_commands() {
        let parts = expression_parts("x + $y * ${z} - $(wc -l < f) + `nproc` + 0x1f + 16#ff + $1 + ${2}");
        assert_eq!(parts.names, ["x", "y", "z", "1", "2"]);
        assert_eq!(parts.commands, ["wc -l < f", "nproc"]);
    }
}
