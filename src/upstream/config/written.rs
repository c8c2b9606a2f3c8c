//! An entry as it is written: read, or what is wrong with it in one sentence.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Map, Value};

use super::entry::{Endpoint, OAuthSettings, RemoteEndpoint, RemoteTransport, Revision, ServerEntry};

/// Values below a second are mistakes of the unit: Claude Code ignores them too.
const SHORTEST_TIMEOUT: u64 = 1000;

impl ServerEntry {
    /// What an entry says; else one sentence on what is wrong with it.
    pub(super) fn parse(name: &str, written: &Value) -> Result<Self, String> {
        let Some(fields) = written.as_object() else { return Err("the entry is no object".to_owned()) };
        let timeout = fields.get("timeout").and_then(Value::as_u64).filter(|time| *time >= SHORTEST_TIMEOUT);
        let endpoint = match text(fields, "type")?.as_deref() {
            None if fields.contains_key("url") => {
                return Err(format!(
                    "MCP server {name:?} has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / \"ws\") to \
                     this entry"
                ));
            }
            None | Some("stdio") => stdio(fields)?,
            Some("http" | "streamable-http") => remote(fields, RemoteTransport::Http)?,
            Some("sse") => remote(fields, RemoteTransport::Sse)?,
            Some("ws") => remote(fields, RemoteTransport::Ws)?,
            Some("claudeai-proxy") => remote(fields, RemoteTransport::ClaudeAiProxy)?,
            Some("sse-ide") => ide(fields, RemoteTransport::SseIde)?,
            Some("ws-ide") => ide(fields, RemoteTransport::WsIde)?,
            Some(other @ "sdk") => {
                return Err(format!(
                    "servers of type {other:?} are Claude Code's own; portcullis does not connect to them"
                ));
            }
            Some(other) => return Err(format!("{other:?} is no type of server: use stdio, http, sse or ws")),
        };
        let revision = match text(fields, "protocolVersion")?.as_deref() {
            None => None,
            Some("2026-07-28") => Some(Revision::Discover),
            Some("2024-11-05" | "2025-03-26" | "2025-06-18" | "2025-11-25") => Some(Revision::Initialize),
            Some(other) => {
                return Err(format!("{other:?} is no revision of the protocol: leave \"protocolVersion\" out"));
            }
        };
        Ok(Self { endpoint, timeout: timeout.map(Duration::from_millis), revision })
    }
}

fn stdio(fields: &Map<String, Value>) -> Result<Endpoint, String> {
    let Some(command) = text(fields, "command")?.filter(|command| !command.trim().is_empty()) else {
        return Err("the entry has no \"command\"".to_owned());
    };
    let args = match fields.get("args") {
        None | Some(Value::Null) => vec![],
        Some(Value::Array(words)) => words
            .iter()
            .map(|word| word.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or("\"args\" holds something that is no text")?,
        Some(_) => return Err("\"args\" is no list of texts".to_owned()),
    };
    Ok(Endpoint::Stdio { command, args, env: texts(fields, "env")? })
}

/// Where the entry names no address, the editor is looked for when it is needed.
fn ide(fields: &Map<String, Value>, transport: RemoteTransport) -> Result<Endpoint, String> {
    let mut fields = fields.clone();
    fields.entry("url").or_insert_with(|| Value::String(String::new()));
    remote(&fields, transport)
}

fn remote(fields: &Map<String, Value>, transport: RemoteTransport) -> Result<Endpoint, String> {
    let Some(url) = text(fields, "url")? else { return Err("the entry has no \"url\"".to_owned()) };
    Ok(Endpoint::Remote(RemoteEndpoint {
        transport,
        url,
        headers: texts(fields, "headers")?,
        headers_helper: text(fields, "headersHelper")?,
        oauth: Box::new(oauth(fields)?),
    }))
}

fn oauth(fields: &Map<String, Value>) -> Result<OAuthSettings, String> {
    let fields = match fields.get("oauth") {
        None | Some(Value::Null) => return Ok(OAuthSettings::default()),
        Some(Value::Object(fields)) => fields,
        Some(_) => return Err("\"oauth\" is no object".to_owned()),
    };
    let callback_port = match fields.get("callbackPort") {
        None | Some(Value::Null) => None,
        Some(port) => {
            Some(port.as_u64().and_then(|port| u16::try_from(port).ok()).ok_or("\"callbackPort\" is no port")?)
        }
    };
    let metadata_url = text(fields, "authServerMetadataUrl")?;
    if metadata_url.as_ref().is_some_and(|url| !url.starts_with("https://")) {
        return Err("\"authServerMetadataUrl\" has to begin with https://".to_owned());
    }
    let scopes = text(fields, "scopes")?.unwrap_or_default();
    let scopes = scopes.split_whitespace().map(str::to_owned).collect();
    Ok(OAuthSettings { client_id: text(fields, "clientId")?, callback_port, metadata_url, scopes })
}

fn text(fields: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("{key:?} is no text")),
    }
}

fn texts(fields: &Map<String, Value>, key: &str) -> Result<BTreeMap<String, String>, String> {
    let wrong = || format!("{key:?} is no object of texts");
    match fields.get(key) {
        None | Some(Value::Null) => Ok(BTreeMap::new()),
        Some(Value::Object(values)) => values
            .iter()
            .map(|(name, value)| value.as_str().map(|value| (name.clone(), value.to_owned())))
            .collect::<Option<_>>()
            .ok_or_else(wrong),
        Some(_) => Err(wrong()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn wrong(entry: &Value) -> String {
        ServerEntry::parse("x", entry).unwrap_err()
    }

    #[test]
    fn what_is_wrong_with_an_entry_is_said_in_one_sentence() {
        let text = "MCP server \"x\" has a \"url\" but no \"type\"; add \"type\": \"http\" (or \"sse\" / \"ws\") to this entry";
        assert_eq!(wrong(&json!({"url": "https://a"})), text);
        assert_eq!(wrong(&json!([])), "the entry is no object");
        assert_eq!(wrong(&json!({})), "the entry has no \"command\"");
        assert_eq!(wrong(&json!({"command": "a", "args": "b"})), "\"args\" is no list of texts");
        assert_eq!(wrong(&json!({"command": "a", "env": {"A": 1}})), "\"env\" is no object of texts");
        assert_eq!(wrong(&json!({"type": "http"})), "the entry has no \"url\"");
        assert_eq!(
            wrong(&json!({"type": "carrier", "url": "x"})),
            "\"carrier\" is no type of server: use stdio, http, sse or ws"
        );
    }
}
