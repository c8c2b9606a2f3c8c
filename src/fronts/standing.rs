//! What the person at a front may do. They are the local owner, who talks and reviews, unless the front's process runs
//! inside an agent: then it looks, and does nothing.

use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::front::Command;

use crate::config::{Approvals, Config, Paths};
use crate::gate::inside::{AgentAround, agent_of};
use crate::processes::{self, AncestryGap, PeerProcess};
use crate::session::link::SessionHandle;

/// Decides what each front of a session may do, each time anew: agents come and go.
#[derive(Clone)]
pub(super) struct Standings {
    paths: Paths,
    /// Prompts are not answered on this machine.
    is_for_devices: bool,
    gate: SessionHandle,
}

/// Why a front may not do something; none where it may.
pub(super) struct Standing {
    pub(super) no_answers: Option<Fault>,
    pub(super) no_orders: Option<Fault>,
}

impl Standings {
    pub(super) fn new(paths: Paths, config: &Config, gate: SessionHandle) -> Self {
        Self { paths, is_for_devices: config.approvals == Approvals::Device, gate }
    }

    /// What a front of this process may do. None: the system does not tell which process it is.
    pub(super) async fn of(&self, process: Option<PeerProcess>) -> Standing {
        let inside = |what: String| Fault::new(Kind::FromInside, what);
        // A process that is gone has left its connection to somebody else.
        let no_orders = match process.filter(|process| processes::is_alive(process.pid())) {
            None => Some(inside("the system does not tell which process this is".to_owned())),
            Some(process) => agent_of(&self.paths, process).await.map(|agent| match agent {
                // An editor that was opened from a desktop. Only its person knows that it is not something that an agent
                // has left behind.
                AgentAround::Unknown(gap @ AncestryGap::Orphaned) if process.pid() == std::process::id() => Fault {
                    hint: format!(
                        "if it is yours, run `portcullis acp trust {}` once in a terminal that you opened yourself",
                        process.pid()
                    ),
                    ..inside(format!("nobody can tell who has started this editor ({})", gap.in_words()))
                },
                agent => inside(format!("this runs inside {agent}, and agents do not answer or direct sessions")),
            }),
        };
        let no_answers = no_orders.clone().or_else(|| self.is_for_devices.then(Fault::owner_does_not_answer));
        Standing { no_answers, no_orders }
    }

    /// Why the person at the front of this very process may not answer now, and what to do about it.
    pub(super) async fn no_answers_here(&self) -> Option<String> {
        let fault = self.of(Some(PeerProcess::ours())).await.no_answers?;
        Some(format!("{}; {}", fault.message, fault.hint))
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
