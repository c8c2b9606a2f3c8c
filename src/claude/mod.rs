//! Claude Code, driven: held as a child that leaves nothing behind, and spoken with over its own control protocol.

pub(crate) mod guard;
mod holder;
mod options;

pub(crate) use holder::{Ended, Held, Holder};
pub(crate) use options::{Options, find};
