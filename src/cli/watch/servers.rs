//! MCP servers in `watch`: `/mcp` shows those of the sessions' folders, and sees to one of them.

use std::sync::Arc;

use portcullis_core::visible;
use portcullis_wire::api::{McpServerView, McpSignInView, NamedMcpServer};
use tokio::sync::{Mutex, mpsc};

use super::super::client::{Client, segment};
use crate::config::Paths;
use crate::report;

/// Answers that may wait to be printed.
const MOST: usize = 16;

/// Looks at servers in tasks of their own: some take long to connect.
pub(super) struct ServersLook {
    paths: Paths,
    /// As they were last shown, each with its folder. What is approved is what was seen.
    seen: Arc<Seen>,
    tell: mpsc::Sender<String>,
    told: mpsc::Receiver<String>,
}

impl ServersLook {
    pub(super) fn new(paths: Paths) -> Self {
        let (tell, told) = mpsc::channel(MOST);
        Self { paths, seen: Arc::default(), tell, told }
    }

    /// What came of an earlier order, as it is printed.
    pub(super) async fn told(&mut self) -> String {
        match self.told.recv().await {
            Some(text) => text,
            None => std::future::pending().await,
        }
    }

    /// Whether a line is an order about servers. What comes of it is told later.
    pub(super) fn takes(&self, line: &str, folders: Vec<String>) -> Option<String> {
        let mut words = line.split_whitespace();
        if words.next() != Some("/mcp") {
            return None;
        }
        let (order, name) = (words.next(), words.next().map(str::to_owned));
        let (paths, seen, tell) = (self.paths.clone(), Arc::clone(&self.seen), self.tell.clone());
        match (order, name) {
            (None, _) => {
                tokio::spawn(async move { tell.send(list(&paths, &seen, folders).await).await });
                Some("Looking at the MCP servers …\n".to_owned())
            }
            (Some("approve"), Some(name)) => {
                tokio::spawn(async move { tell.send(approve(&paths, &seen, &name).await).await });
                Some(String::new())
            }
            (Some("login"), Some(name)) => {
                tokio::spawn(async move { tell.send(sign_in(&paths, &seen, &name).await).await });
                Some(String::new())
            }
            _ => Some("/mcp shows the servers; /mcp approve NAME and /mcp login NAME see to one\n".to_owned()),
        }
    }
}

type Seen = Mutex<Vec<(String, McpServerView)>>;

async fn list(paths: &Paths, seen: &Seen, mut folders: Vec<String>) -> String {
    folders.sort();
    folders.dedup();
    if folders.is_empty() {
        return "No session is connected, so there is no folder whose servers could be shown: portcullis mcp list\n"
            .to_owned();
    }
    let (mut text, mut all) = (String::new(), vec![]);
    for folder in folders {
        let path = format!("/api/v1/mcp/servers?folder={}", segment(&folder));
        match Client::new(paths).get::<Vec<McpServerView>>(&path).await {
            Ok(servers) if servers.is_empty() => text.push_str(&format!("{folder}: no MCP servers\n")),
            Ok(servers) => {
                text.push_str(&format!("{folder}:\n"));
                for server in servers {
                    text.push_str(&in_words(&server));
                    all.push((folder.clone(), server));
                }
            }
            Err(error) => text.push_str(&format!("{folder}: {}", report::in_words(&error))),
        }
    }
    *seen.lock().await = all;
    visible(&text)
}

/// `  github  not approved  npx server-github  (look at it, then: /mcp approve github)`.
fn in_words(server: &McpServerView) -> String {
    let endpoint = server.endpoint.as_deref().unwrap_or_default();
    let why = match server.state.as_str() {
        "not-approved" => format!("; if that may run: /mcp approve {}", server.name),
        "needs-auth" => format!("; /mcp login {}", server.name),
        _ if server.why.is_empty() => String::new(),
        _ => format!("; {}", server.why),
    };
    let line = format!("{} {} ({}): {endpoint}{why}", server.name, server.state.replace('-', " "), server.layer);
    format!("  {}\n", line.replace('\n', " "))
}

async fn found(seen: &Seen, name: &str) -> Result<NamedMcpServer, String> {
    let seen = seen.lock().await;
    let (folder, server) = seen
        .iter()
        .find(|(_, server)| server.name == name)
        .ok_or_else(|| format!("look first: /mcp shows no {name}\n"))?;
    Ok(NamedMcpServer { folder: folder.clone(), name: name.to_owned(), hash: server.hash.clone() })
}

async fn approve(paths: &Paths, seen: &Seen, name: &str) -> String {
    let named = match found(seen, name).await {
        Ok(named) => named,
        Err(why) => return visible(&why),
    };
    match Client::new(paths).send("POST", "/api/v1/mcp/servers/approve", &named).await {
        Ok(()) => format!("Approved {name}. /mcp shows how it is.\n"),
        Err(error) => visible(&report::in_words(&error)),
    }
}

async fn sign_in(paths: &Paths, seen: &Seen, name: &str) -> String {
    let named = match found(seen, name).await {
        Ok(named) => named,
        Err(why) => return visible(&why),
    };
    let begun: anyhow::Result<McpSignInView> = Client::new(paths).post("/api/v1/mcp/servers/login", &named).await;
    match begun {
        Ok(McpSignInView { url: Some(url), .. }) => visible(&format!("Open this to sign in to {name}: {url}\n")),
        Ok(_) => visible(&format!("{name} lets you in already.\n")),
        Err(error) => visible(&report::in_words(&error)),
    }
}
