//! Connectors: each carries prompts and replies to a platform where people are, and brings back what they say there.
//!
//! A connector is a folder here with a `run(config, hub, stop)`. What all of them share is [`Connector`], which knows who
//! someone on the platform is, and [`crate::hub::outbox::Outbox`], which knows what is still to go out.

mod connector;
pub(crate) mod socket;

pub(crate) use connector::{Connector, Heard, IncomingMessage};
