//! The frames of one connection, in both directions, each held against the published schema.

use super::agent::Agent;
use super::schema::{Schema, Side, UnknownFields};
use crate::support::home::{Home, random_hex};
use crate::support::seen::Seen;
use serde_json::Value;
use std::cell::Cell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[derive(Clone, Debug)]
pub(crate) struct Frame {
    pub(crate) from: Side,
    pub(crate) value: Value,
}

pub(crate) struct Frames {
    pub(crate) seen: Seen<Frame>,
    /// Frames of others may be at fault: the comparison counts them.
    is_ours: bool,
    schema: Schema,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// The methods of requests by who made them and their id; responses do not repeat them.
    methods: HashMap<(Side, String), String>,
    /// What the schema did not allow.
    faults: Vec<String>,
}

impl Frames {
    pub(super) fn of(agent: &Agent<'_>) -> Self {
        Self::between(agent.is_ours())
    }

    /// Those of `portcullis acp`.
    pub(crate) fn of_ours() -> Self {
        Self::between(true)
    }

    fn between(is_ours: bool) -> Self {
        // Others send what the published schema does not know; ours may not.
        let unknown = if is_ours { UnknownFields::Refused } else { UnknownFields::Accepted };
        let schema = Schema::published(unknown);
        Self { seen: Seen::new(), is_ours, schema, state: Mutex::default() }
    }

    pub(crate) fn note_line(&self, from: Side, line: &[u8]) {
        match serde_json::from_slice(line) {
            Ok(frame) => self.note(from, &frame),
            Err(error) => {
                self.lock().faults.push(format!("no JSON ({error}): {}", String::from_utf8_lossy(line)));
            }
        }
    }

    pub(crate) fn note(&self, from: Side, frame: &Value) {
        let mut state = self.lock();
        let id = frame["id"].to_string();
        let asked = match frame["method"].as_str() {
            Some(method) => {
                if frame.get("id").is_some() {
                    state.methods.insert((from, id), method.to_owned());
                }
                None
            }
            None => state.methods.get(&(from.other(), id)).cloned(),
        };
        if let Some(fault) = self.schema.fault(from, frame, asked.as_deref()) {
            state.faults.push(format!("{fault}: {frame}"));
        }
        drop(state);
        self.seen.push(Frame { from, value: frame.clone() });
    }

    /// What the schema did not allow so far.
    pub(super) fn faults(&self) -> Vec<String> {
        self.lock().faults.clone()
    }

    /// Fails when a frame of our agent, or to it, was at fault.
    #[track_caller]
    pub(crate) fn check(&self) {
        let faults = self.faults();
        assert!(!self.is_ours || faults.is_empty(), "frames that are not ACP:\n{}", faults.join("\n"));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An agent as a script, for clients that start it themselves. Both directions are copied to files, each time it is started
/// to others.
pub(super) struct Recorded {
    pub(super) script: PathBuf,
    is_ours: bool,
    is_checked: Cell<bool>,
}

impl Recorded {
    pub(super) fn new(home: &Home, agent: &Agent<'_>) -> Self {
        let script = home.user().join(format!("agent-{}.sh", random_hex(4)));
        let command = agent.command(home);
        let mut text = "#!/bin/sh\n".to_owned();
        for (name, value) in command.get_envs() {
            if let Some(value) = value {
                writeln!(text, "export {}={}", name.to_string_lossy(), quoted(&value.to_string_lossy())).unwrap();
            }
        }
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<String> = words.map(|word| quoted(&word.to_string_lossy())).collect();
        writeln!(text, "tee \"$0.$$.in\" | {} | tee \"$0.$$.out\"", words.join(" ")).unwrap();
        fs::write(&script, text).unwrap();
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755)).unwrap();
        Self { script, is_ours: agent.is_ours(), is_checked: Cell::new(false) }
    }

    /// Reads what both sides have said, fails when a frame of it is at fault, and returns the frames.
    #[track_caller]
    pub(super) fn check(&self) -> Vec<Frame> {
        self.is_checked.set(true);
        let name = self.script.display().to_string();
        let files = fs::read_dir(self.script.parent().unwrap()).unwrap().map(|file| file.unwrap().path());
        let names = files.map(|file| file.display().to_string()).filter(|file| file.starts_with(&name));
        let starts = names.filter_map(|file| file.strip_suffix(".in").map(str::to_owned));
        let frames: Vec<Frame> = starts.flat_map(|start| self.check_one(&start)).collect();
        let is_there = |side| frames.iter().any(|frame| frame.from == side);
        assert!(is_there(Side::Client) && is_there(Side::Agent), "nothing was recorded");
        frames
    }

    #[track_caller]
    fn check_one(&self, start: &str) -> Vec<Frame> {
        let frames = Frames::between(self.is_ours);
        let read = |end: &str| fs::read(format!("{start}.{end}")).unwrap_or_default();
        let (said, heard) = (read("in"), read("out"));
        // Of a side that was killed the last line may not be whole.
        let lines = |bytes: &[u8]| -> Vec<Vec<u8>> {
            let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
            bytes[..whole].split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).map(<[u8]>::to_vec).collect()
        };
        let (said, heard) = (lines(&said), lines(&heard));
        // Requests first: a response is understood by the request that it answers.
        for is_response in [false, true] {
            for (from, lines) in [(Side::Client, &said), (Side::Agent, &heard)] {
                let wanted = |line: &&Vec<u8>| {
                    let frame: Value = serde_json::from_slice(line).unwrap_or_default();
                    frame.get("method").is_none() == is_response
                };
                lines.iter().filter(wanted).for_each(|line| frames.note_line(from, line));
            }
        }
        frames.check();
        frames.seen.all()
    }
}

impl Drop for Recorded {
    /// No journey ends without its frames being held against the schema.
    fn drop(&mut self) {
        if !self.is_checked.get() && !std::thread::panicking() {
            self.check();
        }
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}
