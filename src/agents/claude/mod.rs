//! Claude Code: its channel, its hooks, its control protocol, and the process that we hold.

use portcullis_core::policy::Mode;
use portcullis_wire::hooks::{ask_about_tool, refuse_tool};
use serde_json::Value;

use crate::session::gatekeeper::Decision;

pub(crate) mod channel;
pub(crate) mod control;
pub(crate) mod editor;
mod entries;
pub(crate) mod hooks;
pub(crate) mod hosted;
mod in_process;
pub(crate) mod process;
pub(crate) mod transcript;

/// Whether an `ask` of the hook before a tool reaches somebody in this mode. In others, and in one that nobody here knows,
/// Claude Code may ask nobody.
fn heeds_ask(mode: Option<&str>) -> bool {
    let known = mode.map_or(Some(Mode::Default), Mode::named);
    matches!(known, Some(Mode::Default | Mode::AcceptEdits | Mode::Plan | Mode::Auto))
}

/// What the hook before a tool says for this decision; null for nothing.
fn before_output(decision: &Decision) -> Value {
    match decision {
        Decision::Deny { message, .. } => refuse_tool(message),
        Decision::Ask { reason } => ask_about_tool(reason),
        Decision::Allow { .. } | Decision::NoDecision => Value::Null,
    }
}
