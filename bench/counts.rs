//! What an event costs the gate's thread in instructions and system calls: figures that no neighbour on the machine
//! disturbs, and so the only ones that `./check` holds to a limit.
//!
//! Each is found by two runs that differ in nothing but the number of events: what both need cancels out.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::contenders::{Contender, Kind, Server};
use crate::flood::{Load, flood};
use crate::http::{Connection, post};
use crate::ledger::Ledger;
use crate::rows::{SMALL, one_by_one, other_sessions, path_among};
use crate::session::Session;

/// How events come.
#[derive(Clone, Copy)]
enum Arrival {
    /// Over 64 connections, each of which waits for its answer.
    Together,
    /// Each after the answer to the one before, while the session's process stands still: what it confirms is a commit
    /// too, and how often it does depends on the time that passes.
    OneByOne,
    /// Over as many connections as there are sessions, each to one of its own; or all to the only one.
    Among(usize),
}

/// Connections to many sessions, or to one.
const AMONG: usize = 100;

impl Arrival {
    /// Events of the shorter and of the longer run: whole rounds of 64 connections, or fewer than may be on their way to a
    /// session that does not confirm any.
    fn events(self) -> [usize; 2] {
        match self {
            Self::Together => [64 * 16, 64 * 48],
            Self::OneByOne => [64, 448],
            Self::Among(_) => [AMONG * 8, AMONG * 24],
        }
    }
}

/// A figure that may not grow.
struct Figure {
    name: &'static str,
    measure: Measure,
    arrival: Arrival,
    /// For an event. Lowered with every change that lowers the figure.
    most: f64,
    /// What it is to become.
    goal: f64,
}

const FIGURES: &[Figure] = &[
    Figure {
        name: "instructions, 64 connections",
        measure: Measure::Instructions,
        arrival: Arrival::Together,
        most: 30_000.0,
        goal: 26_000.0,
    },
    Figure {
        name: "system calls, 64 connections",
        measure: Measure::SystemCalls,
        arrival: Arrival::Together,
        most: 3.0,
        goal: 3.0,
    },
    Figure {
        name: "system calls, one by one",
        measure: Measure::SystemCalls,
        arrival: Arrival::OneByOne,
        most: 14.5,
        goal: 14.5,
    },
];

#[derive(Clone, Copy)]
enum Measure {
    Instructions,
    SystemCalls,
}

/// Prints what an event takes, and fails where it is more than it may be.
pub(crate) fn check(binary: &Path) -> anyhow::Result<()> {
    println!("| an event, on the gate's thread | found | at most | goal |\n|---|---|---|---|");
    let mut missed = vec![];
    for Figure { name, measure, arrival, most, goal } in FIGURES {
        let found = match measure {
            Measure::Instructions => total(&instructions(binary, *arrival)?),
            Measure::SystemCalls => total(&system_calls(binary, *arrival)?),
        };
        println!("| {name} | {found:.2} | {most} | {goal} |");
        missed.extend((found > *most).then_some(*name));
    }
    ensure!(missed.is_empty(), "more than it may be: {}", missed.join("; "));
    Ok(())
}

/// Prints where the instructions and the system calls of an event go, the most first.
pub(crate) fn profile(binary: &Path) -> anyhow::Result<()> {
    for (name, counts) in [
        ("instructions, 64 connections", instructions(binary, Arrival::Together)?),
        ("instructions, one by one", instructions(binary, Arrival::OneByOne)?),
        ("instructions, 100 connections to 1 session", instructions(binary, Arrival::Among(1))?),
        ("instructions, 100 connections to 100 sessions", instructions(binary, Arrival::Among(AMONG))?),
        ("system calls, 64 connections", system_calls(binary, Arrival::Together)?),
        ("system calls, 100 connections to 1 session", system_calls(binary, Arrival::Among(1))?),
        ("system calls, 100 connections to 100 sessions", system_calls(binary, Arrival::Among(AMONG))?),
        ("system calls, one by one", system_calls(binary, Arrival::OneByOne)?),
    ] {
        println!("\n{name}: {:.1}", total(&counts));
        let mut sorted: Vec<_> = counts.iter().filter(|(_, count)| count.abs() >= 0.05).collect();
        sorted.sort_by(|one, other| other.1.total_cmp(one.1));
        for (what, count) in sorted.iter().take(70) {
            println!("{count:>10.1}  {what}");
        }
    }
    Ok(())
}

/// How often, for each event.
type Counts = HashMap<String, f64>;

fn total(counts: &Counts) -> f64 {
    counts.values().sum()
}

/// Instructions by function. Two are left out with all that they call: SHA-256, for which the counter's processor has no
/// instructions, as real ones do; and the snapshot that a gate makes when it ends. In use there is one for 100,000 records,
/// and here it would be divided by the few events of one run.
fn instructions(binary: &Path, arrival: Arrival) -> anyhow::Result<Counts> {
    let count = |events| {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let file = folder.path().join("counts");
        let mut out = OsString::from("--callgrind-out-file=");
        out.push(&file);
        let options = ["valgrind", "-q", "--tool=callgrind", "--separate-threads=yes", "--compress-strings=no"];
        let under = options.map(OsString::from).into_iter().chain([out]).collect();
        run(binary, under, arrival, events)?;
        // The first thread is the one that runs the loop and the doors.
        let counted = fs::read_to_string(folder.path().join("counts-01"))?;
        Ok(by_function(&counted))
    };
    let mut counts = difference(arrival, count)?;
    counts.retain(|function, _| !is_left_out(function));
    Ok(counts)
}

fn is_left_out(function: &str) -> bool {
    function.contains("sha2::") || function.ends_with("::save_snapshot")
}

/// Sums what callgrind wrote: the instructions of each function, without those of what it called.
fn by_function(counted: &str) -> Counts {
    let mut counts = Counts::new();
    let (mut function, mut called, mut is_call) = ("", "", false);
    for line in counted.lines() {
        if let Some(name) = line.strip_prefix("fn=") {
            function = name;
        } else if let Some(name) = line.strip_prefix("cfn=") {
            called = name;
        } else if line.starts_with("calls=") {
            is_call = true;
        } else if line.starts_with(|first: char| first.is_ascii_digit() || "+-*".contains(first)) {
            let Some(count) = line.split(' ').nth(1).and_then(|count| count.parse::<f64>().ok()) else { continue };
            if !std::mem::take(&mut is_call) {
                *counts.entry(function.to_owned()).or_default() += count;
            } else if is_left_out(function) && !is_left_out(called) {
                // The line behind a call says what was spent in there, which is counted there.
                *counts.entry(called.to_owned()).or_default() -= count;
            }
        }
    }
    counts
}

/// System calls by name.
fn system_calls(binary: &Path, arrival: Arrival) -> anyhow::Result<Counts> {
    let count = |events| {
        let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
        let file = folder.path().join("counts");
        // As a grandchild, so that the child is the gate itself.
        let under = ["strace", "-D", "-qq", "-ff", "-o"].map(OsString::from).into_iter().chain([file.clone().into()]);
        let gate = run(binary, under.collect(), arrival, events)?;
        let traced = fs::read_to_string(file.with_extension(gate.to_string()))?;
        let mut counts = Counts::new();
        for (name, _) in traced.lines().filter_map(|line| line.split_once('(')) {
            *counts.entry(name.to_owned()).or_default() += 1.0;
        }
        Ok(counts)
    };
    difference(arrival, count)
}

/// What one event takes: the difference between two runs, by their difference in events.
fn difference(arrival: Arrival, count: impl Fn(usize) -> anyhow::Result<Counts>) -> anyhow::Result<Counts> {
    let [fewer, more] = arrival.events();
    let difference = (more - fewer) as f64;
    let (fewer, mut more) = (count(fewer)?, count(more)?);
    for (what, count) in fewer {
        *more.entry(what).or_default() -= count;
    }
    more.values_mut().for_each(|count| *count /= difference);
    Ok(more)
}

/// Runs a gate and a session under a program that counts, and sends so many events. Returns the gate's process.
fn run(binary: &Path, under: Vec<OsString>, arrival: Arrival, events: usize) -> anyhow::Result<u32> {
    let counter = under.first().map(|counter| counter.to_string_lossy().into_owned()).unwrap_or_default();
    let kind = Kind::Gate { binary: binary.to_owned(), durability: "process", under };
    let contender = Contender { name: "gate".to_owned(), kind };
    let server = contender.start().with_context(|| format!("starting the gate under {counter}: is it installed?"))?;
    let gate = server.stage.gate_pid().context("the gate's process")?;
    let mut server = server;
    let mut others = match arrival {
        Arrival::Among(count) => other_sessions(&mut server, count)?,
        Arrival::Together | Arrival::OneByOne => vec![],
    };
    send(&mut server, &mut others, arrival, events)?;
    let Server { session, mut stage, .. } = server;
    for session in others.into_iter().chain([session]) {
        session.close(crate::session::PATIENCE)?;
    }
    stage.close_gate()?;
    Ok(gate)
}

fn send(server: &mut Server, others: &mut [Session], arrival: Arrival, events: usize) -> anyhow::Result<()> {
    match arrival {
        Arrival::Among(count) => {
            let path = |connection| path_among(connection, count);
            let load = Load { connections: AMONG, events_each: events / AMONG, size: SMALL, path: &path };
            let mut all: Vec<&mut Session> = vec![&mut server.session];
            all.extend(others);
            flood(server.address, &mut all, load).map(drop)
        }
        Arrival::OneByOne => {
            one_by_one(server, "/", 1, SMALL)?;
            let session =
                i32::try_from(server.session.pid()).ok().and_then(Pid::from_raw).context("the session's pid")?;
            let mut ledger = Ledger::new(1, SMALL);
            let mut connection = Connection::open(server.address)?;
            kill_process(session, Signal::STOP)?;
            for _ in 0..events {
                connection.send(&post(server.address, "/", &ledger.next(0)))?;
                connection.answered()?;
            }
            kill_process(session, Signal::CONT)?;
            for _ in 0..events {
                ledger.take(&server.session.line()?)?;
            }
            ledger.close()
        }
        Arrival::Together => {
            let load = Load { connections: 64, events_each: events / 64, size: SMALL, path: &|_| "/".to_owned() };
            flood(server.address, &mut [&mut server.session], load).map(drop)
        }
    }
}
