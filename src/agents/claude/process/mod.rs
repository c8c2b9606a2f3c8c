//! A Claude Code that we start: how it is called, and how nothing of it is left behind.

pub(crate) mod guard;
mod holder;
mod options;

pub(crate) use holder::{HeldProcess, Holder, MARK, StderrTail};
pub(crate) use options::{Beginning, Options, QUIET, SERVER, find};
