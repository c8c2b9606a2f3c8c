//! An editor with files and terminals: buffers that are not saved, and commands that really run.

use super::editor::Editor;
use crate::support::home::Home;
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

pub(super) struct Desk {
    pub(super) editor: Editor,
    /// What the editor shows of a file where that is not what the disk holds.
    buffers: RefCell<HashMap<PathBuf, String>>,
    terminals: RefCell<HashMap<String, Terminal>>,
    /// Where what commands print is kept.
    folder: tempfile::TempDir,
    environment: Vec<(OsString, OsString)>,
    /// The methods that the agent has used.
    used: RefCell<Vec<String>>,
}

struct Terminal {
    child: Child,
    output: PathBuf,
    limit: u64,
    exit: Option<Value>,
}

impl Desk {
    pub(super) fn capabilities() -> Value {
        json!({"fs": {"readTextFile": true, "writeTextFile": true}, "terminal": true})
    }

    pub(super) fn new(home: &Home, editor: Editor) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let of_home = home.program("sh");
        let variable = |(name, value): (&OsStr, Option<&OsStr>)| Some((name.to_owned(), value?.to_owned()));
        let environment = of_home.get_envs().filter_map(variable).collect();
        let (buffers, terminals, used) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { editor, buffers, terminals, folder, environment, used }
    }

    /// Somebody types, and does not save.
    pub(super) fn type_into(&self, path: &Path, text: &str) {
        self.buffers.borrow_mut().insert(path.to_owned(), text.to_owned());
    }

    pub(super) fn used(&self, method: &str) -> usize {
        self.used.borrow().iter().filter(|used| *used == method).count()
    }

    /// Prompts, serves what the agent wants of the editor, answers each prompt with an option of this kind, and returns the
    /// prompts when the turn has ended.
    #[track_caller]
    pub(super) fn turn(&self, session: &str, text: &str, kind: &str) -> Vec<Value> {
        let prompt = self.editor.prompt(session, text);
        let mut asked = vec![];
        loop {
            let frame = self.editor.request_or_end(prompt);
            match frame["method"].as_str() {
                Some("session/request_permission") => {
                    self.editor.choose(&frame, kind);
                    asked.push(frame);
                }
                Some(_) => self.serve(&frame),
                None => {
                    assert_eq!(frame["result"]["stopReason"], "end_turn", "{frame}");
                    return asked;
                }
            }
        }
    }

    /// Does what the agent wants of the editor.
    #[track_caller]
    pub(super) fn serve(&self, request: &Value) {
        let method = request["method"].as_str().unwrap();
        self.used.borrow_mut().push(method.to_owned());
        let params = &request["params"];
        let path = || PathBuf::from(params["path"].as_str().unwrap());
        let answer = match method {
            "fs/read_text_file" => {
                let buffer = self.buffers.borrow().get(&path()).cloned();
                match buffer.map_or_else(|| fs::read_to_string(path()), Ok) {
                    Ok(text) => json!({"content": text}),
                    Err(error) => {
                        return self.editor.refuse(request, -32002, &error.to_string());
                    }
                }
            }
            "fs/write_text_file" => {
                self.buffers.borrow_mut().remove(&path());
                fs::write(path(), params["content"].as_str().unwrap()).unwrap();
                json!({})
            }
            "terminal/create" => self.create(params),
            "terminal/wait_for_exit" => self.terminal(params, |terminal| terminal.wait().clone()),
            "terminal/output" => self.terminal(params, Terminal::output),
            "terminal/kill" | "terminal/release" => self.terminal(params, |terminal| {
                terminal.end();
                json!({})
            }),
            other => panic!("the agent asked for {other}"),
        };
        self.editor.answer(request, &answer);
    }

    fn create(&self, params: &Value) -> Value {
        let id = format!("terminal-{}", self.terminals.borrow().len() + 1);
        let output = self.folder.path().join(&id);
        let printed = File::create(&output).unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut command = Command::new(text(&params["command"]));
        command.args(params["args"].as_array().into_iter().flatten().map(text)).current_dir(text(&params["cwd"]));
        command.envs(self.environment.clone());
        for variable in params["env"].as_array().into_iter().flatten() {
            command.env(text(&variable["name"]), text(&variable["value"]));
        }
        command.stdin(Stdio::null()).stdout(printed.try_clone().unwrap()).stderr(printed);
        let child = command.spawn().unwrap();
        let terminal = Terminal { child, output, limit: params["outputByteLimit"].as_u64().unwrap(), exit: None };
        self.terminals.borrow_mut().insert(id.clone(), terminal);
        json!({"terminalId": id})
    }

    fn terminal(&self, params: &Value, act: impl FnOnce(&mut Terminal) -> Value) -> Value {
        act(self.terminals.borrow_mut().get_mut(params["terminalId"].as_str().unwrap()).unwrap())
    }
}

impl Terminal {
    /// As some editors do: the program alone is told to end.
    fn end(&mut self) {
        if self.child.try_wait().unwrap().is_none() {
            let pid = self.child.id().to_string();
            assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
        }
        self.wait();
    }

    fn wait(&mut self) -> &Value {
        let status = self.child.wait().unwrap();
        self.exit.insert(json!({"exitCode": status.code()}))
    }

    fn output(&mut self) -> Value {
        if let Some(status) = self.child.try_wait().unwrap() {
            self.exit = Some(json!({"exitCode": status.code()}));
        }
        let text = fs::read_to_string(&self.output).unwrap();
        let start = text.len().saturating_sub(usize::try_from(self.limit).unwrap());
        json!({"output": &text[start..], "truncated": start > 0, "exitStatus": self.exit})
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        for terminal in self.terminals.get_mut().values_mut() {
            terminal.end();
        }
    }
}
