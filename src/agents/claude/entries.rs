//! What Claude Code tells of a conversation, as entries of the session's stream: its messages while we drive it, and the
//! lines of a transcript, which have the same form.

use portcullis_core::excerpt;
use portcullis_wire::control::{Block, ClientNotice, Message};
use portcullis_wire::stream::EntryKind;

use super::CLIENT;

/// Words of one entry, at most.
const LONGEST_TEXT: usize = 16 << 10;

/// Makes entries of messages, and tells no text twice that came in pieces and then whole.
#[derive(Default)]
pub(super) struct Entries {
    /// The message that comes in pieces, and how many texts of it have begun.
    pieces: Option<(String, u32)>,
    /// The message whose parts come one by one, and how many texts of it have come.
    parts: Option<(String, u32)>,
}

impl Entries {
    /// A `stream_event`: part of what the model is saying.
    pub(super) fn piece(&mut self, message: &Message) -> Option<EntryKind> {
        // What a subagent says comes whole as well.
        if message.parent_tool_use_id.is_some() {
            return None;
        }
        let event = &message.event;
        match event["type"].as_str()? {
            "message_start" => self.pieces = Some((event["message"]["id"].as_str()?.to_owned(), 0)),
            "content_block_start" if event["content_block"]["type"] == "text" => self.pieces.as_mut()?.1 += 1,
            "content_block_delta" => {
                let (text, (id, begun)) = (message.text_delta()?.to_owned(), self.pieces.as_ref()?);
                return Some(EntryKind::Text { message: id.clone(), block: begun.checked_sub(1)?, text, agent: None });
            }
            _ => {}
        }
        None
    }

    /// An `assistant` message: words that have not come in pieces, and calls.
    pub(super) fn said(&mut self, message: &Message) -> Vec<EntryKind> {
        let id = message.message["id"].as_str().unwrap_or_default();
        let is_told = self.pieces.as_ref().is_some_and(|(in_pieces, texts)| in_pieces == id && *texts > 0);
        let mut entries = vec![];
        for block in message.blocks() {
            let agent = message.parent_tool_use_id.clone();
            match block {
                Block::Text(text) if !is_told => entries.extend(self.words(id, text, agent.as_ref())),
                Block::ToolUse { id, name, input } => entries.push(EntryKind::call(id, name, input, agent)),
                Block::Text(_) | Block::ToolResult { .. } => {}
            }
        }
        entries
    }

    fn words(&mut self, id: &str, text: &str, agent: Option<&String>) -> Vec<EntryKind> {
        let block = match &mut self.parts {
            Some((of, texts)) if of == id => {
                *texts += 1;
                *texts - 1
            }
            parts => {
                *parts = Some((id.to_owned(), 1));
                0
            }
        };
        let (mut rest, mut entries) = (text, vec![]);
        while !rest.is_empty() {
            let (start, _) = excerpt(rest, Some(LONGEST_TEXT));
            let (message, text, agent) = (id.to_owned(), start.to_owned(), agent.cloned());
            entries.push(EntryKind::Text { message, block, text, agent });
            rest = &rest[start.len()..];
        }
        entries
    }
}

/// What tools gave back, as a `user` message holds it.
pub(super) fn results(message: &Message) -> Vec<EntryKind> {
    let entry = |block| match block {
        Block::ToolResult { id, is_error, content } => {
            Some(EntryKind::result(id, content, is_error, message.parent_tool_use_id.clone()))
        }
        Block::Text(_) | Block::ToolUse { .. } => None,
    };
    message.blocks().into_iter().filter_map(entry).collect()
}

/// What the client itself tells the person.
pub(super) fn noticed(notice: &ClientNotice) -> EntryKind {
    let text = notice.text();
    let (start, left) = excerpt(&text, Some(LONGEST_TEXT));
    let more = if left > 0 { format!(" [and {left} more bytes]") } else { String::new() };
    EntryKind::Notice { text: format!("{CLIENT}: {start}{more}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_wire::control::{FromClient, read};
    use serde_json::{Value, json};

    fn message(value: &Value) -> Message {
        match read(value.to_string().as_bytes()).unwrap() {
            FromClient::Message(message) => *message,
            other => panic!("{other:?}"),
        }
    }

    fn piece(entries: &mut Entries, event: &Value) -> Option<EntryKind> {
        entries.piece(&message(&json!({"type": "stream_event", "event": event})))
    }

    fn said(entries: &mut Entries, id: &str, block: &Value) -> Vec<EntryKind> {
        entries.said(&message(&json!({"type": "assistant", "message": {"id": id, "content": [block]}})))
    }

    #[test]
    fn what_came_in_pieces_does_not_come_again_and_what_did_not_comes_whole() {
        let mut entries = Entries::default();
        let text = |message: &str, block, text: &str| EntryKind::Text {
            message: message.into(),
            block,
            text: text.into(),
            agent: None,
        };
        assert_eq!(piece(&mut entries, &json!({"type": "message_start", "message": {"id": "m1"}})), None);
        assert_eq!(
            piece(&mut entries, &json!({"type": "content_block_start", "content_block": {"type": "text"}})),
            None
        );
        let delta = |text: &str| json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": text}});
        assert_eq!(piece(&mut entries, &delta("Hel")), Some(text("m1", 0, "Hel")));
        assert_eq!(piece(&mut entries, &delta("lo")), Some(text("m1", 0, "lo")));
        assert_eq!(said(&mut entries, "m1", &json!({"type": "text", "text": "Hello"})), []);
        let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}});
        assert!(matches!(&said(&mut entries, "m1", &call)[..], [EntryKind::Call { call, .. }] if call == "t"));
        assert_eq!(said(&mut entries, "m2", &json!({"type": "text", "text": "a"})), [text("m2", 0, "a")]);
        assert_eq!(said(&mut entries, "m2", &json!({"type": "text", "text": "b"})), [text("m2", 1, "b")]);
        assert_eq!(said(&mut entries, "m3", &json!({"type": "text", "text": "x".repeat(40_000)})).len(), 3);
    }
}
