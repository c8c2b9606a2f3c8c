//! What Claude Code and the program that drives it say to each other: one JSON object a line, both ways.
//!
//! Besides the messages of the conversation there are requests with an id that either side may make, and their answers.
//! What is not known here is passed on as it came: the client grows faster than we do.

mod notices;
mod turn;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use notices::ClientNotice;
pub use turn::TurnResult;

/// A line of the client's output.
#[derive(Debug, PartialEq)]
pub enum FromClient {
    /// It wants something, and waits for the answer under this id.
    Request { id: String, request: Request },
    /// The answer to something we wanted.
    Response { id: String, answer: Result<Value, String> },
    /// It no longer waits for the answer to its request.
    Cancel { id: String },
    /// Part of the conversation, or something we do not know.
    Message(Box<Message>),
    /// No object: notes that some part of the client prints for those who debug it.
    Noise,
}

/// What the client may want of whoever drives it.
#[derive(Debug, PartialEq)]
pub enum Request {
    CanUseTool(Box<CanUseTool>),
    Hook(HookCallback),
    Mcp(McpMessage),
    /// A dialog that we did not say we can show: such a request is left unanswered.
    Dialog,
    /// Anything else, by its subtype.
    Unknown(String),
    /// One we know, but not like this; says what does not fit. It must be answered all the same.
    Unreadable(String),
}

/// May this tool be used?
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CanUseTool {
    pub tool_name: String,
    pub input: Value,
    pub tool_use_id: String,
    pub mcp_server: Option<McpServer>,
    /// What the client itself would change so that it need not ask again.
    #[serde(deserialize_with = "or_none")]
    pub permission_suggestions: Vec<Value>,
    pub blocked_path: Option<String>,
    /// May hold escape sequences of a terminal.
    pub decision_reason: Option<String>,
    pub decision_reason_type: Option<String>,
    pub suppress_always_allow_rule: bool,
    pub default_to_no: bool,
    pub requires_user_interaction: bool,
    pub matched_ask_rule: Option<MatchedRule>,
    pub title: Option<String>,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub agent_id: Option<String>,
}

/// Where an MCP tool comes from. `source` is the client's own word; the name is whatever the server calls itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct McpServer {
    pub name: String,
    pub source: Option<String>,
}

/// The rule by which the client was told to ask.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MatchedRule {
    pub source: Option<String>,
    pub tool_name: Option<String>,
    pub rule_content: Option<String>,
}

/// The client writes null where it suggests nothing.
fn or_none<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<Value>, D::Error> {
    Ok(Option::<Vec<Value>>::deserialize(from)?.unwrap_or_default())
}

/// A hook that we registered was reached.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HookCallback {
    pub callback_id: String,
    pub input: Value,
    pub tool_use_id: Option<String>,
}

/// A message for an MCP server that lives in the driving program.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct McpMessage {
    pub server_name: String,
    pub message: Value,
}

/// The answer to [`CanUseTool`].
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "behavior", rename_all = "lowercase")]
pub enum PermissionResult {
    #[serde(rename_all = "camelCase")]
    Allow {
        updated_input: Value,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        updated_permissions: Vec<Value>,
        #[serde(rename = "toolUseID")]
        tool_use_id: String,
        /// None where no person decided.
        #[serde(skip_serializing_if = "Option::is_none")]
        decision_classification: Option<Classification>,
    },
    #[serde(rename_all = "camelCase")]
    Deny {
        message: String,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        interrupt: bool,
        #[serde(rename = "toolUseID")]
        tool_use_id: String,
        /// None where no person decided.
        #[serde(skip_serializing_if = "Option::is_none")]
        decision_classification: Option<Classification>,
    },
}

/// How the client writes the decision down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Classification {
    UserTemporary,
    UserPermanent,
    UserReject,
}

/// A line of the conversation, as far as we look into it.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Message {
    #[serde(rename = "type")]
    pub kind: String,
    pub subtype: Option<String>,
    pub session_id: Option<String>,
    pub parent_tool_use_id: Option<String>,
    /// Of `assistant` and `user`.
    pub message: Value,
    /// Of `user`: what was decided on each call whose result it holds.
    pub tool_result_meta: Vec<ToolResultMeta>,
    /// Of `stream_event`.
    pub event: Value,
    /// Of `system/session_state_changed` and `command_lifecycle`.
    pub state: Option<String>,
    /// Of `system/init` and `system/status`.
    #[serde(rename = "permissionMode")]
    pub permission_mode: Option<String>,
    pub model: Option<String>,
    /// Of `result`.
    pub is_error: bool,
    pub result: Option<String>,
    pub errors: Vec<Value>,
    pub permission_denials: Vec<Value>,
    /// Of `user`: one of ours, said again when the client took it.
    #[serde(rename = "isReplay")]
    pub is_replay: bool,
    pub uuid: Option<String>,
    /// Of `command_lifecycle`: which line of ours it tells of; `state` tells what became of it.
    pub command_uuid: Option<String>,
    /// Of `command_lifecycle`: it is no line of ours, and the client had scheduled it.
    pub wakeup_source: Option<String>,
    /// Of `assistant`: the kind of an error that the client reports in the model's place.
    pub error: Option<String>,
    /// Of `result`.
    pub stop_reason: Option<String>,
    pub total_cost_usd: Option<f64>,
    #[serde(rename = "modelUsage")]
    pub model_usage: Value,
    /// Of `user`: what the tool gave back, as the client keeps it; a transcript names it otherwise.
    #[serde(alias = "toolUseResult")]
    pub tool_use_result: Value,
    /// Of `system/commands_changed`.
    pub commands: Value,
    /// Of `system/status`: what it is about; null where there is nothing more to say of it. With what became of a
    /// compaction, when it has ended.
    pub status: Value,
    pub compact_result: Value,
    pub compact_error: Value,
    /// Of `system/compact_boundary`: what became of the context; a transcript names it otherwise.
    #[serde(alias = "compactMetadata")]
    pub compact_metadata: Value,
    /// Of `system/informational`: what the client tells the person, and how important it finds that.
    pub content: Value,
    pub level: Value,
    /// Of `assistant`: the client's answer to a command of its own, and whether it failed.
    pub local_command_run: Value,
    pub local_command_outcome: Value,
    /// Of `system/api_retry`: the status of the model's answer, and how often it was tried; `error` names it.
    pub error_status: Value,
    pub attempt: Value,
    pub max_retries: Value,
    /// Of `system/task_notification`: what has ended, and how. Of `system/task_started` as well: the call that began it.
    pub summary: Option<String>,
    pub tool_use_id: Option<String>,
    /// Of `system/permission_denied` and others.
    pub tool_name: Option<String>,
    /// Calls whose results it holds that were made another way; the client does not say so.
    #[serde(skip)]
    pub made_instead: Vec<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ToolResultMeta {
    pub id: String,
    pub permission_decision: Option<PermissionDecision>,
    pub non_execution_kind: Option<String>,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PermissionDecision {
    pub decision: String,
    pub source: Option<String>,
    pub reason_type: Option<String>,
}

/// Part of a message of the conversation.
#[derive(Debug, PartialEq)]
pub enum Block<'a> {
    Text(&'a str),
    ToolUse { id: &'a str, name: &'a str, input: &'a Value },
    ToolResult { id: &'a str, is_error: bool, content: &'a Value },
}

impl Message {
    /// Whether the client wrote it itself in the model's place, as it does with an error of the API.
    pub fn is_synthetic(&self) -> bool {
        self.message["model"] == "<synthetic>"
    }

    /// A command of the client's own that it has answered here, with its arguments; none where it failed.
    pub fn command_run(&self) -> Option<(&str, &str)> {
        if self.kind != "assistant" || self.local_command_outcome["kind"] == "failed" {
            return None;
        }
        Some((self.local_command_run["command"].as_str()?, self.local_command_run["args"].as_str()?.trim()))
    }

    /// The parts of its content that we know; text alone is one part.
    pub fn blocks(&self) -> Vec<Block<'_>> {
        match &self.message["content"] {
            Value::String(text) => vec![Block::Text(text)],
            Value::Array(blocks) => blocks.iter().filter_map(block).collect(),
            _ => vec![],
        }
    }

    /// Gives the tools that it calls other names.
    pub fn rename_tools(&mut self, name: impl Fn(&str) -> String) {
        let blocks = self.message.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
        for called in blocks.filter(|block| block["type"] == "tool_use").filter_map(|block| block.get_mut("name")) {
            if let Some(renamed) = called.as_str().map(&name) {
                *called = renamed.into();
            }
        }
    }

    /// Says of the results of calls that were made another way what became of them: nothing has failed.
    /// `instead` is asked with the call and its result.
    pub fn settle_results(&mut self, instead: impl Fn(&str, &Value) -> Option<&'static str>) {
        let kept = &mut self.tool_use_result;
        let blocks = self.message.get_mut("content").and_then(Value::as_array_mut).into_iter().flatten();
        for result in blocks.filter(|block| block["type"] == "tool_result") {
            let call = result["tool_use_id"].as_str().map(str::to_owned);
            let settled = call.and_then(|call| instead(&call, &result["content"]).map(|words| (call, words)));
            if let Some((call, words)) = settled {
                self.made_instead.push(call);
                result["content"] = words.into();
                result["is_error"] = false.into();
                *kept = Value::Null;
            }
        }
    }

    /// What a `stream_event` adds to the text that is being said.
    pub fn text_delta(&self) -> Option<&str> {
        let delta = self.event.get("delta")?;
        (delta.get("type")? == "text_delta").then(|| delta.get("text")?.as_str()).flatten()
    }

    pub fn is(&self, kind: &str, subtype: &str) -> bool {
        self.kind == kind && self.subtype.as_deref() == Some(subtype)
    }
}

fn block(block: &Value) -> Option<Block<'_>> {
    let text = |name: &str| block.get(name).and_then(Value::as_str);
    Some(match text("type")? {
        "text" => Block::Text(text("text")?),
        "tool_use" => Block::ToolUse { id: text("id")?, name: text("name")?, input: block.get("input")? },
        "tool_result" => {
            let is_error = block.get("is_error").and_then(Value::as_bool).unwrap_or_default();
            Block::ToolResult { id: text("tool_use_id")?, is_error, content: &block["content"] }
        }
        _ => return None,
    })
}

/// Reads a line. Bytes that are no JSON are an error; JSON that we do not know is a message.
pub fn read(line: &[u8]) -> serde_json::Result<FromClient> {
    if !line.trim_ascii_start().starts_with(b"{") {
        return Ok(FromClient::Noise);
    }
    let envelope: Envelope = serde_json::from_slice(line)?;
    Ok(match envelope.kind.as_str() {
        "control_request" => FromClient::Request { id: envelope.request_id, request: Request::of(envelope.request) },
        "control_response" => envelope.response.read(),
        "control_cancel_request" => FromClient::Cancel { id: envelope.request_id },
        // A part that is not as we know it must not cost us the line.
        _ => {
            let bare = |_| Box::new(Message { kind: envelope.kind, ..Message::default() });
            FromClient::Message(serde_json::from_slice(line).unwrap_or_else(bare))
        }
    })
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Envelope {
    #[serde(rename = "type")]
    kind: String,
    request_id: String,
    request: Value,
    response: Response,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Response {
    subtype: String,
    request_id: String,
    response: Value,
    error: Value,
}

impl Response {
    fn read(self) -> FromClient {
        let answer = match (self.subtype.as_str(), self.error) {
            ("success", _) => Ok(self.response),
            (_, Value::String(error)) => Err(error),
            (_, error) => Err(error.to_string()),
        };
        FromClient::Response { id: self.request_id, answer }
    }
}

impl Request {
    fn of(request: Value) -> Self {
        let subtype = request.get("subtype").and_then(Value::as_str).unwrap_or_default().to_owned();
        let read = match subtype.as_str() {
            "can_use_tool" => serde_json::from_value(request).map(|ask| Self::CanUseTool(Box::new(ask))),
            "hook_callback" => serde_json::from_value(request).map(Self::Hook),
            "mcp_message" => serde_json::from_value(request).map(Self::Mcp),
            "request_user_dialog" => Ok(Self::Dialog),
            _ => Ok(Self::Unknown(subtype)),
        };
        read.unwrap_or_else(|error| Self::Unreadable(error.to_string()))
    }
}

/// The prompts that an `initialize` finds open, as a request of each.
pub fn pending_permissions(initialized: &Value) -> Vec<(String, CanUseTool)> {
    let pending = initialized.get("pending_permission_requests").and_then(Value::as_array);
    let read = |one: &Value| {
        // Either the request as it was made, or its fields next to its id.
        let request = one.get("request").unwrap_or(one).clone();
        Some((one.get("request_id")?.as_str()?.to_owned(), serde_json::from_value(request).ok()?))
    };
    pending.into_iter().flatten().filter_map(read).collect()
}

/// One of ours.
pub fn request_line(id: &str, subtype: &str, mut fields: Map<String, Value>) -> Vec<u8> {
    fields.insert("subtype".into(), subtype.into());
    line(&json!({"type": "control_request", "request_id": id, "request": fields}))
}

/// We no longer wait for the answer.
pub fn cancel_line(id: &str) -> Vec<u8> {
    line(&json!({"type": "control_cancel_request", "request_id": id}))
}

pub fn success_line(id: &str, response: &impl Serialize) -> Vec<u8> {
    let response = json!({"subtype": "success", "request_id": id, "response": response});
    line(&json!({"type": "control_response", "response": response}))
}

pub fn error_line(id: &str, error: &str) -> Vec<u8> {
    let response = json!({"subtype": "error", "request_id": id, "error": error});
    line(&json!({"type": "control_response", "response": response}))
}

/// Who a line of input is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    User,
    /// The client marks it for the model as not from the user.
    Outside,
}

/// A line of input for the model.
pub fn user_line(uuid: &str, text: &str, from: Speaker) -> Vec<u8> {
    user_line_with(uuid, text, &[], from)
}

/// The same with images behind the text.
pub fn user_line_with(uuid: &str, text: &str, images: &[Vec<u8>], from: Speaker) -> Vec<u8> {
    let images = images.iter().filter_map(|image| image_block(image)).collect();
    user_line_of(uuid, text, images, from)
}

/// The same with other blocks of a message behind the text.
pub fn user_line_of(uuid: &str, text: &str, more: Vec<Value>, from: Speaker) -> Vec<u8> {
    let mut blocks: Vec<Value> = std::iter::once(json!({"type": "text", "text": text})).chain(more).collect();
    let content = if blocks.len() == 1 { blocks.remove(0)["text"].take() } else { Value::Array(blocks) };
    let mut user = json!({
        "type": "user",
        "message": {"role": "user", "content": content},
        "parent_tool_use_id": null,
        "session_id": "",
        "uuid": uuid,
    });
    if from == Speaker::Outside {
        user["isSynthetic"] = true.into();
    }
    line(&user)
}

/// The image as a model takes it; none where it is no image of a kind that models know.
fn image_block(bytes: &[u8]) -> Option<Value> {
    let source = json!({"type": "base64", "media_type": image_type(bytes)?, "data": base64(bytes)});
    Some(json!({"type": "image", "source": source}))
}

/// The type of an image that models know, by how it begins: its name may say anything.
pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for three in bytes.chunks(3) {
        let part = |place: usize| u32::from(three.get(place).copied().unwrap_or_default());
        let number = part(0) << 16 | part(1) << 8 | part(2);
        for place in 0..4 {
            let letter = LETTERS[(number >> (18 - 6 * place) & 63) as usize];
            text.push(if place > three.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

fn line(value: &Value) -> Vec<u8> {
    let mut bytes = value.to_string().into_bytes();
    bytes.push(b'\n');
    bytes
}

#[cfg(test)]
mod tests;
