//! `cargo bench`: Portcullis beside the server it has to beat and the loop it cannot beat, in one run, checked byte for
//! byte. Nothing here fails for being slow; anything lost, changed, doubled or out of order does.
//!
//! `cargo bench -- --quick`, `cargo bench -- latency permission`, `cargo bench -- --help`.
//!
//! `cargo bench -- --counts` is something else: it counts instructions and system calls, which do not depend on what else
//! the machine does, and fails where they are more than they may be. `./check` runs it.

#![allow(
    clippy::expect_used,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "it prints for people, and its numbers are small"
)]

mod bare;
mod baseline;
mod browser;
mod contenders;
mod counts;
mod flood;
mod http;
mod ledger;
mod machine;
mod model;
mod program;
mod rows;
mod session;
mod table;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;

use baseline::Baseline;
use contenders::{Contender, Kind};
use rows::{ROWS, Run};
use table::{CHANNEL_BUDGET, Pick, Table};

/// Measure Portcullis beside a Bun server with the same behaviour and a bare loop
#[derive(Parser)]
#[command(name = "cargo bench --")]
struct Arguments {
    /// Only groups of rows with one of these in their name
    rows: Vec<String>,
    /// A short run: fewer rounds, fewer events
    #[arg(long)]
    quick: bool,
    /// Rounds, each with every contender in turn [default: 5, quick 3]
    #[arg(long)]
    rounds: Option<usize>,
    /// The best round instead of the median of all, for a machine that others use
    #[arg(long)]
    best: bool,
    /// Only contenders with one of these in their name
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Another build of portcullis, to compare with this one in the same run
    #[arg(long, value_name = "BINARY")]
    against: Option<PathBuf>,
    /// Only count instructions and system calls of the gate, and fail where they are too many
    #[arg(long)]
    counts: bool,
    /// The same without limits, and which functions take the most instructions
    #[arg(long)]
    profile: bool,
    /// Set by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() == Some(bare::ARGUMENT) {
        return done(bare::run());
    }
    done(measure(&Arguments::parse()))
}

fn done(result: anyhow::Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn measure(arguments: &Arguments) -> anyhow::Result<()> {
    machine::raise_file_limit();
    let program = program::released()?;
    if arguments.profile {
        return counts::profile(arguments.against.as_deref().unwrap_or(&program));
    }
    if arguments.counts {
        return counts::check(arguments.against.as_deref().unwrap_or(&program));
    }
    let mut contenders = contenders(&program, arguments.against.as_deref())?;
    let is_named = |name: &str, wanted: &[String]| wanted.is_empty() || wanted.iter().any(|part| name.contains(part));
    contenders.retain(|contender| is_named(&contender.name, &arguments.only));
    let names: Vec<String> = contenders.iter().map(|contender| contender.name.clone()).collect();
    let baseline = contenders.iter().position(Contender::is_baseline);
    println!("portcullis at {}", machine::revision());
    println!("{}", machine::describe(Path::new(env!("CARGO_TARGET_TMPDIR"))));

    let rounds = arguments.rounds.unwrap_or(if arguments.quick { 3 } else { 5 });
    let pick = if arguments.best { Pick::Best } else { Pick::Median };
    let mut run = Run { program, contenders, table: Table::new(pick), rounds, quick: arguments.quick };
    for (name, row) in ROWS {
        if is_named(name, &arguments.rows) {
            eprintln!("{name} …");
            row(&mut run)?;
        }
    }
    run.table.print(&names, baseline);
    if let Some(baseline) = baseline {
        run.table.print_budget(&names, baseline, CHANNEL_BUDGET);
    }
    println!("\n{}", machine::describe(Path::new(env!("CARGO_TARGET_TMPDIR"))));
    Ok(())
}

fn contenders(program: &Path, against: Option<&Path>) -> anyhow::Result<Vec<Contender>> {
    let contender = |name: &str, kind| Contender { name: name.to_owned(), kind };
    let mut all = vec![contender("bun", Kind::Bun(Baseline::bring()?))];
    all.extend(builds("", program));
    if let Some(against) = against {
        all.extend(builds("other ", &against.canonicalize()?));
    }
    all.push(contender("bare", Kind::Bare));
    Ok(all)
}

fn builds(prefix: &str, binary: &Path) -> Vec<Contender> {
    let durabilities = ["process", "power"];
    let gates = durabilities.map(|durability| Contender {
        name: format!("{prefix}gate, {durability}"),
        kind: Kind::Gate { binary: binary.to_owned(), durability, under: vec![] },
    });
    gates.into()
}
