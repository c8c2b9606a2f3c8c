//! A Claude Code that we drive over its own control protocol.

mod audit;
mod driver;
mod escapes;
mod mcp;
mod policy;
mod prompt;
mod requests;

pub(crate) use driver::{Command, Outcome, Settled, Start, Told, drive, uuid};
pub(crate) use escapes::in_a_line;
pub(crate) use policy::{Judge, Judgement};
pub(crate) use prompt::digest;
