//! `portcullis mcp add`, `remove`, `enable` and `disable`: which servers there are.

use std::process::ExitCode;

use serde_json::{Value, json};

use super::super::{paths, say};
use super::configuration;
use crate::failure::Failure;
use crate::rules::Trusted;
use crate::setup::claude::project_file;
use crate::setup::file::Audience;
use crate::setup::json::Node;
use crate::setup::servers;
use crate::setup::target::{SettingsScope, Target};
use crate::upstream::config::{ConfiguredServer, DISABLED, ServerLayer};

/// Names that Claude Code keeps for itself.
const RESERVED: [&str; 3] = ["workspace", "claude-in-chrome", "computer-use"];

#[derive(clap::Args)]
pub(super) struct Add {
    /// The name of the server
    pub(super) name: String,
    /// The address of a remote server, with --transport
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// For whom: local (you, in this project), project (.mcp.json, which others pull) or user (you, everywhere)
    #[arg(long, default_value = "local", value_parser = SettingsScope::NAMES)]
    scope: String,
    /// How the server is reached
    #[arg(long, default_value = "stdio", value_parser = ["stdio", "http", "sse", "ws"])]
    transport: String,
    /// A variable for the server's environment; may be given several times
    #[arg(long = "env", short = 'e', value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// A header for each request; may be given several times
    #[arg(long = "header", short = 'H', value_name = "NAME: VALUE", value_parser = header)]
    headers: Vec<(String, String)>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
    /// The command that starts the server, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn variable(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write it as NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or("write it as NAME: VALUE")?;
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

impl Add {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        if RESERVED.contains(&self.name.as_str()) {
            return Err(Failure::usage(
                format!("Claude Code keeps the name {:?} for itself", self.name),
                "choose another",
            )
            .into());
        }
        let node = self.node()?;
        let target = target(&self.scope, self.name.clone())?;
        let paths = paths()?;
        let file = match target.scope {
            SettingsScope::Project => project_file(&target.folder),
            SettingsScope::Local | SettingsScope::User => target.server_file()?,
        };
        let (under, audience) = match target.scope {
            SettingsScope::Project => (vec![], Audience::Everyone),
            SettingsScope::Local | SettingsScope::User => (target.under(), Audience::OwnerAlone),
        };
        servers::add(&paths, &file, &under, &self.name, &node, audience)?;
        if target.scope == SettingsScope::Project {
            // Whoever typed it has seen it.
            super::approve::approve(std::slice::from_ref(&self.name), None)?;
        }
        let (name, scope, file) = (&self.name, &self.scope, file.display());
        let done = json!({"name": name, "scope": scope, "file": file.to_string()});
        told(self.json, &done, &format!("Added {name} to {file} ({scope}). Try it: portcullis mcp tools {name}"));
        Ok(ExitCode::SUCCESS)
    }

    /// The entry as it is written.
    fn node(&self) -> Result<Node, Failure> {
        let named = |pairs: &[(String, String)]| {
            Node::Named(pairs.iter().map(|(name, value)| (name.clone(), Node::Text(value.clone()))).collect())
        };
        let text = |text: &str| Node::Text(text.to_owned());
        let mut fields = vec![("type", text(&self.transport))];
        match (self.transport.as_str(), &self.url, self.command.split_first()) {
            ("stdio", None, Some((command, args))) => {
                fields.extend([("command", text(command)), ("args", Node::List(args.to_vec()))]);
                if !self.env.is_empty() {
                    fields.push(("env", named(&self.env)));
                }
            }
            ("stdio", ..) => {
                let hint = "write the command behind two dashes: portcullis mcp add NAME -- COMMAND ARGUMENTS";
                return Err(Failure::usage("a server on standard streams needs a command", hint));
            }
            (_, Some(url), None) => {
                fields.push(("url", text(url)));
                if !self.headers.is_empty() {
                    fields.push(("headers", named(&self.headers)));
                }
            }
            _ => {
                let hint = format!("portcullis mcp add --transport {} NAME https://example.org/mcp", self.transport);
                return Err(Failure::usage("a remote server needs an address, and no command", hint));
            }
        }
        Ok(Node::Object(fields))
    }
}

fn target(scope: &str, name: String) -> anyhow::Result<Target> {
    let scope = SettingsScope::named(scope).unwrap_or(SettingsScope::Local);
    Ok(Target::new(scope, name, std::env::current_dir()?)?)
}

/// Says what was done: for people, or as one line of JSON.
pub(super) fn told(json: bool, done: &Value, words: &str) {
    match json {
        true => say(&format!("{done}\n")),
        false => say(&format!("{words}\n")),
    }
}

#[derive(clap::Args)]
pub(super) struct Named {
    /// The name of the server
    pub(super) name: String,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
pub(super) struct Remove {
    /// The name of the server
    pub(super) name: String,
    /// From where, if several layers have it: local, project or user
    #[arg(long, value_parser = SettingsScope::NAMES)]
    scope: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Remove {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let (_, configuration) = configuration()?;
        let scope_of = |layer: ServerLayer| match layer {
            ServerLayer::Local => Some(SettingsScope::Local),
            ServerLayer::Project => Some(SettingsScope::Project),
            ServerLayer::User => Some(SettingsScope::User),
            ServerLayer::Managed | ServerLayer::Plugin | ServerLayer::ClaudeAi => None,
        };
        let is_wanted = |server: &&ConfiguredServer| {
            let scope = scope_of(server.layer).map(SettingsScope::name);
            server.name == self.name
                && scope.is_some()
                && self.scope.as_deref().is_none_or(|wanted| scope == Some(wanted))
        };
        let found: Vec<&ConfiguredServer> = configuration.servers.iter().filter(is_wanted).collect();
        let [server] = found[..] else {
            let layers: Vec<&str> = found.iter().map(|server| server.layer.name()).collect();
            return Err(match layers.is_empty() {
                true => {
                    Failure::usage(format!("there is no server {:?} to remove", self.name), "see: portcullis mcp list")
                }
                false => Failure::usage(
                    format!("several layers have a server {:?}: {}", self.name, layers.join(", ")),
                    "say which with --scope",
                ),
            }
            .into());
        };
        let scope = scope_of(server.layer).unwrap_or(SettingsScope::Local);
        let under = match scope {
            SettingsScope::Project => vec![],
            scope => Target { scope, name: self.name.clone(), folder: std::env::current_dir()? }.under(),
        };
        if !servers::remove(&paths()?, &server.file, &under, &self.name)? {
            return Err(Failure::new(
                format!("{} has no server {:?}", server.file.display(), self.name),
                "see: portcullis mcp list",
            )
            .into());
        }
        let (name, file) = (&self.name, server.file.display());
        let done = json!({"name": name, "scope": scope.name(), "file": file.to_string()});
        told(self.json, &done, &format!("Removed {name} from {file}."));
        Ok(ExitCode::SUCCESS)
    }
}

impl Named {
    /// Switches a server off in this project, or on again.
    pub(super) fn switch(&self, on: bool) -> anyhow::Result<ExitCode> {
        let (files, configuration) = configuration()?;
        if configuration.find(&self.name).is_none() {
            let what = format!("no MCP server is called {:?}", self.name);
            return Err(Failure::usage(what, "see what is configured: portcullis mcp list").into());
        }
        let mut disabled = Trusted::read(&files.disabled);
        match on {
            true if !disabled.remove_part(&files.project, &self.name) => {
                let hint = "one that is disabled in Claude Code is enabled there, by /mcp";
                return Err(Failure::new(format!("{} is not disabled by portcullis here", self.name), hint).into());
            }
            true => {}
            false => disabled.add_part(&files.project, &self.name, DISABLED),
        }
        paths()?.prepare()?;
        disabled.write(&files.disabled)?;
        let (name, project) = (&self.name, files.project.display());
        let done = json!({"name": name, "project": project.to_string(), "enabled": on});
        let what = if on { "Enabled" } else { "Disabled" };
        told(self.json, &done, &format!("{what} {name} for portcullis in {project}."));
        Ok(ExitCode::SUCCESS)
    }
}
