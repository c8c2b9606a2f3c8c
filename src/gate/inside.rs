//! Whether a process runs inside an agent: such a process answers no prompt and gives no order.

use std::time::Duration;

use portcullis_core::visible;
use portcullis_wire::api::SessionView;

use super::client::Client;
use super::lock;
use crate::config::Paths;
use crate::processes::{AgentAbove, Ancestry};

/// A gate that hangs must not keep a person from their answer; what the system tells is looked at first.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);

/// The agent that a process descends from, in words: as the system tells it, or as the gate knows its sessions. Whose
/// ancestors cannot be told may descend from any, while there is one.
pub(crate) async fn agent_of(paths: &Paths, pid: u32) -> Option<String> {
    // The agent itself is nobody's child here: only what it runs is.
    let ancestry = Ancestry::of(pid);
    match ancestry.agent() {
        Some(AgentAbove::ClaudeCode(agent)) => return Some(format!("Claude Code (pid {agent})")),
        Some(AgentAbove::Guard(guard)) => return Some(format!("a session that Portcullis drives (pid {guard})")),
        None => {}
    }
    let asked = sessions(paths).await;
    let is_silent = asked.is_none();
    let mut sessions = asked.unwrap_or_default();
    sessions.retain(|session| session.state != "ended");
    let is_above = |session: &&SessionView| session.pid.is_some_and(|pid| ancestry.above().contains(&pid));
    if let Some(session) = sessions.iter().find(is_above) {
        return Some(visible(&format!("session {}", session.label)));
    }
    // A gate that does not answer may have sessions.
    let gap = ancestry.gap().filter(|_| is_silent || !sessions.is_empty())?;
    Some(format!("an agent, as far as can be told ({})", gap.in_words()))
}

/// The sessions of the gate that runs, none where none does; no answer where it gives none.
async fn sessions(paths: &Paths) -> Option<Vec<SessionView>> {
    if lock::holder(&paths.lock_file).is_none() {
        return Some(vec![]);
    }
    let gate = Client::new(paths);
    let asking = gate.get("/api/v1/sessions");
    tokio::time::timeout(GATE_TIMEOUT, asking).await.ok().and_then(Result::ok)
}
