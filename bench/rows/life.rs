//! Coming, staying and going: cold start, memory, and the end.

use std::time::{Duration, Instant};

use super::Run;
use super::speed::SMALL;
use crate::flood::{Load, flood};
use crate::machine::{proportional, resident};

/// How long a server may take to leave when its client has closed.
const LEAVING: Duration = Duration::from_millis(1500);

/// From starting the process to its answer to `initialize`; a gate, where it is a process of its own, runs before.
pub(crate) fn cold_start(run: &mut Run) -> anyhow::Result<()> {
    let starts = run.count(8, 3);
    let mut stages = run.contenders.iter().map(super::Contender::set).collect::<anyhow::Result<Vec<_>>>()?;
    for _ in 0..run.rounds {
        for (place, stage) in stages.iter_mut().enumerate() {
            for _ in 0..starts {
                let start = Instant::now();
                let mut session = stage.spawn("bench")?;
                session.greet()?;
                let took = start.elapsed();
                run.table.note("cold start", "ms", place, took.as_secs_f64() * 1e3);
                session.close(Duration::from_millis(100))?;
            }
        }
    }
    Ok(())
}

/// What is taken after ten thousand events: by a session's process in proportion, because there are many of them that share
/// their program; by the gate, of which there is one, in all.
pub(crate) fn memory(run: &mut Run) -> anyhow::Result<()> {
    let load = Load { connections: 16, events_each: 625, size: SMALL, path: &|_| "/".to_owned() };
    for (place, contender) in run.contenders.iter().enumerate() {
        let mut server = contender.start()?;
        flood(server.address, &mut [&mut server.session], load)?;
        let session = proportional(server.session.pid()).unwrap_or(f64::NAN);
        // One process is both.
        let gate = server.stage.gate_pid().or(Some(server.session.pid())).and_then(resident).unwrap_or(f64::NAN);
        run.table.note("memory, session", "MB", place, session);
        run.table.note("memory, gate", "MB", place, gate);
    }
    Ok(())
}

/// From closing the server's input to its end.
pub(crate) fn exit(run: &mut Run) -> anyhow::Result<()> {
    for _ in 0..run.rounds {
        for (place, contender) in run.contenders.iter().enumerate() {
            let server = contender.start()?;
            let took = server.session.close(LEAVING)?;
            let figure = took.map_or(f64::INFINITY, |took| took.as_secs_f64() * 1e3);
            run.table.note("exit after end of input", "ms", place, figure);
        }
    }
    Ok(())
}
