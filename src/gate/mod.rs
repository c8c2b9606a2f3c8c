//! The gate put together, and how a client finds or starts it.

pub(crate) mod client;
mod connectors;
mod daemon;
mod failures;
mod folders;
mod hooks;
pub(crate) mod inside;
pub(crate) mod inspect;
pub(crate) mod lifetime;
pub(crate) mod lock;
mod mcp;
mod mcp_host;
mod notify;
mod ports;
mod push;
pub(crate) mod reach;
pub(crate) mod sessions;
pub(crate) mod starting;

pub(crate) use ports::bind_socket;

pub(crate) use daemon::{Gate, GateOptions, Started, open, open_in_place};

pub(crate) const VERSION: &str = env!("CARGO_PKG_VERSION");
