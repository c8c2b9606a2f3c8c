//! Answers of servers that are no JSON as it is written down: letters that are cut in two are mended, and of the rest it is
//! found out who waits for it.

use std::borrow::Cow;

use memchr::memmem;
use rmcp::model::RequestId;
use serde::de::IgnoredAny;

/// The text with U+FFFD for each letter that is none: bytes that are no UTF-8, and one half of a pair (`\ud83d`), which
/// servers in JavaScript write where they have cut a text inside of an emoji. None where there is nothing to mend.
pub(super) fn with_whole_letters(bytes: &[u8]) -> Option<Vec<u8>> {
    let text = String::from_utf8_lossy(bytes);
    let has_halves = || [b"\\ud", b"\\uD"].iter().any(|half| memmem::find(bytes, *half).is_some());
    if matches!(text, Cow::Borrowed(_)) && !has_halves() {
        return None;
    }
    let mut text = text.into_owned().into_bytes();
    let mut at = 0;
    while let Some(found) = memchr::memchr(b'\\', text.get(at..).unwrap_or_default()) {
        at += found;
        at += match (unit(&text, at), unit(&text, at + 6)) {
            (Some(0xd800..0xdc00), Some(0xdc00..0xe000)) => 12,
            (Some(0xd800..0xe000), _) => {
                text[at + 2..at + 6].copy_from_slice(b"fffd");
                6
            }
            (Some(_), _) => 6,
            (None, _) => 2,
        };
    }
    (text != bytes).then_some(text)
}

/// The number of `\u` and four digits, where they stand there.
fn unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    u16::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

/// The id under which somebody waits for an answer that cannot be read: nested too deep, with an error that is none, with
/// `NaN` (as Python writes it) or broken off.
pub(super) fn id_of_answer(bytes: &[u8]) -> Option<RequestId> {
    let (mut id, mut is_answer, mut is_json_rpc) = (None, false, false);
    for (name, value) in fields(bytes)? {
        match name {
            b"\"method\"" => return None,
            b"\"id\"" => id = serde_json::from_slice(value).ok(),
            b"\"result\"" | b"\"error\"" => is_answer = true,
            b"\"jsonrpc\"" => is_json_rpc = value == b"\"2.0\"",
            _ => {}
        }
    }
    let is_meant = || is_json_rpc || serde_json::from_slice::<IgnoredAny>(bytes).is_ok();
    id.filter(|_| is_answer && is_meant())
}

/// The fields of an object and their values, whatever stands in those.
fn fields(bytes: &[u8]) -> Option<impl Iterator<Item = (&[u8], &[u8])>> {
    let mut rest = bytes.trim_ascii().strip_prefix(b"{")?;
    Some(std::iter::from_fn(move || {
        let (name, behind) = rest.split_at(end_of_value(rest));
        let behind = behind.strip_prefix(b":")?;
        let (value, behind) = behind.split_at(end_of_value(behind));
        rest = behind.strip_prefix(b",").unwrap_or_default();
        Some((name.trim_ascii(), value.trim_ascii()))
    }))
}

/// Where a value ends, or the name of one: before the comma, colon or bracket that is not its own, or with the text.
fn end_of_value(bytes: &[u8]) -> usize {
    let (mut depth, mut is_text, mut is_escaped) = (0_usize, false, false);
    for (at, byte) in bytes.iter().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_text => is_escaped = true,
            b'"' => is_text = !is_text,
            _ if is_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' | b',' | b':' if depth == 0 => return at,
            b'}' | b']' => depth -= 1,
            _ => {}
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::Value;

    #[test]
    fn letters_that_are_cut_in_two_are_mended_and_no_others() {
        let mended = |text: &str| with_whole_letters(text.as_bytes()).map(|text| String::from_utf8(text).unwrap());
        assert_eq!(mended(r#"{"a":"cut \ud83d"}"#).as_deref(), Some(r#"{"a":"cut \ufffd"}"#));
        assert_eq!(mended(r#"["\uDE00\ud83d\ud83d\ude00"]"#).as_deref(), Some(r#"["\ufffd\ufffd\ud83d\ude00"]"#));
        for whole in [r#"["\ud83d\ude00"]"#, r#"["\\ud83d"]"#, r#"["\u00e4 \n \\"]"#, "ä", r"\ud8"] {
            assert_eq!(mended(whole), None, "{whole}");
        }
        assert_eq!(with_whole_letters(b"[\"a\xff\"]").unwrap(), "[\"a\u{fffd}\"]".as_bytes());
    }

    #[test]
    fn who_waits_for_an_answer_is_found_in_what_is_no_json() {
        let found = |text: &str| id_of_answer(text.as_bytes());
        for text in [
            r#"{"jsonrpc":"2.0","id":7,"result":{"structuredContent":{"v":NaN}}}"#,
            r#" {"result": {"v": [NaN, "}\""]}, "id": 7, "jsonrpc": "2.0"} "#,
            r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"te"#,
            r#"{"jsonrpc":"2.0","id":7,"error":boom"#,
        ] {
            assert_eq!(found(text), Some(RequestId::Number(7)), "{text}");
        }
        for text in [
            r#"{"id":7,"result":NaN}"#,
            r#"{"jsonrpc":"2.0","id":7,"method":"x","result":NaN"#,
            r#"{"jsonrpc":"2.0","id":7"#,
            r#"{"jsonrpc":"2.0","id":"#,
            "[1, 2",
            "{",
        ] {
            assert_eq!(found(text), None, "{text}");
        }
    }

    fn any_text() -> impl Strategy<Value = String> {
        let words = r#"(\{|\}|\[|\]|"|:|,|"jsonrpc":"2.0"|"id":7|"result":|"error":|NaN|null|\\|\\u|\\ud83d|\\ude00|d8|ä| ){0,24}"#;
        prop_oneof![words, any::<String>()]
    }

    proptest! {
        #[test]
        fn any_text_in_json_is_whole_afterwards(text in any_text()) {
            let quoted = serde_json::to_string(&text).unwrap();
            prop_assert_eq!(with_whole_letters(quoted.as_bytes()), None);
            let raw = format!("\"{}\"", text.replace('"', ""));
            let mended = with_whole_letters(raw.as_bytes()).unwrap_or(raw.clone().into_bytes());
            prop_assert_eq!(with_whole_letters(&mended), None);
            // Whatever is wrong with it then, it is not a letter.
            if let Err(error) = serde_json::from_slice::<Value>(&mended) {
                prop_assert!(!error.to_string().contains("surrogate"), "{}: {}", raw, error);
            }
        }

        #[test]
        fn any_text_has_an_id_or_none(text in any_text()) {
            drop(id_of_answer(text.as_bytes()));
        }
    }
}
