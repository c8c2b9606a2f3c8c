//! Parse, run, report.

mod agents;
mod cli;
mod config;
mod doors;
mod failure;
mod files;
mod fixed;
mod fronts;
mod gate;
mod hub;
mod lines;
mod locks;
mod mint;
mod processes;
mod push;
mod report;
mod rules;
mod session;
mod setup;
mod store;
mod stream;
mod turns;
mod upstream;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os()).unwrap_or_else(|error| report::report(&error))
}
