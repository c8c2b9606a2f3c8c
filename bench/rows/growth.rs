//! How cost grows: with the length of the journal, and with the number of sessions.

use std::time::Instant;

use super::Run;
use super::speed::{SMALL, one_by_one};
use crate::contenders::{Contender, Kind, Server};
use crate::flood::{Load, flood};
use crate::machine::resident;
use crate::session::Session;
use crate::table::{Table, quantile};

/// A gate on a journal of a thousand to a million events: how long until it is ready, how large, how fast then.
pub(crate) fn journal(run: &mut Run) -> anyhow::Result<()> {
    let longest = run.count(6, 4);
    let rounds = run.rounds;
    for (place, contender) in gates(&run.contenders) {
        let mut server = contender.start()?;
        let mut kept = 0;
        for power in 3..=longest {
            let events = 10_usize.pow(u32::try_from(power)?);
            let each = (events - kept) / 64;
            let load = Load { connections: 64, events_each: each, size: SMALL, path: &|_| "/".to_owned() };
            flood(server.address, &mut [&mut server.session], load)?;
            kept += each * 64;
            let name = format!("10^{power} events");
            for _ in 0..rounds {
                server = reopened(server, &name, place, &mut run.table)?;
                let times = one_by_one(&mut server, "/", 300, SMALL)?;
                kept += times.len();
                run.table.note(&format!("latency p50, {name}"), "µs", place, quantile(&times, 0.5));
            }
        }
    }
    Ok(())
}

/// Ends the gate and its session, and starts both again on the same journal.
fn reopened(server: Server, name: &str, place: usize, table: &mut Table) -> anyhow::Result<Server> {
    let Server { session, mut stage, .. } = server;
    session.close(crate::session::PATIENCE)?;
    stage.close_gate()?;
    stage.put_journal_back()?;
    let start = Instant::now();
    stage.open_gate()?;
    table.note(&format!("gate start, {name}"), "ms", place, start.elapsed().as_secs_f64() * 1e3);
    let memory = stage.gate_pid().and_then(resident).unwrap_or(f64::NAN);
    table.note(&format!("gate memory, {name}"), "MB", place, memory);
    let mut session = stage.spawn("bench")?;
    session.greet()?;
    session.initialized()?;
    Ok(Server { address: stage.address(&mut session)?, session, stage })
}

/// One gate for 1, 10 and 100 sessions: the latency of one of them, and the events a second of all.
pub(crate) fn sessions(run: &mut Run) -> anyhow::Result<()> {
    let events_each = run.count(400, 100);
    let rounds = run.rounds;
    for (place, contender) in gates(&run.contenders) {
        for count in [1, 10, 100] {
            let mut server = contender.start()?;
            let mut others = other_sessions(&mut server, count)?;
            let path = |connection: usize| path_among(connection, count);
            // Every session hears a word first, so that all have attached.
            one_by_one(&mut server, &path(0), 1, SMALL)?;
            let name = if count == 1 { "1 session".to_owned() } else { format!("{count} sessions") };
            for _ in 0..rounds {
                let times = one_by_one(&mut server, &path(0), 500, SMALL)?;
                run.table.note(&format!("latency p50, {name}"), "µs", place, quantile(&times, 0.5));
                let load = Load { connections: 100, events_each, size: SMALL, path: &path };
                let mut all: Vec<&mut Session> = vec![&mut server.session];
                all.extend(&mut others);
                let flood = flood(server.address, &mut all, load)?;
                run.table.note(&format!("events/s, {name}"), "1/s", place, flood.rate());
            }
            let memory = server.stage.gate_pid().and_then(resident).unwrap_or(f64::NAN);
            run.table.note(&format!("gate memory, {name}"), "MB", place, memory);
        }
    }
    Ok(())
}

/// The sessions beside the one that the server began with, so that there are `count` of them.
pub(crate) fn other_sessions(server: &mut Server, count: usize) -> anyhow::Result<Vec<Session>> {
    let start = |number: usize| {
        let mut session = server.stage.spawn(&format!("bench{number}"))?;
        session.greet()?;
        session.initialized()?;
        Ok(session)
    };
    (1..count).map(start).collect()
}

/// The path of a connection's events, where the sessions take turns.
pub(crate) fn path_among(connection: usize, count: usize) -> String {
    match connection % count {
        0 => "/?label=bench".to_owned(),
        number => format!("/?label=bench{number}"),
    }
}

/// Gates in processes of their own that need not wait for the disk.
pub(super) fn gates(contenders: &[Contender]) -> impl Iterator<Item = (usize, &Contender)> {
    let is_gate = |contender: &Contender| matches!(contender.kind, Kind::Gate { durability: "process", .. });
    contenders.iter().enumerate().filter(move |(_, contender)| is_gate(contender))
}
