//! A Claude Code that `portcullis run` drives, played by the test: it speaks the control protocol through two named pipes.

use super::child::{Child, Stdin};
use super::home::{Home, random_hex};
use super::seen::{OrFail, PATIENCE, Seen};
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
}

impl ControlClient {
    /// `portcullis run` in this mode, with this client behind it, ready for requests.
    #[track_caller]
    pub(crate) fn start(home: &Home, mode: &str, args: &[&str]) -> Self {
        let script = home.user().join(format!("claude-{}", random_hex(4)));
        fs::write(&script, SCRIPT).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        let pipe = |end: &str| PathBuf::from(format!("{}.{end}", script.display()));
        for end in ["in", "out"] {
            assert!(Command::new("mkfifo").arg(pipe(end)).status().unwrap().success());
        }
        let mut command = home.command(&[&["run", "go", "--permission-mode", mode, "--label", "api"], args].concat());
        command.env("PORTCULLIS_CLAUDE", &script).env("IS_SANDBOX", "1");
        let child = home.spawn(command, Stdin::Nothing);
        let (say, lines) = channel::<Value>();
        let out = pipe("out");
        thread::spawn(move || {
            let mut out = File::options().write(true).open(out).unwrap();
            while let Ok(line) = lines.recv() {
                writeln!(out, "{line}").ok();
            }
        });
        let (answers, user_lines, ready) = (Seen::new(), Seen::new(), Seen::new());
        let (seen, heard, is_ready, reply, input) =
            (answers.clone(), user_lines.clone(), ready.clone(), say.clone(), pipe("in"));
        thread::spawn(move || {
            let input = BufReader::new(File::open(input).unwrap());
            for line in input.lines().map_while(Result::ok) {
                let line: Value = serde_json::from_str(&line).unwrap();
                match line["type"].as_str() {
                    Some("control_request") => {
                        is_ready.push(line["request"]["subtype"].clone());
                        reply.send(answered(&line)).ok();
                    }
                    Some("control_response") => seen.push(line["response"].clone()),
                    _ => heard.push(line),
                }
            }
        });
        let client = Self { child, say, answers, user_lines };
        ready.find(PATIENCE, |subtype| subtype == "initialize").or_fail(|missed| client.story(&missed.to_string()));
        client.hears("go");
        client
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

/// What the client answers to a request of the driver.
fn answered(line: &Value) -> Value {
    let response = match line["request"]["subtype"].as_str() {
        Some("initialize") => json!({"hook_on_failure_supported": true, "claude_code_version": "0.0.0"}),
        Some("get_plan") => json!({"content": "the plan"}),
        _ => json!({}),
    };
    json!({"type": "control_response", "response": {"subtype": "success", "request_id": line["request_id"], "response": response}})
}
