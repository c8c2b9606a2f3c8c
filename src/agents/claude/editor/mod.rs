//! Tools that work through the editor in front of a driven session: an MCP server inside our own process, which reads and
//! writes the editor's buffers and runs commands in its terminals.
//!
//! A call of such a tool is judged as a call of the tool of Claude Code that it stands for (`passes`), and made only as it was
//! judged. The tools of Claude Code itself stay for subagents, and for files that the editor has nothing to do with (`which`).

mod files;
mod interface;
mod known;
mod passes;
mod paths;
mod rules;
mod server;
mod shells;
mod specs;
#[cfg(test)]
mod tests;
mod which;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use crate::locks::locked;

pub(crate) use interface::{ChangedAt, EditorRequest, EditorTools, ExitStatus, Reach, TerminalCommand, TerminalOutput};
pub(in crate::agents::claude) use passes::PassedCall;
pub(in crate::agents::claude) use rules::read as read_client_rules;
pub(in crate::agents::claude) use which::ModelCall;
pub(crate) use which::left_as_kept;

use known::KnownFile;
use passes::Passes;
pub(in crate::agents::claude) use shells::EndedCommand;
use shells::Shells;

/// The name of the server, as the client knows it.
pub(crate) const SERVER: &str = "acp";
const PREFIX: &str = "mcp__acp__";

/// The tools, by the names of those of Claude Code that they stand for. Those of running commands are of older releases of
/// it: the newer ones keep the output of a command in a file, which the editor's terminals do not.
const TOOLS: [&str; 6] = ["Read", "Write", "Edit", "Bash", "BashOutput", "KillShell"];

/// The tool of Claude Code that a tool of this server stands for, by its full name.
pub(crate) fn built_in(tool: &str) -> Option<&'static str> {
    let name = tool.strip_prefix(PREFIX)?;
    TOOLS.into_iter().find(|known| *known == name)
}

/// The tools through the editor of one session; often none. Cheap to clone.
#[derive(Clone, Default)]
pub(in crate::agents::claude) struct EditorHost(Option<Arc<HostState>>);

struct HostState {
    tools: EditorTools,
    /// When the session began: what was written to a disk since then may be newer than a buffer.
    since: SystemTime,
    /// Calls that may be made, and have not been. Changed by the gatekeeper's answers and by the calls themselves.
    passes: Mutex<Passes>,
    /// What the model has seen of each file, by where its links lead. Changed by reads and writes through the editor.
    known: Mutex<HashMap<PathBuf, KnownFile>>,
    shells: Arc<Mutex<Shells>>,
    /// Calls that are being made, by the client's ids of them.
    running: Mutex<HashMap<String, CancellationToken>>,
    /// Whether Claude Code runs its commands in a sandbox: then it runs them itself.
    sandboxed: OnceCell<bool>,
    /// Calls that are to be made with another tool, and that it says so, by their ids. Put there when they are refused.
    redirected: Mutex<HashMap<String, &'static str>>,
    /// Is told when a command in the background has ended.
    on_ended: Arc<dyn Fn(EndedCommand) + Send + Sync>,
}

impl EditorHost {
    /// `on_ended` is told when a command in the background has ended by itself.
    pub(in crate::agents::claude) fn new(
        tools: Option<EditorTools>,
        on_ended: impl Fn(EndedCommand) + Send + Sync + 'static,
    ) -> Self {
        let state = |tools| HostState {
            tools,
            since: SystemTime::now(),
            passes: Mutex::default(),
            known: Mutex::default(),
            shells: Arc::default(),
            running: Mutex::default(),
            sandboxed: OnceCell::new(),
            redirected: Mutex::default(),
            on_ended: Arc::new(on_ended),
        };
        Self(tools.map(|tools| Arc::new(state(tools))))
    }

    /// What became of a call that was refused because another tool is meant for it; none of other calls.
    pub(in crate::agents::claude) fn made_instead(&self, call: &str) -> Option<&'static str> {
        locked(&self.0.as_ref()?.redirected).get(call).copied()
    }

    /// The name of the server, where there is one.
    pub(in crate::agents::claude) fn name(&self) -> Option<&'static str> {
        self.0.as_ref().map(|_| SERVER)
    }

    /// Where Claude Code keeps its own files.
    pub(in crate::agents::claude) fn client_folder(&self) -> Option<&Path> {
        self.0.as_ref().and_then(|state| state.tools.client_folder.as_deref())
    }

    /// What the gatekeeper and people know a tool by: the tool of Claude Code that it stands for.
    pub(in crate::agents::claude) fn named<'a>(&self, tool: &'a str) -> &'a str {
        match (&self.0, built_in(tool)) {
            (Some(_), Some(name)) => name,
            _ => tool,
        }
    }
}
