//! Parse, run, report.

mod claude;
mod cli;
mod config;
mod doors;
mod hub;
mod lines;
mod processes;
mod rules;
mod store;
mod stream;
mod tools;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run(std::env::args_os()).unwrap_or_else(|error| cli::report(&error))
}
