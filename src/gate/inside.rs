//! Whether a process runs inside an agent: such a process answers no prompt and gives no order.

use std::time::Duration;

use portcullis_core::visible;
use portcullis_wire::api::SessionView;

use super::client::Client;
use super::lock;
use crate::config::Paths;
use crate::processes;

/// A gate that hangs must not keep a person from their answer; what the system tells is looked at first.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);

/// The agent that a process descends from, in words: as the system tells it, or as the gate knows its sessions.
pub(crate) async fn agent_of(paths: &Paths, pid: u32) -> Option<String> {
    // The agent itself is nobody's child here: only what it runs is.
    let above = processes::lineage(pid).split_off(1);
    if let Some(agent) = above.iter().find(|pid| processes::is_claude_code(**pid)) {
        return Some(format!("Claude Code (pid {agent})"));
    }
    if let Some(guard) = above.iter().find(|pid| processes::is_guard(**pid)) {
        return Some(format!("a session that Portcullis drives (pid {guard})"));
    }
    let sessions = sessions(paths).await;
    let session = sessions
        .iter()
        .find(|session| session.state != "ended" && session.pid.is_some_and(|pid| above.contains(&pid)))?;
    Some(visible(&format!("session {}", session.label)))
}

async fn sessions(paths: &Paths) -> Vec<SessionView> {
    if lock::holder(&paths.lock_file).is_none() {
        return vec![];
    }
    let gate = Client::new(paths);
    let asking = gate.get("/api/v1/sessions");
    tokio::time::timeout(GATE_TIMEOUT, asking).await.ok().and_then(Result::ok).unwrap_or_default()
}
