//! An editor, played by the test: it speaks ACP with an agent over its standard streams, keeps every frame of both sides,
//! and holds each against the published schema.

use super::agent::Agent;
use super::frames::{Frame, Frames};
use super::schema::Side;
use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::home::Home;
use crate::support::seen::OrFail;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// How long a frame may take: a Claude Code may have to be loaded before it comes.
const WAIT: Duration = Duration::from_secs(3 * PATIENCE.as_secs());

pub(crate) struct Editor {
    pub(super) child: Child,
    log: Arc<Frames>,
    next_id: AtomicU64,
}

impl Editor {
    /// Starts the agent, and says which capabilities the editor has.
    #[track_caller]
    pub(crate) fn start(home: &Home, agent: &Agent<'_>, capabilities: &Value) -> Self {
        let editor = Self::connect(home, agent);
        let about = json!({"name": "test-editor", "version": "1.0.0"});
        let hello = json!({"protocolVersion": 1, "clientCapabilities": capabilities, "clientInfo": about});
        assert_eq!(editor.call("initialize", &hello)["protocolVersion"], 1);
        editor
    }

    /// Starts the agent, and says nothing yet.
    #[track_caller]
    pub(super) fn connect(home: &Home, agent: &Agent<'_>) -> Self {
        let log = Arc::new(Frames::of(agent));
        let reader = Arc::clone(&log);
        let child = Child::spawn_reading(agent.command(home), Stdin::Open, move |line, _| match line {
            Some(line) => reader.note_line(Side::Agent, line),
            None => reader.seen.end(),
        });
        Self { child: home.keep(child), log, next_id: AtomicU64::new(1) }
    }

    /// Makes a request and returns its id.
    #[track_caller]
    pub(super) fn send(&self, method: &str, params: &Value) -> u64 {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        id
    }

    #[track_caller]
    pub(super) fn notify(&self, method: &str, params: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Waits for the response to a request of the editor, whatever it is.
    #[track_caller]
    pub(crate) fn response(&self, id: u64) -> Value {
        self.take(&format!("the response to request {id}"), |frame| {
            frame.from == Side::Agent && frame.value.get("method").is_none() && frame.value["id"] == id
        })
    }

    /// Makes a request, and returns its result.
    #[track_caller]
    pub(super) fn call(&self, method: &str, params: &Value) -> Value {
        self.result(self.send(method, params))
    }

    /// Waits for the result of a request; an error fails the test.
    #[track_caller]
    pub(super) fn result(&self, id: u64) -> Value {
        let response = self.response(id);
        assert!(response.get("error").is_none(), "{response}\n{}", self.story());
        response["result"].clone()
    }

    /// A new session in the project, without MCP servers.
    #[track_caller]
    pub(crate) fn new_session(&self, home: &Home) -> String {
        let session = self.call("session/new", &json!({"cwd": home.project(), "mcpServers": []}));
        session["sessionId"].as_str().unwrap().to_owned()
    }

    /// Sends text as a prompt, and returns the id of the request.
    #[track_caller]
    pub(crate) fn prompt(&self, session: &str, text: &str) -> u64 {
        self.send("session/prompt", &json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]}))
    }

    /// Sends text as a prompt, and waits for the end of its turn.
    #[track_caller]
    pub(super) fn prompt_to_end(&self, session: &str, text: &str) -> String {
        self.stop_reason(self.prompt(session, text))
    }

    #[track_caller]
    pub(super) fn stop_reason(&self, prompt: u64) -> String {
        self.result(prompt)["stopReason"].as_str().unwrap().to_owned()
    }

    /// Waits for a request of the agent's.
    #[track_caller]
    pub(super) fn request(&self, method: &str) -> Value {
        self.take(&format!("a request {method}"), |frame| {
            frame.from == Side::Agent && frame.value["method"] == method && frame.value.get("id").is_some()
        })
    }

    /// Waits for any request of the agent's.
    #[track_caller]
    pub(super) fn any_request(&self) -> Value {
        self.take("a request", |frame| {
            frame.from == Side::Agent && frame.value.get("method").is_some() && frame.value.get("id").is_some()
        })
    }

    /// Waits until the agent asks for permission.
    #[track_caller]
    pub(super) fn permission(&self) -> Value {
        self.request("session/request_permission")
    }

    #[track_caller]
    pub(super) fn answer(&self, request: &Value, result: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "id": request["id"], "result": result}));
    }

    /// Answers a request of the agent with an error.
    #[track_caller]
    pub(super) fn refuse(&self, request: &Value, code: i32, why: &str) {
        let error = json!({"code": code, "message": why});
        self.write(&json!({"jsonrpc": "2.0", "id": request["id"], "error": error}));
    }

    /// Chooses the first option of this kind.
    #[track_caller]
    pub(super) fn choose(&self, request: &Value, kind: &str) {
        let options = request["params"]["options"].as_array().unwrap();
        let option = options.iter().find(|option| option["kind"] == kind);
        let option = option.ok_or(()).or_fail(|()| format!("no option {kind} in {request}"));
        self.answer(request, &json!({"outcome": {"outcome": "selected", "optionId": option["optionId"]}}));
    }

    /// Waits until the agent asks for something or this prompt is answered, whichever comes first.
    #[track_caller]
    pub(super) fn request_or_end(&self, prompt: u64) -> Value {
        self.take(&format!("a request, or the end of prompt {prompt}"), |frame| {
            let is_request = frame.value.get("method").is_some() && frame.value.get("id").is_some();
            frame.from == Side::Agent
                && (is_request || frame.value["id"] == prompt && frame.value.get("method").is_none())
        })
    }

    /// Waits until the agent withdraws a request of its own.
    #[track_caller]
    pub(super) fn withdrawn(&self, request: &Value) {
        self.take(&format!("the withdrawal of {}", request["id"]), |frame| {
            let is_cancel = frame.from == Side::Agent && frame.value["method"] == "$/cancel_request";
            is_cancel && frame.value["params"]["requestId"] == request["id"]
        });
    }

    /// Waits for an update of this session that fits; the others stay for later.
    #[track_caller]
    pub(super) fn update(&self, session: &str, what: &str, mut wanted: impl FnMut(&Value) -> bool) -> Value {
        let frame = self.take(&format!("an update: {what}"), |frame| {
            let params = &frame.value["params"];
            frame.value["method"] == "session/update" && params["sessionId"] == session && wanted(&params["update"])
        });
        frame["params"]["update"].clone()
    }

    /// Waits until the agent has said this, in however many pieces.
    #[track_caller]
    pub(crate) fn hears(&self, session: &str, text: &str) {
        let mut heard = String::new();
        while !heard.contains(text) {
            let chunk = self.update(session, text, |update| update["sessionUpdate"] == "agent_message_chunk");
            heard.push_str(chunk["content"]["text"].as_str().unwrap_or_default());
        }
    }

    pub(super) fn frames(&self) -> Vec<Frame> {
        self.log.seen.all()
    }

    /// The updates of a session so far.
    pub(super) fn updates(&self, session: &str) -> Vec<Value> {
        let frames = self.frames().into_iter().filter(|frame| frame.value["method"] == "session/update");
        let of_session = frames.filter(|frame| frame.value["params"]["sessionId"] == session);
        of_session.map(|frame| frame.value["params"]["update"].clone()).collect()
    }

    /// What the schema did not allow so far.
    pub(super) fn faults(&self) -> Vec<String> {
        self.log.faults()
    }

    #[track_caller]
    fn take(&self, what: &str, wanted: impl FnMut(&Frame) -> bool) -> Value {
        let frame = self.log.seen.take(WAIT, wanted);
        frame.or_fail(|missed| format!("waiting for {what}: {missed}\n{}", self.story())).value
    }

    #[track_caller]
    fn write(&self, frame: &Value) {
        self.log.note(Side::Client, frame);
        self.child.write(format!("{frame}\n"));
    }

    fn story(&self) -> String {
        let mut story = String::new();
        for frame in self.frames() {
            let arrow = if frame.from == Side::Client { ">" } else { "<" };
            let text: String = frame.value.to_string().chars().take(1500).collect();
            writeln!(story, "{arrow} {text}").unwrap();
        }
        format!("{story}{}", self.child.story())
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("{}", self.story());
            return;
        }
        self.log.check();
    }
}
