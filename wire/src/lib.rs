//! Serde types for each protocol that we speak, for the API and for the journal, and their conversion to and from core.

pub mod api;
pub mod as_text;
pub mod ask;
pub mod bridge;
pub mod canonical;
pub mod channel;
pub mod control;
pub mod envelope;
pub mod error;
pub mod form;
pub mod front;
#[cfg(test)]
mod fuzz;
pub mod hooks;
pub mod link;
pub mod nesting;
pub mod notify;
pub mod openapi;
pub mod permission;
pub mod preview;
pub mod questions;
pub mod record;
pub mod routes;
pub mod sentence;
pub mod session;
pub mod start;
pub mod stream;
pub mod text;
pub mod tools;
pub mod words;
