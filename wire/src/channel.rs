//! The channel contract: the notifications Claude Code and a channel server exchange beside plain MCP.

use std::borrow::Cow;
use std::collections::BTreeMap;

use portcullis_core::{Behavior, excerpt, neutralise};
use serde::{Deserialize, Serialize};

use crate::link::EventFrame;

/// The capability that registers a listener for events.
pub const CHANNEL: &str = "claude/channel";
/// The capability that opts in to permission relay.
pub const PERMISSION: &str = "claude/channel/permission";

/// To the client: an event for the model.
pub const EVENT_METHOD: &str = "notifications/claude/channel";
/// From the client: a permission dialog has opened.
pub const REQUEST_METHOD: &str = "notifications/claude/channel/permission_request";
/// To the client: a verdict on it.
pub const VERDICT_METHOD: &str = "notifications/claude/channel/permission";

/// `_meta` key by which the client marks a tool call of the model, as against one of its own hooks.
pub const TOOL_USE_ID: &str = "claudecode/toolUseId";

#[derive(Debug, Serialize, Deserialize)]
pub struct Notification<T> {
    pub jsonrpc: Cow<'static, str>,
    pub method: Cow<'static, str>,
    pub params: T,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct EventParams<'a> {
    pub content: Cow<'a, str>,
    pub meta: BTreeMap<Cow<'a, str>, Cow<'a, str>>,
}

/// Lengths are not checked here: the door that reads it bounds the line.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct PermissionRequest {
    pub request_id: String,
    pub tool_name: String,
    #[serde(default)]
    pub description: String,
    /// A rendering by the client, to be shown as it is.
    #[serde(default)]
    pub input_preview: String,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
pub struct PermissionVerdict<'a> {
    pub request_id: Cow<'a, str>,
    pub behavior: Cow<'a, str>,
}

/// One line that puts an event before the model: its text as sent, and who and where from as attributes.
pub fn event_line(frame: &EventFrame<'_>) -> serde_json::Result<Vec<u8>> {
    let mut content = neutralise(&frame.text);
    if frame.rest > 0 {
        let note = format!(
            "\n[portcullis: {} more bytes were left off; the tool `inbox` with event_id \"{}\" shows the whole event]",
            frame.rest, frame.id
        );
        content.to_mut().push_str(&note);
    }
    let mut meta: BTreeMap<Cow<'_, str>, Cow<'_, str>> = frame
        .attributes
        .iter()
        .filter(|(key, _)| is_identifier(key))
        .map(|(key, value)| (Cow::Borrowed(key.as_ref()), Cow::Borrowed(value.as_ref())))
        .collect();
    meta.insert("event_id".into(), frame.id.as_ref().into());
    meta.insert("chat_id".into(), frame.chat.as_ref().into());
    meta.insert("via".into(), frame.via.as_ref().into());
    meta.insert("sender".into(), frame.sender.as_ref().into());
    if !frame.also.is_empty() {
        meta.insert("events".into(), (frame.also.len() + 1).to_string().into());
    }
    if frame.redelivered {
        meta.insert("redelivered".into(), "true".into());
    }
    line(EVENT_METHOD, EventParams { content, meta })
}

/// One line that answers a permission dialog.
pub fn verdict_line(request_id: &str, behavior: Behavior) -> serde_json::Result<Vec<u8>> {
    line(VERDICT_METHOD, PermissionVerdict { request_id: request_id.into(), behavior: behavior.name().into() })
}

fn line<T: Serialize>(method: &'static str, params: T) -> serde_json::Result<Vec<u8>> {
    let mut bytes = serde_json::to_vec(&Notification { jsonrpc: "2.0".into(), method: method.into(), params })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// The client drops other keys without a word.
pub(crate) fn is_identifier(key: &str) -> bool {
    let starts_well = key.starts_with(|letter: char| letter.is_ascii_alphabetic() || letter == '_');
    starts_well && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// The first words of a text, for a list.
pub fn first_line(text: &str) -> &str {
    excerpt(text.lines().next().unwrap_or_default(), Some(120)).0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(text: &str) -> EventFrame<'_> {
        EventFrame {
            id: "e1".into(),
            via: "http".into(),
            sender: "dev".into(),
            chat: "1".into(),
            attributes: vec![("path".into(), "/".into()), ("bad-key".into(), "x".into())],
            text: text.into(),
            rest: 0,
            redelivered: false,
            also: vec![],
        }
    }

    #[test]
    fn an_event_is_one_line_with_its_text_as_sent() {
        let line = String::from_utf8(event_line(&frame("a\n\"b\"")).unwrap()).unwrap();
        assert_eq!(
            line,
            concat!(
                r#"{"jsonrpc":"2.0","method":"notifications/claude/channel","params":{"content":"a\n\"b\"","meta":{"#,
                r#""chat_id":"1","event_id":"e1","path":"/","sender":"dev","via":"http"}}}"#,
                "\n"
            )
        );
    }

    #[test]
    fn an_event_cannot_close_its_own_tag() {
        let line = String::from_utf8(event_line(&frame("</channel>")).unwrap()).unwrap();
        assert!(line.contains("&lt;/channel>") && !line.contains("</channel"));
    }

    #[test]
    fn what_was_left_off_is_said() {
        let line = String::from_utf8(event_line(&EventFrame { rest: 7, ..frame("abc") }).unwrap()).unwrap();
        assert!(line.contains("7 more bytes") && line.contains("inbox"), "{line}");
    }
}
