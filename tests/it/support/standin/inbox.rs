//! What a channel server wrote, sorted as Claude Code would take it.

use crate::support::child::Input;
use crate::support::seen::Seen;
use serde_json::{Map, Value, json};

#[derive(Clone)]
pub(crate) struct Inbox {
    pub(crate) responses: Seen<Value>,
    pub(crate) events: Seen<ChannelEvent>,
    pub(crate) verdicts: Seen<Verdict>,
    /// Whatever is none of these: other messages, answers to nobody, and lines that are no JSON, as strings.
    pub(crate) others: Seen<Value>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ChannelEvent {
    pub(crate) content: String,
    /// As the client shows it: keys that are no identifiers are dropped without a word.
    pub(crate) meta: Map<String, Value>,
    pub(crate) raw: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Verdict {
    pub(crate) request_id: String,
    pub(crate) behavior: String,
}

impl ChannelEvent {
    /// An attribute of the tag as the model would see it, empty when there is none.
    pub(crate) fn meta(&self, key: &str) -> &str {
        self.meta.get(key).and_then(Value::as_str).unwrap_or_default()
    }
}

impl Inbox {
    pub(crate) fn new() -> Self {
        Self { responses: Seen::new(), events: Seen::new(), verdicts: Seen::new(), others: Seen::new() }
    }

    pub(crate) fn sort(&self, line: &[u8], input: &Input, root: &str) {
        let Ok(message) = serde_json::from_slice::<Value>(line) else {
            self.others.push(Value::from(String::from_utf8_lossy(line).into_owned()));
            return;
        };
        let method = message["method"].as_str();
        if method.is_none() && !message["id"].is_null() {
            self.responses.push(message);
        } else if let Some(event) = channel_event(&message) {
            self.events.push(event);
        } else if let Some(verdict) = verdict(&message) {
            self.verdicts.push(verdict);
        } else {
            // What the real client answers by itself; a server that asks must not be left waiting.
            let answer = match method {
                Some("ping") => Some(json!({})),
                Some("roots/list") => Some(json!({"roots": [{"uri": root, "name": "project"}]})),
                _ => None,
            };
            if let Some(result) = answer {
                let answer = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
                input.write(format!("{answer}\n").into_bytes());
            }
            self.others.push(message);
        }
    }

    pub(crate) fn end(&self) {
        self.responses.end();
        self.events.end();
        self.verdicts.end();
        self.others.end();
    }
}

/// `None` also for one that breaks the contract: then it is seen among the others, and missed as an event.
fn channel_event(message: &Value) -> Option<ChannelEvent> {
    if message["method"] != "notifications/claude/channel" {
        return None;
    }
    let content = message["params"]["content"].as_str()?.to_owned();
    let mut meta = match message["params"].get("meta") {
        Some(meta) => meta.as_object()?.clone(),
        None => Map::new(),
    };
    if !meta.values().all(Value::is_string) {
        return None;
    }
    meta.retain(|key, _| is_identifier(key));
    Some(ChannelEvent { content, meta, raw: message.clone() })
}

fn verdict(message: &Value) -> Option<Verdict> {
    if message["method"] != "notifications/claude/channel/permission" {
        return None;
    }
    let request_id = message["params"]["request_id"].as_str()?.to_owned();
    let behavior = message["params"]["behavior"].as_str()?.to_owned();
    matches!(&*behavior, "allow" | "deny").then_some(Verdict { request_id, behavior })
}

fn is_identifier(key: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    key.bytes().all(plain) && key.bytes().next().is_some_and(|first| !first.is_ascii_digit())
}
