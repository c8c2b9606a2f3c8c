//! What runs in a session's own process, whatever the agent.

pub(crate) mod gatekeeper;
pub(crate) mod inbox;
mod leaving;
pub(crate) mod link;
pub(crate) mod ring;
pub(crate) mod tools;
