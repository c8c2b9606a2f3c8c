//! Journeys through the real binary, a file each, over real sockets and processes.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says why on stderr"
)]

mod fakes;
mod support;

mod architecture;
mod help;
mod install;
mod peers;
mod plugin;
mod service;
mod toolbox;
