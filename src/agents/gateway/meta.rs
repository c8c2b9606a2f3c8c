//! What a client says of a call beside its arguments (`_meta`), as far as a person has to know it.

use portcullis_wire::channel::TOOL_USE_ID;
use serde_json::{Map, Value, json};

/// What is longer is no id of a call.
const LONGEST_ID: usize = 64;

/// As much of it is shown.
const LONGEST_META: usize = 1000;

/// What the client says of the call beside its arguments, and the server is told. The ids of the call and of a trace are
/// others each time and mean nothing, as long as they are no more than ids.
pub(super) fn meta_of(params: &Map<String, Value>) -> Map<String, Value> {
    let mut meta = params.get("_meta").and_then(Value::as_object).cloned().unwrap_or_default();
    meta.retain(|name, value| match (name.as_str(), value.as_str()) {
        (TOOL_USE_ID, Some(id)) => !is_id(id),
        ("traceparent", Some(id)) => !is_trace(id),
        _ => true,
    });
    meta
}

fn is_id(text: &str) -> bool {
    let fits = |letter: u8| letter.is_ascii_alphanumeric() || letter == b'_' || letter == b'-';
    (1..=LONGEST_ID).contains(&text.len()) && text.bytes().all(fits)
}

/// As W3C has it: the version, the trace, the step in it, and flags.
fn is_trace(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    let is_hex = |part: &str| part.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    parts.iter().map(|part| part.len()).eq([2, 32, 16, 2]) && parts.into_iter().all(is_hex)
}

/// For whoever is asked: a server may heed it as it does arguments.
pub(super) fn in_words(meta: &Map<String, Value>) -> String {
    if meta.is_empty() {
        return String::new();
    }
    let all = json!(meta).to_string();
    let shown: String = all.chars().take(LONGEST_META).collect();
    let cut = if shown.len() < all.len() { format!("… ({} bytes in all)", all.len()) } else { String::new() };
    format!("; the client sends _meta with it: {shown}{cut}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_a_call_and_of_a_trace_are_left_out_where_they_are_no_more_than_ids() {
        let left = |meta: Value| {
            let params = json!({"_meta": meta});
            Value::Object(meta_of(params.as_object().unwrap()))
        };
        let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        assert_eq!(left(json!({"traceparent": trace, TOOL_USE_ID: "toolu_01Ab-c"})), json!({}));
        for kept in [
            json!({"traceparent": "00-1"}),
            json!({"traceparent": trace.to_uppercase()}),
            json!({"traceparent": format!("{trace}-x")}),
            json!({"traceparent": trace.replace('0', " ")}),
            json!({"traceparent": {"id": trace}}),
            json!({"tracestate": "a=b"}),
            json!({"baggage": "a=b"}),
            json!({TOOL_USE_ID: "do this as well"}),
            json!({TOOL_USE_ID: "x".repeat(65)}),
        ] {
            assert_eq!(left(kept.clone()), kept);
        }
    }
}
