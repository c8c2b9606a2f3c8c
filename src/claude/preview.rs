//! A tool call as people read it: the whole command, the whole change, the whole question.

use portcullis_core::visible;
use serde_json::Value;

/// Everything in the input that a person decides on, as plain text.
pub(crate) fn preview(tool: &str, input: &Value) -> String {
    let text = |name: &str| input.get(name).and_then(Value::as_str);
    let shown = match tool {
        "Bash" => text("command").map(str::to_owned),
        "Write" => text("file_path").map(|path| format!("{path}\n{}", marked('+', text("content").unwrap_or_default()))),
        "Edit" => text("file_path").map(|path| {
            let (old, new) = (text("old_string").unwrap_or_default(), text("new_string").unwrap_or_default());
            let all = if input.get("replace_all") == Some(&Value::Bool(true)) { " (every place)" } else { "" };
            format!("{path}{all}\n{}{}", marked('-', old), marked('+', new))
        }),
        "WebFetch" => text("url").map(|url| format!("{url}\n{}", text("prompt").unwrap_or_default())),
        "AskUserQuestion" => Some(questions(input)),
        "ExitPlanMode" => text("plan").map(str::to_owned),
        _ => None,
    };
    // What the summary leaves out is shown as it is: nobody may hide anything beside the command.
    let known: &[&str] = match tool {
        "Bash" => &["command", "description"],
        "Write" => &["file_path", "content"],
        "Edit" => &["file_path", "old_string", "new_string", "replace_all"],
        "WebFetch" => &["url", "prompt"],
        "AskUserQuestion" => &["questions"],
        "ExitPlanMode" => &["plan"],
        _ => &[],
    };
    let Some(shown) = shown else { return pretty(input) };
    let rest: serde_json::Map<String, Value> = input
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(name, _)| !known.contains(&name.as_str()))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if rest.is_empty() { shown } else { format!("{}\n{}", shown.trim_end(), pretty(&Value::Object(rest))) }
}

/// One line for a list.
pub(crate) fn in_a_line(tool: &str, input: &Value) -> String {
    let whole = preview(tool, input);
    let first = whole.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let (start, rest) = portcullis_core::excerpt(first, Some(160));
    let more = if rest > 0 || whole.lines().count() > 1 { " …" } else { "" };
    visible(&format!("{start}{more}"))
}

fn pretty(input: &Value) -> String {
    serde_json::to_string_pretty(input).unwrap_or_default()
}

fn marked(mark: char, text: &str) -> String {
    text.lines().map(|line| format!("{mark} {line}\n")).collect()
}

fn questions(input: &Value) -> String {
    let mut shown = String::new();
    for question in input.get("questions").and_then(Value::as_array).into_iter().flatten() {
        let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let several = if question.get("multiSelect") == Some(&Value::Bool(true)) { " (several may be chosen)" } else { "" };
        shown.push_str(&format!("{}{several}\n", text(question, "question")));
        for option in question.get("options").and_then(Value::as_array).into_iter().flatten() {
            let (label, description) = (text(option, "label"), text(option, "description"));
            let dash = if description.is_empty() { "" } else { ": " };
            shown.push_str(&format!("  - {label}{dash}{description}\n"));
        }
    }
    shown
}

/// The text without what a terminal would act on: sequences are taken out, single characters spelled out.
pub(crate) fn without_escapes(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter != '\u{1b}' {
            kept.push(letter);
        } else if letters.next_if_eq(&'[').is_some() {
            // Up to the letter that ends it; parameters are digits and punctuation.
            while letters.next_if(|letter| matches!(letter, '\u{20}'..='\u{3f}')).is_some() {}
            letters.next_if(|letter| matches!(letter, '\u{40}'..='\u{7e}'));
        }
    }
    visible(kept.trim())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_preview_is_the_whole_of_what_is_decided_on() {
        for (tool, input, want) in [
            ("Bash", json!({"command": "git push\n--force", "description": "Push"}), "git push\n--force"),
            ("Bash", json!({"command": "ls", "run_in_background": true}), "ls\n{\n  \"run_in_background\": true\n}"),
            ("Write", json!({"file_path": "/a", "content": "x\ny"}), "/a\n+ x\n+ y\n"),
            ("Edit", json!({"file_path": "/a", "old_string": "x", "new_string": "y\nz", "replace_all": true}),
                "/a (every place)\n- x\n+ y\n+ z\n"),
            ("WebFetch", json!({"url": "http://x", "prompt": "what"}), "http://x\nwhat"),
            ("mcp__a__b", json!({"n": 1}), "{\n  \"n\": 1\n}"),
            ("Bash", json!({"cmd": 7}), "{\n  \"cmd\": 7\n}"),
            ("ExitPlanMode", json!({}), "{}"),
            ("AskUserQuestion", json!({"questions": [{"question": "Which?", "options": [
                {"label": "A", "description": "first"}, {"label": "B"}]}]}), "Which?\n  - A: first\n  - B\n"),
        ] {
            assert_eq!(preview(tool, &input), want, "{tool} {input}");
        }
        assert_eq!(in_a_line("Bash", &json!({"command": "\nls\u{1b}[2J\nrm"})), "ls\\u{1b}[2J …");
    }

    #[test]
    fn colours_are_taken_out_of_a_reason() {
        assert_eq!(without_escapes("\u{1b}[1mrm\u{1b}[22m is \u{1b}dangerous\u{7}"), "rm is dangerous\\u{7}");
    }

    proptest::proptest! {
        #[test]
        fn no_reason_moves_the_cursor(text: String) {
            proptest::prop_assert!(!without_escapes(&text).contains(|letter: char| letter.is_control() && letter != '\n' && letter != '\t'));
        }
    }
}
