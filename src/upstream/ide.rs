//! Editors of this machine that offer themselves as servers: each leaves a file with its port and a token.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::config::{RemoteEndpoint, RemoteTransport};
use super::failure::ConnectFailure;
use crate::config::environment;
use crate::setup::claude::ClaudeFiles;

/// The header that an editor knows us by.
const TOKEN: &str = "X-Claude-Code-Ide-Authorization";
/// Of an editor's tools only these are for others.
pub(super) const TOOLS: [&str; 2] = ["executeCode", "getDiagnostics"];
/// Larger files are none of an editor's.
const LARGEST: u64 = 64 << 10;

/// The editor that has this folder open, with its address and its token.
pub(super) fn found(remote: &RemoteEndpoint, folder: &Path) -> Result<RemoteEndpoint, ConnectFailure> {
    let none = || {
        let what = format!("no editor that runs has {} open (files: ~/.claude/ide/*.lock)", folder.display());
        ConnectFailure::new(what)
    };
    let files = ClaudeFiles::find(&environment).map_err(|error| ConnectFailure::new(error.to_string()))?;
    let (wanted, scheme) = match remote.transport {
        RemoteTransport::WsIde => ("ws", "ws"),
        _ => ("sse", "http"),
    };
    let entries = fs::read_dir(files.folder.join("ide")).into_iter().flatten().filter_map(Result::ok);
    let mut editors: Vec<(usize, u16, String)> =
        entries.filter_map(|entry| open_in(&entry.path(), folder, wanted)).collect();
    // The deepest workspace is the nearest.
    editors.sort();
    let (_, port, token) = editors.pop().ok_or_else(none)?;
    let path = if wanted == "sse" { "/sse" } else { "" };
    let mut found = remote.clone();
    found.url = format!("{scheme}://127.0.0.1:{port}{path}");
    found.headers.insert(TOKEN.to_owned(), token);
    Ok(found)
}

/// How deep the workspace is that holds the folder, the port and the token; nothing where the editor is another or gone.
fn open_in(path: &Path, folder: &Path, wanted: &str) -> Option<(usize, u16, String)> {
    if path.extension()? != "lock" || fs::metadata(path).ok()?.len() > LARGEST {
        return None;
    }
    let port: u16 = path.file_stem()?.to_str()?.parse().ok()?;
    let said: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let transport = said.get("transport").and_then(Value::as_str).unwrap_or("sse");
    let pid = said.get("pid").and_then(Value::as_i64).and_then(|pid| i32::try_from(pid).ok())?;
    let is_alive = rustix::process::test_kill_process(rustix::process::Pid::from_raw(pid)?).is_ok();
    let workspaces = said.get("workspaceFolders")?.as_array()?.iter().filter_map(Value::as_str).map(Path::new);
    let depth = workspaces.filter(|place| folder.starts_with(place)).map(|place| place.components().count()).max()?;
    let token = said.get("authToken").and_then(Value::as_str).unwrap_or_default().to_owned();
    (is_alive && transport == wanted).then_some((depth, port, token))
}
