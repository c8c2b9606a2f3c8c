//! One entry of a configuration: which program it starts, or which address it reaches.

use std::collections::BTreeMap;
use std::time::Duration;

use portcullis_core::{mask, shell_word};
use portcullis_wire::canonical::canonical;
use serde_json::json;

use super::expand::{Lookup, expand};
use crate::config::users_variable;

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

    /// The program alone: what stands behind it may hold a secret, once variables are filled in.
    pub(crate) fn program(&self) -> &str {
        match self {
            Self::Stdio { command, .. } => command,
            Self::Remote(_) => "a server elsewhere",
        }
    }

    /// The command line or the address, for people.
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Stdio { command, args, .. } => {
                std::iter::once(command).chain(args).map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
            }
            // Not with the password that may stand in it.
            Self::Remote(remote) => mask(&remote.url).0.into_owned(),
        }
    }

    /// What it is started or reached with, a line each, as it is written: an approval is for this as well.
    pub(crate) fn with(&self) -> Vec<String> {
        match self {
            Self::Stdio { env, .. } => env.iter().map(|(name, value)| format!("{name}={value}")).collect(),
            Self::Remote(remote) => {
                let headers = remote.headers.iter().map(|(name, value)| format!("{name}: {value}"));
                let helper = remote.headers_helper.iter().map(|helper| format!("headersHelper: {helper}"));
                headers.chain(helper).collect()
            }
        }
    }

    /// The parts that begin or end with a space, which is most often a mistake.
    pub(super) fn padded(&self) -> Vec<String> {
        let of_values = |values: &BTreeMap<String, String>, kind: &str| -> Vec<(String, String)> {
            values.iter().map(|(name, value)| (format!("{kind} {name}"), value.clone())).collect()
        };
        let mut parts = match self {
            Self::Stdio { command, env, .. } => {
                let mut parts = of_values(env, "env");
                parts.push(("command".to_owned(), command.clone()));
                parts
            }
            Self::Remote(remote) => {
                let mut parts = of_values(&remote.headers, "header");
                parts.push(("url".to_owned(), remote.url.clone()));
                parts
            }
        };
        parts.retain(|(_, value)| value.trim() != value);
        parts.into_iter().map(|(name, _)| name).collect()
    }

    /// The command that adds it for the user, without what is in its environment and its headers: they may be secrets.
    pub(super) fn added_by(&self, name: &str) -> String {
        let name = shell_word(name);
        match self {
            Self::Stdio { env, .. } => {
                let env: String =
                    env.keys().map(|key| format!(" -e {}", shell_word(&format!("{key}=VALUE")))).collect();
                format!("portcullis mcp add {name} --scope user{env} -- {}", self.in_words())
            }
            Self::Remote(remote) => {
                let headers = remote.headers.keys().map(|key| format!(" -H {}", shell_word(&format!("{key}: VALUE"))));
                let headers: String = headers.collect();
                let (transport, url) = (remote.transport.name(), shell_word(&self.in_words()));
                format!("portcullis mcp add {name} --scope user --transport {transport}{headers} {url}")
            }
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
        let in_path = || {
            let path = env.get("PATH").map(Into::into).or_else(|| users_variable("PATH")).unwrap_or_default();
            std::env::split_paths(&path).map(|folder| folder.join(command)).find(|file| file.is_file())
        };
        let program = if command.contains('/') { Some(command.into()) } else { in_path() };
        let program = program.and_then(|program| std::fs::canonicalize(program).ok());
        program.is_some_and(|program| own.is_ok_and(|own| own == program))
    }

    pub(crate) fn is_local(&self) -> bool {
        matches!(self, Self::Stdio { .. })
    }
}

impl ServerEntry {
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

    /// The entry of a program that is handed these as well, as a plugin's is. What it says itself counts.
    pub(super) fn with_variables(mut self, variables: &BTreeMap<String, String>) -> Self {
        if let Endpoint::Stdio { env, .. } = &mut self.endpoint {
            for (name, value) in variables {
                env.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        self
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

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
