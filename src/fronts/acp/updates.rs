//! Messages of Claude Code as updates for the editor.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, MessageId, SessionUpdate, TextContent, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use portcullis_core::visible;
use portcullis_wire::control::{Block, Message};
use serde_json::{Map, Value};

use super::plan::PlanTasks;
use super::tools;
use super::usage::SessionUsage;
use crate::agents::claude::editor::built_in;
use crate::mint::uuid;

/// Calls that are remembered until they have a result; with more the oldest are forgotten all at once.
const MOST_CALLS: usize = 1024;

/// What was told of one session, so that nothing is told twice or out of order.
pub(super) struct Updates {
    folder: PathBuf,
    /// The message that came in pieces.
    streamed: Option<String>,
    /// Calls that were told and have no result.
    calls: HashMap<String, ToldCall>,
    /// Those of them that are shown by a terminal.
    terminals: HashSet<String>,
    tasks: PlanTasks,
    usage: SessionUsage,
    /// It happened before: what files hold now says nothing of it.
    is_past: bool,
}

/// A call that was told.
struct ToldCall {
    tool: String,
    /// With what the tool is called was told as well; before, the model is still saying it.
    is_whole: bool,
}

impl Updates {
    pub(super) fn new(folder: PathBuf) -> Self {
        let (calls, terminals) = (HashMap::new(), HashSet::new());
        let (tasks, usage) = (PlanTasks::default(), SessionUsage::default());
        Self { folder, streamed: None, calls, terminals, tasks, usage, is_past: false }
    }

    /// Of a conversation that is told again.
    pub(super) fn of_the_past(folder: PathBuf) -> Self {
        Self { is_past: true, ..Self::new(folder) }
    }

    /// Nothing more of what runs is told: a new client begins.
    pub(super) fn client_ends(&mut self) -> Vec<SessionUpdate> {
        self.usage.client_ended();
        self.calls.drain().map(|(id, _)| failed(id)).collect()
    }

    /// The model says no more of calls that it has only begun: its message broke off, and another one begins, or none.
    fn broken_off(&mut self) -> Vec<SessionUpdate> {
        self.calls.extract_if(|_, call| !call.is_whole).map(|(id, _)| failed(id)).collect()
    }

    /// What goes on there goes on.
    pub(super) fn go_on_with(&mut self, live: &Self) {
        self.calls.retain(|id, _| !live.calls.contains_key(id));
    }

    /// What a message tells the editor.
    pub(super) fn of(&mut self, message: &Message) -> Vec<SessionUpdate> {
        match message.kind.as_str() {
            "stream_event" => self.piece(message),
            "assistant" => self.said(message),
            "user" => self.results(message),
            "result" => self.broken_off().into_iter().chain(self.usage.turn_ended(message)).collect(),
            "system" if message.subtype.as_deref() == Some("task_started") => self.runs(message).into_iter().collect(),
            "system" => self.usage.compacted(message).into_iter().collect(),
            _ => vec![],
        }
    }

    /// A call that takes a while does not wait for anybody, also where nobody was asked.
    fn runs(&self, message: &Message) -> Option<SessionUpdate> {
        let call = message.tool_use_id.clone().filter(|call| self.calls.contains_key(call))?;
        let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
        Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call, fields)))
    }

    /// A call is told before anything else names it.
    pub(super) fn call(&mut self, id: &str, tool: &str, input: &Value) -> Option<SessionUpdate> {
        let told = self.calls.get_mut(id).map(|told| std::mem::replace(&mut told.is_whole, true));
        let is_past = self.is_past;
        let content = || match is_past && tool == "Write" {
            true => tools::written(input),
            false => tools::content(tool, input),
        };
        match told {
            Some(true) => None,
            // It has begun: now it is said what it is.
            Some(false) => {
                let fields = ToolCallUpdateFields::new()
                    .title(tools::title(tool, input, &self.folder))
                    .content(content())
                    .locations(tools::locations(tool, input))
                    .raw_input(input.clone());
                Some(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)))
            }
            None => {
                self.remember(id, tool, true);
                Some(SessionUpdate::ToolCall(tools::call(id, tool, input, &self.folder).content(content())))
            }
        }
    }

    /// The model has begun to say a call: what it is called with follows.
    fn begun(&mut self, block: &Value) -> Option<SessionUpdate> {
        let (id, name) = (block["id"].as_str()?, block["name"].as_str()?);
        if block["type"] != "tool_use" || self.calls.contains_key(id) {
            return None;
        }
        let tool = built_in(name).unwrap_or(name);
        self.remember(id, tool, false);
        Some(SessionUpdate::ToolCall(tools::call(id, tool, &Value::Object(Map::new()), &self.folder)))
    }

    fn remember(&mut self, id: &str, tool: &str, is_whole: bool) {
        if self.calls.len() >= MOST_CALLS {
            self.calls.clear();
            self.terminals.clear();
        }
        self.calls.insert(id.to_owned(), ToldCall { tool: tool.to_owned(), is_whole });
    }

    /// A call is shown by a terminal from now on, also when it has ended. What has to be told before, if anything.
    pub(super) fn terminal(&mut self, id: &str, input: &Value) -> Option<SessionUpdate> {
        let call = self.call(id, "Bash", input);
        self.terminals.insert(id.to_owned());
        call
    }

    fn piece(&mut self, message: &Message) -> Vec<SessionUpdate> {
        // What a subagent says is part of its call, whose result tells it.
        if message.parent_tool_use_id.is_some() {
            return vec![];
        }
        let event = &message.event;
        match event["type"].as_str() {
            Some("message_start") => {
                self.streamed = event["message"]["id"].as_str().map(str::to_owned);
                self.broken_off()
            }
            Some("content_block_start") => self.begun(&event["content_block"]).into_iter().collect(),
            Some("content_block_delta") => said_on(&event["delta"]).into_iter().collect(),
            _ => vec![],
        }
    }

    fn said(&mut self, message: &Message) -> Vec<SessionUpdate> {
        let id = message.message["id"].as_str();
        let is_told = id.is_some() && self.streamed.as_deref() == id;
        let is_main = message.parent_tool_use_id.is_none();
        // An error that the client reports in the model's place is the answer to the prompt.
        let is_error = message.error.is_some() && message.is_synthetic();
        let mut updates = vec![];
        if is_main && !is_told && !is_error {
            for block in message.message["content"].as_array().into_iter().flatten() {
                match (block["type"].as_str(), block["text"].as_str(), block["thinking"].as_str()) {
                    (Some("text"), Some(text), _) => updates.push(words(text)),
                    (Some("thinking"), _, Some(text)) if !text.is_empty() => updates.push(thought(text)),
                    _ => {}
                }
            }
        }
        if is_main {
            self.usage.said(message);
        }
        for block in message.blocks() {
            if let Block::ToolUse { id, name, input } = block {
                let name = built_in(name).unwrap_or(name);
                updates.extend(self.call(id, name, input));
                updates.extend(self.tasks.called(name, input));
            }
        }
        updates
    }

    fn results(&mut self, message: &Message) -> Vec<SessionUpdate> {
        let mut updates = vec![];
        for block in message.blocks() {
            let Block::ToolResult { id, is_error, content } = block else { continue };
            let Some(ToldCall { tool, .. }) = self.calls.remove(id) else { continue };
            let is_left = message.made_instead.iter().any(|call| call == id);
            let fields = match self.terminals.remove(id) {
                // What it would have changed is shown by the call that was made.
                _ if is_left => tools::left(content),
                true => tools::ended(is_error, content, &message.tool_use_result),
                false => tools::finished(&tool, is_error, content, &message.tool_use_result),
            };
            updates.push(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(id.to_owned(), fields)));
            if tool == "TaskCreate" && !is_error {
                updates.extend(self.tasks.created(&message.tool_use_result));
            }
        }
        updates
    }
}

fn failed(call: String) -> SessionUpdate {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::Failed);
    SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call, fields))
}

/// A piece of what the model says.
fn said_on(delta: &Value) -> Option<SessionUpdate> {
    match delta["type"].as_str()? {
        "text_delta" => Some(words(delta["text"].as_str()?)),
        // Newer models tell that they think, and not what.
        "thinking_delta" => delta["thinking"].as_str().filter(|text| !text.is_empty()).map(thought),
        _ => None,
    }
}

/// Words of the model.
pub(super) fn words(text: &str) -> SessionUpdate {
    SessionUpdate::AgentMessageChunk(chunk(text))
}

fn thought(text: &str) -> SessionUpdate {
    SessionUpdate::AgentThoughtChunk(chunk(text))
}

/// Words of someone else than the person at the editor, who sees them in that person's place: a message of its own, quoted
/// line by line, so that none of it looks like that person's words.
pub(super) fn said_by(by: &str, text: &str) -> SessionUpdate {
    let name = visible(by).split_whitespace().collect::<Vec<_>>().join(" ");
    let quoted: String = visible(text).lines().map(|line| format!("> {line}\n")).collect();
    let message = chunk(&format!("\n\n**{name}:**\n\n{quoted}\n"));
    SessionUpdate::UserMessageChunk(message.message_id(MessageId::new(uuid())))
}

pub(super) fn chunk(text: &str) -> ContentChunk {
    ContentChunk::new(ContentBlock::Text(TextContent::new(text)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use portcullis_wire::control::{FromClient, read};
    use serde_json::json;

    fn told(updates: &mut Updates, value: &Value) -> Value {
        let FromClient::Message(message) = read(value.to_string().as_bytes()).unwrap() else { panic!("{value}") };
        serde_json::to_value(updates.of(&message)).unwrap()
    }

    fn piece(event: &Value) -> Value {
        json!({"type": "stream_event", "event": event})
    }

    fn said(id: &str, block: &Value) -> Value {
        json!({"type": "assistant", "message": {"id": id, "content": [block]}})
    }

    #[test]
    fn words_come_once_in_pieces_or_whole_and_calls_come_with_their_results() {
        let mut updates = Updates::new("/home/ann".into());
        let text =
            |text: &str| json!({"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}});
        told(&mut updates, &piece(&json!({"type": "message_start", "message": {"id": "m1"}})));
        let delta = json!({"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Hel"}});
        assert_eq!(told(&mut updates, &piece(&delta)), json!([text("Hel")]));
        let thinking = json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}});
        assert_eq!(told(&mut updates, &piece(&thinking))[0]["sessionUpdate"], "agent_thought_chunk");
        let nothing = json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": ""}});
        assert_eq!(told(&mut updates, &piece(&nothing)), json!([]));
        assert_eq!(told(&mut updates, &said("m1", &json!({"type": "text", "text": "Hel"}))), json!([]));
        assert_eq!(told(&mut updates, &said("m2", &json!({"type": "text", "text": "whole"}))), json!([text("whole")]));
        let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}});
        let shown = told(&mut updates, &said("m2", &call));
        assert_eq!((&shown[0]["sessionUpdate"], &shown[0]["toolCallId"]), (&json!("tool_call"), &json!("t")));
        assert_eq!(told(&mut updates, &said("m2", &call)), json!([]), "a call is told once");
        let result = json!({"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t", "content": "a"}]}});
        let shown = told(&mut updates, &result);
        assert_eq!((&shown[0]["toolCallId"], &shown[0]["status"]), (&json!("t"), &json!("completed")));
        assert_eq!(told(&mut updates, &result), json!([]));
    }

    #[test]
    fn a_call_that_takes_a_while_is_shown_as_running_if_it_was_shown_at_all() {
        let mut updates = Updates::new("/home/ann".into());
        let call = json!({"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "sleep 60"}});
        told(&mut updates, &said("m", &call));
        let started = |call: &str| json!({"type": "system", "subtype": "task_started", "tool_use_id": call});
        let running = json!([{"sessionUpdate": "tool_call_update", "toolCallId": "t", "status": "in_progress"}]);
        assert_eq!(told(&mut updates, &started("t")), running);
        assert_eq!(told(&mut updates, &started("of-nobody")), json!([]));
    }

    #[test]
    fn a_call_whose_message_breaks_off_has_failed_when_the_model_begins_anew_or_ends() {
        let begin = |updates: &mut Updates, id: &str| {
            let block = json!({"type": "tool_use", "id": id, "name": "Write", "input": {}});
            told(updates, &piece(&json!({"type": "content_block_start", "content_block": block})))
        };
        let failed = |id: &str| json!([{"sessionUpdate": "tool_call_update", "toolCallId": id, "status": "failed"}]);
        let start = piece(&json!({"type": "message_start", "message": {"id": "m2"}}));
        let mut updates = Updates::new("/home/ann".into());
        begin(&mut updates, "t1");
        let whole = json!({"type": "tool_use", "id": "t2", "name": "Bash", "input": {"command": "ls"}});
        told(&mut updates, &said("m1", &whole));
        let mut of_a_subagent = start.clone();
        of_a_subagent["parent_tool_use_id"] = "t2".into();
        assert_eq!(told(&mut updates, &of_a_subagent), json!([]));
        assert_eq!(told(&mut updates, &start), failed("t1"), "the one that is whole waits for its result");
        assert_eq!(told(&mut updates, &start), json!([]));
        begin(&mut updates, "t3");
        assert_eq!(told(&mut updates, &json!({"type": "result", "subtype": "success"})), failed("t3"));
        assert!(updates.calls.contains_key("t2"));
    }

    #[test]
    fn a_call_is_shown_when_the_model_begins_to_say_it_and_whole_when_it_has() {
        let mut updates = Updates::new("/home/ann".into());
        let block = json!({"type": "tool_use", "id": "t", "name": "mcp__acp__Write", "input": {}});
        let shown = told(&mut updates, &piece(&json!({"type": "content_block_start", "content_block": block})));
        assert_eq!((&shown[0]["sessionUpdate"], &shown[0]["title"]), (&json!("tool_call"), &json!("Write")));
        assert_eq!((&shown[0]["kind"], &shown[0]["status"]), (&json!("edit"), &Value::Null), "it is pending");
        let input = json!({"file_path": "/home/ann/new.txt", "content": "x"});
        let call = json!({"type": "tool_use", "id": "t", "name": "Write", "input": input});
        let shown = told(&mut updates, &said("m", &call));
        assert_eq!(shown[0]["sessionUpdate"], "tool_call_update");
        assert_eq!((&shown[0]["title"], &shown[0]["rawInput"]), (&json!("Write new.txt"), &input));
        assert_eq!(shown[0]["content"][0]["type"], "diff");
        assert_eq!(told(&mut updates, &said("m", &call)), json!([]));
    }

    #[test]
    fn a_file_written_in_the_past_is_not_compared_with_what_it_holds_now() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("new.txt");
        std::fs::write(&file, "new").unwrap();
        let input = json!({"file_path": file, "content": "new"});
        let call = json!({"type": "tool_use", "id": "t", "name": "Write", "input": input});
        let shown = told(&mut Updates::of_the_past("/home/ann".into()), &said("m", &call));
        assert_eq!(shown[0]["content"], json!([{"type": "diff", "path": file, "newText": "new"}]));
        let shown = told(&mut Updates::new("/home/ann".into()), &said("m", &call));
        assert_eq!(shown[0]["content"][0]["oldText"], "new");
    }

    #[test]
    fn words_of_someone_else_are_a_quoted_message_of_their_own() {
        let told = || serde_json::to_value(said_by("ann\n**you", "yes\n\n**you:** go\u{202e}")).unwrap();
        let (one, other) = (told(), told());
        assert_eq!(one["content"]["text"], "\n\n**ann **you:**\n\n> yes\n> \n> **you:** go\\u{202e}\n\n");
        assert!(one["messageId"].is_string());
        assert_ne!(one["messageId"], other["messageId"]);
    }

    #[test]
    fn the_plan_is_told_whole_whenever_it_changes() {
        let mut updates = Updates::new("/home/ann".into());
        let todos = json!([{"content": "one", "status": "completed"}, {"content": "two", "status": "in_progress"}]);
        let call = json!({"type": "tool_use", "id": "t", "name": "TodoWrite", "input": {"todos": todos}});
        let shown = told(&mut updates, &said("m", &call));
        let statuses: Vec<&Value> =
            shown[1]["entries"].as_array().unwrap().iter().map(|entry| &entry["status"]).collect();
        assert_eq!(statuses, ["completed", "in_progress"]);
        let create = json!({"type": "tool_use", "id": "c", "name": "TaskCreate", "input": {"subject": "three"}});
        told(&mut updates, &said("m", &create));
        let created = json!({"type": "user", "tool_use_result": {"task": {"id": "1", "subject": "three"}},
            "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": "ok"}]}});
        assert_eq!(told(&mut updates, &created)[1]["entries"][0]["content"], "three");
        let update = json!({"type": "tool_use", "id": "u", "name": "TaskUpdate", "input": {"taskId": "1", "status": "completed"}});
        assert_eq!(told(&mut updates, &said("m", &update))[1]["entries"][0]["status"], "completed");
    }
}
