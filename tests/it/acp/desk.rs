//! An editor with files and terminals: buffers that are not saved, and commands that really run.

use super::editor::Editor;
use crate::support::home::Home;
use crate::support::running::{self, Running};
use serde_json::{Value, json};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;

pub(super) struct Desk {
    pub(super) editor: Arc<Editor>,
    /// What the editor shows of a file where that is not what the disk holds.
    buffers: RefCell<HashMap<PathBuf, String>>,
    terminals: RefCell<HashMap<String, Terminal>>,
    /// Those that answer when a command has ended.
    waiting: RefCell<Vec<JoinHandle<()>>>,
    /// Where what commands print is kept.
    folder: tempfile::TempDir,
    environment: Vec<(OsString, OsString)>,
    /// The methods that the agent has used.
    used: RefCell<Vec<String>>,
}

#[derive(Clone)]
struct Terminal {
    pid: u32,
    output: PathBuf,
    limit: u64,
    /// Set when it has ended.
    exit: Arc<(Mutex<Option<Value>>, Condvar)>,
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
        let (editor, waiting) = (Arc::new(editor), RefCell::default());
        Self { editor, buffers, terminals, waiting, folder, environment, used }
    }

    /// Somebody types, and does not save.
    pub(super) fn type_into(&self, path: &Path, text: &str) {
        self.buffers.borrow_mut().insert(path.to_owned(), text.to_owned());
    }

    pub(super) fn used(&self, method: &str) -> usize {
        self.used.borrow().iter().filter(|used| *used == method).count()
    }

    /// What runs in the terminals.
    pub(super) fn running(&self) -> Vec<Running> {
        let terminals = self.terminals.borrow();
        let below = terminals.values().flat_map(|terminal| running::children_of(terminal.pid));
        below.collect()
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

    /// Does what the agent wants of the editor, until it has wanted this.
    #[track_caller]
    pub(super) fn serve_until(&self, method: &str) {
        while self.used(method) == 0 {
            self.serve(&self.editor.any_request());
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
            // Meanwhile the agent may want something else.
            "terminal/wait_for_exit" => {
                let terminal = self.terminal(params, Terminal::clone);
                let (editor, request) = (Arc::clone(&self.editor), request.clone());
                let waiting = std::thread::spawn(move || editor.answer(&request, &terminal.wait()));
                return self.waiting.borrow_mut().push(waiting);
            }
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
        let mut child = command.spawn().unwrap();
        let (pid, exit) = (child.id(), Arc::new((Mutex::new(None), Condvar::new())));
        let ended = Arc::clone(&exit);
        std::thread::spawn(move || {
            let status = child.wait().unwrap();
            *ended.0.lock().unwrap() = Some(json!({"exitCode": status.code()}));
            ended.1.notify_all();
        });
        let terminal = Terminal { pid, output, limit: params["outputByteLimit"].as_u64().unwrap(), exit };
        self.terminals.borrow_mut().insert(id.clone(), terminal);
        json!({"terminalId": id})
    }

    fn terminal<T>(&self, params: &Value, act: impl FnOnce(&Terminal) -> T) -> T {
        act(self.terminals.borrow().get(params["terminalId"].as_str().unwrap()).unwrap())
    }
}

impl Terminal {
    /// As some editors do: the program alone is told to end.
    fn end(&self) {
        if self.exit.0.lock().unwrap().is_none() {
            Command::new("kill").args(["-TERM", &self.pid.to_string()]).status().unwrap();
        }
        self.wait();
    }

    fn wait(&self) -> Value {
        let ended = self.exit.0.lock().unwrap();
        self.exit.1.wait_while(ended, |exit| exit.is_none()).unwrap().clone().unwrap()
    }

    fn output(&self) -> Value {
        let text = fs::read_to_string(&self.output).unwrap();
        let start = text.len().saturating_sub(usize::try_from(self.limit).unwrap());
        json!({"output": &text[start..], "truncated": start > 0, "exitStatus": *self.exit.0.lock().unwrap()})
    }
}

impl Drop for Desk {
    fn drop(&mut self) {
        for terminal in self.terminals.get_mut().values() {
            terminal.end();
        }
        for waiting in self.waiting.take() {
            // An editor that is gone is not answered.
            drop(waiting.join());
        }
    }
}
