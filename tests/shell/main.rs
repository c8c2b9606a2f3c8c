//! Generated shell lines: what a real bash runs, reads, writes or removes must not have been allowed unasked.
//!
//! ```text
//! grammar ──► lines ──► sandbox: a real bash in namespaces says what each did
//!                  └──► judge: what the product decides, in every mode
//! ```
//!
//! It is a program of its own, because the same file is the driver inside of the sandbox.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says why"
)]

mod driver;
mod grammar;
mod judge;
mod programs;
mod report;
mod rng;
mod sandbox;
mod world;

const NAME: &str = "nothing_that_ran_was_allowed_unasked";

/// In `./check`; `./check --million` sets another number.
const LINES: usize = 20_000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    match arguments.first().map(String::as_str) {
        Some("driver") => driver::run(&arguments[1]),
        // What test runners ask.
        _ if given("--list") => {
            if !given("--ignored") {
                println!("{NAME}: test\n{}: test", programs::NAME);
            }
        }
        _ if given("--ignored") => {}
        _ => {
            let filters: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with('-')).collect();
            let is_wanted =
                |name: &str| filters.is_empty() || filters.iter().any(|filter| name.contains(filter.as_str()));
            if is_wanted(NAME) {
                report::check(LINES);
            }
            if is_wanted(programs::NAME) {
                programs::check();
            }
        }
    }
}
