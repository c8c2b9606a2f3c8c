//! Doors speak one protocol each and turn it into what the hub understands. They never use each other.

pub(crate) mod channel;
pub(crate) mod hooks;
pub(crate) mod http;
