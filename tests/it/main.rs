//! Journeys through the real binary over real sockets and processes, in a folder for each subject.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    reason = "a test fails by panicking, and says why on stderr"
)]

mod fakes;
mod support;

mod acp;
mod chat;
mod cli;
mod hooks;
mod http;
mod mcp;
mod page;
mod robustness;
mod run;
mod session;

mod architecture;
mod help;
mod messages;
mod peers;
mod readme;
mod reference;
mod support_tests;
