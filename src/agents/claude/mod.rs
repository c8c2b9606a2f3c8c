//! Claude Code: its channel, its hooks, its control protocol, and the process that we hold.

pub(crate) mod channel;
pub(crate) mod control;
pub(crate) mod hooks;
pub(crate) mod process;
