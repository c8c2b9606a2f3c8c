//! Who made a prompt, as the transcript tells it. A hook is told the prompt alone, and the client makes prompts by itself:
//! when their time has come, for other sessions, for its own notices.

use std::io::{Read as _, Seek as _, SeekFrom};

use serde::Deserialize;
use serde_json::Value;

use super::Transcripts;

/// Read of a transcript, from where a prompt was submitted.
const MOST_READ: u64 = 4 << 20;

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
    message: PromptMessage,
}

#[derive(Deserialize)]
struct PromptMessage {
    content: Value,
}

impl PromptLine {
    fn origin(&self) -> PromptOrigin {
        match self.turn_origin.as_deref().or(self.prompt_source.as_deref()) {
            Some("human" | "typed" | "queued") => PromptOrigin::Typed,
            Some("sdk") => PromptOrigin::Program,
            Some(_) => PromptOrigin::Client,
            None => PromptOrigin::Untold,
        }
    }

    fn is_about(&self, prompt: &str) -> bool {
        let command = prompt.split_whitespace().next().filter(|word| word.starts_with('/'));
        let is_it = |text: &str| {
            text.trim() == prompt
                || command.is_some_and(|command| text.contains(&format!("<command-name>{command}</command-name>")))
        };
        match &self.message.content {
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

    /// Who made this prompt, by what was written from this place on; none while nothing about it is there.
    pub(in crate::agents::claude) fn origin_of(
        &self,
        conversation: &str,
        from: u64,
        prompt: &str,
    ) -> Option<PromptOrigin> {
        let mut file = self.open(conversation)?;
        file.seek(SeekFrom::Start(from)).ok()?;
        let mut text = vec![];
        file.take(MOST_READ).read_to_end(&mut text).ok()?;
        let lines =
            text.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice::<PromptLine>(line).ok());
        let about = lines.filter(|line| line.kind == "user" && line.is_about(prompt.trim()));
        about.map(|line| line.origin()).next()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_found_behind_its_place_with_who_made_it() {
        let home = tempfile::tempdir().unwrap();
        let project = home.path().join("projects/-p");
        std::fs::create_dir_all(&project).unwrap();
        let line = |text: &str, more: &str| {
            format!(r#"{{"type":"user","message":{{"content":{}}}{more}}}"#, Value::from(text)) + "\n"
        };
        let before = line("go on", r#","turnOrigin":"human""#);
        let after = [
            line("go on", r#","turnOrigin":"scheduled","promptSource":"system""#),
            line("typed", r#","turnOrigin":"human","promptSource":"typed""#),
            line("given", r#","promptSource":"sdk""#),
            line("old", ""),
            line("<command-name>/mine</command-name>", r#","turnOrigin":"human""#),
            "{\"type\":\"user\",\"message\":{\"content\":[{\"text\":\"with a picture\"}]},\"turnOrigin\":\"human\"}\n"
                .into(),
        ];
        std::fs::write(project.join("a-1.jsonl"), format!("{before}{}", after.concat())).unwrap();
        let transcripts = Transcripts::in_folder(home.path());
        assert_eq!(transcripts.length("a-1").unwrap(), (before.len() + after.concat().len()) as u64);
        let from = before.len() as u64;
        for (prompt, origin) in [
            ("go on", Some(PromptOrigin::Client)),
            ("typed\n", Some(PromptOrigin::Typed)),
            ("given", Some(PromptOrigin::Program)),
            ("old", Some(PromptOrigin::Untold)),
            ("/mine x", Some(PromptOrigin::Typed)),
            ("/other x", None),
            ("with a picture", Some(PromptOrigin::Typed)),
            ("not there", None),
        ] {
            assert_eq!(transcripts.origin_of("a-1", from, prompt), origin, "{prompt}");
        }
    }
}
