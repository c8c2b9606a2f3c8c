//! A Claude Code that we drive over its own control protocol.

mod calls;
mod driver;
mod escapes;
mod mcp;
mod notices;
mod probe;
mod requests;

pub(crate) use driver::{Outcome, Start, Told, Untold, drive};
pub(crate) use escapes::in_a_line;
pub(crate) use probe::{ProbedClient, probe};
