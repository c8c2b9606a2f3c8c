//! Whether a process runs inside an agent: such a process answers no prompt and gives no order.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portcullis_core::visible;
use portcullis_wire::api::SessionView;

use super::client::Client;
use super::lock;
use crate::config::Paths;
use crate::processes::{self, AgentAbove, Ancestry, AncestryGap};

/// A gate that hangs must not keep a person from their answer; what the system tells is looked at first.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);
const A_DAY: Duration = Duration::from_secs(24 * 3600);

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
    // Who cannot see the gate is in a process namespace of its own, and does not see who is above it either.
    let is_apart = |gate: lock::About| pid == std::process::id() && !processes::is_there(gate.pid);
    if lock::holder(&paths.lock_file).is_some_and(is_apart) {
        return Some(format!("an agent, as far as can be told ({})", AncestryGap::Alone.in_words()));
    }
    let asked = sessions(paths).await;
    // A gate that does not answer may have sessions. What an agent left behind outlives its session, and the gate as well.
    let may_be_left = match &asked {
        Asked::Silent => true,
        Asked::NoGate => journal_is_of_today(paths),
        Asked::Sessions(sessions) => !sessions.iter().all(|session| cannot_have_started(session, &ancestry)),
    };
    // The first process of a container is apart from everybody, and starts the gate there.
    let may_be_first = matches!(asked, Asked::NoGate);
    let sessions = if let Asked::Sessions(sessions) = asked { sessions } else { vec![] };
    let is_above = |session: &&SessionView| {
        session.state != "ended" && session.pid.is_some_and(|pid| ancestry.above().contains(&pid))
    };
    if let Some(session) = sessions.iter().find(is_above) {
        return Some(visible(&format!("session {}", session.label)));
    }
    let gap = ancestry.gap().filter(|gap| may_be_left && !(may_be_first && *gap == AncestryGap::Alone))?;
    Some(format!("an agent, as far as can be told ({})", gap.in_words()))
}

/// Whether the agent of a session cannot have started a process, nor what that descends from.
fn cannot_have_started(session: &SessionView, ancestry: &Ancestry) -> bool {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // One that is still to come was there before the clock was set back: nobody knows for how long.
    let attached = now.checked_sub(Duration::from_millis(session.since));
    attached.is_some_and(|attached| ancestry.is_older_than(session.pid, attached))
}

/// What the gate says of its sessions.
enum Asked {
    /// Also those that have ended, for as long as the gate knows them.
    Sessions(Vec<SessionView>),
    NoGate,
    Silent,
}

/// Whether a gate wrote something down within a day: then there may have been a session.
fn journal_is_of_today(paths: &Paths) -> bool {
    let written = std::fs::metadata(&paths.journal).and_then(|file| file.modified()).ok();
    // What is still to come was written before the clock was set back.
    written.is_some_and(|written| written.elapsed().map_or(true, |ago| ago < A_DAY))
}

async fn sessions(paths: &Paths) -> Asked {
    if lock::holder(&paths.lock_file).is_none() {
        return Asked::NoGate;
    }
    let gate = Client::new(paths);
    let asking = gate.get("/api/v1/sessions?all=true");
    let told = tokio::time::timeout(GATE_TIMEOUT, asking).await.ok().and_then(Result::ok);
    told.map_or(Asked::Silent, Asked::Sessions)
}
