//! What becomes of a command that an agent runs.

use std::io::{IsTerminal as _, Write as _};

use super::{environment, lock, paths};
use crate::failure::Failure;
use crate::gate::inside::{AgentAround, agent_of, put_on_record};
use crate::processes::{self, PeerProcess};

/// What becomes of a command inside an agent. Every command chooses one.
pub(super) enum InsideAnAgent {
    /// It reads, speaks as the agent, or is what agents are given.
    Allowed,
    /// It starts something that asks people, and never whoever started it.
    AsksPeople,
    /// It would answer, direct or administer, as a person also does on the page. In words: what it would do.
    Refused(String),
    /// It would change what only this machine has: its files, its programs.
    RefusedHere(String),
    /// The same, and a supervisor or an editor runs it, of which nobody can tell that it is no agent.
    RefusedToAgents(String),
    /// The same, and a gate starts it for people.
    RefusedButToGates(String),
}

pub(super) fn refused(what: impl Into<String>) -> InsideAnAgent {
    InsideAnAgent::Refused(what.into())
}

pub(super) fn refused_here(what: impl Into<String>) -> InsideAnAgent {
    InsideAnAgent::RefusedHere(what.into())
}

/// Refuses a command where an agent is above this process, or might be. Where there is only a sign of one, a person types
/// `yes`, whatever other consent the command line gives.
pub(super) async fn admit(class: InsideAnAgent) -> anyhow::Result<()> {
    let is_for_supervisors = matches!(class, InsideAnAgent::RefusedToAgents(_));
    let is_for_gates = matches!(class, InsideAnAgent::RefusedButToGates(_));
    let (what, hint) = match class {
        InsideAnAgent::Allowed | InsideAnAgent::AsksPeople => return Ok(()),
        InsideAnAgent::Refused(what) => {
            // The agent reads this, too: it is not told by which other way a person comes in.
            (what, "a person does this elsewhere: in a terminal that they opened themselves, or on the page")
        }
        InsideAnAgent::RefusedHere(what)
        | InsideAnAgent::RefusedToAgents(what)
        | InsideAnAgent::RefusedButToGates(what) => {
            (what, "run it in a terminal that you opened yourself; over ssh, with a terminal: ssh -t")
        }
    };
    let paths = paths()?;
    // Whoever started the gate, it acts for the person who asked it to, and has looked whether they may. One that is the
    // first process of a container is given what others leave behind as well: that does nothing that gates do not start.
    let is_by_gate = |gate: lock::About| processes::is_started_by_gate(gate.pid);
    if is_for_gates && lock::holder(&paths.lock_file).is_some_and(is_by_gate) {
        return Ok(());
    }
    match agent_of(&paths, PeerProcess::ours()).await {
        Some(AgentAround::Unknown(_)) if is_for_supervisors => Ok(()),
        Some(agent) => {
            put_on_record(&what).await;
            Err(Failure::denied(format!("refused to {what}: this runs inside {agent}"), hint).into())
        }
        None => confirm(&what).await,
    }
}

/// Asks once more where it looks as if an agent ran this. That it really did is found out by ancestry; this is for a
/// person who works in a terminal that an agent opened.
pub(super) async fn confirm(what: &str) -> anyhow::Result<()> {
    if environment("CLAUDECODE").is_none() {
        return Ok(());
    }
    let hint = "run it in a terminal of your own";
    if !std::io::stdin().is_terminal() {
        put_on_record(what).await;
        return Err(Failure::denied(format!("refused to {what}: this runs inside Claude Code"), hint).into());
    }
    let mut stderr = std::io::stderr();
    write!(stderr, "This runs inside Claude Code. Type yes to {what}: ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().read_line(&mut answer)?;
    if answer.trim() == "yes" { Ok(()) } else { Err(Failure::denied(format!("did not {what}"), hint).into()) }
}
