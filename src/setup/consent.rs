//! Showing a change before it is made, and asking.

use std::fmt::Write as _;
use std::io::{BufRead as _, IsTerminal as _};

use super::receipt::common_ends;
use crate::failure::Failure;
use crate::report::say;

/// Longer lines are cut around what changes in them.
const WIDEST: usize = 120;
const CONTEXT: usize = 2;

/// The lines that change, with a few around them to find the place by. Values around them are not shown: they may be
/// secrets, and are not the matter.
pub(crate) fn diff(before: &str, after: &str) -> String {
    let (start, end) = common_ends(before, after);
    let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
    let first = old.iter().zip(&new).take_while(|(old, new)| old == new).count();
    let same = old[first..].iter().rev().zip(new[first..].iter().rev()).take_while(|(old, new)| old == new);
    let last = same.count();
    let mut text = String::new();
    for line in &old[first.saturating_sub(CONTEXT)..first] {
        _ = writeln!(text, "    {}", without_value(line));
    }
    let (mut gone, mut come) = (&old[first..old.len() - last], &new[first..new.len() - last]);
    // A line that only gets or loses its comma is the user's, and shown like those around it.
    if let ([one, rest @ ..], [other, more @ ..]) = (gone, come)
        && without_comma(one) == without_comma(other)
    {
        for (sign, line) in [('-', one), ('+', other)] {
            let comma = if line.trim_end().ends_with(',') { "," } else { "" };
            _ = writeln!(text, "  {sign} {}{comma}", without_value(without_comma(line)));
        }
        (gone, come) = (rest, more);
    }
    for (sign, lines, changed) in
        [('-', gone, &before[start..before.len() - end]), ('+', come, &after[start..after.len() - end])]
    {
        // Objects on one line may hold others next to ours.
        let is_one_of_many = |line: &str| line.contains('{') && gone.len() == 1 && come.len() == 1;
        for line in lines {
            if line.len() <= WIDEST && !is_one_of_many(line) {
                _ = writeln!(text, "  {sign} {line}");
            } else if changed.is_empty() || !line.contains(changed) {
                _ = writeln!(text, "  {sign} …");
            } else {
                _ = writeln!(text, "  {sign} …{changed}…");
            }
        }
    }
    for line in new[new.len() - last..].iter().take(CONTEXT) {
        _ = writeln!(text, "    {}", without_value(line));
    }
    text
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
    fn a_diff_shows_the_change_and_no_secret_beside_it() {
        let before =
            "{\n  \"a\": {\n    \"env\": {\"KEY\": \"hunter2\"},\n    \"args\": [\n      \"hunter2\"\n    ]\n  }\n}\n";
        let after = before.replace("\n  }\n}", "\n  },\n  \"b\": 1\n}");
        expect![[r#"
            $
                      …
                    ]
              -   }
              +   },
              +   "b": 1
                }
        "#]]
        .assert_eq(&format!("$\n{}", diff(before, &after)));
    }

    #[test]
    fn a_line_that_only_gets_its_comma_does_not_show_its_value() {
        let before = "{\n  \"a\": {\"env\": {\"KEY\": \"hunter2\"}}\n}\n";
        let after = before.replace("}}\n", "}},\n  \"b\": 1\n");
        expect![[r#"
            $
                {
              -   "a": …
              +   "a": …,
              +   "b": 1
                }
        "#]]
        .assert_eq(&format!("$\n{}", diff(before, &after)));
    }

    #[test]
    fn a_long_line_is_cut_to_what_changes_in_it() {
        for length in [5, 500] {
            let before = format!("{{\"secret\":\"{}\",\"a\":{{}}}}", "x".repeat(length));
            let after = before.replace("{}", "{\"b\":1}");
            expect![[r#"
            $
              - …
              + …"b":1…
        "#]]
            .assert_eq(&format!("$\n{}", diff(&before, &after)));
        }
    }
}
