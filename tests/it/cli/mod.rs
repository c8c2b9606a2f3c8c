//! The subcommands at the command line: what they print, change and refuse.

mod ask;
mod completions;
mod demo;
mod doctor;
mod events;
mod install;
mod lists;
mod log;
mod notify;
mod plugin;
mod quick_start;
mod real_cli;
mod receipts;
mod rules;
mod service;
mod startup;
mod watch;
