//! The MCP servers that an editor brings along, for Claude Code: in a file of the session's own, since they hold secrets.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{EnvVariable, HttpHeader, McpServer};
use serde_json::{Map, Value, json};

use crate::files::make_folder;
use crate::mint::uuid;
use crate::processes;

/// How the names of such files begin and end. Between them is the process that has written it, and what makes it one of
/// its own.
const FILE_START: &str = "acp-servers-";
const FILE_END: &str = ".json";

/// Removes the files of those that were killed.
pub(super) fn forget_older(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().filter_map(Result::ok) {
        let name = entry.file_name();
        let ours = name.to_str().and_then(|name| name.strip_prefix(FILE_START)?.strip_suffix(FILE_END));
        let process = ours.and_then(|ours| ours.split_once('-')?.0.parse().ok());
        if process.is_some_and(|process| !processes::is_alive(process)) {
            drop(fs::remove_file(entry.path()));
        }
    }
}

/// What a Claude Code is told of the servers of its editor, as long as it has to be.
#[derive(Debug, Default)]
pub(super) struct EditorServers {
    for_client: Option<ServersFile>,
    /// The servers themselves, where Claude Code is told to start the gateway for each: kept for it.
    _for_gateway: Option<ServersFile>,
}

impl EditorServers {
    /// Writes the servers down for one start of Claude Code. `gateway` is the program that stands before each of them.
    pub(super) fn write(folder: &Path, servers: Vec<McpServer>, gateway: Option<&Path>) -> Result<Self, Error> {
        if servers.is_empty() {
            return Ok(Self::default());
        }
        let entries = in_claude_form(servers)?;
        let (shown, for_gateway) = match gateway {
            None => (entries, None),
            Some(program) => {
                let (file, name) = ServersFile::write(folder, &entries)?;
                let serve = |server: &String| {
                    let args = ["mcp", "serve", "--server", server, "--editor-servers", &name];
                    (server.clone(), json!({"type": "stdio", "command": program, "args": args}))
                };
                (entries.keys().map(serve).collect(), Some(file))
            }
        };
        let (file, _) = ServersFile::write(folder, &shown)?;
        Ok(Self { for_client: Some(file), _for_gateway: for_gateway })
    }

    /// The file that Claude Code reads when it starts.
    pub(super) fn path(&self) -> Option<String> {
        self.for_client.as_ref().map(|file| file.0.display().to_string())
    }

    /// Claude Code has read it. A gateway looks at its own for as long as it runs.
    pub(super) fn were_read(&mut self) {
        self.for_client = None;
    }
}

/// A file that is there as long as this is.
#[derive(Debug)]
struct ServersFile(PathBuf);

impl ServersFile {
    /// The file, and its name.
    fn write(folder: &Path, entries: &Map<String, Value>) -> Result<(Self, String), Error> {
        let config = json!({"mcpServers": entries}).to_string();
        let name = format!("{FILE_START}{}-{}{FILE_END}", std::process::id(), uuid());
        let path = folder.join(&name);
        let written = (|| {
            // The first session of a fresh home begins before any gate has made it.
            make_folder(folder)?;
            let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(config.as_bytes())
        })();
        match written {
            Ok(()) => Ok((Self(path), name)),
            Err(error) => Err(Error::new(-32603, format!("writing down the editor's MCP servers: {error}"))),
        }
    }
}

impl Drop for ServersFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

fn in_claude_form(servers: Vec<McpServer>) -> Result<Map<String, Value>, Error> {
    let mut entries = Map::new();
    for server in servers {
        let (name, entry) = match server {
            McpServer::Stdio(server) => {
                let env = pairs(server.env.into_iter().map(|EnvVariable { name, value, .. }| (name, value)));
                (server.name, json!({"type": "stdio", "command": server.command, "args": server.args, "env": env}))
            }
            McpServer::Http(server) => {
                (server.name, json!({"type": "http", "url": server.url, "headers": headers(server.headers)}))
            }
            McpServer::Sse(server) => {
                (server.name, json!({"type": "sse", "url": server.url, "headers": headers(server.headers)}))
            }
            _ => return Err(Error::new(-32602, "an MCP server of this kind cannot be given to Claude Code")),
        };
        entries.insert(name, entry);
    }
    Ok(entries)
}

fn headers(headers: Vec<HttpHeader>) -> Value {
    pairs(headers.into_iter().map(|HttpHeader { name, value, .. }| (name, value)))
}

fn pairs(pairs: impl Iterator<Item = (String, String)>) -> Value {
    Value::Object(pairs.map(|(name, value)| (name, value.into())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agent_client_protocol::v1::schema::NewSessionRequest;

    #[test]
    fn servers_of_every_kind_are_written_for_claude_code_and_gone_with_the_session() {
        let request: NewSessionRequest = serde_json::from_value(json!({"cwd": "/", "mcpServers": [
            {"name": "db", "command": "/bin/db", "args": ["-x"], "env": [{"name": "KEY", "value": "secret"}]},
            {"type": "http", "name": "web", "url": "http://x/", "headers": [{"name": "A", "value": "b"}]},
        ]}))
        .unwrap();
        let home = tempfile::tempdir().unwrap();
        let folder = home.path().join("not/there/yet");
        let write = |gateway| EditorServers::write(&folder, request.mcp_servers.clone(), gateway).unwrap();
        let read = |path: &Path| serde_json::from_slice::<Value>(&fs::read(path).unwrap()).unwrap();
        let (file, second) = (write(None), write(None));
        assert_ne!(file.path(), second.path());
        drop(second);
        let entries = json!({"mcpServers": {
            "db": {"type": "stdio", "command": "/bin/db", "args": ["-x"], "env": {"KEY": "secret"}},
            "web": {"type": "http", "url": "http://x/", "headers": {"A": "b"}},
        }});
        assert_eq!(read(Path::new(&file.path().unwrap())), entries);

        let mut behind = write(Some(Path::new("/bin/portcullis")));
        let shown = read(Path::new(&behind.path().unwrap()));
        let kept = &behind._for_gateway.as_ref().unwrap().0;
        let name = kept.file_name().unwrap().to_str().unwrap();
        let args = json!(["mcp", "serve", "--server", "web", "--editor-servers", name]);
        assert_eq!(shown["mcpServers"]["web"], json!({"type": "stdio", "command": "/bin/portcullis", "args": args}));
        assert!(!shown.to_string().contains("secret"));
        assert_eq!(read(kept), entries);
        behind.were_read();
        assert_eq!((behind.path(), behind._for_gateway.as_ref().unwrap().0.exists()), (None, true));
        drop(behind);
        // No process has such a number.
        fs::write(folder.join("acp-servers-4194305-x.json"), "secret").unwrap();
        fs::write(folder.join("acp-servers.json"), "not ours").unwrap();
        forget_older(&folder);
        assert!(fs::exists(file.path().unwrap()).unwrap());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_file(folder.join("acp-servers.json")).unwrap();
        drop(file);
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    }
}
