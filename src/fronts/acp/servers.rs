//! The MCP servers that an editor brings along, for Claude Code: in a file of the session's own, since they hold secrets.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use agent_client_protocol::Error;
use agent_client_protocol::v1::schema::{EnvVariable, HttpHeader, McpServer};
use serde_json::{Map, Value, json};

/// A file that is there as long as this is.
#[derive(Debug)]
pub(super) struct ServersFile(PathBuf);

impl ServersFile {
    /// Writes the servers down for one conversation; none where the editor brings none.
    pub(super) fn write(folder: &Path, name: &str, servers: Vec<McpServer>) -> Result<Option<Self>, Error> {
        if servers.is_empty() {
            return Ok(None);
        }
        let config = in_claude_form(servers)?.to_string();
        let path = folder.join(format!("acp-servers-{name}.json"));
        let written = (|| {
            let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
            file.write_all(config.as_bytes())
        })();
        match written {
            Ok(()) => Ok(Some(Self(path))),
            Err(error) => Err(Error::new(-32603, format!("writing down the editor's MCP servers: {error}"))),
        }
    }

    pub(super) fn path(&self) -> String {
        self.0.display().to_string()
    }
}

impl Drop for ServersFile {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

fn in_claude_form(servers: Vec<McpServer>) -> Result<Value, Error> {
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
    Ok(json!({"mcpServers": entries}))
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
        let folder = tempfile::tempdir().unwrap();
        let file = ServersFile::write(folder.path(), "s", request.mcp_servers).unwrap().unwrap();
        let written: Value = serde_json::from_slice(&fs::read(file.path()).unwrap()).unwrap();
        assert_eq!(
            written,
            json!({"mcpServers": {
                "db": {"type": "stdio", "command": "/bin/db", "args": ["-x"], "env": {"KEY": "secret"}},
                "web": {"type": "http", "url": "http://x/", "headers": {"A": "b"}},
            }})
        );
        drop(file);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
