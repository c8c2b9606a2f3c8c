//! The headers of a server's entry, and those that its `headersHelper` prints.

use std::collections::HashMap;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use hyper::header::{HeaderName, HeaderValue};
use serde_json::{Map, Value};
use tokio::io::{AsyncRead, AsyncReadExt as _};

use super::config::RemoteEndpoint;
use super::failure::ConnectFailure;
use super::transport::process::{self, ServerProcess};
use crate::fixed;

/// How long a helper may take.
const HELPER: Duration = Duration::from_secs(10);
/// More bytes of what it says are not read.
const LONGEST: u64 = 1 << 20;

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
    let failed = |error: std::io::Error| ConnectFailure::new(format!("headersHelper: {error}"));
    let mut shell = tokio::process::Command::new("sh");
    shell.arg("-c").arg(helper).current_dir(folder).env_clear().envs(process::handed_down());
    shell.env("CLAUDE_CODE_MCP_SERVER_NAME", server).env("CLAUDE_CODE_MCP_SERVER_URL", &remote.url);
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = shell.spawn().map_err(failed)?;
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    // Whatever it started goes with it, also when it takes too long.
    let mut process = ServerProcess::new(child);
    let ending = async {
        let status = process.wait().await;
        // What it left behind holds its streams open.
        process.end().await;
        status
    };
    let running = async { tokio::join!(ending, read(stdout), read(stderr)) };
    let Ok((status, stdout, stderr)) = tokio::time::timeout(fixed::wait("MCP_HELPER", HELPER), running).await else {
        process.end().await;
        return Err(ConnectFailure::new(format!("headersHelper: nothing within {} s", HELPER.as_secs())));
    };
    let status = status.map_err(failed)?;
    if !status.success() {
        let said = String::from_utf8_lossy(&stderr).trim().to_owned();
        return Err(ConnectFailure::new(format!("headersHelper: {status}: {said}")));
    }
    // What it printed may be a secret, so it is not shown.
    let wrong = |_| ConnectFailure::new("headersHelper: it printed no JSON object");
    serde_json::from_slice(&stdout).map_err(wrong)
}

/// What a stream of the helper says, as far as it counts. One that says more is not read, and takes too long.
async fn read(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut said = vec![];
    if let Some(stream) = stream {
        // What came before it broke counts.
        drop(stream.take(LONGEST).read_to_end(&mut said).await);
    }
    said
}
