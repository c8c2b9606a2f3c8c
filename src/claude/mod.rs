//! Claude Code, driven: held as a child that leaves nothing behind, and spoken with over its own control protocol.

mod audit;
mod control;
mod driver;
mod escapes;
pub(crate) mod guard;
mod holder;
mod mcp;
mod options;
mod policy;
mod prompt;

pub(crate) use driver::{Command, Outcome, Settled, Start, Told, drive, uuid};
pub(crate) use escapes::in_a_line;
pub(crate) use holder::{Holder, MARK};
pub(crate) use options::{Beginning, Options, find};
pub(crate) use policy::{Judge, Judgement};
pub(crate) use prompt::digest;
