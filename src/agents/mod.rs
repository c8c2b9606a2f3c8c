//! Adapters to agents: each translates one agent's protocols, and knows no rules, asks or links.

pub(crate) mod claude;
pub(crate) mod gateway;
pub(crate) mod mcp_stdio;
