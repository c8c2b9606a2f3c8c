//! A tool's input as a person reads it: the command, the change, the question. The ask has the whole input as well.

use serde_json::Value;

use crate::canonical::sorted;

/// One sentence on what the call is for, where the model gave one.
pub fn description(tool: &str, input: &Value) -> String {
    match input["description"].as_str() {
        Some(description) => description.to_owned(),
        None => match tool {
            "AskUserQuestion" => "The agent asks a question".to_owned(),
            "ExitPlanMode" => "The agent has a plan and wants to begin".to_owned(),
            _ => String::new(),
        },
    }
}

/// What the call would do, in the form in which people judge it.
pub fn preview(tool: &str, input: &Value) -> String {
    let text = |field: &str| input[field].as_str();
    let shown = match tool {
        "Bash" => text("command").map(|command| format!("{command}{}", ways_to_run(input))),
        "Write" => text("file_path").zip(text("content")).map(|(path, content)| format!("{path}\n\n{content}")),
        "Edit" => text("file_path").map(|path| format!("{path}\n\n{}", change(input))),
        "MultiEdit" => text("file_path").map(|path| {
            let edits = input["edits"].as_array().map_or(&[][..], Vec::as_slice);
            format!("{path}\n\n{}", edits.iter().map(change).collect::<Vec<_>>().join("\n\n"))
        }),
        "Read" => text("file_path").map(str::to_owned),
        "WebFetch" => text("url").map(str::to_owned),
        "WebSearch" => text("query").map(str::to_owned),
        "ExitPlanMode" => Some(text("plan").unwrap_or("No text of the plan came with it.").to_owned()),
        "AskUserQuestion" => questions(input),
        _ => None,
    };
    shown.unwrap_or_else(|| match input {
        Value::Null => String::new(),
        // In one order, so that one call has one preview.
        input => format!("{:#}", sorted(input)),
    })
}

/// How a command runs that does not run as usual.
fn ways_to_run(input: &Value) -> String {
    let ways =
        [("dangerouslyDisableSandbox", "\n(without the sandbox)"), ("run_in_background", "\n(in the background)")];
    ways.into_iter().filter(|(field, _)| input[field] == true).map(|(_, words)| words).collect()
}

/// The same of an input that is known as text: a source that sends no whole input may send JSON in its place.
pub fn of_text(tool: &str, text: &str) -> String {
    match serde_json::from_str(text) {
        Ok(input @ Value::Object(_)) => preview(tool, &input),
        _ => text.to_owned(),
    }
}

fn change(edit: &Value) -> String {
    let lines = |sign: char, field: &str| {
        let text = edit[field].as_str().unwrap_or_default();
        text.lines().map(|line| format!("{sign} {line}\n")).collect::<String>()
    };
    let everywhere = if edit["replace_all"] == true { "(everywhere)\n" } else { "" };
    format!("{everywhere}{}{}", lines('-', "old_string"), lines('+', "new_string")).trim_end().to_owned()
}

fn questions(input: &Value) -> Option<String> {
    let asked = input["questions"].as_array()?.iter().map(|question| {
        let mut text = question["question"].as_str().unwrap_or_default().to_owned();
        if question["multiSelect"] == true {
            text.push_str(" (several may be chosen)");
        }
        // With the numbers by which they are chosen.
        for (index, option) in question["options"].as_array().into_iter().flatten().enumerate() {
            let label = option["label"].as_str().unwrap_or_default();
            let because = option["description"].as_str().filter(|text| !text.is_empty());
            let because = because.map(|text| format!(": {text}")).unwrap_or_default();
            text.push_str(&format!("\n{}. {label}{because}", index + 1));
        }
        text
    });
    Some(asked.collect::<Vec<_>>().join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_call_is_shown_as_people_judge_it() {
        for (tool, input, want) in [
            ("Bash", json!({"command": "git push", "description": "Push"}), "git push"),
            ("Bash", json!({"command": "ls", "dangerouslyDisableSandbox": true}), "ls\n(without the sandbox)"),
            ("Bash", json!({"command": "ls", "run_in_background": true}), "ls\n(in the background)"),
            ("Write", json!({"file_path": "/a", "content": "x\ny"}), "/a\n\nx\ny"),
            ("Edit", json!({"file_path": "/a", "old_string": "x", "new_string": "y\nz"}), "/a\n\n- x\n+ y\n+ z"),
            ("WebFetch", json!({"url": "http://x/", "prompt": "p"}), "http://x/"),
            (
                "AskUserQuestion",
                json!({"questions": [{"question": "Which?", "options": [{"label": "A", "description": "first"}, {"label": "B"}]}]}),
                "Which?\n1. A: first\n2. B",
            ),
            ("Bash", json!({"x": 1}), "{\n  \"x\": 1\n}"),
            ("mcp__x__y", Value::Null, ""),
        ] {
            assert_eq!(preview(tool, &input), want, "{tool} {input}");
        }
    }
}
