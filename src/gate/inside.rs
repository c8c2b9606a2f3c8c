//! Whether a process runs inside an agent: such a process answers no prompt and gives no order.

use std::fmt;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use portcullis_core::visible;
use portcullis_wire::api::{SessionView, Tried, TrustedEditorView};

use super::VERSION;
use super::client::Client;
use super::lock;
use crate::config::Paths;
use crate::hub::knows_agents;
use crate::processes::{self, AgentAbove, Ancestry, AncestryGap, PeerProcess};
use crate::store::{Glance, StoreConfig};

/// A gate that hangs must not keep a person from their answer; what the system tells is looked at first.
const GATE_TIMEOUT: Duration = Duration::from_secs(1);
/// A journal that takes longer to read may hold a session.
const JOURNAL_TIMEOUT: Duration = Duration::from_secs(10);
const A_DAY: Duration = Duration::from_secs(24 * 3600);

/// The agent that a process runs inside of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AgentAround {
    /// In words.
    Known(String),
    /// Some agent, as far as can be told: nobody knows who started the process.
    Unknown(AncestryGap),
}

impl fmt::Display for AgentAround {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(agent) => f.write_str(agent),
            Self::Unknown(gap) => write!(f, "an agent, as far as can be told ({})", gap.in_words()),
        }
    }
}

/// The agent that a process descends from: as the system tells it, or as the gate knows its sessions. Whose ancestors cannot
/// be told may descend from any, while there is one, unless a person has said that it is their editor.
pub(crate) async fn agent_of(paths: &Paths, process: PeerProcess) -> Option<AgentAround> {
    agent_with(paths, process, JournalUse::Read).await
}

/// The same for whoever changes nothing: where no gate runs, a journal of the last day counts as one that knows an agent.
pub(crate) async fn agent_at_a_look(paths: &Paths, process: PeerProcess) -> Option<AgentAround> {
    agent_with(paths, process, JournalUse::LeftAlone).await
}

/// What becomes of a journal that no gate has open. To read it is to open it, which tidies it up.
#[derive(Clone, Copy, PartialEq, Eq)]
enum JournalUse {
    Read,
    LeftAlone,
}

async fn agent_with(paths: &Paths, process: PeerProcess, journal: JournalUse) -> Option<AgentAround> {
    use AgentAround::{Known, Unknown};
    // The system is asked on a thread that may wait for it.
    let looking = tokio::task::spawn_blocking(move || {
        let ancestry = process.ancestry();
        let is_orphan = ancestry.gap() == Some(AncestryGap::Orphaned);
        let orphan = is_orphan.then(|| process.identity()).flatten();
        (ancestry.agent(), orphan, ancestry)
    });
    let Ok((agent, orphan, ancestry)) = looking.await else { return Some(Unknown(AncestryGap::Gone)) };
    // The agent itself is nobody's child here: only what it runs is.
    match agent {
        Some(AgentAbove::ClaudeCode(agent)) => return Some(Known(format!("Claude Code (pid {agent})"))),
        Some(AgentAbove::Guard(guard)) => {
            return Some(Known(format!("a session that Portcullis drives (pid {guard})")));
        }
        None => {}
    }
    // Who cannot see the gate is in a process namespace of its own, and does not see who is above it either.
    let is_apart = |gate: lock::About| process.pid() == std::process::id() && !processes::is_there(gate.pid);
    if lock::holder(&paths.lock_file).is_some_and(is_apart) {
        return Some(Unknown(AncestryGap::Alone));
    }
    let asked = sessions(paths).await;
    if let Asked::Sessions(sessions) = &asked {
        let is_above = |session: &&SessionView| {
            session.state != "ended" && session.pid.is_some_and(|pid| ancestry.above().contains(&pid))
        };
        if let Some(session) = sessions.iter().find(is_above) {
            return Some(Known(visible(&format!("session {}", session.label))));
        }
    }
    // Only for whoever may have been left behind it is asked who may have left them.
    let gap = ancestry.gap()?;
    // A gate that does not answer may have sessions. What an agent left behind outlives its session, and the gate as well.
    let may_be_left = match asked {
        Asked::Silent => true,
        // The first process of a container is apart from everybody, and starts the gate there.
        Asked::NoGate if gap == AncestryGap::Alone => false,
        Asked::NoGate => {
            journal_is_of_today(paths) && (journal == JournalUse::LeftAlone || may_know_agents(paths).await)
        }
        Asked::Sessions(sessions) => {
            let any = move || !sessions.iter().all(|session| cannot_have_started(session, &ancestry));
            tokio::task::spawn_blocking(any).await.unwrap_or(true)
        }
    };
    (may_be_left && !is_trusted(paths, process.pid(), orphan).await).then_some(Unknown(gap))
}

/// A person has said that this process is their editor. That holds until it ends, also while no gate answers.
static WE_ARE_TRUSTED: OnceLock<()> = OnceLock::new();

/// Whether a person has said to the gate that this very process is their editor.
async fn is_trusted(paths: &Paths, pid: u32, orphan: Option<String>) -> bool {
    let Some(process) = orphan else { return false };
    let is_us = pid == std::process::id();
    if is_us && WE_ARE_TRUSTED.get().is_some() {
        return true;
    }
    let is_trusted = trusted_editors(paths).await.iter().any(|editor| editor.process == process);
    if is_us && is_trusted {
        WE_ARE_TRUSTED.get_or_init(|| ());
    }
    is_trusted
}

/// For the record: what was kept from an agent outside of the gate. Refused it is in any case.
pub(crate) async fn put_on_record(what: &str) {
    if let Ok(gate) = Client::of_the_gate() {
        let tried = Tried { what: what.to_owned() };
        drop(gate.send("POST", "/api/v1/log/barred", &tried).await);
    }
}

/// Those that people have said are theirs, as a gate that runs knows them. Some of them may have ended.
pub(crate) async fn trusted_editors(paths: &Paths) -> Vec<TrustedEditorView> {
    let gate = Client::new(paths);
    let asking = gate.get("/api/v1/editors");
    tokio::time::timeout(GATE_TIMEOUT, asking).await.ok().and_then(Result::ok).unwrap_or_default()
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

/// Whether there was a session of an agent, as far as the journal tells. What cannot be read in time may hold one, and so may
/// a journal of another version: to open it would be to upgrade it, which is for the gate that will use it.
async fn may_know_agents(paths: &Paths) -> bool {
    let journal = StoreConfig::at(&paths.journal);
    let looking = tokio::task::spawn_blocking(move || -> anyhow::Result<bool> {
        match journal.glance()? {
            Glance::Missing => Ok(false),
            Glance::Ours { version, known } if version == known => knows_agents(&journal.open()?, VERSION),
            Glance::Ours { .. } | Glance::Unsettled | Glance::Foreign => Ok(true),
        }
    });
    let told = tokio::time::timeout(JOURNAL_TIMEOUT, looking).await.ok();
    told.and_then(Result::ok).and_then(Result::ok).unwrap_or(true)
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
