//! Lines of the client: its first answer, its requests, and everything else that it says.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use portcullis_wire::control::{FromClient, Request, error_line, pending_permissions, read, success_line};
use serde_json::{Map, Value, json};

use super::{Driver, TaskMessage, Told, prompts};
use crate::agents::claude::control::mcp;
use crate::agents::claude::control::requests::NoAnswer;
use crate::agents::claude::process::SERVER;

/// How long the client may take to answer the first request: it loads a great deal.
const INITIALIZE: Duration = Duration::from_secs(60);

impl Driver {
    /// Says who we are and what we want to hear of. Said again, it finds the prompts that are open.
    pub(super) fn initialize(&self) {
        let mut fields = Map::new();
        fields.insert("hooks".into(), prompts::wanted_hooks());
        let servers: Vec<&str> =
            std::iter::once(SERVER).chain(self.channels.names()).chain(self.editor.name()).collect();
        fields.insert("sdkMcpServers".into(), json!(servers));
        if let Some(owners) = self.tools.briefing().left_out() {
            fields.insert("appendSystemPrompt".into(), owners.into());
        }
        let asking = self.control.request("initialize", fields, INITIALIZE);
        let messages = self.task_messages.clone();
        tokio::spawn(async move { messages.send(TaskMessage::Initialized(asking.await)).await });
    }

    pub(super) fn initialized(&mut self, answer: Result<Value, NoAnswer>) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) if self.is_ready => return tracing::warn!(%error, "asking Claude Code for its open prompts"),
            Err(error) => {
                self.problem = Some(format!("Claude Code could not be initialized: {error}"));
                self.ends_now = true;
                return;
            }
        };
        if answer.get("hook_on_failure_supported") != Some(&Value::Bool(true)) {
            let version = answer.get("claude_code_version").and_then(Value::as_str).unwrap_or("this version");
            self.notice(format!("Claude Code {version} lets a call through when a hook fails; a newer one does not"));
        }
        for (request, call) in pending_permissions(&answer) {
            if !self.pending.contains_key(&request) {
                self.asked(request, call);
            }
        }
        if !std::mem::replace(&mut self.is_ready, true) {
            self.tell(Told::Ready(Box::new(answer)));
        }
        for (words, line) in std::mem::take(&mut self.waiting) {
            self.control.say(line);
            self.said(words);
        }
    }

    /// Reads one line. Nothing in it makes us wait.
    pub(super) fn hear(&mut self, line: Bytes) {
        match read(&line) {
            Ok(FromClient::Message(message)) => self.message(line, message),
            Ok(FromClient::Request { id, request }) => self.requested(id, request),
            Ok(FromClient::Response { id, answer }) => self.control.answered(&id, answer),
            Ok(FromClient::Cancel { id }) => self.cancelled(&id),
            Ok(FromClient::Noise) => {}
            Err(error) => {
                tracing::warn!(%error, "a line of Claude Code could not be read");
                self.initialize();
            }
        }
    }

    fn requested(&mut self, id: String, request: Request) {
        match request {
            Request::CanUseTool(call) => self.asked(id, *call),
            Request::Hook(hook) => self.hook(id, &hook),
            Request::Mcp(mcp) => {
                let (control, tools, channels) = (self.control.clone(), self.tools.clone(), self.channels.clone());
                let (gatekeeper, editor) = (Arc::clone(&self.gatekeeper), self.editor.clone());
                let (cancelled, messages) = (self.begin_request(&id), self.task_messages.clone());
                tokio::spawn(async move {
                    let (server, message) = (mcp.server_name.as_str(), &mcp.message);
                    let of_channel = channels.answer(server, message).await;
                    let answered = match of_channel.or(editor.answer(server, message, &cancelled).await) {
                        Some(answer) => Ok(answer),
                        None => mcp::answer(&tools, &gatekeeper, server, message).await,
                    };
                    match answered {
                        Ok(answer) => control.say(success_line(&id, &json!({"mcp_response": answer}))),
                        Err(error) => control.say(error_line(&id, &error)),
                    }
                    messages.send(TaskMessage::Answered { request: id, ends_turn: false }).await
                });
            }
            // The client waits for someone who can show it, and goes on without.
            Request::Dialog => {}
            Request::Unknown(subtype) => {
                self.control.say(error_line(&id, &format!("Unsupported control request subtype: {subtype}")));
            }
            Request::Unreadable(error) => {
                self.control.say(error_line(&id, &format!("the request does not fit: {error}")));
            }
        }
    }
}
