//! Generated shell lines: what a real bash, or zsh, runs, reads, writes or removes must not have been allowed unasked.
//!
//! ```text
//! grammar ──► lines ──► judge: what the product decides, in every mode
//!                  └──► sandbox: a real bash in namespaces says what each that passes did
//! ```
//!
//! It is a program of its own, because the same file is the driver inside of the sandbox. On Linux it fails where no
//! namespaces can be made. Another system has none: there nothing is built but a sentence that says so.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a test fails by panicking, and says why"
)]

#[cfg(target_os = "linux")]
mod driver;
#[cfg(target_os = "linux")]
mod grammar;
#[cfg(target_os = "linux")]
mod judge;
#[cfg(target_os = "linux")]
mod kept;
#[cfg(target_os = "linux")]
mod programs;
#[cfg(target_os = "linux")]
mod report;
#[cfg(target_os = "linux")]
mod rng;
#[cfg(target_os = "linux")]
mod sandbox;
#[cfg(target_os = "linux")]
mod trial;
#[cfg(target_os = "linux")]
mod world;
#[cfg(target_os = "linux")]
mod zsh;

#[cfg(target_os = "linux")]
const NAME: &str = "nothing_that_ran_was_allowed_unasked";

/// In `./check`; `./check --million` sets another number.
#[cfg(target_os = "linux")]
const LINES: usize = 20_000;

#[cfg(target_os = "linux")]
fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    match arguments.first().map(String::as_str) {
        Some("driver") => driver::run(&arguments[1]),
        // What test runners ask.
        _ if given("--list") => {
            if !given("--ignored") {
                println!("{NAME}: test\n{}: test\n{}: test", programs::NAME, zsh::NAME);
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
            if is_wanted(zsh::NAME) {
                zsh::check();
            }
        }
    }
}

/// Without tests: a list is empty, and a run says why.
#[cfg(not(target_os = "linux"))]
fn main() {
    if !std::env::args().any(|argument| argument == "--list") {
        println!(
            "generated shell lines are not run here: they need the namespaces of Linux; run ./check there as well"
        );
    }
}
