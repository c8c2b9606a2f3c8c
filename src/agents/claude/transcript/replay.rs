//! The end of a conversation, for a front that shows it again: messages whole, as the client itself told them.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use portcullis_wire::control::{Block, Message};
use portcullis_wire::envelope::{event_in, words_in};
use portcullis_wire::stream::EntryKind;

use super::Transcripts;
use super::lines::{AboutLine, spoken};

/// As much of a transcript is shown again. Editors have trouble with more.
const REPLAYED: u64 = 4 << 20;

/// A part of a conversation.
#[derive(Debug)]
pub(crate) enum Replayed {
    /// Words before the model, and whose they are; none: the user's.
    Said { by: Option<String>, text: String },
    /// What the agent said or did, or what tools gave back.
    Message(Box<Message>),
}

impl Transcripts {
    /// The end of the conversation with this id, line by line.
    pub(crate) fn replay(&self, conversation: &str) -> Option<impl Iterator<Item = Replayed> + Send + use<>> {
        let mut file = self.open(conversation)?;
        let length = file.metadata().ok()?.len();
        let start = length.saturating_sub(REPLAYED);
        file.seek(SeekFrom::Start(start)).ok()?;
        // What is written from now on is told as it happens.
        let mut lines = BufReader::new(file.take(length - start));
        if start > 0 {
            // The first is the end of a line.
            lines.skip_until(b'\n').ok()?;
        }
        Some(lines.split(b'\n').map_while(Result::ok).flat_map(|line| parts(&line)))
    }

    /// Removes the transcript of the conversation with this id, where it is one that counts.
    pub(crate) fn delete(&self, conversation: &str) -> std::io::Result<()> {
        if self.open(conversation).is_none() {
            return Ok(());
        }
        let folders = std::fs::read_dir(&self.projects)?.filter_map(Result::ok);
        let paths = folders.map(|folder| folder.path().join(format!("{conversation}.jsonl")));
        paths.filter(|path| super::open_own(path).is_some()).try_for_each(std::fs::remove_file)
    }
}

fn parts(line: &[u8]) -> Vec<Replayed> {
    let about: AboutLine = serde_json::from_slice(line).unwrap_or_default();
    let Ok(message) = serde_json::from_slice::<Message>(line) else { return vec![] };
    if about.is_sidechain {
        return vec![];
    }
    match message.kind.as_str() {
        "assistant" if !about.is_meta => vec![Replayed::Message(Box::new(message))],
        "user" => {
            let blocks = message.blocks();
            let has_results = blocks.iter().any(|block| matches!(block, Block::ToolResult { .. }));
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text(text) => said(text, about.is_meta),
                _ => None,
            });
            let said: Vec<Replayed> = texts.collect();
            let results = has_results.then(|| Replayed::Message(Box::new(message)));
            said.into_iter().chain(results).collect()
        }
        _ => vec![],
    }
}

fn said(text: &str, is_meta: bool) -> Option<Replayed> {
    if let Some((_, _, sender)) = event_in(text) {
        let text = words_in(text).unwrap_or_default().trim().to_owned();
        return Some(Replayed::Said { by: Some(sender), text });
    }
    let words = spoken(text).into_iter().find_map(|entry| match entry {
        EntryKind::User { text, .. } => Some(text),
        _ => None,
    })?;
    (!is_meta).then_some(Replayed::Said { by: None, text: words })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn write(home: &std::path::Path, lines: &[Value]) {
        let project = home.join("projects/-api");
        std::fs::create_dir_all(&project).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(project.join("a-1.jsonl"), text).unwrap();
    }

    fn shown(transcripts: &Transcripts) -> Vec<String> {
        let line = |part| match part {
            Replayed::Said { by, text } => format!("{}: {text}", by.unwrap_or_else(|| "user".to_owned())),
            Replayed::Message(message) => format!("{}: {}", message.kind, message.message["content"]),
        };
        transcripts.replay("a-1").unwrap().map(line).collect()
    }

    #[test]
    fn a_conversation_is_told_again_with_who_said_what_and_can_be_deleted() {
        let home = tempfile::tempdir().unwrap();
        let user = |text: &str| json!({"type": "user", "message": {"content": text}});
        let event = "A message.\n<channel source=\"portcullis\" event_id=\"01e\" chat_id=\"a\" sender=\"ci\" fence=\"k7\">\nk7\nmain is red\nk7\n</channel>";
        let mut side = user("a subagent");
        side["isSidechain"] = true.into();
        let mut meta = user("Caveat");
        meta["isMeta"] = true.into();
        let agent = json!({"type": "assistant", "message": {"content": "hi"}});
        let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}});
        write(home.path(), &[user("hello"), agent, side, meta, user(event), result, json!({"type": "summary"})]);
        let transcripts = Transcripts::in_folder(home.path());
        let result = r#"user: [{"type":"tool_result","tool_use_id":"t"}]"#;
        assert_eq!(shown(&transcripts), ["user: hello", "assistant: \"hi\"", "ci: main is red", result]);
        transcripts.delete("a-1").unwrap();
        assert!(transcripts.replay("a-1").is_none());
        transcripts.delete("a-1").unwrap();
    }

    #[test]
    fn only_the_end_of_a_long_conversation_is_told_again() {
        let home = tempfile::tempdir().unwrap();
        let lines: Vec<Value> = (0..600)
            .map(|n| json!({"type": "user", "message": {"content": format!("{n} {}", "x".repeat(9000))}}))
            .collect();
        write(home.path(), &lines);
        let shown = shown(&Transcripts::in_folder(home.path()));
        assert!(shown.len() < 500 && shown.last().unwrap().starts_with("user: 599 "), "{}", shown.len());
    }
}
