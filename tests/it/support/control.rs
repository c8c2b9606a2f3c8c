//! A Claude Code that `portcullis run` or `portcullis acp` drives, played by the test: it speaks the control protocol through two named pipes.

use super::child::{Child, Stdin};
use super::home::{Home, random_hex};
use super::seen::{OrFail, PATIENCE, Seen};
use crate::acp::frames::Frames;
use crate::acp::schema::Side;
use serde_json::{Value, json};
use std::fs::{self, File};
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::{Sender, channel};
use std::thread;

/// What the guard starts: one pipe to its standard output, its standard input to the other.
const SCRIPT: &str = "#!/bin/sh\ncat <\"$0.out\" &\ncat >\"$0.in\"\n";

pub(crate) struct ControlClient {
    child: Child,
    say: Sender<Value>,
    /// The driver's answers to requests of the client.
    answers: Seen<Value>,
    /// What the driver says to the model.
    user_lines: Seen<Value>,
    /// What an editor in front of it says, where there is one. What it is told is looked at in the end.
    frames: Option<Frames>,
}

impl ControlClient {
    /// `portcullis run` in this mode, with this client behind it, ready for requests.
    #[track_caller]
    pub(crate) fn start(home: &Home, mode: &str, args: &[&str]) -> Self {
        let args = [&["run", "go", "--permission-mode", mode, "--label", "api"], args].concat();
        let client = Self::behind(home, home.command(&args), Stdin::Nothing);
        client.hears("go");
        client
    }

    /// `portcullis acp` in this mode, with this client behind it: an editor has begun a session and sent a prompt.
    #[track_caller]
    pub(crate) fn start_acp(home: &Home, mode: &str, capabilities: &Value) -> Self {
        let mut client = Self::behind(home, home.command(&["acp", "--permission-mode", mode]), Stdin::Open);
        client.frames = Some(Frames::of_ours());
        let call = |id: u64, method: &str, params: Value| {
            client.in_editor(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        };
        let result = |id: u64| -> Value {
            let parsed = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
            let is_answer = |frame: &Value| frame["id"] == id && frame.get("method").is_none();
            parsed(&client.child.line(PATIENCE, |line| is_answer(&parsed(line))))["result"].clone()
        };
        call(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": capabilities}));
        result(1);
        call(2, "session/new", json!({"cwd": home.project(), "mcpServers": []}));
        let session = result(2)["sessionId"].clone();
        call(3, "session/prompt", json!({"sessionId": session, "prompt": [{"type": "text", "text": "go"}]}));
        client.hears("go");
        client
    }

    /// Makes a call of a tool that works through the editor, whose editor opens no terminal. Returns whether it was to.
    #[track_caller]
    pub(crate) fn makes_call(&self, tool: &str, input: &Value, tool_use_id: &str) -> bool {
        let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool,
            "arguments": input, "_meta": {"claudecode/toolUseId": tool_use_id}}});
        let id = random_hex(8);
        let request = json!({"subtype": "mcp_message", "server_name": "acp", "message": message});
        self.say.send(json!({"type": "control_request", "request_id": id, "request": request})).unwrap();
        let parsed = |line: &str| serde_json::from_str::<Value>(line).unwrap_or_default();
        let create = parsed(&self.child.line(PATIENCE, |line| parsed(line)["method"] == "terminal/create"));
        let refused = json!({"jsonrpc": "2.0", "id": create["id"], "error": {"code": -32603, "message": "no"}});
        self.in_editor(&refused);
        let answer = self.answers.take(PATIENCE, |answer| answer["request_id"] == *id);
        let answer = answer.or_fail(|missed| self.story(&format!("the result of {tool}: {missed}")));
        answer.to_string().contains("opens no terminal")
    }

    /// The editor says something.
    fn in_editor(&self, frame: &Value) {
        if let Some(frames) = &self.frames {
            frames.note(Side::Client, frame);
        }
        self.child.write(format!("{frame}\n"));
    }

    /// Says something as the client does.
    pub(crate) fn says(&self, message: Value) {
        self.say.send(message).unwrap();
    }

    /// Waits until the editor is told this.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> Value {
        let line = self.child.line(PATIENCE, |line| line.contains(text));
        serde_json::from_str(&line).unwrap_or_default()
    }

    /// Starts a command whose Claude Code this client is.
    #[track_caller]
    fn behind(home: &Home, mut command: Command, stdin: Stdin) -> Self {
        let script = home.user().join(format!("claude-{}", random_hex(4)));
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let pipe = |end: &str| PathBuf::from(format!("{}.{end}", script.display()));
        for end in ["in", "out"] {
            assert!(Command::new("mkfifo").arg(pipe(end)).status().unwrap().success());
        }
        command.env("PORTCULLIS_CLAUDE", &script).env("IS_SANDBOX", "1");
        let child = home.spawn(command, stdin);
        let (say, lines) = channel::<Value>();
        let out = pipe("out");
        thread::spawn(move || {
            let mut out = File::options().write(true).open(out).unwrap();
            while let Ok(line) = lines.recv() {
                writeln!(out, "{line}").ok();
            }
        });
        let (answers, user_lines) = (Seen::new(), Seen::new());
        let (seen, heard, reply, input) = (answers.clone(), user_lines.clone(), say.clone(), pipe("in"));
        thread::spawn(move || {
            let input = BufReader::new(File::open(input).unwrap());
            for line in input.lines().map_while(Result::ok) {
                let line: Value = serde_json::from_str(&line).unwrap();
                match line["type"].as_str() {
                    Some("control_request") => drop(reply.send(answered(&line))),
                    Some("control_response") => seen.push(line["response"].clone()),
                    _ => heard.push(line),
                }
            }
        });
        Self { child, say, answers, user_lines, frames: None }
    }

    /// Waits until the driver has said this to the model.
    #[track_caller]
    pub(crate) fn hears(&self, text: &str) {
        let said = self.user_lines.find(PATIENCE, |line| line.to_string().contains(text));
        said.or_fail(|missed| self.story(&format!("{text:?}: {missed}")));
    }

    /// Makes a request as the client does, and returns the answer.
    #[track_caller]
    pub(crate) fn request(&self, request: &Value) -> Value {
        let id = random_hex(8);
        self.say.send(json!({"type": "control_request", "request_id": id, "request": request})).unwrap();
        let answer = self.answers.take(PATIENCE, |answer| answer["request_id"] == *id);
        answer.or_fail(|missed| self.story(&format!("the answer to {request}: {missed}")))["response"].clone()
    }

    fn story(&self, what: &str) -> String {
        format!("waiting for {what}\n{}", self.child.story())
    }
}

impl Drop for ControlClient {
    /// Every frame that the editor was told is one of the protocol.
    fn drop(&mut self) {
        let Some(frames) = self.frames.as_ref().filter(|_| !thread::panicking()) else { return };
        for line in self.child.stdout().lines() {
            frames.note_line(Side::Agent, line.as_bytes());
        }
        frames.check();
    }
}

/// What the client answers to a request of the driver.
fn answered(line: &Value) -> Value {
    let response = match line["request"]["subtype"].as_str() {
        Some("initialize") => json!({"hook_on_failure_supported": true, "claude_code_version": "0.0.0"}),
        Some("get_plan") => json!({"content": "the plan"}),
        Some("get_hooks_listing") => json!({"hooks": []}),
        Some("list_permission_rules") => json!({"state": {"rules": [], "originalCwd": "/"}}),
        _ => json!({}),
    };
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": line["request_id"], "response": response}})
}
