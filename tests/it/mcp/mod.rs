//! `portcullis mcp`: servers of all layers and transports, what they offer, calls, and servers that misbehave.

pub(crate) mod auth;
mod config;
mod conformance;
mod faults;
mod floods;
pub(crate) mod gateway;
mod gateway_down;
mod gateway_http;
mod gateway_life;
mod gateway_passing;
mod gateway_tokens;
mod inspector;
mod shared;
mod told;
mod transports;

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::PATIENCE;
use crate::support::child::{Child, Stdin};
use crate::support::claude::peer;
use crate::support::home::{Home, Ran};

fn node() -> String {
    peer("PORTCULLIS_TEST_NODE")
}

/// The entry of the real server on its standard streams.
fn everything() -> Value {
    json!({"command": node(), "args": [peer("PORTCULLIS_TEST_EVERYTHING"), "stdio"]})
}

/// The entry of a server with one fault.
fn fake(fault: &str) -> Value {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/mcp-server.js");
    json!({"command": node(), "args": [script, fault]})
}

/// A small server over HTTP, as these variables want it, and its port.
fn over_http(home: &Home, variables: &[(&str, &str)]) -> (Child, u16) {
    let mut server = home.program(node());
    server.arg(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/it/fakes/token-server.js"));
    server.envs(variables.iter().copied());
    let server = home.spawn(server, Stdin::Nothing);
    let port = server.line(PATIENCE, |line| line.parse::<u16>().is_ok());
    (server, port.parse().unwrap())
}

/// Writes these servers for the user.
fn configure(home: &Home, servers: &Value) {
    fs::write(home.user().join(".claude.json"), json!({"mcpServers": servers}).to_string()).unwrap();
}

/// Writes these servers into the project, as a clone brings them.
fn clone_with(home: &Home, servers: &Value) -> PathBuf {
    let file = home.project().join(".mcp.json");
    fs::write(&file, json!({"mcpServers": servers}).to_string()).unwrap();
    file
}

/// What `mcp list` says of a server.
#[track_caller]
fn listed(home: &Home, name: &str) -> Value {
    let servers = home.run(&["mcp", "list", "--json"]).ok().json();
    let found = servers.as_array().unwrap().iter().find(|server| server["name"] == name);
    found.unwrap_or_else(|| panic!("{name} is not in {servers}")).clone()
}

#[track_caller]
fn call(home: &Home, server: &str, tool: &str, arguments: &Value) -> Ran {
    home.run(&["mcp", "call", server, tool, &arguments.to_string()])
}
