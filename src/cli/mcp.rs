//! `portcullis mcp`: the MCP servers that are configured, what they offer, and calls to them.

mod adopt;
mod answers;
mod approve;
mod call;
mod change;
pub(super) mod channels;
mod forget;
mod host;
mod list;
mod offers;
mod serve;
mod sign_in;
mod status;

use std::process::ExitCode;

use clap::Subcommand;

use super::inside::{InsideAnAgent, refused_here};
use super::{log_as_notes, paths};
use crate::config::users_texts;
use crate::report::note;
use crate::upstream::auth::AuthFolder;
use crate::upstream::config::{Configuration, KeptFiles, ServerFiles};
use crate::upstream::{ListKind, SilentServers, Timeouts, Upstreams};

/// Look at MCP servers, call their tools, and approve those of a project
///
/// Servers are read from Claude Code's own files. Those of a project (.mcp.json) are not started, and not reached, before
/// you approved them as they stand.
#[derive(clap::Args)]
pub(super) struct Mcp {
    #[command(subcommand)]
    what: McpCommand,
}

#[derive(Subcommand)]
enum McpCommand {
    /// List the servers, connect to those that may be used, and say how each is
    List {
        /// Print a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Say how each server is, as `list` does, and with --watch whenever that changes
    Status(status::Status),
    /// List the tools of one server, or of all
    Tools(offers::ToolOffers),
    /// List the resources of one server, or of all
    Resources(offers::Offers),
    /// List the prompts of one server, or of all
    Prompts(offers::Offers),
    /// Call a tool and print its result
    Call(call::McpCall),
    /// Sign in to a remote server, in a browser
    ///
    /// The token is kept in the state folder, for you alone, and renewed as long as the server allows it.
    Login(sign_in::Login),
    /// Forget the tokens of a server
    Logout(sign_in::Logout),
    /// Approve servers of a project's .mcp.json, as they stand there now
    ///
    /// The approval is for the command, arguments, environment, address, headers and headersHelper. When one of them
    /// changes, the server waits for you again.
    Approve(approve::Approve),
    /// Add a server to Claude Code's files, as `claude mcp add` does, or with --scope gateway to ours
    Add(change::Add),
    /// Remove a server from the file that it stands in
    Remove(change::Remove),
    /// Serve all servers to one MCP client on standard input and output, and ask a person before each call
    ///
    /// Register it with a client in place of the servers: its tools are called server__tool. Rules name them
    /// mcp__server__tool, whichever client calls; what no rule allows or denies is asked for, as any other prompt.
    Serve(serve::McpServe),
    /// Hold the MCP servers of clients over HTTP. The gate starts it for `/mcp`, and it ends with the gate
    #[command(hide = true)]
    Host(host::McpHost),
    /// Put servers of Claude Code behind the gateway: its entries start `mcp serve`, under the same names
    ///
    /// Tools keep their names, and every call is judged by rules or asked for. Only your own entries are changed, and
    /// `release` puts each back to the byte.
    Adopt(adopt::Adopt),
    /// Put servers back that were adopted, as their entries were
    Release(adopt::Release),
    /// Show the tools that are always allowed, or take that back: the next call of each is asked for again
    Forget(forget::Forget),
    /// Use a server again that was disabled in this project
    Enable(change::Named),
    /// Do not use a server in this project; Claude Code still does
    Disable(change::Named),
}

/// As a gate runs it for whoever came to it, or as a person does.
fn for_gates_if(is_as_gates_do: bool, what: String) -> InsideAnAgent {
    if is_as_gates_do { InsideAnAgent::RefusedButToGates(what) } else { refused_here(what) }
}

impl Mcp {
    pub(super) fn inside(&self) -> InsideAnAgent {
        match &self.what {
            // They start only what a person configured or approved, and call no tool.
            McpCommand::List { .. }
            | McpCommand::Status(_)
            | McpCommand::Tools(_)
            | McpCommand::Resources(_)
            | McpCommand::Prompts(_)
            // Nothing is allowed by it that was not before.
            | McpCommand::Forget(_) => InsideAnAgent::Allowed,
            // Every call is asked for, or allowed by a rule.
            McpCommand::Serve(_) => InsideAnAgent::AsksPeople,
            // It takes the place of the one that runs.
            McpCommand::Host(_) => InsideAnAgent::RefusedButToGates("hold the MCP servers of the gate".to_owned()),
            McpCommand::Call(call) => refused_here(format!("call {} of the MCP server {}", call.tool, call.server)),
            McpCommand::Login(login) => {
                for_gates_if(login.no_open, format!("sign in to the MCP server {}", login.name))
            }
            McpCommand::Logout(logout) => refused_here(format!("sign out of the MCP server {}", logout.name)),
            McpCommand::Approve(approve) => {
                for_gates_if(approve.hash.is_some(), format!("approve {}", approve.in_words()))
            }
            McpCommand::Add(add) => refused_here(format!("add the MCP server {}", add.name)),
            McpCommand::Remove(remove) => refused_here(format!("remove the MCP server {}", remove.name)),
            McpCommand::Adopt(adopt) => {
                refused_here(format!("put MCP servers behind the gateway{}", in_brackets(&adopt.servers)))
            }
            McpCommand::Release(release) => {
                refused_here(format!("take MCP servers from the gateway{}", in_brackets(&release.servers)))
            }
            McpCommand::Enable(named) => refused_here(format!("enable the MCP server {}", named.name)),
            McpCommand::Disable(named) => refused_here(format!("disable the MCP server {}", named.name)),
        }
    }

    pub(super) async fn run(self) -> anyhow::Result<ExitCode> {
        if !matches!(self.what, McpCommand::Serve(_) | McpCommand::Host(_)) {
            log_as_notes();
        }
        match self.what {
            McpCommand::List { json } => list::run(json).await,
            McpCommand::Status(status) => status.run().await,
            McpCommand::Tools(tools) => tools.run().await,
            McpCommand::Resources(offers) => offers.run(ListKind::Resources, None).await,
            McpCommand::Prompts(offers) => offers.run(ListKind::Prompts, None).await,
            McpCommand::Call(call) => Box::pin(call.run()).await,
            McpCommand::Serve(serve) => serve.run().await,
            McpCommand::Host(host) => host.run().await,
            McpCommand::Login(login) => login.run().await,
            McpCommand::Logout(logout) => logout.run(),
            McpCommand::Approve(approve) => approve.run(),
            McpCommand::Add(add) => add.run(),
            McpCommand::Remove(remove) => remove.run(),
            McpCommand::Adopt(adopt) => adopt.run().await,
            McpCommand::Release(release) => release.run(),
            McpCommand::Forget(forget) => forget.run(),
            McpCommand::Enable(named) => named.switch(true),
            McpCommand::Disable(named) => named.switch(false),
        }
    }
}

/// The names where there are any: without one all servers are meant.
fn in_brackets(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) }
}

/// What is configured for the working folder.
fn configuration() -> anyhow::Result<(ServerFiles, Configuration)> {
    configuration_again(&KeptFiles::default())
}

/// The same for whoever follows the files.
fn configuration_again(kept: &KeptFiles) -> anyhow::Result<(ServerFiles, Configuration)> {
    let files = ServerFiles::find(&std::env::current_dir()?, &paths()?)?;
    let configuration = Configuration::read_again(&files, kept, &users_texts());
    Ok((files, configuration))
}

/// The connections of this command, with all servers that may be used.
async fn upstreams(configuration: &Configuration, tries: u32) -> anyhow::Result<Upstreams> {
    let upstreams = new_upstreams(tries)?;
    upstreams.reconcile(configuration.upstreams()).await;
    Ok(upstreams)
}

/// The same without any server.
fn new_upstreams(tries: u32) -> anyhow::Result<Upstreams> {
    let state = paths()?.state_dir;
    Ok(Upstreams::new(std::env::current_dir()?, Timeouts::read(&users_texts()), tries)
        .with_tokens(AuthFolder::new(&state))
        .remembering(SilentServers::new(&state))
        .guarded_by(std::env::current_exe()?))
}

/// What is wrong with the files is said once, on standard error; the servers are there all the same.
fn note_problems(configuration: &Configuration) {
    for problem in &configuration.problems {
        note(&format!("warning: {problem}"));
    }
}
