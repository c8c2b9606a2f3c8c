//! The MCP servers of Claude Code: which of them it reaches past the gateway.

use std::path::Path;

use super::super::environment;
use super::finding::Finding;
use crate::config::Paths;
use crate::setup::adopted::starts_gateway;
use crate::setup::servers::written;
use crate::upstream::config::{Configuration, ConfiguredServer, ServerFiles, ServerLayer};

const CHECK: &str = "MCP servers";

/// Nothing where there are no servers. What is past the gateway is as Claude Code has it, and no fault.
pub(super) fn look(paths: &Paths, project: &Path) -> Option<Finding> {
    let files = ServerFiles::find(project, paths).ok()?;
    let variable = |name: &str| environment(name).and_then(|value| value.into_string().ok());
    let configuration = Configuration::read(&files, &variable);
    let is_own = |server: &&ConfiguredServer| matches!(server.layer, ServerLayer::Local | ServerLayer::User);
    let starts_us =
        |server: &ConfiguredServer| server.entry.as_ref().is_some_and(|entry| entry.endpoint.starts_this_program());
    let is_behind = |server: &ConfiguredServer| {
        let under = files.under(server.layer).unwrap_or_default();
        let text = written(&server.file, &under, &server.name).ok().flatten().unwrap_or_default();
        starts_gateway(&serde_json::from_str(&text).unwrap_or_default(), &server.name)
    };
    let own = configuration.servers.iter().filter(is_own).filter(|server| !starts_us(server));
    let (behind, past): (Vec<&ConfiguredServer>, Vec<_>) = own.partition(|server| is_behind(server));
    let names = |servers: &[&ConfiguredServer]| {
        servers.iter().map(|server| server.name.as_str()).collect::<Vec<_>>().join(", ")
    };
    match (behind.is_empty(), past.is_empty()) {
        (true, true) => None,
        (false, true) => Some(Finding::ok(CHECK, format!("behind the gateway: {}", names(&behind)))),
        (_, false) => Some(
            Finding::note(CHECK, format!("Claude Code reaches these past the gateway: {}", names(&past)))
                .with("put them behind it, so that each call is judged here: portcullis mcp adopt"),
        ),
    }
}
