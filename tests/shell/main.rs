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
                println!("{NAME}: test");
            }
        }
        _ if given("--ignored") => {}
        _ => {
            let mut filters = arguments.iter().filter(|argument| !argument.starts_with('-')).peekable();
            if filters.peek().is_none() || filters.any(|filter| NAME.contains(filter.as_str())) {
                report::check(LINES);
            }
        }
    }
}
