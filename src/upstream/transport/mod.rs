//! How messages reach a server and come back.

mod answer;
pub(super) mod http;
pub(super) mod mend;
pub(super) mod process;
pub(super) mod redirect;
pub(super) mod sse;
pub(super) mod stdio;
mod streamable;
mod unreadable;
pub(super) mod ws;

/// The largest message that is read. Servers answer with pictures and whole files, so it is not small.
const LARGEST_MESSAGE: usize = 128 << 20;

pub(super) fn largest() -> usize {
    crate::fixed::limit("MCP_LARGEST", LARGEST_MESSAGE)
}
