//! What is measured, a group of rows each.

mod acp;
mod fanout;
mod growth;
mod life;
mod page;
mod permission;
mod speed;

use std::path::PathBuf;

use crate::contenders::{Contender, Server};
use crate::table::Table;
pub(crate) use growth::{other_sessions, path_among};
pub(crate) use speed::{SMALL, one_by_one};

/// One run of the benchmark.
pub(crate) struct Run {
    /// Ours, as it is released.
    pub(crate) program: PathBuf,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) table: Table,
    pub(crate) rounds: usize,
    pub(crate) quick: bool,
}

/// A group of rows: its name, and what measures it.
pub(crate) type Group = (&'static str, fn(&mut Run) -> anyhow::Result<()>);

/// Every group, in the order of the table.
pub(crate) const ROWS: &[Group] = &[
    ("cold start", life::cold_start),
    ("memory", life::memory),
    ("latency", speed::latency),
    ("throughput", speed::throughput),
    ("sustained", speed::sustained),
    ("1 MB", speed::large_bodies),
    ("permission", permission::round_trip),
    ("fan-out", fanout::fan_out),
    ("exit", life::exit),
    ("journal", growth::journal),
    ("sessions", growth::sessions),
    ("page", page::page),
    ("acp", acp::acp),
];

impl Run {
    /// `full`, or in a quick run `quick`.
    fn count(&self, full: usize, quick: usize) -> usize {
        if self.quick { quick } else { full }
    }

    /// Starts everyone, then measures them in turn, round after round. Servers live through all rounds, as in life,
    /// and `warm` is what happens before the first.
    fn rounds(
        &mut self,
        mut warm: impl FnMut(&mut Server) -> anyhow::Result<()>,
        mut measure: impl FnMut(&mut Table, usize, &mut Server) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut servers = vec![];
        for contender in &self.contenders {
            let named = |error: anyhow::Error| error.context(format!("starting {}", contender.name));
            let mut server = contender.start().map_err(named)?;
            warm(&mut server).map_err(named)?;
            servers.push(server);
        }
        for _ in 0..self.rounds {
            for (place, server) in servers.iter_mut().enumerate() {
                let named = |error: anyhow::Error| error.context(format!("measuring {}", self.contenders[place].name));
                measure(&mut self.table, place, server).map_err(named)?;
            }
        }
        Ok(())
    }
}
