//! MCP on standard input and output, or on another pair of streams: lines between a client and rmcp.

mod streams;
mod transport;

pub(crate) use streams::open;
pub(in crate::agents) use transport::{LineTransport, OnPrompt, OnSent, SharedOutput};

/// A line from the client is at most this long.
pub(in crate::agents) const LONGEST_LINE: usize = 16 << 20;
