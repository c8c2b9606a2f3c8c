//! Messages of servers that rmcp would refuse although they are meant well, and those of which it would lose a part.

use rmcp::model::{
    CustomResult, ErrorData, JsonRpcResponse, JsonRpcVersion2_0, Prompt, RequestId, Resource, ResourceTemplate,
    ServerJsonRpcMessage, ServerResult, Tool,
};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::unreadable;

/// A message, as rmcp can read it; none where it is no message at all.
pub(super) fn message(bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    let as_it_is = |bytes: &[u8]| match mended(bytes) {
        Some(value) => serde_json::from_value(value).ok(),
        None => serde_json::from_slice(bytes).ok(),
    };
    if let Some(answer) = tool_result(bytes) {
        return Some(answer);
    }
    as_it_is(bytes).or_else(|| as_it_is(&unreadable::with_whole_letters(bytes)?)).or_else(|| unreadable_answer(bytes))
}

/// The answer to a call of a tool. rmcp would try its result as each that it knows, and it is passed on as it came.
fn tool_result(bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct ToolAnswer {
        jsonrpc: JsonRpcVersion2_0,
        id: RequestId,
        result: Map<String, Value>,
    }
    memchr::memmem::find(bytes, b"\"content\"").filter(|_| bytes.len() <= LARGEST_PASSED)?;
    let ToolAnswer { jsonrpc, id, result } = serde_json::from_slice(bytes).ok()?;
    let is_complete = result.get("resultType").is_none_or(|kind| kind == "complete");
    let others = PASSED_ON.iter().filter(|key| **key != "content");
    if !is_complete || !result.contains_key("content") || others.into_iter().any(|key| result.contains_key(*key)) {
        return None;
    }
    let result = ServerResult::CustomResult(CustomResult::new(Value::Object(result)));
    Some(ServerJsonRpcMessage::Response(JsonRpcResponse { jsonrpc, id, result }))
}

/// The same of a text that is mended: once more it would carry itself twice.
pub(super) fn read(bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    serde_json::from_slice(bytes).ok().or_else(|| unreadable_answer(bytes))
}

/// What that error says.
pub(crate) const UNREADABLE: &str = "the server's answer cannot be read";

/// An error in the place of an answer that cannot be read: whoever asked would wait for it in vain.
fn unreadable_answer(bytes: &[u8]) -> Option<ServerJsonRpcMessage> {
    let why = ErrorData::internal_error(UNREADABLE, None);
    Some(ServerJsonRpcMessage::error(why, Some(unreadable::id_of_answer(bytes)?)))
}

/// The same for a text that someone else will parse.
pub(super) fn text(data: String) -> String {
    let data = match unreadable::with_whole_letters(data.as_bytes()).map(String::from_utf8) {
        Some(Ok(whole)) => whole,
        _ => data,
    };
    if let Some(value) = mended(data.as_bytes()) {
        return value.to_string();
    }
    // Looked at first: what is no answer need not be read here and once more by whoever parses it.
    let Some(error) = unreadable_answer(data.as_bytes()) else { return data };
    if serde_json::from_str::<ServerJsonRpcMessage>(&data).is_ok() {
        return data;
    }
    serde_json::to_string(&error).unwrap_or(data)
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
    value.get_mut("result").filter(is_passed_on).is_some_and(|result| {
        without_nonsense(result);
        carry_itself(result)
    })
}

/// A thing in a list that is none of its kind would have rmcp refuse all of the list.
fn without_nonsense(result: &mut Value) {
    type IsOne = fn(&Value) -> bool;
    fn is<T: DeserializeOwned>(item: &Value) -> bool {
        T::deserialize(item).is_ok()
    }
    let kinds: [(&str, IsOne); 4] = [
        ("tools", is::<Tool>),
        ("resources", is::<Resource>),
        ("resourceTemplates", is::<ResourceTemplate>),
        ("prompts", is::<Prompt>),
    ];
    for (key, is_one) in kinds {
        let Some(items) = result.get_mut(key).and_then(Value::as_array_mut) else { continue };
        let before = items.len();
        items.retain(is_one);
        if items.len() < before {
            tracing::warn!("of the {key} that a server lists {} are none and are left out", before - items.len());
        }
    }
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
        let with =
            |key: &str| json!({key: [{"type": "text", "text": "a", "acme": 1}], "acme": {"b": 2}, "_meta": {"c": 3}});
        let prompt = json!({"messages": [{"role": "user", "content": {"type": "text", "text": "a"}}], "acme": 1});
        for (result, is_tools) in [(with("content"), true), (prompt, false), (with("contents"), false)] {
            let bytes = json!({"jsonrpc": "2.0", "id": 1, "result": result}).to_string().into_bytes();
            let Some(ServerJsonRpcMessage::Response(response)) = message(&bytes) else { panic!("it is an answer") };
            let is_as_it_is = matches!(&response.result, ServerResult::CustomResult(custom) if custom.0 == result);
            assert_eq!(is_as_it_is, is_tools, "{result}");
            assert_eq!(as_it_came(serde_json::to_value(response.result).unwrap()), result);
        }
        assert_eq!(as_it_came(json!({"other": 1})), json!({"other": 1}));
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_an_error_for_whoever_asked() {
        let deep = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}{}}}"#, "[".repeat(2000), "]".repeat(2000));
        let not_a_number = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[],"structuredContent":{"v":NaN}}}"#;
        let of_wrong_kind = r#"{"id":7,"error":"boom"}"#;
        let broken_off = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te"#;
        for data in [deep.as_str(), not_a_number, of_wrong_kind, broken_off] {
            for data in [data.to_owned(), text(data.to_owned())] {
                let Some(ServerJsonRpcMessage::Error(error)) = message(data.as_bytes()) else { panic!("{data}") };
                assert_eq!(error.id, Some(RequestId::Number(7)));
            }
        }
        for text in [r#"{"id":7,"method":"x","result":1}"#, r#"{"id":7}"#, r#"{"id":null,"error":"boom"}"#, "[1]"] {
            assert!(message(text.as_bytes()).is_none(), "{text}");
        }
    }

    #[test]
    fn an_answer_with_a_letter_that_was_cut_in_two_is_passed_on() {
        let bytes = br#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"cut \ud83d"}],"acme":1}}"#;
        let as_text = text(String::from_utf8(bytes.to_vec()).unwrap());
        for read in [message(bytes), read(as_text.as_bytes())] {
            let Some(ServerJsonRpcMessage::Response(response)) = read else { panic!("{read:?}") };
            let came = as_it_came(serde_json::to_value(response.result).unwrap());
            assert_eq!(came, json!({"content": [{"type": "text", "text": "cut \u{fffd}"}], "acme": 1}));
        }
    }

    #[test]
    fn a_tool_that_is_none_hides_no_other() {
        let tool = |name: Value| json!({"name": name, "inputSchema": {"type": "object"}});
        let tools = json!([tool(json!(7)), tool(json!("good")), {"name": "no schema"}, "word"]);
        let bytes = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": tools}}).to_string().into_bytes();
        let Some(ServerJsonRpcMessage::Response(response)) = message(&bytes) else { panic!("it is an answer") };
        let ServerResult::ListToolsResult(read) = response.result else { panic!("it is a list") };
        assert_eq!(as_it_came(serde_json::to_value(read).unwrap())["tools"], json!([tool(json!("good"))]));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            drop(message(&bytes));
        }
    }
}
