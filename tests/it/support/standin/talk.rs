//! What the client and the channel say to each other once they have greeted.

use super::StandIn;
use super::inbox::{ChannelEvent, Verdict};
use crate::support::home::random_hex;
use crate::support::seen::{OrFail, PATIENCE};
use serde_json::{Value, json};
use std::sync::atomic::Ordering;
use std::time::Duration;

const CHANNEL: &str = "claude/channel";
const PERMISSION: &str = "claude/channel/permission";

impl StandIn {
    #[track_caller]
    pub(crate) fn next_event(&self) -> ChannelEvent {
        self.must_declare(CHANNEL);
        self.inbox.events.take(PATIENCE, |_| true).or_fail(|missed| self.story("a channel event", missed))
    }

    /// The oldest event with this in its content; the others stay for `next_event`.
    #[track_caller]
    pub(crate) fn event_containing(&self, text: &str) -> ChannelEvent {
        self.must_declare(CHANNEL);
        let found = self.inbox.events.take(PATIENCE, |event| event.content.contains(text));
        found.or_fail(|missed| self.story(&format!("a channel event with {text:?}"), missed))
    }

    #[track_caller]
    pub(crate) fn no_event_within(&self, quiet: Duration) {
        let silent = self.inbox.events.stays_silent(quiet);
        silent.or_fail(|broken| format!("{broken}\n{}", self.child.story()));
    }

    /// How many events came in all, taken or not.
    pub(crate) fn event_count(&self) -> usize {
        self.inbox.events.count()
    }

    /// How many of them were taken.
    pub(crate) fn taken_count(&self) -> usize {
        self.inbox.events.taken_count()
    }

    /// Opens a permission prompt; the answer, if any, is a verdict.
    #[track_caller]
    pub(crate) fn ask(&self, request_id: &str, tool: &str, description: &str, preview: &str) {
        self.must_declare(PERMISSION);
        let params = json!({
            "request_id": request_id,
            "tool_name": tool,
            "description": description,
            "input_preview": preview,
        });
        self.notify("notifications/claude/channel/permission_request", Some(&params));
    }

    #[track_caller]
    pub(crate) fn next_verdict(&self) -> Verdict {
        self.inbox.verdicts.take(PATIENCE, |_| true).or_fail(|missed| self.story("a verdict", missed))
    }

    pub(crate) fn verdict_count(&self) -> usize {
        self.inbox.verdicts.count()
    }

    /// Calls a tool as the model does, and returns its result.
    #[track_caller]
    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        let token = self.next_id.load(Ordering::Relaxed);
        let meta = json!({"claudecode/toolUseId": format!("toolu_{}", random_hex(12)), "progressToken": token});
        self.request("tools/call", &json!({"name": tool, "arguments": arguments, "_meta": meta}))
    }

    /// Calls a hook as the client does, and returns what it was answered, as the client reads it.
    #[track_caller]
    pub(crate) fn hook(&self, event: &str, fields: &Value) -> Value {
        let id = self.hook_later(event, fields);
        self.hook_answer(&id)
    }

    /// Calls one that may wait for long. Returns the id of the request.
    #[track_caller]
    pub(crate) fn hook_later(&self, event: &str, fields: &Value) -> Value {
        let mut arguments =
            json!({"hook_event_name": event, "session_id": "s-1", "agent_id": "", "hooks_version": "6"});
        for (name, value) in fields.as_object().into_iter().flatten() {
            // As the client does: text as it is, anything else as JSON in text.
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            arguments[name] = Value::from(text);
        }
        let id = Value::from(self.next_id.fetch_add(1, Ordering::Relaxed));
        let params = json!({"name": "hook", "arguments": arguments});
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        self.send_line(request.to_string().as_bytes());
        id
    }

    #[track_caller]
    pub(crate) fn hook_answer(&self, id: &Value) -> Value {
        let answer = self.answer_to(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no answer: {answer}"));
        serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// Sends a message as it is and, if it has an id, returns the whole answer to it.
    #[track_caller]
    pub(crate) fn call_raw(&self, message: &Value) -> Value {
        self.send_line(message.to_string().as_bytes());
        match message.get("id") {
            Some(id) => self.answer_to(id),
            None => Value::Null,
        }
    }

    #[track_caller]
    pub(crate) fn answer_to(&self, id: &Value) -> Value {
        let found = self.inbox.responses.take(PATIENCE, |response| response["id"] == *id);
        found.or_fail(|missed| self.story(&format!("the answer to {id}"), missed))
    }

    /// Sends a request with a fresh id and returns its result; an error answer fails the test.
    #[track_caller]
    pub(crate) fn request(&self, method: &str, params: &Value) -> Value {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let answer = self.call_raw(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        match answer.get("result") {
            Some(result) => result.clone(),
            None => panic!("{method} was answered {answer}\n{}", self.child.story()),
        }
    }

    pub(crate) fn notify(&self, method: &str, params: Option<&Value>) {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        if let Some(params) = params {
            message["params"] = params.clone();
        }
        self.send_line(message.to_string().as_bytes());
    }

    /// Any bytes, well-formed or not, and a line end.
    pub(crate) fn send_line(&self, bytes: &[u8]) {
        self.child.write([bytes, b"\n"].concat());
    }

    /// The next line that was neither an answer to a request, nor an event, nor a verdict.
    #[track_caller]
    pub(crate) fn next_raw(&self) -> Value {
        self.inbox.others.take(PATIENCE, |_| true).or_fail(|missed| self.story("another message", missed))
    }

    /// All of those, taken or not.
    pub(crate) fn others(&self) -> Vec<Value> {
        self.inbox.others.all()
    }

    /// The real client drops events, and asks nothing, where the capability is missing: so must this one.
    #[track_caller]
    fn must_declare(&self, capability: &str) {
        assert!(self.declares(capability), "the server does not declare {capability}\n{}", self.child.story());
    }
}
