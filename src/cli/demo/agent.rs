//! The client side of the channel contract, as Claude Code plays it: greeting, events, prompts, verdicts, replies.

use std::collections::VecDeque;
use std::process::Stdio;
use std::time::Duration;

use anyhow::Context as _;
use portcullis_wire::channel::{
    EVENT_METHOD, EventParams, PERMISSION, PermissionRequest, PermissionVerdict, REQUEST_METHOD, TOOL_USE_ID,
    VERDICT_METHOD,
};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::cli::reach::this_program;
use crate::lines::{Line, Lines};

const LONGEST_LINE: usize = 16 << 20;

pub(super) struct Agent {
    channel: Child,
    /// None once it has been closed.
    stdin: Option<ChildStdin>,
    lines: Lines<ChildStdout>,
    next_id: u64,
    /// Came while something else was waited for.
    messages: VecDeque<ChannelMessage>,
    verdicts: VecDeque<(String, bool)>,
}

/// An event, as the model would see it.
pub(super) struct ChannelMessage {
    pub(super) text: String,
    pub(super) sender: String,
    chat: String,
}

impl Agent {
    pub(super) async fn start(label: &str) -> anyhow::Result<Self> {
        let mut command = Command::new(this_program()?);
        command.args(["channel", "--label", label]).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        // Ctrl-C is for us alone: the channel hears of the end from us.
        command.process_group(0);
        // A session of Claude Code in whose terminal we may run is not this one.
        for name in ["CLAUDE_CODE_SESSION_ID", "CLAUDE_PROJECT_DIR", "CLAUDECODE"] {
            command.env_remove(name);
        }
        let mut channel = command.spawn().context("starting portcullis channel")?;
        let stdin = channel.stdin.take();
        let stdout = channel.stdout.take().context("the channel has no output")?;
        let lines = Lines::new(stdout, LONGEST_LINE);
        let mut agent =
            Self { channel, stdin, lines, next_id: 0, messages: VecDeque::new(), verdicts: VecDeque::new() };
        agent.greet().await?;
        Ok(agent)
    }

    /// Claude Code asks for the newer revision first; a channel must know nothing of it.
    async fn greet(&mut self) -> anyhow::Result<()> {
        let client = json!({"name": "portcullis-demo", "version": env!("CARGO_PKG_VERSION")});
        let probe = self.request("server/discover", json!({})).await?;
        anyhow::ensure!(probe.get("error").is_some(), "the channel answered server/discover: {probe}");
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
        let server = self.request("initialize", hello).await?;
        let relays = server["result"]["capabilities"]["experimental"].get(PERMISSION).is_some();
        anyhow::ensure!(relays, "the channel does not relay prompts: {server}");
        self.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await
    }

    pub(super) async fn message(&mut self) -> anyhow::Result<ChannelMessage> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Ok(message);
            }
            self.read().await?;
        }
    }

    pub(super) async fn ask(&mut self, request: PermissionRequest) -> anyhow::Result<()> {
        self.send(&json!({"jsonrpc": "2.0", "method": REQUEST_METHOD, "params": request})).await
    }

    /// Whether it was allowed. Verdicts on anything else are dropped, as Claude Code does.
    pub(super) async fn verdict(&mut self, id: &str) -> anyhow::Result<bool> {
        loop {
            while let Some((about, allowed)) = self.verdicts.pop_front() {
                if about == id {
                    return Ok(allowed);
                }
            }
            self.read().await?;
        }
    }

    /// Calls the tool as the model would, and answers what the tool said.
    pub(super) async fn reply(&mut self, to: &ChannelMessage, text: &str) -> anyhow::Result<String> {
        let arguments = json!({"chat_id": to.chat, "text": text});
        let meta = json!({TOOL_USE_ID: format!("toolu_demo_{}", self.next_id)});
        let params = json!({"name": "reply", "arguments": arguments, "_meta": meta});
        let answer = self.request("tools/call", params).await?;
        let said = answer["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        anyhow::ensure!(!said.is_empty() && answer["result"]["isError"] != true, "the reply was refused: {said}");
        Ok(said)
    }

    /// Closes its input, which is how a channel learns that its session is over.
    pub(super) async fn end(mut self) {
        drop(self.stdin.take());
        if tokio::time::timeout(Duration::from_secs(5), self.channel.wait()).await.is_err() {
            tracing::warn!("the channel did not end by itself");
        }
    }

    async fn request(&mut self, method: &str, params: Value) -> anyhow::Result<Value> {
        let id = self.next_id;
        self.next_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await?;
        loop {
            if let Some(answer) = self.read().await?.filter(|answer| answer["id"] == id) {
                return Ok(answer);
            }
        }
    }

    async fn send(&mut self, message: &Value) -> anyhow::Result<()> {
        let stdin = self.stdin.as_mut().context("the channel is closed")?;
        stdin.write_all(format!("{message}\n").as_bytes()).await.context("writing to the channel")?;
        stdin.flush().await.context("writing to the channel")
    }

    /// Reads one line and sorts it in; an answer to a request is handed back.
    async fn read(&mut self) -> anyhow::Result<Option<Value>> {
        let line = match self.lines.next().await.context("reading from the channel")? {
            Line::Whole(line) => line,
            Line::TooLong => return Ok(None),
            Line::End => anyhow::bail!("the channel has ended"),
        };
        let mut message: Value = serde_json::from_slice(&line).context("reading a line of the channel")?;
        let params = message["params"].take();
        match message["method"].as_str() {
            Some(EVENT_METHOD) => {
                let EventParams { content, meta } = serde_json::from_value(params)?;
                let meta = |key: &str| meta.get(key).map(ToString::to_string).unwrap_or_default();
                let message =
                    ChannelMessage { text: content.into_owned(), sender: meta("sender"), chat: meta("chat_id") };
                self.messages.push_back(message);
            }
            Some(VERDICT_METHOD) => {
                let PermissionVerdict { request_id, behavior } = serde_json::from_value(params)?;
                self.verdicts.push_back((request_id.into_owned(), behavior == "allow"));
            }
            Some(_) => {}
            None => return Ok(Some(message)),
        }
        Ok(None)
    }
}
