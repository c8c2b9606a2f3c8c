//! Showing a change before it is made, and asking.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _};

use crate::failure::Failure;
use crate::report::say;

/// Lines around a change, to find the place by.
const CONTEXT: usize = 3;
/// More lines than this on both sides are not compared one by one.
const MOST_COMPARED: usize = 4_000_000;
/// JSON in a longer line is shown over several.
const LONGEST_LINE: usize = 120;

/// A unified diff without its head. What we put in or take out is shown whole. Values next to it are not: they may be
/// secrets, and are not the matter.
pub(crate) fn diff(before: &str, after: &str, ours: &[String]) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let lines = compared(&old, &new);
    let is_change = |line: &DiffLine<'_>| !matches!(line, DiffLine::Same(_));
    let mut text = String::new();
    let mut at = 0;
    let (mut old_line, mut new_line) = (1, 1);
    while let Some(first) = lines[at..].iter().position(is_change).map(|next| at + next) {
        let start = first.saturating_sub(CONTEXT).max(at);
        (old_line, new_line) = (old_line + start - at, new_line + start - at);
        // A hunk goes on as long as the next change is near.
        let mut last = first;
        while let Some(next) = lines[last + 1..].iter().position(is_change).filter(|next| *next <= 2 * CONTEXT) {
            last += next + 1;
        }
        let end = (last + 1 + CONTEXT).min(lines.len());
        let hunk = &lines[start..end];
        let olds = hunk.iter().filter(|line| !matches!(line, DiffLine::New(_))).count();
        let news = hunk.iter().filter(|line| !matches!(line, DiffLine::Old(_))).count();
        _ = writeln!(
            text,
            "@@ -{},{olds} +{},{news} @@",
            old_line - usize::from(olds == 0),
            new_line - usize::from(news == 0)
        );
        for line in hunk {
            _ = match line {
                DiffLine::Same(line) => writeln!(text, " {}", without_value(line)),
                DiffLine::Old(line) => writeln!(text, "-{}", shown(line, &new, ours)),
                DiffLine::New(line) => writeln!(text, "+{}", shown(line, &old, ours)),
            };
        }
        (old_line, new_line, at) = (old_line + olds, new_line + news, end);
    }
    text
}

/// A line of a diff in which a long piece of JSON stands, over several lines.
pub(crate) fn unfolded(line: &str) -> String {
    let is_change = line.starts_with(['+', '-']) && !line.starts_with("+++") && !line.starts_with("---");
    if line.len() <= LONGEST_LINE || !is_change {
        return line.to_owned();
    }
    let (sign, json) = line.split_at(1);
    let margin = json.len() - json.trim_start().len();
    let (mut text, mut depth) = (format!("{sign}{}", " ".repeat(margin)), 0_usize);
    let (mut in_string, mut is_escaped) = (false, false);
    let mut letters = json.trim().chars().peekable();
    while let Some(letter) = letters.next() {
        let breaks = |text: &mut String, depth: usize| _ = write!(text, "\n{sign}{}", " ".repeat(margin + 2 * depth));
        match letter {
            '{' | '[' if !in_string && !matches!(letters.peek(), Some('}' | ']')) => {
                depth += 1;
                text.push(letter);
                breaks(&mut text, depth);
            }
            '}' | ']' if !in_string && !text.ends_with(['{', '[']) => {
                depth = depth.saturating_sub(1);
                breaks(&mut text, depth);
                text.push(letter);
            }
            ',' if !in_string => {
                text.push(letter);
                if letters.peek().is_some() {
                    breaks(&mut text, depth);
                }
            }
            ' ' if !in_string && text.ends_with(' ') => {}
            letter => {
                in_string ^= letter == '"' && !is_escaped;
                is_escaped = letter == '\\' && !is_escaped;
                text.push(letter);
            }
        }
    }
    text
}

#[derive(Clone, Copy)]
enum DiffLine<'a> {
    Same(&'a str),
    Old(&'a str),
    New(&'a str),
}

/// The longest common subsequence of lines, by the book.
fn compared<'a>(old: &[&'a str], new: &[&'a str]) -> Vec<DiffLine<'a>> {
    let head = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(|(old, new)| old == new).count();
    let (mid_old, mid_new) = (&old[head..old.len() - tail], &new[head..new.len() - tail]);
    let mut lines: Vec<DiffLine<'_>> = old[..head].iter().copied().map(DiffLine::Same).collect();
    if mid_old.len() * mid_new.len() > MOST_COMPARED {
        lines.extend(mid_old.iter().copied().map(DiffLine::Old));
        lines.extend(mid_new.iter().copied().map(DiffLine::New));
    } else {
        let width = mid_new.len() + 1;
        let mut longest = vec![0_u32; (mid_old.len() + 1) * width];
        for (i, old) in mid_old.iter().enumerate().rev() {
            for (j, new) in mid_new.iter().enumerate().rev() {
                longest[i * width + j] = match old == new {
                    true => longest[(i + 1) * width + j + 1] + 1,
                    false => longest[(i + 1) * width + j].max(longest[i * width + j + 1]),
                };
            }
        }
        let (mut i, mut j) = (0, 0);
        while i < mid_old.len() || j < mid_new.len() {
            let (old, new) = (mid_old.get(i), mid_new.get(j));
            match (old, new) {
                (Some(old), Some(new)) if old == new => {
                    lines.push(DiffLine::Same(old));
                    (i, j) = (i + 1, j + 1);
                }
                (Some(old), new) if new.is_none() || longest[(i + 1) * width + j] >= longest[i * width + j + 1] => {
                    lines.push(DiffLine::Old(old));
                    i += 1;
                }
                (_, new) => {
                    lines.extend(new.copied().map(DiffLine::New));
                    j += 1;
                }
            }
        }
    }
    lines.extend(old[old.len() - tail..].iter().copied().map(DiffLine::Same));
    lines
}

/// A changed line. All of it is shown if it is ours, or closes what is; a line of the user's that only gets or loses its
/// comma without its value; of a line that holds both, our part.
fn shown(line: &str, other_side: &[&str], ours: &[String]) -> String {
    let is_ours = |text: &&str| ours.iter().any(|ours| ours.contains(*text));
    if strings_in(line).iter().all(is_ours) {
        return line.to_owned();
    }
    let bare = without_comma(line);
    if other_side.iter().any(|other| without_comma(other) == bare) {
        let comma = if line.trim_end().ends_with(',') { "," } else { "" };
        return format!("{}{comma}", without_value(bare));
    }
    match ours.iter().filter(|ours| !ours.trim().is_empty() && line.contains(ours.as_str())).collect::<Vec<_>>() {
        parts if parts.is_empty() => "…".to_owned(),
        parts => format!("…{}…", parts.iter().map(|part| part.trim()).collect::<Vec<_>>().join("…")),
    }
}

/// Every string of a line of JSON, with its quotes.
fn strings_in(line: &str) -> Vec<&str> {
    let (mut strings, mut start, mut is_escaped) = (vec![], None, false);
    for (at, letter) in line.char_indices() {
        match (start, letter) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(first), '"') => {
                strings.extend(line.get(first..=at));
                start = None;
            }
            (None, '"') => start = Some(at),
            _ => {}
        }
    }
    // One that does not end is the user's, whatever it is.
    strings.extend(start.map(|_| line));
    strings
}

fn without_comma(line: &str) -> &str {
    let line = line.trim_end();
    line.strip_suffix(',').unwrap_or(line)
}

fn without_value(line: &str) -> String {
    match line.split_once(':') {
        Some((key, value)) if !value.trim_end().ends_with(['{', '[']) => format!("{key}: …"),
        _ if line.trim_start().starts_with('"') && !line.contains(':') => {
            format!("{}…", &line[..line.len() - line.trim_start().len()])
        }
        // Several things on one line.
        _ if line.contains(':') && line.len() > 120 => "…".to_owned(),
        _ => line.to_owned(),
    }
}

/// Yes by flag, or by a person at a terminal. Silence is no consent.
pub(crate) fn given(question: &str, yes: bool) -> anyhow::Result<bool> {
    if yes {
        return Ok(true);
    }
    if !std::io::stdin().is_terminal() || !std::io::stdout().is_terminal() {
        let hint = "look at the change above; add --yes to make it, or run this at a terminal";
        return Err(Failure::new("nothing was changed: there is no terminal to ask at", hint).into());
    }
    say(&format!("{question} [y/N] "));
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    Ok(matches!(line.trim().to_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use super::*;

    #[test]
    fn a_diff_shows_the_change_and_no_secret_next_to_it() {
        let before =
            "{\n  \"a\": {\n    \"env\": {\"KEY\": \"hunter2\"},\n    \"args\": [\n      \"hunter2\"\n    ]\n  }\n}\n";
        let after = before.replace("\n  }\n}", "\n  },\n  \"b\": 1\n}");
        expect![[r#"
            $
            @@ -4,5 +4,6 @@
                 "args": [
                   …
                 ]
            -  }
            +  },
            +  "b": 1
             }
        "#]]
        .assert_eq(&format!("$\n{}", diff(before, &after, &[",\n  \"b\": 1".to_owned()])));
    }

    #[test]
    fn a_line_that_only_gets_its_comma_does_not_show_its_value() {
        let before = "{\n  \"a\": {\"env\": {\"KEY\": \"hunter2\"}}\n}\n";
        let after = before.replace("}}\n", "}},\n  \"b\": 1\n");
        expect![[r#"
            $
            @@ -1,3 +1,4 @@
             {
            -  "a": …
            +  "a": …,
            +  "b": 1
             }
        "#]]
        .assert_eq(&format!("$\n{}", diff(before, &after, &[",\n  \"b\": 1".to_owned()])));
    }

    #[test]
    fn a_line_that_holds_more_is_cut_to_what_changes_in_it() {
        for length in [5, 500] {
            let before = format!("{{\"secret\":\"{}\",\"a\":{{}}}}", "x".repeat(length));
            let after = before.replace("{}", "{\"b\":1}");
            expect![[r#"
                $
                @@ -1,1 +1,1 @@
                -…
                +…"b":1…
            "#]]
            .assert_eq(&format!("$\n{}", diff(&before, &after, &["\"b\":1".to_owned()])));
        }
    }

    #[test]
    fn places_far_apart_are_hunks_of_their_own() {
        let before: String = (0..30).map(|line| format!("{line}\n")).collect();
        let after = before.replace("3\n4\n", "3\nnew\n4\n").replace("\n25\n", "\n");
        let shown = diff(&before, &after, &["new".to_owned(), "25".to_owned()]);
        expect![[r#"
            @@ -2,6 +2,7 @@
             1
             2
             3
            +new
             4
             5
             6
            @@ -23,7 +24,6 @@
             22
             23
             24
            -25
             26
             27
             28
        "#]]
        .assert_eq(&shown);
    }
}
