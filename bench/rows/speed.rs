//! How fast events go through: one after the other, many at once, and large ones.

use std::time::{Duration, Instant};

use super::Run;
use crate::contenders::Server;
use crate::flood::{Flood, Load, flood};
use crate::http::{Connection, post};
use crate::ledger::Ledger;
use crate::machine::processor_seconds;
use crate::table::quantile;

/// Bytes of a small event.
pub(crate) const SMALL: usize = 100;
const LARGE: usize = 1_000_000;

/// From the first byte of the request to the last of the session's line, one event after the other.
pub(crate) fn latency(run: &mut Run) -> anyhow::Result<()> {
    let count = run.count(2000, 500);
    run.rounds(warm, |table, place, server| {
        let times = one_by_one(server, "/", count, SMALL)?;
        table.note("latency p50", "µs", place, quantile(&times, 0.5));
        table.note("latency p99", "µs", place, quantile(&times, 0.99));
        Ok(())
    })
}

/// Events a second with so many connections, each of which waits for its answer, and the processor time of each event.
pub(crate) fn throughput(run: &mut Run) -> anyhow::Result<()> {
    for (connections, full, quick) in [(1, 6000, 1500), (16, 2000, 500), (64, 1000, 150)] {
        let events_each = run.count(full, quick);
        run.rounds(warm, |table, place, server| {
            let load = Load { connections, events_each, size: SMALL, path: &|_| "/".to_owned() };
            let before = processor(server);
            let flood = flood(server.address, &mut [&mut server.session], load)?;
            let used = processor(server).zip(before).map(|(after, before)| after - before);
            let plural = if connections == 1 { "" } else { "s" };
            table.note(&format!("events/s, {connections} connection{plural}"), "1/s", place, flood.rate());
            if let Some(used) = used {
                let each = used * 1e6 / flood.events as f64;
                table.note(&format!("processor, {connections} connection{plural}"), "µs/event", place, each);
            }
            Ok(())
        })?;
    }
    Ok(())
}

/// Events a second over a minute, in which everything is written that a burst may leave for later.
pub(crate) fn sustained(run: &mut Run) -> anyhow::Result<()> {
    let time = Duration::from_secs(run.count(60, 5) as u64);
    let load = Load { connections: 64, events_each: 500, size: SMALL, path: &|_| "/".to_owned() };
    for (place, contender) in run.contenders.iter().enumerate() {
        let mut server = contender.start()?;
        warm(&mut server)?;
        let (mut events, mut took) = (0, Duration::ZERO);
        while took < time {
            let part = flood(server.address, &mut [&mut server.session], load)?;
            (events, took) = (events + part.events, took + part.took);
        }
        run.table.note("events/s, sustained", "1/s", place, Flood { events, took }.rate());
    }
    Ok(())
}

/// Events as large as they may be.
pub(crate) fn large_bodies(run: &mut Run) -> anyhow::Result<()> {
    let count = run.count(30, 10);
    run.rounds(warm, |table, place, server| {
        let times = one_by_one(server, "/", count, LARGE)?;
        table.note("1 MB p50", "µs", place, quantile(&times, 0.5));
        Ok(())
    })
}

/// A server that has just started is not what people meet.
pub(super) fn warm(server: &mut Server) -> anyhow::Result<()> {
    let load = Load { connections: 4, events_each: 750, size: SMALL, path: &|_| "/".to_owned() };
    flood(server.address, &mut [&mut server.session], load).map(drop)
}

/// Microseconds from request to line, for each event.
pub(crate) fn one_by_one(server: &mut Server, path: &str, count: usize, size: usize) -> anyhow::Result<Vec<f64>> {
    let mut ledger = Ledger::new(1, size);
    let mut connection = Connection::open(server.address)?;
    let mut times = vec![];
    for _ in 0..count {
        let request = post(server.address, path, &ledger.next(0));
        let start = Instant::now();
        connection.send(&request)?;
        let line = server.session.line()?;
        times.push(start.elapsed().as_secs_f64() * 1e6);
        connection.answered()?;
        ledger.take(&line)?;
    }
    ledger.close()?;
    Ok(times)
}

fn processor(server: &Server) -> Option<f64> {
    server.pids().into_iter().map(processor_seconds).sum()
}
