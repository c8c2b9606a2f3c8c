//! `portcullis mcp add`, `remove`, `enable` and `disable`: which servers there are.

use std::path::PathBuf;
use std::process::ExitCode;

use portcullis_core::shell_words;
use serde_json::{Value, json};

use super::super::{paths, say};
use super::{configuration, note_problems};
use crate::failure::Failure;
use crate::rules::Trusted;
use crate::setup::claude::project_file;
use crate::setup::file::Audience;
use crate::setup::json::Node;
use crate::setup::servers;
use crate::setup::target::{SettingsScope, Target};
use crate::upstream::config::{ConfiguredServer, DISABLED, RESERVED, ServerLayer};

/// Which file a server is written to.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ServerScope {
    /// One of Claude Code's.
    Claude(SettingsScope),
    /// Ours, which Claude Code does not read.
    Gateway,
}

impl ServerScope {
    const NAMES: [&str; 4] = ["local", "project", "user", "gateway"];

    fn named(name: &str) -> Self {
        match SettingsScope::named(name) {
            Some(scope) => Self::Claude(scope),
            None => Self::Gateway,
        }
    }

    fn of_layer(layer: ServerLayer) -> Option<Self> {
        match layer {
            ServerLayer::Local => Some(Self::Claude(SettingsScope::Local)),
            ServerLayer::Project => Some(Self::Claude(SettingsScope::Project)),
            ServerLayer::User => Some(Self::Claude(SettingsScope::User)),
            ServerLayer::Gateway => Some(Self::Gateway),
            ServerLayer::Managed | ServerLayer::Editor | ServerLayer::Plugin | ServerLayer::ClaudeAi => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Claude(scope) => scope.name(),
            Self::Gateway => "gateway",
        }
    }

    /// The file, and the objects around `mcpServers` in it.
    fn place(self, name: &str) -> anyhow::Result<(PathBuf, Vec<String>)> {
        let folder = std::env::current_dir()?;
        match self {
            Self::Gateway => {
                let paths = paths()?;
                paths.prepare()?;
                Ok((paths.servers_file(), vec![]))
            }
            Self::Claude(SettingsScope::Project) => Ok((project_file(&folder), vec![])),
            Self::Claude(scope) => {
                let target = Target { scope, name: name.to_owned(), folder };
                Ok((target.server_file()?, target.under()))
            }
        }
    }
}

#[derive(clap::Args)]
pub(super) struct Add {
    /// The name of the server
    pub(super) name: String,
    /// The address of a remote server, with --transport
    #[arg(value_name = "URL")]
    url: Option<String>,
    /// For whom: local (you, in this project), project (.mcp.json, which others pull), user (you, everywhere) or gateway
    /// (every client of the gateway; Claude Code's files stay as they are)
    #[arg(long, default_value = "local", value_parser = ServerScope::NAMES)]
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
        // Whatever the scope, the name has to fit.
        Target::new(SettingsScope::User, self.name.clone(), PathBuf::new())?;
        let scope = ServerScope::named(&self.scope);
        let (file, under) = scope.place(&self.name)?;
        let is_shared = scope == ServerScope::Claude(SettingsScope::Project);
        let audience = if is_shared { Audience::Everyone } else { Audience::OwnerAlone };
        servers::add(&paths()?, &file, &under, &self.name, &node, audience)?;
        if is_shared {
            // Whoever typed it has seen it.
            super::approve::approve(std::slice::from_ref(&self.name), None)?;
        }
        let (name, scope, file) = (&self.name, &self.scope, file.display());
        let done = json!({"name": name, "scope": scope, "file": file.to_string()});
        let word = shell_words(&[name]);
        told(self.json, &done, &format!("Added {name} to {file} ({scope}). Try it: portcullis mcp tools {word}"));
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
            ("stdio", ..) if !self.headers.is_empty() => {
                let hint = "a program is given variables: --env NAME=VALUE";
                return Err(Failure::usage("--header is for a remote server", hint));
            }
            ("http" | "sse" | "ws", ..) if !self.env.is_empty() => {
                let hint = "a remote server is given headers: --header 'NAME: VALUE'";
                return Err(Failure::usage("--env is for a server that is a program", hint));
            }
            ("stdio", None, Some((command, args))) => {
                fields.extend([("command", text(command)), ("args", Node::List(args.to_vec()))]);
                if !self.env.is_empty() {
                    fields.push(("env", named(&self.env)));
                }
            }
            ("stdio", Some(url), Some(_)) => {
                let hint = "an address with --transport http, sse or ws; else the command alone, behind two dashes";
                return Err(Failure::usage(format!("both {url:?} and a command are given: a server has one"), hint));
            }
            ("stdio", Some(url), None) if url.contains("://") => {
                let words = shell_words(&[&self.name, url]);
                let hint = format!("say how it is reached: portcullis mcp add --transport http {words}");
                return Err(Failure::usage(format!("{url} is the address of a remote server"), hint));
            }
            ("stdio", ..) => {
                let hint = "write the command behind two dashes: portcullis mcp add NAME -- COMMAND ARGUMENTS";
                return Err(Failure::usage("a server on standard streams needs a command", hint));
            }
            (transport, Some(url), None) if !is_address(transport, url) => {
                let begins = if transport == "ws" { "ws:// or wss://" } else { "http:// or https://" };
                let hint = format!("an address begins with {begins}");
                return Err(Failure::usage(format!("{url:?} is no address"), hint));
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

/// Whether a server can be there. A variable may hold the beginning.
fn is_address(transport: &str, url: &str) -> bool {
    let schemes = if transport == "ws" { ["ws://", "wss://"] } else { ["http://", "https://"] };
    url.starts_with("${") || schemes.iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
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
    /// From where, if several layers have it: local, project, user or gateway
    #[arg(long, value_parser = ServerScope::NAMES)]
    scope: Option<String>,
    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

impl Remove {
    pub(super) fn run(self) -> anyhow::Result<ExitCode> {
        let (_, configuration) = configuration()?;
        note_problems(&configuration);
        let elsewhere = configuration.servers.iter().filter(|server| server.name == self.name);
        let elsewhere: Vec<&str> = elsewhere.map(|server| server.layer.name()).collect();
        let is_wanted = |server: &&ConfiguredServer| {
            let scope = ServerScope::of_layer(server.layer).map(ServerScope::name);
            server.name == self.name
                && scope.is_some()
                && self.scope.as_deref().is_none_or(|wanted| scope == Some(wanted))
        };
        let found: Vec<&ConfiguredServer> = configuration.servers.iter().filter(is_wanted).collect();
        let [server] = found[..] else {
            let layers: Vec<&str> = found.iter().map(|server| server.layer.name()).collect();
            return Err(match layers.is_empty() {
                true if !elsewhere.is_empty() => Failure::usage(
                    format!(
                        "{:?} cannot be removed from there: it is in the layer {}",
                        self.name,
                        elsewhere.join(", ")
                    ),
                    "see: portcullis mcp list",
                ),
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
        let scope = ServerScope::of_layer(server.layer).unwrap_or(ServerScope::Gateway);
        let (_, under) = scope.place(&self.name)?;
        if !servers::remove(&paths()?, &server.file, &under, &self.name)? {
            return Err(Failure::new(
                format!("{} has no server {:?}", server.file.display(), self.name),
                "see: portcullis mcp list",
            )
            .into());
        }
        let (name, file) = (&self.name, server.file.display());
        let done = json!({"name": name, "scope": scope.name(), "file": file.to_string()});
        let shared = match scope {
            ServerScope::Claude(SettingsScope::Project) => {
                " All who work in this project share that file; to switch a server off for yourself alone: portcullis mcp \
                 disable NAME"
            }
            _ => "",
        };
        told(self.json, &done, &format!("Removed {name} from {file}.{shared}"));
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
