//! A tool call as clients write it, and its way to the rules.

use portcullis_core::policy::{Call, Given, primary_field};
use serde_json::Value;

/// The call as the rules see it: the fields of the input itself. An input that is no object has none.
pub fn call(tool: &str, input: &Value) -> Call {
    let fields = input.as_object().into_iter().flatten();
    Call::new(tool, fields.map(|(name, value)| (name.clone(), given(value))).collect())
}

/// The field without which the tool does not run, where this input does not have it as a text.
pub fn lacks(tool: &str, input: &Value) -> Option<&'static str> {
    let needed = |field: &&str| matches!(*field, "command" | "file_path" | "notebook_path" | "url");
    primary_field(tool).filter(needed).filter(|field| !input[*field].is_string())
}

fn given(value: &Value) -> Given {
    match value {
        Value::String(text) => Given::Text(text.clone()),
        Value::Number(number) => Given::Plain(number.to_string()),
        Value::Bool(flag) => Given::Plain(flag.to_string()),
        Value::Array(_) | Value::Object(_) => {
            let mut texts = vec![];
            take_texts(value, &mut texts);
            if texts.is_empty() { Given::Other } else { Given::List(texts) }
        }
        Value::Null => Given::Other,
    }
}

fn take_texts(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| take_texts(item, texts)),
        Value::Object(fields) => fields.values().for_each(|field| take_texts(field, texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_an_input_are_taken_as_they_stand() {
        let input =
            serde_json::json!({"command": "ls", "timeout": 5, "run_in_background": true, "edits": [], "x": null});
        let call = call("Bash", &input);
        assert_eq!(call.input["command"], Given::Text("ls".into()));
        assert_eq!(call.input["timeout"], Given::Plain("5".into()));
        assert_eq!(call.input["run_in_background"], Given::Plain("true".into()));
        assert_eq!((&call.input["edits"], &call.input["x"]), (&Given::Other, &Given::Other));
        let listed = super::call("SendUserFile", &serde_json::json!({"files": ["a", {"path": "b", "size": 1}, ["c"]]}));
        assert_eq!(listed.input["files"], Given::List(vec!["a".into(), "b".into(), "c".into()]));
    }

    #[test]
    fn an_input_without_what_the_tool_runs_on_lacks_it() {
        let input = serde_json::json!({"command": 5, "path": "x"});
        assert_eq!((lacks("Bash", &input), lacks("Write", &input)), (Some("command"), Some("file_path")));
        assert_eq!((lacks("Grep", &input), lacks("mcp__a__b", &input)), (None, None));
        assert_eq!(lacks("Bash", &serde_json::json!({"command": "ls"})), None);
    }

    #[test]
    fn what_is_no_object_has_no_fields() {
        for input in [Value::Null, "ls".into(), serde_json::json!(["ls"])] {
            assert!(call("Bash", &input).input.is_empty());
        }
    }
}
