//! Messages of servers that rmcp would refuse although they are meant well, and those of which it would lose a part.

use rmcp::model::ServerJsonRpcMessage;
use serde_json::{Map, Value};

/// A message, as rmcp can read it; none where it is no message at all.
pub(super) fn message(bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    match mended(bytes) {
        Some(value) => serde_json::from_value(value).ok(),
        None => serde_json::from_slice(bytes).ok(),
    }
}

/// The same for a text that someone else will parse.
pub(super) fn text(data: String) -> String {
    mended(data.as_bytes()).map_or(data, |value| value.to_string())
}

/// Under this name in its `_meta` a result carries itself as it came: rmcp drops the fields that it does not know.
pub(crate) const AS_IT_CAME: &str = "portcullis/as-it-came";
/// What is larger is not passed on as it is.
const LARGEST_PASSED: usize = 17 << 20;
/// Of each result that is passed on, one of these.
const PASSED_ON: [&str; 7] = ["content", "tools", "resources", "resourceTemplates", "prompts", "messages", "contents"];

/// Puts a result into its own `_meta`, for whoever writes it after rmcp has read it. False where it has no place for it.
pub(crate) fn carry_itself(result: &mut Value) -> bool {
    let came = result.clone();
    let Some(fields) = result.as_object_mut() else { return false };
    match fields.entry("_meta").or_insert_with(|| Value::Object(Map::new())) {
        Value::Object(meta) => drop(meta.insert(AS_IT_CAME.to_owned(), came)),
        _ => return false,
    }
    true
}

/// Takes it out again.
pub(crate) fn taken_out(meta: &mut Map<String, Value>) -> Option<Value> {
    meta.remove(AS_IT_CAME)
}

/// A result as its server gave it, where rmcp has read it since.
pub(in crate::upstream) fn as_it_came(mut read: Value) -> Value {
    let came = read.pointer_mut("/_meta").and_then(|meta| taken_out(meta.as_object_mut()?));
    came.unwrap_or(read)
}

/// The message with its result in its own `_meta`, where it is one that is passed on.
fn with_itself(value: &mut Value) -> bool {
    let is_passed_on = |result: &&mut Value| PASSED_ON.iter().any(|key| result.get(*key).is_some());
    value.get_mut("result").filter(is_passed_on).is_some_and(carry_itself)
}

/// A message that had to be changed.
fn mended(bytes: &[u8]) -> Option<Value> {
    if let Some(value) = with_objects(bytes) {
        return Some(value);
    }
    memchr::memmem::find(bytes, b"\"result\"").filter(|_| bytes.len() <= LARGEST_PASSED)?;
    let mut value = serde_json::from_slice(bytes).ok()?;
    with_itself(&mut value).then_some(value)
}

/// A message whose objects are some. `capabilities.experimental` holds an object for each name by the specification, and
/// documented servers put `true` or `false` there, which makes rmcp refuse the whole answer.
fn with_objects(bytes: &[u8]) -> Option<Value> {
    memchr::memmem::find(bytes, b"\"experimental\"")?;
    let mut value: Value = serde_json::from_slice(bytes).ok()?;
    let experimental = value.pointer_mut("/result/capabilities/experimental")?;
    let Some(names) = experimental.as_object_mut() else {
        *experimental = Value::Object(serde_json::Map::new());
        return Some(value);
    };
    let before = names.len();
    names.retain(|_, says| says.is_object() || *says == Value::Bool(true));
    let mut is_changed = names.len() < before;
    for says in names.values_mut().filter(|says| !says.is_object()) {
        *says = Value::Object(serde_json::Map::new());
        is_changed = true;
    }
    is_changed.then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use rmcp::model::ServerResult;
    use serde_json::json;

    fn answer(experimental: &Value) -> Vec<u8> {
        json!({"jsonrpc": "2.0", "id": 0, "result": {
            "protocolVersion": "2025-11-25", "capabilities": {"experimental": experimental, "tools": {}},
            "serverInfo": {"name": "x", "version": "1"},
        }})
        .to_string()
        .into_bytes()
    }

    #[test]
    fn experimental_capabilities_that_are_no_objects_do_not_hide_the_server() {
        let odd = json!({"claude/channel": true, "claude/channel/permission": false, "x": {"y": 1}});
        let is_answer = |message: Option<ServerJsonRpcMessage>| {
            let Some(ServerJsonRpcMessage::Response(response)) = message else { return false };
            matches!(response.result, ServerResult::InitializeResult(_))
        };
        assert!(!is_answer(serde_json::from_slice(&answer(&odd)).ok()), "rmcp needs this no longer");
        for experimental in [odd.clone(), json!(false), json!(null)] {
            assert!(is_answer(message(&answer(&experimental))), "{experimental}");
        }
        let mended: Value = serde_json::from_str(&text(String::from_utf8(answer(&odd)).unwrap())).unwrap();
        assert_eq!(mended["result"]["capabilities"]["experimental"], json!({"claude/channel": {}, "x": {"y": 1}}));
    }

    #[test]
    fn what_rmcp_does_not_know_of_a_result_is_kept() {
        let result =
            json!({"content": [{"type": "text", "text": "a", "acme": 1}], "acme": {"b": 2}, "_meta": {"c": 3}});
        let bytes = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string().into_bytes();
        let Some(ServerJsonRpcMessage::Response(response)) = message(&bytes) else { panic!("it is an answer") };
        assert!(matches!(response.result, ServerResult::CallToolResult(_)));
        assert_eq!(as_it_came(serde_json::to_value(response.result).unwrap()), result);
        assert_eq!(as_it_came(json!({"other": 1})), json!({"other": 1}));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(message(&bytes));
        }
    }
}
