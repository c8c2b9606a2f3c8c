//! What every journey needs: a home, a gate, a client for each protocol, and patience.

pub(crate) mod body;
pub(crate) mod browser;
pub(crate) mod child;
pub(crate) mod claude;
pub(crate) mod connection;
pub(crate) mod control;
pub(crate) mod driven;
pub(crate) mod gate;
pub(crate) mod home;
pub(crate) mod hooks;
pub(crate) mod http;
pub(crate) mod left_behind;
pub(crate) mod link;
pub(crate) mod prompts;
pub(crate) mod push;
pub(crate) mod running;
pub(crate) mod seen;
pub(crate) mod sse;
pub(crate) mod standin;
pub(crate) mod stream;
pub(crate) mod terminal;
pub(crate) mod tmux;

pub(crate) use rustix::process::Signal;
pub(crate) use seen::{PATIENCE, until};
