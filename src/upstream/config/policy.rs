//! Which servers an organisation or the user allows and denies: `allowedMcpServers` and `deniedMcpServers` of settings.

use serde_json::Value;

use super::entry::{Endpoint, ServerEntry};

/// Both lists. A server on the second is refused, whatever the first says.
#[derive(Debug, Default)]
pub(super) struct ServerPolicy {
    /// None allows all; an empty list allows none.
    allowed: Option<Vec<ListedServer>>,
    denied: Vec<ListedServer>,
}

/// One line of a list. Each names a server in one way.
#[derive(Debug, PartialEq, Eq)]
enum ListedServer {
    Name(String),
    /// The whole command line, word for word.
    Command(Vec<String>),
    /// An address in which `*` stands for anything.
    Url(String),
}

impl ServerPolicy {
    /// Of the managed settings first: their list of allowed servers replaces the user's, and all lists of denied ones count.
    pub(super) fn read(managed: &Value, user: &Value) -> Self {
        let allowed = [managed, user].into_iter().find_map(|settings| list(settings.get("allowedMcpServers")?));
        let denied =
            [managed, user].into_iter().filter_map(|settings| list(settings.get("deniedMcpServers")?)).flatten();
        Self { allowed, denied: denied.collect() }
    }

    /// Why a server is refused, if it is.
    pub(super) fn refuses(&self, name: &str, entry: &ServerEntry) -> Option<&'static str> {
        if self.denied.iter().any(|listed| listed.matches(name, entry)) {
            return Some("it is on the list of denied servers (deniedMcpServers)");
        }
        let allowed = self.allowed.as_ref()?;
        // A name is easily taken by another program: it counts only where no line says more about this kind of server.
        let by_endpoint = allowed.iter().any(|listed| match (listed, &entry.endpoint) {
            (ListedServer::Command(_), Endpoint::Stdio { .. }) | (ListedServer::Url(_), Endpoint::Remote(_)) => true,
            (ListedServer::Name(_) | ListedServer::Command(_) | ListedServer::Url(_), _) => false,
        });
        let counts = |listed: &&ListedServer| !by_endpoint || !matches!(listed, ListedServer::Name(_));
        let is_allowed = allowed.iter().filter(counts).any(|listed| listed.matches(name, entry));
        (!is_allowed).then_some("it is not on the list of allowed servers (allowedMcpServers)")
    }
}

impl ListedServer {
    fn parse(line: &Value) -> Option<Self> {
        if let Some(name) = line.get("serverName").and_then(Value::as_str) {
            return Some(Self::Name(name.to_owned()));
        }
        if let Some(words) = line.get("serverCommand").and_then(Value::as_array) {
            return Some(Self::Command(words.iter().filter_map(Value::as_str).map(str::to_owned).collect()));
        }
        line.get("serverUrl").and_then(Value::as_str).map(|url| Self::Url(url.to_owned()))
    }

    fn matches(&self, name: &str, entry: &ServerEntry) -> bool {
        match (self, &entry.endpoint) {
            (Self::Name(listed), _) => listed == name,
            (Self::Command(words), Endpoint::Stdio { command, args, .. }) => {
                words.iter().eq(std::iter::once(command).chain(args))
            }
            (Self::Url(pattern), Endpoint::Remote(remote)) => fits(pattern, &remote.url),
            (Self::Command(_), Endpoint::Remote(_)) | (Self::Url(_), Endpoint::Stdio { .. }) => false,
        }
    }
}

/// A list that is no list allows nothing: whoever wrote it wanted a limit.
fn list(value: &Value) -> Option<Vec<ListedServer>> {
    match value {
        Value::Null => None,
        Value::Array(lines) => Some(lines.iter().filter_map(ListedServer::parse).collect()),
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_) => Some(vec![]),
    }
}

/// Whether a text has these parts in this order, with anything where a star stands.
fn fits(pattern: &str, text: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(start) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    let end = parts.pop().unwrap_or_default();
    for part in parts {
        let Some((_, behind)) = text.split_once(part) else { return false };
        text = behind;
    }
    text.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(managed: &Value, user: &Value, name: &str, entry: &Value) -> bool {
        let entry = ServerEntry::parse(name, entry).unwrap();
        ServerPolicy::read(managed, user).refuses(name, &entry).is_some()
    }

    #[test]
    fn a_denied_server_is_refused_whatever_is_allowed() {
        let (stdio, http) =
            (json!({"command": "a", "args": ["b"]}), json!({"type": "http", "url": "https://x.org/mcp"}));
        let none = json!({});
        assert!(!refused(&none, &none, "s", &stdio));
        let both = json!({"allowedMcpServers": [{"serverName": "s"}], "deniedMcpServers": [{"serverName": "s"}]});
        assert!(refused(&both, &none, "s", &stdio) && refused(&none, &both, "s", &stdio));
        let command = json!({"deniedMcpServers": [{"serverCommand": ["a", "b"]}]});
        assert!(refused(&none, &command, "s", &stdio) && !refused(&none, &command, "s", &json!({"command": "a"})));
        let url = json!({"deniedMcpServers": [{"serverUrl": "https://*.org/*"}]});
        assert!(refused(&url, &none, "s", &http) && !refused(&url, &none, "s", &stdio));
    }

    #[test]
    fn a_name_alone_allows_nothing_where_commands_are_listed() {
        let none = json!({});
        let stdio = json!({"command": "a"});
        let names = json!({"allowedMcpServers": [{"serverName": "s"}]});
        assert!(!refused(&names, &none, "s", &stdio) && refused(&names, &none, "t", &stdio));
        let commands = json!({"allowedMcpServers": [{"serverName": "s"}, {"serverCommand": ["b"]}]});
        assert!(refused(&commands, &none, "s", &stdio));
        assert!(!refused(&commands, &none, "s", &json!({"type": "http", "url": "https://x"})));
        assert!(refused(&json!({"allowedMcpServers": []}), &names, "s", &stdio), "the organisation's list is the one");
        assert!(refused(&json!({"allowedMcpServers": "all"}), &none, "s", &stdio));
    }
}
