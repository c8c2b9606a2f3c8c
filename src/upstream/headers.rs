//! The headers of a server's entry, and those that its `headersHelper` prints.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};

use super::config::RemoteEndpoint;
use super::failure::ConnectFailure;

/// How long a helper may take.
const HELPER: Duration = Duration::from_secs(10);

/// All headers that go with each request to a server.
pub(super) async fn headers(
    server: &str,
    remote: &RemoteEndpoint,
    folder: &Path,
) -> Result<HashMap<HeaderName, HeaderValue>, ConnectFailure> {
    let mut texts = remote.headers.clone();
    if let Some(helper) = &remote.headers_helper {
        for (name, value) in printed(server, remote, helper, folder).await? {
            let Value::String(value) = value else {
                return Err(ConnectFailure::new(format!("headersHelper: the header {name:?} is no text")));
            };
            texts.insert(name, value);
        }
    }
    let header = |(name, value): (&String, &String)| {
        let wrong = || ConnectFailure::new(format!("{name:?} with its value cannot be a header"));
        let header =
            (name.parse::<HeaderName>().map_err(|_| wrong())?, HeaderValue::from_str(value).map_err(|_| wrong())?);
        Ok(header)
    };
    texts.iter().map(header).collect()
}

async fn printed(
    server: &str,
    remote: &RemoteEndpoint,
    helper: &str,
    folder: &Path,
) -> Result<Map<String, Value>, ConnectFailure> {
    let mut shell = tokio::process::Command::new("sh");
    shell.arg("-c").arg(helper).current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    shell.env("CLAUDE_CODE_MCP_SERVER_NAME", server).env("CLAUDE_CODE_MCP_SERVER_URL", &remote.url);
    let ran = match tokio::time::timeout(HELPER, shell.output()).await {
        Ok(Ok(ran)) => ran,
        Ok(Err(error)) => return Err(ConnectFailure::new(format!("headersHelper: {error}"))),
        Err(_) => return Err(ConnectFailure::new(format!("headersHelper: nothing within {} s", HELPER.as_secs()))),
    };
    if !ran.status.success() {
        let said = String::from_utf8_lossy(&ran.stderr).trim().to_owned();
        return Err(ConnectFailure::new(format!("headersHelper: {}: {said}", ran.status)));
    }
    // What it printed may be a secret, so it is not shown.
    let wrong = |_| ConnectFailure::new("headersHelper: it printed no JSON object");
    serde_json::from_slice(&ran.stdout).map_err(wrong)
}
