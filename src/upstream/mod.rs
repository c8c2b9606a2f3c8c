//! MCP servers that we are a client of: which are configured, how they are reached, and what becomes of a call.
//!
//! [`Upstreams`] owns the connections. It starts or reaches a server when someone first needs it, once for all who do,
//! and again when it was lost. Types of rmcp end here: others are given names, texts and JSON.

pub(crate) mod auth;
mod channel;
mod client;
pub(crate) mod config;
mod connection;
mod failure;
mod handler;
mod headers;
mod ide;
mod listing;
mod lists;
mod making;
mod names;
mod opening;
mod pacing;
mod probe;
mod recovery;
pub(crate) mod shape;
mod shared;
mod silence;
mod slot;
#[cfg(test)]
mod tests;
mod timeouts;
mod transport;
mod upstreams;

pub(crate) use channel::{ChannelSaid, FromChannel};
pub(crate) use client::{ClientBehind, FromServer, PassedRequest, RefusedRequest, ServerSaid};
pub(crate) use failure::{ADDRESS_FIRST, CallFailure};
pub(crate) use lists::ListKind;
pub(crate) use names::{ToolName, is_told_apart, may_be_of, names};
pub(crate) use shared::SharedServers;
pub(crate) use silence::SilentServers;
pub(crate) use slot::UpstreamState;
pub(crate) use timeouts::Timeouts;
pub(crate) use transport::mend::{AS_IT_CAME, carry_itself, taken_out};
pub(crate) use upstreams::Upstreams;
