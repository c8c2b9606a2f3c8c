//! One entry of a configuration: which program it starts, or which address it reaches.

use std::collections::BTreeMap;
use std::time::Duration;

use portcullis_wire::canonical::canonical;
use serde_json::{Map, Value, json};

use super::expand::{Lookup, expand};

/// What an entry says, as far as we use it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ServerEntry {
    pub(crate) endpoint: Endpoint,
    /// The longest that one call may take, whatever progress it reports.
    pub(crate) timeout: Option<Duration>,
    /// The revision of the protocol that the server is known to speak; else it is asked.
    pub(crate) revision: Option<Revision>,
}

/// Which lifecycle a server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revision {
    /// It has `initialize`: 2025-11-25 and older.
    Initialize,
    /// It has `server/discover`: 2026-07-28.
    Discover,
}

/// Where a server is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// A program that we start, and that speaks on its standard streams.
    Stdio {
        command: String,
        args: Vec<String>,
        env: BTreeMap<String, String>,
    },
    Remote(RemoteEndpoint),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RemoteEndpoint {
    pub(crate) transport: RemoteTransport,
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    /// A shell command that prints more headers as one JSON object.
    pub(crate) headers_helper: Option<String>,
    pub(crate) oauth: Box<OAuthSettings>,
}

/// How someone signs in, where the server does not say it all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct OAuthSettings {
    /// A client that was registered by hand, or the address of its description.
    pub(crate) client_id: Option<String>,
    pub(crate) callback_port: Option<u16>,
    /// Where the authorisation server describes itself.
    pub(crate) metadata_url: Option<String>,
    pub(crate) scopes: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RemoteTransport {
    Http,
    Sse,
    Ws,
    /// A server of someone's account at claude.ai: HTTP, with a token that a helper prints.
    ClaudeAiProxy,
    /// An editor of this machine, found by the file that it left for us.
    SseIde,
    WsIde,
}

impl RemoteTransport {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Sse => "sse",
            Self::Ws => "ws",
            Self::ClaudeAiProxy => "claudeai-proxy",
            Self::SseIde => "sse-ide",
            Self::WsIde => "ws-ide",
        }
    }

    /// Whether the server is an editor of this machine.
    pub(crate) fn is_editor(self) -> bool {
        matches!(self, Self::SseIde | Self::WsIde)
    }

    /// Whether someone can sign in to such a server: a WebSocket has its token in its entry.
    pub(crate) fn takes_tokens(self) -> bool {
        match self {
            Self::Http | Self::Sse => true,
            Self::Ws | Self::ClaudeAiProxy | Self::SseIde | Self::WsIde => false,
        }
    }
}

impl Endpoint {
    /// The word for it in `type`.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Stdio { .. } => "stdio",
            Self::Remote(remote) => remote.transport.name(),
        }
    }

    /// The command line or the address, for people.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Stdio { command, args, .. } => {
                std::iter::once(command).chain(args).map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
            }
            Self::Remote(remote) => remote.url.clone(),
        }
    }

    /// Whether both start the same command line, or reach the same address.
    pub(super) fn is_same_server(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Stdio { command, args, .. }, Self::Stdio { command: other, args: others, .. }) => {
                command == other && args == others
            }
            (Self::Remote(remote), Self::Remote(other)) => remote.url == other.url,
            (Self::Stdio { .. }, Self::Remote(_)) | (Self::Remote(_), Self::Stdio { .. }) => false,
        }
    }

    /// Whether it starts the program that runs now, by whichever path, or another copy of it.
    pub(crate) fn starts_this_program(&self) -> bool {
        let Self::Stdio { command, env, .. } = self else { return false };
        if command.rsplit('/').next() == Some("portcullis") {
            return true;
        }
        let own = std::env::current_exe().and_then(std::fs::canonicalize);
        let path = env.get("PATH").map(Into::into).or_else(|| std::env::var_os("PATH")).unwrap_or_default();
        let in_path = || std::env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.is_file());
        let program = if command.contains('/') { Some(command.into()) } else { in_path() };
        let program = program.and_then(|program| std::fs::canonicalize(program).ok());
        program.is_some_and(|program| own.is_ok_and(|own| own == program))
    }

    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Stdio { .. })
    }
}

/// As it would be typed.
fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./:@=+,%$".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("{word:?}") }
}

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

    /// All that decides what is started or reached and with what, as one text. An approval is for this text.
    pub(crate) fn identity(&self, name: &str) -> String {
        match &self.endpoint {
            Endpoint::Stdio { command, args, env } => {
                canonical(&json!({ "name": name, "type": "stdio", "command": command, "args": args, "env": env }))
            }
            Endpoint::Remote(remote) => {
                let mut identity = json!({
                    "name": name, "type": remote.transport.name(), "url": remote.url, "headers": remote.headers,
                    "headersHelper": remote.headers_helper,
                });
                // Left out where there is none, so that what was approved before stays approved.
                let oauth = &remote.oauth;
                if let (Some(identity), true) = (identity.as_object_mut(), **oauth != OAuthSettings::default()) {
                    let oauth = json!([oauth.client_id, oauth.callback_port, oauth.metadata_url, oauth.scopes]);
                    identity.insert("oauth".to_owned(), oauth);
                }
                canonical(&identity)
            }
        }
    }

    /// The entry with its variables filled in, and the names of those that are not set.
    pub(super) fn expanded(&self, variables: Lookup<'_>) -> (Self, Vec<String>) {
        let mut missing = vec![];
        let mut fill = |text: &String| expand(text, variables, &mut missing);
        let endpoint = match &self.endpoint {
            Endpoint::Stdio { command, args, env } => Endpoint::Stdio {
                command: fill(command),
                args: args.iter().map(&mut fill).collect(),
                env: env.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
            },
            Endpoint::Remote(remote) => Endpoint::Remote(RemoteEndpoint {
                url: fill(&remote.url),
                headers: remote.headers.iter().map(|(name, value)| (name.clone(), fill(value))).collect(),
                ..remote.clone()
            }),
        };
        (Self { endpoint, ..self.clone() }, missing)
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

    #[test]
    fn whatever_decides_what_runs_is_part_of_its_identity() {
        let identity = |entry: Value| ServerEntry::parse("x", &entry).unwrap().identity("x");
        let entries = [
            json!({"command": "a"}),
            json!({"command": "b"}),
            json!({"command": "a", "args": ["b"]}),
            json!({"command": "a", "env": {"PATH": "/tmp"}}),
            json!({"type": "http", "url": "https://a"}),
            json!({"type": "http", "url": "https://b"}),
            json!({"type": "sse", "url": "https://a"}),
            json!({"type": "http", "url": "https://a", "headersHelper": "x"}),
            json!({"type": "http", "url": "https://a", "headers": {"A": "${SECRET}"}}),
        ];
        let identities: std::collections::BTreeSet<String> = entries.iter().cloned().map(identity).collect();
        assert_eq!(identities.len(), entries.len());
        assert_eq!(identity(json!({"command": "a", "timeout": 5000})), identity(json!({"command": "a"})));
    }
}
