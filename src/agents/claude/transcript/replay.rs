//! The end of a conversation, for a front that shows it again: messages whole, as the client itself told them.

use std::io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom};

use portcullis_wire::control::{Block, Message};
use portcullis_wire::envelope::{event_in, words_in};
use portcullis_wire::stream::EntryKind;

use super::Transcripts;
use super::lines::{AboutLine, spoken};
use crate::agents::claude::CLIENT;

/// As much of a session's transcripts is shown again. Editors have trouble with more.
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
    /// The end of a session that went from one conversation to the next, oldest first, line by line.
    pub(crate) fn replay(&self, conversations: &[String]) -> impl Iterator<Item = Replayed> + Send + use<> {
        let (mut left, mut ends) = (REPLAYED, vec![]);
        for conversation in conversations.iter().rev() {
            let Some((length, end)) = self.end_of(conversation, left) else { continue };
            left -= length;
            ends.push(end);
            if left == 0 {
                break;
            }
        }
        ends.into_iter().rev().flatten()
    }

    /// The last lines of a conversation, of so many bytes at most, and of how many.
    fn end_of(&self, conversation: &str, most: u64) -> Option<(u64, impl Iterator<Item = Replayed> + Send + use<>)> {
        let mut file = self.open(conversation)?;
        let length = file.metadata().ok()?.len();
        let start = length.saturating_sub(most);
        file.seek(SeekFrom::Start(start)).ok()?;
        // What is written from now on is told as it happens.
        let mut lines = BufReader::new(file.take(length - start));
        if start > 0 {
            // The first is the end of a line.
            lines.skip_until(b'\n').ok()?;
        }
        Some((length - start, lines.split(b'\n').map_while(Result::ok).flat_map(|line| parts(&line))))
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
        "assistant" if !about.is_for_model() => vec![Replayed::Message(Box::new(message))],
        "user" => {
            let blocks = message.blocks();
            let has_results = blocks.iter().any(|block| matches!(block, Block::ToolResult { .. }));
            let texts = blocks.iter().filter_map(|block| match block {
                Block::Text(text) => said(text, about.is_for_model()),
                _ => None,
            });
            let said: Vec<Replayed> = texts.collect();
            let results = has_results.then(|| Replayed::Message(Box::new(message)));
            said.into_iter().chain(results).collect()
        }
        "system" => {
            let notice = message.client_notice().map(|notice| notice.text());
            notice.map(|text| Replayed::Said { by: Some(CLIENT.to_owned()), text }).into_iter().collect()
        }
        _ => vec![],
    }
}

fn said(text: &str, is_meta: bool) -> Option<Replayed> {
    if let Some((_, _, sender)) = event_in(text) {
        let text = words_in(text).unwrap_or_default().trim().to_owned();
        return Some(Replayed::Said { by: Some(sender), text });
    }
    spoken(text).into_iter().find_map(|entry| match entry {
        EntryKind::User { text, .. } => (!is_meta).then_some(Replayed::Said { by: None, text }),
        EntryKind::Notice { text } => Some(Replayed::Said { by: Some(CLIENT.to_owned()), text }),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn write_as(home: &std::path::Path, conversation: &str, lines: &[Value]) {
        let project = home.join("projects/-api");
        std::fs::create_dir_all(&project).unwrap();
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(project.join(format!("{conversation}.jsonl")), text).unwrap();
    }

    fn shown_of(transcripts: &Transcripts, conversations: &[&str]) -> Vec<String> {
        let conversations: Vec<String> = conversations.iter().map(|id| (*id).to_owned()).collect();
        let line = |part| match part {
            Replayed::Said { by, text } => format!("{}: {text}", by.unwrap_or_else(|| "user".to_owned())),
            Replayed::Message(message) => format!("{}: {}", message.kind, message.message["content"]),
        };
        transcripts.replay(&conversations).map(line).collect()
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
        let mut summary = user("This session is being continued");
        summary["isCompactSummary"] = true.into();
        let blocked = json!({"type": "system", "subtype": "informational", "level": "warning", "content": "blocked"});
        let agent = json!({"type": "assistant", "message": {"content": "hi"}});
        let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t"}]}});
        write_as(
            home.path(),
            "a-1",
            &[user("hello"), agent, side, meta, summary, blocked, user(event), result, json!({"type": "summary"})],
        );
        let transcripts = Transcripts::in_folder(home.path());
        let result = r#"user: [{"type":"tool_result","tool_use_id":"t"}]"#;
        let shown = ["user: hello", "assistant: \"hi\"", "Claude Code: blocked", "ci: main is red", result];
        assert_eq!(shown_of(&transcripts, &["a-1"]), shown);
        transcripts.delete("a-1").unwrap();
        assert!(shown_of(&transcripts, &["a-1"]).is_empty());
        transcripts.delete("a-1").unwrap();
    }

    #[test]
    fn only_the_end_of_a_long_session_is_told_again_in_whole_lines() {
        let home = tempfile::tempdir().unwrap();
        let text = |number: usize| format!("{number:05} {}", "x".repeat(2000));
        let count = usize::try_from(REPLAYED).unwrap() / 2000;
        let lines: Vec<Value> =
            (0..count).map(|number| json!({"type": "user", "message": {"content": text(number)}})).collect();
        // The person has cleared it in the middle: all of it together is too long.
        let (before, after) = lines.split_at(count / 2);
        write_as(home.path(), "a-1", before);
        write_as(home.path(), "a-2", after);
        for conversations in [&["a-1", "a-2"][..], &["a-2"]] {
            let shown = shown_of(&Transcripts::in_folder(home.path()), conversations);
            let bytes: usize = shown.iter().map(String::len).sum();
            assert!(bytes as u64 <= REPLAYED, "{bytes}");
            let first = count - shown.len();
            assert_eq!(first > 0 && first < count / 2, conversations.len() == 2, "{first}");
            for (line, number) in shown.iter().zip(first..) {
                assert_eq!(*line, format!("user: {}", text(number)), "whole, in order and up to the last");
            }
        }
    }
}
