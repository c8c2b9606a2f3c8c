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

mod again;
mod api;
mod architecture;
mod contract;
mod crash;
mod demo;
mod doctor;
mod faults;
mod fuzz;
mod guard;
mod help;
mod hooks;
mod hooks_command;
mod hooks_events;
mod hooks_failures;
mod hooks_posted;
mod hooks_prompts;
mod hooks_rules;
mod hooks_sessions;
mod http;
mod inside;
mod install;
mod journal;
mod life;
mod link;
mod peers;
mod people;
mod plugin;
mod pressure;
mod prompts;
mod real_cli;
mod record;
mod relink;
mod replies;
mod rules;
mod rules_cli;
mod rules_shell;
mod rulings;
mod run_api;
mod run_death;
mod run_modes;
mod run_odd;
mod run_prompts;
mod run_rules;
mod run_talk;
mod run_terminal;
mod scopes;
mod secrets;
mod service;
mod several;
mod startup;
mod tokens;
mod toolbox;
mod tools;
mod walkthrough;
