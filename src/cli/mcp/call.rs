//! `portcullis mcp call`: one call of one tool.

use std::process::ExitCode;

use portcullis_core::visible;
use serde_json::{Map, Value};

use super::super::{paths, say};
use super::{configuration, note_problems, upstreams, variable};
use crate::failure::Failure;
use crate::mint::now;
use crate::upstream::config::{Configuration, ServerStanding, Upstream};
use crate::upstream::shape::{self, ResultFiles};

/// Tried as often as Claude Code does when it starts.
const TRIES: u32 = 3;

#[derive(clap::Args)]
pub(super) struct McpCall {
    /// The name of the server
    pub(super) server: String,
    /// The tool, by the name that the server gives it
    pub(super) tool: String,
    /// The arguments, as one JSON object
    #[arg(default_value = "{}")]
    arguments: String,
    /// Print the server's result as JSON, as it came
    #[arg(long)]
    json: bool,
}

impl McpCall {
    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        let arguments: Map<String, Value> = serde_json::from_str(&self.arguments).map_err(|error| {
            Failure::usage("the arguments are no JSON object", r#"write them so: '{"text": "hello"}'"#).because(error)
        })?;
        let (_, configuration) = configuration()?;
        note_problems(&configuration);
        ready(&configuration, &self.server)?;
        let upstreams = upstreams(&configuration, TRIES).await?;
        let called = upstreams.call(&self.server, &self.tool, arguments).await;
        upstreams.close().await;
        let result = called.map_err(|failure| {
            Failure::new(
                format!("calling {} of {}: {}", self.tool, self.server, failure.why()),
                format!("see what it offers: portcullis mcp tools {}", self.server),
            )
        })?;
        let has_failed = result.get("isError").and_then(Value::as_bool).unwrap_or_default();
        if self.json {
            say(&format!("{}\n", serde_json::to_string(&result)?));
        } else {
            let tokens = variable("MAX_MCP_OUTPUT_TOKENS").and_then(|tokens| tokens.parse().ok());
            let folder = shape::folder(&paths()?.state_dir);
            let mut files = ResultFiles::new(folder, &self.server, &self.tool, now().0);
            let text = shape::shaped(&result, &self.tool, tokens.unwrap_or(shape::USUAL_TOKENS), &mut files)?;
            say(&format!("{}\n", visible(&text)));
        }
        Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
    }
}

/// The server of this name, if it may be used.
pub(super) fn ready<'a>(configuration: &'a Configuration, name: &str) -> Result<&'a Upstream, Failure> {
    let Some(server) = configuration.find(name) else {
        let known: Vec<&str> = configuration.servers.iter().map(|server| server.name.as_str()).collect();
        let hint = match crate::config::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean {near}?"),
            None => "see what is configured: portcullis mcp list".to_owned(),
        };
        return Err(Failure::usage(format!("no MCP server is called {name:?}"), hint));
    };
    let refused =
        |why: &str, hint: String| Err(Failure::denied(format!("the MCP server {name:?} cannot be used: {why}"), hint));
    match &server.standing {
        ServerStanding::Ready(upstream) => Ok(upstream),
        ServerStanding::Unapproved => refused(
            "nobody approved it as it stands in this project",
            format!("look at it in {}, then run: portcullis mcp approve {name}", server.file.display()),
        ),
        ServerStanding::Disabled(by) => refused(by, format!("portcullis mcp enable {name}")),
        ServerStanding::Refused(why) => refused(why, "change the list in Claude Code's settings".to_owned()),
        ServerStanding::Bad(wrong) => refused(wrong, format!("mend it in {}", server.file.display())),
        ServerStanding::Hidden(_) => {
            refused("another layer has a server of this name", "portcullis mcp list".to_owned())
        }
    }
}
