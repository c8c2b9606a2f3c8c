//! `portcullis mcp approve`: what a project may start or reach.

use std::process::ExitCode;

use super::super::{paths, say};
use super::configuration;
use crate::failure::Failure;
use crate::rules::Trusted;
use crate::upstream::config::{ConfiguredServer, ServerLayer, ServerStanding};

#[derive(clap::Args)]
pub(super) struct Approve {
    /// The names of the servers, as in .mcp.json
    #[arg(required = true)]
    servers: Vec<String>,
}

impl Approve {
    pub(super) fn in_words(&self) -> String {
        format!("the MCP server {}", self.servers.join(", "))
    }

    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        say(&approve(&self.servers)?);
        Ok(ExitCode::SUCCESS)
    }
}

/// Approves servers of a project as they stand now, and says what was approved.
pub(super) fn approve(servers: &[String]) -> anyhow::Result<String> {
    let (files, configuration) = configuration()?;
    let find = |name: &str| {
        let is_it = |server: &&ConfiguredServer| server.name == name && server.layer == ServerLayer::Project;
        configuration.servers.iter().find(is_it)
    };
    let mut approved = Trusted::read(&files.approved);
    let mut said = String::new();
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
        approved.add_part(&server.file, name, &entry.identity(name));
        said.push_str(&format!(
            "Approved {name} ({}): {}\n",
            entry.endpoint.kind(),
            portcullis_core::visible(&entry.endpoint.in_words())
        ));
    }
    paths()?.prepare()?;
    approved.write(&files.approved)?;
    Ok(said)
}
