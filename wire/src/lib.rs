//! What other programs, and our later selves, see: serde types for each protocol, and their way to and from core.

pub mod api;
pub mod channel;
pub mod error;
pub mod link;
pub mod record;
pub mod words;
