//! What a front that joins later is shown: the end of the conversation, the prompts that are open, and who is to speak.

use std::collections::VecDeque;

use bytes::Bytes;
use portcullis_core::AskId;
use portcullis_wire::front::PromptNews;

use super::Told;

/// As much of the conversation is kept.
const KEPT: usize = 256 << 10;
/// A longer line is not kept: it holds what a tool read, and would push out everything else.
const LONGEST_KEPT: usize = KEPT / 4;

/// Lines as they go to fronts.
pub(super) struct Recent {
    lines: VecDeque<Kept>,
    bytes: usize,
    /// Prompts that nobody has answered, oldest first.
    open: Vec<(AskId, Bytes)>,
    pub(super) is_idle: bool,
}

struct Kept {
    line: Bytes,
    /// A piece of a message: kept until the whole message follows.
    is_piece: bool,
}

impl Recent {
    pub(super) fn new(is_idle: bool) -> Self {
        Self { lines: VecDeque::new(), bytes: 0, open: vec![], is_idle }
    }

    pub(super) fn note(&mut self, told: &Told, line: &Bytes) {
        let mut is_piece = false;
        match told {
            Told::Message { message, .. } => {
                is_piece = message.kind == "stream_event";
                let is_main = message.parent_tool_use_id.is_none();
                match message.kind.as_str() {
                    "assistant" | "result" if is_main => self.forget_pieces(),
                    _ => {}
                }
                // The client says last of all that it is idle, in a message of its own.
                if matches!(message.kind.as_str(), "assistant" | "stream_event" | "user") {
                    self.is_idle = false;
                }
            }
            Told::Notice(_) | Told::Said { .. } | Told::Client { .. } => {}
            Told::Ready(_) | Told::Answered { .. } => return,
            Told::Prompt(PromptNews::Asked { ask, .. }) => return self.open.push((ask.id, line.clone())),
            Told::Prompt(PromptNews::Ruled { ask, .. } | PromptNews::Withdrawn { ask, .. }) => {
                return self.open.retain(|(open, _)| open != ask);
            }
            Told::Idle => {
                self.is_idle = true;
                return;
            }
            Told::Prompt(PromptNews::NotTaken { .. }) => return,
        }
        if line.len() > LONGEST_KEPT {
            return;
        }
        self.bytes += line.len();
        self.lines.push_back(Kept { line: line.clone(), is_piece });
        while self.bytes > KEPT
            && let Some(oldest) = self.lines.pop_front()
        {
            self.bytes -= oldest.line.len();
        }
    }

    fn forget_pieces(&mut self) {
        self.lines.retain(|kept| !kept.is_piece);
        self.bytes = self.lines.iter().map(|kept| kept.line.len()).sum();
    }

    pub(super) fn lines(&self) -> impl Iterator<Item = Bytes> {
        self.lines.iter().map(|kept| kept.line.clone())
    }

    pub(super) fn open(&self) -> impl Iterator<Item = Bytes> {
        self.open.iter().map(|(_, line)| line.clone())
    }

    pub(super) fn is_open(&self, ask: AskId) -> bool {
        self.open.iter().any(|(open, _)| *open == ask)
    }
}

#[cfg(test)]
mod tests {
    use portcullis_wire::control::{FromClient, read};

    use super::super::frames::told_line;
    use super::*;

    fn message(recent: &mut Recent, text: &str) {
        let line = Bytes::copy_from_slice(text.as_bytes());
        let Ok(FromClient::Message(message)) = read(&line) else { panic!("{text}") };
        let told = Told::Message { line, message };
        recent.note(&told, &told_line(&told));
    }

    #[test]
    fn a_newcomer_sees_each_text_once_and_the_beginning_of_an_unfinished_one() {
        let mut recent = Recent::new(true);
        for text in [
            r#"{"type":"stream_event","event":1}"#,
            r#"{"type":"stream_event","event":2}"#,
            r#"{"type":"assistant","message":{"content":"said"}}"#,
            r#"{"type":"stream_event","event":3}"#,
        ] {
            message(&mut recent, text);
        }
        let shown: Vec<Bytes> = recent.lines().collect();
        assert_eq!(
            shown,
            [
                &b"{\"message\":{\"type\":\"assistant\",\"message\":{\"content\":\"said\"}}}\n"[..],
                b"{\"message\":{\"type\":\"stream_event\",\"event\":3}}\n"
            ]
        );
        assert!(!recent.is_idle);
    }

    #[test]
    fn only_the_end_of_a_long_conversation_is_kept() {
        let mut recent = Recent::new(true);
        for number in 0..5000 {
            message(&mut recent, &format!(r#"{{"type":"user","number":{number},"text":"{}"}}"#, "x".repeat(1000)));
        }
        message(&mut recent, &format!(r#"{{"type":"user","text":"{}"}}"#, "x".repeat(KEPT)));
        let lines: Vec<Bytes> = recent.lines().collect();
        let bytes: usize = lines.iter().map(Bytes::len).sum();
        assert!(bytes == recent.bytes && bytes <= KEPT && bytes > KEPT / 2, "{bytes}");
        let last = String::from_utf8_lossy(lines.last().unwrap());
        assert!(last.contains("4999"), "one line that is too long pushes nothing out: {last}");
    }
}
