//! Doors are where people and programs come to the gate. Each speaks one protocol; they never use each other.

pub(crate) mod chat;
pub(crate) mod http;
