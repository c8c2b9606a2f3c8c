//! A hook's call as the text in which it comes. Where the whole of it cannot be read, what can be is read all the same: a
//! call that nobody understands has to be refused, and to be on the record.

use serde::Deserializer as _;
use serde::de::{MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt;

use super::HookEvent;

/// The longest text of a call. The whole input of a tool has to fit.
pub const LONGEST_CALL: usize = 16 << 20;

/// The field that names the hook.
pub(super) const NAME: &str = "hook_event_name";

/// The field that says why not all of a call could be read.
pub(super) const UNREADABLE: &str = "unreadable";

/// The fields of a call, as far as they can be read. `problem` says why the text is not all of it.
///
/// Where not even the name of the hook can be read, and it may be one that decides, the call is taken for that one: it is
/// refused like any other that cannot be read, and is on the record.
pub fn fields_of(text: &[u8], problem: Option<&str>) -> Value {
    let mut unreadable = problem.map(str::to_owned);
    let mut fields = serde_json::from_slice(text).unwrap_or_else(|error| {
        let mut fields = Map::new();
        // It ends where nothing more can be read.
        drop(serde_json::Deserializer::from_slice(text).deserialize_map(ReadableFields(&mut fields)));
        unreadable.get_or_insert_with(|| format!("it cannot be read: {error}"));
        Value::Object(fields)
    });
    let perhaps = if fields[NAME].is_string() { None } else { decides_perhaps(text) };
    if let Some(event) = perhaps {
        if !fields.is_object() {
            fields = Value::Object(Map::new());
        }
        fields[NAME] = event.name().into();
        unreadable.get_or_insert_with(|| "the name of its hook cannot be read".to_owned());
    }
    if let (Value::Object(fields), Some(why)) = (&mut fields, unreadable) {
        fields.insert(UNREADABLE.to_owned(), why.into());
    }
    fields
}

/// The hook that decides and that this text seems to be, where not even its name can be read.
fn decides_perhaps(text: &[u8]) -> Option<HookEvent> {
    let mentions = |event: &HookEvent| {
        let name = event.name().as_bytes();
        text.windows(name.len()).any(|part| part == name)
    };
    [HookEvent::PreToolUse, HookEvent::PermissionRequest].into_iter().find(mentions)
}

/// Collects what can be read. Each value is first passed over, which needs no stack, and then read for itself: one that is
/// nested too deep costs nothing but itself.
struct ReadableFields<'a>(&'a mut Map<String, Value>);

impl<'de> Visitor<'de> for ReadableFields<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("the fields of a hook's call")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            let raw: &RawValue = map.next_value()?;
            if let Ok(value) = serde_json::from_str(raw.get()) {
                self.0.insert(name, value);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_can_be_read_of_a_call_is_read() {
        let whole = r#"{"hook_event_name":"PreToolUse","tool_name":"Bash"}"#;
        assert_eq!(fields_of(whole.as_bytes(), None), json!({"hook_event_name": "PreToolUse", "tool_name": "Bash"}));
        let deep = format!(
            r#"{{"tool_name":"Bash","tool_input":{{"a":{}1{}}},"tool_use_id":"t"}}"#,
            "[".repeat(5000),
            "]".repeat(5000)
        );
        let cut = r#"{"tool_name":"Bash","tool_use_id":"t","tool_input":{"command":"ls"#;
        for (text, why) in [(deep.as_str(), "recursion limit exceeded"), (cut, "EOF while parsing")] {
            let read = fields_of(text.as_bytes(), None);
            assert_eq!((&read["tool_name"], &read["tool_use_id"]), (&json!("Bash"), &json!("t")));
            assert!(read[UNREADABLE].as_str().unwrap().contains(why) && read.get("tool_input").is_none(), "{read}");
        }
        assert_eq!(fields_of(b"null", None), Value::Null);
        assert_eq!(fields_of(b"[1", None).as_object().unwrap().len(), 1);
    }

    #[test]
    fn a_call_whose_hook_cannot_be_told_is_taken_for_one_that_decides() {
        for text in [r#"["PreToolUse""#, r#"["PreToolUse"]"#, r#"{"x":"PreToolUse","hook_event_name":7}"#] {
            let read = fields_of(text.as_bytes(), None);
            assert_eq!(read[NAME], "PreToolUse", "{text}");
            assert!(read[UNREADABLE].is_string(), "{text}");
        }
        let cut = fields_of(br#"{"cwd":"/","hook_event_name":"PermissionRequest","tool_inp"#, Some("it is too long"));
        assert_eq!(cut, json!({"cwd": "/", NAME: "PermissionRequest", UNREADABLE: "it is too long"}));
        // Those that decide nothing, and those that say which they are.
        assert_eq!(fields_of(b"[\"PostToolUse", None).get(NAME), None);
        let other = json!({NAME: "MessageDisplay", "text": "about PreToolUse"});
        assert_eq!(fields_of(other.to_string().as_bytes(), None), other);
    }
}
