//! What holds at every door of the gate: how fast a person may send, and what is refused to a process that an agent runs.

use std::time::Instant;

use portcullis_core::{Input, Inside, Label, OWNER, Refusal, State};
use portcullis_wire::error::{Fault, Kind};

use super::{Hub, Trouble, fault_of};
use crate::processes;

impl Hub {
    /// Takes one from the person's rate, which all their tokens share. The owner has none.
    pub(crate) fn limit_rate(&self, person: &str) -> Result<(), Fault> {
        if person == OWNER {
            return Ok(());
        }
        let too_fast = |seconds| Fault::new(Kind::TooFast, "too many events a second").retry_after(seconds);
        self.rates.take(person, Instant::now()).map_err(too_fast)
    }

    /// The session inside of which a process runs, if it does. Where the system does not name the process, nothing is
    /// known of it.
    pub(crate) async fn inside(&self, process: Option<u32>) -> Result<Option<Inside>, Trouble> {
        let Some(process) = process else { return Ok(None) };
        // The agent itself is nobody's child here: only what it runs is turned away. What this gate started, it started
        // for a person; above the gate is only whoever happened to need it first.
        let gate = std::process::id();
        let ancestors = processes::lineage(process).into_iter().skip(1);
        let ancestors: Vec<u32> = ancestors.take_while(|ancestor| *ancestor != gate).collect();
        let agents = move |state: &State| {
            let above = state.all_sessions().filter(|session| session.about.runs_commands);
            let above = above.filter_map(|session| Some((session.about.pid?, session)));
            let above = above.filter(|(pid, _)| ancestors.contains(pid));
            above.map(|(pid, session)| (pid, session.has_ended(), session.label.clone())).collect::<Vec<_>>()
        };
        let agents = self.look(agents).await?;
        // A session that is away, and one that ended while its agent goes on, are no way out. A number that another
        // process has by now is.
        let still_there = |(pid, has_ended, _): &(u32, bool, Label)| !has_ended || processes::is_claude_code(*pid);
        Ok(agents.into_iter().find(still_there).map(|(_, _, label)| Inside { process, label }))
    }

    /// Refuses something to a process that an agent runs, and writes the attempt down.
    pub(crate) async fn refuse_inside(&self, process: Option<u32>, who: &str, tried: &str) -> Result<(), Fault> {
        let Some(inside) = self.inside(process).await? else { return Ok(()) };
        tracing::warn!(process, label = %inside.label, tried, "refused: it comes from inside a session");
        self.record_denied(who.to_owned(), inside.note(tried)).await?;
        Err(fault_of(&Refusal::FromInside(inside)))
    }

    /// Writes down that something was refused which only an attacker or a confused agent would try.
    pub(crate) async fn record_denied(&self, who: String, what: String) -> Result<(), Trouble> {
        self.submit(Input::AccessDenied { who, what }).await.map(drop)
    }
}
