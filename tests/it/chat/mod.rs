//! Connectors: people on a platform talk to sessions and answer prompts, and miss nothing.

mod delivery;
mod people;
