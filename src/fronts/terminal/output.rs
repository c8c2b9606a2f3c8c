//! What `run` and `attach` print: the words of the model on standard output, everything about them on standard error.

use std::io::IsTerminal as _;

use portcullis_core::visible;
use portcullis_wire::control::{Block, Message};
use tokio::io::AsyncWriteExt as _;

use crate::agents::claude::control::in_a_line;
use crate::agents::claude::editor::built_in;

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Output {
    /// What the model says, as it says it.
    Text,
    /// The final result.
    Json,
    /// Every message, one a line.
    StreamJson,
}

/// The printer of one session.
pub(crate) struct Printer {
    output: Output,
    is_terminal: bool,
    /// Text was printed as it was said: the whole message that follows says it again.
    streamed: bool,
    /// The last thing printed did not end its line.
    mid_line: bool,
    /// Nobody reads any more.
    is_deaf: bool,
    /// Words that the client wrote itself in the model's place. An error that follows says the same, once is enough.
    unsaid: Option<String>,
}

impl Printer {
    pub(crate) fn new(output: Output) -> Self {
        let is_terminal = std::io::stdout().is_terminal();
        Self { output, is_terminal, streamed: false, mid_line: false, is_deaf: false, unsaid: None }
    }

    /// One message of the client.
    pub(crate) async fn message(&mut self, line: &[u8], message: &Message) {
        match self.output {
            Output::Json => {}
            Output::StreamJson if message.kind == "stream_event" => {}
            Output::StreamJson => self.line(line).await,
            Output::Text => self.text(message).await,
        }
    }

    /// One line of JSON of our own, where such lines are printed.
    pub(crate) async fn ours(&mut self, value: &serde_json::Value) {
        if self.output == Output::StreamJson {
            self.line(value.to_string().as_bytes()).await;
        }
    }

    async fn text(&mut self, message: &Message) {
        if message.parent_tool_use_id.is_some() {
            return;
        }
        let goes_on = matches!(message.kind.as_str(), "assistant" | "user" | "result");
        // An error that the client said in the model's place is told once, as that of the turn.
        if let Some(words) = self.unsaid.take_if(|_| goes_on)
            && !message.problems().contains(&words.as_str())
        {
            self.say(&words).await;
            self.end_line().await;
        }
        if let Some(delta) = message.text_delta() {
            self.streamed = true;
            self.say(delta).await;
        } else if message.kind == "assistant" {
            for block in message.blocks() {
                match block {
                    Block::Text(text) if message.is_synthetic() => self.unsaid = Some(text.to_owned()),
                    Block::Text(text) if !self.streamed => self.say(text).await,
                    Block::ToolUse { name, input, .. } => {
                        // A tool that goes through an editor is known by the one that it stands for.
                        let name = built_in(name).unwrap_or(name);
                        self.note(&format!("● {} {}", visible(name), in_a_line(name, input))).await;
                    }
                    Block::Text(_) | Block::ToolResult { .. } => {}
                }
            }
            self.streamed = false;
            self.end_line().await;
        } else {
            for problem in message.problems() {
                self.note(&format!("error: {}", visible(problem))).await;
            }
        }
    }

    async fn say(&mut self, text: &str) {
        let shown = if self.is_terminal { visible(text) } else { text.to_owned() };
        self.mid_line = !shown.ends_with('\n') && (self.mid_line || !shown.is_empty());
        self.write(shown.as_bytes()).await;
    }

    pub(crate) async fn end_line(&mut self) {
        if std::mem::take(&mut self.mid_line) {
            self.write(b"\n").await;
        }
    }

    async fn line(&mut self, line: &[u8]) {
        self.write(&[line, b"\n"].concat()).await;
    }

    async fn write(&mut self, bytes: &[u8]) {
        if !self.is_deaf {
            self.is_deaf = !write_out(bytes).await;
        }
    }

    /// For the person at the terminal, on a line of its own.
    pub(crate) async fn note(&mut self, text: &str) {
        self.end_line().await;
        self.ask(&format!("{text}\n")).await;
    }

    /// The same, and the cursor stays behind it.
    pub(crate) async fn ask(&mut self, text: &str) {
        let mut stderr = tokio::io::stderr();
        // If standard error is closed there is nobody left to tell.
        drop(stderr.write_all(text.as_bytes()).await);
        drop(stderr.flush().await);
    }
}

pub(crate) async fn print_line(line: &[u8]) {
    write_out(&[line, b"\n"].concat()).await;
}

/// Whether someone reads. Never on the thread that everything else runs on.
async fn write_out(bytes: &[u8]) -> bool {
    let mut stdout = tokio::io::stdout();
    stdout.write_all(bytes).await.is_ok() && stdout.flush().await.is_ok()
}
