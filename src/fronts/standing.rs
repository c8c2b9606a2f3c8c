//! What the person at a front may do. They are the local owner, who talks and reviews, unless the front's process runs
//! inside an agent: then it looks, and does nothing.

use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::front::Command;

use super::acp::AT_THE_EDITOR;
use crate::config::{Approvals, Config, Paths};
use crate::gate::inside::{AgentAround, agent_of, put_on_record};
use crate::processes::{self, AncestryGap, PeerProcess};
use crate::session::link::SessionHandle;

/// Decides what each front of a session may do, each time anew: agents come and go.
#[derive(Clone)]
pub(super) struct Standings {
    paths: Paths,
    /// Prompts are not answered on this machine.
    is_for_devices: bool,
    /// What the person is called at the front that started the session.
    front: &'static str,
    gate: SessionHandle,
}

/// Why the person at the front of this very process may not answer, and what to do about it.
#[derive(Clone, Debug)]
pub(super) struct NoAnswersHere {
    pub(super) why: String,
    /// Agents come and go, and a person may say that the process is theirs.
    pub(super) may_change: bool,
}

/// Why a front may not do something; none where it may.
pub(super) struct Standing {
    pub(super) no_answers: Option<Fault>,
    pub(super) no_orders: Option<Fault>,
}

impl Standings {
    pub(super) fn new(paths: Paths, config: &Config, front: &'static str, gate: SessionHandle) -> Self {
        Self { paths, is_for_devices: config.approvals == Approvals::Device, front, gate }
    }

    /// What a front of this process may do. None: the system does not tell which process it is.
    pub(super) async fn of(&self, process: Option<PeerProcess>) -> Standing {
        // A process that is gone has left its connection to somebody else.
        let no_orders = match process.filter(|process| processes::is_alive(process.pid())) {
            None => Some(Fault::new(Kind::FromInside, "the system does not tell which process this is")),
            Some(process) => {
                let agent = agent_of(&self.paths, process).await;
                agent.map(|agent| from_inside(&agent, process.pid(), self.front))
            }
        };
        let no_answers = no_orders.clone().or_else(|| self.is_for_devices.then(Fault::owner_does_not_answer));
        Standing { no_answers, no_orders }
    }

    /// Why the person at the front of this very process may not answer now.
    pub(super) async fn no_answers_here(&self) -> Option<NoAnswersHere> {
        let fault = self.of(Some(PeerProcess::ours())).await.no_answers?;
        Some(NoAnswersHere { why: in_words(&fault), may_change: !self.is_for_devices })
    }

    /// Why this command of a front does not count; none where it does. What an agent tried is put on the record.
    pub(super) async fn refusal(&self, process: Option<PeerProcess>, command: &Command) -> Option<Fault> {
        let standing = self.of(process).await;
        let (fault, what) = match command {
            Command::Answer { .. } => (standing.no_answers?, "answering a prompt"),
            _ => (standing.no_orders?, "telling a session what to do"),
        };
        if fault.error == Kind::FromInside.entry().0 {
            let process =
                process.map_or_else(|| "an unknown process".to_owned(), |process| format!("process {}", process.pid()));
            self.gate.report_denied(format!("{what} at a terminal, by {process}: {}", fault.message)).await;
        }
        Some(fault)
    }
}

/// Why a process inside an agent may not do what the person at this front may.
fn from_inside(agent: &AgentAround, pid: u32, front: &str) -> Fault {
    let inside = |what: String| Fault::new(Kind::FromInside, what);
    let is_editor = front == AT_THE_EDITOR && pid == std::process::id();
    match agent {
        // An editor that was opened from a desktop. Only its person knows that it is not something that an agent has left
        // behind.
        AgentAround::Unknown(gap @ AncestryGap::Orphaned) if is_editor => Fault {
            hint: format!(
                "if it is yours, run `portcullis acp trust {pid}` once in a terminal that you opened yourself"
            ),
            ..inside(format!("nobody can tell who has started this editor ({})", gap.in_words()))
        },
        agent => inside(format!("this runs inside {agent}, and agents do not answer or direct sessions")),
    }
}

/// Why this process may not do this for a session at an editor, in words; none where it may. What an agent tried is put on
/// the record. An editor of which nobody can tell who opened it may: prompts are answered elsewhere then, and what an agent
/// left behind could start a Claude Code by itself.
pub(super) async fn barred_at_the_editor(paths: &Paths, what: &str) -> Option<String> {
    let ours = PeerProcess::ours();
    let agent = agent_of(paths, ours).await.filter(|agent| matches!(agent, AgentAround::Known(_)))?;
    let fault = from_inside(&agent, ours.pid(), AT_THE_EDITOR);
    put_on_record(what).await;
    Some(format!("refused to {what}: {}", in_words(&fault)))
}

fn in_words(fault: &Fault) -> String {
    format!("{}; {}", fault.message, fault.hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_editor_is_told_how_it_is_trusted() {
        let (agent, ours) = (AgentAround::Unknown(AncestryGap::Orphaned), std::process::id());
        let told = |pid, front| in_words(&from_inside(&agent, pid, front));
        assert!(told(ours, AT_THE_EDITOR).contains(&format!("portcullis acp trust {ours}")));
        for told in [told(ours, "terminal"), told(ours + 1, AT_THE_EDITOR)] {
            assert!(!told.contains("editor") && told.contains("an agent, as far as can be told"), "{told}");
        }
    }
}
