//! The MCP servers of a folder, for whoever administers the gate. The gate starts no server: `portcullis mcp` does, in a
//! process of its own that ends when it has answered.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use portcullis_wire::api::{McpServerView, McpSignInView, NamedMcpServer};
use portcullis_wire::error::{Fault, Kind};
use serde::de::DeserializeOwned;

use super::reach;
use crate::doors::http::McpLooks;
use crate::locks::locked;

/// Sign-ins that wait for a browser, by folder and server. Another one for the same server takes the place of the first.
type SignIns = Arc<Mutex<HashMap<(String, String), Child>>>;

/// As many may wait at once.
const MOST_SIGN_INS: usize = 8;

pub(super) fn looks() -> McpLooks {
    let sign_ins = SignIns::default();
    // One at a time: each starts the servers of its folder.
    let turn = Mutex::new(());
    McpLooks {
        servers: Box::new(move |folder| {
            let _turn = locked(&turn);
            servers(&folder)
        }),
        approve: Box::new(|named| approve(&named)),
        sign_in: Box::new(move |named| sign_in(&sign_ins, named)),
    }
}

fn servers(folder: &Path) -> Result<Vec<McpServerView>, Fault> {
    answered(&mut command(folder, ["mcp", "list", "--json"])?)
}

/// Approves what the person was shown, and nothing that stands there since.
fn approve(named: &NamedMcpServer) -> Result<(), Fault> {
    let folder = Path::new(&named.folder);
    let seen = named.hash.as_deref().ok_or_else(|| bad("the hash of the server that was shown is missing"))?;
    let args = ["mcp", "approve", "--json", "--hash", seen, "--", &named.name];
    answered::<serde_json::Value>(&mut command(folder, args)?).map(drop)
}

fn sign_in(sign_ins: &SignIns, named: NamedMcpServer) -> Result<McpSignInView, Fault> {
    let mut command = command(Path::new(&named.folder), ["mcp", "login", "--no-open", "--json", "--", &named.name])?;
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().map_err(|error| failed(&error))?;
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line).map_err(|error| failed(&error))?;
    }
    let Ok(begun) = serde_json::from_str::<McpSignInView>(&line) else {
        let ended = child.wait_with_output().map_err(|error| failed(&error))?;
        return Err(said(&ended.stderr));
    };
    let mut waiting = locked(sign_ins);
    waiting.retain(|_, child| matches!(child.try_wait(), Ok(None)));
    let before = waiting.remove(&(named.folder.clone(), named.name.clone()));
    if waiting.len() >= MOST_SIGN_INS {
        end(child);
        return Err(Fault::new(Kind::Busy, "too many sign-ins wait for a browser"));
    }
    before.into_iter().for_each(end);
    waiting.insert((named.folder, named.name), child);
    Ok(begun)
}

fn end(mut child: Child) {
    // It may have ended by itself.
    child.kill().ok();
    child.wait().ok();
}

fn command<I: AsRef<OsStr>>(folder: &Path, args: impl IntoIterator<Item = I>) -> Result<Command, Fault> {
    if !folder.is_absolute() || !folder.is_dir() {
        return Err(bad(format!("there is no folder {:?}", folder.display().to_string())));
    }
    let program = reach::this_program().map_err(|error| Fault::new(Kind::Internal, format!("{error:#}")))?;
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

fn answered<T: DeserializeOwned>(command: &mut Command) -> Result<T, Fault> {
    let ended = command.output().map_err(|error| failed(&error))?;
    match serde_json::from_slice(&ended.stdout) {
        Ok(answer) if ended.status.success() => Ok(answer),
        _ => Err(said(&ended.stderr)),
    }
}

/// The error that the command printed, with its hint.
fn said(stderr: &[u8]) -> Fault {
    let text = String::from_utf8_lossy(stderr);
    let line = |start: &str| text.lines().find_map(|line| line.trim().strip_prefix(start).map(str::to_owned));
    let fault = Fault::new(Kind::BadRequest, line("error: ").unwrap_or_else(|| "the command said nothing".to_owned()));
    match line("hint: ") {
        Some(hint) => Fault { hint, ..fault },
        None => fault,
    }
}

fn bad(what: impl Into<String>) -> Fault {
    Fault::new(Kind::BadRequest, what)
}

fn failed(error: &std::io::Error) -> Fault {
    Fault::new(Kind::Internal, format!("running portcullis mcp: {error}"))
}
