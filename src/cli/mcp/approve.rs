//! `portcullis mcp approve`: what a project may start or reach.

use std::path::PathBuf;
use std::process::ExitCode;

use portcullis_core::visible;
use serde_json::{Value, json};

use super::super::paths;
use super::change::told;
use super::{configuration, note_problems};
use crate::failure::Failure;
use crate::rules::Trusted;
use crate::upstream::config::{ConfiguredServer, ServerLayer, ServerStanding, Upstream};

#[derive(clap::Args)]
pub(super) struct Approve {
    /// The names of the servers, as in .mcp.json
    #[arg(required = true)]
    servers: Vec<String>,
    /// Approve only what has this hash, as `mcp list --json` tells it
    #[arg(long, value_name = "HASH")]
    pub(super) hash: Option<String>,
    /// Print a JSON array
    #[arg(long)]
    json: bool,
}

impl Approve {
    pub(super) fn in_words(&self) -> String {
        format!("the MCP server {}", self.servers.join(", "))
    }

    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let approved = approve(&self.servers, self.hash.as_deref())?;
        let words: Vec<String> = approved.iter().map(ApprovedServer::in_words).collect();
        let done = approved.iter().map(ApprovedServer::as_json).collect();
        told(self.json, &done, &words.join("\n"));
        Ok(ExitCode::SUCCESS)
    }
}

/// A server as it was approved.
pub(super) struct ApprovedServer {
    name: String,
    kind: &'static str,
    /// What is started or reached.
    endpoint: String,
    /// And with what.
    with: Vec<String>,
    file: PathBuf,
}

impl ApprovedServer {
    fn in_words(&self) -> String {
        let with: String = self.with.iter().map(|line| format!("\n  {}", visible(line))).collect();
        format!("Approved {} ({}): {}{with}", self.name, self.kind, visible(&self.endpoint))
    }

    fn as_json(&self) -> Value {
        json!({"name": self.name, "type": self.kind, "endpoint": self.endpoint, "with": self.with, "file": self.file})
    }
}

/// Approves servers of a project as they stand now, and says what was approved.
pub(super) fn approve(servers: &[String], hash: Option<&str>) -> anyhow::Result<Vec<ApprovedServer>> {
    let (files, configuration) = configuration()?;
    note_problems(&configuration);
    let find = |name: &str| {
        let is_it = |server: &&ConfiguredServer| server.name == name && server.layer == ServerLayer::Project;
        configuration.servers.iter().find(is_it)
    };
    let mut approved = Trusted::read(&files.approved);
    let mut all = vec![];
    for name in servers {
        let Some(server) = find(name) else {
            let hint = "only servers of a project's .mcp.json need approval: portcullis mcp list";
            return Err(Failure::usage(format!("no .mcp.json here has a server {name:?}"), hint).into());
        };
        let Some(entry) = &server.entry else {
            let wrong = match &server.standing {
                ServerStanding::Bad(wrong) => wrong,
                _ => "it cannot be read",
            };
            let hint = format!("mend it in {}", server.file.display());
            return Err(Failure::new(format!("{name}: {wrong}"), hint).into());
        };
        if hash.is_some_and(|hash| hash != Upstream::new(name, entry.clone()).hash) {
            let what = format!("{name} is another one now than the one that was to be approved");
            return Err(Failure::denied(what, "look at it again: portcullis mcp list").into());
        }
        approved.add_part(server.folder(), name, &entry.identity(name));
        let (kind, endpoint, with) = (entry.endpoint.kind(), entry.endpoint.in_words(), entry.endpoint.with());
        all.push(ApprovedServer { name: name.clone(), kind, endpoint, with, file: server.file.clone() });
    }
    paths()?.prepare()?;
    approved.write(&files.approved)?;
    Ok(all)
}
