//! Which names limit what find does something to: those that stand before the action, in the same alternative.

use super::command::name_of;
use super::reading::does_more;
use crate::policy::shell::ShellWord;
use crate::policy::words::candidates::has_class;

/// The names of the files that find does something to, as patterns in small letters; none where it may be any.
pub(crate) fn limiting_names(words: &[ShellWord]) -> Vec<String> {
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let alternatives = alternatives(&texts);
    let acts = |tests: &&Vec<&str>| tests.iter().any(|text| is_action(text));
    // Without an action, all that is found is printed.
    let is_told = alternatives.iter().any(|tests| acts(&tests));
    let mut names = vec![];
    for tests in alternatives.iter().filter(|tests| !is_told || acts(tests)) {
        let before: Vec<&str> = tests.iter().copied().take_while(|text| !is_action(text)).collect();
        match names_in(&before) {
            Some(limits) => names.extend(limits),
            None => return vec![],
        }
    }
    names
}

/// The tests before the first action: what stands behind it limits nothing.
pub(crate) fn before_action(words: &[ShellWord]) -> &[ShellWord] {
    let at = words.iter().position(|word| does_more(&word.text)).unwrap_or(words.len());
    &words[..at]
}

/// Whether a word is a pattern of what find passes over: `-not -path './.git/*'` before what it does, or
/// `-path ./.git -prune -o`.
pub(crate) fn is_passed_over(words: &[ShellWord], at: usize) -> bool {
    let is_not = |text: &str| matches!(text, "!" | "-not");
    let texts: Vec<&str> = words.iter().map(|word| word.text.as_str()).collect();
    let is_find = words.first().is_some_and(|word| word.is_literal && name_of(&word.text) == "find");
    // What is denied twice is meant after all, and so is what is denied in brackets that are.
    let denies_more = texts.windows(2).any(|pair| is_not(pair[0]) && matches!(pair[1], "(" | "!" | "-not"));
    // What goes through folders from their ends goes into these as well.
    let is_from_end = texts.iter().any(|text| matches!(*text, "-depth" | "-d" | "-delete"));
    let is_pruned = || {
        let behind = texts.get(at + 1..at + 3).unwrap_or_default();
        matches!(behind, ["-prune", "-o" | "-or"]) && !is_from_end && !texts[..at].contains(&"(")
    };
    is_find
        && !denies_more
        && at > 2
        && (is_not(texts[at - 2]) || is_pruned())
        && matches!(texts[at - 1], "-path" | "-ipath" | "-wholename" | "-iwholename" | "-name" | "-iname")
        && before_action(words).len() > at
}

fn is_action(text: &str) -> bool {
    does_more(text) || text.starts_with("-print") || text == "-ls"
}

/// What stands between `-o`s outside of brackets.
fn alternatives<'word>(texts: &[&'word str]) -> Vec<Vec<&'word str>> {
    let mut all = vec![vec![]];
    let mut depth = 0_usize;
    for text in texts {
        match *text {
            "-o" | "-or" | "," if depth == 0 => {
                all.push(vec![]);
                continue;
            }
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        if let Some(last) = all.last_mut() {
            last.push(*text);
        }
    }
    all
}

/// The names in tests that must all hold. None where they leave any file.
fn names_in(tests: &[&str]) -> Option<Vec<String>> {
    let (mut names, mut either, mut inside, mut depth) = (vec![], 0, 0, 0_usize);
    for (at, text) in tests.iter().enumerate() {
        let is_not = at.checked_sub(1).is_some_and(|before| matches!(tests[before], "!" | "-not"));
        match *text {
            // What is not in brackets may be any, and so may what an action in them finds.
            "(" if is_not => return None,
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            "-o" | "-or" | "," => either += 1,
            "-name" | "-iname" if !is_not => {
                let name = tests.get(at + 1)?;
                inside += usize::from(depth > 0);
                // In brackets find knows classes and escapes, and outside of them escapes.
                let is_odd = has_class(name) || name.contains('\\');
                names.push(if is_odd { "*".to_owned() } else { name.to_lowercase() });
            }
            _ => {}
        }
    }
    // Each of the alternatives in brackets has a name.
    let is_limited = !names.is_empty() && (either == 0 || inside == either + 1 && inside == names.len());
    is_limited.then_some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_limits_what_stands_behind_it_in_its_alternative() {
        let names = |line: &str| limiting_names(&line.split(' ').map(ShellWord::plain).collect::<Vec<_>>());
        assert_eq!(names(". -name *.C -exec cat {} +"), ["*.c"]);
        assert_eq!(names(". -name a -prune -o -name b -print"), ["b"]);
        assert_eq!(names(". ( -name a -o -name b ) -exec cat {} +"), ["a", "b"]);
        assert_eq!(names(". ( -name x -o -name y ) -prune -o ( -name a -o -name b ) -print"), ["a", "b"]);
        assert_eq!(names(". -name a -o -name b"), ["a", "b"]);
        assert_eq!(names(". -name k[[:alpha:]]y -print"), ["*"]);
        for line in [
            ". -exec cat {} + -name *.c",
            ". -print -name *.c",
            ". -name *.c -prune -o -type f -exec cat {} +",
            ". -name a -o -exec cat {} +",
            ". ( -name a -o -size 1 ) -exec cat {} +",
            ". ! ( -name a ) -exec cat {} +",
            ". ! -name a -exec cat {} +",
            ". -name a -exec true ; -o -type f -exec cat {} +",
        ] {
            assert!(names(line).is_empty(), "{line}");
        }
    }
}
