//! What the person at a front may do. They are the local owner, who talks and reviews, unless the front's process runs
//! inside an agent: then it looks, and does nothing.

use portcullis_wire::error::{Fault, Kind};
use portcullis_wire::front::Command;

use crate::config::{Approvals, Config, Paths};
use crate::gate::inside::agent_of;
use crate::processes;
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
    pub(super) async fn of(&self, process: Option<u32>) -> Standing {
        let inside = |what: String| Fault::new(Kind::FromInside, what);
        // A process that is gone has left its connection to somebody else.
        let no_orders = match process.filter(|process| processes::is_alive(*process)) {
            None => Some(inside("the system does not tell which process this is".to_owned())),
            Some(process) => agent_of(&self.paths, process)
                .await
                .map(|agent| inside(format!("this runs inside {agent}, and agents do not answer or direct sessions"))),
        };
        let no_answers = no_orders.clone().or_else(|| self.is_for_devices.then(Fault::owner_does_not_answer));
        Standing { no_answers, no_orders }
    }

    /// Why this command of a front does not count; none where it does. What an agent tried is put on the record.
    pub(super) async fn refusal(&self, process: Option<u32>, command: &Command) -> Option<Fault> {
        let standing = self.of(process).await;
        let (fault, what) = match command {
            Command::Answer { .. } => (standing.no_answers?, "answering a prompt"),
            _ => (standing.no_orders?, "telling a session what to do"),
        };
        if fault.error == Kind::FromInside.entry().0 {
            let process = process.map_or_else(|| "an unknown process".to_owned(), |pid| format!("process {pid}"));
            self.gate.report_denied(format!("{what} at a terminal, by {process}: {}", fault.message)).await;
        }
        Some(fault)
    }
}
