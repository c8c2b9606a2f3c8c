//! A rule taken out of the text of its file. What people wrote around it stays as it is.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::config::Problem;

/// The text without the rule whose `allow`, `ask` or `deny` stands on this line. Comments above its `[[rule]]` stay: they
/// may be about more than this rule.
pub(crate) fn without_rule(text: &str, line: usize) -> Result<String, Problem> {
    let by_hand = || {
        Problem::new(
            format!("the rule on line {line} is not written as [[rule]] with its keys below"),
            "remove it from the file with an editor",
        )
    };
    let table = DeTable::parse(text).map_err(|error| Problem::new(error.message(), "mend the file first"))?;
    let Some(DeValue::Array(rules)) = table.get_ref().get("rule").map(Spanned::get_ref) else {
        return Err(by_hand());
    };
    let line_of = |at: usize| 1 + text.bytes().take(at).filter(|byte| *byte == b'\n').count();
    let decides_there = |rule: &&Spanned<DeValue<'_>>| match rule.get_ref() {
        DeValue::Table(table) => table.iter().any(|(key, value)| {
            matches!(&**key.get_ref(), "allow" | "ask" | "deny") && line_of(value.span().start) == line
        }),
        _ => false,
    };
    let mut found = rules.iter().filter(decides_there);
    let (Some(rule), None) = (found.next(), found.next()) else { return Err(by_hand()) };
    let DeValue::Table(keys) = rule.get_ref() else { return Err(by_hand()) };

    let start = text[..rule.span().start].rfind('\n').map_or(0, |newline| newline + 1);
    if !text[start..].trim_start().starts_with("[[") {
        return Err(by_hand());
    }
    let last = keys.iter().map(|(key, value)| key.span().end.max(value.span().end)).max().unwrap_or(start);
    let end = text[last..].find('\n').map_or(text.len(), |newline| last + newline + 1);
    let (before, after) = (&text[..start], &text[end..]);
    // The empty line that set the rule apart goes with it.
    Ok(match after.strip_prefix('\n') {
        Some(after) => format!("{before}{after}"),
        None if after.is_empty() => {
            before.strip_suffix('\n').filter(|it| it.ends_with('\n')).unwrap_or(before).to_owned()
        }
        None => format!("{before}{after}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "# mine\n\n[[rule]]  # first\nallow = 'Bash(a)'   # odd\n\n# about the second\n[[rule]]\nmatch = [\n  'b',\n]\ndeny   =  'Bash(b)'\n\n[[rule]]\nask = 'Bash(c)'\n# the end\n";

    #[test]
    fn one_rule_goes_and_every_other_byte_stays() {
        let first = "# mine\n\n# about the second\n[[rule]]\nmatch = [\n  'b',\n]\ndeny   =  'Bash(b)'\n\n[[rule]]\nask = 'Bash(c)'\n# the end\n";
        assert_eq!(without_rule(FILE, 4).unwrap(), first);
        let second = "# mine\n\n[[rule]]  # first\nallow = 'Bash(a)'   # odd\n\n# about the second\n[[rule]]\nask = 'Bash(c)'\n# the end\n";
        assert_eq!(without_rule(FILE, 11).unwrap(), second);
        let third = "# mine\n\n[[rule]]  # first\nallow = 'Bash(a)'   # odd\n\n# about the second\n[[rule]]\nmatch = [\n  'b',\n]\ndeny   =  'Bash(b)'\n\n# the end\n";
        assert_eq!(without_rule(FILE, 14).unwrap(), third);
    }

    #[test]
    fn the_last_rule_leaves_nothing_behind() {
        assert_eq!(without_rule("[[rule]]\nallow = 'Bash'", 2).unwrap(), "");
        assert_eq!(
            without_rule("[[rule]]\nask = 'A'\n\n[[rule]]\nallow = 'Bash'\n", 5).unwrap(),
            "[[rule]]\nask = 'A'\n"
        );
    }

    #[test]
    fn a_rule_that_is_written_in_another_way_is_left_to_its_writer() {
        for (text, line) in
            [("rule = [{ allow = 'Bash' }]\n", 1), ("[[rule]]\nallow = 'Bash'\n", 1), ("", 1), ("x = ", 1)]
        {
            assert!(without_rule(text, line).is_err(), "{text}");
        }
    }
}
