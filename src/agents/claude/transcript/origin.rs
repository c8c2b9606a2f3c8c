//! Who made a prompt, as the transcript tells it. A hook is told the prompt alone, and the client makes prompts by itself:
//! when their time has come, for other sessions, for its own notices.

use std::io::{Read as _, Seek as _, SeekFrom};

use serde::Deserialize;
use serde_json::Value;

use super::Transcripts;
use super::lines::moment;

/// Read of a transcript, and how much of that from before a prompt was submitted: what a turn takes in while it runs may be
/// written first.
const MOST_READ: u64 = 4 << 20;
const READ_BEFORE: u64 = 256 << 10;

/// A prompt to look for.
#[derive(Clone, Debug)]
pub(in crate::agents::claude) struct SubmittedPrompt {
    pub(in crate::agents::claude) conversation: String,
    pub(in crate::agents::claude) text: String,
    /// Where the transcript ended when it was submitted.
    pub(in crate::agents::claude) from: u64,
    /// In milliseconds since 1970: what was said earlier is another one.
    pub(in crate::agents::claude) after: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::agents::claude) enum PromptOrigin {
    /// Somebody typed it.
    Typed,
    /// It came with the command line, or from a program that drives the client.
    Program,
    /// The client made it.
    Client,
    /// The client is too old to say.
    Untold,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptLine {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    turn_origin: Option<String>,
    #[serde(default)]
    prompt_source: Option<String>,
    #[serde(default)]
    timestamp: Option<String>,
    #[serde(default)]
    message: Option<PromptMessage>,
    #[serde(default)]
    attachment: Option<Attachment>,
}

/// What came while a turn was running, and is part of it.
#[derive(Deserialize)]
struct Attachment {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    prompt: Value,
    #[serde(default)]
    origin: Value,
    #[serde(default)]
    timestamp: Option<String>,
}

#[derive(Deserialize)]
struct PromptMessage {
    content: Value,
}

impl PromptLine {
    fn origin(&self) -> PromptOrigin {
        if let Some(attachment) = &self.attachment {
            return if attachment.origin["kind"] == "human" { PromptOrigin::Typed } else { PromptOrigin::Client };
        }
        match self.turn_origin.as_deref().or(self.prompt_source.as_deref()) {
            Some("human" | "typed" | "queued") => PromptOrigin::Typed,
            Some("sdk") => PromptOrigin::Program,
            Some(_) => PromptOrigin::Client,
            None => PromptOrigin::Untold,
        }
    }

    fn said_at(&self) -> Option<u64> {
        let attached = self.attachment.as_ref().and_then(|attachment| attachment.timestamp.as_deref());
        moment(attached.or(self.timestamp.as_deref())?)
    }

    fn content(&self) -> Option<&Value> {
        match (self.kind.as_str(), &self.attachment) {
            ("user", _) => self.message.as_ref().map(|message| &message.content),
            ("attachment", Some(attachment)) if attachment.kind == "queued_command" => Some(&attachment.prompt),
            _ => None,
        }
    }

    fn is_about(&self, prompt: &str) -> bool {
        let command = prompt.split_whitespace().next().filter(|word| word.starts_with('/'));
        let is_it = |text: &str| {
            text.trim() == prompt
                || command.is_some_and(|command| text.contains(&format!("<command-name>{command}</command-name>")))
        };
        match self.content().unwrap_or(&Value::Null) {
            Value::String(text) => is_it(text),
            Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).any(is_it),
            _ => false,
        }
    }
}

impl Transcripts {
    /// How long the transcript of a conversation is; none where there is none.
    pub(in crate::agents::claude) fn length(&self, conversation: &str) -> Option<u64> {
        Some(self.open(conversation)?.metadata().ok()?.len())
    }

    /// Who made this prompt; none while nothing about it is there.
    pub(in crate::agents::claude) fn origin_of(&self, prompt: &SubmittedPrompt) -> Option<PromptOrigin> {
        let mut file = self.open(&prompt.conversation)?;
        file.seek(SeekFrom::Start(prompt.from.saturating_sub(READ_BEFORE))).ok()?;
        let mut text = vec![];
        file.take(MOST_READ).read_to_end(&mut text).ok()?;
        let lines =
            text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<PromptLine>(line).ok());
        let is_later = |line: &PromptLine| line.said_at().is_some_and(|at| at >= prompt.after);
        let about = lines.filter(|line| line.is_about(prompt.text.trim()) && is_later(line));
        about.map(|line| line.origin()).next_back()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_found_with_who_made_it_if_it_was_said_since() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("projects/-p");
        std::fs::create_dir_all(&project).unwrap();
        let line = |text: &str, second: u32, more: &str| {
            let at = format!(r#""timestamp":"1970-01-01T00:00:{second:02}.000Z""#);
            format!(r#"{{"type":"user","message":{{"content":{}}},{at}{more}}}"#, Value::from(text)) + "\n"
        };
        let absorbed = |text: &str, origin: &str| {
            format!(
                r#"{{"type":"attachment","attachment":{{"type":"queued_command","prompt":"{text}","origin":{{"kind":"{origin}"}},"timestamp":"1970-01-01T00:00:07.000Z"}}}}"#
            ) + "\n"
        };
        let lines = [
            line("go on", 4, r#","turnOrigin":"human""#),
            line("said before", 4, r#","turnOrigin":"human""#),
            line("go on", 6, r#","turnOrigin":"scheduled","promptSource":"system""#),
            line("typed", 6, r#","turnOrigin":"human","promptSource":"typed""#),
            line("given", 6, r#","promptSource":"sdk""#),
            line("old", 6, ""),
            line("<command-name>/mine</command-name>", 6, r#","turnOrigin":"human""#),
            absorbed("while it ran", "human"),
            absorbed("of another", "peer"),
        ]
        .concat();
        std::fs::write(project.join("a-1.jsonl"), &lines).unwrap();
        let transcripts = Transcripts::in_folder(home.path());
        assert_eq!(transcripts.length("a-1").unwrap(), lines.len() as u64);
        for (text, origin) in [
            ("go on", Some(PromptOrigin::Client)),
            ("said before", None),
            ("typed\n", Some(PromptOrigin::Typed)),
            ("given", Some(PromptOrigin::Program)),
            ("old", Some(PromptOrigin::Untold)),
            ("/mine x", Some(PromptOrigin::Typed)),
            ("/other x", None),
            ("while it ran", Some(PromptOrigin::Typed)),
            ("of another", Some(PromptOrigin::Client)),
            ("not there", None),
        ] {
            let (conversation, text) = ("a-1".to_owned(), text.to_owned());
            let prompt = SubmittedPrompt { conversation, text, from: lines.len() as u64, after: 5_000 };
            assert_eq!(transcripts.origin_of(&prompt), origin, "{prompt:?}");
        }
    }
}
