//! Messages of servers that rmcp would refuse although they are meant well.

use rmcp::model::ServerJsonRpcMessage;
use serde_json::Value;

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

/// A message that had to be changed. `capabilities.experimental` holds an object for each name by the specification, and
/// documented servers put `true` or `false` there, which makes rmcp refuse the whole answer.
fn mended(bytes: &[u8]) -> Option<Value> {
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

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(message(&bytes));
        }
    }
}
