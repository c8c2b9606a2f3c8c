//! Which servers are configured: read from our own file and those of Claude Code, each with the layer that it comes from.
//!
//! Nothing of a project counts before a person approved it as it stands: until then it is not started, not reached, and
//! its variables are not filled in.

mod entry;
mod expand;
mod files;
mod kept;
mod plugins;
mod policy;
#[cfg(test)]
mod tests;
mod written;

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

pub(crate) use entry::{Endpoint, RemoteEndpoint, RemoteTransport, Revision, ServerEntry};
pub(crate) use expand::Lookup;
pub(crate) use files::ServerFiles;
pub(crate) use kept::KeptFiles;

use crate::rules::Trusted;
use files::WrittenServers;
use policy::ServerPolicy;

/// Where an entry stands, the strongest first. Managed servers are the only ones where there are any.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ServerLayer {
    Managed,
    /// Brought along by the editor of a session.
    Editor,
    Local,
    Project,
    /// Of our own file: Claude Code knows nothing of it.
    Gateway,
    User,
    /// Of a plugin that the user installed.
    Plugin,
    /// Of a file that the user named, with the servers of their account at claude.ai.
    ClaudeAi,
}

impl ServerLayer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Managed => "managed",
            Self::Editor => "editor",
            Self::Local => "local",
            Self::Project => "project",
            Self::Gateway => "gateway",
            Self::User => "user",
            Self::Plugin => "plugin",
            Self::ClaudeAi => "claude.ai",
        }
    }
}

/// One entry of one file, and what becomes of it.
#[derive(Debug)]
pub(crate) struct ConfiguredServer {
    pub(crate) name: String,
    pub(crate) layer: ServerLayer,
    pub(crate) file: PathBuf,
    /// The plugin that brings it, as `NAME@MARKET`.
    pub(crate) plugin: Option<String>,
    /// As written, where it can be read at all.
    pub(crate) entry: Option<ServerEntry>,
    pub(crate) standing: ServerStanding,
    /// What a person should know although the server can be used.
    pub(crate) warnings: Vec<String>,
}

#[derive(Debug)]
pub(crate) enum ServerStanding {
    /// It may be started or reached, with its variables filled in.
    Ready(Upstream),
    /// A project wants it, and nobody approved it as it stands.
    Unapproved,
    /// It is switched off. By what, in words.
    Disabled(String),
    /// A list of allowed or denied servers keeps it out.
    Refused(&'static str),
    /// The entry is wrong. How, in one sentence.
    Bad(String),
    /// A stronger layer has a server of this name.
    Hidden(ServerLayer),
}

/// A server that may be connected to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Upstream {
    pub(crate) name: String,
    pub(crate) entry: ServerEntry,
    /// Of the name and everything that decides what is started or reached.
    pub(crate) hash: String,
    /// The socket behind which it runs for all clients, where the owner marked it as shared.
    pub(crate) shared: Option<PathBuf>,
    /// Where it runs; else in the folder of whoever uses it. A project's server runs where it was approved: a command may
    /// mean another program in every folder.
    pub(crate) folder: Option<PathBuf>,
}

impl Upstream {
    pub(crate) fn new(name: &str, entry: ServerEntry) -> Self {
        let digest = Sha256::digest(entry.identity(name).as_bytes());
        let hash = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
        Self { name: name.to_owned(), entry, hash, shared: None, folder: None }
    }
}

/// All that the files say, and what is wrong with the files themselves.
#[derive(Debug, Default)]
pub(crate) struct Configuration {
    pub(crate) servers: Vec<ConfiguredServer>,
    pub(crate) problems: Vec<String>,
}

impl Configuration {
    pub(crate) fn read(files: &ServerFiles, variables: Lookup<'_>) -> Self {
        Self::read_again(files, &KeptFiles::default(), variables)
    }

    /// The same for whoever follows the files: one that cannot be read now counts as it was when it could be.
    pub(crate) fn read_again(files: &ServerFiles, kept: &KeptFiles, variables: Lookup<'_>) -> Self {
        let mut written = WrittenServers::read(files, kept);
        // The strongest first, so that each name is seen where it counts before it is seen where it is hidden.
        written.entries.sort_by(|a, b| (a.layer, &a.name).cmp(&(b.layer, &b.name)));
        let (approved, disabled) = (Trusted::read(&files.approved), Trusted::read(&files.disabled));
        let policy = ServerPolicy::read(&written.managed_settings, &written.user_settings);
        let mut servers: Vec<ConfiguredServer> = vec![];
        for found in written.entries {
            let mut server = ConfiguredServer {
                name: found.name,
                layer: found.layer,
                file: found.file,
                plugin: found.plugin,
                entry: None,
                standing: ServerStanding::Unapproved,
                warnings: vec![],
            };
            let named = match server.name.as_str() {
                "" => Err("it has no name".to_owned()),
                name if RESERVED.contains(&name) => Err(format!("Claude Code keeps the name {name:?} for itself")),
                name => ServerEntry::parse(name, &found.written),
            };
            server.standing = match named {
                Err(wrong) => ServerStanding::Bad(wrong),
                Ok(entry) => {
                    server.entry = Some(entry.clone());
                    let is_off = |by: &str| Some(ServerStanding::Disabled(by.to_owned()));
                    let stronger = servers.iter().find(|other| other.name == server.name && other.counts());
                    let kept_out = if let Some(stronger) = stronger {
                        Some(ServerStanding::Hidden(stronger.layer))
                    } else if server.layer != ServerLayer::Gateway && written.disabled.contains(&server.name) {
                        is_off("disabled in Claude Code")
                    } else if disabled.holds_part(&files.project, &server.name, DISABLED) {
                        is_off("disabled by `portcullis mcp disable`")
                    } else {
                        let is_approved = server.layer != ServerLayer::Project
                            || approved.holds_part(server.folder(), &server.name, &entry.identity(&server.name));
                        (!is_approved).then_some(ServerStanding::Unapproved)
                    };
                    let own = |name: &str| found.variables.get(name).cloned().or_else(|| variables(name));
                    let entry = entry.with_variables(&found.variables);
                    let standing = kept_out.unwrap_or_else(|| ready(&mut server, &entry, &own, &policy));
                    unless_known(standing, server.layer, &servers)
                }
            };
            servers.push(server);
        }
        servers.sort_by(|a, b| (&a.name, a.layer).cmp(&(&b.name, b.layer)));
        Self { servers, problems: written.problems }
    }

    /// The servers that may be connected to, one for each name.
    pub(crate) fn upstreams(&self) -> impl Iterator<Item = &Upstream> {
        self.servers.iter().filter_map(|server| match &server.standing {
            ServerStanding::Ready(upstream) => Some(upstream),
            _ => None,
        })
    }

    /// What counts under a name: the strongest entry that can be used, else the strongest there is.
    pub(crate) fn find(&self, name: &str) -> Option<&ConfiguredServer> {
        let named = || self.servers.iter().filter(|server| server.name == name);
        named().find(|server| server.counts()).or_else(|| named().next())
    }
}

/// Plugins and claude.ai bring servers that someone may have configured already, under another name.
fn unless_known(standing: ServerStanding, layer: ServerLayer, servers: &[ConfiguredServer]) -> ServerStanding {
    let ServerStanding::Ready(upstream) = &standing else { return standing };
    if layer < ServerLayer::Plugin {
        return standing;
    }
    let is_same = |server: &&ConfiguredServer| matches!(&server.standing, ServerStanding::Ready(other) if other.entry.endpoint.is_same_server(&upstream.entry.endpoint));
    servers.iter().find(is_same).map_or(standing, |server| ServerStanding::Hidden(server.layer))
}

/// Names that Claude Code keeps for itself.
pub(crate) const RESERVED: [&str; 5] =
    ["workspace", "claude-in-chrome", "computer-use", "Claude Preview", "Claude Browser"];

/// What is kept for a server that is switched off.
pub(crate) const DISABLED: &str = "disabled";

impl ConfiguredServer {
    /// The folder that its file was found in. A link is followed to no other: an approval is for what runs here.
    pub(crate) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(&self.file)
    }

    /// Whether it hides a server of the same name in a weaker layer. What is wrong or not approved hides nothing.
    fn counts(&self) -> bool {
        matches!(self.standing, ServerStanding::Ready(_) | ServerStanding::Disabled(_) | ServerStanding::Refused(_))
    }
}

fn ready(
    server: &mut ConfiguredServer,
    entry: &ServerEntry,
    variables: Lookup<'_>,
    policy: &ServerPolicy,
) -> ServerStanding {
    let (expanded, missing) = entry.expanded(variables);
    if !missing.is_empty() {
        server.warnings.push(format!("Missing environment variables: {}", missing.join(", ")));
    }
    let padded = expanded.endpoint.padded();
    if !padded.is_empty() {
        server.warnings.push(format!("Spaces at the beginning or the end, which count: {}", padded.join(", ")));
    }
    match policy.refuses(&server.name, &expanded) {
        Some(why) => ServerStanding::Refused(why),
        None => {
            let folder = (server.layer == ServerLayer::Project).then(|| server.folder().to_owned());
            ServerStanding::Ready(Upstream { folder, ..Upstream::new(&server.name, expanded) })
        }
    }
}

/// An entry for tests of other modules.
#[cfg(test)]
pub(super) fn entry_of_test(written: &serde_json::Value) -> ServerEntry {
    ServerEntry::parse("test", written).unwrap()
}
