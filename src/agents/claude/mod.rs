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
mod others_hooks;
pub(crate) mod process;
pub(crate) mod transcript;

/// What the client is called where it says something itself.
pub(crate) const CLIENT: &str = "Claude Code";

/// Whether an `ask` of the hook before a tool reaches somebody. In other modes than these, and in one that nobody here
/// knows, Claude Code may ask nobody.
fn heeds_ask(mode: Option<&str>, input: &Value) -> bool {
    match mode.map_or(Some(Mode::Default), Mode::named) {
        Some(Mode::Default | Mode::AcceptEdits | Mode::Plan) => true,
        // Where its own reading of rules objects to a name, or fails, its check of actions decides and asks nobody.
        Some(Mode::Auto) => surely_reads(input),
        _ => false,
    }
}

/// Names of files may have so many bytes that Claude Code looks them up without an error, and paths so many.
const LONGEST_NAME: usize = 200;
const LONGEST_PATH: usize = 3_000;

/// Whether no name in the input is one that Claude Code's reading of rules objects to: it is too long for a disk, or looks
/// as if it lay on another machine. Whatever is in doubt is none.
fn surely_reads(input: &Value) -> bool {
    let Value::Object(fields) = input else { return true };
    let is_sure = |field: &str| match fields.get(field) {
        Some(Value::String(text)) => {
            // In quotes a blank is a part of a name.
            let is_plain = field == "command" && !text.contains(['"', '\'']);
            let ends = |c: char| c == '/' || c == '\n' || is_plain && c.is_whitespace();
            let unquoted: String = text.chars().filter(|c| !matches!(c, '"' | '\'')).collect();
            let is_far = unquoted.match_indices("//").any(|(at, _)| !unquoted[..at].ends_with(':'));
            let is_short = text.len() <= LONGEST_PATH && text.split(ends).all(|name| name.len() <= LONGEST_NAME);
            is_short && !is_far && !text.contains('\\')
        }
        _ => true,
    };
    ["command", "file_path", "notebook_path", "path"].into_iter().all(is_sure)
}

/// What the hook before a tool says for this decision; null for nothing.
fn before_output(decision: &Decision) -> Value {
    match decision {
        Decision::Deny { message, .. } => refuse_tool(message),
        Decision::Ask { reason } => ask_about_tool(reason),
        Decision::Allow { .. } | Decision::NoDecision => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn in_auto_mode_an_ask_is_heeded_where_the_client_surely_reads_every_name() {
        let heeds = |mode, line: &str| heeds_ask(Some(mode), &json!({"command": line, "description": "//"}));
        assert!(heeds("auto", "touch a.txt && curl https://host/x"));
        let long = "a".repeat(256);
        let quoted = format!("touch '{} {}'", "a".repeat(150), "b".repeat(150));
        let deep = format!("touch {}", "b/".repeat(2_000));
        let broken = "touch a\\\nb";
        for line in ["touch //x/y", "touch /''/x", broken, &long, &quoted, &deep, &format!("touch b/{long}/c")] {
            assert!(!heeds("auto", line), "{line}");
            assert!(heeds("default", line), "{line}");
        }
        assert!(!heeds("bypassPermissions", "touch a.txt") && !heeds("a mode of tomorrow", "touch a.txt"));
    }
}
